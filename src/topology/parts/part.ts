/** What the unit of a network is put together from: rows that are committed together, a concern per file. */

import type { TableClaim } from '../../desired/rows.ts';
import type { LocalNames } from '../../model/rules/names.ts';
import type { Rows, Rules } from '../rows/unit-rows.ts';
import type { NetworkOnNode } from './network-on-node.ts';

export interface NetworkPart<Names extends LocalNames = LocalNames> {
  readonly rules: Rules;
  readonly claims: readonly TableClaim[];
  build(rows: Rows, onNode: NetworkOnNode<Names>): void;
}
