import { describe, expect, test } from 'vitest';
import type { ClusterNetworkConnect } from '../../../../src/api/types.ts';
import { linkFailure, readConnect, type Connect } from '../../../../src/model/read/connects.ts';
import type { ZoneFacts } from '../../../../src/model/zone/zone.ts';
import {
  blue,
  bluePod,
  exampleZone,
  factsOf,
  networkName,
  putZone,
  type Zone,
} from '../../../support/zone/zones.ts';

function connect(subnets: string, annotations: Record<string, string> = {}): ClusterNetworkConnect {
  const condition = { type: 'Accepted', status: 'True' as const, reason: 'x', message: '' };
  return {
    apiVersion: 'k8s.ovn.org/v1',
    kind: 'ClusterNetworkConnect',
    metadata: {
      name: 'all',
      annotations: {
        'k8s.ovn.org/network-connect-subnet': subnets,
        'k8s.ovn.org/connect-router-tunnel-key': '16715779',
        ...annotations,
      },
    },
    spec: {
      networkSelectors: [],
      connectSubnets: [
        { cidr: '192.168.0.0/16', networkPrefix: 24 },
        { cidr: 'fd01::/112', networkPrefix: 120 },
      ],
      connectivity: ['PodNetwork'],
    },
    status: { conditions: [{ ...condition, lastTransitionTime: '2026-01-01T00:00:00Z' }] },
  };
}

function valueOf(object: ClusterNetworkConnect): Connect {
  const reading = readConnect(object);
  if (reading.kind !== 'value') throw new Error(JSON.stringify(reading));
  return reading.value;
}

describe('a ClusterNetworkConnect', () => {
  test('is known by what was allocated for it', () => {
    const subnets =
      '{"layer3_7":{"ipv4":"192.168.0.0/24","ipv6":"fd01::/120"},"layer2_2":{"ipv4":"192.168.1.0/31"}}';
    expect(valueOf(connect(subnets))).toEqual({
      name: 'all',
      isAccepted: true,
      tunnelKey: 16715779,
      ranges: [
        { cidr: '192.168.0.0/16', networkPrefix: 24 },
        { cidr: 'fd01::/112', networkPrefix: 120 },
      ],
      hasPods: true,
      hasServices: false,
      bridged: [],
      members: [
        { networkId: 2, topology: 'layer2', subnets: ['192.168.1.0/31'] },
        { networkId: 7, topology: 'layer3', subnets: ['192.168.0.0/24', 'fd01::/120'] },
      ],
    });
  });

  test('that has no subnets yet waits for them', () => {
    const { metadata, ...rest } = connect('{}');
    const bare = { ...rest, metadata: { name: metadata.name } };
    expect(readConnect(bare)).toMatchObject({ kind: 'pending' });
  });

  test.each([
    ['{', {}, 'k8s.ovn.org/network-connect-subnet'],
    ['{"layer3_1":{"ipv4":"no"}}', {}, 'k8s.ovn.org/network-connect-subnet'],
    ['{"localnet_1":{"ipv4":"192.168.0.0/24"}}', {}, 'k8s.ovn.org/network-connect-subnet'],
    ['{}', { 'k8s.ovn.org/connect-router-tunnel-key': 'x' }, 'connect-router-tunnel-key'],
  ])('with annotations that can’t be read says which: %s %o', (subnets, more, key) => {
    const reading = readConnect(connect(subnets, more));
    expect(reading).toMatchObject({ kind: 'problem' });
    expect(JSON.stringify(reading)).toContain(key);
  });
});

