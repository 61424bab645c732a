/** What the lab's nodes know of themselves, as Node manifests (api.md §7.1). */
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { stringify } from 'yaml';
import { formatFamilyCidrs, formatGatewayConfig } from '../api/annotations/node-annotations.ts';
import type { KubeObject } from '../api/objects.ts';
import { nodeNames, stateFolder } from './paths.ts';

export type Families = 'v4' | 'v6' | 'dual';

const numberOf = (node: string): number => Number(node.slice(1));

/** `system-id` of the node's Open vSwitch; the same for node n<i> of every lab. */
export const chassisId = (node: string): string =>
  `1ab00000-0000-4000-8000-${String(numberOf(node)).padStart(12, '0')}`;

/** MAC address of br-ex. */
const bridgeMac = (node: string): string =>
  `0a:58:ac:12:00:${(10 + numberOf(node)).toString(16).padStart(2, '0')}`;

/** The outside host, next hop of every node. */
export const OUTSIDE = { v4: '172.18.0.100', v6: 'fd00:172:18::100' } as const;

/** Node n<i> as a Kubernetes object with the annotations that a node's own agent writes. */
export function nodeManifest(node: string, families: Families): KubeObject {
  const host = 10 + numberOf(node);
  const v4 = families === 'v6' ? [] : [`172.18.0.${host}/24`];
  const v6 = families === 'v4' ? [] : [`fd00:172:18::${host}/64`];
  const addresses = [...v4, ...v6];
  const nextHops = [...v4.map(() => OUTSIDE.v4), ...v6.map(() => OUTSIDE.v6)];
  const plain = addresses.map((address) => address.split('/')[0] ?? '');
  const gateway = formatGatewayConfig({
    mode: 'shared',
    bridge: 'br-ex',
    interfaceId: `br-ex_${node}`,
    macAddress: bridgeMac(node),
    addresses,
    nextHops,
    nodePortEnable: true,
    vlan: 0,
  });
  return {
    apiVersion: 'v1',
    kind: 'Node',
    metadata: {
      name: node,
      labels: { 'kubernetes.io/hostname': node },
      annotations: {
        'k8s.ovn.org/node-chassis-id': chassisId(node),
        'k8s.ovn.org/l3-gateway-config': gateway,
        'k8s.ovn.org/node-primary-ifaddr': formatFamilyCidrs({
          ...(v4[0] === undefined ? {} : { v4: v4[0] }),
          ...(v6[0] === undefined ? {} : { v6: v6[0] }),
        }),
        'k8s.ovn.org/host-cidrs': JSON.stringify(addresses),
        // Tunnels run over IPv4, whatever the pods' families are.
        'k8s.ovn.org/node-encap-ips': JSON.stringify([`172.18.0.${host}`]),
      },
    },
    status: {
      addresses: [
        ...plain.map((address) => ({ type: 'InternalIP', address })),
        { type: 'Hostname', address: node },
      ],
    },
  };
}

/** Folder of manifests in a lab's state folder. */
export const manifestsFolder = (name: string): string => join(stateFolder(name), 'manifests');

/** Writes the Node manifests of a lab and returns the file's path. */
export function writeNodeManifests(name: string, nodes: number, families: Families): string {
  const file = join(manifestsFolder(name), 'nodes.yaml');
  mkdirSync(manifestsFolder(name), { recursive: true });
  writeFileSync(
    file,
    nodeNames(nodes)
      .map((node) => stringify(nodeManifest(node, families)))
      .join('---\n'),
  );
  return file;
}
