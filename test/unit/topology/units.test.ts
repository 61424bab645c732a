import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { RowReference, type DesiredRow } from '../../../src/desired/rows.ts';
import type { RowOwner, RowTarget } from '../../../src/desired/engine.ts';
import type { RenderingOptions } from '../../../src/model/zone/rendered-networks.ts';
import { objectKey, type KubeObject } from '../../../src/api/objects.ts';
import type { Attachment } from '../../../src/model/model.ts';
import { NORTHBOUND, SOUTHBOUND } from '../../../src/topology/rows/unit-rows.ts';
import { builtUnits } from '../../support/zone/built-rows.ts';
import { macOf } from '../../support/zone/layer3-by-hand.ts';
import { service, servicesOfAllKinds, slice, withServices } from '../../support/zone/services.ts';
import { rowTexts } from '../../support/zone/row-text.ts';
import { engineOver } from '../../support/zone/zone-engine.ts';
import {
  blue,
  bluePod,
  bluePodDefault,
  defaultNetwork,
  dualZone,
  exampleZone,
  factsOf,
  farYellowPod,
  furtherNode,
  inLocalMode,
  ipv6Zone,
  layer2Secondary,
  localnet,
  networkName,
  putZone,
  worker2,
  yellow,
  yellowPod,
  type Zone,
  type ZoneNetwork,
} from '../../support/zone/zones.ts';

const allRows = (zone: Zone): DesiredRow[] => builtUnits(factsOf(zone)).flatMap(({ rows }) => rows);

const secondary: ZoneNetwork = {
  ...blue,
  name: networkName('cluster_udn_storage'),
  id: 7,
  role: 'secondary',
  masquerade: {},
  namespaces: [],
  nads: ['blue/storage'],
};

const busyZone: Zone = {
  ...exampleZone,
  networks: [defaultNetwork, blue, secondary],
  attachments: [
    bluePod,
    { ...bluePodDefault, openDefaultPorts: [{ protocol: 'tcp', port: 80 }] },
    { ...bluePod, network: secondary.name, nadKey: 'blue/storage', role: 'secondary' },
  ],
};

const layer2Zone: Zone = {
  ...exampleZone,
  namespaces: [...exampleZone.namespaces, 'yellow'],
  networks: [...exampleZone.networks, yellow, layer2Secondary, localnet],
  attachments: [yellowPod],
  remoteAttachments: [farYellowPod],
};

describe('the rows of a zone', () => {
  test.each([
    ['example', exampleZone],
    ['local gateway mode', inLocalMode(exampleZone)],
    ['both families', dualZone],
    ['IPv6', ipv6Zone],
    ['secondary network and pods', busyZone],
    ['Layer2 and localnet', layer2Zone],
    ['services', withServices(busyZone, ...servicesOfAllKinds)],
    ['services, both families', withServices(dualZone, ...servicesOfAllKinds)],
    [
      'multicast',
      {
        ...busyZone,
        settings: {
          ...busyZone.settings,
          features: {
            egressIp: true,
            egressFirewall: true,
            egressService: true,
            externalRoutes: true,
            multicast: true,
          },
        },
      },
    ],
  ])('%s: every key is one row, every reference and container is there', (_name, zone) => {
    const rows = allRows(zone);
    const keys = new Set(rows.map((row) => `${row.table} ${row.key}`));
    expect(keys.size).toBe(rows.length);
    const wanted = rows.flatMap((row) => [
      ...row.containers.map(({ table, key }) => `${table} ${key}`),
      ...Object.values(row.columns)
        .flatMap((value): unknown[] => (Array.isArray(value) ? value : [value]))
        .filter((value) => value instanceof RowReference)
        .map(({ table, key }) => `${table} ${key}`),
    ]);
    expect(wanted.filter((key) => !keys.has(key))).toEqual([]);
  });

  test('are 2 routes and 1 port per remote node of a primary network', () => {
    const nodes = Array.from({ length: 10 }, (_, index) => furtherNode(index + 4));
    const network = withSubnets(blue, nodes, '103.103');
    const northbound = (zone: Zone): number =>
      allRows(zone).filter(({ database }) => database === NORTHBOUND).length;
    const before = { ...exampleZone, networks: [network] };
    const after = { ...before, remoteNodes: [worker2, ...nodes] };
    expect(northbound(after) - northbound(before)).toBe(30);
  });
});

