/** A proof that is kept finds what a proof from nothing finds, whatever has happened. */
import { describe, expect, test } from 'vitest';
import { rowsOf, type Row, type Tables } from '../../../../src/verify/rows.ts';
import type { EgressFirewall } from '../../../../src/api/types.ts';
import type { Objects, Policies, Snapshot } from '../../../../src/verify/snapshot.ts';
import { KeptProof, type Changes } from '../../../../src/verify/kept/kept-proof.ts';
import { READ_OF_OLD_ROWS } from '../../../../src/verify/kept/kept-rows.ts';
import { prove } from '../../../../src/verify/verify.ts';
import { changesBetween } from '../../../support/verify/changes.ts';
import { acl, joinedSnapshot } from '../../../support/verify/joined-zone.ts';
import { connectedSnapshot } from '../../../support/verify/connected-zone.ts';
import { adminPolicy, networkPolicy } from '../../../support/zone/policed-zone.ts';
import { nad, NODE, pod, snapshot } from '../../../support/verify/small-zone.ts';

const textsOf = ({
  violations,
  edges,
  undecided,
}: Pick<KeptProof, 'violations' | 'edges' | 'undecided'>): readonly string[] =>
  [...violations, ...edges, ...undecided].map((one) => JSON.stringify(one)).toSorted();

/** Of legs on the default network by sets of headers, which takes a proof from nothing. */
const OF_LEGS = / the default one, as /;

function fromNothing(read: Snapshot): readonly string[] {
  const { violations, ...verdict } = prove({ ...read, host: {} }).verdict;
  const followed = violations.filter(({ what }) => !OF_LEGS.test(what));
  return textsOf({ ...verdict, violations: followed });
}

/** Changes whose rows, once there are newer ones, can be asked for nothing but what is read of old rows. */
function newestAlone(): (changes: Changes) => Changes {
  const newest = new Map<string, Row | undefined>();
  const guarded = (table: string, uuid: string, row: Row): Row => {
    const kept = ['_uuid', ...(READ_OF_OLD_ROWS[table] ?? [])];
    const guard: Row = new Proxy(row, {
      get(columns, column) {
        if (newest.get(uuid) !== guard && !kept.includes(String(column)))
          throw new Error(`${String(column)} of an old row of ${table} is read`);
        return columns[String(column)];
      },
    });
    newest.set(uuid, guard);
    return guard;
  };
  return ({ rows, ...objects }) => ({
    ...objects,
    rows: new Map(
      [...(rows ?? [])].map(([table, changed]) => [
        table,
        new Map(
          [...changed].map(([uuid, row]) => {
            newest.delete(uuid);
            return [uuid, row && guarded(table, uuid, row)];
          }),
        ),
      ]),
    ),
  });
}

/** Numbers that look random, the same ones for the same seed (mulberry32). */
function numbersOf(seed: number): (below: number) => number {
  let state = seed;
  return (below) => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) % below;
  };
}

const map = (values: Readonly<Record<string, string>>): unknown => ['map', Object.entries(values)];
const uuids = (values: readonly string[]): unknown => ['set', values.map((one) => ['uuid', one])];
const owned = map({ heddle: 'UserDefinedNetwork blue/net', 'k8s.ovn.org/network': 'blue_net' });

