/** Rows of one file of src/topology, as text: of a part of a network's unit, or of a feature. */

import type { LocalNames } from '../../../src/model/rules/names.ts';
import type { Feature, Rule, Sink } from '../../../src/desired/features.ts';
import type { DesiredRow } from '../../../src/desired/rows.ts';
import type { ZoneFacts } from '../../../src/model/zone/zone.ts';
import type { NetworkPart } from '../../../src/topology/parts/part.ts';
import { Rows } from '../../../src/topology/rows/unit-rows.ts';
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

/** Those of all units of these features; with `rules`, of the rows that follow one of them. */
export const featureTexts = (
  features: readonly Feature<ZoneFacts>[],
  zone: Zone,
  rules?: Readonly<Record<string, Rule>>,
): string[] => {
  const units = new RegExp(`^(${features.map(({ name }) => name).join('|')})( |$)`);
  const rows = rowsOf(zone, units);
  return rowTexts(rules === undefined ? rows : rows.filter(({ rule }) => rule in rules)).map(short);
};

/** Those that a builder adds, for an object called `Test`. */
export function builtTexts(build: (rows: Rows) => void): string[] {
  const found: DesiredRow[] = [];
  const no = (): never => {
    throw new Error('rows wait for nothing and refuse nobody');
  };
  const out: Sink = { row: (row) => found.push(row), waitFor: no, problem: no, reject: no };
  build(Rows.northbound(out, 'Test'));
  return rowTexts(found).map(short);
}
