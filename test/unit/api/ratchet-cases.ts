/**
 * Updates of objects that were stored before a rule of ours existed: what an API server forgives because the update leaves it as it
 * was, and what it does not. Used against our validation and against a real API server.
 */
import { cudn, udn } from './objects.ts';

/** Said beside errors after which rules can't be asked. */
export const INCOMPLETE = 'some validation rules were not checked';

export interface RatchetCase {
  readonly title: string;
  /** Stored, and invalid today. */
  readonly old: object;
  readonly next: object;
  /** Parts of the errors, in any order; empty = accepted. */
  readonly errors: readonly string[];
  /** Fields of what is tolerated in an update that is accepted. */
  readonly tolerated?: readonly string[];
}

const labelled = (object: object, labels: object = { team: 'a' }): object => {
  const { metadata, ...rest } = object as { readonly metadata: object };
  return { ...rest, metadata: { ...metadata, labels } };
};

const subnets = (...list: object[]): object =>
  udn({ topology: 'Layer3', layer3: { role: 'Primary', subnets: list } });
const v6 = (mtu: number, ...cidrs: string[]): object =>
  udn({
    topology: 'Layer3',
    layer3: { role: 'Primary', mtu, subnets: cidrs.map((cidr) => ({ cidr })) },
  });
const overlapping = [{ cidr: '10.0.0.0/16' }, { cidr: '10.0.1.0/24' }];
const localnet = (excludeSubnets: string[], more: object = {}): object =>
  cudn({
    ...more,
    network: {
      topology: 'Localnet',
      localnet: {
        role: 'Secondary',
        physicalNetworkName: 'phys',
        ipam: { mode: 'Disabled' },
        excludeSubnets,
      },
    },
  });
const cnc = (spec: object): object => ({
  apiVersion: 'k8s.ovn.org/v1',
  kind: 'ClusterNetworkConnect',
  metadata: { name: 'connect' },
  spec: {
    networkSelectors: [
      {
        networkSelectionType: 'PrimaryUserDefinedNetworks',
        primaryUserDefinedNetworkSelector: { namespaceSelector: {} },
      },
    ],
    connectSubnets: [
      { cidr: '192.168.0.0/16', networkPrefix: 24 },
      { cidr: 'fd01::/64', networkPrefix: 96 },
    ],
    connectivity: ['PodNetwork'],
    ...spec,
  },
});
const defaultNetwork = { networkSelectionType: 'DefaultNetwork' };
const firewall = (...rules: object[]): object => ({
  apiVersion: 'k8s.ovn.org/v1',
  kind: 'EgressFirewall',
  metadata: { name: 'default', namespace: 'blue' },
  spec: { egress: rules },
});
const badPort = {
  type: 'Deny',
  ports: [{ protocol: 'TCP', port: 70000 }],
  to: { cidrSelector: '1.2.3.0/24' },
};
const goodRule = { type: 'Allow', to: { cidrSelector: '0.0.0.0/0' } };

