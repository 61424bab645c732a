/** How people read which object a problem concerns: `Kind name` or `Kind namespace/name`. Pure. */

/** `UserDefinedNetwork/blue/net` → `UserDefinedNetwork blue/net`. */
export const objectOfNetworkObject = (key: string): string => key.replace('/', ' ');

/** Object of a work queue's key, by what the queue is for. */
export type ObjectOfKey = (key: string) => string;

export const objectOf =
  (kind: string): ObjectOfKey =>
  (key) =>
    `${kind} ${key}`;

/** Keys of the identities' queue: `nad/<namespace>/<name>`, `network/<network>`. */
export const objectOfIdentity: ObjectOfKey = (key) =>
  key.replace(/^nad\//, 'NetworkAttachmentDefinition ').replace(/^network\//, 'Network ');

/** Keys of the statuses' queue: `status/<object>`, `event/<network>`, `zone/<node>`. */
export const objectOfStatus: ObjectOfKey = (key) =>
  key.startsWith('status/')
    ? objectOfNetworkObject(key.slice('status/'.length))
    : key.replace(/^event\//, 'Network ').replace(/^zone\//, 'ZoneStatus ');
