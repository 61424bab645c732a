/** Which rows of an ovn-kubernetes that had the zone before are there for nothing any more. */
import type { FoundRow } from '../desired/rows.ts';
import type { MayBeWanted } from '../desired/ovsdb/reconciler.ts';
import { networkObject } from '../model/zone/failed-facts.ts';
import type { Unknown } from '../model/zone/unknown.ts';
import type { ZoneFacts } from '../model/zone/zone.ts';
import {
  isReferenceRow,
  networkOfReferenceRow,
  objectsOfReferenceRow,
} from '../topology/rows/reference-rows.ts';

/**
 * Tells a row of an ovn-kubernetes that no object asks for, nor anything that is not known. What belongs to a network that is declared and not
 * rendered here may carry its pods: it is not Heddle's to end.
 */
export function isLeftOver(
  facts: ZoneFacts,
  unknown: Unknown | undefined,
  mayBeWanted: MayBeWanted,
): (row: FoundRow, table: string) => boolean {
  const { networks, rendered, registrations } = facts;
  const hasUnreadNads = unknown?.nads.size !== 0;
  return (row, table) => {
    if (!isReferenceRow(row, table)) return false;
    const network = networkOfReferenceRow(row);
    const isDeclared = network !== undefined && networks.peek(network) !== undefined;
    if (isDeclared && rendered.peek(network) === undefined) return false;
    const objects = [...objectsOfReferenceRow(row, table)];
    if (network !== undefined) {
      const isOfUnread = hasUnreadNads && !isDeclared && registrations.peek(network) === undefined;
      objects.push(isOfUnread ? '' : networkObject(facts, network));
    }
    if (objects.length === 0) objects.push('');
    return !objects.some((object) => mayBeWanted(row, table, object));
  };
}
