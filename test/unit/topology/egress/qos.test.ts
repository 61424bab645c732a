import { describe, expect, test } from 'vitest';
import type { EgressQoS, NetworkQoS } from '../../../../src/api/types.ts';
import type { PodFacts } from '../../../../src/model/model.ts';
import { readEgressQos, readNetworkQos, type Qos } from '../../../../src/model/read/qos.ts';
import { qosAddresses, qosRules } from '../../../../src/topology/egress/qos.ts';
import { hashedName } from '../../../../src/topology/rows/object-ids.ts';
import { builtUnits } from '../../../support/zone/built-rows.ts';
import {
  blue,
  bluePod,
  dualZone,
  exampleZone,
  factsOf,
  networkName,
  type Zone,
} from '../../../support/zone/zones.ts';

const pod = (namespace: string, name: string): PodFacts => ({
  namespace,
  name,
  node: 'ovn-worker',
  labels: {},
  namedPorts: [],
});
const metadata = (name: string) => ({ namespace: 'blue', name });
const valueOf = (reading: ReturnType<typeof readEgressQos>): Qos =>
  reading.kind === 'value' ? reading.value : expect.unreachable(JSON.stringify(reading));
const egressQos = (...egress: object[]): Qos =>
  valueOf(
    readEgressQos({
      apiVersion: 'k8s.ovn.org/v1',
      kind: 'EgressQoS',
      metadata: metadata('default'),
      spec: { egress },
    } as EgressQoS),
  );
const networkQos = (rule: object, more: object = {}): Qos =>
  valueOf(
    readNetworkQos({
      apiVersion: 'k8s.ovn.org/v1alpha1',
      kind: 'NetworkQoS',
      metadata: metadata('gold'),
      spec: { priority: 5, egress: [rule], ...more },
    } as NetworkQoS),
  );
const to = (...destinations: object[]): object => ({ dscp: 46, classifier: { to: destinations } });

const withPods = (zone: Zone, ...qoses: Qos[]): Zone => ({
  ...zone,
  attachments: [bluePod],
  pods: [pod('blue', 'pod1')],
  qoses,
});

/** Rows of the features, and what they report. */
function built(zone: Zone) {
  const units = builtUnits(factsOf(zone)).filter(({ unit }) =>
    [qosAddresses, qosRules].some(({ name }) => unit.startsWith(`${name} `)),
  );
  const rows = units.flatMap((unit) => unit.rows);
  return {
    sets: rows
      .filter(({ table }) => table === 'Address_Set')
      .map(({ columns }) => [
        (columns['external_ids'] as Record<string, string>)['k8s.ovn.org/id'],
        ...((columns['addresses'] ?? []) as Iterable<string>),
      ]),
    qos: rows
      .filter(({ table }) => table === 'QoS')
      .map(({ key, columns, containers }) => ({
        id: key,
        on: containers.map((one) => one.key).join(),
        priority: columns['priority'],
        match: columns['match'],
        action: Object.fromEntries(columns['action'] as ReadonlyMap<string, number>),
        bandwidth: Object.fromEntries(
          (columns['bandwidth'] ?? new Map()) as ReadonlyMap<string, number>,
        ) as Record<string, number>,
      })),
    problems: units.flatMap(({ problems }) => problems),
  };
}
const matchOf = (zone: Zone): unknown => built(zone).qos.map(({ match }) => match);

const SOURCES = hashedName('blue_blue-network-controller:NetworkQoS:blue:gold:src:0:v4');

