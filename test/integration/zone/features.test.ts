/**
 * One object of each feature, as it should be and with a mistake, on a real API server with our definitions, roles and admission policies: what the
 * cluster manager and a node's daemon write about them under their own accounts is taken, and says what it should.
 */
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { stringify } from 'yaml';
import { resourceKindOf } from '../../../src/api/kinds.ts';
import type { KubeObject } from '../../../src/api/objects.ts';
import { MANAGER_ACCOUNT, NODE_ACCOUNT } from '../../../src/lab/kubernetes/deployment.ts';
import { collectionPath } from '../../../src/store/kubernetes/kubernetes-paths.ts';
import { startApiProxy, type ApiProxy } from '../../support/cluster/api-proxy.ts';
import {
  clusterLayer3,
  connect,
  inNamespaces,
  layer2,
  layer3,
  namespace,
  node,
  pod,
  rawNad,
} from '../../support/cluster/cluster.ts';
import { command, type RunningCommand } from '../../support/run/heddle.ts';
import { startKubeApi, type KubeApi } from '../../support/cluster/kube-api.ts';
import { OvsdbServer, runOvs } from '../../support/ovsdb/ovsdb-server.ts';
import { installRules } from '../../support/cluster/permissions.ts';
import { adminPolicy, multiPolicy, networkPolicy } from '../../support/zone/policed-zone.ts';
import { servedDefinitions } from '../../support/cluster/served-definitions.ts';
import { until } from '../../support/run/until.ts';

const started = await startKubeApi();
if (typeof started === 'string')
  console.warn(`features are not tested on a real API server: ${started}`);

const WAIT = 60_000;
const FACTS = {
  'k8s.ovn.org/node-chassis-id': 'b1f96182-2bdd-42b6-88f9-9a1fc1c85ece',
  'k8s.ovn.org/node-encap-ips': '["172.18.0.3"]',
  'k8s.ovn.org/node-primary-ifaddr': '{"ipv4":"172.18.0.3/16"}',
  'k8s.ovn.org/host-cidrs': '["172.18.0.3/16"]',
  'k8s.ovn.org/l3-gateway-config': '{"default":{"mode":""}}',
};
/** Policies that would cost more flows are refused. */
const MOST_FLOWS = 60;
const SETTINGS = ['--cluster-subnets=10.244.0.0/16/24', '--k8s-service-cidrs=10.96.0.0/16'];

/** Of kinds that others define: what is in them is not judged here. */
const foreignDefinition = (
  group: string,
  version: string,
  kind: string,
  plural: string,
): object => ({
  apiVersion: 'apiextensions.k8s.io/v1',
  kind: 'CustomResourceDefinition',
  metadata: {
    name: `${plural}.${group}`,
    annotations: { 'api-approved.kubernetes.io': 'unapproved, for a test' },
  },
  spec: {
    group,
    scope: kind.startsWith('Multi') ? 'Namespaced' : 'Cluster',
    names: { kind, plural, singular: kind.toLowerCase(), listKind: `${kind}List` },
    versions: [
      {
        name: version,
        served: true,
        storage: true,
        subresources: { status: {} },
        schema: {
          openAPIV3Schema: { type: 'object', 'x-kubernetes-preserve-unknown-fields': true },
        },
      },
    ],
  },
});
const FOREIGN = [
  foreignDefinition('k8s.cni.cncf.io', 'v1beta1', 'MultiNetworkPolicy', 'multi-networkpolicies'),
  ...(
    [
      ['AdminNetworkPolicy', 'v1alpha1'],
      ['BaselineAdminNetworkPolicy', 'v1alpha1'],
      ['ClusterNetworkPolicy', 'v1alpha2'],
    ] as const
  ).map(([kind, version]) =>
    foreignDefinition(
      'policy.networking.k8s.io',
      version,
      kind,
      `${kind.toLowerCase().replace(/y$/, 'ie')}s`,
    ),
  ),
];

/** Of who lives in the namespace of the installation. */
const kubeconfigOf = (server: string, token: string): string =>
  stringify({
    'current-context': 'c',
    contexts: [{ name: 'c', context: { cluster: 'c', namespace: 'heddle', user: 'u' } }],
    users: [{ name: 'u', user: { token } }],
    clusters: [{ name: 'c', cluster: { server } }],
  });

const of = (apiVersion: string, kind: string, key: string, spec: object): KubeObject => {
  const [name = '', namespaceName] = key.split('/').toReversed();
  const metadata = namespaceName === undefined ? { name } : { namespace: namespaceName, name };
  const object = { apiVersion, kind, metadata, spec };
  return object;
};
const runnable = (object: KubeObject): KubeObject => {
  const containers = { containers: [{ name: 'main', image: 'none' }] };
  return Object.assign(object, { spec: { ...(object as { spec?: object }).spec, ...containers } });
};
const persistent = (key: string, subnet: string): KubeObject => {
  const network = layer2(key, subnet, 'Secondary');
  const config = { ...network.spec.layer2, ipam: { lifecycle: 'Persistent' } };
  return Object.assign(network, { spec: { ...network.spec, layer2: config } });
};
const claim = (name: string): KubeObject =>
  of('k8s.cni.cncf.io/v1alpha1', 'IPAMClaim', `plain/${name}`, {
    network: 'plain_flat',
    interface: 'net1',
  });
