/** What a tenant asks of the API server, and by it of kubelets, against others and their networks. */
import {
  answering,
  core,
  flat,
  IMAGE,
  OWN,
  PORT,
  PRIMARY,
  udns,
  type Asker,
  type Line,
  type Victim,
} from './hostile-tenant.ts';
import type { RequestOptions } from './real-kubernetes.ts';

const { plain, network } = OWN;

const APPLY = 'application/apply-patch+yaml';
const MERGE = 'application/merge-patch+json';
const STRATEGIC = 'application/strategic-merge-patch+json';
const BY_FORCE = '?fieldManager=mallory&force=true';

/** RBAC's answers, to a request and to impersonation. */
const NO_ROLE = /is forbidden: User \\?"system:serviceaccount:mallory:(anna|bert)\\?" cannot /;
const POD_SECURITY = /violates PodSecurity/;
const WRITTEN = /written by Heddle alone/;
const CHOSEN = /can only be changed by the cluster-manager service account/;
const ASKED = /cannot be changed after the pod was created/;
const LABEL = /label cannot be added\/removed after the namespace was created/;

const of =
  (group: string, plural: string) =>
  (namespace: string): string =>
    `/apis/${group}/namespaces/${namespace}/${plural}`;
const nads = of('k8s.cni.cncf.io/v1', 'network-attachment-definitions');
const slices = of('discovery.k8s.io/v1', 'endpointslices');
const leases = of('coordination.k8s.io/v1', 'leases');
const pods = (namespace: string): string => core(namespace, 'pods');
const ZONES = '/apis/k8s.ovn.org/v1alpha1/zonestatuses';

const annotated = (annotations: object): RequestOptions => ({
  type: MERGE,
  body: { metadata: { annotations } },
});
const metadata = (fields: object): RequestOptions => ({ type: MERGE, body: { metadata: fields } });
const made = (body: object): RequestOptions => ({ body });
const applied = (body: object): RequestOptions => ({ type: APPLY, body });
const as = (user: string, more: Readonly<Record<string, string>> = {}): RequestOptions => ({
  headers: { 'Impersonate-User': user, ...more },
});

/** Pods that he asks for, which nothing but Pod Security (`baseline`) keeps from being the node's. */
const PRIVILEGED: Readonly<Record<string, object>> = {
  'on the network of the host': { hostNetwork: true },
  'with a port of the host': {
    containers: [{ name: 'web', image: IMAGE, ports: [{ containerPort: PORT, hostPort: 9476 }] }],
  },
  'with the folder of the sockets': {
    volumes: [{ name: 'run', hostPath: { path: '/run/heddle' } }],
  },
  'with the folder of Open vSwitch': {
    volumes: [{ name: 'run', hostPath: { path: '/var/run/openvswitch' } }],
  },
  'with the processes of the host': { hostPID: true },
  'that is privileged': {
    containers: [{ name: 'web', image: IMAGE, securityContext: { privileged: true } }],
  },
  'with NET_ADMIN': {
    containers: [
      { name: 'web', image: IMAGE, securityContext: { capabilities: { add: ['NET_ADMIN'] } } },
    ],
  },
  'with a setting of the kernel': {
    securityContext: { sysctls: [{ name: 'net.ipv4.ip_forward', value: '1' }] },
  },
};