/** Rows that the world of a connection has not, of each table that is looked at. */
const MORE: Readonly<Record<string, readonly Row[]>> = {
  Logical_Router_Static_Route: [
    {
      _uuid: ['uuid', 'route 1'],
      ip_prefix: '10.20.0.0/24',
      nexthop: '10.20.0.3',
      external_ids: owned,
    },
    { _uuid: ['uuid', 'route 2'], ip_prefix: '10.99.0.0/16', nexthop: '192.168.0.2' },
    { _uuid: ['uuid', 'route 3'], ip_prefix: '10.20.1.0/24', nexthop: 'discard' },
  ],
  Logical_Router_Policy: [
    {
      _uuid: ['uuid', 'policy 1'],
      priority: 9,
      match: 'inport == "rtos-blue_net_n1" && ip4.dst == 10.20.0.0/16',
      action: 'reroute',
      nexthops: '10.20.0.9',
      options: map({ pkt_mark: '4098' }),
      external_ids: owned,
    },
    { _uuid: ['uuid', 'policy 2'], priority: 8, match: 'ip4.dst == 10.20.0.0/16', action: 'allow' },
  ],
  NAT: [
    {
      _uuid: ['uuid', 'nat 1'],
      type: 'snat',
      external_ip: '169.254.0.13',
      logical_ip: '10.20.0.0/16',
      external_ids: owned,
    },
    { _uuid: ['uuid', 'nat 2'], type: 'dnat', external_ip: '172.18.0.9', logical_ip: '10.20.0.3' },
  ],
  ACL: [
    {
      _uuid: ['uuid', 'acl 1'],
      direction: 'from-lport',
      priority: 1001,
      action: 'allow',
      match: 'ip4.dst == 10.20.0.0/16',
    },
    {
      _uuid: ['uuid', 'acl 2'],
      direction: 'from-lport',
      priority: 450,
      action: 'drop',
      match: 'ip4.dst == {10.20.0.0/16} && ct.new',
    },
  ],
  QoS: [{ _uuid: ['uuid', 'qos'], match: 'ip', action: map({ mark: '4098' }) }],
  Port_Group: [
    { _uuid: ['uuid', 'group'], name: 'g', ports: uuids(['leg']), acls: uuids(['acl 1']) },
  ],
  DHCP_Options: [
    { _uuid: ['uuid', 'dhcp'], cidr: '10.99.0.0/16', options: map({ router: '10.20.0.1' }) },
  ],
  Load_Balancer: [
    {
      _uuid: ['uuid', 'lb 1'],
      name: 'Service_blue/web_TCP',
      vips: map({ '172.16.1.9:80': '10.20.0.3:80' }),
      external_ids: map({
        'k8s.ovn.org/kind': 'Service',
        'k8s.ovn.org/owner': 'blue/web',
        'k8s.ovn.org/network': 'blue_net',
      }),
    },
    {
      _uuid: ['uuid', 'lb 2'],
      name: 'Pod_blue/a_TCP',
      vips: map({ '172.18.0.2:80': '10.20.0.3:80' }),
    },
  ],
  Load_Balancer_Group: [
    { _uuid: ['uuid', 'lbs'], name: 'l', load_balancer: uuids(['lb 1', 'lb 2']) },
  ],
};

/** References that a column may have: rows of those tables. */
const REFERENCES: Readonly<Record<string, readonly string[]>> = {
  ports: ['Logical_Switch_Port', 'Logical_Router_Port'],
  static_routes: ['Logical_Router_Static_Route'],
  policies: ['Logical_Router_Policy'],
  nat: ['NAT'],
  acls: ['ACL'],
  load_balancer: ['Load_Balancer'],
  load_balancer_group: ['Load_Balancer_Group'],
  dhcpv4_options: ['DHCP_Options'],
};

const COLUMNS: Readonly<Record<string, readonly string[]>> = {
  Logical_Switch: ['ports', 'acls', 'load_balancer', 'load_balancer_group', 'name', 'other_config'],
  Logical_Router: ['ports', 'static_routes', 'policies', 'nat', 'load_balancer', 'name', 'options'],
  Logical_Switch_Port: [
    'addresses',
    'type',
    'options',
    'dhcpv4_options',
    'name',
    'parent_name',
    'enabled',
  ],
  Logical_Router_Port: ['peer', 'networks', 'name'],
  Port_Group: ['ports', 'acls', 'external_ids'],
  Load_Balancer_Group: ['load_balancer'],
  Load_Balancer: ['vips', 'protocol', 'external_ids'],
};

const VALUES: Readonly<Record<string, readonly unknown[]>> = {
  name: [
    'blue_net_n1',
    'green_net_ovn_cluster_router',
    'connect_router_both',
    'ext_blue_net_n1',
    'nobody',
    'blue.net_blue_a',
    'up-blue_net',
  ],
  other_config: [
    map({}),
    map({ 'requested-tnl-key': '7' }),
    map({ 'requested-tnl-key': '16711684' }),
  ],
  options: [
    map({}),
    map({ 'requested-tnl-key': '7' }),
    map({ 'router-port': 'rtos-green_net_n1' }),
    map({ lb_force_snat_ip: '169.254.0.14' }),
    map({ 'requested-chassis': 'other' }),
  ],
  addresses: ['0a:58:0a:14:00:03 10.20.0.3', '0a:58:0a:14:00:04 169.254.0.14', ['set', []]],
  type: ['', 'router', 'localnet', 'remote', 'vtep'],
  peer: ['rtos-green_net_n1', 'down-green_net', 'up-blue_net', 'nowhere'],
  networks: ['10.20.0.1/24', '169.254.0.12/17', '169.254.0.4/17'],
  parent_name: ['', 'green.net_green_a'],
  enabled: [true, false],
  vips: [map({ '172.16.1.9:80': '10.20.0.4:80' }), map({ '172.16.1.8:80': '10.20.0.3:80' })],
  protocol: ['tcp', 'udp', ['set', []]],
  external_ids: [
    owned,
    map({}),
    map({ 'k8s.ovn.org/id': 'default-network-controller:UDNIsolation:SecondaryPods' }),
  ],
};

