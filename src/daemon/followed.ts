/** What is followed of the zone's databases: what the plan looks at, as its rules tell, and what confirms a change. */
import type { ClusterSettings } from '../model/model.ts';
import { planSelection, type SelectTables } from '../ovsdb/index.ts';
import { northboundRules } from '../topology/northbound-rules.ts';
import { southboundRules } from '../topology/southbound-rules.ts';
import { CONFIRMATION_COLUMNS } from './confirmation.ts';

/**
 * Of rows that others write and of columns that we leave alone (ovn-northd's above all) the server then tells nothing. Tables and columns are
 * the same in every zone: who the node is only decides whose the rows are.
 */
export const northboundTables =
  (settings: ClusterSettings, node: string): SelectTables =>
  (schema) =>
    planSelection(northboundRules({ settings, node: { name: node, id: 0 } }), schema, {
      NB_Global: CONFIRMATION_COLUMNS,
    });

export const southboundTables: SelectTables = (schema) =>
  planSelection(southboundRules({ node: { chassisId: '' } }), schema);
