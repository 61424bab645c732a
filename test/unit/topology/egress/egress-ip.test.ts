import { describe, expect, test } from 'vitest';
import type { Attachment } from '../../../../src/model/model.ts';
import type { EgressAddress, EgressIp } from '../../../../src/model/read/egress-ips.ts';
import { egressPods, reroutesOf, servedPods } from '../../../../src/topology/egress/egress-ip.ts';
import { podPorts } from '../../../../src/topology/pods/port.ts';
import { builtUnits } from '../../../support/zone/built-rows.ts';
import {
  bluePod,
  bluePodDefault,
  exampleZone,
  factsOf,
  farMorePod,
  more,
  morePod,
  yellow,
  yellowPod,
  type Zone,
  type ZoneNetwork,
} from '../../../support/zone/zones.ts';

const HERE = { node: 'ovn-worker', address: '172.18.0.200' } as const;
const THERE = { node: 'ovn-worker2', address: '172.18.0.201' } as const;

const egressIp = (items: readonly EgressAddress[], changes: Partial<EgressIp> = {}): EgressIp => ({
  name: 'out',
  created: '2026-01-01T00:00:00Z',
  namespaceSelector: {},
  podSelector: {},
  mark: 50_000,
  families: ['v4'],
  items,
  isHere: items.some(({ node }) => node === HERE.node),
  ...changes,
});

/** A pod on the default network. */
const plainPod: Attachment = {
  ...bluePodDefault,
  namespace: 'default',
  pod: 'web',
  role: 'primary',
};

/** The same on the other node. */
const elsewhere = (attachment: Attachment): Attachment => ({
  ...attachment,
  node: 'ovn-worker2',
  addresses: attachment.addresses.map((address) => FAR[address] ?? address),
  macAddress: '0a:58:0a:f4:01:05',
});
const FAR: Readonly<Record<string, string>> = {
  '10.244.0.3/24': '10.244.1.5/24',
  '103.103.0.3/24': '103.103.1.3/24',
};

function zoneWith(
  attachment: Attachment,
  items: readonly EgressAddress[],
  changes: Partial<EgressIp> = {},
  isOwn = true,
): Zone {
  const { namespace, pod } = attachment;
  const own = isOwn ? attachment : elsewhere(attachment);
  return {
    ...exampleZone,
    networks: [...exampleZone.networks, yellow],
    namespaces: [...exampleZone.namespaces, 'yellow'],
    attachments: isOwn ? [own] : [],
    remoteAttachments: isOwn ? [] : [own],
    pods: [{ namespace, name: pod, node: own.node, labels: {}, namedPorts: [] }],
    egressIps: [egressIp(items, changes)],
  };
}

/** Rows of the pod: which, where, and what they do. */
function rowsOf(zone: Zone): readonly string[] {
  return builtUnits(factsOf(zone), [egressPods]).flatMap(({ rows, failure }) => {
    expect(failure).toBeUndefined();
    return rows.map(({ table, columns, containers }) => {
      const { priority = '', match = '', action = '', nexthops = '', options = {} } = columns;
      const { logical_ip: from, external_ip: to, logical_port: port } = columns;
      const mark = (options as Record<string, string>)['pkt_mark'] ?? '';
      return [
        containers[0]?.key,
        ...(table === 'NAT' ? ['snat', from, to, port] : [priority]),
        match,
        action,
        nexthops,
        mark,
      ]
        .map(String)
        .filter((text) => text !== '')
        .join(' ');
    });
  });
}

