import { describe, expect, test } from 'vitest';
import type { ExternalRoute, GatewayPod } from '../../../../src/model/read/external-routes.ts';
import { MOST_HOPS } from '../../../../src/model/read/external-routes.ts';
import { externalRouteObject } from '../../../../src/model/zone/external-routes.ts';
import type { ZoneFacts } from '../../../../src/model/zone/zone.ts';
import { FailedFact, Unreadable } from '../../../../src/facts/unreadable.ts';
import { secondaryLayer3, secondaryPod } from '../../../support/zone/zone-variants.ts';
import {
  bluePod,
  bluePodDefault,
  dualZone,
  exampleZone,
  factsOf,
  putZone,
  type Zone,
} from '../../../support/zone/zones.ts';

const hop = (address: string, isWatched = false) => ({ address, isWatched });
const route = (name: string, more: Partial<ExternalRoute> = {}): ExternalRoute => ({
  name,
  created: '2026-01-01T00:00:00Z',
  namespaceSelector: {},
  hops: [hop('172.18.0.50')],
  pods: [],
  ...more,
});
const withRoutes = (...externalRoutes: ExternalRoute[]): Zone => ({
  ...exampleZone,
  attachments: [bluePod, bluePodDefault],
  externalRoutes,
});
const hopsOf = (facts: ZoneFacts, nad = 'blue/blue'): unknown =>
  facts.routedPods.peek('blue', 'pod1', nad)?.routes.map(({ address }) => address);
const problemsOf = (facts: ZoneFacts): string[] =>
  [...facts.modelProblems()]
    .filter(({ object }) => object.startsWith(externalRouteObject('')))
    .map(({ object, message }) => `${object.split(' ')[1]}: ${message}`);

test('a pod leaves by the hops on the network of its default route, and on no other', () => {
  const facts = factsOf(withRoutes(route('gw')));
  expect(hopsOf(facts)).toEqual(['172.18.0.50']);
  expect(hopsOf(facts, 'default')).toBe(undefined);
  expect(problemsOf(facts)).toEqual([]);
});

test('not where external routes are off', () => {
  const zone = withRoutes(route('gw'));
  const features = { ...zone.settings.features, externalRoutes: false };
  const facts = factsOf({ ...zone, settings: { ...zone.settings, features } });
  expect(hopsOf(facts)).toBe(undefined);
});

test('on a secondary network it leaves by them if that has a gateway', () => {
  const zone = (secondaryGateway: string): Zone => ({
    ...withRoutes(route('gw')),
    networks: [...exampleZone.networks, { ...secondaryLayer3, secondaryGateway }],
    attachments: [bluePod, bluePodDefault, secondaryPod],
  });
  expect(hopsOf(factsOf(zone('{}')), 'blue/sec')).toEqual(['172.18.0.50']);
  expect(hopsOf(factsOf(zone('unreadable')), 'blue/sec')).toBe(undefined);
  for (const gateway of ['{}', 'unreadable'])
    expect(problemsOf(factsOf(zone(gateway)))).toEqual([]);
});

test('what has an EgressIP leaves by that, and the policy says so', () => {
  const zone: Zone = {
    ...withRoutes(route('gw')),
    pods: [{ namespace: 'blue', name: 'pod1', node: 'ovn-worker', labels: {}, namedPorts: [] }],
  };
  const egressIp = {
    name: 'out',
    created: '2026-01-01T00:00:00Z',
    namespaceSelector: {},
    podSelector: {},
    mark: 50_000,
    families: ['v4'] as const,
    items: [],
    isHere: false,
  };
  const facts = factsOf({ ...zone, egressIps: [egressIp] });
  expect(hopsOf(facts)).toEqual([]);
  expect(problemsOf(facts)).toEqual([
    'gw: pods of namespaces blue have an EgressIP, which comes first: they leave with its address by the node that has it, and by no next hop; select them by one of both',
  ]);
  putZone(facts, { ...zone, egressIps: [egressIp] }, zone);
  facts.refresh(0);
  expect(hopsOf(facts)).toEqual(['172.18.0.50']);
  expect(problemsOf(facts)).toEqual([]);
});

test('by hops of the families of its addresses, and never by its own node', () => {
  const own = '172.18.0.3';
  const hops = [hop(own), hop('fd00:172:18::50'), hop('172.18.0.51')];
  expect(hopsOf(factsOf(withRoutes(route('gw', { hops }))))).toEqual(['172.18.0.51']);
  const none = factsOf(withRoutes(route('gw', { hops: [hop(own), hop('fd00:172:18::50')] })));
  expect(hopsOf(none)).toEqual([]);
  expect(problemsOf(none)).toEqual([
    expect.stringMatching(/^gw: pods of namespace blue on node ovn-worker have no next hop: /),
  ]);
});

