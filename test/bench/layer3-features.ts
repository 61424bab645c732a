import { claimsOf, Engine } from '../../src/desired/engine.ts';
import { FactTable } from '../../src/facts/fact-table.ts';
import { pairs } from '../../src/facts/keys.ts';
import type { Feature, Sink } from '../../src/desired/features.ts';
import { ReadRecorder } from '../../src/facts/reads.ts';
import type { Containment, DesiredRow, FoundRow, TableClaim } from '../../src/desired/rows.ts';

/**
 * Features for the figures of the engine alone: 2M + 9 rows for each network in a zone of M nodes, a transit port and a route
 * per node being most of them, and two ports for each pod: one in its network, one in the default network.
 */

interface NetworkFact {
  readonly id: number;
}

interface NodeFact {
  readonly id: number;
}

interface PodFact {
  readonly network: string;
  readonly id: number;
}

export class Layer3Facts {
  readonly recorder = new ReadRecorder();
  readonly networks = new FactTable<[name: string], NetworkFact>('networks', this.recorder);
  readonly nodes = new FactTable<[name: string], NodeFact>('nodes', this.recorder);
  readonly pods = new FactTable<[name: string], PodFact>('pods', this.recorder);
}

const byName = (row: FoundRow): string => row.column('name') as string;

const claim = (table: string, more: Partial<TableClaim> = {}): TableClaim => ({
  database: 'OVN_Northbound',
  table,
  keyOf: byName,
  ...more,
});

const CLAIMS = [
  claim('Logical_Switch'),
  claim('Logical_Switch_Port', { foreignColumns: ['up', 'dynamic_addresses', 'tag'] }),
  claim('Logical_Router'),
  claim('Logical_Router_Port', { foreignColumns: ['ipv6_prefix', 'status'] }),
  claim('Logical_Router_Static_Route', {
    container: { table: 'Logical_Router', column: 'static_routes' },
    keyOf: (row, container) =>
      container === undefined ? undefined : `${container.key} ${row.column('ip_prefix') as string}`,
  }),
  claim('Port_Group', { isolates: true }),
  claim('ACL', {
    isolates: true,
    keyOf: (row) => {
      const ids = row.column('external_ids');
      return ids instanceof Map ? (ids.get('id') as string | undefined) : undefined;
    },
  }),
];

const base = (object: string, table: string, key: string): Omit<DesiredRow, 'columns'> => ({
  database: 'OVN_Northbound',
  table,
  key,
  containers: [],
  rule: 'rule',
  object,
});

const inSwitch = (key: string): Containment => ({ table: 'Logical_Switch', key, column: 'ports' });
const inRouter = (key: string, column = 'ports'): Containment => ({
  table: 'Logical_Router',
  key,
  column,
});
const hex = (byte: number): string => byte.toString(16).padStart(2, '0');
const idsOf = (network: string): Readonly<Record<string, string>> => ({
  'k8s.ovn.org/network': network,
  'k8s.ovn.org/topology': 'layer3',
});

function buildNetwork(network: string, id: number, out: Sink): void {
  const object = `UserDefinedNetwork ${network}`;
  const prefix = `${network}_`;
  const external_ids = idsOf(network);
  const router = `${prefix}ovn_cluster_router`;
  const transit = `${prefix}transit_switch`;
  const named = (
    table: string,
    name: string,
    columns: DesiredRow['columns'],
    ...containers: readonly Containment[]
  ): void =>
    out.row({
      ...base(object, table, name),
      columns: { name, external_ids, ...columns },
      containers,
    });
  named('Logical_Router', router, { options: { always_learn_from_arp_request: 'false' } });
  named('Logical_Router', `GR_${prefix}worker`, {
    options: { chassis: 'c1', lb_force_snat_ip: 'router_ip' },
  });
  named('Logical_Switch', `${prefix}join`, {});
  named('Logical_Switch', `${prefix}worker`, { other_config: { subnet: '103.103.0.0/24' } });
  named('Logical_Switch', transit, {
    other_config: { 'interconn-ts': transit, 'requested-tnl-key': String(16711683 + id) },
  });
  named(
    'Logical_Router_Port',
    `rtos-${prefix}worker`,
    { mac: '0a:58:67:67:00:01', networks: ['103.103.0.1/24'] },
    inRouter(router),
  );
  named(
    'Logical_Router_Port',
    `${prefix}rtots-worker`,
    { mac: '0a:58:64:58:00:02', networks: ['100.88.0.2/16'] },
    inRouter(router),
  );
  named(
    'Logical_Switch_Port',
    `stor-${prefix}worker`,
    { type: 'router', addresses: ['router'], options: { 'router-port': `rtos-${prefix}worker` } },
    inSwitch(`${prefix}worker`),
  );
  named(
    'Logical_Switch_Port',
    `k8s-${prefix}worker`,
    { addresses: ['0a:58:67:67:00:02 103.103.0.2'] },
    inSwitch(`${prefix}worker`),
  );
}

