/** A real Kubernetes API server (lab/kube-mini) on loopback, with an etcd of its own. */
import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { cp, readFile, rm, writeFile } from 'node:fs/promises';
import { request } from 'node:https';
import { join } from 'node:path';
import { kubeconfigText } from '../../../src/lab/kubernetes/kubeconfig.ts';
import {
  apiServerArguments,
  etcdArguments,
  programPath,
} from '../../../src/lab/kubernetes/programs.ts';
import { LabError } from '../../../src/lab/paths.ts';
import { systemClock } from '../../../src/store/clock.ts';
import { kubeconfigConnection } from '../../../src/store/kubernetes/kubeconfig.ts';
import type { KubernetesConnection } from '../../../src/store/kubernetes/kubernetes-connection.ts';
import { ownFolder } from '../run/left-behind.ts';
import { errorCodes, until, type Waiting } from '../run/until.ts';
import { freePort } from '../run/free-port.ts';

const START_LIMIT = 60_000;

export interface KubeApi extends AsyncDisposable {
  readonly url: string;
  /** PEM of the server's certificate, which is its own authority. */
  readonly ca: string;
  readonly kubeconfig: string;
  /** A kubeconfig file for something that stands before the server; `token` says who asks, an administrator where it is left out. */
  kubeconfigFor(server: string, token?: string): Promise<string>;
  readonly connection: KubernetesConnection;
  /**
   * One call past our client, for what a test prepares or looks at itself. `token` says who asks: `system:serviceaccount:NS:NAME`, with `@NODE`
   * as a pod on that node; an administrator where it is left out. A `PATCH` is a merge patch.
   */
  call(
    method: string,
    path: string,
    body?: unknown,
    token?: string,
  ): Promise<{ status: number; body: unknown }>;
  /** `kubectl apply` of custom resource definitions; resolves when they are served. */
  install(definitions: readonly object[]): Promise<void>;
  /** Process ids of the API server and etcd. */
  pids(): Promise<readonly number[]>;
  stop(): Promise<void>;
  /** Starts it again on the same port and data. */
  start(): Promise<void>;
  /** Keeps what etcd has at this moment, beside what a backup before kept. The server is away for it. */
  backup(): Promise<void>;
  /** Puts the last backup in the place of what etcd has: objects and the number of the last version are as they were then. */
  restore(): Promise<void>;
  /** An etcd without anything is in the place of what there was: a disk that is new, or not mounted. */
  empty(): Promise<void>;
  /** Forgets old versions, so that watches from them end with 410. */
  compact(): Promise<void>;
}

/** The programs, or why they can't be had on this machine. */
async function programs(): Promise<{ etcd: string; server: string } | string> {
  try {
    const [etcd, server] = await Promise.all([programPath('etcd'), programPath('apiserver')]);
    return { etcd, server };
  } catch (error) {
    if (!(error instanceof LabError)) throw error;
    return error.message;
  }
}

/** A server that is starting: nobody listens yet, or its certificate is not written. */
const NOT_YET = new Set<unknown>(['ECONNREFUSED', 'ECONNRESET', 'ENOENT']);

/** How long one that starts is waited for. */
const starting = (output: () => string): Waiting => ({
  limit: START_LIMIT,
  pause: 50,
  isExpected: (error) => errorCodes(error).some((code) => NOT_YET.has(code)),
  output,
});

/** Ends the program when our end of the pipe is closed: also when the test runner was killed. */
const SUPERVISOR = '"$@" & read -r _; kill -9 $!; wait $!';

class Program {
  readonly #child: ChildProcess;
  #output = '';

