/** What a tenant sends to the API server against others, with nothing but his own token. */

/** Namespaces of the attacker: on the default network, for a network of his own, and on one that he shares with another tenant. */
export const OWN = { plain: 'mallory', network: 'mallory-net', shared: 'mallory-shared' } as const;
const { plain, network, shared } = OWN;

/**
 * Who asks: `editor` has Kubernetes' role `edit` and `heddle-network-editor` in his namespaces; `more` has besides what some clusters add:
 * EndpointSlices, Endpoints, NADs, the status of IPAMClaims, and that of pods.
 */
export type Asker = 'editor' | 'more';

export interface Attempt {
  readonly kind: string;
  readonly name: string;
  readonly by: Asker;
  readonly method: string;
  readonly path: string;
  readonly body?: object;
  /** Part of what the server answers; undefined where it takes the request, which then must do nothing to others. */
  readonly refused?: string;
}

/** What others have, which attempts aim at. */
export interface Victims {
  /** Addresses of pods by `namespace/name`, on their primary network. */
  readonly address: (pod: string) => string;
  readonly mac: (pod: string) => string;
  readonly uid: (path: string) => Promise<string>;
}

export const NO_ROLE = 'no role allows it';
const ANNOTATION = {
  networks: 'k8s.v1.cni.cncf.io/networks',
  defaultNetwork: 'v1.multus-cni.io/default-network',
  podNetworks: 'k8s.ovn.org/pod-networks',
  requested: 'k8s.ovn.org/requested-primary-udn',
} as const;

export const core = (namespace: string, plural: string): string =>
  `/api/v1/namespaces/${namespace}/${plural}`;
const group =
  (prefix: string) =>
  (namespace: string, plural: string): string =>
    `/apis/${prefix}/namespaces/${namespace}/${plural}`;
export const ovn = group('k8s.ovn.org/v1');
const nads = (namespace: string): string =>
  group('k8s.cni.cncf.io/v1')(namespace, 'network-attachment-definitions');
const claims = (namespace: string): string =>
  group('k8s.cni.cncf.io/v1alpha1')(namespace, 'ipamclaims');
export const slices = (namespace: string): string =>
  group('discovery.k8s.io/v1')(namespace, 'endpointslices');
const policies = (namespace: string): string =>
  group('networking.k8s.io/v1')(namespace, 'networkpolicies');
const leases = (namespace: string): string => group('coordination.k8s.io/v1')(namespace, 'leases');
const cluster = (plural: string): string => `/apis/k8s.ovn.org/v1/${plural}`;

let made = 0;
const fresh = (): string => `try-${(made += 1)}`;

const annotated = (annotations: object): object => ({ metadata: { annotations } });
const ofKind = (apiVersion: string, kind: string, spec: object, metadata: object = {}): object => ({
  apiVersion,
  kind,
  metadata: { name: fresh(), ...metadata },
  ...spec,
});

const pod = (annotations: object, spec: object = {}): object =>
  ofKind(
    'v1',
    'Pod',
    { spec: { nodeName: 'n1', containers: [{ name: 'a', image: 'a' }], ...spec } },
    { annotations },
  );
const service = (spec: object, metadata: object = {}): object =>
  ofKind('v1', 'Service', { spec: { ports: [{ port: 80 }], ...spec } }, metadata);
const slice = (
  serviceName: string,
  endpoints: readonly object[],
  more: object = {},
  labels: object = {},
): object =>
  ofKind(
    'discovery.k8s.io/v1',
    'EndpointSlice',
    { addressType: 'IPv4', endpoints, ports: [{ port: 80, protocol: 'TCP' }], ...more },
    { labels: { 'kubernetes.io/service-name': serviceName, ...labels } },
  );
const at = (...addresses: readonly string[]): object => ({
  addresses,
  conditions: { ready: true },
});
const policy = (spec: object): object =>
  ofKind('networking.k8s.io/v1', 'NetworkPolicy', { spec: { podSelector: {}, ...spec } });
const udn = (spec: object, metadata: object = {}): object =>
  ofKind('k8s.ovn.org/v1', 'UserDefinedNetwork', { spec }, metadata);
const layer2 = (config: object): object => ({
  topology: 'Layer2',
  layer2: { role: 'Secondary', subnets: ['10.60.0.0/24'], ...config },
});
const nad = (config: string, metadata: object = {}): object =>
  ofKind('k8s.cni.cncf.io/v1', 'NetworkAttachmentDefinition', { spec: { config } }, metadata);
const claim = (networkName: string): object =>
  ofKind('k8s.cni.cncf.io/v1alpha1', 'IPAMClaim', {
    spec: { network: networkName, interface: 'net1' },
  });
const selecting = (...selections: readonly object[]): object => ({
  [ANNOTATION.networks]: JSON.stringify(selections),
});

type Line = readonly [
  name: string,
  method: string,
  path: string,
  body?: object | undefined,
  refused?: string,
];