describe('a pod of this node', () => {
  test('without any address sends nothing out', () => {
    expect(rowsOf(zoneWith(plainPod, []))).toEqual([
      `ovn_cluster_router 100 ip4.src == ${plainAddress} drop`,
    ]);
  });

  test('of the default network leaves by all nodes that have one; here its gateway router gives it, and marks what is to have it', () => {
    expect(rowsOf(zoneWith(plainPod, [HERE, THERE]))).toEqual([
      `ovn_cluster_router 100 ip4.src == ${plainAddress} reroute 100.64.0.2,100.88.0.3`,
      `GR_ovn-worker snat ${plainAddress} 172.18.0.200 k8s-ovn-worker`,
      `GR_ovn-worker 95 ip4.src == ${plainAddress} && pkt.mark == 0 && !(ct.trk && ct.rpl) allow 1013`,
    ]);
  });

  test('of a Layer3 network is marked by the gateway router that it leaves by', () => {
    expect(rowsOf(zoneWith(bluePod, [HERE]))).toEqual([
      'blue_blue_ovn_cluster_router 100 ip4.src == 103.103.0.3 reroute 100.65.0.2',
      'GR_blue_blue_ovn-worker 95 ip4.src == 103.103.0.3 && pkt.mark == 0 allow 50000',
    ]);
    expect(rowsOf(zoneWith(bluePod, [THERE]))).toEqual([
      'blue_blue_ovn_cluster_router 100 ip4.src == 103.103.0.3 reroute 100.88.0.3',
    ]);
  });

  test('of a Layer2 network goes to the gateway router of the node itself', () => {
    const rows = rowsOf(zoneWith(yellowPod, [HERE, THERE]));
    const [address = ''] = yellowPod.addresses.map((one) => one.split('/')[0]);
    expect(rows).toEqual([
      `cluster_udn_yellow.net_transit_router 100 ip4.src == ${address} reroute 100.88.0.5,100.88.0.7`,
      `GR_cluster_udn_yellow.net_ovn-worker 95 ip4.src == ${address} && pkt.mark == 0 allow 50000`,
    ]);
  });

  test('of a network of users sends nothing out without a mark: the bridge could not tell it', () => {
    const zone = zoneWith(bluePod, [HERE]);
    const [{ mark: _mark, ...markless } = expect.unreachable()] = zone.egressIps ?? [];
    expect(rowsOf({ ...zone, egressIps: [markless] })).toEqual([
      'blue_blue_ovn_cluster_router 100 ip4.src == 103.103.0.3 drop',
    ]);
    expect(rowsOf({ ...zoneWith(plainPod, [HERE]), egressIps: [markless] })).toHaveLength(3);
  });

  test('has no port before the policy by which it leaves', () => {
    const facts = factsOf(zoneWith(bluePod, []));
    const needs = reroutesOf(facts.egressPorts.peek('blue', 'pod1', 'blue/blue'));
    expect(needs).toHaveLength(1);
    const [port] = builtUnits(facts, [podPorts]).flatMap(({ rows }) => rows);
    expect(port?.names).toEqual(needs);
    const policies = builtUnits(facts, [egressPods]).flatMap(({ rows }) => rows);
    expect(policies.map(({ key }) => key)).toEqual(needs.map(({ key }) => key));
  });
});

describe('a pod of another node', () => {
  test('passes here while an address is here', () => {
    expect(rowsOf(zoneWith(plainPod, [HERE], {}, false))).toEqual([
      'GR_ovn-worker snat 10.244.1.5 172.18.0.200 k8s-ovn-worker',
      'GR_ovn-worker 95 ip4.src == 10.244.1.5 && pkt.mark == 0 && !(ct.trk && ct.rpl) allow 1013',
      'ovn_cluster_router 98 inport == "rtots-ovn-worker" && ip4.src == 10.244.1.5 allow',
    ]);
    expect(rowsOf(zoneWith(bluePod, [HERE], {}, false))).toEqual([
      'GR_blue_blue_ovn-worker 95 ip4.src == 103.103.1.3 && pkt.mark == 0 allow 50000',
      'blue_blue_ovn_cluster_router 98 inport == "blue_blue_rtots-ovn-worker" && ip4.src == 103.103.1.3 allow',
    ]);
    expect(rowsOf(zoneWith(yellowPod, [HERE], {}, false))).toHaveLength(1);
  });

  test('has nothing here without one', () => {
    expect(rowsOf(zoneWith(plainPod, [THERE], {}, false))).toEqual([]);
  });
});

describe('a namespace with two primary networks, and another one with a subnet of theirs', () => {
  /** Of namespace yellow, with the subnet of `more`, and so the addresses of its pods. */
  const equal: ZoneNetwork = { ...yellow, subnets: more.subnets };
  const equalTo = (one: Attachment): Attachment => {
    const { namespace, network, nadKey } = yellowPod;
    return { ...one, namespace, network, nadKey };
  };
  const own = [bluePod, morePod, equalTo(morePod)];
  const remote = [elsewhere({ ...bluePod, pod: 'far1' }), farMorePod, equalTo(farMorePod)];
  const withItems = (items: readonly EgressAddress[]): Zone => ({
    ...zoneWith(bluePod, items),
    networks: [...exampleZone.networks, more, equal],
    attachments: own,
    remoteAttachments: remote,
    pods: [...own, ...remote].map(({ namespace, pod: name, node }) => ({
      namespace,
      name,
      node,
      labels: {},
      namedPorts: [],
    })),
  });

  test('pods of each leave by its own router, and are marked by its own gateway router', () => {
    expect(rowsOf(withItems([HERE])).toSorted()).toEqual([
      'GR_blue_blue_ovn-worker 95 ip4.src == 103.103.0.3 && pkt.mark == 0 allow 50000',
      'GR_blue_blue_ovn-worker 95 ip4.src == 103.103.1.3 && pkt.mark == 0 allow 50000',
      'GR_blue_more_ovn-worker 95 ip4.src == 109.109.0.3 && pkt.mark == 0 allow 50000',
      'GR_blue_more_ovn-worker 95 ip4.src == 109.109.0.4 && pkt.mark == 0 allow 50000',
      'GR_cluster_udn_yellow.net_ovn-worker 95 ip4.src == 109.109.0.3 && pkt.mark == 0 allow 50000',
      'GR_cluster_udn_yellow.net_ovn-worker 95 ip4.src == 109.109.0.4 && pkt.mark == 0 allow 50000',
      'blue_blue_ovn_cluster_router 100 ip4.src == 103.103.0.3 reroute 100.65.0.2',
      'blue_blue_ovn_cluster_router 98 inport == "blue_blue_rtots-ovn-worker" && ip4.src == 103.103.1.3 allow',
      'blue_more_transit_router 100 ip4.src == 109.109.0.3 reroute 100.88.0.5',
      'cluster_udn_yellow.net_transit_router 100 ip4.src == 109.109.0.3 reroute 100.88.0.5',
    ]);
  });

  test('without an address pods of each send nothing out', () => {
    expect(rowsOf(withItems([])).toSorted()).toEqual([
      'blue_blue_ovn_cluster_router 100 ip4.src == 103.103.0.3 drop',
      'blue_more_transit_router 100 ip4.src == 109.109.0.3 drop',
      'cluster_udn_yellow.net_transit_router 100 ip4.src == 109.109.0.3 drop',
    ]);
  });
});

