import { expect, test } from 'vitest';
import type { Attachment } from '../../../../src/model/model.ts';
import type { ExternalRoute } from '../../../../src/model/read/external-routes.ts';
import { DEFAULT_NETWORK } from '../../../../src/model/read/networks.ts';
import {
  externalRoutePolicies,
  externalRoutes,
  hopWatches,
} from '../../../../src/topology/egress/external-routes.ts';
import { hashedName } from '../../../../src/topology/rows/object-ids.ts';
import { builtUnits } from '../../../support/zone/built-rows.ts';
import {
  bluePod,
  exampleZone,
  factsOf,
  inLocalMode,
  yellow,
  yellowPod,
  type Zone,
} from '../../../support/zone/zones.ts';
import { featureTexts } from '../part-texts.ts';

const FEATURES = [hopWatches, externalRoutes, externalRoutePolicies];

/** The worked example of reference/topology.md §18.3. */
const gw1: ExternalRoute = {
  name: 'gw1',
  created: '',
  namespaceSelector: {},
  hops: [
    { address: '172.18.0.10', isWatched: true },
    { address: '172.18.0.11', isWatched: false },
  ],
  pods: [],
};
const pod3: Attachment = {
  ...bluePod,
  namespace: 'web',
  pod: 'pod3',
  network: DEFAULT_NETWORK,
  nadKey: 'default',
  macAddress: '0a:58:0a:f4:00:05',
  addresses: ['10.244.0.5/24'],
};
const zoneOf = (...attachments: Attachment[]): Zone => ({
  ...exampleZone,
  namespaces: [...exampleZone.namespaces, 'web', 'yellow'],
  networks: [...exampleZone.networks, yellow],
  attachments,
  externalRoutes: [gw1],
});
const SET = hashedName('default-network-controller:HybridNodeRoute:ovn-worker:v4');
const ROUTES = [
  'Logical_Router_Static_Route GR_ovn-worker 10.244.0.5/32 src-ip rtoe-GR_ovn-worker 172.18.0.10 bfd=BFD/rtoe-GR_ovn-worker 172.18.0.10 ip_prefix=10.244.0.5/32 nexthop=172.18.0.10 options={ecmp_symmetric_reply=true} output_port=rtoe-GR_ovn-worker policy=src-ip < Logical_Router/GR_ovn-worker.static_routes',
  'Logical_Router_Static_Route GR_ovn-worker 10.244.0.5/32 src-ip rtoe-GR_ovn-worker 172.18.0.11 ip_prefix=10.244.0.5/32 nexthop=172.18.0.11 options={ecmp_symmetric_reply=true} output_port=rtoe-GR_ovn-worker policy=src-ip < Logical_Router/GR_ovn-worker.static_routes',
];
const WATCH =
  'BFD rtoe-GR_ovn-worker 172.18.0.10 dst_ip=172.18.0.10 logical_port=rtoe-GR_ovn-worker';

test('a pod has a route by each hop on the gateway router of its node', () => {
  expect(featureTexts(FEATURES, zoneOf(pod3))).toEqual([WATCH, ...ROUTES]);
});

test('in local gateway mode it is sent to the gateway router first', () => {
  expect(featureTexts(FEATURES, inLocalMode(zoneOf(pod3)))).toEqual([
    `Address_Set ${SET} addresses=[10.244.0.5] external_ids={ip-family=v4 k/id=default-network-controller:HybridNodeRoute:ovn-worker:v4 k/name=ovn-worker k/owner-controller=default-network-controller k/owner-type=HybridNodeRoute}`,
    WATCH,
    `Logical_Router_Policy ovn_cluster_router 501 inport == "rtos-ovn-worker" && ip4.src == $${SET} && ip4.dst != 10.244.0.0/16 action=reroute match=inport == "rtos-ovn-worker" && ip4.src == $${SET} && ip4.dst != 10.244.0.0/16 nexthops=[100.64.0.2] options={pkt_mark=1010} priority=501 < Logical_Router/ovn_cluster_router.policies`,
    ...ROUTES,
  ]);
});

test('on primary networks, by their gateway routers; the node and a hop have one session for all', () => {
  const texts = featureTexts(FEATURES, zoneOf(pod3, bluePod, yellowPod));
  const of = (network: string): string[] => texts.filter((text) => text.includes(network));
  expect(of('GR_blue_blue_ovn-worker')).toEqual([
    expect.stringMatching(
      /103\.103\.0\.3\/32 src-ip rtoe-GR_blue_blue_ovn-worker 172\.18\.0\.10 bfd=BFD\/rtoe-GR_ovn-worker 172\.18\.0\.10 /,
    ),
    expect.stringContaining('nexthop=172.18.0.11'),
  ]);
  expect(of('GR_cluster_udn_yellow.net_ovn-worker')).toHaveLength(2);
  expect(texts.filter((text) => text.startsWith('BFD '))).toEqual([WATCH]);
});

test('there services of the default network, answers to gateway routers and what stands for the host keep their way in local gateway mode', () => {
  const texts = featureTexts([externalRoutePolicies], inLocalMode(zoneOf(bluePod, yellowPod)));
  expect(texts.filter((text) => text.startsWith('Logical_Router_Policy '))).toEqual([
    expect.stringMatching(
      /^Logical_Router_Policy blue_blue_ovn_cluster_router 501 inport == "rtos-blue_blue_ovn-worker" && ip4.src == \$a[0-9a-f]+ && ip4.dst != 103.103.0.0\/16 && ip4.dst != 100.65.0.0\/16 && ip4.dst != 10.96.0.0\/16 && ip4.dst != 169.254.0.0\/17 .* nexthops=\[100.65.0.2\]/,
    ),
    expect.stringMatching(
      /^Logical_Router_Policy cluster_udn_yellow.net_transit_router 501 inport == "trtos-cluster_udn_yellow.net_ovn_layer2_switch" .* nexthops=\[100.88.0.5\] options={pkt_mark=43} /,
    ),
  ]);
});

test('a node without a gateway says that it waits for one', () => {
  const zone = zoneOf(pod3);
  const { gateway: _gateway, ...node } = zone.node;
  const units = builtUnits(factsOf({ ...zone, node })).filter(({ unit }) =>
    unit.startsWith(`${externalRoutes.name} `),
  );
  expect(units).toHaveLength(1);
  expect(units[0]?.rows).toEqual([]);
});