test('not by a family of which the gateway of the node has no address', () => {
  const hops = [hop('172.18.0.51'), hop('fd00:172:18::50')];
  const both = { ...bluePod, addresses: ['103.103.0.3/24', 'fd20:103:0:1::3/64'] };
  const zone = (node: Zone['node']): Zone => ({
    ...dualZone,
    node,
    attachments: [both],
    externalRoutes: [route('gw', { hops })],
  });
  expect(hopsOf(factsOf(zone(dualZone.node)))).toEqual(['172.18.0.51', 'fd00:172:18::50']);
  const { gateway } = dualZone.node;
  const [v4 = ''] = gateway?.addresses ?? [];
  const single = gateway && { ...gateway, addresses: [v4] };
  expect(hopsOf(factsOf(zone({ ...dualZone.node, ...(single && { gateway: single }) })))).toEqual([
    '172.18.0.51',
  ]);
});

describe('of several policies that select one namespace', () => {
  const older = route('z', { created: '2025-01-01T00:00:00Z', hops: [hop('172.18.0.60')] });
  test('the older one counts, and the later one says so', () => {
    const facts = factsOf(withRoutes(route('a'), older));
    expect(hopsOf(facts)).toEqual(['172.18.0.60']);
    expect(problemsOf(facts)).toEqual([
      expect.stringMatching(
        /^a: namespaces blue.* are already affected by another policy: z, which is older; /,
      ),
    ]);
  });
  test('when it goes the later one counts', () => {
    const facts = factsOf(withRoutes(route('a'), older));
    putZone(facts, withRoutes(route('a'), older), withRoutes(route('a')));
    facts.refresh(0);
    expect(hopsOf(facts)).toEqual(['172.18.0.50']);
    expect(problemsOf(facts)).toEqual([]);
  });
});

describe('pods as hops', () => {
  const gateway = (name: string, more: Partial<GatewayPod>): GatewayPod => ({
    namespace: 'default',
    name,
    labels: { app: 'router' },
    hostAddresses: [],
    networks: [],
    ...more,
  });
  const select = (network = '') =>
    route('gw', {
      hops: [],
      pods: [
        {
          podSelector: { matchLabels: { app: 'router' } },
          namespaceSelector: {},
          network,
          isWatched: true,
        },
      ],
    });
  const routers = [
    gateway('b', { hostAddresses: ['172.18.0.7'] }),
    gateway('a', { networks: [{ network: 'default/edge', addresses: ['172.18.0.8', '::1'] }] }),
    gateway('other', { hostAddresses: ['172.18.0.9'], labels: {} }),
  ];
  const zoneWith = (network: string, gatewayPods: readonly GatewayPod[]): Zone => ({
    ...withRoutes(select(network)),
    pods: [],
    gatewayPods,
  });

  test('by the addresses of their hosts, or of a network of theirs', () => {
    expect(hopsOf(factsOf(zoneWith('', routers)))).toEqual(['172.18.0.7']);
    expect(hopsOf(factsOf(zoneWith('default/edge', routers)))).toEqual(['172.18.0.8']);
    expect(hopsOf(factsOf(zoneWith('edge', routers)))).toEqual(['172.18.0.8']);
    expect(hopsOf(factsOf(zoneWith('far/edge', routers)))).toEqual([]);
  });
  test('one that goes takes its hop along; of the last one it is told', () => {
    const facts = factsOf(zoneWith('', routers));
    expect(facts.watchedHops.peek('gw')?.addresses).toEqual(['172.18.0.7']);
    facts.gatewayPods.delete(['default', 'b']);
    facts.refresh(0);
    expect(hopsOf(facts)).toEqual([]);
    expect(facts.watchedHops.peek('gw')?.addresses).toEqual([]);
    expect(problemsOf(facts)).toEqual([
      expect.stringMatching(/^gw: it has no next hop: its pods leave as without it; /),
    ]);
  });
  test('more than there may be are not used, and that is told', () => {
    const many = Array.from({ length: MOST_HOPS + 2 }, (_, index) =>
      gateway(`r${index}`, { hostAddresses: [`172.18.2.${index + 1}`] }),
    );
    const facts = factsOf(zoneWith('', many));
    expect(hopsOf(facts)).toHaveLength(MOST_HOPS);
    expect(problemsOf(facts)).toEqual([expect.stringContaining('34 next hops: 2 of them')]);
  });
  test('while pods of other nodes are not known nobody knows the hops, and no port of their pods is made', () => {
    const { pods: _pods, ...zone } = zoneWith('', routers);
    const facts = factsOf(zone);
    expect(() => facts.routedPods.get('blue', 'pod1', 'blue/blue')).toThrow(FailedFact);
    expect(() => facts.policedPorts.get('blue', 'pod1', 'blue/blue')).toThrow(Unreadable);
    expect(problemsOf(facts)).toEqual([]);
  });
});

test('hops are watched that pods of this node leave by', () => {
  const hops = [hop('172.18.0.50', true), hop('172.18.0.51'), hop('fd00:172:18::50', true)];
  const facts = factsOf(withRoutes(route('gw', { hops })));
  expect(facts.watchedHops.peek('gw')?.addresses).toEqual(['172.18.0.50']);
  const empty = factsOf({ ...withRoutes(route('gw', { hops })), attachments: [] });
  expect(empty.watchedHops.peek('gw')).toBe(undefined);
});
