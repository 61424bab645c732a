import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { definitions } from '../../../src/api/validation/catalog.ts';
import { namespace, node, pod } from '../../support/cluster/cluster.ts';
import { startKubeApi, type KubeApi } from '../../support/cluster/kube-api.ts';
import { MANAGER_ACCOUNT, NODE_ACCOUNT } from '../../../src/lab/kubernetes/deployment.ts';
import { installRules } from '../../support/cluster/permissions.ts';

const started = await startKubeApi();
if (typeof started === 'string')
  console.warn(`the admission policies of deploy/ are not tested on a server: ${started}`);

const NODE = `${NODE_ACCOUNT}@n1`;
const KUBELET = 'system:node:n1';
const TENANT = 'system:serviceaccount:blue:anna';
/** Who gives services of the namespace their ingress addresses. */
const BALANCER = 'system:serviceaccount:blue:balancer';
const ADMIN = 'admin';

const NODES = '/api/v1/nodes';
const PODS = '/api/v1/namespaces/blue/pods';
const SERVICES = '/api/v1/namespaces/blue/services';
const ZONES = '/apis/k8s.ovn.org/v1alpha1/zonestatuses';
const LEASES = '/apis/coordination.k8s.io/v1/namespaces/heddle/leases';
const NADS = '/apis/k8s.cni.cncf.io/v1/namespaces/blue/network-attachment-definitions';

const SECONDARIES = '/apis/k8s.ovn.org/v1alpha1/namespaces/blue/ovnsecondarynetworks';

const secondary = (name: string, hasExternalConnectivity: boolean): object => ({
  apiVersion: 'k8s.ovn.org/v1alpha1',
  kind: 'OVNSecondaryNetwork',
  metadata: { name },
  spec: { subnet: '10.70.0.0/24', hasExternalConnectivity },
});
const annotations = (values: Record<string, string | null>): object => ({
  metadata: {
    annotations: Object.fromEntries(
      Object.entries(values).map(([key, value]) => [
        key.includes('/') ? key : `k8s.ovn.org/${key}`,
        value,
      ]),
    ),
  },
});
const labels = (values: Record<string, string>): object => ({ metadata: { labels: values } });

/** What a daemon with --ovs says of its node (docs/host.md). */
const FACTS = {
  'node-chassis-id': 'a',
  'node-encap-ips': '["172.18.0.11"]',
  'node-primary-ifaddr': '{"ipv4":"172.18.0.11/16"}',
  'host-cidrs': '["172.18.0.11/16"]',
  'l3-gateway-config': '{}',
  'node-masquerade-subnet': '{"ipv4":"169.254.0.0/17"}',
  'layer2-topology-version': '2.0',
  'bridge-egress-ips': '["172.18.0.200"]',
  'secondary-host-egress-ips': '["10.9.0.200"]',
};
const GIVEN = {
  'node-subnets': '{"default":["10.128.0.0/23"]}',
  'node-id': '2',
  'node-transit-switch-port-ifaddr': '{"ipv4":"100.88.0.2/16"}',
  'masquerade-numbers': '{}',
};
const ATTACHED = {
  'pod-networks': '{}',
  'k8s.v1.cni.cncf.io/network-status': '[]',
};

/** Roles of a real cluster that ours does not have: of kubelets, and of the editor of a namespace. */
const foreignRoles = [
  {
    name: 'kubelets',
    rules: [
      {
        apiGroups: [''],
        resources: ['nodes', 'nodes/status', 'pods/status'],
        verbs: ['get', 'patch'],
      },
    ],
    user: { kind: 'User', name: KUBELET, apiGroup: 'rbac.authorization.k8s.io' },
  },
  {
    name: 'editors',
    rules: [
      { apiGroups: [''], resources: ['pods', 'pods/status'], verbs: ['get', 'create', 'patch'] },
      { apiGroups: [''], resources: ['services'], verbs: ['get', 'create', 'patch'] },
      {
        apiGroups: ['k8s.cni.cncf.io'],
        resources: ['network-attachment-definitions'],
        verbs: ['create'],
      },
      { apiGroups: ['k8s.ovn.org'], resources: ['ovnsecondarynetworks'], verbs: ['create'] },
    ],
    user: { kind: 'ServiceAccount', name: 'anna', namespace: 'blue' },
  },
  {
    name: 'load-balancers',
    rules: [
      { apiGroups: [''], resources: ['services'], verbs: ['get', 'create', 'patch'] },
      { apiGroups: [''], resources: ['services/status'], verbs: ['update'] },
    ],
    user: { kind: 'ServiceAccount', name: 'balancer', namespace: 'blue' },
  },
];

