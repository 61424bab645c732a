/** Rows of a zone's units as text, with the abbreviations of docs/reference/topology.md: X2 and X3 for marks, C1 and C2 for chassis (reference/topology.md §24). */

import type { DesiredRow } from '../../../src/desired/rows.ts';
import { builtUnits } from '../../support/zone/built-rows.ts';
import { rowTexts } from '../../support/zone/row-text.ts';
import { CHASSIS_1, CHASSIS_2, factsOf, type Zone } from '../../support/zone/zones.ts';

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

/** Units of networks: their own, those of their other nodes and those of their namespaces. */
export const NETWORKS =
  /^(layer3\/network|interconnect\/remote-node|pods\/(default-)?namespace-groups) /;

/** The same of one network. */
export const ofNetwork = (name: string): RegExp =>
  new RegExp(
    `^((layer3/network|interconnect/remote-node|pods/namespace-groups) ${name}( |$)${name === 'default' ? '|pods/default-namespace-groups ' : ''})`,
  );

/** Rows of the units whose feature and arguments match. */
export const rowsOf = (zone: Zone, units: RegExp): DesiredRow[] =>
  builtUnits(factsOf(zone))
    .filter(({ unit }) => units.test(unit))
    .flatMap(({ rows }) => rows);

export const textsOf = (zone: Zone, units: RegExp): string[] =>
  rowTexts(rowsOf(zone, units)).map(short);

/** What `changed` has and `plain` has not. */
export const added = (plain: readonly string[], changed: readonly string[]): string[] =>
  changed.filter((text) => !plain.includes(text));

/** Table, key and nothing else. */
export const heads = (rows: readonly DesiredRow[]): string[] =>
  rows.map((row) => `${row.table} ${row.key}`).sort();
