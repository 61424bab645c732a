/**
 * A tenant with nothing but his token, on an API server with deploy/ installed, a cluster manager and a node's daemon. What he asks for is
 * refused, or does nothing to others: their objects and the rows of their networks stay as they are, and their next pod gets its ports.
 *
 * This API server (lab/kube-mini) checks no built-in kinds and runs no kubelet: what the real one refuses on its own (a cluster IP twice, say) has
 * to be held by Heddle here; exec, attach and port-forward are not tried.
 */
import { writeFile } from 'node:fs/promises';
import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { KubeObject } from '../../../src/api/objects.ts';
import { podNetworks, type PodNetwork } from '../../../src/api/annotations/pod-annotations.ts';
import { EXIT } from '../../../src/cli/output.ts';
import { definitions } from '../../../src/api/validation/catalog.ts';
import { MANAGER_ACCOUNT, NODE_ACCOUNT } from '../../../src/lab/kubernetes/deployment.ts';
import { kubeconfigText } from '../../../src/lab/kubernetes/kubeconfig.ts';
import {
  clusterLayer3,
  connect,
  inNamespaces,
  layer2,
  layer3,
  namespace,
  node,
  pod,
  PRIMARY,
} from '../../support/cluster/cluster.ts';
import { sayHeld, type Attack } from '../../support/lab/held-table.ts';
import { command, type RunningCommand } from '../../support/run/heddle.ts';
import { startKubeApi, type KubeApi } from '../../support/cluster/kube-api.ts';
import { ownFolder } from '../../support/run/left-behind.ts';
import { difference, northboundRows } from '../../support/ovsdb/northbound-rows.ts';
import { OvsdbServer, runOvs } from '../../support/ovsdb/ovsdb-server.ts';
import { installRules, objectPath } from '../../support/cluster/permissions.ts';
import {
  attempts,
  core,
  NO_ROLE,
  ovn,
  OWN,
  type Asker,
} from '../../support/cluster/tenant-attempts.ts';
import { until } from '../../support/run/until.ts';

const started = await startKubeApi();
if (typeof started === 'string') console.warn(`a tenant's requests are not tried: ${started}`);

const WAIT = { limit: 60_000, pause: 50 };
const SETTINGS = ['--cluster-subnets=10.244.0.0/16/24', '--k8s-service-cidrs=10.96.0.0/16'];
const RBAC = '/apis/rbac.authorization.k8s.io/v1';
const ASKERS = { editor: 'anna', more: 'bert' } as const satisfies Record<Asker, string>;

/** Kubernetes' own role `edit`, as far as this server has its kinds. */
const EDIT = [
  {
    apiGroups: [''],
    resources: ['pods', 'services', 'configmaps', 'secrets', 'serviceaccounts', 'events'],
    verbs: ['*'],
  },
  { apiGroups: [''], resources: ['pods/eviction', 'serviceaccounts/token'], verbs: ['create'] },
  {
    apiGroups: ['', 'discovery.k8s.io'],
    resources: ['endpoints', 'endpointslices', 'namespaces'],
    verbs: ['get', 'list', 'watch'],
  },
  { apiGroups: ['networking.k8s.io'], resources: ['networkpolicies'], verbs: ['*'] },
  { apiGroups: ['coordination.k8s.io'], resources: ['leases'], verbs: ['*'] },
  {
    apiGroups: ['apps', 'policy'],
    resources: ['deployments', 'daemonsets', 'poddisruptionbudgets'],
    verbs: ['*'],
  },
];
/** What some clusters give besides. */
const MORE = [
  { apiGroups: [''], resources: ['endpoints', 'pods/status'], verbs: ['*'] },
  { apiGroups: ['discovery.k8s.io'], resources: ['endpointslices'], verbs: ['*'] },
  {
    apiGroups: ['k8s.cni.cncf.io'],
    resources: ['network-attachment-definitions', 'ipamclaims', 'ipamclaims/status'],
    verbs: ['*'],
  },
];