function buildNode(network: string, node: string, id: number, out: Sink): void {
  const object = `UserDefinedNetwork ${network}`;
  const prefix = `${network}_`;
  const router = `${prefix}ovn_cluster_router`;
  const [high, low] = [id >> 8, id & 255];
  const name = `${prefix}tstor-${node}`;
  out.row({
    ...base(object, 'Logical_Switch_Port', name),
    columns: {
      name,
      type: 'remote',
      addresses: [`0a:58:64:58:${hex(high)}:${hex(low)} 100.88.${high}.${low}/16`],
      options: { 'requested-tnl-key': String(id), 'requested-chassis': node },
      external_ids: { ...idsOf(network), node },
    },
    containers: [inSwitch(`${prefix}transit_switch`)],
  });
  const ip_prefix = `103.${100 + high}.${low}.0/24`;
  out.row({
    ...base(object, 'Logical_Router_Static_Route', `${router} ${ip_prefix}`),
    columns: {
      ip_prefix,
      nexthop: `100.88.${high}.${low}`,
      external_ids: { 'ic-node': node, ...idsOf(network) },
    },
    containers: [inRouter(router, 'static_routes')],
  });
}

const NETWORK: Feature<Layer3Facts> = {
  name: 'network',
  over: (facts) => facts.networks,
  rules: {},
  claims: CLAIMS,
  build(facts, [network = ''], out) {
    buildNetwork(network, facts.networks.part(network, 'id') ?? 0, out);
  },
};

const NODE: Feature<Layer3Facts> = {
  name: 'node',
  over: (facts) => pairs(facts.networks, facts.nodes),
  rules: {},
  claims: CLAIMS,
  build(facts, [network = '', node = ''], out) {
    buildNode(network, node, facts.nodes.part(node, 'id') ?? 0, out);
  },
};

/** One default switch and one group with every pod in it: sets that grow with the zone. */
const DEFAULT: Feature<Layer3Facts> = {
  name: 'default',
  over: () => ({ steps: [], keys: () => [[]], onKeys: () => undefined }),
  rules: {},
  claims: CLAIMS,
  build(_facts, _args, out) {
    out.row({ ...base('cluster', 'Logical_Switch', 'worker'), columns: { name: 'worker' } });
    out.row({ ...base('cluster', 'Port_Group', 'everyPod'), columns: { name: 'everyPod' } });
    out.row({
      ...base('cluster', 'ACL', 'isolation'),
      columns: {
        priority: 1000,
        direction: 'to-lport',
        match: 'outport == @everyPod',
        action: 'drop',
        external_ids: { id: 'isolation' },
      },
      containers: [{ table: 'Port_Group', key: 'everyPod', column: 'acls' }],
    });
  },
};

const POD: Feature<Layer3Facts> = {
  name: 'pod',
  over: (facts) => facts.pods,
  rules: {},
  claims: CLAIMS,
  build(facts, [pod = ''], out) {
    const fact = facts.pods.get(pod);
    if (fact === undefined || facts.networks.part(fact.network, 'id') === undefined) return;
    const addresses = [`0a:58:67:67:${hex(fact.id >> 8)}:${hex(fact.id & 255)}`];
    const group: Containment = { table: 'Port_Group', key: 'everyPod', column: 'ports' };
    for (const [name, onSwitch, more] of [
      [pod, 'worker', [group]],
      [`${fact.network}_${pod}`, `${fact.network}_worker`, []],
    ] as const) {
      out.row({
        ...base(`Pod ${pod}`, 'Logical_Switch_Port', name),
        columns: { name, addresses, port_security: addresses },
        containers: [inSwitch(onSwitch), ...more],
      });
    }
  },
};

const FEATURES = [DEFAULT, NETWORK, NODE, POD];

export const LAYER3_CLAIMS = claimsOf(FEATURES, 'OVN_Northbound');

export const layer3Engine = (facts: Layer3Facts): Engine<Layer3Facts> =>
  new Engine({ facts, recorder: facts.recorder, refresh: () => undefined, features: FEATURES });

export const putPod = (facts: Layer3Facts, id: number, networks: number): boolean =>
  facts.pods.put(`pod${id}`, { network: `tenant${(id % networks) + 1}_net`, id });

export function layer3Facts(networks: number, nodes: number, pods = 0): Layer3Facts {
  const facts = new Layer3Facts();
  for (let id = 1; id <= nodes; id++) facts.nodes.put(`node-${id}`, { id });
  for (let id = 1; id <= networks; id++) facts.networks.put(`tenant${id}_net`, { id });
  for (let id = 1; id <= pods; id++) putPod(facts, id, networks);
  return facts;
}
