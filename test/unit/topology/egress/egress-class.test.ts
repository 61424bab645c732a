/** Rows of pods with EgressIPs for classes of destinations (reference/egress.md §1.15). */
import { describe, expect, test } from 'vitest';
import type { Attachment } from '../../../../src/model/model.ts';
import type { EgressIp } from '../../../../src/model/read/egress-ips.ts';
import {
  classReroutesOf,
  egressClasses,
  egressDestinations,
} from '../../../../src/topology/egress/egress-class.ts';
import { servedPods } from '../../../../src/topology/egress/egress-ip.ts';
import { hashedName } from '../../../../src/topology/rows/object-ids.ts';
import { builtUnits } from '../../../support/zone/built-rows.ts';
import {
  bluePod,
  bluePodDefault,
  exampleZone,
  factsOf,
  yellow,
  yellowPod,
  type Zone,
} from '../../../support/zone/zones.ts';

const HERE = { node: 'ovn-worker', address: '172.18.0.200' } as const;
const THERE = { node: 'ovn-worker2', address: '172.18.0.201' } as const;
const set = (egressIp: string, family: 'v4' | 'v6' = 'v4'): string =>
  `$${hashedName(`default-network-controller:EgressIP:egressip-dest-nets-${egressIp}:${family}`)}`;

const byClass = (group: string, changes: Partial<EgressIp> = {}): EgressIp => {
  const items = changes.items ?? [HERE];
  return {
    name: group,
    created: '2026-01-01T00:00:00Z',
    namespaceSelector: {},
    podSelector: {},
    trafficSelector: { matchLabels: { group } },
    mark: 50_000,
    families: ['v4'],
    items,
    isHere: items.some(({ node }) => node === HERE.node),
    ...changes,
  };
};
const MGMT = { name: 'mgmt', labels: { group: 'mgmt' }, cidrs: ['192.168.250.0/24', 'fd01::/64'] };

const plainPod: Attachment = {
  ...bluePodDefault,
  namespace: 'default',
  pod: 'web',
  role: 'primary',
};
const plainAddress = plainPod.addresses[0]?.replace(/\/.*/, '') ?? '';

function zoneWith(attachment: Attachment, ...egressIps: readonly EgressIp[]): Zone {
  const { namespace, pod, node } = attachment;
  const isOwn = node !== THERE.node;
  return {
    ...exampleZone,
    networks: [...exampleZone.networks, yellow],
    namespaces: [...exampleZone.namespaces, 'yellow'],
    attachments: isOwn ? [attachment] : [],
    remoteAttachments: isOwn ? [] : [attachment],
    pods: [{ namespace, name: pod, node, labels: {}, namedPorts: [] }],
    egressIps,
    trafficClasses: [MGMT],
  };
}

function rowsOf(zone: Zone): readonly string[] {
  return builtUnits(factsOf(zone), [egressClasses]).flatMap(({ rows, failure }) => {
    expect(failure).toBeUndefined();
    return rows.map(({ columns, containers }) => {
      const { priority, match, action, nexthops = '', options = {} } = columns;
      const mark = (options as Record<string, string>)['pkt_mark'] ?? '';
      return [containers[0]?.key, priority, match, action, nexthops, mark]
        .map(String)
        .filter((text) => text !== '')
        .join(' ');
    });
  });
}

const problemsOf = (zone: Zone): readonly string[] =>
  [...factsOf(zone).modelProblems()]
    .filter(({ message }) => message.startsWith('spec.trafficSelector'))
    .map(({ object, message }) => `${object}: ${message}`);

describe('to destinations of its class a pod of this node', () => {
  const toClass = (address: string): string => `ip4.src == ${address} && ip4.dst == ${set('mgmt')}`;

  test('of the default network leaves by the node that has the address, marked by its gateway router', () => {
    expect(rowsOf(zoneWith(plainPod, byClass('mgmt')))).toEqual([
      `ovn_cluster_router 101 ${toClass(plainAddress)} reroute 100.64.0.2`,
      `GR_ovn-worker 96 ${toClass(plainAddress)} && pkt.mark == 0 allow 50000`,
    ]);
  });

  test('of a Layer3 and a Layer2 network does likewise', () => {
    expect(rowsOf(zoneWith(bluePod, byClass('mgmt', { items: [HERE, THERE] })))).toEqual([
      `blue_blue_ovn_cluster_router 101 ${toClass('103.103.0.3')} reroute 100.65.0.2,100.88.0.3`,
      `GR_blue_blue_ovn-worker 96 ${toClass('103.103.0.3')} && pkt.mark == 0 allow 50000`,
    ]);
    const own = yellowPod.addresses[0]?.replace(/\/.*/, '') ?? '';
    expect(rowsOf(zoneWith(yellowPod, byClass('mgmt')))).toEqual([
      expect.stringMatching(new RegExp(`trtor|transit_router 101 ip4\\.src == ${own} && `)),
      expect.stringMatching(/^GR_\S+ 96 .* allow 50000$/),
    ]);
  });

  test('sends nothing while no node has the address, or it has no mark', () => {
    const drop = [`ovn_cluster_router 101 ${toClass(plainAddress)} drop`];
    expect(rowsOf(zoneWith(plainPod, byClass('mgmt', { items: [] })))).toEqual(drop);
    const { mark: _, ...markless } = byClass('mgmt');
    const zone = zoneWith(plainPod, markless);
    expect(rowsOf(zone)).toEqual(drop);
    expect(builtUnits(factsOf(zone), [egressClasses]).flatMap(({ problems }) => problems)).toEqual([
      'EgressIP mgmt: egressIP mgmt object must contain a mark for classes of destinations: its pods send nothing there',
    ]);
  });

  test('has its port after the policy', () => {
    const facts = factsOf(zoneWith(plainPod, byClass('mgmt')));
    const [key] = [...facts.egressClassPorts.keys()];
    const needs = key && classReroutesOf(facts, facts.egressClassPorts.peek(...key));
    const [policy] = builtUnits(facts, [egressClasses]).flatMap(({ rows }) => rows);
    expect(needs?.map((one) => one.key)).toEqual([policy?.key]);
  });

  test('is among the pods that are served, so that its answers and what is for nodes keep their way', () => {
    const sets = builtUnits(factsOf(zoneWith(plainPod, byClass('mgmt'))), [servedPods]).flatMap(
      ({ rows }) =>
        rows.flatMap(({ columns }) => [
          ...((columns['addresses'] as Iterable<string> | undefined) ?? []),
        ]),
    );
    expect(sets).toEqual([plainAddress]);
  });
});

