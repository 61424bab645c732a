/**
 * A real Kubernetes on the nodes of a lab: API server, controllers, scheduler, a kubelet and containerd per node, from the folder that HEDDLE_KUBERNETES
 * names (programs, and scripts that start and end them). Nothing is written there.
 */
import { createHash } from 'node:crypto';
import {
  appendFileSync,
  cpSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { join, relative, resolve } from 'node:path';
import { parse, stringify } from 'yaml';
import { heddleCommand, outputInside, runInside } from '../../../src/lab/exec.ts';
import { programsFolder } from '../../../src/lab/kubernetes/programs.ts';
import { lock } from '../../../src/lab/lock.ts';
import { down } from '../../../src/lab/lifecycle.ts';
import { checkout, nodeNames, rootFileSystem, stateFolder } from '../../../src/lab/paths.ts';
import { command } from '../../../src/lab/processes.ts';
import { labState, type LabRecord } from '../../../src/lab/state-file.ts';
import { VERSION } from '../../../src/process/version.ts';
import { buildImage, removeImages, saveImage, whyNoImage } from '../cluster/product-image.ts';
import { addRelease } from '../cluster/release-image.ts';
import { endsWithUs, whyNoLab } from './lab.ts';

const asked = process.env['HEDDLE_KUBERNETES'] ?? '';

/** Why there is none here; undefined where there is. */
export const whyNoRealKubernetes: string | undefined =
  whyNoLab ??
  (process.arch !== 'x64'
    ? `Kubernetes' programs are for x64 processors, this one is ${process.arch}`
    : asked === ''
      ? "HEDDLE_KUBERNETES names no folder with Kubernetes' programs"
      : existsSync(join(asked, 'e2e/cluster'))
        ? whyNoImage()
        : `HEDDLE_KUBERNETES is ${asked}, which has no e2e/cluster`);

/** Scripts run from a copy, which the lab's nodes see. */
export const kit = join(checkout, '.heddle/kit');
const API = { address: '172.18.0.10', port: '6443' };
const POD_SUBNETS = { v4: '10.244.0.0/16', v6: 'fd00:10:244::/48' };
const SERVICE_SUBNETS = '10.96.0.0/16,fd00:10:96::/112';

async function run(
  program: string,
  args: readonly string[],
  environment: Readonly<Record<string, string>> = {},
): Promise<string> {
  const variables = Object.entries(environment).map(([name, value]) => `${name}=${value}`);
  const { code, stdout, stderr } = await command('env', [
    '-C',
    checkout,
    ...variables,
    program,
    ...args,
  ]);
  if (code !== 0)
    throw new Error(
      `${program} ${args.join(' ')} ended with exit code ${code}:\n${stdout}\n${stderr}`,
    );
  return stdout;
}

const REPOSITORY = 'docker.io/library/heddle';
/** Heddle's, as clusters have it. */
const IMAGE = `${REPOSITORY}:${VERSION}`;
/** Tag of another version, which may have the same number. */
const OTHER_TAG = 'other';
/** Upstream's image of agnhost has a certificate of its own name, with which specs have it serve; the script makes none. */
const CERTIFICATE =
  'openssl req -x509 -newkey rsa:2048 -nodes -days 3650 -subj /CN=localhost -keyout "$w/agnhost/localhost.key" -out "$w/agnhost/localhost.crt" 2> /dev/null';

/** Packages, programs and images that stay the same, made once in the cache; Heddle's image is that of this checkout. */
async function prepared(): Promise<string> {
  const scripts = resolve(asked);
  const hash = createHash('sha256').update(CERTIFICATE);
  for (const name of ['packages', 'programs', 'images', 'mkimage', 'bin/SHA256SUMS'])
    hash.update(readFileSync(join(scripts, name)));
  const folder = join(programsFolder(), `real-${hash.digest('hex').slice(0, 12)}`);
  mkdirSync(programsFolder(), { recursive: true });
  await using _ = await lock('real-kubernetes', () => undefined);
  if (!existsSync(join(folder, 'complete'))) {
    rmSync(folder, { recursive: true, force: true });
    await run('bash', [join(scripts, 'packages'), folder]);
    await run('bash', [join(scripts, 'programs'), folder]);
    const copy = join(folder, 'scripts');
    for (const name of ['images', 'mkimage', 'e2e'])
      cpSync(join(scripts, name), join(copy, name), { recursive: true });
    replaceIn(join(copy, 'images'), 'cp "$dir/agnhost"', (found) => `${CERTIFICATE}; ${found}`);
    const images = [join(copy, 'images'), folder, rootFileSystem(), checkout];
    await run('bash', [...images, 'small agnhost']);
    writeFileSync(join(folder, 'complete'), '');
  }
  return ownFolder(folder);
}

/** What a cluster of this checkout runs: the same programs, and Heddle's image beside the other ones. Another checkout's clusters may start at the same time. */
function ownFolder(common: string): string {
  const own = join(checkout, '.heddle/kubernetes');
  rmSync(own, { recursive: true, force: true });
  mkdirSync(join(own, 'images'), { recursive: true });
  const entries = readdirSync(common).filter(
    (name) => !['images', 'complete', 'scripts'].includes(name),
  );
  const images = readdirSync(join(common, 'images')).filter((name) => name !== 'heddle.tar');
  for (const name of [...entries, ...images.map((image) => join('images', image))])
    symlinkSync(join(common, name), join(own, name));
  heddleImage(own);
  return own;
}

/** Heddle's image, as deploy/Dockerfile makes it. */
function heddleImage(folder: string): void {
  const name = 'heddle:e2e-kubernetes';
  saveImage(buildImage(name), join(folder, 'images/heddle.tar'), IMAGE);
  removeImages([name]);
}

/** The scripts, writable, as they run on a machine that has much else to do, and with both families. */
function copiedScripts(): string {
  const copy = join(checkout, '.heddle/kubernetes-scripts');
  rmSync(copy, { recursive: true, force: true });
  for (const name of ['up', 'down', 'node.sh', 'e2e'])
    cpSync(join(resolve(asked), name), join(copy, name), { recursive: true, dereference: true });
  // Control groups are named by node: those of two labs would be one.
  const group = 'heddle-kube-$n';
  for (const [name, verb] of [
    ['up', 'leave_cgroup'],
    ['node.sh', 'enter_cgroup'],
  ] as const)
    replaceIn(
      join(copy, name),
      `${verb} "${group}"`,
      () => `${verb} "heddle-kube-$(basename "$(dirname "$STATE")")-$n"`,
    );
  // A kubelet is a service of its node: by that group the isolation of primary networks knows who asks its probes.
  replaceIn(
    join(copy, 'node.sh'),
    String.raw`. "\$STATE/hierarchies"; be_daemon`,
    (found) =>
      String.raw`${found}; top=/sys/fs/cgroup; unified || top=\$top/unified; mkdir -p \$top/kubelet.service; echo \$\$ > \$top/kubelet.service/cgroup.procs`,
  );
  // Controllers give up when the API server takes more than 20 s to be ready.
  // Nodes of the lab have an address of each family.
  replaceIn(
    join(copy, 'node.sh'),
    '--node-ip $(address "$n")',
    (found) => `${found},fd00:172:18::$((10 + \${n#n}))`,
  );
  const early = 'launch kube-controller-manager ip netns';
  const awaited =
    'env KUBECONFIG="$STATE/kubeconfig" ip netns exec kube-api kubectl get --raw /readyz > /dev/null 2>&1';
  replaceIn(
    join(copy, 'up'),
    early,
    () =>
      `export STATE; launch kube-controller-manager bash -c 'until ${awaited}; do sleep 1; done; exec "$@"' - ip netns`,
  );
  return copy;
}

function replaceIn(file: string, text: string, by: (found: string) => string): void {
  const before = readFileSync(file, 'utf8');
  if (!before.includes(text)) throw new Error(`${file} has no "${text}"`);
  writeFileSync(file, before.replace(text, by));
}

/** docs/install.md's own overlay. */
interface Overlay {
  resources: string[];
  images: { name: string; newName: string; newTag: string }[];
  configMapGenerator: { name: string; literals: string[] }[];
  patches?: unknown[];
}

/** The numbers of this cluster, where the overlay has those of an example. */
const NUMBERS: Readonly<Record<string, string>> = {
  HEDDLE_CLUSTER_SUBNETS: `${POD_SUBNETS.v4}/24,${POD_SUBNETS.v6}/64`,
  HEDDLE_K8S_SERVICE_CIDRS: SERVICE_SUBNETS,
  KUBERNETES_SERVICE_HOST: API.address,
  KUBERNETES_SERVICE_PORT: API.port,
  HEDDLE_GATEWAY_INTERFACE: 'eth0',
};

/** The overlay of docs/install.md with this cluster's numbers. Throws when it has settings that are not known here, or lacks one. */
export function documentedOverlay(document: string): Overlay {
  const text = /# kustomization\.yaml\n([\s\S]*?)```/.exec(document)?.[1] ?? '';
  const overlay = parse(text) as Overlay;
  const [settings] = overlay.configMapGenerator;
  const names = settings?.literals.map((literal) => literal.split('=', 1)[0] ?? '') ?? [];
  const strange = names.filter((name) => NUMBERS[name] === undefined);
  const missing = Object.keys(NUMBERS).filter((name) => !names.includes(name));
  if (settings === undefined || strange.length + missing.length > 0)
    throw new Error(
      `docs/install.md's overlay: no number here for ${strange.join()}; missing ${missing.join()}`,
    );
  settings.literals = names.map((name) => `${name}=${NUMBERS[name]}`);
  overlay.images = [{ name: 'heddle', newName: REPOSITORY, newTag: VERSION }];
  overlay.resources = ['../../../deploy'];
  return overlay;
}

/** What the place needs besides, and no other cluster. */
function forThisPlace(overlay: Overlay, hasVrfs: boolean): Overlay {
  const [settings] = overlay.configMapGenerator;
  if (!hasVrfs) settings?.literals.push('HEDDLE_HOST_VRFS=false');
  // A machine with old cgroup hierarchies has the unified one beside them.
  if (!existsSync('/sys/fs/cgroup/cgroup.controllers'))
    overlay.patches = [
      ...(overlay.patches ?? []),
      {
        target: { kind: 'DaemonSet', name: 'heddle-node' },
        patch: stringify({
          apiVersion: 'apps/v1',
          kind: 'DaemonSet',
          metadata: { name: 'heddle-node', namespace: 'heddle' },
          spec: {
            template: {
              spec: {
                volumes: [{ name: 'cgroups', hostPath: { path: '/sys/fs/cgroup/unified' } }],
              },
            },
          },
        }),
      },
    ];
  return overlay;
}

/** Commands of kubectl in a section of docs/install.md, as words after `kubectl`; folders of the repository are those of this checkout. */
export function documentedCommands(
  document: string,
  section: string,
): readonly (readonly string[])[] {
  const text = new RegExp(`^## ${section}\\n([\\s\\S]*?)(?=^## )`, 'm').exec(document)?.[1] ?? '';
  return [...text.matchAll(/^ *```sh\n([\s\S]*?)```/gm)].flatMap(([, block = '']) =>
    block
      .replaceAll(/\\\n/g, ' ')
      .split('\n')
      .map((line) => line.trim().split(/\s+/))
      .filter(([program]) => program === 'kubectl')
      .map(([, ...words]) =>
        words.map((word) => (/^(deploy|schemas)\//.test(word) ? join(checkout, word) : word)),
      ),
  );
}

/** The overlay of docs/upgrade.md with which an older version is applied: its definitions are not. */
export function patchesOfWayBack(document: string): readonly unknown[] {
  const text = /# back\/kustomization\.yaml\n([\s\S]*?)```/.exec(document)?.[1] ?? '';
  const { patches = [] } = parse(text) as Partial<Overlay>;
  if (patches.length === 0) throw new Error('docs/upgrade.md has no overlay for the way back');
  return patches;
}

const NODE_ADDRESS = 'jsonpath={.status.addresses[?(@.type=="InternalIP")].address}';

/** Each part begins with a line of its own. What belongs to the place is left out, and what ovn-controller writes down for itself. */
const HOST = `
echo == devices; ip -o link show | cut -d: -f2 | cut -d@ -f1
echo == addresses; ip -br address show scope global
echo == ways; for f in -4 -6; do ip $f route show table all | grep -Ev 'table local|^fe80|^multicast|^ff00'; done
echo == rules; for f in -4 -6; do ip $f rule show; done
echo == tables; nft list tables | grep -v ' lab'
echo == settings; ovs-vsctl get Open_vSwitch . external_ids | tr -d '{} ' | tr , '\\n'
echo == other; ovs-vsctl get Open_vSwitch . other_config | tr -d '{} ' | tr , '\\n' | grep -Ev 'ovn-chassis-idx|vlan-limit'
echo == bridges; ovs-vsctl list-br
echo == plugins; ls /opt/cni/bin /etc/cni/net.d
`;

export interface PodOnNode {
  readonly node: string;
  readonly namespace: string;
  readonly name: string;
  readonly uid: string;
  /** On the node's network, by which its network namespace is found. */
  readonly address: string;
}

export interface RequestOptions {
  readonly body?: object;
  /** Content type. */
  readonly type?: string;
  readonly headers?: Readonly<Record<string, string>>;
}

interface Answer {
  readonly status: number;
  readonly text: string;
}

export interface SpecsOptions {
  /** Regular expressions of names; none is left out by an empty `skip`. */
  readonly focus: string;
  readonly skip: string;
  /** After so long no further one begins. */
  readonly seconds: number;
  readonly processes?: number;
  /** In the cluster's folder. */
  readonly kubeconfig?: string;
  readonly onOutput?: (text: string) => void;
}

export interface SpecsRun {
  /** File. */
  readonly log: string;
  /** ginkgo's JSON report. */
  readonly report: string;
}

export class RealKubernetes implements AsyncDisposable {
  readonly record: LabRecord;
  readonly #folder: string;
  readonly #environment: Readonly<Record<string, string>>;

  private constructor(
    record: LabRecord,
    folder: string,
    environment: Readonly<Record<string, string>>,
  ) {
    this.record = record;
    this.#folder = folder;
    this.#environment = environment;
  }

  /** Nodes without a network, and a control plane. `other` are the sources of another version, of which nodes have the image, too. */
  static async start(name: string, nodes: number, other?: string): Promise<RealKubernetes> {
    await down(name, () => undefined); // what a killed run left
    const folder = await prepared();
    if (other !== undefined)
      addRelease(join(folder, 'images/heddle.tar'), `${REPOSITORY}:${OTHER_TAG}`, other);
    const environment = {
      CHECKOUT: checkout,
      LAB: name,
      NODES_N: String(nodes),
      KUBE: folder,
      FAMILIES: 'dual',
      APISERVER_FLAGS: `--service-cluster-ip-range=${SERVICE_SUBNETS}`,
      CONTROLLERS_FLAGS: `--service-cluster-ip-range=${SERVICE_SUBNETS} --cluster-cidr=${Object.values(POD_SUBNETS).join()}`,
    };
    await run('bash', [join(copiedScripts(), 'e2e/cluster'), 'up'], environment);
    // Copied links may have become files.
    rmSync(join(kit, 'down'), { force: true });
    symlinkSync('up', join(kit, 'down'));
    const found = labState(name);
    if (found.state !== 'running') throw new Error(`lab ${name} is ${found.state}`);
    endsWithUs(found.record);
    return new RealKubernetes(found.record, folder, environment);
  }

  /** `external_ids` of a node's Open vSwitch. */
  async settings(node: string): Promise<readonly string[]> {
    const words = ['ovs-vsctl', 'get', 'Open_vSwitch', '.', 'external_ids'];
    const ids = await outputInside(this.record, ['on', node, ...words]);
    return [...ids.matchAll(/([\w-]+)=/g)].map(([, key = '']) => key);
  }

  /** Leaves of Open vSwitch's settings those that whoever sets up a node makes. */
  async keepSettings(keys: readonly string[]): Promise<void> {
    for (const node of nodeNames(this.record.nodes))
      for (const key of await this.settings(node))
        if (!keys.includes(key))
          await outputInside(this.record, [
            'on',
            node,
            'ovs-vsctl',
            '--no-wait',
            'remove',
            'Open_vSwitch',
            '.',
            'external_ids',
            key,
          ]);
  }

  /** Installs Heddle as docs/install.md says: `kubectl apply -k` of its overlay. `other` is another version's folder, in place of this one, as docs/upgrade.md says. */
  async installHeddle(hasVrfs: boolean, other?: string): Promise<void> {
    const read = (page: string): string => readFileSync(join(checkout, 'docs', page), 'utf8');
    const overlay = documentedOverlay(read('install.md'));
    const folder = join(kit, 'overlay');
    if (other !== undefined) {
      overlay.resources = [relative(folder, join(other, 'deploy'))];
      overlay.images = [{ name: 'heddle', newName: REPOSITORY, newTag: OTHER_TAG }];
      overlay.patches = [...patchesOfWayBack(read('upgrade.md'))];
    }
    mkdirSync(folder, { recursive: true });
    const text = stringify(forThisPlace(overlay, hasVrfs));
    writeFileSync(join(folder, 'kustomization.yaml'), text);
    await this.kubectl('apply', '-k', folder);
  }

  /**
   * The API server of a cluster is a process of a node, which reaches pods as such; this one is on a machine of its own. Its way is by the first
   * node, with that node's address.
   */
  async letApiReachPods(): Promise<void> {
    const [node = ''] = nodeNames(this.record.nodes);
    const via = (await this.kubectl('get', 'node', node, '-o', NODE_ADDRESS)).split(' ')[0] ?? '';
    await outputInside(this.record, [
      'ip',
      '-n',
      'kube-api',
      'route',
      'replace',
      POD_SUBNETS.v4,
      'via',
      via,
    ]);
    await outputInside(this.record, [
      'on',
      node,
      'nft',
      `add table ip lab-api; flush table ip lab-api; add chain ip lab-api post { type nat hook postrouting priority 100; ip saddr ${API.address} oifname "ovn-k8s-mp0" masquerade; }`,
    ]);
  }

  /** What Heddle and OVN could leave on a node: devices, addresses, ways, rules, tables of nftables, settings and bridges of Open vSwitch, plugins. */
  async hostOf(node: string): Promise<Readonly<Record<string, readonly string[]>>> {
    const text = await outputInside(this.record, ['on', node, 'bash', '-c', HOST]);
    const host = text.split(/^== /m).slice(1);
    return Object.fromEntries(
      host.map((part) => {
        const [what = '', ...lines] = part.trimEnd().split('\n');
        return [what, lines.map((line) => line.trim()).sort()];
      }),
    );
  }

  /**
   * Until the external bridge is there the node's kernel takes packets from the network card itself, and then Open vSwitch's userspace datapath does;
   * once the bridge is gone it is the kernel again. Resolves then.
   */
  async bridgeGone(node: string): Promise<void> {
    const wait = 'until ! ip link show breth0 > /dev/null 2>&1; do sleep 0.1; done';
    const script = `${wait}; nft delete table netdev lab`;
    await outputInside(this.record, ['on', node, 'timeout', '240', 'bash', '-c', script]);
  }

  /** Has an interface of a pod made, with the configuration of its NAD: the call that Multus makes, which is not there. */
  async addAsMultus(pod: PodOnNode, device: string, config: string): Promise<void> {
    const { node, namespace, name, uid } = pod;
    const labels = { 'pod.namespace': namespace, 'pod.name': name };
    const filter = [
      ...Object.entries(labels).map(([key, value]) => `labels."io.kubernetes.${key}"==${value}`),
      'labels."io.cri-containerd.kind"==sandbox',
    ].join();
    const ctr = [join(this.#folder, 'usr/bin/ctr'), '-n', 'k8s.io', 'containers', 'list', '-q'];
    const container = (await outputInside(this.record, ['on', node, ...ctr, filter])).trim();
    const args = {
      IgnoreUnknown: '1',
      K8S_POD_NAMESPACE: namespace,
      K8S_POD_NAME: name,
      K8S_POD_INFRA_CONTAINER_ID: container,
      K8S_POD_UID: uid,
    };
    const variables = {
      CNI_COMMAND: 'ADD',
      CNI_CONTAINERID: container,
      CNI_NETNS: `/run/netns/${await this.#namespaceAt(node, pod.address)}`,
      CNI_IFNAME: device,
      CNI_PATH: '/opt/cni/bin',
      CNI_ARGS: Object.entries(args)
        .map(([key, value]) => `${key}=${value}`)
        .join(';'),
    };
    const given = Object.entries(variables).map(([key, value]) => `${key}=${value}`);
    const plugin = '/opt/cni/bin/ovn-k8s-cni-overlay';
    const result = await runInside(this.record, ['on', node, 'env', ...given, plugin], {
      input: config,
    });
    if (result.code !== 0)
      throw new Error(`${device} of ${namespace}/${name}: ${result.stdout}${result.stderr}`);
  }

  /** What runs a program in the network namespace of a pod with this address. */
  async commandAt(node: string, address: string): Promise<readonly string[]> {
    return ['on', node, 'ip', 'netns', 'exec', await this.#namespaceAt(node, address)];
  }

  async #namespaceAt(node: string, address: string): Promise<string> {
    const script = `for n in $(ls /run/netns); do ip -n $n -o address show | grep -q " ${address}/" && echo $n; done; true`;
    const found = await outputInside(this.record, ['on', node, 'bash', '-c', script]);
    return found.trim();
  }

  /** Output of kubectl, as cluster-admin. Throws with its errors. */
  async kubectl(...words: readonly string[]): Promise<string> {
    const result = await this.tryKubectl(...words);
    if (result.code !== 0)
      throw new Error(`kubectl ${words.join(' ')}: ${result.stderr}${result.stdout}`);
    return result.stdout;
  }

  get #kubectl(): readonly string[] {
    return [
      'env',
      `KUBECONFIG=${join(stateFolder(this.record.name), 'kube/kubeconfig')}`,
      'ip',
      'netns',
      'exec',
      'kube-api',
      join(this.#folder, 'usr/bin/kubectl'),
    ];
  }

  tryKubectl(...words: readonly string[]): ReturnType<typeof runInside> {
    return this.kubectlWithInput('', ...words);
  }

  kubectlWithInput(input: string, ...words: readonly string[]): ReturnType<typeof runInside> {
    return runInside(this.record, [...this.#kubectl, ...words], { input });
  }

  /** `kubectl heddle`, as an administrator has it on a machine that is no node. */
  plugin(...words: readonly string[]): ReturnType<typeof runInside> {
    const plugin = join(stateFolder(this.record.name), 'kubectl-heddle');
    rmSync(plugin, { force: true });
    symlinkSync(join(checkout, 'dist/cli/main.js'), plugin);
    const [env = 'env', ...beforeKubectl] = this.#kubectl.slice(0, -1);
    const path = `PATH=${join(this.#folder, 'usr/bin')}:/usr/sbin:/usr/bin:/sbin:/bin`;
    const [node = 'node'] = heddleCommand(this.record, []);
    return runInside(this.record, [env, path, ...beforeKubectl, node, plugin, ...words]);
  }

  /** A token of a service account. */
  async token(namespace: string, account: string): Promise<string> {
    return (await this.kubectl('-n', namespace, 'create', 'token', account)).trim();
  }

  /** One request to the API server by who has this token, without what kubectl checks by itself. Rejects when there is no answer. */
  async request(
    token: string,
    method: string,
    path: string,
    { body, type = 'application/json', headers = {} }: RequestOptions = {},
  ): Promise<Answer> {
    const fields = { Authorization: `Bearer ${token}`, 'Content-Type': type, ...headers };
    const data = body === undefined ? [] : ['--data-binary', '@-'];
    const { code, stdout, stderr } = await runInside(
      this.record,
      [
        ['ip', 'netns', 'exec', 'kube-api', 'curl', '--silent', '--show-error'],
        ['--max-time', '40', '--write-out', '\n%{http_code}', '--request', method],
        ['--cacert', join(stateFolder(this.record.name), 'kube/pki/ca.crt'), ...data],
        Object.entries(fields).flatMap(([name, value]) => ['--header', `${name}: ${value}`]),
        [`https://${API.address}:${API.port}${path}`],
      ].flat(),
      { input: body === undefined ? '' : JSON.stringify(body) },
    );
    if (code !== 0) throw new Error(`${method} ${path}: ${stderr}`);
    const end = stdout.lastIndexOf('\n');
    return { status: Number(stdout.slice(end + 1)), text: stdout.slice(0, end) };
  }

  /** What answers to `GET /path` at a port that `kubectl port-forward` forwards; the words of kubectl. Rejects when it forwards none. */
  async throughForward(path: string, ...words: readonly string[]): Promise<string> {
    const script = `said=$(mktemp); "$@" > $said 2>&1 & trap "kill $!; rm $said" EXIT
      until port=$(sed -n 's/^Forwarding from 127.0.0.1:\\([0-9]*\\) .*/\\1/p' $said) && [ -n "$port" ]; do
        kill -0 $! || { cat $said; exit 1; }; sleep 0.05; done
      ip netns exec kube-api curl -s --max-time 20 http://127.0.0.1:$port/${path}`;
    return outputInside(this.record, ['bash', '-c', script, '-', ...this.#kubectl, ...words]);
  }

  async apply(name: string, ...objects: readonly object[]): Promise<void> {
    const file = join(kit, `${name}.yaml`);
    writeFileSync(file, objects.map((object) => stringify(object)).join('---\n'));
    await this.kubectl('apply', '-f', file);
  }

  /** Cluster DNS: a stand-in, which answers for services and pods. */
  async installDns(): Promise<void> {
    const script = `dns.mjs=${join(kit, 'e2e/dns.mjs')}`;
    await this.kubectl('-n', 'kube-system', 'create', 'configmap', 'dns', `--from-file=${script}`);
    const asked = readFileSync(join(kit, 'e2e/dns.yaml'), 'utf8');
    const file = join(kit, 'dns.yaml');
    // It does not mind SIGTERM.
    const text = asked.replace(
      '      dnsPolicy: Default',
      (found) => `      terminationGracePeriodSeconds: 1\n${found}`,
    );
    writeFileSync(file, text.replace(/docker\.io\/library\/heddle:\S+/, IMAGE));
    await this.kubectl('apply', '-f', file);
  }

  /** A kubeconfig with which cluster-admin acts as another user of the same rights. Its name in the cluster's folder. */
  async actingAs(user: string): Promise<string> {
    const folder = join(stateFolder(this.record.name), 'kube');
    const text = readFileSync(join(folder, 'kubeconfig'), 'utf8');
    const [whole = '', token = ''] = /user: \{token: ([^}]*)\}/.exec(text) ?? [];
    if (whole === '') throw new Error(`${folder}/kubeconfig has no token`);
    const user_ = `user: {token: ${token}, as: ${user}, as-groups: [system:masters]}`;
    writeFileSync(join(folder, `kubeconfig-${user}`), text.replace(whole, user_), { mode: 0o600 });
    return `kubeconfig-${user}`;
  }

  /** Runs upstream's specs whose names match. At the end nothing of them is left, as far as they clean up. */
  async specs(
    name: string,
    { focus, skip, seconds, processes = 2, kubeconfig = 'kubeconfig', onOutput }: SpecsOptions,
  ): Promise<SpecsRun> {
    const folder = join(checkout, '.heddle/results', name);
    rmSync(folder, { recursive: true, force: true });
    mkdirSync(folder, { recursive: true });
    const log = join(folder, 'log');
    const program = (file: string): string => join(this.#folder, file);
    await runInside(
      this.record,
      [
        ['timeout', '--signal=INT', '--kill-after=60', String(seconds)],
        ['env', `PATH=${program('usr/bin')}:/lab/bin:/usr/sbin:/usr/bin:/sbin:/bin`],
        // Specs of Conformance that would be skipped by the provider run.
        ['KUBERNETES_CONFORMANCE_TEST=y', 'ip', 'netns', 'exec', 'kube-api', program('ginkgo')],
        [`--procs=${processes}`, '--no-color', `--timeout=${seconds}s`, `--focus=${focus}`],
        skip === '' ? [] : [`--skip=${skip}`],
        [`--output-dir=${folder}`, '--json-report=report.json', '--output-interceptor-mode=none'],
        [program('e2e.test'), '--', '--provider=skeleton', '--dns-domain=cluster.local'],
        [`--kubeconfig=${join(stateFolder(this.record.name), 'kube', kubeconfig)}`],
        [`--num-nodes=${this.record.nodes}`],
      ].flat(),
      {
        onStdout(text) {
          appendFileSync(log, text);
          onOutput?.(text);
        },
      },
    );
    const report = join(folder, 'report.json');
    if (!existsSync(report)) throw new Error(`specs ${name} made no report: see ${log}`);
    return { log, report: readFileSync(report, 'utf8') };
  }

  /** Logs of all containers of Heddle, for a failed test. */
  async logs(): Promise<string> {
    const words = ['--all-containers', '--tail=20', '--prefix', '--ignore-errors'];
    const { stdout } = await this.tryKubectl(
      '-n',
      'heddle',
      'logs',
      '-l',
      'app.kubernetes.io/name=heddle',
      ...words,
    );
    return stdout;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await run('bash', [join(kit, 'e2e/cluster'), 'down'], this.#environment);
  }
}

/** What of a cluster is still there after its end. */
export function leftOf(name: string): readonly string[] {
  const folders = [stateFolder(name)].filter((folder) => existsSync(folder));
  const top = '/sys/fs/cgroup';
  const hierarchies = existsSync(join(top, 'cgroup.controllers'))
    ? [top]
    : readdirSync(top).map((one) => join(top, one));
  const cgroups = hierarchies.flatMap((folder) =>
    readdirSync(folder)
      .filter((entry) => entry.startsWith(`heddle-kube-${name}-`))
      .map((entry) => join(folder, entry)),
  );
  const mounts = readFileSync('/proc/self/mountinfo', 'utf8')
    .split('\n')
    .filter((line) => line.includes(`heddle-lab/${name}/`));
  return [...folders, ...cgroups, ...mounts];
}
