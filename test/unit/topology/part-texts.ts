/** Rows that one part of a network's unit adds, as text. */

import type { LocalNames } from '../../../src/model/rules/names.ts';
import type { NetworkPart } from '../../../src/topology/parts/part.ts';
import { rowTexts } from '../../support/zone/row-text.ts';
import type { Zone } from '../../support/zone/zones.ts';
import { rowsOf, short } from './unit-texts.ts';

/** Those of a network of the zone. */
export const partTexts = <Names extends LocalNames>(
  { rules }: Pick<NetworkPart<Names>, 'rules'>,
  zone: Zone,
  network: string,
): string[] =>
  rowTexts(
    rowsOf(zone, new RegExp(`^[a-z0-9]+/network ${network}$`)).filter(({ rule }) => rule in rules),
  ).map(short);