  constructor(command: string, args: readonly string[]) {
    this.#child = spawn('sh', ['-c', SUPERVISOR, 'sh', command, ...args], {
      stdio: ['pipe', 'pipe', 'pipe'],
    });
    for (const stream of [this.#child.stdout, this.#child.stderr])
      stream?.on('data', (data: Buffer) => {
        this.#output = (this.#output + data.toString()).slice(-4000);
      });
  }

  get output(): string {
    return this.#output;
  }

  /** Of the program, not of the shell that watches over it. */
  async pid(): Promise<number> {
    const shell = this.#child.pid ?? 0;
    const children = await readFile(`/proc/${shell}/task/${shell}/children`, 'utf8');
    return Number(children.trim().split(' ')[0]);
  }

  async kill(): Promise<void> {
    if (this.#child.exitCode !== null || this.#child.signalCode !== null) return;
    this.#child.stdin?.end();
    await once(this.#child, 'exit');
  }
}

/** Starts one, or says why that can't be done here. */
export async function startKubeApi(): Promise<KubeApi | string> {
  const found = await programs();
  if (typeof found === 'string') return found;
  const folder = ownFolder('heddle-kube');
  const [etcdPort, peerPort, port] = [await freePort(), await freePort(), await freePort()];
  const etcdUrl = `http://127.0.0.1:${etcdPort}`;
  const peerUrl = `http://127.0.0.1:${peerPort}`;
  const [data, kept] = [join(folder, 'etcd'), join(folder, 'etcd.backup')];
  const startEtcd = async (): Promise<Program> => {
    const program = new Program(
      found.etcd,
      etcdArguments({ folder: data, client: etcdUrl, peer: peerUrl }),
    );
    await until(
      'an answer of etcd',
      async () => (await fetch(`${etcdUrl}/health`)).ok,
      starting(() => program.output),
    );
    return program;
  };
  let etcd = await startEtcd();
  const etcdPost = async (path: string, body: object): Promise<Record<string, unknown>> => {
    const answer = await fetch(`${etcdUrl}${path}`, { method: 'POST', body: JSON.stringify(body) });
    return (await answer.json()) as Record<string, unknown>;
  };

  const url = `https://127.0.0.1:${port}`;
  const pki = join(folder, 'pki');
  let server: Program | undefined;
  let ca = '';
  const call: KubeApi['call'] = (method, path, body, token = 'admin') =>
    new Promise((resolve, reject) => {
      const type = method === 'PATCH' ? 'application/merge-patch+json' : 'application/json';
      const headers = { authorization: `Bearer ${token}`, 'content-type': type };
      const outgoing = request(
        `${url}${path}`,
        { method, ca, headers, agent: false },
        (response) => {
          let text = '';
          response.setEncoding('utf8').on('data', (chunk: string) => (text += chunk));
          response.on('error', reject).on('end', () => {
            const status = response.statusCode ?? 0;
            resolve({ status, body: text.startsWith('{') ? (JSON.parse(text) as unknown) : text });
          });
        },
      );
      outgoing.on('error', reject).end(body === undefined ? undefined : JSON.stringify(body));
    });
  const start = async (): Promise<void> => {
    const running = new Program(
      found.server,
      apiServerArguments({ etcd: etcdUrl, port, certificates: pki }),
    );
    server = running;
    await until(
      'an answer of the API server',
      async () => {
        ca = await readFile(join(pki, 'apiserver.crt'), 'utf8');
        return (await call('GET', '/readyz')).status === 200;
      },
      starting(() => running.output),
    );
  };
  await start();
  /** With both programs away. */
  const whileAway = async (change: () => Promise<void>): Promise<void> => {
    await server?.kill();
    await etcd.kill();
    await change();
    etcd = await startEtcd();
    await start();
  };
  const writeKubeconfig = async (name: string, server: string, token: string): Promise<string> => {
    const file = join(folder, name);
    await writeFile(file, kubeconfigText({ server, ca, token }));
    return file;
  };
  const kubeconfig = await writeKubeconfig('kubeconfig', url, 'admin');
  return {
    url,
    ca,
    kubeconfig,
    kubeconfigFor: (server, token = 'admin') =>
      writeKubeconfig(`kubeconfig-${`${server} ${token}`.replaceAll(/\W+/g, '-')}`, server, token),
    connection: await kubeconfigConnection({
      files: [kubeconfig],
      clock: systemClock,
      environment: process.env,
    }),
    call,
    start,
    pids: () => Promise.all([server, etcd].map(async (one) => (await one?.pid()) ?? 0)),
    stop: async () => server?.kill(),
    async install(definitions) {
      const path = '/apis/apiextensions.k8s.io/v1/customresourcedefinitions';
      for (const definition of definitions) {
        const { status, body } = await call('POST', path, definition);
        if (status !== 201) throw new Error(`CRD refused: ${JSON.stringify(body)}`);
      }
      for (const definition of definitions as readonly Definition[]) {
        const { group, names, versions } = definition.spec;
        for (const { name } of versions)
          await until(
            `${names.plural} to be served`,
            async () =>
              (await call('GET', `/apis/${group}/${name}/${names.plural}`)).status === 200,
            starting(() => server?.output ?? ''),
          );
      }
    },
    backup: () =>
      whileAway(async () => {
        await rm(kept, { recursive: true, force: true });
        await cp(data, kept, { recursive: true });
      }),
    restore: () =>
      whileAway(async () => {
        await rm(data, { recursive: true });
        await cp(kept, data, { recursive: true });
      }),
    empty: () => whileAway(() => rm(data, { recursive: true })),
    async compact() {
      const { header } = await etcdPost('/v3/kv/range', { key: 'AA==' });
      const { revision } = header as { revision: string };
      await etcdPost('/v3/kv/compaction', { revision, physical: true });
    },
    async [Symbol.asyncDispose]() {
      await server?.kill();
      await etcd.kill();
      await rm(folder, { recursive: true, force: true });
    },
  };
}

interface Definition {
  readonly spec: {
    readonly group: string;
    readonly names: { readonly plural: string };
    readonly versions: readonly { readonly name: string }[];
  };
}