test('of what pods of other nodes send here that to destinations of the class passes, and is marked', () => {
  const far = { ...plainPod, node: 'ovn-worker2', addresses: ['10.244.1.5/24'] };
  const match = `ip4.src == 10.244.1.5 && ip4.dst == ${set('mgmt')}`;
  expect(rowsOf(zoneWith(far, byClass('mgmt')))).toEqual([
    `GR_ovn-worker 96 ${match} && pkt.mark == 0 allow 50000`,
    `ovn_cluster_router 98 inport == "rtots-ovn-worker" && ${match} allow`,
  ]);
  expect(rowsOf(zoneWith(far, byClass('mgmt', { items: [THERE] })))).toEqual([]);
});

test('destinations of all classes that an EgressIP selects are in one set per family', () => {
  const zone = zoneWith(plainPod, byClass('mgmt'));
  const more = { ...MGMT, name: 'more', cidrs: ['192.168.250.0/24', '198.51.100.0/24'] };
  const rows = builtUnits(factsOf({ ...zone, trafficClasses: [MGMT, more] }), [
    egressDestinations,
  ]).flatMap((unit) => unit.rows);
  expect(rows.map(({ key, columns }) => [key, columns['addresses']])).toEqual([
    [set('mgmt').slice(1), ['192.168.250.0/24', '198.51.100.0/24']],
    [set('mgmt', 'v6').slice(1), ['fd01::/64']],
  ]);
});

test('without a class it does nothing, and says so; without the field nothing is by class', () => {
  const none = zoneWith(plainPod, byClass('other'));
  expect(rowsOf(none)).toEqual([]);
  expect(problemsOf(none)).toEqual([
    expect.stringMatching(/^EgressIP other: spec\.trafficSelector: no EgressTrafficClass has/),
  ]);
  const { trafficSelector: _, ...all } = byClass('mgmt');
  expect(rowsOf(zoneWith(plainPod, all))).toEqual([]);
});

test('beside one for all destinations both serve a pod; of two that overlap the older has what both want', () => {
  const { trafficSelector: _, ...all } = byClass('all', { mark: 50_001 });
  const both = factsOf(zoneWith(plainPod, byClass('mgmt'), all));
  expect([...both.egressPorts.all()].map(({ egressIp }) => egressIp)).toEqual(['all']);
  expect([...both.egressClassPorts.all()].flatMap(({ uses }) => uses)).toEqual([
    { egressIp: 'mgmt', addresses: [plainAddress] },
  ]);
  const wide = { name: 'wide', labels: { group: 'wide' }, cidrs: ['192.168.250.0/23'] };
  const zone = {
    ...zoneWith(
      plainPod,
      byClass('wide', {
        created: '2026-02-01T00:00:00Z',
        mark: 50_001,
        items: [{ ...HERE, address: '172.18.0.202' }],
      }),
      byClass('mgmt'),
    ),
    trafficClasses: [MGMT, wide],
  };
  expect(rowsOf(zone).filter((row) => row.includes(' 101 '))).toEqual([
    `ovn_cluster_router 101 ip4.src == ${plainAddress} && ip4.dst == ${set('mgmt')} reroute 100.64.0.2`,
    `ovn_cluster_router 101 ip4.src == ${plainAddress} && ip4.dst == {192.168.251.0/24} reroute 100.64.0.2`,
  ]);
  expect(problemsOf(zone)).toEqual([
    'EgressIP wide: spec.trafficSelector: for pod default/web destinations overlap those of EgressIP mgmt, which is older and keeps them; select disjoint classes, or other pods',
  ]);
});
