/** Objects of all kinds that obey every rule, to be changed in one place by the cases of the rules. */
import { cudn, layer2, layer3, localnet } from './objects.ts';

export interface RuleCase {
  readonly rule: string;
  readonly old?: object;
  readonly valid: object;
  readonly invalid: object;
  /** Part of the error, without the value. */
  readonly message: string;
}

export const l3 = (config: object): object =>
  layer3({ role: 'Primary', subnets: [{ cidr: '10.20.0.0/16' }], ...config });
export const l3Subnets = (...subnets: object[]): object => layer3({ role: 'Primary', subnets });
export const l2 = (config: object): object =>
  layer2({ role: 'Primary', subnets: ['10.100.0.0/16'], ...config });
export const l2Secondary = (config: object): object => layer2({ role: 'Secondary', ...config });
export const ln = (config: object): object => localnet({ subnets: ['192.168.0.0/16'], ...config });
export const manyCidrs = (count: number): string[] =>
  Array.from({ length: count }, (_, i) => `10.100.${i}.0/24`);
export const manySubnets = (count: number, hostSubnet?: number): object[] =>
  Array.from({ length: count }, (_, i) => ({ cidr: `10.${i >> 8}.${i & 255}.0/24`, hostSubnet }));

export const cnc = (spec: object): object => ({
  apiVersion: 'k8s.ovn.org/v1',
  kind: 'ClusterNetworkConnect',
  metadata: { name: 'connect' },
  spec: {
    networkSelectors: [
      {
        networkSelectionType: 'ClusterUserDefinedNetworks',
        clusterUserDefinedNetworkSelector: { networkSelector: {} },
      },
    ],
    connectSubnets: [{ cidr: '192.168.0.0/16', networkPrefix: 24 }],
    connectivity: ['PodNetwork'],
    ...spec,
  },
});
export const selectors = (...networkSelectors: object[]): object => cnc({ networkSelectors });
export const connectSubnets = (...subnets: object[]): object => cnc({ connectSubnets: subnets });

export const primary3 = {
  topology: 'Layer3',
  layer3: { role: 'Primary', subnets: [{ cidr: '10.20.0.0/16' }] },
};
export const secondary3 = {
  topology: 'Layer3',
  layer3: { role: 'Secondary', subnets: [{ cidr: '10.20.0.0/16' }] },
};
export const primary2 = {
  topology: 'Layer2',
  layer2: { role: 'Primary', subnets: ['10.100.0.0/16'] },
};
export const secondary2 = {
  topology: 'Layer2',
  layer2: { role: 'Secondary', subnets: ['10.100.0.0/16'] },
};
export const network = (...parts: object[]): object =>
  cudn({ network: Object.assign({}, ...parts) as object });
export const noOverlay = {
  transport: 'NoOverlay',
  noOverlay: { outboundSNAT: 'Enabled', routing: 'Managed' },
};
export const evpn = (vrfs: object): object => ({
  transport: 'EVPN',
  evpn: { vtep: 'vtep', ...vrfs },
});
export const mac = { macVRF: { vni: 100 } };
export const ip = { ipVRF: { vni: 101 } };

export const flat = (spec: object): object => ({
  apiVersion: 'k8s.ovn.org/v1alpha1',
  kind: 'UserDefinedNetwork',
  metadata: { name: 'net', namespace: 'blue' },
  spec,
});
export const flatCluster = (template: object): object => ({
  apiVersion: 'k8s.ovn.org/v1alpha1',
  kind: 'ClusterUserDefinedNetwork',
  metadata: { name: 'green' },
  spec: { namespaceSelector: {}, template },
});
export const flat2 = { topology: 'Layer2', role: 'Primary', subnets: ['10.0.0.0/24'] };
export const flat3 = { topology: 'Layer3', role: 'Primary', subnets: ['10.20.0.0/16/24'] };

export const egress = (kind: string, spec: object, metadata: object = {}): object => ({
  apiVersion: 'k8s.ovn.org/v1',
  kind,
  metadata: { name: 'default', namespace: 'blue', ...metadata },
  spec,
});
export const firewall = (rule: object): object =>
  egress('EgressFirewall', {
    egress: [{ type: 'Deny', to: { cidrSelector: '1.2.3.0/24' }, ...rule }],
  });
export const route = (nextHops: object): object => ({
  apiVersion: 'k8s.ovn.org/v1',
  kind: 'AdminPolicyBasedExternalRoute',
  metadata: { name: 'default' },
  spec: { from: { namespaceSelector: {} }, nextHops },
});
export const nc = (spec: object): object => ({
  apiVersion: 'k8s.ovn.org/v1alpha1',
  kind: 'NetworkConnect',
  metadata: { name: 'to-red', namespace: 'blue' },
  spec: {
    network: 'net',
    peer: { namespace: 'red', network: 'net' },
    connectivity: ['PodNetwork'],
    ...spec,
  },
});
export const osn = (spec: object): object => ({
  apiVersion: 'k8s.ovn.org/v1alpha1',
  kind: 'OVNSecondaryNetwork',
  metadata: { name: 'overlay', namespace: 'blue' },
  spec,
});
