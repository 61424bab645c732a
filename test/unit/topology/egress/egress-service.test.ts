import { describe, expect, test } from 'vitest';
import type { Attachment } from '../../../../src/model/model.ts';
import type { EgressServiceFacts } from '../../../../src/model/read/egress-services.ts';
import { egressServiceMark } from '../../../../src/model/rules/egress-service-mark.ts';
import { egressPods } from '../../../../src/topology/egress/egress-ip.ts';
import {
  egressServicePodRows,
  serviceReroutesOf,
} from '../../../../src/topology/egress/egress-service.ts';
import { podPorts } from '../../../../src/topology/pods/port.ts';
import { builtUnits } from '../../../support/zone/built-rows.ts';
import { sharing } from '../../../support/zone/overlapping.ts';
import { service, withServices } from '../../../support/zone/services.ts';
import {
  bluePod,
  bluePodDefault,
  exampleZone,
  factsOf,
  yellow,
  yellowPod,
  type Zone,
} from '../../../support/zone/zones.ts';

const LB = '172.18.0.240';
const HERE = 'ovn-worker';
const THERE = 'ovn-worker2';
const MARK = String(egressServiceMark(LB));

const plainPod: Attachment = {
  ...bluePodDefault,
  namespace: 'default',
  pod: 'web',
  role: 'primary',
};
const FAR: Readonly<Record<string, string>> = {
  '10.244.0.3/24': '10.244.1.5/24',
  '103.103.0.3/24': '103.103.1.3/24',
  '105.105.0.3/16': '105.105.0.4/16',
};
const elsewhere = (attachment: Attachment): Attachment => ({
  ...attachment,
  node: THERE,
  addresses: attachment.addresses.map((address) => FAR[address] ?? address),
  macAddress: '0a:58:0a:f4:01:05',
});

const egressService = (
  namespace: string,
  host: string,
  changes: Partial<EgressServiceFacts> = {},
): EgressServiceFacts => ({
  key: `${namespace}/lb`,
  namespace,
  name: 'lb',
  created: '2026-01-01T00:00:00Z',
  isByNetwork: false,
  host,
  isHere: host === HERE,
  ...changes,
});

interface Options {
  readonly isOwn?: boolean;
  readonly changes?: Partial<EgressServiceFacts>;
  readonly others?: readonly EgressServiceFacts[];
  readonly ingress?: readonly string[];
}

function zoneWith(
  attachment: Attachment,
  host: string,
  { isOwn = true, changes = {}, others = [], ingress = [LB] }: Options = {},
): Zone {
  const { namespace, pod } = attachment;
  const own = isOwn ? attachment : elsewhere(attachment);
  const services = ['lb', 'other'].map((name, index) =>
    service(
      `${namespace}/${name}`,
      { type: 'LoadBalancer', clusterIPs: [`10.96.3.${index + 3}`] },
      { loadBalancer: { ingress: ingress.map((ip) => ({ ip })) } },
    ),
  );
  return {
    ...withServices(exampleZone, ...services.slice(0, 1 + others.length)),
    selectors: { [`${namespace}/lb`]: { app: 'web' }, [`${namespace}/other`]: { app: 'web' } },
    networks: [...exampleZone.networks, yellow],
    namespaces: [...exampleZone.namespaces, 'yellow'],
    attachments: isOwn ? [own] : [],
    remoteAttachments: isOwn ? [] : [own],
    pods: [{ namespace, name: pod, node: own.node, labels: { app: 'web' }, namedPorts: [] }],
    egressServices: [egressService(namespace, host, changes), ...others],
  };
}

/** Policies of the pod: where, which, what they do, and for which service. */
const policiesOf = (zone: Zone): readonly string[] =>
  builtUnits(factsOf(zone), [egressServicePodRows]).flatMap(({ rows, failure }) => {
    expect(failure).toBeUndefined();
    return rows
      .filter(({ table }) => table === 'Logical_Router_Policy')
      .map(({ columns, containers }) => {
        const { priority, match, action, nexthops = '', options = {}, external_ids: ids } = columns;
        const mark = (options as Record<string, string>)['pkt_mark'] ?? '';
        const of = (ids as Record<string, string>)['EgressSVC'];
        return [containers[0]?.key, priority, match, action, nexthops, mark, of]
          .map(String)
          .filter((text) => text !== '')
          .join(' ');
      });
  });
const problemsOf = (zone: Zone): readonly string[] => {
  const facts = factsOf(zone);
  return [
    ...builtUnits(facts, [egressServicePodRows]).flatMap(({ problems }) => problems),
    ...[...facts.modelProblems()].map(({ object, message }) => `${object}: ${message}`),
  ].map((one) => (typeof one === 'string' ? one : JSON.stringify(one)));
};

