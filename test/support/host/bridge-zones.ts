/** Zones whose external bridge is looked at: the node and the networks of reference/node.md §0, and any number of networks. */
import { COOKIE, isMarkedCookie } from '../../../src/node/openflow/pipeline.ts';
import type { Feature } from '../../../src/desired/features.ts';
import type { DesiredRow } from '../../../src/desired/rows.ts';
import type { ZoneFacts } from '../../../src/model/zone/zone.ts';
import {
  bridgeFlows,
  bridgeFlowsOfEgressAddresses,
  bridgeFlowsOfEgressIp,
  bridgeFlowsOfGatewayEgress,
  bridgeFlowsOfNetwork,
  bridgeFlowsOfNode,
  bridgeFlowsOfConnectedService,
  bridgeFlowsOfHostPorts,
  bridgeFlowsOfService,
} from '../../../src/node/openflow/bridge-flows.ts';
import {
  hostInVlan,
  LOCAL,
  MARK_OF_HOST,
  OPENFLOW,
  withNumbers,
  type FlowColumns,
  type PortColumns,
} from '../../../src/node/openflow/flow-rows.ts';
import { INTO_OVN_MARK } from '../../../src/node/numbers.ts';
import { builtUnits } from '../zone/built-rows.ts';
import { hostZone } from './host-driver.ts';
import { service, slice, withServices } from '../zone/services.ts';
import {
  dualZone,
  exampleZone,
  factsOf,
  networkName,
  worker,
  worker2,
  blue,
  yellow,
  defaultNetwork,
  type Zone,
  type ZoneNetwork,
} from '../zone/zones.ts';

const gateway = {
  ...(worker.gateway as NonNullable<typeof worker.gateway>),
  macAddress: '02:42:ac:12:00:03',
};

/** Network B, on Layer3. */
const layer3: ZoneNetwork = {
  ...blue,
  name: networkName('blue_l3net'),
  id: 2,
  subnets: [{ cidr: '10.20.0.0/16', hostLength: 24 }],
  masquerade: { v4: { gatewayRouter: '169.254.0.13', managementPort: '169.254.0.14' } },
  nads: ['blue/l3net'],
  nodeSubnets: new Map([['ovn-worker', ['10.20.1.0/24']]]),
  object: 'UserDefinedNetwork blue/l3net',
};

/** Network G, on Layer2. */
const layer2: ZoneNetwork = {
  ...yellow,
  name: networkName('cluster_udn_green'),
  id: 3,
  subnets: [{ cidr: '10.30.0.0/24' }],
  masquerade: { v4: { gatewayRouter: '169.254.0.15', managementPort: '169.254.0.16' } },
  nads: ['green/green'],
  object: 'ClusterUserDefinedNetwork green',
};

/** IPv4, networks default, B and G, no services (reference/node.md §4.5). */
export const bridgeZone: Zone = {
  ...exampleZone,
  node: { ...worker, gateway, hostAddresses: ['172.18.0.3/16', '10.0.0.5/24', '169.254.0.2/17'] },
  remoteNodes: [{ ...worker2, encapIps: ['172.18.0.2'] }],
  networks: [defaultNetwork, layer3, layer2],
  allowedDefaultServices: [],
};

/** The same bridge, both families. */
export const dualBridgeZone: Zone = {
  ...dualZone,
  node: {
    ...dualZone.node,
    gateway: {
      ...(dualZone.node.gateway as NonNullable<typeof worker.gateway>),
      macAddress: gateway.macAddress,
    },
  },
};

/** A service on a network, and one that the host itself serves, with addresses of both families. */
export const servingZone = withServices(
  dualBridgeZone,
  service('blue/web', {
    type: 'NodePort',
    clusterIPs: ['10.96.1.3', 'fd00:10:96::3'],
    externalIPs: ['5.5.5.5', 'fd05::5'],
    ports: [
      { name: 'a', port: 80, nodePort: 30_081 },
      { name: 'b', port: 53, nodePort: 30_053, protocol: 'UDP' },
      { name: 'c', port: 99, nodePort: 30_099, protocol: 'SCTP' },
    ],
  }),
  slice('blue/web', ['103.103.0.3 on ovn-worker'], {
    network: 'blue_blue',
    ports: ['a', 'b', 'c'].map((name) => ({ name, port: 8080 })),
  }),
  service('kube-system/agent', {
    type: 'NodePort',
    clusterIPs: ['10.96.0.7', 'fd00:10:96::7'],
    externalTrafficPolicy: 'Local',
    ports: [{ port: 80, nodePort: 30_090 }],
  }),
  slice('kube-system/agent', ['172.18.0.3 on ovn-worker']),
  slice('kube-system/agent', ['fc00:f853::3 on ovn-worker'], { name: 'six' }),
);

