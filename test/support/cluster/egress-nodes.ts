/** Nodes as EgressIPs and EgressServices see them, and what they and their daemons say. */
import { nodes } from '../../../src/api/kinds.ts';
import { LEASES, microTime, nodeLeaseName, type Lease } from '../../../src/api/node-lease.ts';
import type { Node } from '../../../src/api/types.ts';
import { node } from './cluster.ts';
import type { MemoryStore } from './memory-store.ts';

/** A node at 172.18.0.<last>, with a second card. */
export function egressNode(name: string, last: number, changes: Partial<Node> = {}): Node {
  const address = `172.18.0.${last}/16`;
  return {
    ...node(name, {
      'k8s.ovn.org/l3-gateway-config': JSON.stringify({
        default: {
          mode: 'shared',
          'bridge-id': 'br-ex',
          'interface-id': `br-ex_${name}`,
          'mac-address': '02:42:ac:12:00:02',
          'ip-addresses': [address],
          'next-hops': ['172.18.0.1'],
        },
      }),
      'k8s.ovn.org/node-primary-ifaddr': JSON.stringify({ ipv4: address }),
      'k8s.ovn.org/host-cidrs': JSON.stringify([address, `10.9.0.${last}/24`]),
    }),
    ...changes,
  };
}

/** The heartbeat of a node's daemon. */
export const heartbeat = (name: string, at: string): Lease => ({
  apiVersion: LEASES.apiVersion,
  kind: LEASES.kind,
  metadata: { name: nodeLeaseName(name), namespace: 'heddle' },
  spec: {
    holderIdentity: 'daemon',
    leaseDurationSeconds: 40,
    renewTime: microTime(Date.parse(at)),
  },
});

const DOWN = 'k8s.ovn.org/egress-networks-down';
/** What a node says of networks by which nothing leaves it. */
export const saysDown = (
  store: MemoryStore,
  name: string,
  networks: Readonly<Record<string, string>> | null,
  daemon = 'daemon',
): Promise<Node> =>
  store.patch(
    nodes,
    name,
    { metadata: { annotations: { [DOWN]: networks && JSON.stringify({ daemon, networks }) } } },
    { fieldManager: 'node' },
  );