describe('an EgressQoS', () => {
  test('has a row and a set per rule, the first with the highest priority, on the network that its pods leave by', () => {
    const zone = withPods(
      exampleZone,
      egressQos(
        { dscp: 46, dstCIDR: '203.0.113.7/24' },
        { dscp: 10, podSelector: { matchLabels: { app: 'bulk' } } },
      ),
    );
    expect(built(zone)).toEqual({
      sets: [
        ['default-network-controller:EgressQoS:blue:1000:v4', '103.103.0.3'],
        ['default-network-controller:EgressQoS:blue:999:v4'],
      ],
      qos: [
        {
          id: 'default-network-controller:EgressQoS:1000:blue',
          on: 'blue_blue_ovn-worker',
          priority: 1000,
          match: expect.stringMatching(
            /^\(ip4\.dst == 203\.0\.113\.0\/24\) && ip4\.src == \$a[0-9a-f]+$/,
          ) as string,
          action: { dscp: 46 },
          bandwidth: {},
        },
        {
          id: 'default-network-controller:EgressQoS:999:blue',
          on: 'blue_blue_ovn-worker',
          priority: 999,
          match: expect.stringMatching(
            /^\(ip4\.dst == 0\.0\.0\.0\/0 \|\| ip6\.dst == ::\/0\) && ip4\.src == \$a[0-9a-f]+$/,
          ) as string,
          action: { dscp: 10 },
          bandwidth: {},
        },
      ],
      problems: [],
    });
  });

  test('names sets of both families', () => {
    expect(matchOf(withPods(dualZone, egressQos({ dscp: 0, dstCIDR: 'fd00:1::/64' })))).toEqual([
      expect.stringMatching(
        /^\(ip6\.dst == fd00:1::\/64\) && \(ip4\.src == \$a[0-9a-f]+ \|\| ip6\.src == \$a[0-9a-f]+\)$/,
      ),
    ]);
  });

  test('has none where the namespace has no pods', () => {
    expect(built({ ...exampleZone, qoses: [egressQos({ dscp: 1 })] })).toEqual({
      sets: [],
      qos: [],
      problems: [],
    });
  });
});