/** Addresses of an EgressIP on the node, for pods of every network. */
export const egressZone: Zone = {
  ...dualBridgeZone,
  egressIps: [
    {
      name: 'out',
      created: '2026-01-01T00:00:00Z',
      namespaceSelector: {},
      podSelector: {},
      mark: 50_000,
      families: ['v4', 'v6'],
      items: [
        { node: 'ovn-worker', address: '172.18.0.200' },
        { node: 'ovn-worker', address: 'fc00:f853::200' },
      ],
      isHere: true,
    },
  ],
  requestedEgress: [{ name: 'out', addresses: ['172.18.0.200', 'fc00:f853::200'] }],
};

/** They move to this node. */
export const egressMoveZone: Zone = {
  ...egressZone,
  egressIps: (egressZone.egressIps ?? []).map((one) => ({
    ...one,
    moves: one.items.map(({ address, node }) => ({
      address,
      from: 'ovn-worker2',
      to: node,
      step: 'switch',
    })),
  })),
  gatewayMacs: [{ name: 'ovn-worker2', mac: '02:42:ac:12:00:02' }],
};

/** Its addresses are in networks of another network card. */
export const egressCardZone: Zone = {
  ...egressZone,
  egressIps: (egressZone.egressIps ?? []).map((one) => ({
    ...one,
    items: ['10.9.0.50', 'fd00:10:9::50'].map((address) => ({ node: 'ovn-worker', address })),
  })),
  hostCards: [
    { device: 'eth1', index: 7, networks: ['10.9.0.0/24', 'fd00:10:9::/64'], routes: {} },
  ],
};

/** For classes of destinations alone: what the default network sends is marked, too. */
const byClass = (zone: Zone): Zone => ({
  ...zone,
  egressIps: (zone.egressIps ?? []).map((one) => ({
    ...one,
    trafficSelector: { matchLabels: { group: 'mgmt' } },
  })),
  trafficClasses: [
    { name: 'mgmt', labels: { group: 'mgmt' }, cidrs: ['192.168.250.0/24', 'fd01::/64'] },
  ],
});
export const egressClassZone: Zone = byClass(egressZone);
export const egressClassCardZone: Zone = byClass(egressCardZone);

/** The gateway in VLAN 5. */
export const inVlan = (zone: Zone): Zone => {
  const { gateway: own } = zone.node;
  return { ...zone, node: { ...zone.node, ...(own && { gateway: { ...own, vlan: VLAN } }) } };
};
export const VLAN = 5;

/** Both families, the default network, and `count` primary networks. */
export const crowdedBridgeZone = (count: number): Zone => ({
  ...hostZone(count),
  node: dualBridgeZone.node,
});

/** Numbers as in reference/node.md §0: uplink, default network, then networks in order of their ids. */
export const bridgePortNumber =
  ({ networks }: Zone) =>
  (name: string): string | undefined => {
    if (name === ':uplink') return '1';
    if (name === hostInVlan(VLAN)) return LOCAL;
    if (name === MARK_OF_HOST) return INTO_OVN_MARK;
    const index = networks.findIndex((network) => name === patchPortOf(network));
    return index < 0 ? undefined : String(index + 2);
  };

/** Patch port of a network on `breth0` of node `ovn-worker`. */
export const patchPortOf = ({ id, name }: Pick<ZoneNetwork, 'id' | 'name'>): string =>
  `patch-breth0_${id === 0 ? '' : `${name.replaceAll('-', '.')}_`}ovn-worker-to-br-int`;

export const bridgeFeatures: readonly Feature<ZoneFacts>[] = [
  bridgeFlows,
  bridgeFlowsOfNode,
  bridgeFlowsOfNetwork,
  bridgeFlowsOfHostPorts,
  bridgeFlowsOfService,
  bridgeFlowsOfConnectedService,
  bridgeFlowsOfEgressAddresses,
  bridgeFlowsOfEgressIp,
  bridgeFlowsOfGatewayEgress,
];

export const bridgeRows = (zone: Zone): readonly DesiredRow[] =>
  builtUnits(factsOf(zone), bridgeFeatures).flatMap(({ rows, failure }) => {
    if (failure !== undefined) throw new Error(failure);
    return rows.filter(({ database }) => database === OPENFLOW);
  });

export const flowsOf = (rows: readonly DesiredRow[]): readonly FlowColumns[] =>
  rows
    .filter(({ table }) => table === 'flow')
    .map(({ columns }) => columns as unknown as FlowColumns);

export const portsOf = (rows: readonly DesiredRow[]): readonly PortColumns[] =>
  rows
    .filter(({ table }) => table === 'port')
    .map(({ columns }) => columns as unknown as PortColumns);

/** `table=0 700 in_port=2,… → drop`, with the numbers of ports; the cookie where it is not that of most flows. */
export const flowLines = (zone: Zone): readonly string[] =>
  flowsOf(bridgeRows(zone)).map(({ table, priority, cookie, match, actions }) => {
    const other = cookie === COOKIE || isMarkedCookie(cookie) ? '' : ` (${cookie})`;
    const text = `table=${table} ${priority} ${match} → ${actions}${other}`;
    return withNumbers(text, bridgePortNumber(zone)) ?? `unknown port: ${text}`;
  });