const service = (namespace: string): Objects['services'][number] => ({
  apiVersion: 'v1',
  kind: 'Service',
  metadata: { name: 'web', namespace },
  spec: { clusterIPs: ['172.16.1.9'], ports: [{ port: 80, protocol: 'TCP' }] },
});

const slice = (address: string): Objects['slices'][number] => ({
  apiVersion: 'discovery.k8s.io/v1',
  kind: 'EndpointSlice',
  metadata: {
    name: 'web-1',
    namespace: 'blue',
    labels: { 'k8s.ovn.org/service-name': 'web' },
    annotations: { 'k8s.ovn.org/endpointslice-network': 'blue_net' },
  },
  addressType: 'IPv4',
  endpoints: [{ addresses: [address] }],
});

/** With a leg on the default network, which is closed. */
const withLeg = (one: Objects['pods'][number]): Objects['pods'][number] => {
  const networks = JSON.parse(
    one.metadata.annotations?.['k8s.ovn.org/pod-networks'] ?? '{}',
  ) as Readonly<Record<string, unknown>>;
  const leg = {
    ip_addresses: ['10.128.0.9/24'],
    mac_address: '0a:58:0a:80:00:09',
    role: 'infrastructure-locked',
  };
  return {
    ...one,
    metadata: {
      ...one.metadata,
      annotations: { 'k8s.ovn.org/pod-networks': JSON.stringify({ default: leg, ...networks }) },
    },
  };
};

const policy = (name: string, spec: object) => networkPolicy(`blue/${name}`, spec);
const firewall = (...egress: EgressFirewall['spec']['egress']): EgressFirewall => ({
  apiVersion: 'k8s.ovn.org/v1',
  kind: 'EgressFirewall',
  metadata: { namespace: 'blue', name: 'default' },
  spec: { egress },
});
const of = (name: string): object => ({ matchLabels: { 'kubernetes.io/metadata.name': name } });

/** States that policies of each kind may be in; `torn` ones can't be read. */
const POLICIES: { readonly [K in keyof Policies]: readonly Policies[K][] } = {
  namespaced: [
    [],
    [policy('closed', { podSelector: {} })],
    [
      policy('green', {
        podSelector: {},
        ingress: [{ from: [{ namespaceSelector: of('green') }] }],
      }),
    ],
    [
      policy('closed', { podSelector: {} }),
      policy('torn', { ingress: [{ from: [{ more: {} }] }] }),
    ],
  ],
  admins: [
    [],
    [
      adminPolicy('guard', {
        tier: 'Admin',
        priority: 1,
        subject: { namespaces: {} },
        egress: [{ action: 'Deny', to: [{ networks: ['192.0.2.0/24'] }] }],
      }),
    ],
  ],
  firewalls: [
    [],
    [firewall({ type: 'Deny', to: { cidrSelector: '192.0.2.0/24' } })],
    [firewall({ type: 'Deny', to: { nodeSelector: {} } })],
    [firewall({ type: 'Deny', to: { dnsName: 'www.example.org' } })],
    [firewall({ type: 'torn', to: {} })],
  ],
};

const world = connectedSnapshot();
const [connect] = world.objects.connects;
if (connect === undefined) throw new Error('the world has no connection');

