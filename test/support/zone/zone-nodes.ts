/** Nodes of random histories of a zone, as they and the cluster manager annotate them. */
import type { Node } from '../../../src/api/types.ts';
import { macOf } from './layer3-by-hand.ts';

export const SUBNETS = 'k8s.ovn.org/node-subnets';

/** What the test wants of a node. */
export interface NodeState {
  readonly id: number;
  chassis: string;
  address: string;
  hasGateway: boolean;
  isLocalMode: boolean;
  hasNodePorts: boolean;
  vlan: number;
  hasMtuSupport: boolean;
  readonly hostAddresses: Set<string>;
  readonly subnets: Map<string, string>;
}

export function nodeObject(name: string, state: NodeState): Node {
  const { id, chassis, address, hasGateway, isLocalMode, hasNodePorts, vlan, subnets } = state;
  const hosts = [`${address}/16`, ...state.hostAddresses];
  const gateway = {
    mode: isLocalMode ? 'local' : 'shared',
    'bridge-id': 'br-ex',
    'interface-id': `br-ex_${name}`,
    'mac-address': macOf(address),
    'ip-addresses': [`${address}/16`],
    'next-hops': ['172.18.0.254'],
    'node-port-enable': String(hasNodePorts),
    'vlan-id': String(vlan),
  };
  return {
    apiVersion: 'v1',
    kind: 'Node',
    metadata: {
      name,
      annotations: {
        'k8s.ovn.org/node-id': String(id),
        'k8s.ovn.org/node-chassis-id': chassis,
        'k8s.ovn.org/node-encap-ips': JSON.stringify([address]),
        'k8s.ovn.org/node-primary-ifaddr': JSON.stringify({ ipv4: `${address}/16` }),
        'k8s.ovn.org/host-cidrs': JSON.stringify(hosts),
        ...(state.hasMtuSupport ? {} : { 'k8s.ovn.org/gateway-mtu-support': 'false' }),
        'k8s.ovn.org/node-transit-switch-port-ifaddr': JSON.stringify({
          ipv4: `100.88.0.${id}/16`,
        }),
        // Not from an object literal: one of the networks is called __proto__.
        [SUBNETS]: `{${[...subnets].map(([network, cidr]) => `${JSON.stringify(network)}:["${cidr}"]`).join(',')}}`,
        'k8s.ovn.org/l3-gateway-config': JSON.stringify({
          default: hasGateway ? gateway : { mode: '' },
        }),
      },
    },
  };
}