describe('a NetworkQoS', () => {
  test('has a row per rule and one set of the pods that it means', () => {
    const block = { cidr: '203.0.113.0/29', except: ['203.0.113.4/32'] };
    const rule = {
      dscp: 46,
      bandwidth: { rate: 10_000, burst: 2000 },
      classifier: { to: [{ ipBlock: block }], ports: [{ protocol: 'TCP', port: 443 }] },
    };
    expect(built(withPods(exampleZone, networkQos(rule)))).toEqual({
      sets: [['blue_blue-network-controller:NetworkQoS:blue:gold:src:0:v4', '103.103.0.3']],
      qos: [
        {
          id: 'blue_blue-network-controller:NetworkQoS:blue:gold:0',
          on: 'blue_blue_ovn-worker',
          priority: 10_050,
          match: `ip4.src == {$${SOURCES}} && ip4.dst == {203.0.113.0/30,203.0.113.5/32,203.0.113.6/31} && tcp && tcp.dst == 443`,
          action: { dscp: 46 },
          bandwidth: { rate: 10_000, burst: 2000 },
        },
      ],
      problems: [],
    });
  });

  test.each([
    ['nothing: everything', { dscp: 1 }, ['']],
    [
      'ports alone, by protocol and in order, one without a number for all of its protocol',
      {
        dscp: 1,
        classifier: {
          ports: [
            { protocol: 'UDP' },
            { protocol: 'UDP', port: 53 },
            { protocol: 'TCP', port: 443 },
            { protocol: 'TCP', port: 80 },
          ],
        },
      },
      [' && tcp && tcp.dst == {443,80}', ' && udp'],
    ],
    [
      'of several exceptions what they leave',
      to({ ipBlock: { cidr: '10.0.0.0/30', except: ['10.0.0.0/32', '10.0.0.3/32'] } }),
      [' && ip4.dst == {10.0.0.1/32,10.0.0.2/32}'],
    ],
    [
      'several blocks',
      to(
        { ipBlock: { cidr: '10.0.0.0/24' } },
        { ipBlock: { cidr: '10.1.0.0/24', except: ['10.1.0.0/25'] } },
      ),
      [' && (ip4.dst == 10.0.0.0/24 || ip4.dst == {10.1.0.128/25})'],
    ],
  ])('means %s', (_what, rule, matches) => {
    const alternatives = matches.map((match) => `ip4.src == {$${SOURCES}}${match}`);
    expect(matchOf(withPods(exampleZone, networkQos(rule)))).toEqual([
      alternatives.length === 1
        ? alternatives[0]
        : alternatives.map((one) => `(${one})`).join(' || '),
    ]);
  });

  test('of both families has an alternative for each, unless one block and port is all that it names', () => {
    const zone = (...rules: object[]): Zone =>
      withPods(dualZone, networkQos({ dscp: 1, classifier: { to: rules } }));
    const [v4, v6] = [
      SOURCES,
      hashedName('blue_blue-network-controller:NetworkQoS:blue:gold:src:0:v6'),
    ];
    const block = (cidr: string): object => ({ ipBlock: { cidr } });
    expect(matchOf(zone())).toEqual([`(ip4.src == {$${v4}} || ip6.src == {$${v6}})`]);
    expect(matchOf(zone(block('10.0.0.0/8')))).toEqual([
      `(ip4.src == {$${v4}} || ip6.src == {$${v6}}) && ip4.dst == 10.0.0.0/8`,
    ]);
    expect(matchOf(zone(block('10.0.0.0/8'), block('11.0.0.0/8')))).toEqual([
      `ip4.src == {$${v4}} && (ip4.dst == 10.0.0.0/8 || ip4.dst == 11.0.0.0/8)`,
    ]);
    expect(matchOf(zone(block('10.0.0.0/8'), block('fd00::/8')))).toEqual([
      `(ip4.src == {$${v4}} && ip4.dst == 10.0.0.0/8) || (ip6.src == {$${v6}} && ip6.dst == fd00::/8)`,
    ]);
  });

  test('means pods of other namespaces and nodes by their addresses on the network', () => {
    const zone: Zone = {
      ...withPods(exampleZone, networkQos(to({ namespaceSelector: {} }))),
      remoteAttachments: [
        {
          ...bluePod,
          pod: 'pod9',
          node: 'ovn-worker2',
          macAddress: '0a:58:67:67:01:09',
          addresses: ['103.103.1.9/24'],
        },
      ],
      pods: [pod('blue', 'pod1'), pod('blue', 'pod9')],
    };
    const { sets, qos } = built(zone);
    expect(sets).toEqual([
      ['blue_blue-network-controller:NetworkQoS:blue:gold:src:0:v4', '103.103.0.3'],
      ['blue_blue-network-controller:NetworkQoS:blue:gold:0:0:v4', '103.103.0.3', '103.103.1.9'],
    ]);
    expect(qos.map(({ match }) => match)).toEqual([
      expect.stringMatching(/^ip4\.src == \{\$a[0-9a-f]+\} && ip4\.dst == \{\$a[0-9a-f]+\}$/),
    ]);
  });

  test('has no row where exceptions leave nothing', () => {
    const block = { cidr: '10.0.0.0/31', except: ['10.0.0.0/32', '10.0.0.1/32'] };
    expect(matchOf(withPods(exampleZone, networkQos(to({ ipBlock: block }))))).toEqual([]);
  });

  test('of networks without subnets says that it means nobody there', () => {
    const bare = networkName('blue_bare');
    const zone: Zone = {
      ...exampleZone,
      networks: [
        ...exampleZone.networks,
        {
          ...blue,
          name: bare,
          id: 9,
          topology: 'layer2',
          role: 'secondary',
          subnets: [],
          joinSubnets: {},
          masquerade: {},
          namespaces: [],
          nodeSubnets: new Map(),
          nads: ['blue/bare'],
          tunnelKeys: [],
          object: 'UserDefinedNetwork blue/bare',
        },
      ],
      attachments: [
        { ...bluePod, network: bare, role: 'secondary', nadKey: 'blue/bare', addresses: [] },
      ],
      pods: [pod('blue', 'pod1')],
      qoses: [
        networkQos(
          { dscp: 1 },
          {
            networkSelectors: [
              {
                networkSelectionType: 'NetworkAttachmentDefinitions',
                networkAttachmentDefinitionSelector: {
                  namespaceSelector: {},
                  networkSelector: { matchLabels: { network: bare } },
                },
              },
            ],
          },
        ),
      ],
    };
    expect(built(zone)).toEqual({
      sets: [],
      qos: [],
      problems: [expect.stringContaining('pods have no addresses on network blue_bare')],
    });
  });
});

test('one that costs too much has no rows, and says so', () => {
  const settings = {
    ...exampleZone.settings,
    policies: { ...exampleZone.settings.policies, mostQosFlows: 2 },
  };
  const rules = [{ dscp: 1 }, { dscp: 2 }];
  const zone = { ...exampleZone, settings };
  expect(built(withPods(zone, egressQos(...rules))).qos).toHaveLength(2);
  const { qos, problems } = built(withPods(zone, egressQos(...rules, { dscp: 3 })));
  expect(qos).toEqual([]);
  expect(problems).toEqual([expect.stringContaining('max-flows-per-qos')]);
});