/** States that the objects of each kind may be in. */
const OBJECTS: { readonly [K in keyof Objects]?: readonly NonNullable<Objects[K]>[] } = {
  attachmentDefinitions: [
    [nad('blue', 1), nad('green', 2)],
    [nad('blue', 1), nad('green', 1)],
    [nad('blue', 1), nad('green', 2), nad('blue', 2, { network: 'green_net', name: 'green' })],
    [nad('green', 2), nad('red', 3)],
    [nad('blue', 1)],
  ],
  pods: [
    [pod('blue', 'a', 3), pod('green', 'a', 3)],
    [pod('blue', 'a', 4)],
    [withLeg(pod('blue', 'a', 3)), pod('green', 'a', 3)],
    [
      pod('blue', 'a', 3),
      {
        ...pod('green', 'a', 3),
        spec: {
          nodeName: 'n2',
          containers: [{ ports: [{ containerPort: 80, protocol: 'TCP', hostPort: 80 }] }],
        },
      },
    ],
    [],
  ],
  connects: [
    [connect],
    [{ ...connect, spec: { ...connect.spec, connectivity: ['ClusterIPServiceNetwork'] } }],
    [],
  ],
  nodes: [[NODE], []],
  services: [[service('blue')], [service('green')], []],
  slices: [[slice('10.20.0.3')], [slice('10.20.0.4')], []],
};

const NO_POLICIES: Policies = { namespaced: [], admins: [], firewalls: [] };

/** One change of a row, or of objects, as a hand, a daemon or a stranger may make it. */
function step(read: Snapshot, original: Tables, number: (below: number) => number): Snapshot {
  const one = <T>(values: readonly T[]): T => {
    const value = values[number(values.length)];
    if (value === undefined) throw new Error('there is nothing to choose from');
    return value;
  };
  if (number(5) === 0) {
    const part = one(Object.keys(POLICIES) as (keyof Policies)[]);
    const policies = { ...NO_POLICIES, ...read.policies };
    return { ...read, policies: { ...policies, [part]: one<readonly unknown[]>(POLICIES[part]) } };
  }
  if (number(4) === 0) {
    const kind = one(Object.keys(OBJECTS) as (keyof typeof OBJECTS)[]);
    return {
      ...read,
      objects: { ...read.objects, [kind]: one<readonly unknown[]>(OBJECTS[kind] ?? []) },
    };
  }
  const table = one([...original.keys()]);
  const rows = read.northbound.get(table) ?? [];
  const known = original.get(table) ?? [];
  const at = one(known);
  const there = rows.find((row) => row['_uuid'] === at['_uuid']);
  const rest = rows.filter((row) => row !== there);
  const place = (now: readonly Row[]): Snapshot => ({
    ...read,
    northbound: new Map([...read.northbound, [table, now]]),
  });
  if (there === undefined) return place([...rest, at]);
  if (number(3) === 0) return place(rest);
  const column = one(COLUMNS[table] ?? ['external_ids']);
  const tables = REFERENCES[column];
  const names = tables?.flatMap((of) =>
    (original.get(of) ?? []).map((row) => (row['_uuid'] as [string, string])[1]),
  );
  const value =
    names === undefined
      ? one<unknown>(VALUES[column] ?? [])
      : number(3) === 0
        ? (at[column] ?? uuids([]))
        : uuids(names.filter(() => number(3) === 0));
  return place(rows.map((row) => (row === there ? { ...row, [column]: value } : row)));
}

describe('after every step of a history of changes', () => {
  const [first, ...others] = world.northbound.get('Logical_Switch') ?? [];
  const original: Tables = new Map([
    ...world.northbound,
    ...Object.entries(MORE),
    [
      'Logical_Switch',
      [
        { ...first, load_balancer: uuids(['lb 1']) },
        ...others,
        { _uuid: ['uuid', 'home'], name: 'n1', ports: uuids(['leg']), acls: uuids([]) },
      ],
    ],
    [
      'Logical_Switch_Port',
      [
        ...(world.northbound.get('Logical_Switch_Port') ?? []),
        { _uuid: ['uuid', 'leg'], name: 'blue_a', type: '', options: map({}) },
      ],
    ],
  ]);
  const begin: Snapshot = { ...world, host: {}, northbound: original, policies: NO_POLICIES };

  test.each(Array.from({ length: 24 }, (_, seed) => seed))(
    'it finds the same (seed %i)',
    (seed) => {
      const number = numbersOf(seed);
      const guarded = newestAlone();
      const proof = new KeptProof(begin.node, begin.settings);
      proof.apply(guarded(changesBetween(undefined, begin)));
      proof.judge();
      expect(textsOf(proof)).toEqual(fromNothing(begin));
      let read = begin;
      for (let count = 0; count < 60; count += 1) {
        let next = step(read, original, number);
        // Several changes at a time, as a transaction has them.
        while (number(3) === 0) next = step(next, original, number);
        proof.apply(guarded(changesBetween(read, next)));
        proof.judge();
        read = next;
        expect(textsOf(proof), `step ${count}`).toEqual(fromNothing(read));
      }
    },
  );
});

