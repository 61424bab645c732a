/** Ports of a zone that are reached although they should be kept apart. */
import type { ReplicaRow } from 'ovsdb-client-ts';
import { idsOf, members } from '../ovsdb/database-text.ts';
import type { MemoryDatabase } from '../ovsdb/memory-database.ts';

/** Names of ports without the groups and ACLs that isolate them. */
export function exposedPorts(
  database: MemoryDatabase,
  hasMulticastRules: boolean,
): ReadonlySet<string> {
  const result = new Set<string>();
  const groups = database.rows('Port_Group');
  const drops = (group: ReplicaRow, priority: number, match: string): number =>
    members(group.column('acls'))
      .map((uuid) => database.row('ACL', String(uuid)))
      .filter(
        (acl) =>
          acl?.column('action') === 'drop' &&
          Number(acl.column('priority')) === priority &&
          (acl.column('match') as string).includes(match),
      ).length;
  const switches = database.rows('Logical_Switch');
  // Whatever somebody called the switch.
  const isOnSwitch = (port: ReplicaRow): boolean =>
    switches.some((one) => one.includes('ports', port.uuid));
  for (const port of database.rows('Logical_Switch_Port')) {
    const name = port.column('name') as string;
    const ids = idsOf(port);
    const inGroup = (ownerName: string, priority: number): boolean =>
      groups.some(
        (group) =>
          idsOf(group).get('k8s.ovn.org/id') === ownerName &&
          group.includes('ports', port.uuid) &&
          // What somebody moved here from another group drops nothing of this one's ports.
          drops(group, priority, priority === 1000 ? `@${group.column('name') as string}` : '') >=
            2,
      );
    const namespace = ids.get('namespace') ?? '';
    const isLocked =
      ['blue', 'red', 'k8s-red', 'wide'].includes(namespace) &&
      name === `${namespace}_${name.slice(namespace.length + 1)}`;
    if (
      isLocked &&
      isOnSwitch(port) &&
      !inGroup('default-network-controller:UDNIsolation:SecondaryPods', 1000)
    )
      result.add(name);
    const network = ids.has('pod') ? undefined : /^k8s-(.*)_w1$/.exec(name)?.[1];
    if (
      network !== undefined &&
      hasMulticastRules &&
      isOnSwitch(port) &&
      !inGroup(`${network}-network-controller:Cluster:clusterPortGroup`, 1011)
    )
      result.add(name);
  }
  return result;
}