describe.skipIf(typeof started === 'string')('an API server with deploy/ installed', () => {
  const api = started as KubeApi;

  beforeAll(async () => {
    const make = async (path: string, object: object): Promise<void> =>
      expect((await api.call('POST', path, object)).status).toBe(201);
    await api.install(definitions);
    for (const { name, rules, user } of foreignRoles) {
      const roles = '/apis/rbac.authorization.k8s.io/v1';
      await make(`${roles}/clusterroles`, { metadata: { name }, rules });
      await make(`${roles}/clusterrolebindings`, {
        metadata: { name },
        roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name },
        subjects: [user],
      });
    }
    await make('/api/v1/namespaces', namespace('blue'));
    for (const name of ['n1', 'n2']) await make(NODES, node(name));
    for (const [name, on] of [
      ['here', 'n1'],
      ['there', 'n2'],
    ] as const) {
      const object = pod(`blue/${name}`, on);
      await make(PODS, { ...object, spec: { ...object.spec, containers: [] } });
    }
    await make(SERVICES, serviceWith({ name: 'given' }, ['198.51.100.9']));
    await installRules(api);
    const asking = pod('blue/asking', 'n1', { 'k8s.ovn.org/requested-primary-udn': 'net' });
    await make(PODS, { ...asking, spec: { ...asking.spec, containers: [] } });
  });
  afterAll(() => api[Symbol.asyncDispose]());

  const ADMITTED = '';
  const FORBIDDEN = 'no role allows it';
  const NOT_OWN = 'may only write about that node and its pods';
  const NOT_STATUS = 'not their status';
  const NOT_LABELS = 'not their labels, finalizers and owners';
  /** More than one policy refuses it; the server names one of them. */
  const TWICE = 'denied request';

  test.each<[string, string, string, string, object, string]>([
    // What a node's daemon does.
    ['says all of its node', NODE, 'PATCH', `${NODES}/n1/status`, annotations(FACTS), ADMITTED],
    ['says it again', NODE, 'PATCH', `${NODES}/n1/status`, annotations(FACTS), ADMITTED],
    [
      'takes back an annotation',
      NODE,
      'PATCH',
      `${NODES}/n1/status`,
      annotations({ 'l3-gateway-config': null }),
      ADMITTED,
    ],
    [
      'gives a pod of its node its networks',
      NODE,
      'PATCH',
      `${PODS}/here/status`,
      annotations(ATTACHED),
      ADMITTED,
    ],
    ['makes the status of its zone', NODE, 'POST', ZONES, zone('n1'), ADMITTED],
    [
      'writes the status of its zone',
      NODE,
      'PATCH',
      `${ZONES}/n1/status`,
      { status: { observedAt: '2026-01-01T00:00:00Z', networks: [], problems: [] } },
      ADMITTED,
    ],
    ['says that it is there', NODE, 'POST', LEASES, lease('heddle-node-n1'), ADMITTED],
    [
      'says so again',
      NODE,
      'PATCH',
      `${LEASES}/heddle-node-n1`,
      { spec: { holderIdentity: 'b' } },
      ADMITTED,
    ],
    // What it may not.
    ['says that another one is there', NODE, 'POST', LEASES, lease('heddle-node-n2'), NOT_OWN],
    ['leads the managers', NODE, 'POST', LEASES, lease('heddle-cluster-manager'), NOT_OWN],
    ['deletes its heartbeat', NODE, 'DELETE', `${LEASES}/heddle-node-n1`, {}, FORBIDDEN],
    [
      'says something of another node',
      NODE,
      'PATCH',
      `${NODES}/n2/status`,
      annotations(FACTS),
      NOT_OWN,
    ],
    ['… of a pod there', NODE, 'PATCH', `${PODS}/there/status`, annotations(ATTACHED), NOT_OWN],
    ['… of its zone', NODE, 'POST', ZONES, zone('n2'), NOT_OWN],
    [
      'has a token that is not bound to a pod',
      NODE_ACCOUNT,
      'PATCH',
      `${NODES}/n1/status`,
      annotations(FACTS),
      NOT_OWN,
    ],
    ['writes past the status', NODE, 'PATCH', `${NODES}/n1`, annotations(FACTS), FORBIDDEN],
    [
      'reports a condition',
      NODE,
      'PATCH',
      `${NODES}/n1/status`,
      { status: { conditions: [{ type: 'Ready', status: 'False' }] } },
      NOT_STATUS,
    ],
    ['labels its node', NODE, 'PATCH', `${NODES}/n1/status`, labels({ a: 'b' }), NOT_LABELS],
    ['gives itself subnets', NODE, 'PATCH', `${NODES}/n1/status`, annotations(GIVEN), TWICE],
    [
      'becomes another machine',
      NODE,
      'PATCH',
      `${NODES}/n1/status`,
      annotations({ 'node-chassis-id': 'b' }),
      'node-chassis-id of a node does not change once it is set',
    ],
    [
      'chooses the primary network of a pod',
      NODE,
      'PATCH',
      `${PODS}/here/status`,
      annotations({ 'selected-primary-udn': 'blue/net' }),
      TWICE,
    ],
    ['reads a secret', NODE, 'GET', '/api/v1/namespaces/heddle/secrets/x', {}, FORBIDDEN],
    // The cluster manager.
    ['gives a node', MANAGER_ACCOUNT, 'PATCH', `${NODES}/n1/status`, annotations(GIVEN), ADMITTED],
    [
      'chooses the primary network of a pod',
      MANAGER_ACCOUNT,
      'PATCH',
      `${PODS}/here/status`,
      annotations({ 'selected-primary-udn': 'blue/net' }),
      ADMITTED,
    ],
    [
      'says what a node is',
      MANAGER_ACCOUNT,
      'PATCH',
      `${NODES}/n2/status`,
      annotations(FACTS),
      'are written by its Heddle daemon alone',
    ],
    ['reads a secret', MANAGER_ACCOUNT, 'GET', '/api/v1/namespaces/blue/secrets/x', {}, FORBIDDEN],
    // Everybody else.
    [
      'says what a node is',
      KUBELET,
      'PATCH',
      `${NODES}/n1/status`,
      annotations({ 'node-encap-ips': '["172.18.0.12"]' }),
      'are written by its Heddle daemon alone',
    ],
    [
      'gives it subnets',
      KUBELET,
      'PATCH',
      `${NODES}/n1`,
      annotations({ 'node-id': '9' }),
      'cluster manager alone',
    ],
    [
      'reports a condition',
      KUBELET,
      'PATCH',
      `${NODES}/n1/status`,
      { status: { conditions: [{ type: 'Ready', status: 'True' }] } },
      ADMITTED,
    ],
    [
      'gives a pod its addresses',
      TENANT,
      'PATCH',
      `${PODS}/here`,
      annotations({ 'pod-networks': '{"a":1}' }),
      "The 'k8s.ovn.org/pod-networks' annotation is written by Heddle alone",
    ],
    [
      'asks for other addresses later',
      TENANT,
      'PATCH',
      `${PODS}/here`,
      annotations({ 'v1.multus-cni.io/default-network': '[]' }),
      'cannot be changed after the pod was created',
    ],
    [
      'asks for other addresses by way of the status',
      TENANT,
      'PATCH',
      `${PODS}/here/status`,
      annotations({ 'v1.multus-cni.io/default-network': '[]' }),
      'cannot be changed after the pod was created',
    ],
    [
      'asks a waiting pod onto a network for the first time',
      TENANT,
      'PATCH',
      `${PODS}/here`,
      annotations({ 'requested-primary-udn': 'net' }),
      'create it with the network that it should have',
    ],
    [
      '… by way of the status',
      TENANT,
      'PATCH',
      `${PODS}/here/status`,
      annotations({ 'requested-primary-udn': '' }),
      'create it with the network that it should have',
    ],
    [
      'takes back what a pod asked for',
      TENANT,
      'PATCH',
      `${PODS}/asking`,
      annotations({ 'requested-primary-udn': null }),
      'create it with the network that it should have',
    ],
    [
      'annotates a pod that asked for a network',
      TENANT,
      'PATCH',
      `${PODS}/asking`,
      annotations({ 'anna.example/a': 'b' }),
      ADMITTED,
    ],
    [
      'annotates a pod',
      TENANT,
      'PATCH',
      `${PODS}/here`,
      annotations({ 'anna.example/a': 'b' }),
      ADMITTED,
    ],
    [
      'joins any network by a NAD',
      TENANT,
      'POST',
      NADS,
      nad('ovn-k8s-cni-overlay'),
      'declare a UserDefinedNetwork instead',
    ],
    [
      'makes a NAD of the older type',
      TENANT,
      'POST',
      NADS,
      nad('ovn-kubernetes'),
      'declare a UserDefinedNetwork instead',
    ],
    [
      "makes a NAD of the plugin's own name",
      TENANT,
      'POST',
      NADS,
      nad('heddle-cni'),
      'declare a UserDefinedNetwork instead',
    ],
    [
      'makes a NAD of ours with an escape in its type',
      TENANT,
      'POST',
      NADS,
      nad('macvlan', '{"name":"victim","\\u0074ype":"\\u006fvn-k8s-cni-overlay"}'),
      'declare a UserDefinedNetwork instead',
    ],
    [
      'makes a NAD of ours in a list',
      TENANT,
      'POST',
      NADS,
      nad(
        'macvlan',
        '{"name":"victim","plugins":[{"type":"tuning"},{"type":"ovn-k8s-cni-overlay"}]}',
      ),
      'declare a UserDefinedNetwork instead',
    ],
    ['makes a NAD of another plugin', TENANT, 'POST', NADS, nad('macvlan'), ADMITTED],
    [
      'takes packets to an address by a service',
      TENANT,
      'POST',
      SERVICES,
      serviceWith({ name: 'taking' }, ['10.96.0.10']),
      'spec.externalIPs takes what the whole cluster sends to these addresses',
    ],
    ['makes a service', TENANT, 'POST', SERVICES, serviceWith({ name: 'own' }, []), ADMITTED],
    [
      '… and gives it an address later',
      TENANT,
      'PATCH',
      `${SERVICES}/own`,
      { spec: { externalIPs: ['198.51.100.10'] } },
      'leave it out, or have an administrator grant',
    ],
    [
      'adds an address to those that an administrator gave',
      TENANT,
      'PATCH',
      `${SERVICES}/given`,
      { spec: { externalIPs: ['198.51.100.9', '198.51.100.10'] } },
      'leave it out, or have an administrator grant',
    ],
    [
      'labels a service that has been given an address',
      TENANT,
      'PATCH',
      `${SERVICES}/given`,
      labels({ a: 'b' }),
      ADMITTED,
    ],
    [
      'gives up an address',
      TENANT,
      'PATCH',
      `${SERVICES}/given`,
      { spec: { externalIPs: [] } },
      ADMITTED,
    ],
    [
      'names an address where it gives them',
      BALANCER,
      'POST',
      SERVICES,
      serviceWith({ name: 'balanced' }, ['198.51.100.11']),
      ADMITTED,
    ],
    // An administrator.
    [
      'names an address for a service',
      ADMIN,
      'POST',
      SERVICES,
      serviceWith({ name: 'outside' }, ['198.51.100.12']),
      ADMITTED,
    ],
    ['makes a network for pods', TENANT, 'POST', SECONDARIES, secondary('pods', false), ADMITTED],
    [
      'makes a network on the underlay',
      TENANT,
      'POST',
      SECONDARIES,
      secondary('underlay', true),
      'only who may create ClusterUserDefinedNetworks sets it',
    ],
    ['makes one there', ADMIN, 'POST', SECONDARIES, secondary('underlay', true), ADMITTED],
    ['makes a NAD of ours', ADMIN, 'POST', NADS, nad('ovn-k8s-cni-overlay'), ADMITTED],
    ['says what a node is', ADMIN, 'PATCH', `${NODES}/n2/status`, annotations(FACTS), ADMITTED],
    [
      'gives a node subnets',
      ADMIN,
      'PATCH',
      `${NODES}/n1`,
      annotations({ 'node-subnets': '{}' }),
      'cluster manager alone',
    ],
    [
      'announces a primary network in a namespace that is there',
      ADMIN,
      'PATCH',
      '/api/v1/namespaces/heddle',
      labels({ 'k8s.ovn.org/primary-user-defined-network': '' }),
      'label cannot be added/removed after the namespace was created',
    ],
  ])('%s (%s)', async (_what, token, method, path, body, refusal) => {
    const answer = await api.call(method, path, method === 'GET' ? undefined : body, token);
    const { message = '' } = answer.body as { message?: string };
    if (refusal === ADMITTED) expect([200, 201], message).toContain(answer.status);
    else {
      expect(message).toContain(refusal);
      expect([403, 422]).toContain(answer.status);
    }
  });
});

function zone(name: string): object {
  return { apiVersion: 'k8s.ovn.org/v1alpha1', kind: 'ZoneStatus', metadata: { name } };
}

function serviceWith(metadata: object, externalIPs: readonly string[]): object {
  return {
    apiVersion: 'v1',
    kind: 'Service',
    metadata,
    spec: { ports: [{ port: 80 }], externalIPs },
  };
}

function lease(name: string): object {
  return {
    apiVersion: 'coordination.k8s.io/v1',
    kind: 'Lease',
    metadata: { name },
    spec: { holderIdentity: 'a', leaseDurationSeconds: 40 },
  };
}

let made = 0;
function nad(
  type: string,
  config = JSON.stringify({ cniVersion: '1.0.0', name: 'victim', type }),
): object {
  made += 1;
  return {
    apiVersion: 'k8s.cni.cncf.io/v1',
    kind: 'NetworkAttachmentDefinition',
    metadata: { name: `of-${type}-${made}` },
    spec: { config },
  };
}