/** By subresources of pods the API server has a kubelet do it. */
const bySubresource = (namespace: string, name: string): readonly Line[] => {
  const pod = `${pods(namespace)}/${name}`;
  const ephemeral = { spec: { ephemeralContainers: [{ name: 'x', image: IMAGE }] } };
  return (
    [
      ['executes', 'POST', `${pod}/exec?command=id&stdout=true`],
      ['executes by a stream', 'GET', `${pod}/exec?command=id&stdout=true`],
      ['attaches himself', 'POST', `${pod}/attach?stdout=true`],
      ['forwards a port', 'POST', `${pod}/portforward?ports=${PORT}`],
      ['asks by the proxy', 'GET', `${pod}:${PORT}/proxy/hostname`],
      ['reads a log', 'GET', `${pod}/log`],
      [
        'adds a container',
        'PATCH',
        `${pod}/ephemeralcontainers`,
        { type: STRATEGIC, body: ephemeral },
      ],
      ['gives it other resources', 'PATCH', `${pod}/resize`, { type: MERGE, body: {} }],
      ['evicts it', 'POST', `${pod}/eviction`, made({ metadata: { name } })],
      ['asks its service', 'GET', `${core(namespace, 'services')}/web:web/proxy/hostname`],
    ] as const
  ).map(([what, method, path, options]) => [
    `${what} (${namespace})`,
    method,
    path,
    options,
    NO_ROLE,
  ]);
};

