import { describe, expect, test } from 'vitest';
import type { ClusterNetworkConnect } from '../../../src/api/types.ts';
import { zoneConnects } from '../../../src/model/connects.ts';
import type { NetworkName } from '../../../src/model/model.ts';

const NETWORKS = [{ name: 'a_net' as NetworkName, id: 1 }];
const LATER = 'connected networks are allocated, but not rendered in this release';

function connect(
  name: string,
  subnets: string,
  accepted: 'True' | 'False' = 'True',
): ClusterNetworkConnect {
  const condition = {
    type: 'Accepted',
    status: accepted,
    reason: 'x',
    message: '',
    lastTransitionTime: '2026-01-01T00:00:00Z',
  };
  return {
    apiVersion: 'k8s.ovn.org/v1',
    kind: 'ClusterNetworkConnect',
    metadata: { name, annotations: { 'k8s.ovn.org/network-connect-subnet': subnets } },
    spec: { networkSelectors: [], connectSubnets: [], connectivity: ['PodNetwork'] },
    status: { conditions: [condition] },
  };
}

test('accepted connections alone are reported, by name; they wait for rendering', () => {
  const subnets = '{"layer3_1":{"ipv4":"192.168.0.0/24"},"layer2_2":{"ipv4":"192.168.1.0/31"}}';
  const connects = [
    connect('b', subnets),
    connect('refused', subnets, 'False'),
    connect('a', subnets),
    { ...connect('new', subnets), status: {} },
  ];
  expect(zoneConnects(connects, { name: 'n1', id: 127 }, NETWORKS)).toEqual([
    { name: 'a', state: 'Pending', message: LATER },
    { name: 'b', state: 'Pending', message: LATER },
  ]);
});

describe('a node id that is too large for the block of a Layer3 network', () => {
  const tooLarge = (title: string, node: number, block: string, most: number, enough: number) =>
    `network ${title}, node n1: node id ${node} does not fit into connect subnet ${block}: its largest node id is ${most}; connectSubnets with networkPrefix ${enough} would be enough (they can’t change: make the ClusterNetworkConnect again)`;

  test.each([
    ['{"layer3_1":{"ipv4":"192.168.0.0/24"}}', tooLarge('a_net', 128, '192.168.0.0/24', 127, 23)],
    [
      '{"layer3_7":{"ipv4":"192.168.0.0/22","ipv6":"fd01::/120"}}',
      tooLarge('layer3_7', 128, 'fd01::/120', 127, 119),
    ],
  ])('%s', (subnets, message) => {
    expect(zoneConnects([connect('all', subnets)], { name: 'n1', id: 128 }, NETWORKS)).toEqual([
      { name: 'all', state: 'Failed', message },
    ]);
  });

  test('does not concern Layer2 networks, whose link is the same on each node', () => {
    const subnets = '{"layer2_1":{"ipv4":"192.168.0.0/31"}}';
    expect(zoneConnects([connect('all', subnets)], { name: 'n1', id: 5000 }, NETWORKS)).toEqual([
      { name: 'all', state: 'Pending', message: LATER },
    ]);
  });

  test.each([2, 3, 4, 127, 128, 255, 256, 4999, 5000])(
    'the prefix that is named is enough for node id %i, a longer one is not',
    (id) => {
      const within = (length: number): string =>
        zoneConnects(
          [connect('all', `{"layer3_1":{"ipv4":"10.0.0.0/${length}"}}`)],
          { name: 'n1', id },
          NETWORKS,
        )
          .map(({ message }) => message ?? '')
          .join();
      const named = Number(/networkPrefix ([0-9]+)/.exec(within(31))?.[1]);
      expect(within(named)).toBe(LATER);
      expect(within(named + 1)).toContain('does not fit');
    },
  );
});

test('an annotation that can’t be read is a failure that says so', () => {
  const [report] = zoneConnects([connect('all', '{')], { name: 'n1', id: 2 }, NETWORKS);
  expect(report).toMatchObject({ name: 'all', state: 'Failed' });
  expect(report?.message).toContain('k8s.ovn.org/network-connect-subnet');
});