describe('a node id that is too large for the block of a Layer3 network', () => {
  const failure = (subnets: string, id: number, ranges?: Connect['ranges']): string | undefined => {
    const value = valueOf(connect(subnets));
    return linkFailure(
      { ...value, ranges: ranges ?? value.ranges },
      { name: 'n1', id },
      (network) => (network === 1 ? 'a_net' : undefined),
    );
  };

  test.each([
    [
      '{"layer3_1":{"ipv4":"192.168.0.0/24"}}',
      'network a_net, node n1: node id 128 does not fit into connect subnet 192.168.0.0/24: its largest node id is 127; connectSubnets with networkPrefix 23 would be enough (they can’t change: make the ClusterNetworkConnect again)',
    ],
    [
      '{"layer3_7":{"ipv6":"fd01::/120"}}',
      'network layer3_7, node n1: node id 128 does not fit into connect subnet fd01::/120: its largest node id is 127; connectSubnets with networkPrefix 119 would be enough (they can’t change: make the ClusterNetworkConnect again)',
    ],
  ])('%s', (subnets, message) => {
    expect(failure(subnets, 127)).toBeUndefined();
    expect(failure(subnets, 128)).toBe(message);
  });

  test('does not concern Layer2 networks, whose link is the same on each node', () => {
    expect(failure('{"layer2_1":{"ipv4":"192.168.0.0/31"}}', 5000)).toBeUndefined();
  });

  test.each([2, 3, 4, 127, 128, 255, 256, 4999, 5000])(
    'the prefix that is named is enough for node id %i, a longer one is not',
    (id) => {
      const within = (length: number): string | undefined =>
        failure(`{"layer3_1":{"ipv4":"10.0.0.0/${length}"}}`, id, [
          { cidr: '10.0.0.0/8', networkPrefix: length },
        ]);
      const named = Number(/networkPrefix ([0-9]+)/.exec(within(31) ?? '')?.[1]);
      expect(within(named)).toBeUndefined();
      expect(within(named + 1)).toContain('does not fit');
    },
  );

  test('a subnet outside of connectSubnets is told apart', () => {
    const found = failure('{"layer3_1":{"ipv4":"172.16.0.0/24"}}', 2);
    expect(found).toContain('not part of connectSubnets');
  });
});

describe('rendering where used', () => {
  const member = (networkId: number) => ({
    networkId,
    topology: 'layer3' as const,
    subnets: [`192.168.${networkId}.0/24`],
  });
  const ab: Connect = { ...valueOf(connect('{}')), name: 'ab', members: [member(1), member(2)] };
  const bc: Connect = { ...ab, name: 'bc', members: [member(2), member(3)] };
  const network = (id: number) => ({
    ...blue,
    id,
    name: networkName(`net_${id}`),
    object: `UserDefinedNetwork ns${id}/net`,
    nads: [`ns${id}/net`],
    namespaces: [`ns${id}`],
  });
  const zone: Zone = {
    ...exampleZone,
    networks: [network(1), network(2), network(3)],
    namespaces: ['ns1', 'ns2', 'ns3'],
    attachments: [{ ...bluePod, namespace: 'ns1', network: network(1).name, nadKey: 'ns1/net' }],
  };
  const rendered = (facts: ZoneFacts): string[] => facts.rendered.all().map(({ name }) => name);

  test('a network in use brings those that it is connected with, and not what those are connected with', () => {
    expect(rendered(factsOf(zone, {}))).toEqual(['default', 'net_1']);
    const connected = factsOf({ ...zone, connects: [ab, bc] }, {});
    expect(rendered(connected)).toEqual(['default', 'net_1', 'net_2']);
  });

  test('they go again with the connection, or with the use', () => {
    const withConnect = { ...zone, connects: [ab] };
    const facts = factsOf(withConnect, { gracePeriod: 0 });
    putZone(facts, withConnect, zone);
    facts.refresh(1);
    expect(rendered(facts)).toEqual(['default', 'net_1']);
    putZone(facts, zone, withConnect);
    facts.refresh(2);
    expect(facts.isConnectRendered('ab')).toBe(true);
    putZone(facts, withConnect, { ...withConnect, attachments: [] });
    facts.refresh(3);
    expect(rendered(facts)).toEqual(['default']);
    expect(facts.isConnectRendered('ab')).toBe(false);
  });
});