const withSubnets = (
  network: ZoneNetwork,
  nodes: readonly { readonly name: string; readonly id: number }[],
  prefix: string,
): ZoneNetwork => ({
  ...network,
  nodeSubnets: new Map([
    ...network.nodeSubnets,
    ...nodes.map(({ name, id }) => [name, [`${prefix}.${id}.0/24`]] as const),
  ]),
});

/** Keeps the rows of each unit and which units were built. */
class Recorder implements RowTarget {
  readonly database: string;
  readonly rows = new Map<string, readonly DesiredRow[]>();
  readonly built: string[] = [];

  constructor(database: string) {
    this.database = database;
  }

  set(owner: RowOwner, rows: readonly DesiredRow[]): void {
    this.built.push(owner.id);
    if (rows.length === 0) this.rows.delete(owner.id);
    else this.rows.set(owner.id, rows);
  }

  has(owner: RowOwner): boolean {
    return this.rows.has(owner.id);
  }
}

/** A running zone: changes go in, the units that were built come out. */
class Running {
  readonly northbound = new Recorder(NORTHBOUND);
  readonly southbound = new Recorder(SOUTHBOUND);
  readonly facts;
  readonly engine;
  now = 0;
  #zone: Zone;

  constructor(zone: Zone, options?: RenderingOptions) {
    this.#zone = zone;
    this.facts = factsOf(zone, options);
    this.engine = engineOver(this.facts, () => this.now);
    this.engine.connect([this.northbound, this.southbound]);
    this.engine.build();
  }

