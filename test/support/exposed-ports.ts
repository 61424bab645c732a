/** Ports of a zone that are reached although they should be kept apart. */
import type { ReplicaRow } from '../../src/ovsdb/index.ts';
import { idsOf, members } from './database-text.ts';
import type { MemoryDatabase } from './memory-database.ts';
import { SELF } from './zone-objects.ts';

/** Names of ports without the groups and ACLs that isolate them. */
export function exposedPorts(
  database: MemoryDatabase,
  hasMulticastRules: boolean,
): ReadonlySet<string> {
  const result = new Set<string>();
  const groups = database.rows('Port_Group');
  const drops = (group: ReplicaRow, priority: number): number =>
    members(group.column('acls'))
      .map((uuid) => database.row('ACL', String(uuid)))
      .filter(
        (acl) => acl?.column('action') === 'drop' && Number(acl.column('priority')) === priority,
      ).length;
  const switches = database.rows('Logical_Switch');
  const isOn = (port: ReplicaRow, name: string): boolean =>
    switches.some((one) => one.column('name') === name && one.includes('ports', port.uuid));
  for (const port of database.rows('Logical_Switch_Port')) {
    const name = port.column('name') as string;
    const ids = idsOf(port);
    const inGroup = (ownerName: string, priority: number): boolean =>
      groups.some(
        (group) =>
          idsOf(group).get('k8s.ovn.org/id') === ownerName &&
          group.includes('ports', port.uuid) &&
          drops(group, priority) >= 2,
      );
    const namespace = ids.get('namespace') ?? '';
    const isLocked =
      ['blue', 'red', 'k8s-red'].includes(namespace) &&
      name === `${namespace}_${name.slice(namespace.length + 1)}`;
    if (
      isLocked &&
      isOn(port, SELF) &&
      !inGroup('default-network-controller:UDNIsolation:SecondaryPods', 1000)
    )
      result.add(name);
    const network = /^k8s-(.*)_w1$/.exec(name)?.[1];
    if (
      network !== undefined &&
      hasMulticastRules &&
      isOn(port, `${network}_${SELF}`) &&
      !inGroup(`${network}-network-controller:Cluster:clusterPortGroup`, 1011)
    )
      result.add(name);
  }
  return result;
}