/** All attempts, in the order in which they are made: what was taken stays, and is there when the next is tried. */
export async function attempts(victims: Victims): Promise<readonly Attempt[]> {
  const all: Attempt[] = [];
  const add = (kind: string, by: Asker, ...lines: readonly Line[]): void => {
    for (const [name, method, path, body, refused] of lines)
      all.push({
        kind,
        by,
        name,
        method,
        path,
        ...(body && { body }),
        ...(refused !== undefined && { refused }),
      });
  };
  const web = victims.address('victim/web');
  const blue = victims.address('blue/web');

  add(
    'objects of others',
    'editor',
    ['reads a pod', 'GET', `${core('victim', 'pods')}/web`, undefined, NO_ROLE],
    ['reads pods everywhere', 'GET', '/api/v1/pods', undefined, NO_ROLE],
    ['reads secrets', 'GET', core('victim', 'secrets'), undefined, NO_ROLE],
    ['deletes a pod', 'DELETE', `${core('blue', 'pods')}/web`, undefined, NO_ROLE],
    [
      'annotates a pod',
      'PATCH',
      `${core('blue', 'pods')}/web`,
      annotated({ [ANNOTATION.podNetworks]: '{}' }),
      NO_ROLE,
    ],
    [
      'writes the status of a pod',
      'PATCH',
      `${core('blue', 'pods')}/web/status`,
      annotated({ a: 'b' }),
      NO_ROLE,
    ],
    [
      'changes a service',
      'PATCH',
      `${core('victim', 'services')}/web`,
      { spec: { selector: {} } },
      NO_ROLE,
    ],
    [
      'makes an EndpointSlice',
      'POST',
      slices('victim'),
      slice('web', [at('10.244.0.99')]),
      NO_ROLE,
    ],
    ['makes a pod', 'POST', core('blue', 'pods'), pod({}), NO_ROLE],
    ['makes a network', 'POST', ovn('victim', 'userdefinednetworks'), udn(layer2({})), NO_ROLE],
    [
      'agrees to a connection for its owner',
      'POST',
      `/apis/k8s.ovn.org/v1alpha1/namespaces/victim/networkconnects`,
      ofKind('k8s.ovn.org/v1alpha1', 'NetworkConnect', {
        spec: {
          network: 'net',
          peer: { namespace: plain, network: 'net' },
          connectivity: ['PodNetwork'],
        },
      }),
      NO_ROLE,
    ],
    [
      'deletes a network',
      'DELETE',
      `${ovn('blue', 'userdefinednetworks')}/net`,
      undefined,
      NO_ROLE,
    ],
    [
      'changes a NAD',
      'PATCH',
      `${nads('blue')}/net`,
      annotated({ 'k8s.ovn.org/network-id': '1' }),
      NO_ROLE,
    ],
    ['deletes a policy', 'DELETE', `${policies('victim')}/closed`, undefined, NO_ROLE],
    [
      'gives a claim addresses',
      'PATCH',
      `${claims('blue')}/vm/status`,
      { status: { ips: [] } },
      NO_ROLE,
    ],
    [
      'says something in an event',
      'POST',
      core('victim', 'events'),
      ofKind('v1', 'Event', { message: 'x' }),
      NO_ROLE,
    ],
    [
      '… about a node',
      'POST',
      core('default', 'events'),
      ofKind('v1', 'Event', { message: 'x' }),
      NO_ROLE,
    ],
    [
      'changes cluster DNS',
      'PATCH',
      `${core('kube-system', 'services')}/kube-dns`,
      { spec: { selector: {} } },
      NO_ROLE,
    ],
    ['moves the API server', 'POST', slices('default'), slice('kubernetes', [at(web)]), NO_ROLE],
  );

  add(
    "Heddle's own objects",
    'editor',
    ['reads the settings', 'GET', core('heddle', 'configmaps'), undefined, NO_ROLE],
    [
      'makes settings',
      'POST',
      core('heddle', 'configmaps'),
      ofKind('v1', 'ConfigMap', { data: {} }),
      NO_ROLE,
    ],
    [
      "reads the webhook's key",
      'GET',
      `${core('heddle', 'secrets')}/heddle-conversion`,
      undefined,
      NO_ROLE,
    ],
    [
      "deletes the webhook's key",
      'DELETE',
      `${core('heddle', 'secrets')}/heddle-conversion`,
      undefined,
      NO_ROLE,
    ],
    [
      'makes a pod beside the daemons',
      'POST',
      core('heddle', 'pods'),
      pod({}, { serviceAccountName: 'heddle-cluster' }),
      NO_ROLE,
    ],
    [
      'asks for a token of the manager',
      'POST',
      `${core('heddle', 'serviceaccounts')}/heddle-cluster/token`,
      {},
      NO_ROLE,
    ],
    [
      'takes the lease of the manager',
      'PATCH',
      `${leases('heddle')}/heddle-cluster-manager`,
      { spec: { holderIdentity: 'x' } },
      NO_ROLE,
    ],
    [
      "deletes a node's heartbeat",
      'DELETE',
      `${leases('heddle')}/heddle-node-n1`,
      undefined,
      NO_ROLE,
    ],
    [
      'makes a ZoneStatus',
      'POST',
      '/apis/k8s.ovn.org/v1alpha1/zonestatuses',
      ofKind('k8s.ovn.org/v1alpha1', 'ZoneStatus', {}),
      NO_ROLE,
    ],
    [
      'writes a ZoneStatus',
      'PATCH',
      '/apis/k8s.ovn.org/v1alpha1/zonestatuses/n1/status',
      { status: { networks: [] } },
      NO_ROLE,
    ],
    [
      'deletes a ZoneStatus',
      'DELETE',
      '/apis/k8s.ovn.org/v1alpha1/zonestatuses/n1',
      undefined,
      NO_ROLE,
    ],
    [
      'has a lease of that name in his namespace',
      'POST',
      leases(plain),
      ofKind(
        'coordination.k8s.io/v1',
        'Lease',
        { spec: { holderIdentity: 'x', leaseDurationSeconds: 3600 } },
        { name: 'heddle-cluster-manager' },
      ),
    ],
    [
      'has a heartbeat in his namespace',
      'POST',
      leases(plain),
      ofKind(
        'coordination.k8s.io/v1',
        'Lease',
        { spec: { holderIdentity: 'x' } },
        { name: 'heddle-node-n1' },
      ),
    ],
    [
      'has settings of that name in his namespace',
      'POST',
      core(plain, 'configmaps'),
      ofKind('v1', 'ConfigMap', { data: { HEDDLE_MTU: '1' } }, { name: 'heddle-settings' }),
    ],
    [
      'has an account of that name in his namespace',
      'POST',
      core(plain, 'serviceaccounts'),
      ofKind('v1', 'ServiceAccount', {}, { name: 'heddle-cluster' }),
    ],
  );

  add(
    'objects of the cluster',
    'editor',
    [
      'makes a ClusterUserDefinedNetwork',
      'POST',
      cluster('clusteruserdefinednetworks'),
      ofKind('k8s.ovn.org/v1', 'ClusterUserDefinedNetwork', {
        spec: { namespaceSelector: {}, network: layer2({}) },
      }),
      NO_ROLE,
    ],
    [
      'widens one',
      'PATCH',
      `${cluster('clusteruserdefinednetworks')}/shared`,
      { spec: { namespaceSelector: {} } },
      NO_ROLE,
    ],
    [
      'writes the status of one',
      'PATCH',
      `${cluster('clusteruserdefinednetworks')}/shared/status`,
      { status: { conditions: [] } },
      NO_ROLE,
    ],
    [
      'connects networks',
      'POST',
      cluster('clusternetworkconnects'),
      ofKind('k8s.ovn.org/v1', 'ClusterNetworkConnect', { spec: {} }),
      NO_ROLE,
    ],
    [
      'annotates a connection',
      'PATCH',
      `${cluster('clusternetworkconnects')}/both`,
      annotated({ 'k8s.ovn.org/connect-router-tunnel-key': '1' }),
      NO_ROLE,
    ],
    [
      'annotates a node',
      'PATCH',
      '/api/v1/nodes/n1',
      annotated({ 'k8s.ovn.org/node-subnets': '{}' }),
      NO_ROLE,
    ],
    [
      'annotates it by its status',
      'PATCH',
      '/api/v1/nodes/n1/status',
      annotated({ 'k8s.ovn.org/host-cidrs': '["10.0.0.1/1"]' }),
      NO_ROLE,
    ],
    ['makes a node', 'POST', '/api/v1/nodes', ofKind('v1', 'Node', {}), NO_ROLE],
    ['makes a namespace', 'POST', '/api/v1/namespaces', ofKind('v1', 'Namespace', {}), NO_ROLE],
    [
      'labels his namespace for a network of others',
      'PATCH',
      `/api/v1/namespaces/${plain}`,
      { metadata: { labels: { tenant: 'shared' } } },
      NO_ROLE,
    ],
    [
      'annotates his namespace',
      'PATCH',
      `/api/v1/namespaces/${plain}`,
      annotated({ 'k8s.ovn.org/acl-logging': '{}' }),
      NO_ROLE,
    ],
    [
      'takes away a policy of admission',
      'DELETE',
      '/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicybindings/heddle-pod-networks-binding',
      undefined,
      NO_ROLE,
    ],
    [
      'makes a webhook',
      'POST',
      '/apis/admissionregistration.k8s.io/v1/mutatingwebhookconfigurations',
      {},
      NO_ROLE,
    ],
    [
      'changes a definition',
      'PATCH',
      '/apis/apiextensions.k8s.io/v1/customresourcedefinitions/userdefinednetworks.k8s.ovn.org',
      { spec: { preserveUnknownFields: true } },
      NO_ROLE,
    ],
    [
      'binds himself a role of the cluster',
      'POST',
      '/apis/rbac.authorization.k8s.io/v1/clusterrolebindings',
      {},
      NO_ROLE,
    ],
    [
      'binds himself a role in his namespace',
      'POST',
      `/apis/rbac.authorization.k8s.io/v1/namespaces/${plain}/rolebindings`,
      {},
      NO_ROLE,
    ],
    ['makes an EgressIP', 'POST', cluster('egressips'), {}, NO_ROLE],
    [
      'makes a network on the underlay of the nodes',
      'POST',
      group('k8s.ovn.org/v1alpha1')(plain, 'ovnsecondarynetworks'),
      ofKind(
        'k8s.ovn.org/v1alpha1',
        'OVNSecondaryNetwork',
        { spec: { subnet: '10.70.0.0/24', hasExternalConnectivity: true } },
        { name: 'underlay' },
      ),
      'only who may create ClusterUserDefinedNetworks sets it',
    ],
    [
      'makes an AdminNetworkPolicy',
      'POST',
      '/apis/policy.networking.k8s.io/v1alpha1/adminnetworkpolicies',
      {},
      NO_ROLE,
    ],
  );

  const WRITTEN = 'written by Heddle alone';
  const forged = JSON.stringify({
    default: {
      ip_addresses: [`${web}/24`],
      mac_address: victims.mac('victim/web'),
      role: 'primary',
    },
  });
  add(
    'annotations of his pods',
    'editor',
    [
      'makes a pod',
      'POST',
      core(plain, 'pods'),
      ofKind(
        'v1',
        'Pod',
        { spec: { nodeName: 'n1', containers: [{ name: 'a', image: 'a' }] } },
        { name: 'own' },
      ),
    ],
    [
      'is given the address of another pod',
      'POST',
      core(plain, 'pods'),
      pod({ [ANNOTATION.podNetworks]: forged }),
      WRITTEN,
    ],
    [
      '… later',
      'PATCH',
      `${core(plain, 'pods')}/own`,
      annotated({ [ANNOTATION.podNetworks]: forged }),
      WRITTEN,
    ],
    [
      '… takes his own away',
      'PATCH',
      `${core(plain, 'pods')}/own`,
      annotated({ [ANNOTATION.podNetworks]: null }),
      WRITTEN,
    ],
    [
      'is put onto a network',
      'POST',
      core(plain, 'pods'),
      pod({ 'k8s.ovn.org/selected-primary-udn': 'blue/net' }),
      'by the cluster-manager',
    ],
    [
      'has been asked for',
      'POST',
      core(network, 'pods'),
      pod({ 'k8s.ovn.org/requested-primary-udn-at-creation': 'blue/net' }),
      'by the cluster-manager',
    ],
    [
      'asks for the primary network of another',
      'POST',
      core(network, 'pods'),
      pod({ [ANNOTATION.requested]: 'blue/net' }),
    ],
    [
      'asks later',
      'PATCH',
      `${core(plain, 'pods')}/own`,
      annotated({ [ANNOTATION.requested]: 'net' }),
      'cannot be changed',
    ],
    [
      'changes the addresses that he asked for',
      'PATCH',
      `${core(plain, 'pods')}/own`,
      annotated({ [ANNOTATION.defaultNetwork]: '[]' }),
      'cannot be changed',
    ],
    [
      'asks for a NAD of another namespace',
      'POST',
      core(plain, 'pods'),
      pod({ [ANNOTATION.networks]: 'blue/flat' }),
    ],
    [
      '… by a list',
      'POST',
      core(plain, 'pods'),
      pod(selecting({ name: 'flat', namespace: 'blue', ips: ['10.21.0.9/24'] })),
    ],
    [
      '… with its claim',
      'POST',
      core(plain, 'pods'),
      pod(selecting({ name: 'flat', namespace: 'blue', 'ipam-claim-reference': 'vm' })),
    ],
    [
      'asks for the primary network of another as a secondary one',
      'POST',
      core(plain, 'pods'),
      pod({ [ANNOTATION.networks]: 'blue/net' }),
    ],
    [
      'asks for the shared network from a namespace without it',
      'POST',
      core(plain, 'pods'),
      pod({ [ANNOTATION.networks]: 'shared-a/shared' }),
    ],
    [
      'asks for the address of another pod',
      'POST',
      core(plain, 'pods'),
      pod({
        [ANNOTATION.defaultNetwork]: JSON.stringify([
          {
            name: 'default',
            namespace: 'ovn-kubernetes',
            ips: [`${web}/24`],
            mac: victims.mac('victim/web'),
          },
        ]),
      }),
    ],
    [
      '… of the gateway',
      'POST',
      core(plain, 'pods'),
      pod({
        [ANNOTATION.defaultNetwork]: JSON.stringify([
          { name: 'default', namespace: 'ovn-kubernetes', ips: ['10.244.0.1/24'] },
        ]),
      }),
    ],
    [
      '… on the shared network',
      'POST',
      core(shared, 'pods'),
      pod({
        [ANNOTATION.defaultNetwork]: JSON.stringify([
          { name: 'shared', namespace: shared, ips: [`${victims.address('shared-a/web')}/24`] },
        ]),
      }),
    ],
    [
      'forges what the plugin reported',
      'POST',
      core(plain, 'pods'),
      pod({
        'k8s.v1.cni.cncf.io/network-status': JSON.stringify([
          { name: 'blue/net', ips: [blue], default: true },
        ]),
      }),
    ],
    [
      'opens ports that are none',
      'POST',
      core(network, 'pods'),
      pod({ 'k8s.ovn.org/open-default-ports': '- protocol: "tcp || ip4"\n  port: 1e9\n' }),
    ],
    [
      'has a bandwidth that is none',
      'POST',
      core(plain, 'pods'),
      pod({ 'kubernetes.io/ingress-bandwidth': '1e400', 'kubernetes.io/egress-bandwidth': '-1' }),
    ],
    [
      'has annotations of 200 kB',
      'POST',
      core(plain, 'pods'),
      pod({ [ANNOTATION.networks]: `[${'{"name":"x"},'.repeat(15_000)}{}]` }),
    ],
    [
      'has names that end texts',
      'POST',
      core(plain, 'pods'),
      pod({ [ANNOTATION.networks]: '[{"name":"x\\u001b[2J\\n\\u202e","namespace":"\\" || 1"}]' }),
    ],
  );

  add(
    'his pods',
    'editor',
    [
      'binds a pod',
      'POST',
      `${core(plain, 'pods')}/own/binding`,
      ofKind('v1', 'Binding', { target: { kind: 'Node', name: 'n1' } }),
      NO_ROLE,
    ],
    [
      'writes a status',
      'PATCH',
      `${core(plain, 'pods')}/own/status`,
      { status: { podIP: web } },
      NO_ROLE,
    ],
    [
      'puts a pod onto the network of the host',
      'POST',
      core(plain, 'pods'),
      pod({}, { hostNetwork: true }),
    ],
    [
      '… of a namespace with a network',
      'POST',
      core(network, 'pods'),
      pod(selecting({ name: 'flat', namespace: 'blue' }), { hostNetwork: true }),
    ],
    [
      'puts a pod onto a node that is none',
      'POST',
      core(plain, 'pods'),
      pod({}, { nodeName: 'n9"; drop' }),
    ],
    [
      'has a pod whose namespace is said twice',
      'POST',
      core(plain, 'pods'),
      { ...pod({}), metadata: { name: fresh(), namespace: 'victim' } },
      'does not match',
    ],
    [
      'has the name of a pod of others',
      'POST',
      core(plain, 'pods'),
      ofKind('v1', 'Pod', { spec: { nodeName: 'n1', containers: [] } }, { name: 'web' }),
    ],
    [
      'generates names',
      'POST',
      core(plain, 'pods'),
      ofKind(
        'v1',
        'Pod',
        { spec: { nodeName: 'n1', containers: [] } },
        { name: undefined, generateName: 'web-' },
      ),
    ],
    [
      'owns a pod of others',
      'POST',
      core(plain, 'pods'),
      ofKind(
        'v1',
        'Pod',
        { spec: { nodeName: 'n1', containers: [] } },
        {
          ownerReferences: [
            {
              apiVersion: 'v1',
              kind: 'Pod',
              name: 'web',
              uid: await victims.uid(`${core('victim', 'pods')}/web`),
              controller: true,
              blockOwnerDeletion: true,
            },
          ],
        },
      ),
    ],
    [
      'keeps a pod from its end',
      'POST',
      core(plain, 'pods'),
      ofKind(
        'v1',
        'Pod',
        { spec: { nodeName: 'n1', containers: [] } },
        { name: 'stays', finalizers: ['mallory.example/stays'] },
      ),
    ],
    ['… and deletes it', 'DELETE', `${core(plain, 'pods')}/stays`],
    [
      'adds a container for its network',
      'PATCH',
      `${core(plain, 'pods')}/own/ephemeralcontainers`,
      { spec: { ephemeralContainers: [] } },
      NO_ROLE,
    ],
  );
  add(
    'his pods',
    'more',
    [
      'has a pod with the address of another',
      'PATCH',
      `${core(plain, 'pods')}/own/status`,
      { status: { phase: 'Running', podIP: web, podIPs: [{ ip: web }], hostIP: '172.18.0.10' } },
    ],
    [
      '… of a node',
      'PATCH',
      `${core(plain, 'pods')}/own/status`,
      { status: { podIP: '172.18.0.11', podIPs: [{ ip: '172.18.0.11' }] } },
    ],
    [
      'is given networks by way of the status',
      'PATCH',
      `${core(plain, 'pods')}/own/status`,
      annotated({ [ANNOTATION.podNetworks]: forged }),
      WRITTEN,
    ],
    [
      'says that a pod has ended, which runs',
      'PATCH',
      `${core(plain, 'pods')}/own/status`,
      { status: { phase: 'Succeeded' } },
    ],
  );

  const EXTERNAL = 'takes what the whole cluster sends';
  add(
    'services',
    'editor',
    [
      'takes cluster DNS',
      'POST',
      core(plain, 'services'),
      service({ externalIPs: ['10.96.0.10'] }),
      EXTERNAL,
    ],
    [
      "takes a node's port",
      'POST',
      core(plain, 'services'),
      service({ externalIPs: ['172.18.0.11'], ports: [{ port: 6443 }] }),
      EXTERNAL,
    ],
    [
      'takes an address outside',
      'POST',
      core(plain, 'services'),
      service({ externalIPs: ['1.1.1.1'] }),
      EXTERNAL,
    ],
    [
      'gives himself a balanced address',
      'POST',
      core(plain, 'services'),
      {
        ...service({ type: 'LoadBalancer' }, { name: 'balanced' }),
        status: { loadBalancer: { ingress: [{ ip: '10.96.0.10' }] } },
      },
    ],
    [
      '… by its status',
      'PATCH',
      `${core(plain, 'services')}/balanced/status`,
      { status: { loadBalancer: { ingress: [{ ip: '10.96.0.10' }] } } },
      NO_ROLE,
    ],
    [
      'names a balanced address',
      'POST',
      core(plain, 'services'),
      service({ type: 'LoadBalancer', loadBalancerIP: '10.96.0.10' }),
    ],
    [
      'has the cluster IP of another',
      'POST',
      core(plain, 'services'),
      service({ clusterIP: '10.96.0.10', clusterIPs: ['10.96.0.10'] }),
    ],
    [
      '… second',
      'POST',
      core(plain, 'services'),
      service({ clusterIP: '10.96.77.1', clusterIPs: ['10.96.77.1', '10.96.0.10'] }),
    ],
    [
      'has the address of a pod as its cluster IP',
      'POST',
      core(plain, 'services'),
      service({ clusterIP: web, clusterIPs: [web] }),
    ],
    [
      '… of a node',
      'POST',
      core(plain, 'services'),
      service({ clusterIP: '172.18.0.11', clusterIPs: ['172.18.0.11'], ports: [{ port: 6443 }] }),
    ],
    [
      '… of metadata services',
      'POST',
      core(plain, 'services'),
      service({ clusterIP: '169.254.169.254', clusterIPs: ['169.254.169.254'] }),
    ],
    [
      'has the node port of another',
      'POST',
      core(plain, 'services'),
      service({ type: 'NodePort', ports: [{ port: 80, nodePort: 30_080 }] }),
    ],
    [
      'has the port of the kubelet as node port',
      'POST',
      core(plain, 'services'),
      service({ type: 'NodePort', ports: [{ port: 80, nodePort: 10_250 }] }),
    ],
    [
      'has the health check port of another',
      'POST',
      core(plain, 'services'),
      service({
        type: 'LoadBalancer',
        externalTrafficPolicy: 'Local',
        healthCheckNodePort: 30_081,
      }),
    ],
    [
      'has ports that are none',
      'POST',
      core(plain, 'services'),
      service({ ports: [{ port: 0 }, { port: 70_000 }, { port: 80, protocol: 'tcp || ip4' }] }),
    ],
    [
      'has 5,000 ports',
      'POST',
      core(plain, 'services'),
      service({ ports: Array.from({ length: 5000 }, (_, n) => ({ name: `p${n}`, port: n + 1 })) }),
    ],
    ['is called kubernetes', 'POST', core(plain, 'services'), service({}, { name: 'kubernetes' })],
    [
      'is called as that of another tenant',
      'POST',
      core(plain, 'services'),
      service({}, { name: 'web' }),
    ],
    ['has no selector', 'POST', core(plain, 'services'), service({}, { name: 'any' })],
    ['… on a network of its own', 'POST', core(network, 'services'), service({}, { name: 'any' })],
    ['… on the shared network', 'POST', core(shared, 'services'), service({}, { name: 'any' })],
  );

  const TARGETS: readonly (readonly [string, string])[] = [
    ["another tenant's pod", web],
    ["a pod of another tenant's network", blue],
    ['a pod of the shared network', victims.address('shared-a/web')],
    ['cluster DNS', '10.96.0.10'],
    ['the API server', '172.18.0.10'],
    ['his node', '172.18.0.11'],
    ['another node', '172.18.0.12'],
    ['the gateway of the pods', '10.244.0.1'],
    ['the port of the host', '10.244.0.2'],
    ['the join network', '100.64.0.2'],
    ['the transit network', '100.88.0.2'],
    ['the join network of primary networks', '100.65.0.2'],
    ['the masquerade addresses', '169.254.0.1'],
    ['metadata services', '169.254.169.254'],
    ['loopback', '127.0.0.1'],
    ['multicast', '224.0.0.1'],
    ['nothing', '0.0.0.0'],
  ];
  for (const namespace of [plain, network, shared])
    add(
      'endpoints of services',
      'more',
      ...TARGETS.map(([what, address]): Line => [
        `leads to ${what} (${namespace})`,
        'POST',
        slices(namespace),
        slice('any', [at(address)]),
      ]),
    );
  add('endpoints of services', 'editor', [
    'writes an EndpointSlice with the role edit',
    'POST',
    slices(plain),
    slice('any', [at(web)]),
    NO_ROLE,
  ]);
  add(
    'endpoints of services',
    'more',
    [
      'says that it is a mirror',
      'POST',
      slices(network),
      slice(
        'any',
        [at(blue)],
        {},
        {
          'endpointslice.kubernetes.io/managed-by': 'endpointslice-mirror-controller.k8s.ovn.org',
          'k8s.ovn.org/service-name': 'any',
          'k8s.ovn.org/endpointslice-network': 'blue_net',
        },
      ),
    ],
    [
      'is for a pod of others',
      'POST',
      slices(network),
      slice(
        'any',
        [
          {
            ...at(web),
            nodeName: 'n2',
            targetRef: { kind: 'Pod', namespace: 'victim', name: 'web' },
          },
        ],
        {},
        { 'endpointslice.kubernetes.io/managed-by': 'endpointslice-controller.k8s.io' },
      ),
    ],
    [
      'has names as addresses',
      'POST',
      slices(plain),
      slice('any', [at('kube-dns.kube-system.svc')], { addressType: 'FQDN' }),
    ],
    [
      'has texts as addresses',
      'POST',
      slices(plain),
      slice('any', [at('10.0.0.1; drop', '::ffff:10.244.0.3')]),
    ],
    [
      'has ports that are none',
      'POST',
      slices(plain),
      slice('any', [at('10.244.0.9')], { ports: [{ port: -1 }, { port: 99_999 }, {}] }),
    ],
    [
      'has 1,000 endpoints',
      'POST',
      slices(plain),
      slice(
        'any',
        Array.from({ length: 1000 }, (_, n) => at(`10.244.${n >> 8}.${n & 255}`)),
      ),
    ],
    [
      'writes Endpoints',
      'POST',
      core(plain, 'endpoints'),
      ofKind(
        'v1',
        'Endpoints',
        { subsets: [{ addresses: [{ ip: web }], ports: [{ port: 80 }] }] },
        { name: 'any' },
      ),
    ],
  );

  const EVERYBODY = { from: [{ namespaceSelector: {} }] };
  add(
    'policies',
    'editor',
    ['admits everybody', 'POST', policies(plain), policy({ ingress: [EVERYBODY] })],
    [
      'sends to everybody',
      'POST',
      policies(plain),
      policy({
        policyTypes: ['Egress'],
        egress: [{ to: [{ namespaceSelector: {}, podSelector: {} }] }],
      }),
    ],
    ['closes himself', 'POST', policies(plain), policy({ policyTypes: ['Ingress', 'Egress'] })],
    [
      '… on the shared network',
      'POST',
      policies(shared),
      policy({ policyTypes: ['Ingress', 'Egress'] }),
    ],
    [
      'has 200 exceptions',
      'POST',
      policies(plain),
      policy({
        ingress: [
          {
            from: [
              {
                ipBlock: {
                  cidr: '0.0.0.0/0',
                  except: Array.from({ length: 200 }, (_, n) => `10.${n}.7.0/24`),
                },
              },
            ],
          },
        ],
      }),
    ],
    [
      'has blocks that are none',
      'POST',
      policies(plain),
      policy({ ingress: [{ from: [{ ipBlock: { cidr: '10.0.0.0/8 || 1', except: ['x'] } }] }] }),
    ],
    [
      'has 5,000 blocks',
      'POST',
      policies(plain),
      policy({
        ingress: [
          {
            from: Array.from({ length: 5000 }, (_, n) => ({
              ipBlock: { cidr: `11.${n >> 8}.${n & 255}.0/24` },
            })),
          },
        ],
      }),
    ],
    [
      'has ports from 9 to 1',
      'POST',
      policies(plain),
      policy({
        ingress: [{ ports: [{ port: 9, endPort: 1 }, { port: 'a || b' }, { protocol: 'X' }] }],
      }),
    ],
    [
      'selects by labels that no object can have',
      'POST',
      policies(plain),
      policy({ podSelector: { matchExpressions: [{ key: '', operator: 'Like', values: ['"'] }] } }),
    ],
    [
      'has the name of that of others',
      'POST',
      policies(plain),
      ofKind(
        'networking.k8s.io/v1',
        'NetworkPolicy',
        { spec: { podSelector: {} } },
        { name: 'closed' },
      ),
    ],
  );

  const UDNS = ovn(network, 'userdefinednetworks');
  add(
    'networks of his own',
    'editor',
    [
      'has the subnets of another tenant',
      'POST',
      UDNS,
      ofKind(
        'k8s.ovn.org/v1',
        'UserDefinedNetwork',
        {
          spec: {
            topology: 'Layer3',
            layer3: { role: 'Primary', subnets: [{ cidr: '10.20.0.0/16', hostSubnet: 24 }] },
          },
        },
        { name: 'net' },
      ),
    ],
    ['has a pod there', 'POST', core(network, 'pods'), pod({})],
    [
      '… that asks for the address of another',
      'POST',
      core(network, 'pods'),
      pod({
        [ANNOTATION.defaultNetwork]: JSON.stringify([
          { name: 'net', namespace: network, ips: [`${blue}/24`] },
        ]),
      }),
    ],
    [
      'has the subnets of the default network',
      'POST',
      UDNS,
      udn(layer2({ subnets: ['10.244.0.0/16'] })),
    ],
    ['… of services', 'POST', UDNS, udn(layer2({ subnets: ['10.96.0.0/16'] }))],
    ['… of the join network', 'POST', UDNS, udn(layer2({ subnets: ['100.64.0.0/16'] }))],
    ['… of the nodes', 'POST', UDNS, udn(layer2({ subnets: ['172.18.0.0/16'] }))],
    ['… of masquerade addresses', 'POST', UDNS, udn(layer2({ subnets: ['169.254.0.0/17'] }))],
    [
      'withholds nearly all of a /8',
      'POST',
      UDNS,
      udn({
        topology: 'Layer2',
        layer2: {
          role: 'Primary',
          subnets: ['11.0.0.0/8'],
          reservedSubnets: ['11.0.0.0/9', '11.128.0.0/10'],
        },
      }),
    ],
    [
      'is secondary on the join network of others',
      'POST',
      ovn(plain, 'userdefinednetworks'),
      udn({
        topology: 'Layer3',
        layer3: {
          role: 'Secondary',
          subnets: [{ cidr: '10.64.0.0/16' }],
          joinSubnets: ['100.64.0.0/16'],
        },
      }),
      'Invalid',
    ],
    [
      'has an MTU of 1',
      'POST',
      ovn(plain, 'userdefinednetworks'),
      udn(layer2({ mtu: 1 })),
      'Invalid',
    ],
    [
      'has an id of others',
      'POST',
      ovn(plain, 'userdefinednetworks'),
      udn(layer2({}), {
        annotations: { 'k8s.ovn.org/network-id': '0', 'k8s.ovn.org/tunnel-keys': '[1]' },
      }),
    ],
    [
      'has the uid of others as its owner',
      'POST',
      ovn(plain, 'userdefinednetworks'),
      udn(layer2({}), {
        ownerReferences: [
          {
            apiVersion: 'k8s.ovn.org/v1',
            kind: 'UserDefinedNetwork',
            name: 'net',
            uid: await victims.uid(`${ovn('blue', 'userdefinednetworks')}/net`),
            controller: true,
            blockOwnerDeletion: true,
          },
        ],
      }),
    ],
    [
      'says that it is created',
      'POST',
      ovn(plain, 'userdefinednetworks'),
      {
        ...udn(layer2({}), { name: 'said' }),
        status: {
          conditions: [
            {
              type: 'NetworkCreated',
              status: 'True',
              reason: 'x',
              message: 'x',
              lastTransitionTime: '2026-01-01T00:00:00Z',
            },
          ],
        },
      },
    ],
    [
      '… by its status',
      'PATCH',
      `${ovn(plain, 'userdefinednetworks')}/said/status`,
      { status: {} },
      NO_ROLE,
    ],
    [
      'changes what does not change',
      'PATCH',
      `${ovn(plain, 'userdefinednetworks')}/said`,
      { spec: layer2({ subnets: ['10.20.0.0/16'] }) },
      'immutable',
    ],
    [
      'keeps it from its end',
      'PATCH',
      `${ovn(plain, 'userdefinednetworks')}/said`,
      { metadata: { finalizers: ['mallory.example/stays'] } },
    ],
    ['… and deletes it', 'DELETE', `${ovn(plain, 'userdefinednetworks')}/said`],
    ['takes off the finalizer of Heddle', 'PATCH', `${UDNS}/net`, { metadata: { finalizers: [] } }],
    [
      'has another version',
      'POST',
      `/apis/k8s.ovn.org/v1alpha1/namespaces/${plain}/userdefinednetworks`,
      {},
      '',
    ],
  );

  const OURS = 'declare a UserDefinedNetwork instead';
  const joining =
    '"name":"blue_net","topology":"layer3","netAttachDefName":"blue/net","subnets":"10.20.0.0/16"';
  add('NADs', 'editor', [
    'makes one with the role edit',
    'POST',
    nads(plain),
    nad('{"type":"macvlan"}'),
    NO_ROLE,
  ]);
  add(
    'NADs',
    'more',
    [
      'joins a network of others',
      'POST',
      nads(plain),
      nad(`{"type":"ovn-k8s-cni-overlay",${joining}}`),
      OURS,
    ],
    ['… by the older type', 'POST', nads(plain), nad(`{"type":"ovn-kubernetes",${joining}}`), OURS],
    [
      "… by the plugin's own name",
      'POST',
      nads(plain),
      nad(`{"type":"heddle-cni",${joining}}`),
      OURS,
    ],
    [
      '… with escapes',
      'POST',
      nads(plain),
      nad(`{"\\u0074ype":"\\u006fvn-k8s-cni-overlay",${joining}}`),
      OURS,
    ],
    [
      '… in a list',
      'POST',
      nads(plain),
      nad(
        `{"name":"blue_net","plugins":[{"type":"tuning"},{"type":"ovn-k8s-cni-overlay",${joining}}]}`,
      ),
      OURS,
    ],
    [
      '… with a key twice',
      'POST',
      nads(plain),
      nad(`{"type":"macvlan","type":"ovn-k8s-cni-overlay",${joining}}`),
      OURS,
    ],
    [
      '… behind another plugin',
      'POST',
      nads(plain),
      nad(`{"type":"multus","delegates":[{"type":"ovn-k8s-cni-overlay",${joining}}]}`),
      OURS,
    ],
    [
      '… with white space and capitals',
      'POST',
      nads(plain),
      nad(`\n{\t"type" : "ovn-k8s-cni-overlay" ,${joining}}`),
      OURS,
    ],
    [
      'has an id of others',
      'POST',
      nads(plain),
      nad('{"type":"macvlan"}', { annotations: { 'k8s.ovn.org/network-id': '1' } }),
      'by the cluster manager alone',
    ],
    [
      'has the name of the NAD of a network to come',
      'POST',
      nads(plain),
      nad('{"type":"macvlan"}', { name: 'coming' }),
    ],
    [
      '… which then comes',
      'POST',
      ovn(plain, 'userdefinednetworks'),
      udn(layer2({}), { name: 'coming' }),
    ],
    [
      'has other types by that name',
      'POST',
      nads(plain),
      nad(`{"type":"OVN-K8S-CNI-OVERLAY",${joining}}`),
    ],
    [
      'is owned by a network of others',
      'POST',
      nads(plain),
      nad('{"type":"macvlan"}', {
        ownerReferences: [
          {
            apiVersion: 'k8s.ovn.org/v1',
            kind: 'ClusterUserDefinedNetwork',
            name: 'shared',
            uid: await victims.uid(`${cluster('clusteruserdefinednetworks')}/shared`),
            controller: true,
            blockOwnerDeletion: true,
          },
        ],
      }),
    ],
    [
      'changes that of the shared network',
      'PATCH',
      `${nads(shared)}/shared`,
      { spec: { config: `{"type":"ovn-k8s-cni-overlay",${joining}}` } },
      OURS,
    ],
    [
      '… to another plugin',
      'PATCH',
      `${nads(shared)}/shared`,
      { spec: { config: '{"type":"macvlan"}' } },
      OURS,
    ],
    [
      '… its id',
      'PATCH',
      `${nads(shared)}/shared`,
      annotated({ 'k8s.ovn.org/network-id': '77' }),
      'by the cluster manager alone',
    ],
    ['… its owner', 'PATCH', `${nads(shared)}/shared`, { metadata: { ownerReferences: [] } }, OURS],
    [
      'takes off the finalizer of Heddle',
      'PATCH',
      `${nads(shared)}/shared`,
      { metadata: { finalizers: [] } },
    ],
    [
      'keeps it from its end',
      'PATCH',
      `${nads(shared)}/shared`,
      { metadata: { finalizers: ['mallory.example/stays'] } },
    ],
    ['deletes it', 'DELETE', `${nads(shared)}/shared`],
    ['deletes that of his own network', 'DELETE', `${nads(network)}/net`],
  );

  add(
    'claims of addresses',
    'more',
    [
      "is for another tenant's network",
      'POST',
      claims(plain),
      ofKind(
        'k8s.cni.cncf.io/v1alpha1',
        'IPAMClaim',
        { spec: { network: 'blue_flat', interface: 'net1' } },
        { name: 'all' },
      ),
    ],
    [
      '… and holds all of it',
      'PATCH',
      `${claims(plain)}/all/status`,
      { status: { ips: Array.from({ length: 250 }, (_, n) => `10.21.0.${n + 2}/24`) } },
    ],
    [
      '… and its only address',
      'PATCH',
      `${claims(plain)}/all/status`,
      { status: { ips: ['10.21.0.2/24'], ownerPod: { name: 'vm' } } },
    ],
    ['is for the shared network', 'POST', claims(shared), claim('cluster_udn_shared')],
    ['is for the default network', 'POST', claims(plain), claim('default')],
    ['is for no network', 'POST', claims(plain), claim('x" || "')],
  );

  add(
    'events',
    'editor',
    [
      'says something of an object of others in his namespace',
      'POST',
      core(plain, 'events'),
      ofKind('v1', 'Event', {
        message: 'refused',
        reason: 'Refused',
        involvedObject: { kind: 'Service', namespace: 'victim', name: 'web' },
      }),
    ],
    ['takes all events of his namespace away', 'DELETE', core(plain, 'events'), undefined],
  );
  return all;
}
