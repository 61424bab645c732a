/** What is followed of the zone's databases: what the plan looks at, as the features' claims tell, and what confirms a change. */
import { claimsOf } from '../desired/engine.ts';
import { claimedSelection } from '../desired/ovsdb/index.ts';
import type { SelectTables } from '../ovsdb/index.ts';
import { zoneFeatures } from '../topology/features.ts';
import { CONFIRMATION_COLUMNS } from './confirmation.ts';

/**
 * Of rows that others write and of columns that we leave alone (ovn-northd's above all) the server then tells nothing. Tables and columns are
 * the same in every zone.
 */
export const northboundTables: SelectTables = (schema) =>
  claimedSelection(claimsOf(zoneFeatures, 'OVN_Northbound'), schema, {
    NB_Global: CONFIRMATION_COLUMNS,
  });

export const southboundTables: SelectTables = (schema) =>
  claimedSelection(claimsOf(zoneFeatures, 'OVN_Southbound'), schema);