/** What he asks, by kind. `uid`: of the network of `layer3`. */
export function tenantRequests(
  { closed, layer3 }: { readonly closed: Victim; readonly layer3: Victim },
  uid: string,
): readonly (readonly [kind: string, by: Asker, lines: readonly Line[]])[] {
  const forged = JSON.stringify({
    default: { ip_addresses: [`${closed.address}/24`], role: 'primary' },
  });
  const podNetworks = { 'k8s.ovn.org/pod-networks': forged };
  const node = '/api/v1/nodes/n1';
  const account = (name: string): string => `system:serviceaccount:${name}`;
  const own = `${pods(plain)}/own`;
  const unbound = (name: string): object =>
    answering(plain, name, '', { schedulerName: 'nobody', nodeName: undefined });
  const binding = (name: string, annotations: object): RequestOptions =>
    made({
      apiVersion: 'v1',
      kind: 'Binding',
      metadata: { name, annotations },
      target: { kind: 'Node', name: 'n1' },
    });
  const applying = (
    kind: string,
    apiVersion: string,
    name: string,
    fields: object,
  ): RequestOptions => applied({ apiVersion, kind, metadata: { name }, ...fields });
  const ofPod = (annotations: object): RequestOptions =>
    applied({ apiVersion: 'v1', kind: 'Pod', metadata: { name: 'own', annotations } });
  const netOf = (fields: object, more: object = {}): RequestOptions =>
    applied({
      apiVersion: 'k8s.ovn.org/v1',
      kind: 'UserDefinedNetwork',
      metadata: { name: 'net', ...fields },
      ...more,
    });
  const nadOf = (fields: object, more: object = {}): RequestOptions =>
    applied({
      apiVersion: 'k8s.cni.cncf.io/v1',
      kind: 'NetworkAttachmentDefinition',
      metadata: { name: 'net', ...fields },
      ...more,
    });
  const condition = {
    type: 'NetworkReady',
    status: 'True',
    reason: 'x',
    message: 'x',
    lastTransitionTime: '2026-01-01T00:00:00Z',
  };
  const label = (path: string, labels: object): Line => [
    `labels it by ${path}`,
    'PATCH',
    path,
    metadata({ labels }),
    LABEL,
  ];
  return [
    [
      'pods of others, by the kubelet',
      'editor',
      [closed, layer3].flatMap(({ namespace, name }) => bySubresource(namespace, name)),
    ],
    [
      'nodes, by the kubelet',
      'editor',
      [
        ['lists pods', 'GET', `${node}/proxy/pods`, undefined, NO_ROLE],
        ['reads settings', 'GET', `${node}/proxy/configz`, undefined, NO_ROLE],
        [
          'executes',
          'POST',
          `${node}/proxy/run/layer3/${layer3.name}/web?cmd=id`,
          undefined,
          NO_ROLE,
        ],
        ['asks another port', 'GET', `${node}:9476/proxy/metrics`, undefined, NO_ROLE],
      ],
    ],
    [
      'to be somebody else',
      'editor',
      [
        [
          "a node's daemon",
          'PATCH',
          `${pods('layer3')}/${layer3.name}/status`,
          {
            ...annotated(podNetworks),
            headers: {
              'Impersonate-User': account('heddle:heddle-node'),
              'Impersonate-Extra-authentication.kubernetes.io%2Fnode-name': 'n1',
            },
          },
          NO_ROLE,
        ],
        [
          'the cluster manager',
          'GET',
          pods('layer3'),
          as(account('heddle:heddle-cluster')),
          NO_ROLE,
        ],
        ['a kubelet', 'GET', pods('layer3'), as('system:node:n1'), NO_ROLE],
        [
          'of the group of administrators',
          'GET',
          pods('layer3'),
          as(account(`${plain}:default`), { 'Impersonate-Group': 'system:masters' }),
          NO_ROLE,
        ],
        ["another tenant's account", 'GET', pods('layer3'), as(account('layer3:default')), NO_ROLE],
        [
          'his own account, which may nothing',
          'GET',
          pods('layer3'),
          as(account(`${plain}:default`)),
          /cannot list resource/,
        ],
        [
          "the token of a node's daemon",
          'POST',
          `${core('heddle', 'serviceaccounts')}/heddle-node/token`,
          made({}),
          NO_ROLE,
        ],
        [
          "the token of another tenant's account",
          'POST',
          `${core('layer3', 'serviceaccounts')}/default/token`,
          made({}),
          NO_ROLE,
        ],
        ['by a secret of a token', 'GET', core('heddle', 'secrets'), undefined, NO_ROLE],
      ],
    ],
    [
      "Heddle's own objects",
      'more',
      [
        [
          'a ZoneStatus, by force',
          'PATCH',
          `${ZONES}/n1/status${BY_FORCE}`,
          applying('ZoneStatus', 'k8s.ovn.org/v1alpha1', 'n1', { status: { ready: true } }),
          NO_ROLE,
        ],
        ['all of them', 'DELETE', ZONES, undefined, NO_ROLE],
        [
          "the manager's lease, by force",
          'PATCH',
          `${leases('heddle')}/heddle-cluster-manager${BY_FORCE}`,
          applying('Lease', 'coordination.k8s.io/v1', 'heddle-cluster-manager', {
            spec: { holderIdentity: 'mallory' },
          }),
          NO_ROLE,
        ],
        ['all heartbeats', 'DELETE', leases('heddle'), undefined, NO_ROLE],
        [
          "a node's annotations, by force",
          'PATCH',
          `${node}/status${BY_FORCE}`,
          applying('Node', 'v1', 'n1', {}),
          NO_ROLE,
        ],
        ["others' networks, all", 'DELETE', udns('layer3'), undefined, NO_ROLE],
        ["others' NADs, all", 'DELETE', nads('layer3'), undefined, NO_ROLE],
        ["others' pods, all", 'DELETE', pods('layer3'), undefined, NO_ROLE],
        ['a namespace of others', 'DELETE', '/api/v1/namespaces/layer3', undefined, NO_ROLE],
      ],
    ],
    [
      'pods that are the node',
      'editor',
      Object.entries(PRIVILEGED).map(([name, spec], index) => [
        name,
        'POST',
        pods(plain),
        made(answering(plain, `node-${index}`, 'n1', { ...spec })),
        POD_SECURITY,
      ]),
    ],
    [
      'annotations of his pods',
      'editor',
      [
        [
          'an address of others',
          'POST',
          pods(plain),
          made(answering(plain, 'forged', 'n1', { annotations: podNetworks })),
          WRITTEN,
        ],
        ['… later', 'PATCH', own, annotated(podNetworks), WRITTEN],
        ['… by force', 'PATCH', `${own}${BY_FORCE}`, ofPod(podNetworks), WRITTEN],
        [
          'a network that he says was chosen',
          'POST',
          pods(network),
          made(
            answering(network, 'chosen', 'n1', {
              annotations: { 'k8s.ovn.org/selected-primary-udn': 'layer3/net' },
            }),
          ),
          CHOSEN,
        ],
        [
          'what the plugin reports, by force',
          'PATCH',
          `${own}${BY_FORCE}`,
          ofPod({
            'k8s.v1.cni.cncf.io/network-status': JSON.stringify([
              { name: 'layer3/net', ips: layer3.addresses, default: true },
            ]),
          }),
        ],
        [
          'the networks of others',
          'POST',
          pods(plain),
          made(
            answering(plain, 'joins', 'n1', {
              annotations: { 'k8s.v1.cni.cncf.io/networks': 'layer3/net, both/flat, layer2/net' },
            }),
          ),
        ],
        [
          'the address of another pod',
          'POST',
          pods(plain),
          made(
            answering(plain, 'same', 'n1', {
              annotations: {
                'v1.multus-cni.io/default-network': JSON.stringify([
                  { name: 'default', namespace: 'ovn-kubernetes', ips: [`${closed.address}/24`] },
                ]),
              },
            }),
          ),
        ],
        [
          'the primary network of others',
          'POST',
          pods(network),
          made(
            answering(network, 'asks', 'n1', {
              annotations: { 'k8s.ovn.org/requested-primary-udn': 'layer3/net' },
            }),
          ),
        ],
      ],
    ],
    [
      'bindings and statuses of his pods',
      'more',
      [
        ['a pod without a node', 'POST', pods(plain), made(unbound('unbound'))],
        [
          'bound with addresses',
          'POST',
          `${pods(plain)}/unbound/binding`,
          binding('unbound', podNetworks),
          WRITTEN,
        ],
        [
          '… with a network that was chosen',
          'POST',
          `${pods(plain)}/unbound/binding`,
          binding('unbound', { 'k8s.ovn.org/selected-primary-udn': 'layer3/net' }),
          CHOSEN,
        ],
        [
          '… with what it asked for',
          'POST',
          `${pods(plain)}/unbound/binding`,
          binding('unbound', { 'k8s.ovn.org/requested-primary-udn': 'layer3/net' }),
          ASKED,
        ],
        [
          '… with addresses that it asked for',
          'POST',
          core(plain, 'bindings'),
          binding('unbound', { 'v1.multus-cni.io/default-network': '[]' }),
          ASKED,
        ],
        ['bound', 'POST', `${pods(plain)}/unbound/binding`, binding('unbound', {})],
        ['addresses by the status', 'PATCH', `${own}/status`, annotated(podNetworks), WRITTEN],
        [
          'the address of another in the status',
          'PATCH',
          `${own}/status`,
          {
            type: MERGE,
            body: { status: { podIP: closed.address, podIPs: [{ ip: closed.address }] } },
          },
        ],
        [
          'an end that is none',
          'PATCH',
          `${pods(network)}/open/status`,
          { type: MERGE, body: { status: { phase: 'Succeeded' } } },
        ],
      ],
    ],
    [
      'what Heddle wrote, by force',
      'more',
      [
        [
          'the configuration of a NAD',
          'PATCH',
          `${nads(network)}/net${BY_FORCE}`,
          nadOf(
            {},
            {
              spec: {
                config:
                  '{"cniVersion":"1.0.0","type":"ovn-k8s-cni-overlay","name":"layer3_net","topology":"layer3","netAttachDefName":"layer3/net","role":"primary"}',
              },
            },
          ),
          /declare a UserDefinedNetwork instead/,
        ],
        [
          'its id',
          'PATCH',
          `${nads(network)}/net${BY_FORCE}`,
          nadOf({ annotations: { 'k8s.ovn.org/network-id': '1' } }),
          /by the cluster manager alone/,
        ],
        [
          'its owner',
          'PATCH',
          `${nads(network)}/net`,
          metadata({ ownerReferences: [] }),
          /declare a UserDefinedNetwork instead/,
        ],
        [
          'the status of a network',
          'PATCH',
          `${udns(network)}/net/status${BY_FORCE}`,
          netOf({}, { status: { conditions: [condition] } }),
          NO_ROLE,
        ],
        [
          '… by the network',
          'PATCH',
          `${udns(network)}/net${BY_FORCE}`,
          netOf({}, { status: { conditions: [condition] } }),
        ],
        [
          'its range',
          'PATCH',
          `${udns(network)}/net`,
          { type: MERGE, body: { spec: { layer2: { subnets: ['10.60.0.0/16'] } } } },
          /immutable/,
        ],
        ['its finalizers', 'PATCH', `${udns(network)}/net`, metadata({ finalizers: [] })],
        [
          'those of its NAD',
          'PATCH',
          `${nads(network)}/net`,
          metadata({ finalizers: ['mallory.example/stays'] }),
        ],
        ['all NADs of his namespace', 'DELETE', nads(network)],
        [
          'a network that belongs to that of others',
          'POST',
          udns(plain),
          made({
            ...flat(plain, 'owned', '10.67.0.0/16', 'Secondary'),
            metadata: {
              name: 'owned',
              ownerReferences: [
                {
                  apiVersion: 'k8s.ovn.org/v1',
                  kind: 'UserDefinedNetwork',
                  name: 'net',
                  uid,
                  controller: true,
                  blockOwnerDeletion: true,
                },
              ],
            },
          }),
        ],
        [
          'one like that of others',
          'POST',
          udns(plain),
          made(flat(plain, 'alike', '10.60.0.0/16', 'Secondary')),
        ],
        ['all networks of his namespace at once', 'DELETE', udns(plain), undefined, NO_ROLE],
      ],
    ],
    [
      "his namespace's label",
      'more',
      [
        ...['', '/status'].map((sub) => label(`/api/v1/namespaces/${plain}${sub}`, PRIMARY)),
        ...['', '/status'].map((sub) =>
          label(`/api/v1/namespaces/${network}${sub}`, { [Object.keys(PRIMARY)[0] ?? '']: null }),
        ),
        [
          'labels it by finalizing',
          'PUT',
          `/api/v1/namespaces/${plain}/finalize`,
          made({
            apiVersion: 'v1',
            kind: 'Namespace',
            metadata: { name: plain, labels: PRIMARY },
            spec: { finalizers: ['kubernetes'] },
          }),
          LABEL,
        ],
      ],
    ],
    [
      'endpoints of his services',
      'more',
      [plain, network].flatMap((namespace): Line[] =>
        [
          ['closed', closed.address, closed.name],
          ['isolated', layer3.address, layer3.name],
          ['primary', layer3.addresses[0] ?? '', layer3.name],
        ].flatMap(([name = '', address = '', pod]): Line[] => [
          [
            `a service (${name})`,
            'POST',
            core(namespace, 'services'),
            made({
              apiVersion: 'v1',
              kind: 'Service',
              metadata: { name },
              spec: { ports: [{ port: PORT }] },
            }),
          ],
          [
            `… that leads to ${address}`,
            'POST',
            slices(namespace),
            made({
              apiVersion: 'discovery.k8s.io/v1',
              kind: 'EndpointSlice',
              metadata: {
                name,
                labels: {
                  'kubernetes.io/service-name': name,
                  'endpointslice.kubernetes.io/managed-by': 'endpointslice-controller.k8s.io',
                },
              },
              addressType: 'IPv4',
              endpoints: [
                {
                  addresses: [address],
                  conditions: { ready: true },
                  nodeName: 'n1',
                  targetRef: { kind: 'Pod', namespace: 'layer3', name: pod },
                },
              ],
              ports: [{ port: PORT, protocol: 'TCP' }],
            }),
          ],
        ]),
      ),
    ],
  ];
}