const machine = (name: string): KubeObject => {
  const selection = { name: 'flat', namespace: 'plain', 'ipam-claim-reference': name };
  const networks = JSON.stringify([selection]);
  return runnable(pod(`plain/${name}`, 'n1', { 'k8s.v1.cni.cncf.io/networks': networks }));
};
const service = (name: string, clusterIP: string, more: object = {}): KubeObject =>
  of('v1', 'Service', `plain/${name}`, {
    clusterIP,
    selector: { app: 'web' },
    ports: [{ port: 80, protocol: 'TCP' }],
    ...more,
  });
const costly = Array.from({ length: MOST_FLOWS }, (_, n) => ({
  from: [{ ipBlock: { cidr: `198.51.${n}.0/24` } }],
}));

const NETWORKS = [
  layer3('blue/net', '10.20.0.0/16/24'),
  clusterLayer3('shared', inNamespaces('red'), '10.30.0.0/16/24'),
  persistent('plain/flat', '10.40.0.0/29'),
  of('k8s.ovn.org/v1alpha1', 'OVNSecondaryNetwork', 'plain/overlay', { subnet: '10.50.0.0/24' }),
  of('k8s.ovn.org/v1', 'ClusterUserDefinedNetwork', 'physical', {
    namespaceSelector: inNamespaces('plain'),
    network: {
      topology: 'Localnet',
      localnet: { role: 'Secondary', physicalNetworkName: 'tenant', subnets: ['10.70.0.0/24'] },
    },
  }),
];
const OTHERS = [
  layer3('plain/overlapping', '10.244.0.0/16/24', 'Secondary'),
  rawNad('plain/broken', '{ "type": "ovn-k8s-cni-overlay", "topology": "ring" }'),
  connect('joined', ['blue', 'red'], '192.168.0.0/16/24'),
  connect('clashing', ['blue', 'red'], '10.244.0.0/16/24'),
  service('web', '10.96.0.20'),
  service('greedy', '10.96.0.21', { externalIPs: ['10.96.0.99'] }),
  networkPolicy('plain/closed', { podSelector: {}, policyTypes: ['Ingress', 'Egress'] }),
  networkPolicy('plain/costly', { podSelector: {}, ingress: costly }),
  multiPolicy('plain/many', 'flat', { podSelector: {}, ingress: costly }),
  adminPolicy('guard', {
    priority: 3,
    subject: { namespaces: {} },
    egress: [{ action: 'Deny', to: [{ networks: ['198.51.100.0/24'] }] }],
  }),
  adminPolicy('wrong', {
    priority: 4,
    subject: { namespaces: {} },
    egress: [{ action: 'Perhaps', to: [{ networks: ['198.51.100.0/24'] }] }],
  }),
  adminPolicy('default', {
    subject: { namespaces: {} },
    ingress: [{ action: 'Perhaps', from: [{ namespaces: {} }] }],
  }),
  adminPolicy('everywhere', {
    tier: 'Admin',
    priority: 3,
    subject: { namespaces: {} },
    egress: [{ action: 'Deny', to: [{ networks: ['198.51.100.0/24'] }] }],
  }),
  adminPolicy('newer', {
    tier: 'Admin',
    priority: 4,
    subject: { namespaces: {} },
    egress: [{ action: 'Deny', to: [{ moons: ['198.51.100.0/24'] }] }],
  }),
  of('k8s.ovn.org/v1', 'EgressFirewall', 'plain/default', {
    egress: [{ type: 'Deny', to: { dnsName: `${'a'.repeat(64)}.example.org` } }],
  }),
  of('k8s.ovn.org/v1', 'AdminPolicyBasedExternalRoute', 'by-hops', {
    from: { namespaceSelector: inNamespaces('plain') },
    nextHops: { static: [{ ip: '172.18.0.0/24' }] },
  }),
  of('k8s.ovn.org/v1', 'EgressQoS', 'plain/default', { egress: [{ dscp: 10 }] }),
  of('k8s.ovn.org/v1alpha1', 'NetworkQoS', 'plain/gold', {
    priority: 1,
    egress: [{ dscp: 10, classifier: { to: [{}] } }],
  }),
  of('k8s.ovn.org/v1', 'EgressIP', 'outside', {
    egressIPs: ['172.18.0.77'],
    namespaceSelector: inNamespaces('plain'),
  }),
  of('k8s.ovn.org/v1', 'EgressService', 'plain/web', { sourceIPBy: 'Network' }),
  claim('vm'),
  runnable(pod('plain/fine', 'n1')),
  runnable(pod('blue/web', 'n1')),
  runnable(pod('plain/lost', 'n1', { 'k8s.v1.cni.cncf.io/networks': 'nowhere' })),
] as readonly KubeObject[];

