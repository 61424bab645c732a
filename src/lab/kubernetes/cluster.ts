/**
 * `heddle lab up --kubernetes`: a lab whose objects are those of a Kubernetes API server, with what a cluster has around it: etcd, what deploy/ installs,
 * Heddle's daemons with the identities that they have there, containerd on each node, and stand-ins for the kubelet, the scheduler and the EndpointSlice controller.
 */
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { existsSync, mkdirSync, readFileSync, realpathSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { parse, stringify } from 'yaml';
import { namespaces, nodes, zoneStatuses } from '../../api/kinds.ts';
import { telling } from '../../process/waiting.ts';
import { systemClock } from '../../store/clock.ts';
import { KubernetesClient } from '../../store/kubernetes/kubernetes-client.ts';
import { kubeconfigConnection } from '../../store/kubernetes/kubeconfig.ts';
import { collectionPath } from '../../store/kubernetes/kubernetes-paths.ts';
import { daemonProcess, startDaemon } from '../daemons.ts';
import { heddleCommand, outputInside, runInside } from '../exec.ts';
import { runningLab, up, type UpOptions } from '../lifecycle.ts';
import { lock } from '../lock.ts';
import { nodeManifest } from '../node-facts.ts';
import { labSettings, settingsFile } from '../objects.ts';
import { LabError, nodeNames, stateFolder } from '../paths.ts';
import { installPlugin, startContainerd } from '../runtime/containerd.ts';
import type { LabRecord } from '../state-file.ts';
import { labStatus } from '../status.ts';
import {
  applyObject,
  installDefinitions,
  installRules,
  MANAGER_ACCOUNT,
  NODE_ACCOUNT,
} from './deployment.ts';
import {
  hasKubernetes,
  kubeconfigFile,
  kubernetesFolder,
  nodeKubeconfigFile,
  STAND_IN,
} from './files.ts';
import { kubeconfigText } from './kubeconfig.ts';
import { apiServerArguments, etcdArguments, programPath } from './programs.ts';
import { awaitSuccess } from './waiting.ts';

/** Where etcd, the API server and the cluster manager run, as on any node with a control plane. */
const CONTROL_NODE = 'n1';
/** Its neighbour `-`: beside the nodes, on this machine's network. */
const BESIDE = '-';
const PORT = 6443;
const ETCD = { client: 'http://127.0.0.1:2379', peer: 'http://127.0.0.1:2380' };

/** Settings of Heddle's daemons: cluster IPs are those that the API server hands out. */
const SETTINGS = { 'k8s-service-cidrs': '10.96.0.0/16' };

export interface KubernetesOptions extends UpOptions {
  /** More settings of Heddle's daemons that are started now. */
  readonly settings?: Readonly<Record<string, string>>;
}

type Progress = (line: string) => void;

/** Brings a lab up with a Kubernetes API server, and resolves when Heddle's daemons report to it. Starts again what does not run of a lab that is up. */
export async function upWithKubernetes(options: KubernetesOptions): Promise<LabRecord> {
  const { kind, families = 'v4', progress } = options;
  if (kind !== 'host')
    throw new LabError('--kubernetes is for labs of the kind host: pods are containers there');
  if (families !== 'v4')
    throw new LabError(
      `--kubernetes and --families ${families}: its API server hands out IPv4 cluster IPs alone; leave --families out`,
    );
  const { name } = await up(options);
  await using _ = await lock(`lab-${name}`, () => {
    progress(`another command works on lab '${name}', waiting for it`);
  });
  const lab = runningLab(name);
  await expectNoManifestDaemons(lab);
  await startControlPlane(lab, progress);
  await using clients = await openClients(lab);
  await awaitSuccess('the API server to be ready', () => isReady(clients.admin), progress);
  // Every cluster has it from the start.
  const metadata = { name: 'default' };
  await applyObject(clients.admin, namespaces, { apiVersion: 'v1', kind: 'Namespace', metadata });
  const installed = (async (): Promise<void> => {
    await installDefinitions(clients.admin);
    await installRules(clients.admin, clients.node);
  })();
  await telling('the API server to take what deploy/ has up', progress, installed);
  for (const node of nodeNames(lab.nodes))
    await applyObject(clients.admin, nodes, nodeManifest(node));
  progress('definitions, roles and admission policies of deploy/ are installed');
  await startWorkloads(lab, { ...SETTINGS, ...options.settings }, progress);
  try {
    const reported = (): Promise<void> => expectZones(lab, clients.admin);
    await awaitSuccess('the daemon of every node to report', reported, progress);
  } finally {
    await expectAll(lab); // one that has ended says more than that we waited
  }
  return lab;
}

async function expectNoManifestDaemons(lab: LabRecord): Promise<void> {
  if (hasKubernetes(lab.name)) return;
  for (const node of nodeNames(lab.nodes))
    if ((await daemonProcess(lab, node)) !== undefined)
      throw new LabError(
        `heddle node runs on ${node} of lab '${lab.name}' with the lab's manifests: end the lab first (heddle lab down --name ${lab.name}), or give another --name`,
      );
}

/** Starts a daemon that does not run; true when it was started now. */
async function startOnce(
  lab: LabRecord,
  node: string,
  name: string,
  argv: readonly string[],
): Promise<boolean> {
  const options = { isOnHostNetwork: node === BESIDE };
  const daemon = ['lab-daemon', node, name];
  if ((await runInside(lab, [...daemon, 'pid'], options)).code === 0) return false;
  await outputInside(lab, [...daemon, 'start', ...argv], options);
  return true;
}

async function startControlPlane(lab: LabRecord, progress: Progress): Promise<void> {
  // Its folder has, inside, the path that links lead to.
  const [etcd, server] = [
    realpathSync(await programPath('etcd', progress)),
    realpathSync(await programPath('apiserver', progress)),
  ];
  const folder = kubernetesFolder(lab.name);
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  const secretFile = join(folder, 'secret');
  if (!existsSync(secretFile))
    writeFileSync(secretFile, `${randomBytes(24).toString('hex')}/`, { mode: 0o600 });
  const started: string[] = [];
  const start = async (node: string, name: string, argv: readonly string[]): Promise<void> => {
    if (await startOnce(lab, node, name, argv)) started.push(name);
  };
  const data = { ...ETCD, folder: '/var/lib/lab/etcd' };
  await start(CONTROL_NODE, 'etcd', [etcd, ...etcdArguments(data)]);
  const health = ['curl', '--silent', '--fail', '--max-time', '2', `${ETCD.client}/health`];
  const isHealthy = async (): Promise<void> => {
    await outputInside(lab, ['on', CONTROL_NODE, ...health]);
  };
  await awaitSuccess('an answer of etcd', isHealthy, progress);
  const certificates = join(folder, 'pki');
  const options = { etcd: ETCD.client, port: PORT, certificates, secretFile };
  await start(CONTROL_NODE, 'kube-apiserver', [server, ...apiServerArguments(options)]);

  // It listens on loopback alone: the other nodes, and this machine, get there by a socket in the lab's folder.
  const socket = join(folder, 'api.sock');
  const listen = `UNIX-LISTEN:${socket},fork,unlink-early,mode=600`;
  await start(CONTROL_NODE, 'api-socket', ['socat', listen, `TCP:127.0.0.1:${PORT}`]);
  const relay = (port: number): string[] => [
    'socat',
    `TCP-LISTEN:${port},bind=127.0.0.1,fork,reuseaddr`,
    `UNIX-CONNECT:${socket}`,
  ];
  for (const node of nodeNames(lab.nodes))
    if (node !== CONTROL_NODE) await start(node, 'api-relay', relay(PORT));
  const known = await freePort(knownPort(lab));
  await start(BESIDE, 'api-on-this-machine', relay(known));
  const port = started.includes('api-on-this-machine') ? known : knownPort(lab);
  const hasCertificate = async (): Promise<void> => {
    if (!existsSync(join(certificates, 'apiserver.crt')))
      throw new LabError(`it is not there; see ${logOf(lab, CONTROL_NODE, 'kube-apiserver')}`);
  };
  await awaitSuccess('the certificate of the API server', hasCertificate, progress);
  writeKubeconfigs(lab, `https://127.0.0.1:${port}`, readFileSync(secretFile, 'utf8'));
  if (started.length > 0) progress(`started ${started.join(', ')}`);
}

/** The port of this machine that the lab's kubeconfig names; 0 before there is one. */
function knownPort({ name }: LabRecord): number {
  const file = kubeconfigFile(name);
  if (!existsSync(file)) return 0;
  const { clusters } = parse(readFileSync(file, 'utf8')) as {
    clusters: { cluster: { server: string } }[];
  };
  return Number(new URL(clusters[0]?.cluster.server ?? '').port);
}

/** The wanted port of loopback while nobody has it, else another one. */
async function freePort(wanted: number): Promise<number> {
  const server = createServer();
  const listening = once(server.listen(wanted, '127.0.0.1'), 'listening');
  try {
    await listening;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EADDRINUSE') throw error;
    return freePort(0);
  }
  const { port } = server.address() as { port: number };
  server.close();
  await once(server, 'close');
  return port;
}

function writeKubeconfigs(lab: LabRecord, outside: string, secret: string): void {
  const { name, nodes: count } = lab;
  const ca = readFileSync(join(kubernetesFolder(name), 'pki/apiserver.crt'), 'utf8');
  const write = (file: string, server: string, user: string, namespace?: string): void => {
    const of = { server, ca, token: `${secret.trim()}${user}` };
    const text = kubeconfigText(namespace === undefined ? of : { ...of, namespace });
    writeFileSync(file, text, { mode: 0o600 });
  };
  const inside = `https://127.0.0.1:${PORT}`;
  write(kubeconfigFile(name), outside, 'admin');
  const settings = labSettings(lab, { kubeconfig: kubeconfigFile(name), ...SETTINGS });
  writeFileSync(settingsFile(name), stringify(settings));
  write(nodeKubeconfigFile(name, STAND_IN), inside, 'admin');
  // As the tokens of the pods of deploy/ name their nodes.
  const manager = `${MANAGER_ACCOUNT}@${CONTROL_NODE}`;
  write(nodeKubeconfigFile(name, 'heddle-cluster'), inside, manager, 'heddle');
  for (const node of nodeNames(count)) {
    const account = `${NODE_ACCOUNT}@${node}`;
    write(nodeKubeconfigFile(name, `heddle-node-${node}`), inside, account, 'heddle');
  }
}

const logOf = (lab: LabRecord, node: string, name: string): string =>
  join(stateFolder(lab.name), node === BESIDE ? '' : node, `${name}.log`);

interface Clients extends AsyncDisposable {
  readonly admin: KubernetesClient;
  /** With the token of the daemon of the first node. */
  readonly node: KubernetesClient;
}

async function openClients({ name }: LabRecord): Promise<Clients> {
  const connection = await kubeconfigConnection({
    files: [kubeconfigFile(name)],
    clock: systemClock,
    environment: {},
  });
  const secret = readFileSync(join(kubernetesFolder(name), 'secret'), 'utf8').trim();
  const asNode = {
    ...connection,
    credentials: async (how: { readonly refused: boolean }) => ({
      ...(await connection.credentials(how)),
      authorization: `Bearer ${secret}${NODE_ACCOUNT}@${CONTROL_NODE}`,
    }),
  };
  const admin = new KubernetesClient(connection, 'heddle-lab');
  const node = new KubernetesClient(asNode, 'heddle-lab');
  return {
    admin,
    node,
    async [Symbol.asyncDispose]() {
      admin.close();
      node.close();
    },
  };
}

/** Throws while the server does not know roles and policies of its own. */
async function isReady(client: KubernetesClient): Promise<void> {
  const signal = AbortSignal.timeout(5000);
  const request = { method: 'GET', path: '/readyz', about: 'API server', signal } as const;
  await client.stream(request, 5000, { onOpen() {}, onLine() {} });
}

async function startWorkloads(
  lab: LabRecord,
  settings: Readonly<Record<string, string>>,
  progress: Progress,
): Promise<void> {
  const settingArguments = Object.entries(settings).map(([name, value]) => `--${name}=${value}`);
  // By this name the API server finds who converts between versions of our kinds.
  const host = '127.0.0.1 heddle-cluster.heddle.svc';
  await outputInside(lab, [
    'bash',
    '-c',
    'grep -qsxF "$0" /etc/hosts || echo "$0" >> /etc/hosts',
    host,
  ]);
  const manager = heddleCommand(lab, [
    'cluster',
    `--kubeconfig=${nodeKubeconfigFile(lab.name, 'heddle-cluster')}`,
    '--conversion-bind-address=127.0.0.1:443',
    // As in deploy/: its node's daemon has the port that is the default of both.
    '--metrics-bind-address=127.0.0.1:9477',
    ...settingArguments,
  ]);
  const standIn = (...args: string[]): string[] =>
    heddleCommand(lab, ['lab', ...args, `--name=${lab.name}`]);
  if (await startOnce(lab, CONTROL_NODE, 'heddle-cluster', manager))
    progress(`${CONTROL_NODE}: heddle cluster runs`);
  if (await startOnce(lab, CONTROL_NODE, 'controllers', standIn('controllers')))
    progress(`${CONTROL_NODE}: stand-ins for kube-scheduler and the EndpointSlice controller run`);
  await Promise.all(
    nodeNames(lab.nodes).map(async (node) => {
      await telling(`containerd of ${node}`, progress, startContainerd(lab, node));
      await installPlugin(lab, node);
      if ((await daemonProcess(lab, node)) === undefined) {
        const account = nodeKubeconfigFile(lab.name, `heddle-node-${node}`);
        await startDaemon(lab, node, settingArguments, [`--kubeconfig=${account}`]);
        progress(`${node}: containerd and heddle node run`);
      }
      if (await startOnce(lab, node, 'node-runtime', standIn('node-runtime', `--node=${node}`)))
        progress(`${node}: a stand-in for the kubelet runs`);
    }),
  );
}

async function expectZones(lab: LabRecord, client: KubernetesClient): Promise<void> {
  const path = collectionPath(zoneStatuses);
  const { items } = await client.send({ method: 'GET', path, about: zoneStatuses.plural });
  const found = (items as { metadata: { name: string } }[]).map(({ metadata }) => metadata.name);
  const missing = nodeNames(lab.nodes).filter((node) => !found.includes(node));
  if (missing.length > 0)
    throw new LabError(
      `nothing from ${missing.join(', ')}; see ${missing.map((node) => logOf(lab, node, 'heddle-node')).join(', ')}`,
    );
}

/** Fails with the last lines of a daemon's log when one has ended. */
async function expectAll(lab: LabRecord): Promise<void> {
  const status = await labStatus(lab);
  const all = [{ name: BESIDE, daemons: status.kubernetes?.daemons ?? {} }, ...status.nodes];
  for (const { name: node, daemons } of all)
    for (const [daemon, pid] of Object.entries(daemons)) {
      if (pid !== null) continue;
      const log = logOf(lab, node, daemon);
      const { stdout } = await runInside(lab, ['tail', '-n', '5', log]);
      throw new LabError(
        `${daemon} has ended${node === BESIDE ? '' : ` on ${node}`}. The last lines of ${log}:\n${stdout.trimEnd()}`,
      );
    }
}

/** How people use a lab with Kubernetes. */
export function usage({ name }: LabRecord): string {
  const of = name === 'default' ? '' : ` --name ${name}`;
  return [
    'Next:',
    `  export KUBECONFIG=${kubeconfigFile(name)}   # an administrator, for kubectl and others on this machine`,
    `  ./dev lab kubectl${of} apply -f FILE   # or with this kubectl; image heddle.lab/box:1 is on every node`,
    `  ./dev lab run${of} -- pod NAMESPACE/POD CMD   # in a pod's first container ('kubectl exec' does not work)`,
    `  ./dev status --config ${settingsFile(name)}   # networks and nodes, as Heddle sees them`,
    `  ./dev diff --config ${settingsFile(name)} --node n1   # what others changed in node n1's databases`,
    `  ./dev lab status${of}   # what runs; 'lab up --kubernetes' starts again what does not`,
    `  ./dev lab down${of}`,
  ].join('\n');
}