test('one pod is judged with its switch, and not the other network', () => {
  const begin = snapshot({ host: {} });
  const proof = new KeptProof(begin.node, begin.settings);
  proof.apply(changesBetween(undefined, begin));
  proof.judge();
  const all = begin.objects.pods.map((one) => one);
  const next = {
    ...begin,
    objects: { ...begin.objects, pods: [pod('blue', 'a', 4), ...all.slice(1)] },
  };
  proof.apply(changesBetween(begin, next));
  expect(proof.waiting).toBe(1);
  proof.judge();
  expect(proof.violations.map(({ networks }) => networks)).toEqual([['blue_net'], ['blue_net']]);
});

test('subnets that nodes get on one network have none judged again on the others', () => {
  const { objects, ...begin } = {
    ...joinedSnapshot({ groups: {}, objects: { connects: [] } }),
    // It asks each node for its subnets of the network.
    policies: { ...NO_POLICIES, firewalls: [firewall({ type: 'Deny', to: { nodeSelector: {} } })] },
  };
  const withSubnets = (subnets: Readonly<Record<string, readonly string[]>>): Snapshot => ({
    ...begin,
    objects: {
      ...objects,
      nodes: objects.nodes.map((node) => ({
        ...node,
        metadata: {
          ...node.metadata,
          annotations: {
            ...node.metadata.annotations,
            'k8s.ovn.org/node-subnets': JSON.stringify(subnets),
          },
        },
      })),
    },
  });
  const before = withSubnets({ blue_net: ['10.0.0.0/24'] });
  const proof = new KeptProof(begin.node, begin.settings);
  proof.apply(changesBetween(undefined, before));
  proof.judge();
  const other = withSubnets({ blue_net: ['10.0.0.0/24'], red_net: ['10.9.0.0/24'] });
  proof.apply(changesBetween(before, other));
  expect(proof.waiting).toBe(0);
  proof.apply(changesBetween(other, withSubnets({ blue_net: ['10.0.8.0/24'] })));
  expect(proof.waiting).toBeGreaterThan(0);
});

test('what pods get and send is judged again where a row, a set, an object or an option is another one, and on no other network', () => {
  const begin: Snapshot = {
    ...joinedSnapshot({
      groups: { pods: ['blue.net_blue_a', 'blue.net_blue_b'] },
      acls: [
        acl('pods', 'to-lport', 'ip4.dst == $far && inport == @pods', {
          action: 'drop',
          priority: 10_000,
        }),
      ],
      sets: { far: ['192.0.2.0/24'] },
      objects: { connects: [] },
    }),
    policies: {
      ...NO_POLICIES,
      firewalls: [firewall({ type: 'Deny', to: { cidrSelector: '192.0.2.0/24' } })],
    },
  };
  const proof = new KeptProof(begin.node, begin.settings);
  proof.apply(changesBetween(undefined, begin));
  proof.judge();
  const known = new Set(proof.violations.map(({ where, what }) => `${where} ${what}`));
  const rows = (table: string, change: (row: Row) => Row): Snapshot => ({
    ...begin,
    northbound: new Map([
      ...begin.northbound,
      [table, rowsOf(begin.northbound, table).map(change)],
    ]),
  });
  const more = (next: Snapshot): readonly string[] => {
    proof.apply(changesBetween(begin, next));
    expect(proof.waiting).toBeGreaterThan(0);
    proof.judge();
    const found = proof.violations.filter(({ where, what }) => !known.has(`${where} ${what}`));
    expect(textsOf(proof)).toEqual(fromNothing(next));
    proof.apply(changesBetween(next, begin));
    proof.judge();
    expect(textsOf(proof)).toEqual(fromNothing(begin));
    expect(found.flatMap(({ networks }) => networks)).not.toContain('green_net');
    return found.map(({ check, object }) => `${check} ${object}`);
  };
  const open = ['firewalls EgressFirewall blue/default'];
  expect(more(rows('ACL', (row) => ({ ...row, match: '0' })))).toEqual(open);
  expect(more(rows('ACL', (row) => ({ ...row, action: 'allow' })))).toEqual(open);
  expect(more(rows('Address_Set', (row) => ({ ...row, addresses: '192.0.2.0/25' })))).toEqual(open);
  expect(more(rows('Port_Group', (row) => ({ ...row, ports: uuids([]) })))).toEqual(open);
  const without = { ...begin, policies: { ...begin.policies, firewalls: [] } } as Snapshot;
  expect(more(without)).toEqual(['firewalls UserDefinedNetwork blue/net']);
  const closed = {
    ...begin,
    policies: { ...begin.policies, namespaced: [policy('closed', { podSelector: {} })] },
  } as Snapshot;
  expect(more(closed)).toEqual(['policies NetworkPolicy blue/closed']);
});

