/**
 * A tenant of a real cluster, with the tokens of two service accounts in his namespaces: `editor` has Kubernetes' role `edit` and
 * `heddle-network-editor`, `more` besides what some clusters add. What he asks of the API server and of kubelets against others.
 */
import { OUTSIDE } from '../../../src/lab/node-facts.ts';
import { difference } from '../ovsdb/northbound-rows.ts';
import { until } from '../run/until.ts';
import type { Attack } from './held-table.ts';
import type { PodOnNode, RealKubernetes, RequestOptions } from './real-kubernetes.ts';

/** His namespaces: on the default network, on a network of his own, and on one that he takes away beneath his pods. */
export const OWN = { plain: 'mallory', network: 'mallory-net', gone: 'mallory-gone' } as const;
const { plain, network, gone } = OWN;
export const isOfTenant = (text: string): boolean => text.includes(plain);

const ACCOUNTS = { editor: 'anna', more: 'bert' } as const;
export type Asker = keyof typeof ACCOUNTS;

/** What some clusters give a tenant besides the role `edit`. */
const MORE = [
  {
    apiGroups: [''],
    resources: [
      'pods/status',
      'pods/binding',
      'bindings',
      'pods/ephemeralcontainers',
      'namespaces',
      'namespaces/status',
      'namespaces/finalize',
    ],
    verbs: ['get', 'list', 'create', 'patch', 'update'],
  },
  { apiGroups: ['discovery.k8s.io'], resources: ['endpointslices'], verbs: ['*'] },
  {
    apiGroups: ['k8s.cni.cncf.io'],
    resources: ['network-attachment-definitions', 'ipamclaims', 'ipamclaims/status'],
    verbs: ['*'],
  },
];

export const core = (namespace: string, plural: string): string =>
  `/api/v1/namespaces/${namespace}/${plural}`;
export const udns = (namespace: string): string =>
  `/apis/k8s.ovn.org/v1/namespaces/${namespace}/userdefinednetworks`;

/** Address of n1. */
const NODE = OUTSIDE.v4.replace('100', '11');
export const PORT = 8080;
export const IMAGE = 'registry.k8s.io/e2e-test-images/agnhost:2.63.0';

/** A pod that answers by HTTP with its name. */
export const answering = (
  namespace: string,
  name: string,
  nodeName: string,
  { annotations = {}, ...spec }: { annotations?: object } & Readonly<Record<string, unknown>> = {},
): object => ({
  apiVersion: 'v1',
  kind: 'Pod',
  metadata: { namespace, name, annotations },
  spec: {
    nodeName,
    terminationGracePeriodSeconds: 1,
    containers: [
      { name: 'web', image: IMAGE, args: ['netexec', `--http-port=${PORT}`, '--udp-port=-1'] },
    ],
    ...spec,
  },
});
export const flat = (namespace: string, name: string, cidr: string, role: string): object => ({
  apiVersion: 'k8s.ovn.org/v1',
  kind: 'UserDefinedNetwork',
  metadata: { namespace, name },
  spec: { topology: 'Layer2', layer2: { role, subnets: [cidr] } },
});
export const primaryNetwork = (namespace: string): object =>
  flat(namespace, 'net', '10.66.0.0/16', 'Primary');
export const namespaceOf = (name: string, labels: object): object => ({
  apiVersion: 'v1',
  kind: 'Namespace',
  metadata: { name, labels },
});
export const PRIMARY = { 'k8s.ovn.org/primary-user-defined-network': '' };

const merged = (metadata: object): RequestOptions => ({
  type: 'application/merge-patch+json',
  body: { metadata },
});

/** A pod of somebody else. */
export interface Victim extends PodOnNode {
  /** Of its primary network. */
  readonly addresses: readonly string[];
}

/** What answers to `GET /hostname` at each address, of those that answer at all. */
const REACH = `
import json, sys, threading, urllib.request
answers = {}
def ask(host):
    name = '[%s]' % host if ':' in host else host
    try:
        with urllib.request.urlopen('http://%s:${PORT}/hostname' % name, timeout=3) as answer:
            answers[host] = answer.read().decode()
    except OSError:
        pass
threads = [threading.Thread(target=ask, args=[one]) for one in sys.argv[1:]]
for one in threads: one.start()
for one in threads: one.join()
print(json.dumps(answers))
`;

export type Line = readonly [
  name: string,
  method: string,
  path: string,
  options?: RequestOptions | undefined,
  /** Part of the answer; undefined where the server takes the request, which then must do nothing to others. */
  refused?: RegExp,
];

