import type { DesiredRow, RowReference } from '../../src/ovsdb/plan/desired.ts';
import type { DatabaseRules, FoundRow } from '../../src/ovsdb/index.ts';

export const countRows = (units: ReadonlyMap<string, readonly DesiredRow[]>): number =>
  [...units.values()].reduce((sum, rows) => sum + rows.length, 0);

/**
 * The workload of the client's own figures: 2M + 9 rows for each network in a zone of M nodes, a transit port and a
 * route per node being most of them.
 */
function layer3Rows(network: number, nodes: number): readonly DesiredRow[] {
  const prefix = `tenant${network}_net_`;
  const external_ids = {
    'k8s.ovn.org/network': `tenant${network}_net`,
    'k8s.ovn.org/topology': 'layer3',
  };
  const router = `${prefix}ovn_cluster_router`;
  const transit = `${prefix}transit_switch`;
  const named = (
    table: string,
    name: string,
    columns: DesiredRow['columns'],
    ...containers: DesiredRow['containers']
  ): DesiredRow => ({ table, key: name, columns: { name, external_ids, ...columns }, containers });
  const inSwitch = (key: string) => ({ table: 'Logical_Switch', key, column: 'ports' });
  const inRouter = (key: string, column = 'ports') => ({ table: 'Logical_Router', key, column });
  const rows: DesiredRow[] = [
    named('Logical_Router', router, { options: { always_learn_from_arp_request: 'false' } }),
    named('Logical_Router', `GR_${prefix}worker`, {
      options: { chassis: 'c1', lb_force_snat_ip: 'router_ip' },
    }),
    named('Logical_Switch', `${prefix}join`, {}),
    named('Logical_Switch', `${prefix}worker`, { other_config: { subnet: '103.103.0.0/24' } }),
    named('Logical_Switch', transit, {
      other_config: { 'interconn-ts': transit, 'requested-tnl-key': String(16711683 + network) },
    }),
    named(
      'Logical_Router_Port',
      `rtos-${prefix}worker`,
      { mac: '0a:58:67:67:00:01', networks: ['103.103.0.1/24'] },
      inRouter(router),
    ),
    named(
      'Logical_Router_Port',
      `${prefix}rtots-worker`,
      { mac: '0a:58:64:58:00:02', networks: ['100.88.0.2/16'] },
      inRouter(router),
    ),
    named(
      'Logical_Switch_Port',
      `stor-${prefix}worker`,
      { type: 'router', addresses: ['router'], options: { 'router-port': `rtos-${prefix}worker` } },
      inSwitch(`${prefix}worker`),
    ),
    named(
      'Logical_Switch_Port',
      `k8s-${prefix}worker`,
      { addresses: ['0a:58:67:67:00:02 103.103.0.2'] },
      inSwitch(`${prefix}worker`),
    ),
  ];
  for (let node = 1; node <= nodes; node++) {
    const [high, low] = [node >> 8, node & 255];
    rows.push(
      named(
        'Logical_Switch_Port',
        `${prefix}tstor-node-${node}`,
        {
          type: 'remote',
          addresses: [`0a:58:64:58:${hex(high)}:${hex(low)} 100.88.${high}.${low}/16`],
          options: { 'requested-tnl-key': String(node), 'requested-chassis': `node-${node}` },
          external_ids: { ...external_ids, node: `node-${node}` },
        },
        inSwitch(transit),
      ),
      {
        table: 'Logical_Router_Static_Route',
        key: `${router} 103.${100 + high}.${low}.0/24`,
        columns: {
          ip_prefix: `103.${100 + high}.${low}.0/24`,
          nexthop: `100.88.${high}.${low}`,
          external_ids: { 'ic-node': `node-${node}`, ...external_ids },
        },
        containers: [inRouter(router, 'static_routes')],
      },
    );
  }
  return rows;
}

const hex = (byte: number): string => byte.toString(16).padStart(2, '0');

export const layer3Units = (
  networks: number,
  nodes: number,
): ReadonlyMap<string, readonly DesiredRow[]> =>
  new Map(
    Array.from({ length: networks }, (_, i) => [`network/${i + 1}`, layer3Rows(i + 1, nodes)]),
  );

const marked = (row: FoundRow): boolean => {
  const ids = row.column('external_ids');
  return ids instanceof Map && ids.has('k8s.ovn.org/network');
};
const byName = (row: FoundRow): string => row.column('name') as string;

/** Rules for `layer3Rows`. */
export const LAYER3_RULES: DatabaseRules = {
  Logical_Switch: { keyOf: byName, isOurs: marked },
  Logical_Switch_Port: {
    keyOf: byName,
    isOurs: marked,
    foreignColumns: ['up', 'dynamic_addresses', 'tag'],
  },
  Logical_Router: { keyOf: byName, isOurs: marked },
  Logical_Router_Port: { keyOf: byName, isOurs: marked, foreignColumns: ['ipv6_prefix', 'status'] },
  Logical_Router_Static_Route: {
    container: { table: 'Logical_Router', column: 'static_routes' },
    keyOf: (row, container: RowReference | undefined) =>
      container === undefined ? undefined : `${container.key} ${row.column('ip_prefix') as string}`,
    isOurs: marked,
  },
};