test('an option that has all dropped that no ACL is about is followed, and nothing else of its row', () => {
  const dropping = (options: Readonly<Record<string, string>>, nb_cfg = 1): Snapshot => {
    // Without any ACL nothing is dropped.
    const read = joinedSnapshot({
      acls: [acl('blue_net_n1', 'from-lport', 'ip4.dst == 192.0.2.0/24')],
    });
    const row = { _uuid: ['uuid', 'global'], nb_cfg, options: map(options) };
    return {
      ...read,
      policies: NO_POLICIES,
      northbound: new Map([...read.northbound, ['NB_Global', [row]]]),
    };
  };
  const begin = dropping({});
  const proof = new KeptProof(begin.node, begin.settings);
  proof.apply(changesBetween(undefined, begin));
  proof.judge();
  const put = (read: Snapshot): void =>
    proof.apply({
      rows: new Map([
        ['NB_Global', new Map([['global', rowsOf(read.northbound, 'NB_Global')[0]]])],
      ]),
    });
  put(dropping({}, 2));
  expect(proof.waiting).toBe(0);
  put(dropping({ default_acl_drop: 'true' }));
  expect(proof.waiting).toBeGreaterThan(0);
  proof.judge();
  expect(proof.violations.map(({ what }) => what)).toContainEqual(
    expect.stringMatching(
      /^lets not pass what Pod blue\/a sends .*, though no policy denies that$/,
    ),
  );
});

test('what waits is judged a little at a time', () => {
  const begin = snapshot({ host: {} });
  const proof = new KeptProof(begin.node, begin.settings);
  proof.apply(changesBetween(undefined, begin));
  for (let { waiting } = proof; waiting > 0; waiting -= 1) {
    expect(proof.waiting).toBe(waiting);
    proof.judge(0);
  }
  expect(proof.waiting).toBe(0);
  expect(textsOf(proof)).toEqual(fromNothing(begin));
});

test('whether a connection selects a cluster-wide network is not judged where these are not told', () => {
  const begin = snapshot({ host: {} });
  const { clusterNetworks: _, ...objects } = begin.objects;
  const ofCluster = nad('blue', 1, { network: 'cluster_udn_blue', name: 'blue' });
  const controller = {
    apiVersion: 'k8s.ovn.org/v1',
    kind: 'ClusterUserDefinedNetwork',
    name: 'blue',
    uid: 'blue',
    controller: true,
  };
  const zone = {
    ...objects,
    attachmentDefinitions: [
      { ...ofCluster, metadata: { ...ofCluster.metadata, ownerReferences: [controller] } },
    ],
    connects: [
      {
        ...connect,
        metadata: {
          ...connect.metadata,
          annotations: {
            'k8s.ovn.org/network-connect-subnet': JSON.stringify({
              layer3_1: { ipv4: '192.168.0.0/24' },
            }),
          },
        },
        spec: {
          ...connect.spec,
          networkSelectors: [
            {
              networkSelectionType: 'ClusterUserDefinedNetworks' as const,
              clusterUserDefinedNetworkSelector: { networkSelector: {} },
            },
          ],
        },
      },
    ],
  };
  const found = (told: Partial<Objects>): readonly string[] => {
    const changes = changesBetween(undefined, {
      ...begin,
      northbound: new Map(),
      objects: { ...zone, ...told } as Objects,
    });
    const proof = new KeptProof(begin.node, begin.settings);
    proof.apply(changes);
    proof.judge();
    return proof.violations.map(({ what }) => what);
  };
  expect(found({})).toEqual([]);
  expect(found({ clusterNetworks: [] })).toEqual([
    'has one for network cluster_udn_blue, which the connection does not select',
  ]);
});
