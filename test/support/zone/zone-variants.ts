/** Zones that differ from the example in one thing. */

import type { LocalNode, NodeGateway } from '../../../src/model/model.ts';
import {
  blue,
  defaultNetwork,
  exampleZone,
  networkName,
  worker,
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
