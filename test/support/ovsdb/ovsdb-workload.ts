import { uuidFromName, ZERO_UUID, type Operation, type Uuid } from 'ovsdb-client-ts';
import { type WireRow } from '../../../src/ovsdb/data/operation.ts';

/**
 * Rows of one Layer3 network in a zone of `nodes` nodes, shaped as OVN-Kubernetes in interconnect mode has them:
 * for each remote node a port on the transit switch and a route on the cluster router, and nine rows of the local node.
 * 2·nodes + 9 rows.
 */
export function networkOperations(network: number, nodes: number): Operation[] {
  const name = `tenant-${network}_blue`;
  const prefix = `${name.replaceAll('-', '.')}_`;
  const ids = {
    'k8s.ovn.org/network': name,
    'k8s.ovn.org/topology': 'layer3',
    'k8s.ovn.org/role': 'primary',
  };
  const map = (record: Readonly<Record<string, string>>) =>
    ['map', Object.entries(record)] as const;
  const uuid = (what: string): Uuid => uuidFromName(ZERO_UUID, `${prefix}${what}`);
  const reference = (what: string) => ['uuid', uuid(what)] as const;
  const operations: Operation[] = [];
  const insert = (
    table: string,
    what: string,
    row: { readonly [column: string]: unknown },
  ): void => {
    operations.push({
      op: 'insert',
      table,
      uuid: uuid(what),
      row: row as WireRow,
    });
  };
  const remotes = Array.from({ length: nodes }, (_, node) => node);
  for (const node of remotes) {
    insert('Logical_Switch_Port', `tsp${node}`, {
      name: `${prefix}tstor-node-${node}`,
      type: 'remote',
      addresses: `0a:58:64:58:${(network >> 8).toString(16)}:${node.toString(16)} 100.88.${node >> 8}.${node & 255}/16`,
      options: map({ 'requested-tnl-key': String(node + 2), 'requested-chassis': `node-${node}` }),
      external_ids: map({ ...ids, node: `node-${node}` }),
    });
    insert('Logical_Router_Static_Route', `route${node}`, {
      ip_prefix: `10.${128 + (node >> 8)}.${node & 255}.0/24`,
      nexthop: `100.88.${node >> 8}.${node & 255}`,
      external_ids: map({ ...ids, 'ic-node': `node-${node}` }),
    });
  }
  insert('Logical_Router', 'cluster-router', {
    name: `${prefix}ovn_cluster_router`,
    static_routes: ['set', remotes.map((node) => reference(`route${node}`))],
    ports: ['set', [reference('rtos'), reference('rtots')]],
    external_ids: map(ids),
    options: map({ always_learn_from_arp_request: 'false' }),
  });
  insert('Logical_Router_Port', 'rtos', {
    name: `${prefix}rtos-node-0`,
    mac: '0a:58:0a:80:00:01',
    networks: '10.128.0.1/24',
    external_ids: map(ids),
  });
  insert('Logical_Router_Port', 'rtots', {
    name: `${prefix}rtots-node-0`,
    mac: '0a:58:64:58:00:02',
    networks: '100.88.0.2/16',
    options: map({ 'requested-tnl-key': '2' }),
    external_ids: map(ids),
  });
  insert('Logical_Switch', 'transit', {
    name: `${prefix}transit_switch`,
    ports: ['set', remotes.map((node) => reference(`tsp${node}`))],
    other_config: map({
      'requested-tnl-key': String(16_711_683 + network),
      interconn_ts: `${prefix}transit_switch`,
    }),
    external_ids: map(ids),
  });
  insert('Logical_Switch', 'node-switch', {
    name: `${prefix}node-0`,
    ports: ['set', [reference('stor'), reference('management')]],
    other_config: map({ subnet: '10.128.0.0/24' }),
    external_ids: map(ids),
  });
  insert('Logical_Switch_Port', 'stor', {
    name: `${prefix}stor-node-0`,
    type: 'router',
    addresses: 'router',
    options: map({ 'router-port': `${prefix}rtos-node-0` }),
    external_ids: map(ids),
  });
  insert('Logical_Switch_Port', 'management', {
    name: `${prefix}k8s-node-0`,
    addresses: '0a:58:0a:80:00:02 10.128.0.2',
    external_ids: map(ids),
  });
  insert('Address_Set', 'addresses', { name: `a${network}`, external_ids: map(ids) });
  insert('DNS', 'dns', { external_ids: map(ids) });
  return operations;
}