test('pods of this node are in the set of their network', () => {
  const setsOf = (zone: Zone): readonly (readonly string[])[] =>
    builtUnits(factsOf(zone), [servedPods])
      .flatMap(({ rows }) => rows)
      .map(({ columns }) => [...((columns['addresses'] as Iterable<string> | undefined) ?? [])])
      .filter((addresses) => addresses.length > 0);
  expect(setsOf(zoneWith(bluePod, []))).toEqual([['103.103.0.3']]);
  expect(setsOf(zoneWith(bluePod, [HERE], {}, false))).toEqual([]);
});

const plainAddress = bluePodDefault.addresses[0]?.split('/')[0] ?? '';

describe('an address at another network card', () => {
  const CARD = { node: HERE.node, address: '10.9.0.100' } as const;
  const ETH1 = { device: 'eth1', index: 7, networks: ['10.9.0.0/24'], routes: {} };
  const withCard = (zone: Zone): readonly string[] => {
    const facts = factsOf({ ...zone, hostCards: [ETH1] });
    return builtUnits(facts, [egressPods]).flatMap(({ rows }) =>
      rows.map(({ columns: { priority, match, action, nexthops = '', options } }) => {
        const { pkt_mark: mark = '' } = (options ?? {}) as Record<string, string>;
        return [priority, match, action, nexthops, mark].map(String).join(' ').trim();
      }),
    );
  };

  test('leads pods of this node, and of others, to the host', () => {
    expect(withCard(zoneWith(plainPod, [CARD]))).toEqual([
      `100 ip4.src == ${plainAddress} reroute 10.244.0.2 1009`,
    ]);
    expect(withCard(zoneWith(plainPod, [CARD, THERE]))).toEqual([
      `100 ip4.src == ${plainAddress} reroute 10.244.0.2,100.88.0.3 1009`,
    ]);
    expect(withCard(zoneWith(plainPod, [CARD], {}, false))).toEqual([
      '100 ip4.src == 10.244.1.5 reroute 10.244.0.2 1009',
    ]);
  });

  test('is left to the bridge by networks of users, as one of the gateway is', () => {
    expect(withCard(zoneWith(bluePod, [CARD]))).toEqual([
      '100 ip4.src == 103.103.0.3 reroute 100.65.0.2',
      '95 ip4.src == 103.103.0.3 && pkt.mark == 0 allow  50000',
    ]);
    expect(withCard(zoneWith(bluePod, [CARD], {}, false))).toEqual([
      '95 ip4.src == 103.103.1.3 && pkt.mark == 0 allow  50000',
      expect.stringContaining('98 inport == "blue_blue_rtots-ovn-worker"') as string,
    ]);
  });

  test('lets nothing of them out where the masquerade subnet has no address for it, and says so', () => {
    const zone = zoneWith(bluePod, [CARD]);
    const masqueradeSubnets = { v4: '169.254.0.0/19' };
    const settings = { ...zone.settings, masqueradeSubnets };
    const facts = factsOf({ ...zone, settings, hostCards: [ETH1] });
    const [built] = builtUnits(facts, [egressPods]);
    expect(built?.rows.map(({ columns }) => columns['action'])).toEqual(['drop']);
    expect(built?.problems.join()).toContain('the masquerade subnet has no address for it');
  });
});