const facts = (number: number): Readonly<Record<string, string>> => {
  const address = `172.18.0.1${number}/16`;
  const gateway = {
    mode: 'shared',
    'bridge-id': 'breth0',
    'interface-id': `breth0_n${number}`,
    'mac-address': `0a:58:ac:12:00:1${number}`,
    'ip-addresses': [address],
    'next-hops': ['172.18.0.1'],
    'node-port-enable': 'true',
    'vlan-id': '0',
  };
  return {
    'k8s.ovn.org/node-chassis-id': `b1f96182-2bdd-42b6-88f9-9a1fc1c85ec${number}`,
    'k8s.ovn.org/node-encap-ips': `["172.18.0.1${number}"]`,
    'k8s.ovn.org/node-primary-ifaddr': `{"ipv4":"${address}"}`,
    'k8s.ovn.org/host-cidrs': `["${address}"]`,
    'k8s.ovn.org/l3-gateway-config': JSON.stringify({ default: gateway }),
  };
};

const runnable = (key: string, on: string, annotations = {}): KubeObject => {
  const object = pod(key, on, annotations);
  const labels = { app: object.metadata.name };
  const spec = { ...object.spec, containers: [{ name: 'a', image: 'a' }] };
  return { ...object, metadata: { ...object.metadata, labels }, spec };
};
const service = (key: string, spec: object): KubeObject & { spec: object } => {
  const [inNamespace = '', name = ''] = key.split('/');
  return {
    apiVersion: 'v1',
    kind: 'Service',
    metadata: { namespace: inNamespace, name },
    spec: { ports: [{ port: 80, protocol: 'TCP' }], ...spec },
  };
};
const sliceOf = (key: string, address: string, port: number, podName?: string): KubeObject => {
  const [inNamespace = '', name = ''] = key.split('/');
  return {
    apiVersion: 'discovery.k8s.io/v1',
    kind: 'EndpointSlice',
    metadata: {
      namespace: inNamespace,
      name: `${name}-x`,
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
        ...(podName !== undefined && {
          targetRef: { kind: 'Pod', namespace: inNamespace, name: podName },
        }),
      },
    ],
    ports: [{ port, protocol: 'TCP' }],
  } as KubeObject;
};

/** Where objects of others are. */
const COLLECTIONS = [
  ...[
    'namespaces',
    'nodes',
    'pods',
    'services',
    'endpoints',
    'configmaps',
    'secrets',
    'events',
    'serviceaccounts',
  ].map((plural) => `/api/v1/${plural}`),
  '/apis/discovery.k8s.io/v1/endpointslices',
  '/apis/networking.k8s.io/v1/networkpolicies',
  '/apis/coordination.k8s.io/v1/leases',
  ...['network-attachment-definitions'].map((plural) => `/apis/k8s.cni.cncf.io/v1/${plural}`),
  '/apis/k8s.cni.cncf.io/v1alpha1/ipamclaims',
  ...['userdefinednetworks', 'clusteruserdefinednetworks', 'clusternetworkconnects'].map(
    (plural) => `/apis/k8s.ovn.org/v1/${plural}`,
  ),
  '/apis/k8s.ovn.org/v1alpha1/zonestatuses',
  ...['validatingadmissionpolicies', 'validatingadmissionpolicybindings'].map(
    (plural) => `/apis/admissionregistration.k8s.io/v1/${plural}`,
  ),
  ...['clusterroles', 'clusterrolebindings', 'roles', 'rolebindings'].map(
    (plural) => `${RBAC}/${plural}`,
  ),
];
const isOwn = (text: string): boolean => text.includes('mallory');

/** Of a status, what is counted over everybody's networks and problems, which condition comes first, and when: the entries themselves are compared. */
const OF_ALL = ['observedAt', 'used', 'programmed', 'problemCount', 'ready', 'reason'];
/** Of networks on n2, where no daemon runs, their owners are told after a while. */
const TOLD_LATER = 'n2: no report yet';