/** What each object says in the end, or an event of it. Of `Ready-In-Zone-…` and the like the node's own. */
const SAID: readonly (readonly [string, RegExp])[] = [
  ['UserDefinedNetwork blue/net', /NetworkCreated=True NetworkAttachmentDefinitionCreated/],
  ['UserDefinedNetwork blue/net', /NetworkReady=True/],
  ['UserDefinedNetwork plain/overlapping', /NetworkCreated=False.*10\.244\.0\.0\/16/],
  ['ClusterUserDefinedNetwork shared', /NetworkCreated=True.*activeNamespaces=\["red"\]/],
  ['ClusterUserDefinedNetwork physical', /NetworkCreated=True/],
  ['OVNSecondaryNetwork plain/overlay', /NetworkCreated=True/],
  ['ClusterNetworkConnect joined', /Accepted=True.*Ready-In-Zone-n1=True.*status="Success"/],
  ['ClusterNetworkConnect clashing', /Accepted=False.*10\.244\.0\.0\/16/],
  ['IPAMClaim plain/vm', /IPsAllocated=True SuccessfulAllocation.*ips=\["10\.40/],
  ['EgressFirewall plain/default', /not correctly applied.*must be a DNS name/],
  ['NetworkQoS plain/gold', /not correctly applied.*must have ipBlock/],
  [
    'EgressQoS plain/default',
    /Ready-In-Zone-n1=True SetupSucceeded: EgressQoS Rules applied.*status="EgressQoS Rules applied"/,
  ],
  ['AdminPolicyBasedExternalRoute by-hops', /172\.18\.0\.0\/24.*status="Fail"/],
  ['EgressIP outside', /event Warning NoMatchingNodeFound/],
  ['EgressService plain/web', /event Warning NoLoadBalancer/],
  ['NetworkAttachmentDefinition plain/broken', /event Warning InvalidConfig/],
  ['Service plain/greedy', /event Warning Refused.*10\.96\.0\.99/],
  ['NetworkPolicy plain/costly', /event Warning Refused/],
  ['MultiNetworkPolicy plain/many', /event Warning Refused/],
  ['AdminNetworkPolicy wrong', /event Warning Refused.*Perhaps/],
  ['BaselineAdminNetworkPolicy default', /event Warning Refused.*Perhaps/],
  ['ClusterNetworkPolicy everywhere', /Ready-In-Zone-n1=True SetupSucceeded/],
  ['ClusterNetworkPolicy newer', /Ready-In-Zone-n1=False SetupFailed.*exactly one of its fields/],
  ['Pod plain/fine', /pod-networks/],
  ['Pod blue/web', /pod-networks.*blue\/net/],
  ['Pod plain/lost', /event Warning.*nowhere/],
];

describe.skipIf(typeof started === 'string')('every feature on a real API server', () => {
  const api = started as KubeApi;
  const stack = new AsyncDisposableStack();
  const proxies = new Map<string, ApiProxy>();
  const processes: RunningCommand[] = [];
  let server: OvsdbServer;

  const create = async (object: KubeObject): Promise<void> => {
    const kind = resourceKindOf(object.apiVersion, object.kind);
    if (kind === undefined) throw new Error(`unknown kind ${object.kind}`);
    const path = collectionPath(kind, object.metadata.namespace);
    const { status, body } = await api.call('POST', path, object);
    expect([201, 409], JSON.stringify(body)).toContain(status);
  };
  const start = async (name: string, account: string, ...args: string[]): Promise<void> => {
    const proxy = stack.use(await startApiProxy(api));
    proxies.set(name, proxy);
    const kubeconfig = join(server.folder, `${name}.kubeconfig`);
    await writeFile(kubeconfig, kubeconfigOf(proxy.url, `${account}@n1`));
    const running = command(
      name,
      `--kubeconfig=${kubeconfig}`,
      '--metrics-bind-address=127.0.0.1:0',
      ...SETTINGS,
      ...args,
    );
    processes.push(running);
  };
  interface Found {
    readonly metadata: { readonly annotations?: Readonly<Record<string, string>> };
    readonly status?: Readonly<Record<string, unknown>> & {
      readonly conditions?: readonly Readonly<Record<string, string>>[];
    };
  }
  interface Event {
    readonly type: string;
    readonly reason: string;
    readonly message: string;
    readonly involvedObject: {
      readonly kind: string;
      readonly namespace?: string;
      readonly name: string;
    };
  }
  /** Conditions, further fields of the status, annotations and events of an object, in one line. */
  const said = async (who: string, events: readonly Event[]): Promise<string> => {
    const [kindName = '', key = ''] = who.split(' ');
    const object = [...NETWORKS, ...OTHERS].find(
      ({ kind, metadata }) =>
        kind === kindName && [metadata.namespace, metadata.name].filter(Boolean).join('/') === key,
    );
    if (object === undefined) throw new Error(`no ${who}`);
    const kind = resourceKindOf(object.apiVersion, object.kind);
    if (kind === undefined) throw new Error(`unknown kind ${object.kind}`);
    const path = `${collectionPath(kind, object.metadata.namespace)}/${object.metadata.name}`;
    const { status, metadata } = (await api.call('GET', path)).body as Found;
    const { conditions = [], ...fields } = status ?? {};
    return [
      ...conditions
        .map((one) => `${one['type']}=${one['status']} ${one['reason']}: ${one['message']}`)
        .toSorted(),
      ...Object.entries(fields).map(([name, value]) => `${name}=${JSON.stringify(value)}`),
      ...Object.entries(metadata.annotations ?? {}).map(([name, value]) => `${name}=${value}`),
      ...events
        .filter(
          ({ involvedObject: it }) =>
            `${it.kind} ${[object.metadata.namespace === undefined ? '' : it.namespace, it.name].filter(Boolean).join('/')}` ===
            who,
        )
        .map(({ type, reason, message }) => `event ${type} ${reason}: ${message}`),
    ].join('; ');
  };
  const log = (): string => processes.map((one) => one.log).join('\n');

  beforeAll(async () => {
    stack.use(api);
    server = stack.use(await OvsdbServer.start());
    await api.install([...servedDefinitions, ...FOREIGN]);
    for (const name of ['default', 'kube-system'])
      await create({ apiVersion: 'v1', kind: 'Namespace', metadata: { name } });
    await installRules(api);
    for (const name of ['blue', 'red']) await create(namespace(name));
    await create(namespace('plain', {}));
    await create(node('n1', FACTS));
    await start('cluster', MANAGER_ACCOUNT);
    await start(
      'node',
      NODE_ACCOUNT,
      '--node=n1',
      '--socket=none',
      `--nb=${server.remote}`,
      `--max-flows-per-policy=${MOST_FLOWS}`,
    );
    for (const object of NETWORKS) await create(object);
  }, 120_000);
  afterAll(async () => {
    for (const running of processes) await running[Symbol.asyncDispose]();
    await stack.disposeAsync();
  });

  test('what should be said of each is said, and taken', async () => {
    for (const object of OTHERS) await create(object);
    await create(machine('vm'));
    // There is no northd: the data plane says that it is through.
    await runOvs('ovn-nbctl', [
      `--db=${server.remote}`,
      'set',
      'NB_Global',
      '.',
      'sb_cfg=100000',
      'hv_cfg=100000',
    ]);
    let missing: string[] = [];
    await until(
      'everything to be said',
      async () => {
        const { items } = (await api.call('GET', '/api/v1/events')).body as { items: Event[] };
        const lines = await Promise.all(
          SAID.map(async ([who, what]) => {
            const line = await said(who, items);
            return what.test(line) ? [] : [`${who}: ${what} is not in: ${line}`];
          }),
        );
        missing = lines.flat();
        return missing.length === 0;
      },
      { limit: WAIT, pause: 300, output: () => `${missing.join('\n')}\n${log()}` },
    );
  }, 120_000);

  test('the node reports its networks, connections and problems', async () => {
    const path = '/apis/k8s.ovn.org/v1alpha1/zonestatuses/n1';
    const status = (
      (await api.call('GET', path)).body as {
        status: Record<string, { name?: string; state?: string; object?: string }[]>;
      }
    ).status;
    const states = new Map(status['networks']?.map(({ name, state }) => [name, state]));
    expect(states.get('blue_net')).toBe('Programmed');
    expect(status['connects']?.map(({ name, state }) => [name, state])).toContainEqual([
      'joined',
      'Programmed',
    ]);
    expect(status['problems']?.map(({ object }) => object)).toEqual(
      expect.arrayContaining([
        'Service plain/greedy',
        'NetworkPolicy plain/costly',
        'Pod plain/lost',
      ]),
    );
  });

  test('nothing that was written was refused', async () => {
    for (const [name, { forbidden }] of proxies) expect(forbidden, name).toEqual([]);
    for (const { log: text } of processes) {
      const url = /"health":"(?<url>[^"]+)"/.exec(text)?.groups?.['url'] ?? '';
      const metrics = await (await fetch(`${url}/metrics`)).text();
      expect(metrics).not.toMatch(/_refused_total\{[^}]*\} [1-9]/);
    }
  });
});
