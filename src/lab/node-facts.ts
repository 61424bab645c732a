/** The lab's nodes as Node manifests, and where they are. */
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { stringify } from 'yaml';
import type { KubeObject } from '../api/objects.ts';
import { nodeNames, stateFolder } from './paths.ts';

export type Families = 'v4' | 'v6' | 'dual';

const numberOf = (node: string): number => Number(node.slice(1));

/** The outside host, next hop of every node. */
export const OUTSIDE = { v4: '172.18.0.100', v6: 'fd00:172:18::100' } as const;

/** Node n<i> as a Kubernetes object: what it is it says itself. */
export function nodeManifest(node: string): KubeObject {
  const host = 10 + numberOf(node);
  const addresses = [`172.18.0.${host}`, `fd00:172:18::${host}`];
  return {
    apiVersion: 'v1',
    kind: 'Node',
    metadata: { name: node, labels: { 'kubernetes.io/hostname': node } },
    status: {
      addresses: [
        ...addresses.map((address) => ({ type: 'InternalIP', address })),
        { type: 'Hostname', address: node },
      ],
    },
  };
}

/** Settings of daemons and commands that follow from a lab's families; those of IPv4 are the defaults. */
export const familySettings = (families: Families): Readonly<Record<string, string>> =>
  families === 'v4'
    ? {}
    : {
        'cluster-subnets': [
          ...(families === 'dual' ? ['10.128.0.0/14/23'] : []),
          'fd00:10:128::/48/64',
        ].join(','),
        'k8s-service-cidrs': [
          ...(families === 'dual' ? ['172.16.1.0/24'] : []),
          'fd00:10:96::/112',
        ].join(','),
      };

/** Folder of manifests in a lab's state folder. */
export const manifestsFolder = (name: string): string => join(stateFolder(name), 'manifests');

/** Writes the Node manifests of a lab and returns the file's path. */
export function writeNodeManifests(name: string, nodes: number): string {
  const file = join(manifestsFolder(name), 'nodes.yaml');
  mkdirSync(manifestsFolder(name), { recursive: true });
  writeFileSync(
    file,
    nodeNames(nodes)
      .map((node) => stringify(nodeManifest(node)))
      .join('---\n'),
  );
  return file;
}