/** What of an object says something of others: nodes, zones and shared networks name those of all tenants, heartbeats beat. */
function ofOthers(plural: string, object: KubeObject): string {
  const { metadata, ...rest } = object as KubeObject & { status?: Record<string, unknown> };
  const annotations = Object.fromEntries(
    Object.entries(metadata.annotations ?? {}).map(([key, value]): [string, unknown] => {
      if (plural !== 'nodes' || !value.startsWith('{')) return [key, value];
      const entries = Object.entries<unknown>(JSON.parse(value) as Record<string, unknown>);
      return [key, Object.fromEntries(entries.filter(([network]) => !isOwn(network)))];
    }),
  );
  const kept: Record<string, unknown> = { ...rest };
  if (plural === 'leases') delete kept['spec'];
  // Lists of networks, problems, namespaces and conditions have an entry for each.
  if (['zonestatuses', 'clusteruserdefinednetworks'].includes(plural))
    kept['status'] = Object.fromEntries(
      Object.entries(rest.status ?? {})
        .filter(([key]) => !OF_ALL.includes(key))
        .map(([key, value]) => [
          key,
          Array.isArray(value) ? value.filter((one) => !isOwn(JSON.stringify(one))) : value,
        ]),
    );
  const { name, namespace: inNamespace, labels, finalizers, ownerReferences } = metadata;
  const identity = { name, inNamespace, labels, finalizers, ownerReferences, annotations };
  return `${plural} ${JSON.stringify(identity)} ${JSON.stringify(kept)}`;
}

