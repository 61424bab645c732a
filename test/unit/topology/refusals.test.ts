import { readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import type { Attachment } from '../../../src/model/model.ts';
import { parseSchema, type JsonValue } from 'ovsdb-client-ts';
import {
  blue,
  bluePod,
  bluePodDefault,
  defaultNetwork,
  dualZone,
  exampleZone,
  factsOf,
  furtherNode,
  localnet,
  networkName,
  yellow,
  yellowPod,
  type Zone,
} from '../../support/zone/zones.ts';
import { builtUnits } from '../../support/zone/built-rows.ts';
import { macOf } from '../../support/zone/layer3-by-hand.ts';
import { MemoryDatabase } from '../../support/ovsdb/memory-database.ts';
import { ZoneEngine } from '../../support/zone/zone-engine.ts';
import { heads, rowsOf } from './unit-texts.ts';

const NORTHBOUND = parseSchema(
  JSON.parse(readFileSync('schemas/ovn-nb.ovsschema', 'utf8')) as JsonValue,
);

const withPods = (...attachments: Attachment[]): Zone => ({
  ...exampleZone,
  namespaces: [...exampleZone.namespaces, ...attachments.map(({ namespace }) => namespace)],
  attachments,
});

/** What is wrong with objects, without the objects' names in front. */
function reasons(zone: Zone): string[] {
  const facts = factsOf(zone);
  const ofUnits = builtUnits(facts).flatMap(({ problems }) => problems);
  return [
    ...[...facts.modelProblems()].map(({ message }) => message),
    ...ofUnits.map((text) => text.slice(text.indexOf(': ') + 2)),
  ];
}

const keys = (zone: Zone): string[] => heads(rowsOf(zone, /./));
const expectNoTwins = (zone: Zone): void => {
  expect(new Set(keys(zone)).size).toBe(keys(zone).length);
};

describe('names that somebody has already', () => {
  test('two networks of one prefix: the one of the lower id has rows', () => {
    const dashed = { ...blue, name: networkName('blue_a-b'), id: 5, nads: ['blue/a-b'] };
    const dotted = { ...blue, name: networkName('blue_a.b'), id: 4, nads: ['blue/a.b'] };
    const zone = { ...exampleZone, networks: [dashed, dotted, defaultNetwork] };
    expect(reasons(zone)).toEqual([
      'network "blue_a-b": its switch "blue_a.b_ovn-worker" would have the name of one of network "blue_a.b"; rename one of the two',
    ]);
    expect(keys(zone)).toContain('Logical_Switch blue_a.b_ovn-worker');
    expectNoTwins(zone);
  });

  test('one prefix in two topologies: the network of the lower id has rows', () => {
    const dashed = { ...localnet, name: networkName('blue_a-b'), id: 5 };
    const dotted = { ...blue, name: networkName('blue_a.b'), id: 4, nads: ['blue/a.b'] };
    const zone = { ...exampleZone, networks: [dashed, dotted, defaultNetwork] };
    expect(reasons(zone)).toEqual([
      'network "blue_a-b": its rows would have the prefix "blue_a.b_", as those of network "blue_a.b"; rename one of the two',
    ]);
    expectNoTwins(zone);
  });

  test('two Layer2 networks with one tunnel key: packets of one would arrive in the other', () => {
    const twin = { ...yellow, name: networkName('twin'), id: 9, nads: ['twin/twin'] };
    const zone = { ...exampleZone, networks: [defaultNetwork, twin, yellow] };
    expect(reasons(zone)).toEqual([
      'network "twin": the tunnel key 16715780 of its router is that of network "cluster_udn_yellow-net" too; remove the annotation k8s.ovn.org/tunnel-keys from its NADs: the cluster manager gives another one',
    ]);
    expect(keys(zone).filter((key) => key.includes('twin'))).toEqual([]);
  });

  test("a Layer2 network's router may not have the key of a switch", () => {
    const zone = {
      ...exampleZone,
      networks: [defaultNetwork, { ...yellow, tunnelKeys: [16711686, 16711684] }],
    };
    expect(reasons(zone)).toEqual([
      'network "cluster_udn_yellow-net": the tunnel key 16711684 of its router is none that routers have; remove the annotation k8s.ovn.org/tunnel-keys from its NADs: the cluster manager gives another one',
    ]);
  });

  test('a network called ext would have the external switch of the default network', () => {
    const zone = {
      ...exampleZone,
      networks: [defaultNetwork, { ...blue, name: networkName('ext'), role: 'secondary' as const }],
    };
    expect(reasons(zone)).toEqual([
      'network "ext": its switch "ext_ovn-worker" would have the name of one of network "default"; rename one of the two',
    ]);
    expectNoTwins(zone);
  });

  test('a node called join would have the join switch', () => {
    const zone = { ...exampleZone, node: { ...exampleZone.node, name: 'join' } };
    expect(reasons(zone).toReversed()).toEqual([
      'network "default": node "join" has the name of a switch of every network; rename the node',
      'network "blue_blue": node "join" has the name of a switch of every network; rename the node',
    ]);
    expectNoTwins(zone);
  });

  test('a pod may not take the name of the port to the bridge', () => {
    const zone = withPods({ ...bluePodDefault, namespace: 'breth0', pod: 'ovn-worker' });
    expect(reasons(zone)).toEqual([
      'pod "breth0/ovn-worker": its port on "default" would be "breth0_ovn-worker", a name that another port has; rename the pod or its namespace',
    ]);
    expectNoTwins(zone);
  });

  test('a pod may not take the name of a transit port', () => {
    const network = {
      ...blue,
      name: networkName('a-b_c'),
      role: 'secondary' as const,
      nads: ['c/x'],
    };
    const pod = {
      ...bluePod,
      network: network.name,
      role: 'secondary' as const,
      namespace: 'c',
      pod: 'tstor-ovn-worker',
      nadKey: 'a/b',
    };
    const zone: Zone = { ...withPods(pod), networks: [defaultNetwork, network] };
    expect(reasons(zone)).toEqual([
      expect.stringContaining('would be "a.b_c_tstor-ovn-worker", a name that another port has'),
    ]);
    expectNoTwins(zone);
  });

  test('NADs that differ in a dash and a dot: one attachment has the port', () => {
    const on = (nadKey: string, host: number): Attachment => ({
      ...bluePod,
      nadKey,
      role: 'secondary',
      addresses: [`103.103.0.${host}/24`],
      macAddress: macOf(`103.103.0.${host}`),
    });
    const networks = [defaultNetwork, { ...blue, role: 'secondary' as const }];
    const zone = { ...withPods(on('blue/a-b', 3), on('blue/a.b', 4)), networks };
    const northbound = new MemoryDatabase(NORTHBOUND);
    const { changes, problems } = new ZoneEngine(zone, [northbound]).plan(zone, northbound);
    expect(problems.filter(({ kind }) => kind === 'name-taken').map(({ unit }) => unit)).toEqual([
      '["pods/port","blue","pod1","blue/a.b"]',
    ]);
    expect(changes.filter(({ key }) => key === 'blue.a.b_blue_pod1').map((c) => c.object)).toEqual([
      'Pod blue/pod1',
    ]);
  });

  test.each(['stor', 'k8s'])('a pod may not take the name of a %s port, of any network', (kind) => {
    const layer2 = {
      ...blue,
      name: networkName('foo'),
      id: 7,
      topology: 'layer2' as const,
      nads: ['a/foo'],
    };
    const pod = { ...bluePodDefault, namespace: `${kind}-foo`, pod: 'ovn-worker' };
    const zone = { ...withPods(pod), networks: [defaultNetwork, layer2] };
    expect(reasons(zone)).toEqual([
      `pod "${kind}-foo/ovn-worker": its port on "default" would be "${kind}-foo_ovn-worker", a name that another port has; rename the pod or its namespace`,
    ]);
    expect(rowsOf(zone, /^pods\/port /)).toEqual([]);
    const unrelated = { ...withPods(pod), networks: [defaultNetwork] };
    expect(rowsOf(unrelated, /^pods\/port /)).toHaveLength(1);
  });

  test('two nodes with one tunnel address, chassis or id: the one of the lower id has rows', () => {
    const [node] = exampleZone.remoteNodes;
    const twin = { ...node!, name: 'twin', id: 4, chassisId: 'c4' };
    const zone = { ...exampleZone, remoteNodes: [twin, node!] };
    expect(reasons(zone)).toEqual([
      'node "twin": tunnel address 172.18.0.4 is that of node "ovn-worker2" too; if one of them is the name that the machine had before, delete that Node; else correct --encap-ip, or the address, of the wrong one',
    ]);
    expectNoTwins(zone);
  });
});

describe('names that would end a string in a match', () => {
  const harmful = 'x" || ip4 || inport == "y';

  test('a network of such a name is refused', () => {
    const zone = {
      ...exampleZone,
      networks: [defaultNetwork, { ...blue, name: networkName(harmful) }],
    };
    expect(reasons(zone)).toEqual([
      `network ${JSON.stringify(harmful)}: the name ${JSON.stringify(harmful)} may only hold letters, digits and "." "_" "-" "/"; rename it`,
    ]);
    expect(keys(zone).filter((key) => key.includes('|| inport'))).toEqual([]);
  });

  test.each(['namespace', 'pod', 'nadKey'] as const)('so is a pod, whose %s it is', (part) => {
    const zone = withPods({ ...bluePod, [part]: harmful });
    expect(reasons(zone)).toHaveLength(1);
    expect(rowsOf(zone, /^pods\/port /)).toEqual([]);
  });

  test('and everything, on a node of such a name', () => {
    const zone = { ...exampleZone, node: { ...exampleZone.node, name: harmful } };
    expect([...factsOf(zone).rendered.entries()]).toEqual([]);
  });
});

describe('subnets that are too small', () => {
  test.each([
    [
      'join subnet',
      { ...blue, joinSubnets: { v4: '100.70.0.0/31' } },
      'join subnet 100.70.0.0/31 has no address for node "ovn-worker" with id 2; give the network a larger one',
    ],
    [
      'node subnet',
      { ...blue, nodeSubnets: new Map([['ovn-worker', ['103.103.0.0/31']]]) },
      'subnet 103.103.0.0/31 of node "ovn-worker" has no room for a gateway, a management port and pods; give its nodes larger subnets',
    ],
  ])('%s: the network is refused, the others go on', (_which, network, reason) => {
    const zone: Zone = {
      ...exampleZone,
      networks: [defaultNetwork, network],
      attachments: [bluePod, bluePodDefault],
    };
    expect(reasons(zone)).toContain(`network "blue_blue": ${reason}`);
    expect(keys(zone).filter((key) => key.includes('blue_blue'))).toEqual([]);
    expect(keys(zone)).toContain('Logical_Router GR_ovn-worker');
    expect(keys(zone)).toContain('Logical_Switch_Port blue_pod1');
  });

  test('masquerade subnet of a family that only the cluster has: the network is refused', () => {
    const { settings } = dualZone;
    const zone: Zone = {
      ...dualZone,
      settings: {
        ...settings,
        masqueradeSubnets: { ...settings.masqueradeSubnets, v6: 'fd69::/125' },
      },
      networks: [defaultNetwork, blue],
    };
    expect(reasons(zone)).toEqual([
      'network "blue_blue": masquerade subnet fd69::/125 has no addresses for network id 1; configure a larger one',
    ]);
  });

  test.each([
    [
      'transit subnet',
      { transitSubnets: { v4: '100.99.0.0/30' } },
      'transit subnet 100.99.0.0/30 has no pair of addresses for node "ovn-worker" with id 2; give the network a larger one',
    ],
    [
      'subnet',
      { subnets: [{ cidr: '105.105.0.0/31' }] },
      'subnet 105.105.0.0/31 has no room for a gateway, a management port and pods; give the network a larger one',
    ],
  ])('%s of a Layer2 network: it is refused', (_which, more, reason) => {
    const network = { ...yellow, ...more };
    const zone: Zone = {
      ...exampleZone,
      namespaces: ['yellow'],
      networks: [defaultNetwork, network],
      attachments: [yellowPod],
    };
    expect(reasons(zone)[0]).toBe(`network "cluster_udn_yellow-net": ${reason}`);
    const ofNetwork = keys(zone).filter((key) => /yellow.net/.test(key));
    expect(ofNetwork).toEqual([]);
  });

  test("another node's id that does not fit into a Layer2 network's subnets: no port to that node", () => {
    const node = furtherNode(20);
    const zone: Zone = {
      ...exampleZone,
      remoteNodes: [...exampleZone.remoteNodes, node],
      networks: [
        defaultNetwork,
        {
          ...yellow,
          transitSubnets: { v4: '100.99.0.0/27' },
          joinSubnets: { v4: '100.70.0.0/28' },
        },
      ],
    };
    expect(reasons(zone)).toEqual([
      'node "node-20": subnet 100.99.0.0/27 of network "cluster_udn_yellow-net" has no address for its id 20; give the network a larger one',
      'node "node-20": subnet 100.70.0.0/28 of network "cluster_udn_yellow-net" has no address for its id 20; give the network a larger one',
    ]);
    expect(heads(rowsOf(zone, /^layer2\/remote-gateway /))).toEqual([
      'Logical_Router_Port trtor-GR_cluster_udn_yellow.net_ovn-worker2',
      'Logical_Router_Static_Route cluster_udn_yellow.net_transit_router 100.70.0.3 any -',
    ]);
  });

  test("another node's id that does not fit costs the route to its gateway router alone", () => {
    const node = furtherNode(20);
    const network = {
      ...blue,
      joinSubnets: { v4: '100.70.0.0/28' },
      nodeSubnets: new Map([...blue.nodeSubnets, [node.name, ['103.103.20.0/24']]]),
    };
    const zone: Zone = {
      ...exampleZone,
      remoteNodes: [...exampleZone.remoteNodes, node],
      networks: [defaultNetwork, network],
    };
    expect(reasons(zone)).toEqual([
      'node "node-20": join subnet 100.70.0.0/28 of network "blue_blue" has no address for its id 20; give the network a larger one',
    ]);
    expect(heads(rowsOf(zone, /^interconnect\/remote-node blue_blue /))).toEqual([
      'Logical_Router_Static_Route blue_blue_ovn_cluster_router 100.70.0.3/32 any -',
      'Logical_Router_Static_Route blue_blue_ovn_cluster_router 103.103.1.0/24 any -',
      'Logical_Router_Static_Route blue_blue_ovn_cluster_router 103.103.20.0/24 any -',
      'Logical_Switch_Port blue_blue_tstor-node-20',
      'Logical_Switch_Port blue_blue_tstor-ovn-worker2',
    ]);
  });
});