describe('a pod of the default network (reference/egress.md §4.2)', () => {
  const own = 'ip4.src == 10.244.0.3';
  test.each([
    ['while no node is chosen', ''],
    ['while its node is not known here', 'n9'],
  ])('sends nothing out %s', (_when, host) => {
    expect(policiesOf(zoneWith(plainPod, host))).toEqual([
      `ovn_cluster_router 101 ${own} drop default/lb`,
    ]);
  });

  test('leaves by the host of this node, or of the other one', () => {
    expect(policiesOf(zoneWith(plainPod, HERE))).toEqual([
      `ovn_cluster_router 101 ${own} reroute 10.244.0.2 1011 default/lb`,
    ]);
    expect(policiesOf(zoneWith(plainPod, THERE))).toEqual([
      `ovn_cluster_router 101 ${own} reroute 100.88.0.3 default/lb`,
    ]);
  });

  test('of another node leaves here if this is the one', () => {
    expect(policiesOf(zoneWith(plainPod, HERE, { isOwn: false }))).toEqual([
      'ovn_cluster_router 101 ip4.src == 10.244.1.5 reroute 10.244.0.2 1011 default/lb:ic',
    ]);
    expect(policiesOf(zoneWith(plainPod, THERE, { isOwn: false }))).toEqual([]);
  });

  test('by its network leaves by its own host', () => {
    const changes = { isByNetwork: true };
    expect(policiesOf(zoneWith(plainPod, 'ALL', { changes }))).toEqual([
      `ovn_cluster_router 101 ${own} reroute 10.244.0.2 1011 default/lb`,
    ]);
    expect(policiesOf(zoneWith(plainPod, 'ALL', { changes, isOwn: false }))).toEqual([]);
    // What was decided before the object said so.
    expect(policiesOf(zoneWith(plainPod, HERE, { changes }))).toEqual([
      `ovn_cluster_router 101 ${own} drop default/lb`,
    ]);
  });

  test('sends nothing out while its routing table can not be used', () => {
    expect(policiesOf(zoneWith(plainPod, HERE, { changes: { tableProblem: 'no' } }))).toEqual([
      `ovn_cluster_router 101 ${own} drop default/lb`,
    ]);
  });

  test('gets its port behind that policy', () => {
    const facts = factsOf(zoneWith(plainPod, ''));
    const [port] = builtUnits(facts, [podPorts]).flatMap(({ rows }) => rows);
    const key = ['default', 'web', 'default'] as const;
    const needs = serviceReroutesOf(facts, facts.egressServicePorts.get(...key));
    expect(needs).toHaveLength(1);
    expect(port?.names).toEqual(expect.arrayContaining([...needs]));
  });

  test('is in the set by which nodes are reached as ever, while it is here', () => {
    const served = (zone: Zone) => [...factsOf(zone).egressServicePorts.setOf('served', 'v4')];
    expect(served(zoneWith(plainPod, ''))).toEqual(['10.244.0.3']);
    expect(served(zoneWith(plainPod, HERE, { isOwn: false }))).toEqual([]);
  });

  test('with an EgressIP, too, keeps rows of both, of which that of the service comes first', () => {
    const zone: Zone = {
      ...zoneWith(plainPod, THERE),
      egressIps: [
        {
          name: 'out',
          created: '',
          namespaceSelector: {},
          podSelector: {},
          families: ['v4'],
          items: [],
          isHere: false,
        },
      ],
    };
    const priorities = builtUnits(factsOf(zone), [egressPods, egressServicePodRows])
      .flatMap(({ rows }) => rows)
      .filter(({ columns }) => columns['match'] === own)
      .map(({ columns }) => columns['priority']);
    expect(new Set(priorities)).toEqual(new Set([100, 101]));
  });
});

describe('a pod behind several', () => {
  const other = egressService('default', HERE, {
    key: 'default/other',
    name: 'other',
    created: '2025-01-01T00:00:00Z',
  });
  test('leaves as the oldest says, and the other one is told', () => {
    const zone = zoneWith(plainPod, THERE, { others: [other] });
    expect(policiesOf(zone)).toEqual([
      'ovn_cluster_router 101 ip4.src == 10.244.0.3 reroute 10.244.0.2 1011 default/other',
    ]);
    expect(problemsOf(zone)).toContain(
      'EgressService default/lb: pod default/web leaves as EgressService default/other says, which is older and has it, too: give the services selectors that share no pod',
    );
  });
});

