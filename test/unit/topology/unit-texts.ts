/** Rows of a zone's units as text, with the abbreviations of topology.md: X2 and X3 for marks, C1 and C2 for chassis. */

import type { Zone } from '../../../src/model/model.ts';
import type { DesiredRow } from '../../../src/ovsdb/plan/desired.ts';
import { zoneUnits } from '../../../src/topology/units.ts';
import { rowTexts } from '../../support/row-text.ts';
import { CHASSIS_1, CHASSIS_2 } from '../../support/zones.ts';

export const short = (text: string): string =>
  text
    .replaceAll(CHASSIS_1, 'C1')
    .replaceAll(CHASSIS_2, 'C2')
    .replaceAll(
      'k8s.ovn.org/network=blue_blue k8s.ovn.org/role=primary k8s.ovn.org/topology=layer3',
      'X3',
    )
    .replaceAll('k8s.ovn.org/network=blue_blue k8s.ovn.org/topology=layer3', 'X2')
    .replaceAll('k8s.ovn.org/', 'k/');

/** Rows of the units whose keys match. */
export const rowsOf = (zone: Zone, units: RegExp): DesiredRow[] =>
  [...zoneUnits(zone).values()]
    .filter((unit) => units.test(unit.key))
    .flatMap((unit) => unit.build());

export const textsOf = (zone: Zone, units: RegExp): string[] =>
  rowTexts(rowsOf(zone, units)).map(short);

/** What `changed` has and `plain` has not. */
export const added = (plain: readonly string[], changed: readonly string[]): string[] =>
  changed.filter((text) => !plain.includes(text));

/** Table, key and nothing else. */
export const heads = (rows: readonly DesiredRow[]): string[] =>
  rows.map((row) => `${row.table} ${row.key}`).sort();
