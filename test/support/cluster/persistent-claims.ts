/** IPAMClaims, pods of machines that name them, and what became of both; of networks whose pods may keep their addresses. */
import { ipamClaims, pods } from '../../../src/api/kinds.ts';
import type { IPAMClaim, Pod, UserDefinedNetwork } from '../../../src/api/types.ts';
import type { Store } from '../../../src/store/store.ts';
import { describeConditions, layer2, pod } from './cluster.ts';

export const persistent = (
  key: string,
  subnets: string,
  role: 'Primary' | 'Secondary' = 'Secondary',
): UserDefinedNetwork => {
  const udn = layer2(key, subnets, role);
  const { layer2: config } = udn.spec;
  if (config === undefined) throw new Error('a Layer2 network expected');
  const ipam = { lifecycle: 'Persistent' } as const;
  return { ...udn, spec: { ...udn.spec, layer2: { ...config, ipam } } };
};

export const claim = (key: string, network: string): IPAMClaim => {
  const [namespaceName = '', name = ''] = key.split('/');
  return {
    apiVersion: 'k8s.cni.cncf.io/v1alpha1',
    kind: 'IPAMClaim',
    metadata: { namespace: namespaceName, name },
    spec: { network, interface: 'net1' },
  };
};

/** A pod that runs machine `vm`. */
export const machinePod = (key: string, annotations: Readonly<Record<string, string>>): Pod => {
  const made = pod(key, 'node1', { 'kubevirt.io/domain': 'vm', ...annotations });
  return { ...made, metadata: { ...made.metadata, labels: { 'kubevirt.io': 'virt-launcher' } } };
};

/** Asks for network `net` of its namespace with a claim. */
export const claiming = (
  claimName: string,
  more: object = {},
): Readonly<Record<string, string>> => ({
  'k8s.v1.cni.cncf.io/networks': JSON.stringify([
    { name: 'net', 'ipam-claim-reference': claimName, ...more },
  ]),
});

export const vm = (key: string, claimName: string, more: object = {}): Pod =>
  machinePod(key, claiming(claimName, more));

/** Addresses of a pod on network `net` of its namespace. */
export const addressOf = async (store: Store, key: string): Promise<string | undefined> => {
  const text = (await store.get(pods, key))?.metadata.annotations?.['k8s.ovn.org/pod-networks'];
  const networks = JSON.parse(text ?? '{}') as Record<string, { ip_addresses: string[] }>;
  return networks[`${key.split('/')[0]}/net`]?.ip_addresses.join(' ');
};

/** Addresses and condition of a claim. */
export const claimLine = async (store: Store, key: string): Promise<string> => {
  const status = (await store.get(ipamClaims, key))?.status;
  return `${(status?.ips ?? []).join(' ')} ${describeConditions(status?.conditions ?? []).join()}`;
};