  /** How many units a change builds. */
  count(zone: Zone): number {
    putZone(this.facts, this.#zone, zone);
    this.#zone = zone;
    return this.engine.build();
  }

  /** Units with rows that a change sets or ends, as `feature argument …`. */
  changed(zone: Zone): string[] {
    this.northbound.built.length = 0;
    this.southbound.built.length = 0;
    this.count(zone);
    return [...this.northbound.built, ...this.southbound.built]
      .map((id) => (JSON.parse(id) as string[]).join(' '))
      .sort();
  }

  get rows(): DesiredRow[] {
    return [...this.northbound.rows.values(), ...this.southbound.rows.values()].flat();
  }
}

const changes = (before: Zone, after: Zone): string[] => new Running(before).changed(after);

describe('what a change makes anew', () => {
  test('nothing, when all values are the same, even as copies', () => {
    expect(new Running(busyZone).count(structuredClone(busyZone))).toBe(0);
  });

  test('a pod: itself', () => {
    const pod: Attachment = {
      ...bluePod,
      pod: 'pod2',
      addresses: ['103.103.0.4/24'],
      macAddress: '0a:58:67:67:00:04',
    };
    const after = { ...busyZone, attachments: [...busyZone.attachments, pod] };
    expect(changes(busyZone, after)).toEqual(['pods/port blue pod2 blue/blue']);
    expect(changes(after, busyZone)).toEqual(['pods/port blue pod2 blue/blue']);
    expect(new Running(busyZone).count(after)).toBe(1);
  });

  test('a node: its part of each network, its chassis, and the set of node addresses', () => {
    const node = furtherNode(4);
    const networks = busyZone.networks.map((network) => withSubnets(network, [node], '103.103'));
    const after = { ...busyZone, networks, remoteNodes: [worker2, node] };
    const units = [
      'egress/node-addresses',
      'interconnect/chassis node-4',
      'interconnect/remote-node blue_blue node-4',
      'interconnect/remote-node cluster_udn_storage node-4',
      'interconnect/remote-node default node-4',
    ];
    expect(changes(busyZone, after)).toEqual(units);
    expect(changes(after, busyZone)).toEqual(units);
  });

  test("another node's addresses of the host: the set of node addresses", () => {
    const node = { ...worker2, hostAddresses: ['172.18.0.4/16', '10.7.7.7/24'] };
    const after = { ...busyZone, remoteNodes: [node] };
    expect(changes(busyZone, after)).toEqual(['egress/node-addresses']);
  });

  test("this node's addresses of the host: that set, the default network, what the chassis fills in for node ports", () => {
    const node = { ...busyZone.node, hostAddresses: ['172.18.0.3/16', '10.7.7.7/24'] };
    expect(changes(busyZone, { ...busyZone, node })).toEqual([
      'egress/node-addresses',
      'layer3/network default',
      'services/template-variables',
    ]);
  });

  test("another node's subnet of one network: its part of that network", () => {
    const nodeSubnets = new Map([...blue.nodeSubnets, ['ovn-worker2', ['103.103.9.0/24']]]);
    const after = { ...exampleZone, networks: [defaultNetwork, { ...blue, nodeSubnets }] };
    expect(changes(exampleZone, after)).toEqual(['interconnect/remote-node blue_blue ovn-worker2']);
  });

  test('a network: its own units', () => {
    const before = { ...busyZone, networks: [defaultNetwork, blue] };
    const units = [
      'interconnect/remote-node cluster_udn_storage ovn-worker2',
      'layer3/network cluster_udn_storage',
      'pods/port blue pod1 blue/storage',
    ];
    expect(changes(before, busyZone)).toEqual(units);
    expect(changes(busyZone, before)).toEqual(units);
  });

  test("another node's pod on a Layer2 network: itself; on other networks: nothing", () => {
    const more: Attachment = {
      ...farYellowPod,
      pod: 'further',
      macAddress: '0a:58:69:69:00:05',
      addresses: ['105.105.0.5/16'],
      tunnelId: 12,
    };
    const onBlue: Attachment = {
      ...bluePod,
      pod: 'further',
      node: 'ovn-worker2',
      macAddress: '0a:58:67:67:01:05',
      addresses: ['103.103.1.5/24'],
    };
    const after = { ...layer2Zone, remoteAttachments: [farYellowPod, more, onBlue] };
    const unit = 'layer2/remote-port yellow further yellow/yellow-net';
    expect(changes(layer2Zone, after)).toEqual([unit]);
    expect(changes(after, layer2Zone)).toEqual([unit]);
    expect(new Running(layer2Zone).count(after)).toBe(1);
  });

  test('a pod of the same name that comes to this node instead: its port there goes, its port here comes', () => {
    const here: Attachment = { ...farYellowPod, node: 'ovn-worker', podUid: 'another' };
    const after = { ...layer2Zone, attachments: [yellowPod, here], remoteAttachments: [] };
    const units = [
      'layer2/remote-port yellow far yellow/yellow-net',
      'pods/port yellow far yellow/yellow-net',
    ];
    expect(changes(layer2Zone, after)).toEqual(units);
    expect(changes(after, layer2Zone)).toEqual(units);
  });

  test('a node: its gateway router of each primary Layer2 network', () => {
    const after = { ...layer2Zone, remoteNodes: [worker2, furtherNode(4)] };
    expect(changes(layer2Zone, after)).toEqual([
      'egress/node-addresses',
      'interconnect/chassis node-4',
      'layer2/remote-gateway cluster_udn_yellow-net node-4',
    ]);
  });

  test('a Layer2 network: its own units, and those of its pods everywhere', () => {
    const before = {
      ...layer2Zone,
      networks: [...exampleZone.networks, layer2Secondary, localnet],
    };
    const units = [
      'egress/served-pods cluster_udn_yellow-net',
      'layer2/network cluster_udn_yellow-net',
      'layer2/remote-gateway cluster_udn_yellow-net ovn-worker2',
      'layer2/remote-port yellow far yellow/yellow-net',
      'pods/namespace-groups cluster_udn_yellow-net yellow',
      'pods/port yellow pod2 yellow/yellow-net',
    ];
    expect(changes(before, layer2Zone)).toEqual(units);
    expect(changes(layer2Zone, before)).toEqual(units);
  });

  test('a network that becomes one of another topology: the units of both', () => {
    const secondaryNow = { ...layer2Secondary, topology: 'localnet' as const };
    const after = {
      ...layer2Zone,
      networks: [...exampleZone.networks, yellow, secondaryNow, localnet],
    };
    expect(changes(layer2Zone, after)).toEqual([
      'layer2/network blue_l2',
      'localnet/network blue_l2',
    ]);
  });

  test('a namespace: its group on the default network', () => {
    const after = { ...busyZone, namespaces: [...busyZone.namespaces, 'red'] };
    expect(changes(busyZone, after)).toEqual(['pods/default-namespace-groups red']);
    expect(changes(after, busyZone)).toEqual(['pods/default-namespace-groups red']);
  });

  test('a service open to all: its address set, and the networks that have routes to it', () => {
    const after = {
      ...exampleZone,
      allowedDefaultServices: [{ key: 'default/kubernetes', clusterIps: ['10.96.0.2'] }],
    };
    expect(changes(exampleZone, after)).toEqual([
      'layer3/network blue_blue',
      'services/enabled-service-addresses',
    ]);
  });
});

describe('what a change of services makes anew', () => {
  const web = service('blue/web', { clusterIPs: ['10.96.1.1'] });
  const other = service('blue/other', { clusterIPs: ['10.96.1.2'] });
  const endpoints = (name: string, ...addresses: string[]) =>
    slice('blue/web', addresses, { network: 'blue_blue', name });
  const before = withServices(exampleZone, web, other, endpoints('a', '103.103.0.3'));

  test('an endpoint, a slice: that service', () => {
    const more = endpoints('a', '103.103.0.3', '103.103.1.5');
    const unit = ['services/load-balancers blue_blue blue/web'];
    expect(changes(before, withServices(exampleZone, web, other, more))).toEqual(unit);
    const second = endpoints('b', '103.103.1.5');
    const [first] = before.endpointSlices ?? [];
    const after = withServices(exampleZone, web, other, second);
    const slices = [...(after.endpointSlices ?? []), ...(first === undefined ? [] : [first])];
    expect(changes(before, { ...after, endpointSlices: slices })).toEqual(unit);
  });

  test('an endpoint that takes no traffic: nothing', () => {
    const unready = { addresses: ['103.103.1.5'], conditions: { ready: false } };
    const found = slice('blue/web', ['103.103.0.3', unready], { network: 'blue_blue' });
    expect(changes(before, withServices(exampleZone, web, other, found))).toEqual([]);
  });

  test('a service: itself', () => {
    const [first] = before.endpointSlices ?? [];
    const after = { ...withServices(exampleZone, web), endpointSlices: first ? [first] : [] };
    expect(changes(before, after)).toEqual(['services/load-balancers blue_blue blue/other']);
  });

  test('an endpoint on this host, of a service with a node port: that service, and what the chassis fills in', () => {
    const agent = service('kube-system/agent', {
      type: 'NodePort',
      clusterIPs: ['10.96.0.7'],
      ports: [{ port: 80, nodePort: 30090 }],
    });
    const on = (...addresses: string[]) =>
      withServices(exampleZone, agent, slice('kube-system/agent', addresses));
    expect(changes(on('172.18.0.4'), on('172.18.0.3', '172.18.0.4'))).toEqual([
      'services/load-balancers default kube-system/agent',
      'services/template-variables',
    ]);
  });
});

describe('units built in a large zone', () => {
  const nodes = Array.from({ length: 30 }, (_, index) => furtherNode(index + 4));
  const network = (id: number): ZoneNetwork =>
    withSubnets(
      {
        ...blue,
        name: networkName(`tenant_net${id}`),
        id,
        masquerade: {},
        nads: [`tenant/net${id}`],
        namespaces: ['tenant'],
      },
      nodes,
      `103.${id}`,
    );
  const pod = (id: number, host = 3): Attachment => ({
    ...bluePod,
    namespace: 'tenant',
    pod: `pod${id}-${host}`,
    addresses: [`103.103.0.${host}/24`],
    macAddress: macOf(`103.103.0.${host}`),
    network: networkName(`tenant_net${id}`),
    nadKey: `tenant/net${id}`,
  });
  const large: Zone = {
    ...exampleZone,
    namespaces: [...exampleZone.namespaces, 'tenant'],
    remoteNodes: nodes,
    networks: [
      withSubnets(defaultNetwork, nodes, '10.244'),
      ...Array.from({ length: 40 }, (_, index) => network(index + 1)),
    ],
    attachments: Array.from({ length: 19 }, (_, index) => pod(index + 1)),
  };

  test('rows of a network that nothing uses: none, but those of the default network', () => {
    const { rows } = new Running({ ...large, attachments: [] }, {});
    const texts = rowTexts(rows).filter((text) => text.includes('tenant_net'));
    expect(texts).toEqual([]);
    expect(
      rowTexts(rows).some((text) =>
        text.startsWith('Logical_Switch ovn-worker copp=Copp/heddle-pod-switches '),
      ),
    ).toBe(true);
  });

  test('a pod more on a network in use: 1', () => {
    const attachments = [...large.attachments, pod(1, 4)];
    expect(new Running(large, {}).count({ ...large, attachments })).toBe(1);
  });

  test('the first pod on a network: the network, the group of its namespace, its set of egress, its part of each node, the pod', () => {
    const attachments = [...large.attachments, pod(30)];
    expect(new Running(large, {}).count({ ...large, attachments })).toBe(4 + nodes.length);
  });

  test('a node more, with 20 networks in use: 22', () => {
    const node = furtherNode(100);
    const networks = large.networks.map((one) => withSubnets(one, [node], `103.${one.id}`));
    const after = { ...large, networks, remoteNodes: [...nodes, node] };
    expect(new Running(large, {}).count(after)).toBe(22);
  });

  test('a network more that nothing uses: 0', () => {
    const networks = [...large.networks, network(60)];
    expect(new Running(large, {}).count({ ...large, networks })).toBe(0);
  });

  test('a network stays for a while after its last pod, and has no rows then', () => {
    const running = new Running(large, {});
    const without = { ...large, attachments: large.attachments.slice(1) };
    running.count(without);
    const names = (): string[] =>
      running.rows.filter(({ table }) => table === 'Logical_Router').map(({ key }) => key);
    expect(names()).toContain('tenant_net1_ovn_cluster_router');
    running.now = 59_999;
    running.count(without);
    expect(names()).toContain('tenant_net1_ovn_cluster_router');
    running.now = 60_000;
    running.count(without);
    expect(names()).not.toContain('tenant_net1_ovn_cluster_router');
    expect(names()).toContain('tenant_net2_ovn_cluster_router');
  });
});

describe('a NAD of somebody with a name that looks like a unit of a network', () => {
  const hostile = {
    ...blue,
    id: 99,
    nads: ['mallory/x'],
    namespaces: [],
    masquerade: {},
    object: 'NetworkAttachmentDefinition mallory/x',
  };

  test.each([
    'blue_blue/node/ovn-worker2',
    'blue_blue","ovn-worker2',
    '["blue_blue","ovn-worker2"]',
  ])('%s harms nobody', (name) => {
    const after = {
      ...exampleZone,
      networks: [...exampleZone.networks, { ...hostile, name: networkName(name) }],
    };
    const running = new Running(exampleZone);
    const before = rowTexts(running.rows);
    running.count(after);
    expect(before.filter((text) => !rowTexts(running.rows).includes(text))).toEqual([]);
    running.count(exampleZone);
    expect(rowTexts(running.rows)).toEqual(before);
  });
});

describe('rebuilding what changed', () => {
  const networks = [
    defaultNetwork,
    blue,
    secondary,
    {
      ...blue,
      name: networkName('red_red'),
      id: 9,
      masquerade: {},
      namespaces: ['red'],
      nads: ['red/red'],
    },
    { ...blue, namespaces: ['blue', 'green'], nads: ['blue/blue', 'green/blue'] },
    { ...blue, nodeSubnets: new Map([['ovn-worker', ['103.103.7.0/24']]]) },
    { ...blue, name: networkName('red-red'), id: 4, masquerade: {}, nads: ['red/odd'] },
    { ...yellow, name: networkName('red_red'), namespaces: ['red'], nads: ['red/red'] },
    yellow,
    { ...yellow, role: 'secondary' as const },
    { ...yellow, tunnelKeys: [] },
    { ...layer2Secondary, tunnelKeys: yellow.tunnelKeys, role: 'primary' as const },
    layer2Secondary,
    { ...localnet, name: layer2Secondary.name },
    localnet,
  ];
  const node = fc
    .record({ id: fc.integer({ min: 4, max: 8 }), shared: fc.boolean() })
    .map(({ id, shared }) => ({
      ...furtherNode(id),
      // Some nodes claim to be others.
      ...(shared ? { chassisId: 'shared' } : {}),
    }));
  /** Where pods of a network are, and what their addresses begin with. */
  const places = {
    blue_blue: { namespace: 'blue', nadKey: 'blue/blue', subnet: '103.103.0' },
    default: { namespace: 'blue', nadKey: 'default', subnet: '10.244.0' },
    red_red: { namespace: 'red', nadKey: 'red/red', subnet: '103.103.0' },
    gone: { namespace: 'blue', nadKey: 'blue/gone', subnet: '103.103.0' },
    'cluster_udn_yellow-net': {
      namespace: 'yellow',
      nadKey: 'yellow/yellow-net',
      subnet: '105.105.0',
    },
    blue_l2: { namespace: 'blue', nadKey: 'blue/l2', subnet: '10.40.0' },
    blue_ln: { namespace: 'blue', nadKey: 'blue/ln', subnet: '10.50.1' },
  } as const;
  const attachment = fc
    .record({
      pod: fc.constantFrom('pod1', 'pod2', 'pod3'),
      network: fc.constantFrom(...(Object.keys(places) as (keyof typeof places)[])),
      tunnelId: fc.constantFrom(undefined, 10, 11),
      isRemote: fc.boolean(),
      role: fc.constantFrom('primary' as const, 'secondary' as const),
    })
    .map(({ pod, network, tunnelId, isRemote, role }): Attachment => {
      const { namespace, nadKey, subnet } = places[network];
      const address = `${subnet}.${pod.slice(-1)}${isRemote ? 1 : 0}`;
      return {
        ...bluePod,
        namespace,
        nadKey,
        pod,
        role,
        network: networkName(network),
        node: isRemote ? 'node-5' : 'ovn-worker',
        macAddress: macOf(address),
        addresses: [`${address}/24`],
        ...(tunnelId === undefined ? {} : { tunnelId: tunnelId + Number(pod.slice(-1)) }),
      };
    });
  const someService = fc
    .record({
      key: fc.constantFrom('blue/a', 'blue/b', 'red/a', 'default/a', 'nowhere/a'),
      type: fc.constantFrom('ClusterIP', 'NodePort', 'LoadBalancer'),
      policies: fc.constantFrom(
        {},
        { externalTrafficPolicy: 'Local' },
        { internalTrafficPolicy: 'Local' },
      ),
      sessionAffinity: fc.constantFrom('None', 'ClientIP'),
      protocols: fc.subarray(['TCP', 'UDP', 'SCTP'], { minLength: 1 }),
      externalIPs: fc.subarray(['192.0.2.1', '192.0.2.2']),
    })
    .map(({ key, type, policies, protocols, ...rest }) =>
      service(key, {
        type,
        clusterIPs: ['10.96.7.7'],
        ports: protocols.map((protocol, index) => ({
          name: protocol.toLowerCase(),
          protocol,
          port: 80,
          ...(type === 'ClusterIP' ? {} : { nodePort: 30000 + index }),
        })),
        ...policies,
        ...rest,
      }),
    );
  const someSlice = fc
    .record({
      key: fc.constantFrom('blue/a', 'blue/b', 'red/a', 'default/a'),
      network: fc.constantFrom('blue_blue', 'red_red', 'default', 'gone'),
      endpoints: fc.subarray([
        '103.103.0.3 on ovn-worker',
        '103.103.1.5 on ovn-worker2',
        '10.244.0.7 on ovn-worker',
        '172.18.0.3 on ovn-worker',
        '172.18.0.4',
      ]),
      protocols: fc.subarray(['TCP', 'UDP', 'SCTP']),
      name: fc.constantFrom('a', 'b'),
    })
    .map(({ key, network, endpoints, protocols, name }) =>
      slice(key, endpoints, {
        ...(network === 'default' ? {} : { network }),
        name: `${name}-${network.replace('_', '-')}`,
        ports: protocols.map((protocol) => ({ name: protocol.toLowerCase(), protocol, port: 80 })),
      }),
    );
  const keyOf = ({ metadata }: KubeObject): string => objectKey(metadata);
  const zone: fc.Arbitrary<Zone> = fc
    .record({
      services: fc.uniqueArray(someService, { selector: keyOf, maxLength: 4 }),
      slices: fc.uniqueArray(someSlice, { selector: keyOf, maxLength: 6 }),
      networks: fc.uniqueArray(fc.constantFrom(...networks), { selector: ({ name }) => name }),
      remoteNodes: fc.uniqueArray(node, { selector: ({ name }) => name }),
      namespaces: fc.subarray(['blue', 'default', 'green', 'red', 'yellow']),
      attachments: fc.uniqueArray(attachment, {
        selector: (pod) => `${pod.pod} ${pod.network}`,
        maxLength: 8,
      }),
      isLocal: fc.boolean(),
    })
    .map(({ isLocal, attachments, services, slices, ...rest }) => {
      const [here, elsewhere] = [true, false].map((isHere) =>
        attachments.filter(({ node }) => (node === 'ovn-worker') === isHere),
      );
      const built = {
        ...withServices(exampleZone, ...services, ...slices),
        ...rest,
        attachments: here!,
        remoteAttachments: elsewhere!,
      };
      return isLocal ? inLocalMode(built) : built;
    });

  test.each([
    ['everywhere', { renderEverywhere: true }],
    ['where they are used', { gracePeriod: 0 }],
  ])('networks %s: gives the rows that building everything gives', (_name, options) => {
    fc.assert(
      fc.property(fc.array(zone, { minLength: 2, maxLength: 6 }), (history) => {
        let running: Running | undefined;
        for (const after of history) {
          running ??= new Running(after, options);
          running.count(after);
          const afresh = builtUnits(factsOf(after, options)).flatMap(({ rows }) => rows);
          expect(rowTexts(running.rows)).toEqual(rowTexts(afresh));
        }
      }),
      { numRuns: 60 },
    );
  });
});