const OPEN = 'k8s.ovn.org/open-default-ports';
/** Reads what it runs from who is attached to it. */
const SHELL = {
  restartPolicy: 'Never',
  containers: [{ name: 'web', image: IMAGE, command: ['bash'], stdin: true, stdinOnce: true }],
};

export class HostileTenant {
  readonly #cluster: RealKubernetes;
  readonly #tokens: Readonly<Record<Asker, string>>;
  readonly attacks: Attack[] = [];
  #canaries = 0;
  /** What others have, as it was when he came. */
  #others: readonly string[] = [];

  private constructor(cluster: RealKubernetes, tokens: Readonly<Record<Asker, string>>) {
    this.#cluster = cluster;
    this.#tokens = tokens;
  }

  /** Makes his namespaces and accounts as an administrator does, and by his token his networks and pods. */
  static async settle(cluster: RealKubernetes): Promise<HostileTenant> {
    const rbac = 'rbac.authorization.k8s.io';
    const baseline = { 'pod-security.kubernetes.io/enforce': 'baseline' };
    const bind = (namespace: string, role: string, accounts: readonly string[]): object => ({
      apiVersion: `${rbac}/v1`,
      kind: 'RoleBinding',
      metadata: { namespace, name: role },
      roleRef: { apiGroup: rbac, kind: 'ClusterRole', name: role },
      subjects: accounts.map((name) => ({ kind: 'ServiceAccount', namespace: plain, name })),
    });
    const both = Object.values(ACCOUNTS);
    await cluster.apply(
      'tenant',
      namespaceOf(plain, baseline),
      ...[network, gone].map((name) => namespaceOf(name, { ...baseline, ...PRIMARY })),
      { apiVersion: `${rbac}/v1`, kind: 'ClusterRole', metadata: { name: 'mallory' }, rules: MORE },
      ...both.map((name) => ({
        apiVersion: 'v1',
        kind: 'ServiceAccount',
        metadata: { namespace: plain, name },
      })),
      ...Object.values(OWN).flatMap((namespace) => [
        bind(namespace, 'edit', both),
        bind(namespace, 'heddle-network-editor', both),
        bind(namespace, 'mallory', [ACCOUNTS.more]),
      ]),
    );
    const [editor, more] = await Promise.all(both.map((name) => cluster.token(plain, name)));
    const tenant = new HostileTenant(cluster, { editor: editor ?? '', more: more ?? '' });
    tenant.#others = await tenant.#objects();
    await tenant.make(udns(network), primaryNetwork(network));
    await tenant.make(udns(gone), primaryNetwork(gone));
    const pods = [
      [plain, 'own', 'n1', { serviceAccountName: ACCOUNTS.editor }],
      [network, 'own', 'n1', {}],
      [network, 'peer', 'n2', {}],
      [network, 'open', 'n1', { annotations: { [OPEN]: `- {protocol: tcp, port: ${PORT}}` } }],
      [network, 'shell', 'n1', SHELL],
      [gone, 'own', 'n1', {}],
      [gone, 'peer', 'n2', {}],
    ] as const;
    for (const [namespace, name, node, more_] of pods)
      await tenant.make(core(namespace, 'pods'), answering(namespace, name, node, more_));
    for (const namespace of Object.values(OWN)) await tenant.ready(namespace, '--all');
    return tenant;
  }