describe('a pod of a primary network', () => {
  const arrival = 'inport == "blue_blue_rtots-ovn-worker" && ip4.src == 103.103.1.3';
  const others = (zone: Zone) => policiesOf(zone).filter((row) => !row.includes(' 102 '));
  const byTable = String(egressServiceMark('blue/lb'));
  test('leaves by gateway routers; the one of the chosen node marks it', () => {
    const kept = (address: string) =>
      expect.stringMatching(
        new RegExp(`_cluster_router 102 ip4\\.src == ${address} && ip4\\.dst == \\$a\\w+ allow`),
      ) as unknown;
    expect(policiesOf(zoneWith(bluePod, HERE))).toEqual([
      'blue_blue_ovn_cluster_router 101 ip4.src == 103.103.0.3 reroute 100.65.0.2 blue/lb',
      kept('103.103.0.3'),
      kept('103.103.0.3'),
      `GR_blue_blue_ovn-worker 96 ip4.src == 103.103.0.3 && pkt.mark == 0 allow ${MARK} blue/lb`,
    ]);
    expect(policiesOf(zoneWith(bluePod, HERE, { isOwn: false }))).toEqual([
      `GR_blue_blue_ovn-worker 96 ip4.src == 103.103.1.3 && pkt.mark == 0 allow ${MARK} blue/lb:ic`,
      `blue_blue_ovn_cluster_router 98 ${arrival} allow blue/lb:ic`,
    ]);
    expect(policiesOf(zoneWith(yellowPod, THERE))[0]).toBe(
      'cluster_udn_yellow.net_transit_router 101 ip4.src == 105.105.0.3 reroute 100.88.0.7 yellow/lb',
    );
  });

  test('answers without a mark gateway routers that ask over the external bridge', () => {
    const marked = (zone: Zone): readonly unknown[] =>
      builtUnits(factsOf(zone), [egressServicePodRows])
        .flatMap(({ rows }) => rows)
        .filter(({ table }) => table === 'QoS')
        .map(({ columns }) => columns['match']);
    const reply = 'ip4.src == 103.103.0.3 && ct.trk && ct.rpl && ip4.dst != 103.103.0.0/16';
    const zone = zoneWith(bluePod, HERE);
    expect(marked(zone)).toEqual([reply]);
    expect(marked({ ...zone, connects: [sharing] })).toEqual([
      `${reply} && ip4.dst != 100.65.0.0/16`,
    ]);
  });

  test('by its network leaves by its own node as without one, whatever EgressIPs have it', () => {
    const changes = { isByNetwork: true };
    expect(others(zoneWith(bluePod, 'ALL', { changes }))).toEqual([
      'blue_blue_ovn_cluster_router 101 ip4.src == 103.103.0.3 allow blue/lb',
      'GR_blue_blue_ovn-worker 96 ip4.src == 103.103.0.3 && pkt.mark == 0 allow blue/lb',
    ]);
    // Of those alone gateway routers of Layer2 networks know that they are of this node.
    expect(others(zoneWith(yellowPod, 'ALL', { changes }))[0]).toBe(
      'cluster_udn_yellow.net_transit_router 101 ip4.src == 105.105.0.3 allow 43 yellow/lb',
    );
    expect(policiesOf(zoneWith(bluePod, 'ALL', { changes, isOwn: false }))).toEqual([]);
  });

  test('by a routing table leaves so, too, with the mark of the service', () => {
    const changes = { table: 1200 };
    expect(others(zoneWith(bluePod, HERE, { changes }))).toEqual([
      'blue_blue_ovn_cluster_router 101 ip4.src == 103.103.0.3 reroute 100.65.0.2 blue/lb',
      `GR_blue_blue_ovn-worker 96 ip4.src == 103.103.0.3 && pkt.mark == 0 allow ${byTable} blue/lb`,
    ]);
    expect(others(zoneWith(bluePod, THERE, { changes }))).toEqual([
      'blue_blue_ovn_cluster_router 101 ip4.src == 103.103.0.3 reroute 100.88.0.3 blue/lb',
    ]);
    expect(problemsOf(zoneWith(bluePod, HERE, { changes }))).toEqual([]);
  });

  test('by its network and a routing table leaves by its own gateway router, which marks it', () => {
    const changes = { table: 1200, isByNetwork: true };
    expect(others(zoneWith(bluePod, 'ALL', { changes }))).toEqual([
      'blue_blue_ovn_cluster_router 101 ip4.src == 103.103.0.3 reroute 100.65.0.2 blue/lb',
      `GR_blue_blue_ovn-worker 96 ip4.src == 103.103.0.3 && pkt.mark == 0 allow ${byTable} blue/lb`,
    ]);
    expect(policiesOf(zoneWith(bluePod, 'ALL', { changes, isOwn: false }))).toEqual([]);
  });

  test('that hosts can not know sends nothing out, and is told', () => {
    const zone = zoneWith(bluePod, HERE, { changes: { table: 1200 } });
    const narrow = { ...zone.settings, masqueradeSubnets: { v4: '169.254.0.0/18' } };
    expect(others({ ...zone, settings: narrow })).toEqual([
      'blue_blue_ovn_cluster_router 101 ip4.src == 103.103.0.3 drop blue/lb',
    ]);
    expect(problemsOf({ ...zone, settings: narrow }).join('\n')).toContain(
      'spec.network: the masquerade subnet has no address',
    );
  });

  test('while the load balancer has no address nothing passes its gateway router', () => {
    expect(policiesOf(zoneWith(bluePod, HERE, { ingress: [] })).at(-1)).toBe(
      'GR_blue_blue_ovn-worker 96 ip4.src == 103.103.0.3 && pkt.mark == 0 drop blue/lb',
    );
  });
});
