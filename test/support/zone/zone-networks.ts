/** Networks that are asked for in random histories of a zone, and what their NADs say. */
import type { SeededRandom } from '../run/seeded-random.ts';

/** A network that may be asked for, and the NADs that ask for it. */
export interface Asked {
  readonly name: string;
  readonly id: number;
  readonly role: 'primary' | 'secondary';
  readonly topology: 'layer3' | 'layer2' | 'localnet';
  readonly nads: readonly string[];
}

/** Some that clash: one prefix, one NAD name, names that may not be in rows or that are others' parts. */
export const NETWORKS: readonly Asked[] = [
  { name: 'blue_blue', id: 1, role: 'primary', topology: 'layer3', nads: ['blue/blue'] },
  { name: 'red_red', id: 2, role: 'primary', topology: 'layer3', nads: ['red/red'] },
  {
    name: 'cluster_udn_c',
    id: 3,
    role: 'primary',
    topology: 'layer3',
    nads: ['blue/c', 'k8s-red/c'],
  },
  { name: 'a-b', id: 4, role: 'secondary', topology: 'layer3', nads: ['blue/a-b'] },
  { name: 'a.b', id: 5, role: 'secondary', topology: 'layer3', nads: ['red/a.b'] },
  { name: 'far', id: 6, role: 'primary', topology: 'layer2', nads: ['red/far'] },
  { name: 'x" || 1', id: 7, role: 'secondary', topology: 'layer3', nads: ['blue/quote'] },
  {
    name: 'blue_blue/node/w2',
    id: 8,
    role: 'secondary',
    topology: 'layer3',
    nads: ['red/mallory'],
  },
  { name: '__proto__', id: 9, role: 'secondary', topology: 'layer3', nads: ['red/proto'] },
  { name: 'red', id: 10, role: 'secondary', topology: 'layer3', nads: ['red/short'] },
  { name: 'wide', id: 11, role: 'primary', topology: 'layer2', nads: ['wide/wide'] },
  { name: 'flat', id: 12, role: 'secondary', topology: 'layer2', nads: ['blue/flat'] },
  { name: 'vlan', id: 13, role: 'secondary', topology: 'localnet', nads: ['red/vlan'] },
  {
    name: 'secondary_blue_osn',
    id: 14,
    role: 'secondary',
    topology: 'layer2',
    nads: ['blue/osn'],
  },
];

/** Of the networks of several namespaces. */
export const OWNER = {
  apiVersion: 'k8s.ovn.org/v1',
  kind: 'ClusterUserDefinedNetwork',
  name: 'c',
  uid: 'uid-of-c',
  controller: true,
};

/** What may change of a network; of one with several NADs these would have to change together. */
function changeable({ id, nads, topology }: Asked, random: SeededRandom): object {
  if (nads.length > 1) return {};
  return {
    ...(random.is(0.5) ? { mtu: random.pick([1300, 1400]) } : {}),
    ...(topology === 'localnet'
      ? {
          ...(random.is(0.5) ? { vlanID: random.pick([7, 9]) } : {}),
          ...(random.is(0.5) ? { physicalNetworkName: random.pick(['a', 'b']) } : {}),
        }
      : {}),
    ...(topology !== 'layer3' && random.is(0.3) ? { excludeSubnets: `10.${id}.0.0/30` } : {}),
  };
}

/** The CNI configuration of a NAD; another one each time. */
export const config = (asked: Asked, nad: string, random: SeededRandom): string => {
  const { name, id, role, topology } = asked;
  return JSON.stringify({
    cniVersion: '1.1.0',
    name,
    type: 'ovn-k8s-cni-overlay',
    topology,
    role,
    netAttachDefName: nad,
    subnets: topology === 'layer3' ? `10.${id}.0.0/16/24` : `10.${id}.0.0/16`,
    ...(role === 'primary' ? { joinSubnet: '100.65.0.0/16' } : {}),
    ...changeable(asked, random),
  });
};

export const place = (key: string): { namespace: string; name: string } => {
  const [namespace = '', name = ''] = key.split('/');
  return { namespace, name };
};