export const ratchetCases: readonly RatchetCase[] = [
  {
    title: 'a label is added to a network whose rules are newer than it',
    old: subnets(...overlapping),
    next: labelled(subnets(...overlapping)),
    errors: [],
    tolerated: ['spec.layer3'],
  },
  {
    title: 'what a rule speaks of is changed, and still breaks it',
    old: subnets(...overlapping),
    next: subnets(...overlapping, { cidr: '10.1.0.0/16' }),
    errors: ['Subnets must not overlap or contain each other'],
  },
  {
    title: 'what a rule speaks of is mended',
    old: v6(1000, 'fd00::/48'),
    next: udn({
      topology: 'Layer3',
      layer3: { role: 'Primary', mtu: 1000, subnets: [{ cidr: '10.0.0.0/16' }] },
    }),
    errors: ['Removing existing subnets is not allowed'],
  },
  {
    title: 'a value out of bounds stays while another field changes',
    old: v6(100, '10.0.0.0/16'),
    next: v6(100, '10.0.0.0/16', '10.1.0.0/16'),
    errors: [],
    tolerated: ['spec.layer3.mtu'],
  },
  {
    title: 'a value out of bounds changes to another one',
    old: v6(100, '10.0.0.0/16'),
    next: v6(200, '10.0.0.0/16'),
    errors: ['should be greater than or equal to 576', 'mtu is immutable'],
  },
  {
    title: 'rules about the change itself hold for stored values that are invalid',
    old: udn({
      topology: 'Layer2',
      layer2: { role: 'Primary', mtu: 100, subnets: ['10.0.0.0/16'] },
    }),
    next: udn({
      topology: 'Layer2',
      layer2: { role: 'Primary', mtu: 100, subnets: ['10.1.0.0/16'] },
    }),
    errors: ['Layer2 is immutable'],
  },
  {
    title: 'the selector changes beside a network with errors',
    old: localnet(['10.0.0.0/24']),
    next: localnet(['10.0.0.0/24'], { namespaceSelector: { matchLabels: { team: 'a' } } }),
    errors: [],
    tolerated: ['spec.network.localnet'],
  },
  {
    title: 'a bad element of a list without keys stays in a list that changes',
    old: firewall(badPort),
    next: firewall(badPort, goodRule),
    errors: ['should be less than or equal to 65535'],
  },
  {
    title: 'a bad element of a list without keys stays in a list that does not change',
    old: firewall(badPort, goodRule),
    next: labelled(firewall(badPort, goodRule)),
    errors: [],
    tolerated: ['spec.egress[0].ports[0].port'],
  },
  {
    title:
      'another field of the spec changes: rules of the whole spec are asked again, others are not',
    old: cnc({ networkSelectors: [defaultNetwork] }),
    next: cnc({ networkSelectors: [defaultNetwork], connectivity: ['ServiceNetwork'] }),
    errors: [
      'Only ClusterUserDefinedNetworks or PrimaryUserDefinedNetworks can be selected',
      'For dual-stack, networkPrefix must have matching host bits',
    ],
  },
  {
    title: 'a bad element of a list with keys stays while another one comes',
    old: cnc({
      connectSubnets: [{ cidr: '192.168.0.0/16', networkPrefix: 24 }],
      networkSelectors: [{ networkSelectionType: 'PrimaryUserDefinedNetworks' }],
    }),
    next: cnc({
      connectSubnets: [{ cidr: '192.168.0.0/16', networkPrefix: 24 }],
      networkSelectors: [
        { networkSelectionType: 'PrimaryUserDefinedNetworks' },
        {
          networkSelectionType: 'ClusterUserDefinedNetworks',
          clusterUserDefinedNetworkSelector: { networkSelector: {} },
        },
      ],
    }),
    errors: [],
    tolerated: ['spec.networkSelectors[0]'],
  },
  {
    title: 'a required field is missing as before, in a map that does not change',
    old: udn({ topology: 'Layer3', layer3: { subnets: [{ cidr: '10.0.0.0/16' }] } }),
    next: labelled(udn({ topology: 'Layer3', layer3: { subnets: [{ cidr: '10.0.0.0/16' }] } })),
    errors: [],
    tolerated: ['spec.layer3.role'],
  },
  {
    title: 'a required field is missing as before, in a map that changes',
    old: udn({ topology: 'Layer3', layer3: { subnets: [{ cidr: '10.0.0.0/16' }] } }),
    next: udn({
      topology: 'Layer3',
      layer3: { subnets: [{ cidr: '10.0.0.0/16' }, { cidr: '10.1.0.0/16' }] },
    }),
    errors: ['spec.layer3.role: Required value'],
  },
  {
    title: 'a new label is wrong',
    old: subnets(...overlapping),
    next: labelled(subnets(...overlapping), { team: 'a b' }),
    errors: ['a valid label must be'],
  },
];