describe.skipIf(typeof started === 'string')('a tenant with his token', () => {
  const api = started as KubeApi;
  /** By name, the one that runs. */
  const daemons = new Map<string, RunningCommand>();
  let server: OvsdbServer;
  let folder: string;

  const create = async (...objects: readonly KubeObject[]): Promise<void> => {
    for (const object of objects) {
      // While a definition learns our certificate its kind is not served for a moment.
      let said: unknown;
      await until(
        `${object.kind} ${object.metadata.name}`,
        async () => {
          const { status, body } = await api.call('POST', objectPath(object), object);
          said = body;
          return status === 201;
        },
        { ...WAIT, output: () => JSON.stringify(said) },
      );
    }
  };
  /** What the server says once it can: one whose database is slow says so (500, 503, 504), and may have done it all the same. */
  const answered = async (...request: Parameters<KubeApi['call']>): ReturnType<KubeApi['call']> => {
    let answer = await api.call(...request);
    let isAgain = false;
    await until(
      'an answer of the API server',
      async () => {
        if (answer.status < 500) return true;
        isAgain = true;
        answer = await api.call(...request);
        return false;
      },
      { ...WAIT, output: () => JSON.stringify(answer) },
    );
    const isDone = isAgain && { POST: 409, DELETE: 404 }[request[0]] === answer.status;
    return isDone ? { status: 200, body: {} } : answer;
  };
  const get = async (path: string): Promise<KubeObject> => {
    const { status, body } = await answered('GET', path);
    if (status !== 200) throw new Error(`${path}: ${JSON.stringify(body)}`);
    return body as KubeObject;
  };
  /** Starts a daemon, and again as a kubelet does, a cluster manager that ended because the API server was too slow for its lease. */
  const start = async (name: string, account: string, ...args: string[]): Promise<void> => {
    const file = join(folder, name);
    const { url, ca } = api;
    await writeFile(file, kubeconfigText({ server: url, ca, token: account, namespace: 'heddle' }));
    const run = async (): Promise<void> => {
      let code: number | null;
      do {
        const daemon = command(
          name,
          `--kubeconfig=${file}`,
          '--metrics-bind-address=127.0.0.1:0',
          ...SETTINGS,
          ...args,
        );
        daemons.set(name, daemon);
        code = await daemon.ended;
      } while (code === EXIT.unavailable);
    };
    void run();
  };
  /** What the daemons logged last. */
  const said = (): string =>
    [...daemons.values()].map(({ log }) => log.split('\n').slice(-20).join('\n')).join('\n');
  const rowsOfServer = (): ReturnType<typeof northboundRows> =>
    northboundRows(server.remote, isOwn, (...words) => runOvs('ovsdb-client', words));
  const rows = async (): Promise<readonly string[]> => (await rowsOfServer()).others;
  /** As an administrator: takes off what keeps objects from their end, and deletes them. Resolves with how many there were. */
  const removeIn = async (inNamespace: string): Promise<number> => {
    let found = 0;
    for (const path of COLLECTIONS) {
      const [, prefix = '', plural = ''] = /^(.*)\/([^/]+)$/.exec(path) ?? [];
      const within = `${prefix}/namespaces/${inNamespace}/${plural}`;
      const { items = [] } = ((await answered('GET', within)).body ?? {}) as {
        items?: KubeObject[];
      };
      found += items.length;
      for (const { metadata } of items) {
        const one = `${within}/${metadata.name}`;
        const finalizers = metadata.finalizers?.filter((finalizer) => !isOwn(finalizer));
        if (finalizers?.length !== metadata.finalizers?.length)
          await answered('PATCH', one, { metadata: { finalizers } });
        if (metadata.deletionTimestamp === undefined)
          await answered('DELETE', `${one}?gracePeriodSeconds=0`);
      }
    }
    return found;
  };
  /**
   * A namespace that is being deleted stays until nothing is left in it. A finalizer does here what Kubernetes does: without it this server ends
   * the namespace at once, and refuses all writes in it that policies are for.
   */
  const removeAll = async (inNamespace: string): Promise<void> => {
    const path = `/api/v1/namespaces/${inNamespace}`;
    await answered('PATCH', path, { metadata: { finalizers: ['example.org/contents'] } });
    await answered('DELETE', path);
    await until(
      `all objects of ${inNamespace} to go`,
      async () => (await removeIn(inNamespace)) === 0,
      // Whoever takes over from a manager that lost its lease, as the API server was away, waits for the end of it.
      { limit: 180_000, pause: 100, output: said },
    );
    await answered('PATCH', path, { metadata: { finalizers: [] } });
  };

  beforeAll(async () => {
    folder = ownFolder('heddle-tenant');
    server = await OvsdbServer.start();
    // No northd runs: it is as if it had answered all that will be written.
    await runOvs('ovn-nbctl', [`--db=${server.remote}`, 'init']);
    await runOvs('ovn-nbctl', [
      `--db=${server.remote}`,
      'set',
      'NB_Global',
      '.',
      'sb_cfg=1000000',
      'hv_cfg=1000000',
    ]);
    await api.install(definitions);
    await create(
      ...['victim', 'default', 'kube-system', OWN.plain].map((name) => namespace(name, {})),
      ...['blue', 'green'].map((name) => namespace(name)),
      ...['shared-a', OWN.shared, OWN.network].map((name) => namespace(name, PRIMARY)),
      node('n1', facts(1)),
      node('n2', facts(2)),
    );
    const role = (name: string, rules: readonly object[]): KubeObject =>
      ({
        apiVersion: 'rbac.authorization.k8s.io/v1',
        kind: 'ClusterRole',
        metadata: { name },
        rules,
      }) as KubeObject;
    await create(role('edit', EDIT), role('more', MORE));
    await installRules(api);
    for (const inNamespace of Object.values(OWN))
      for (const [name, accounts] of [
        ['edit', ['anna', 'bert']],
        ['heddle-network-editor', ['anna', 'bert']],
        ['more', ['bert']],
      ] as const)
        await create({
          apiVersion: 'rbac.authorization.k8s.io/v1',
          kind: 'RoleBinding',
          metadata: { name, namespace: inNamespace },
          roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name },
          subjects: accounts.map((account) => ({
            kind: 'ServiceAccount',
            name: account,
            namespace: OWN.plain,
          })),
        } as KubeObject);

    await start('cluster', `${MANAGER_ACCOUNT}@n1`, '--conversion-bind-address=127.0.0.1:0');
    await start(
      'node',
      `${NODE_ACCOUNT}@n1`,
      '--node=n1',
      '--socket=none',
      `--nb=${server.remote}`,
    );
    const flat = layer2('blue/flat', '10.21.0.0/24', 'Secondary');
    await create(
      layer3('blue/net', '10.20.0.0/16/24'),
      {
        ...flat,
        spec: { ...flat.spec, layer2: { ...flat.spec.layer2, ipam: { lifecycle: 'Persistent' } } },
      },
      layer3('green/net', '10.22.0.0/16/24'),
      clusterLayer3('shared', inNamespaces('shared-a', OWN.shared), '10.30.0.0/16/24'),
      connect('both', ['blue', 'green'], '192.168.0.0/16/24'),
      {
        apiVersion: 'k8s.cni.cncf.io/v1alpha1',
        kind: 'IPAMClaim',
        metadata: { namespace: 'blue', name: 'vm' },
        spec: { network: 'blue_flat', interface: 'net1' },
      },
      {
        apiVersion: 'networking.k8s.io/v1',
        kind: 'NetworkPolicy',
        metadata: { namespace: 'victim', name: 'closed' },
        spec: {
          podSelector: {},
          policyTypes: ['Ingress'],
          ingress: [{ from: [{ podSelector: {} }] }],
        },
      },
    );
    for (const path of [
      `${ovn('blue', 'userdefinednetworks')}/net`,
      `${ovn('blue', 'userdefinednetworks')}/flat`,
      `${ovn('green', 'userdefinednetworks')}/net`,
      '/apis/k8s.ovn.org/v1/clusteruserdefinednetworks/shared',
    ])
      await until(
        `${path} to be created`,
        async () => JSON.stringify(await get(path)).includes('"type":"NetworkCreated"'),
        WAIT,
      );
    const selection = JSON.stringify([
      { name: 'flat', namespace: 'blue', 'ipam-claim-reference': 'vm' },
    ]);
    const pods = [
      runnable('victim/web', 'n1'),
      runnable('kube-system/dns', 'n1'),
      runnable('blue/web', 'n1'),
      runnable('green/web', 'n1'),
      runnable('shared-a/web', 'n1'),
      runnable('blue/vm', 'n1', { 'k8s.v1.cni.cncf.io/networks': selection }),
    ];
    await create(...pods);
    for (const { metadata } of pods) await networksOf(`${metadata.namespace}/${metadata.name}`);
    const addressOn = async (key: string, network: string): Promise<string> =>
      (await networksOf(key)).get(network)?.addresses[0]?.split('/')[0] ?? '';
    await create(
      service('default/kubernetes', {
        clusterIP: '10.96.0.1',
        clusterIPs: ['10.96.0.1'],
        ports: [{ port: 443, targetPort: 6443 }],
      }),
      sliceOf('default/kubernetes', '172.18.0.10', 6443),
      service('kube-system/kube-dns', { clusterIP: '10.96.0.10', clusterIPs: ['10.96.0.10'] }),
      sliceOf('kube-system/kube-dns', await addressOn('kube-system/dns', 'default'), 80, 'dns'),
      service('victim/web', { type: 'NodePort', ports: [{ port: 80, nodePort: 30_080 }] }),
      sliceOf('victim/web', await addressOn('victim/web', 'default'), 80, 'web'),
      service('blue/web', {}),
      sliceOf('blue/web', await addressOn('blue/web', 'default'), 80, 'web'),
    );
    await settled();
  });
  afterAll(async () => {
    for (const daemon of daemons.values()) await daemon[Symbol.asyncDispose]();
    await server?.[Symbol.asyncDispose]();
    await api[Symbol.asyncDispose]();
    rmSync(folder, { recursive: true, force: true });
  });

  /** Networks that a pod was given, once it has an address on each. */
  const networksOf = async (key: string): Promise<ReadonlyMap<string, PodNetwork>> => {
    const [inNamespace = '', name = ''] = key.split('/');
    const path = `${core(inNamespace, 'pods')}/${name}`;
    let found: ReadonlyMap<string, PodNetwork> = new Map();
    await until(
      `addresses of ${key}`,
      async () => {
        found = podNetworks(await get(path)).value ?? found;
        return found.size > 0;
      },
      WAIT,
    );
    return found;
  };

  let canaries = 0;
  /** Another tenant's next pod gets its ports, and they go with it: whoever answers that has seen all that was before it. */
  const settled = async (): Promise<void> => {
    const name = `canary-${(canaries += 1)}`;
    await create(runnable(`blue/${name}`, 'n1'));
    const ports = async (): Promise<number> => {
      const list = await runOvs('ovn-nbctl', [
        `--db=${server.remote}`,
        '--bare',
        '--columns=name',
        'list',
        'Logical_Switch_Port',
      ]);
      return list.split('\n').filter((port) => port.endsWith(`blue_${name}`)).length;
    };
    await until('ports of a new pod', async () => (await ports()) === 2, WAIT);
    await api.call('DELETE', `${core('blue', 'pods')}/${name}?gracePeriodSeconds=0`);
    await until('ports of a pod that is gone to go', async () => (await ports()) === 0, WAIT);
  };
  const objects = async (): Promise<readonly string[]> => {
    const texts: string[] = [];
    for (const path of COLLECTIONS) {
      const { items = [] } = (await get(path)) as { items?: KubeObject[] };
      for (const item of items)
        if (
          !isOwn(item.metadata.namespace ?? '') &&
          !isOwn(item.metadata.name) &&
          !item.metadata.name.startsWith('canary') &&
          !(path.endsWith('/events') && JSON.stringify(item).includes(TOLD_LATER))
        )
          texts.push(ofOthers(path.split('/').at(-1) ?? '', item));
    }
    return texts.toSorted();
  };
  /** The objects of others, once the node and the manager have told that what was written last is in force: a pod that came and went is written, too. */
  const confirmed = async (): Promise<readonly string[]> => {
    let found: readonly string[] = [];
    await until(
      'what is told of others to be confirmed',
      async () => {
        found = await objects();
        return !found.some((text) => /"state":"Committed"|n1: Committed/.test(text));
      },
      { ...WAIT, output: said },
    );
    return found;
  };

  test(
    'is refused what is not his, and does nothing to others with what is',
    { timeout: 900_000, retry: 0 },
    async () => {
      const known = new Map<string, { address: string; mac: string }>();
      for (const [key, network] of [
        ['victim/web', 'default'],
        ['blue/web', 'blue/net'],
        ['shared-a/web', 'shared-a/shared'],
      ] as const) {
        const found = (await networksOf(key)).get(network);
        known.set(key, {
          address: found?.addresses[0]?.split('/')[0] ?? '',
          mac: found?.macAddress ?? '',
        });
      }
      const list = await attempts({
        address: (key) => known.get(key)?.address ?? '',
        mac: (key) => known.get(key)?.mac ?? '',
        uid: async (path) => (await get(path)).metadata.uid ?? '',
      });
      const first = await rows();
      let before = { objects: await confirmed(), rows: first };
      const attacks: Attack[] = [];
      const wrong: string[] = [];
      for (const { kind, name, by, method, path, body, refused } of list) {
        const token = `system:serviceaccount:${OWN.plain}:${ASKERS[by]}`;
        // He takes his time: what the cluster manager makes of a network is there when he aims at it.
        if (method !== 'POST' && refused !== NO_ROLE)
          await until(path, async () => (await api.call('GET', path)).status === 200, WAIT);
        const answer = await answered(method, path, body, token);
        const { message = '' } = (
          typeof answer.body === 'object' ? answer.body : { message: answer.body }
        ) as { message?: string };
        const isTaken = answer.status < 300;
        const problems: string[] = [];
        if (refused !== undefined) {
          if (isTaken || !message.includes(refused))
            problems.push(`was answered ${answer.status}: ${message}`);
        } else if (!isTaken) problems.push(`was refused, by ${answer.status}: ${message}`);
        if (isTaken) {
          try {
            await settled();
          } catch (error) {
            problems.push(
              `then another tenant's pod got no ports: ${String(error).split('\n')[0]}`,
            );
          }
          const after = { objects: await confirmed(), rows: await rows() };
          problems.push(
            ...difference(before.objects, after.objects),
            ...difference(before.rows, after.rows),
          );
          before = after;
        }
        attacks.push({ kind, by, isHeld: problems.length === 0 });
        wrong.push(...problems.map((problem) => `${kind}: ${name}: ${problem}`));
      }
      sayHeld("a tenant's requests", attacks);
      expect(wrong).toEqual([]);

      // Once an administrator has taken off what he keeps objects by, nothing of it stays.
      for (const inNamespace of Object.values(OWN)) await removeAll(inNamespace);
      let left: readonly string[] = [];
      await until(
        'the rows of the tenant to go',
        async () => {
          left = (await rowsOfServer()).own;
          return left.length === 0;
        },
        // Not `render-grace-period`, which is as long: what is not declared any more goes at once.
        { ...WAIT, output: () => `${left.slice(0, 10).join('\n')}\n${said()}` },
      );
      await settled();
      expect(difference(first, await rows())).toEqual([]);
    },
  );
});
