/** Rows of the three databases, each as one transaction of selects: all of a database is of one moment. */
import type { Operation, Transactor } from 'ovsdb-client-ts';
import type { Row, Tables } from '../rows.ts';

type Columns = Readonly<Record<string, readonly string[]>>;

/** What is read of Northbound, by whoever proves anything of it. */
export const NORTHBOUND_COLUMNS: Columns = {
  NB_Global: ['nb_cfg', 'sb_cfg', 'hv_cfg', 'name', 'options'],
  Logical_Switch: [
    'name',
    'ports',
    'acls',
    'load_balancer',
    'load_balancer_group',
    'other_config',
    'external_ids',
  ],
  Logical_Switch_Port: [
    'name',
    'type',
    'addresses',
    'port_security',
    'options',
    'external_ids',
    'tag',
    'tag_request',
    'peer',
    'enabled',
    'parent_name',
    'mirror_rules',
    'dhcpv4_options',
    'dhcpv6_options',
  ],
  Logical_Router: [
    'name',
    'ports',
    'static_routes',
    'policies',
    'nat',
    'load_balancer',
    'load_balancer_group',
    'options',
    'external_ids',
  ],
  Logical_Router_Port: ['name', 'mac', 'networks', 'peer', 'options', 'external_ids'],
  Logical_Router_Static_Route: [
    'ip_prefix',
    'nexthop',
    'policy',
    'output_port',
    'route_table',
    'external_ids',
  ],
  Logical_Router_Policy: [
    'priority',
    'match',
    'action',
    'nexthop',
    'nexthops',
    'output_port',
    'options',
    'external_ids',
  ],
  NAT: ['type', 'external_ip', 'logical_ip', 'external_ids'],
  ACL: ['direction', 'priority', 'tier', 'match', 'action', 'options', 'external_ids'],
  Address_Set: ['name', 'addresses'],
  QoS: ['match', 'action', 'bandwidth', 'external_ids'],
  DHCP_Options: ['cidr', 'options', 'external_ids'],
  Port_Group: ['name', 'ports', 'acls', 'external_ids'],
  Load_Balancer: ['name', 'vips', 'protocol', 'external_ids'],
  Load_Balancer_Group: ['name', 'load_balancer'],
  Chassis_Template_Var: ['chassis', 'variables'],
};

const SOUTHBOUND: Columns = {
  SB_Global: ['nb_cfg'],
  Datapath_Binding: ['tunnel_key', 'external_ids', 'nb_uuid'],
  Port_Binding: [
    'logical_port',
    'type',
    'datapath',
    'tunnel_key',
    'chassis',
    'additional_chassis',
    'options',
    'tag',
    'port_security',
  ],
  Chassis: ['name', 'hostname', 'other_config'],
  Encap: ['ip', 'chassis_name', 'type'],
};

const OPEN_VSWITCH: Columns = {
  Open_vSwitch: ['external_ids', 'cur_cfg', 'ovs_version'],
  Bridge: ['name', 'ports', 'fail_mode', 'mirrors', 'external_ids'],
  Port: ['name', 'interfaces'],
  Interface: ['name', 'type', 'ofport', 'options', 'external_ids'],
};

/** What is read of each database. */
const READ_COLUMNS = {
  OVN_Northbound: NORTHBOUND_COLUMNS,
  OVN_Southbound: SOUTHBOUND,
  Open_vSwitch: OPEN_VSWITCH,
} as const satisfies Record<string, Columns>;

export type DatabaseName = keyof typeof READ_COLUMNS;

/** Tables and columns that a server has. */
export interface ServerSchema {
  readonly tables: ReadonlyMap<string, { readonly columns: ReadonlyMap<string, unknown> }>;
}

/**
 * All rows that proofs ask for. `has` says whether the server has a table, and a column of it: other releases of OVN have more or fewer. Rejects with the server's
 * answer.
 */
export async function readTables(
  database: DatabaseName,
  transactor: Transactor,
  has: (table: string, column?: string) => boolean,
  signal: AbortSignal,
): Promise<Tables> {
  const wanted = Object.entries<readonly string[]>(READ_COLUMNS[database]).filter(([table]) =>
    has(table),
  );
  const operations = wanted.map(([table, columns]): Operation => ({
    op: 'select',
    table,
    where: [],
    columns: ['_uuid', ...columns.filter((column) => has(table, column))],
  }));
  const outcome = await transactor.transact(operations, { signal });
  if (outcome.kind !== 'success') {
    const why = 'details' in outcome ? outcome.details : 'reason' in outcome ? outcome.reason : '';
    throw new Error(`${database} could not be read: ${outcome.kind} ${why}`.trim());
  }
  return new Map(
    wanted.map(([table], index): [string, readonly Row[]] => [
      table,
      outcome.results[index]?.rows ?? [],
    ]),
  );
}
