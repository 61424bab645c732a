/** Zones that differ from the example in one thing. */

import type { Attachment, LocalNode, NodeGateway } from '../../../src/model/model.ts';
import {
  blue,
  bluePod,
  bluePodDefault,
  defaultNetwork,
  exampleZone,
  networkName,
  worker,
  yellow,
  type Zone,
  type ZoneNetwork,
} from './zones.ts';

/** With this network beside the default one of `zone`. */
export const withNetwork = (network: ZoneNetwork, zone: Zone = exampleZone): Zone => ({
  ...zone,
  networks: [zone.networks[0] ?? defaultNetwork, network],
});

/** The node has nothing that leads out. */
export function withoutGateway(zone: Zone): Zone {
  const { gateway: _gateway, ...node } = zone.node;
  return { ...zone, node };
}

/** The example, whose node has another gateway. */
export const withGateway = (changed: Partial<NodeGateway>): Zone => ({
  ...exampleZone,
  node: { ...worker, gateway: { ...(worker.gateway as NodeGateway), ...changed } },
});

export const withMulticast = (zone: Zone): Zone => ({
  ...zone,
  settings: { ...zone.settings, features: { ...zone.settings.features, multicast: true } },
});

/** OVN does not check sizes on its node. */
export const withoutMtu: Zone = {
  ...exampleZone,
  node: { ...worker, gatewayMtuSupport: false } satisfies LocalNode,
};

/** A Layer3 network beside the primary one. */
export const secondaryLayer3: ZoneNetwork = {
  ...blue,
  name: networkName('blue_sec'),
  id: 8,
  role: 'secondary',
  subnets: [{ cidr: '10.80.0.0/16', hostLength: 24 }],
  joinSubnets: {},
  masquerade: {},
  nads: ['blue/sec'],
  namespaces: [],
  nodeSubnets: new Map([['ovn-worker', ['10.80.0.0/24']]]),
  object: 'UserDefinedNetwork blue/sec',
};

/** pod1 of namespace blue on it. */
export const secondaryPod: Attachment = {
  ...bluePod,
  network: secondaryLayer3.name,
  nadKey: 'blue/sec',
  role: 'secondary',
  macAddress: '0a:58:0a:50:00:05',
  addresses: ['10.80.0.5/24'],
};

/** The example with pods of this node. */
export const withPods = (...attachments: Attachment[]): Zone => ({ ...exampleZone, attachments });

/** The port on the default network of a pod that opens a TCP port of it, and ICMP. */
export const opening: Attachment = {
  ...bluePodDefault,
  openDefaultPorts: [{ protocol: 'tcp', port: 80 }, { protocol: 'icmp' }],
};

/** The node has no subnet of any network yet. */
export const withoutSubnets: Zone = {
  ...exampleZone,
  networks: exampleZone.networks.map((network) => ({ ...network, nodeSubnets: new Map() })),
};

/** With the Layer2 network and its namespace. */
export const yellowZone: Zone = {
  ...withNetwork(yellow),
  namespaces: [...exampleZone.namespaces, 'yellow'],
};