  /** As `editor`; throws when it is refused. */
  async make(path: string, body: object): Promise<void> {
    // In a namespace that is new the account of pods comes a moment later.
    await until(
      `POST ${path}`,
      async () => {
        const { status, text } = await this.#cluster.request(this.#tokens.editor, 'POST', path, {
          body,
        });
        if (status === 201) return true;
        if (!text.includes('serviceaccount')) throw new Error(`POST ${path}: ${text}`);
        return false;
      },
      { limit: 30_000, pause: 200 },
    );
  }

  async ready(namespace: string, ...pods: readonly string[]): Promise<void> {
    const wait = ['wait', 'pod', ...pods, '--for=condition=Ready', '--timeout=90s'];
    await this.#cluster.kubectl('-n', namespace, ...wait);
  }

  /** Another tenant's next pod comes up, by the kubelet, and goes. */
  async #canary(): Promise<void> {
    const name = `canary-${(this.#canaries += 1)}`;
    await this.#cluster.apply('canary', answering('layer3', name, 'n1'));
    await this.ready('layer3', name);
    await this.#cluster.kubectl('-n', 'layer3', 'delete', 'pod', name, '--wait=false');
  }

  /** Which objects of others were changed since he came, as texts, without what is told of them. */
  async changed(): Promise<readonly string[]> {
    return difference(this.#others, await this.#objects());
  }

  async #objects(): Promise<readonly string[]> {
    const kinds =
      'namespaces,pods,services,endpointslices,networkpolicies,userdefinednetworks,network-attachment-definitions,zonestatuses';
    const { items } = JSON.parse(await this.#cluster.kubectl('get', kinds, '-A', '-o', 'json')) as {
      readonly items: readonly (Record<string, unknown> & {
        readonly metadata: Readonly<Record<string, unknown>>;
        readonly status?: { readonly problems?: readonly unknown[] };
      })[];
    };
    return items.flatMap(({ kind, metadata: meta, spec, endpoints, ports, status }) => {
      const { namespace, name, labels, annotations, finalizers, ownerReferences } = meta;
      const { deletionTimestamp } = meta;
      const who = `${String(kind)} ${String(namespace)}/${String(name)}`;
      if (isOfTenant(who) || who.includes('/canary-')) return [];
      const problems = status?.problems?.filter((one) => !isOfTenant(JSON.stringify(one)));
      const all = { labels, annotations, finalizers, ownerReferences, deletionTimestamp };
      return [`${who} ${JSON.stringify({ ...all, spec, endpoints, ports, problems })}`];
    });
  }

  /** `problems`: what came of it that must not; none where it was held. */
  held(kind: string, by: string, problems: readonly string[]): readonly string[] {
    this.attacks.push({ kind, by, isHeld: problems.length === 0 });
    return problems.map((problem) => `${kind}, ${by}: ${problem}`);
  }

  /** Asks one after the other, and after those that were taken looks at what others have. Resolves with what was not held. */
  async ask(kind: string, by: Asker, ...lines: readonly Line[]): Promise<readonly string[]> {
    const wrong: string[] = [];
    let isTaken = false;
    for (const [name, method, path, options, refused] of lines) {
      const { status, text } = await this.#cluster.request(this.#tokens[by], method, path, options);
      isTaken ||= status < 300;
      const isAsExpected =
        refused === undefined ? status < 300 : status >= 300 && refused.test(text);
      const said = `${name}: ${method} ${path} was answered ${status}: ${text.slice(0, 600)}`;
      wrong.push(...this.held(kind, by, isAsExpected ? [] : [said]));
    }
    if (!isTaken) return wrong;
    await this.#canary();
    const changed = await this.changed();
    return [...wrong, ...this.held(`${kind}: what others have`, by, changed)];
  }

  /** What answers at these addresses to a process in a pod: by address, the name of who answers. */
  async answers(
    by: Asker | 'administrator',
    namespace: string,
    pod: string,
    addresses: readonly string[],
    container = 'web',
  ): Promise<Readonly<Record<string, string>>> {
    const words = ['exec', pod, '-c', container, '--', 'python3', '-c', REACH, ...addresses];
    const { code, stdout, stderr } = await this.kubectl(by, '', '-n', namespace, ...words);
    if (code !== 0) throw new Error(`exec ${namespace}/${pod}: ${stdout}${stderr}`);
    return JSON.parse(stdout) as Record<string, string>;
  }

  /** The same to what a process runs that he is attached to, and which ends then. */
  async answersToAttached(addresses: readonly string[]): Promise<Readonly<Record<string, string>>> {
    const input = `python3 - ${addresses.join(' ')} << 'END'\n${REACH}\nEND\n`;
    const words = ['-n', network, 'attach', 'shell', '-i', '-c', 'web', '--quiet'];
    const { code, stdout, stderr } = await this.kubectl('editor', input, ...words);
    const json = /\{.*\}/.exec(stdout)?.[0];
    if (code !== 0 || json === undefined) throw new Error(`attach: ${stdout}${stderr}`);
    return JSON.parse(json) as Record<string, string>;
  }

  /** Adds a container to a running pod of his; resolves with its name. */
  async addContainer(namespace: string, pod: string): Promise<string> {
    const added = { name: 'added', image: IMAGE, command: ['sleep', 'infinity'] };
    const path = `${core(namespace, 'pods')}/${pod}/ephemeralcontainers`;
    const { status, text } = await this.#cluster.request(this.#tokens.more, 'PATCH', path, {
      type: 'application/strategic-merge-patch+json',
      body: { spec: { ephemeralContainers: [added] } },
    });
    if (status !== 200) throw new Error(`${path}: ${text}`);
    const running = '--for=jsonpath={.status.ephemeralContainerStatuses[0].state.running}';
    await this.#cluster.kubectl('-n', namespace, 'wait', `pod/${pod}`, running, '--timeout=60s');
    return added.name;
  }

  /** Who answers at a port of a pod of his that a kubelet forwards. */
  forwarded(namespace: string, pod: string): Promise<string> {
    const forward = ['-n', namespace, 'port-forward', pod, `:${PORT}`];
    return this.#cluster.throughForward('hostname', '--token', this.#tokens.editor, ...forward);
  }

  /** What kubectl has kubelets do with a pod, as `by`; none where each is refused by RBAC. */
  async byKubelet(by: Asker, namespace: string, pod: string): Promise<readonly string[]> {
    const ways = {
      'executes in a pod of others': ['exec', pod, '--', 'id'],
      'is attached to one': ['attach', pod],
      'has its port forwarded': ['port-forward', pod, `:${PORT}`],
    };
    const wrong: string[] = [];
    for (const [kind, words] of Object.entries(ways)) {
      const { code, stdout, stderr } = await this.kubectl(by, '', '-n', namespace, ...words);
      const isRefused = code !== 0 && stderr.includes('is forbidden: User');
      wrong.push(
        ...this.held(kind, by, isRefused ? [] : [`${namespace}/${pod}: ${stdout}${stderr}`]),
      );
    }
    return wrong;
  }

  /** Asks a port of a node from a pod of his, with the token that the kubelet gave it. */
  async askNode(port: number, path: string): Promise<readonly string[]> {
    const script = `curl -sk --max-time 20 -o /dev/null -w '%{http_code}' -H "Authorization: Bearer $(cat /var/run/secrets/kubernetes.io/serviceaccount/token)" 'https://${NODE}:${port}/${path}'`;
    const words = ['-n', plain, 'exec', 'own', '--', 'bash', '-c', script];
    const { stdout, stderr } = await this.kubectl('editor', '', ...words);
    const problems = stdout === '403' ? [] : [`${path} was answered ${stdout} ${stderr}`];
    return this.held(`port ${port} of a node`, 'editor', problems);
  }

  /** Has his network removed with an object that it belongs to, while his pods are on it, and takes off all that keeps it. */
  async takeAway(): Promise<string[]> {
    const anchor = { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'anchor' } };
    const anchors = core(gone, 'configmaps');
    await this.make(anchors, anchor);
    const { text } = await this.#asked('editor', 'GET', `${anchors}/anchor`);
    const { uid } = (JSON.parse(text) as { metadata: { uid: string } }).metadata;
    const net = `${udns(gone)}/net`;
    const owner = {
      apiVersion: 'v1',
      kind: 'ConfigMap',
      name: 'anchor',
      uid,
      blockOwnerDeletion: true,
    };
    await this.#asked('editor', 'PATCH', net, merged({ ownerReferences: [owner] }));
    await this.#asked('editor', 'DELETE', `${anchors}/anchor`);
    const deleted = '--for=jsonpath={.metadata.deletionTimestamp}';
    const wait = ['-n', gone, 'wait', '--timeout=60s'];
    await this.#cluster.kubectl(...wait, deleted, 'userdefinednetwork/net');
    // As long as he leaves the finalizers alone his pods have their network.
    const peer = await this.#cluster.kubectl(
      '-n',
      gone,
      'get',
      'pod',
      'peer',
      '-o',
      'jsonpath={.metadata.annotations.k8s\\.ovn\\.org/pod-networks}',
    );
    const address = /"(10\.66\.[\d.]+)\//.exec(peer)?.[1] ?? '';
    const answers = await this.answers('editor', gone, 'own', [address]);
    const isThere = answers[address] === 'peer';
    const wrong = [
      ...this.held(
        'a network whose owner is collected',
        'editor',
        isThere ? [] : [`peer at ${address}: ${JSON.stringify(answers)}`],
      ),
    ];
    const nad = `/apis/k8s.cni.cncf.io/v1/namespaces/${gone}/network-attachment-definitions/net`;
    await this.#asked('more', 'DELETE', nad);
    await this.#asked('editor', 'PATCH', net, merged({ finalizers: [] }));
    await this.#asked('more', 'PATCH', nad, merged({ finalizers: [] }));
    await this.#cluster.kubectl(
      ...wait,
      '--for=delete',
      'userdefinednetwork/net',
      'network-attachment-definition/net',
    );
    return wrong;
  }

  async #asked(
    by: Asker,
    method: string,
    path: string,
    options?: RequestOptions,
  ): ReturnType<RealKubernetes['request']> {
    const answer = await this.#cluster.request(this.#tokens[by], method, path, options);
    if (answer.status >= 300) throw new Error(`${method} ${path}: ${answer.text}`);
    return answer;
  }

  kubectl(
    by: Asker | 'administrator',
    input: string,
    ...words: readonly string[]
  ): ReturnType<RealKubernetes['tryKubectl']> {
    const token = by === 'administrator' ? [] : ['--token', this.#tokens[by]];
    return this.#cluster.kubectlWithInput(input, ...token, ...words);
  }
}
