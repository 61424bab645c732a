/** Tables, columns and rows of the zone's databases that are monitored: those that the features claim, those that confirm a change, and those that a proof
 * looks at. */
import { claimsOf } from '../desired/engine.ts';
import { claimedSelection } from '../desired/ovsdb/selection.ts';
import type { SelectTables } from 'ovsdb-client-ts';
import { zoneFeatures } from '../topology/features.ts';
import { CONFIRMATION_COLUMNS } from './confirmation.ts';

/**
 * The server sends no updates of rows that others write, nor of columns that we leave alone (those of ovn-northd above all). Tables and columns are
 * the same in every zone.
 */
export const northboundTables: SelectTables = (schema) =>
  claimedSelection(claimsOf(zoneFeatures, 'OVN_Northbound'), schema, {
    NB_Global: [...CONFIRMATION_COLUMNS, 'options'],
    // By ovn-northd, of next hops that are watched.
    BFD: ['status'],
    // Of proofs, which look at what others wrote there.
    Logical_Switch_Port: ['tag'],
    Logical_Router_Policy: ['output_port'],
  });

export const southboundTables: SelectTables = (schema) =>
  claimedSelection(claimsOf(zoneFeatures, 'OVN_Southbound'), schema);
