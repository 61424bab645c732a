/** `heddle node` while what one of its loops waits for is stopped: pods come and go all the same. ovn-controller is the test. */
import { execFileSync, spawn, type ChildProcessByStdio } from 'node:child_process';
import { once } from 'node:events';
import {
  chmodSync,
  closeSync,
  existsSync,
  mkdirSync,
  openSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { connect, createServer, type AddressInfo, type Socket } from 'node:net';
import { join } from 'node:path';
import type { Readable } from 'node:stream';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { parseAllDocuments } from 'yaml';
import { inNetworkNamespace } from 'rtnetlink-ts';
import { resourceKindOf } from '../../../src/api/kinds.ts';
import type { KubeObject } from '../../../src/api/objects.ts';
import { shimScript } from '../../../src/cni/install/shim.ts';
import { program } from '../../../src/lab/paths.ts';
import { collectionPath } from '../../../src/store/kubernetes/kubernetes-paths.ts';
import { FileLock } from '../../../src/store/manifests/file-lock.ts';
import { startApiProxy } from '../../support/cluster/api-proxy.ts';
import { startKubeApi, type KubeApi } from '../../support/cluster/kube-api.ts';
import { servedDefinitions } from '../../support/cluster/served-definitions.ts';
import { runShim } from '../../support/host/cni-shim.ts';
import { NetworkNamespace, whyNoNamespace } from '../../support/host/network-namespace.ts';
import { ovsProgram } from '../../support/host/ovs-programs.ts';
import { OvsdbServer, runOvs, SCHEMAS } from '../../support/ovsdb/ovsdb-server.ts';
import { command, Installation } from '../../support/run/heddle.ts';
import { bound } from '../../support/run/left-behind.ts';
import { until } from '../../support/run/until.ts';

const EXAMPLE = join(import.meta.dirname, '../cli/fixtures/worked-example');
const SETTINGS = ['--cluster-subnets=10.244.0.0/16/24', '--k8s-service-cidrs=10.96.0.0/16'];
const CONNECTIONS = 200_000;

/** What `nft` does while it is to stop: it writes down its process, and stops. */
const nftThatStops = (folder: string): string => {
  const { command, args } = ovsProgram('nft');
  return `#!/bin/sh
if [ -e ${folder}/stop ]; then echo $$ >> ${folder}/stopped; kill -STOP $$; fi
exec ${[command, ...args].join(' ')} "$@"
`;
};

const nodePort = (name: string): object => ({
  apiVersion: 'v1',
  kind: 'Service',
  metadata: { name, namespace: 'blue' },
  spec: {
    type: 'NodePort',
    clusterIP: '10.96.0.77',
    clusterIPs: ['10.96.0.77'],
    ports: [{ port: 80, nodePort: 30_077, protocol: 'TCP' }],
  },
});

const stateOf = (pid: number): string =>
  /^State:\s+(\w)/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1] ?? '';

function* connections(): Iterable<string> {
  for (let n = 0; n < CONNECTIONS; n += 1) {
    const client = `11.${n >> 16}.${(n >> 8) & 255}.${n & 255}`;
    yield `--create --proto udp --orig-src ${client} --orig-dst 192.0.2.1 --sport 4000 --dport 80 --reply-src 192.0.2.1 --reply-dst ${client} --reply-port-src 80 --reply-port-dst 4000 --timeout 3000\n`;
  }
}

const podOf = (name: string): object => ({
  apiVersion: 'v1',
  kind: 'Pod',
  metadata: { name, namespace: 'blue' },
  spec: { nodeName: 'ovn-worker', containers: [{ name: 'a', image: 'a' }] },
});

/** A daemon with a host of its own, and what a runtime asks it. */
class PodNode implements AsyncDisposable {
  readonly #stack: AsyncDisposableStack;
  readonly #inside: NetworkNamespace;
  readonly northbound: OvsdbServer;
  readonly server: OvsdbServer;
  readonly host: NetworkNamespace;
  readonly programs: string;
  #daemon: ChildProcessByStdio<null, null, Readable> | undefined;
  #said = '';

  private constructor(
    stack: AsyncDisposableStack,
    [northbound, server]: readonly [OvsdbServer, OvsdbServer],
    [host, inside]: readonly [NetworkNamespace, NetworkNamespace],
  ) {
    this.#stack = stack;
    [this.northbound, this.server, this.host, this.#inside] = [northbound, server, host, inside];
    this.programs = join(server.folder, 'programs');
    mkdirSync(this.programs);
  }

  static async create(): Promise<PodNode> {
    const stack = new AsyncDisposableStack();
    const northbound = stack.use(await OvsdbServer.start());
    const server = stack.use(
      await OvsdbServer.start({ schema: join(SCHEMAS, 'vswitch.ovsschema') }),
    );
    const namespaces = [
      stack.use(await NetworkNamespace.create()),
      stack.use(await NetworkNamespace.create()),
    ] as const;
    const node = new PodNode(stack, [northbound, server], namespaces);
    await node.#vsctl('init');
    await node.#vsctl('add-br', 'br-int');
    node.#program('heddle-cni', shimScript(node.#socket));
    node.#program('nft', nftThatStops(server.folder));
    return node;
  }

  get #socket(): string {
    return join(this.server.folder, 'run', 'cni.sock');
  }

  get waiting(): { limit: number; pause: number; output: () => string } {
    return { limit: 30_000, pause: 50, output: () => this.#said };
  }

  #program(name: string, text: string): void {
    writeFileSync(join(this.programs, name), text);
    chmodSync(join(this.programs, name), 0o755);
  }

  #vsctl(...words: string[]): Promise<string> {
    return runOvs('ovs-vsctl', [
      `--db=${this.server.remote}`,
      '--no-wait',
      '--timeout=10',
      ...words,
    ]);
  }

  /** Starts the daemon, and waits until it serves the plugin. */
  async start(...flags: readonly string[]): Promise<void> {
    const [nsenter = '', ...enter] = this.host.inside;
    const all = [
      'node',
      '--node=ovn-worker',
      `--nb=${this.northbound.remote}`,
      `--ovs=${this.server.remote}`,
      '--socket=none',
      `--cni-socket=${this.#socket}`,
      '--metrics-bind-address=127.0.0.1:0',
      ...SETTINGS,
      ...flags,
    ];
    const daemon = spawn(...bound(nsenter, [...enter, process.execPath, program, ...all]), {
      stdio: ['ignore', 'ignore', 'pipe'],
      env: { ...process.env, PATH: `${this.programs}:${process.env['PATH']}` },
    });
    daemon.stderr.setEncoding('utf8').on('data', (piece: string) => (this.#said += piece));
    this.#daemon = daemon;
    await until('the plugin to be served', () => existsSync(this.#socket), this.waiting);
  }

  async #call(command: string, pod: string): Promise<void> {
    const { code, text } = await runShim(this.programs, {
      command,
      container: Buffer.from(pod.padEnd(16, '-')).toString('hex'),
      namespace: this.#inside,
      pod: `blue/${pod}`,
    });
    expect(code, `${command}: ${text}\n${this.#said}`).toBe(0);
  }

  async #ports(): Promise<readonly string[]> {
    const all = (await this.#vsctl('list-ports', 'br-int')).split('\n');
    return all.filter((name) => /^[0-9a-f]{13}/.test(name));
  }

  /** ADD and DEL of a pod on two networks. */
  async comesAndGoes(pod: string): Promise<void> {
    const adding = this.#call('ADD', pod);
    await until('its ports', async () => (await this.#ports()).length === 2, this.waiting);
    for (const name of await this.#ports())
      await this.#vsctl('set', 'Interface', name, 'external_ids:ovn-installed=true');
    await adding;
    await this.#call('DEL', pod);
    expect(await this.#ports()).toEqual([]);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.northbound.suspend('SIGCONT');
    if (this.#daemon?.kill('SIGTERM') === true) await once(this.#daemon, 'close');
    await this.#stack.disposeAsync();
  }
}

test.skipIf(whyNoNamespace !== undefined)(
  'pods come and go while Northbound, nft or the writer of statuses is stopped, and beside 200,000 connections',
  async () => {
    await using node = await PodNode.create();
    using installation = new Installation();
    installation.copy(EXAMPLE);
    const { northbound, host, waiting, server } = node;
    /** One that is made while something is stopped. */
    const another = async (name: string): Promise<void> => {
      installation.write(`${name}.json`, JSON.stringify(podOf(name)));
      await node.comesAndGoes(name);
    };
    await node.start(`--manifests=${installation.manifests}`, `--state=${installation.state}`);
    await node.comesAndGoes('pod1');

    northbound.suspend('SIGSTOP');
    await another('beside-northbound');
    northbound.suspend('SIGCONT');

    const [stop, log] = [join(server.folder, 'stop'), join(server.folder, 'stopped')];
    writeFileSync(stop, '');
    installation.write('service.json', JSON.stringify(nodePort('trigger')));
    const stopped = (): number => Number(readFileSync(log, 'utf8').trim().split('\n').at(-1));
    await until('nft to stop', () => existsSync(log), waiting);
    // One is killed after 20 s, and the next one stops: on a slow machine that may be meanwhile.
    for (let attempt = 1; ; attempt += 1) {
      const before = stopped();
      await another(`beside-nft-${attempt}`);
      if (before === stopped() && stateOf(before) === 'T') break;
      expect(attempt).toBeLessThan(3);
    }
    rmSync(stop);
    process.kill(stopped(), 'SIGCONT');

    using lock = new FileLock(join(installation.state, 'lock'));
    expect(await lock.acquire(20)).toBe(true);
    await node.comesAndGoes('pod1');
    expect(lock.isAlive).toBe(true);
    await lock.release();

    const { command: track, args } = ovsProgram('conntrack');
    const load = [...host.inside, track, ...args, '--load-file', '-'];
    execFileSync('sh', ['-c', 'cat | "$@"', 'sh', ...load], {
      input: [...connections()].join(''),
      stdio: ['pipe', 'ignore', 'ignore'],
    });
    for (let n = 0; n < 3; n += 1) await another(`beside-connections-${n}`);
  },
  180_000,
);

const started = whyNoNamespace === undefined ? await startKubeApi() : whyNoNamespace;
if (typeof started === 'string') console.warn(`not tested on a real API server: ${started}`);

describe.skipIf(typeof started === 'string')(
  'beside an API server that says nothing any more',
  () => {
    const api = started as KubeApi;
    beforeAll(() => api.install(servedDefinitions));
    afterAll(async () => api[Symbol.asyncDispose]());

    test('pods that are known come and go as before', async () => {
      const create = async (object: unknown): Promise<void> => {
        const { apiVersion, kind, metadata } = object as KubeObject;
        const known = resourceKindOf(apiVersion, kind);
        if (known === undefined) throw new Error(`unknown kind ${kind}`);
        const { status, body } = await api.call(
          'POST',
          collectionPath(known, metadata.namespace),
          object,
        );
        expect([201, 409], JSON.stringify(body)).toContain(status);
      };
      for (const name of ['default', 'kube-system'])
        await create({ apiVersion: 'v1', kind: 'Namespace', metadata: { name } });
      for (const file of ['nodes.yaml', 'services.yaml', 'blue.yaml'])
        for (const document of parseAllDocuments(readFileSync(join(EXAMPLE, file), 'utf8')))
          await create(document.toJS());
      const names = Array.from({ length: 20 }, (_, n) => `known-${n}`);
      for (const name of names) await create(podOf(name));
      await using node = await PodNode.create();
      await using proxy = await startApiProxy(api);
      await using relay = relayInto(node.host, Number(new URL(proxy.url).port));
      const kubeconfig = await api.kubeconfigFor(relay.url);
      await using _manager = command(
        'cluster',
        `--kubeconfig=${api.kubeconfig}`,
        '--metrics-bind-address=127.0.0.1:0',
        ...SETTINGS,
      );
      await node.start(`--kubeconfig=${kubeconfig}`);
      const ports = ['--bare', '--columns=name', 'list', 'Logical_Switch_Port'];
      await until(
        'ports of all',
        async () => {
          const found = await runOvs('ovn-nbctl', [`--db=${node.northbound.remote}`, ...ports]);
          return names.every((name) => found.includes(`blue_${name}`));
        },
        { ...node.waiting, limit: 60_000 },
      );
      let isAnswering = true;
      let held = 0;
      proxy.hold = () => {
        if (isAnswering) return undefined;
        held += 1;
        return new Promise(() => undefined);
      };
      isAnswering = false;
      for (const name of names) await node.comesAndGoes(name);
      // Their network-status, at least, was to be written.
      expect(held).toBeGreaterThan(0);
    }, 180_000);
  },
);

/** What listens in a namespace, on its loopback device, and leads to a port of this one. */
function relayInto(namespace: NetworkNamespace, port: number): AsyncDisposable & { url: string } {
  const ends = new Set<Socket>();
  const server = createServer((socket) => {
    const out = connect(port, '127.0.0.1');
    for (const one of [socket, out]) {
      ends.add(one);
      one
        .on('error', () => undefined)
        .on('close', () => [socket, out].forEach((end) => end.destroy()));
    }
    socket.pipe(out).pipe(socket);
  });
  const descriptor = openSync(namespace.path, 'r');
  try {
    // Without a host name it listens at once.
    inNetworkNamespace(descriptor, () => server.listen(0));
  } finally {
    closeSync(descriptor);
  }
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    async [Symbol.asyncDispose]() {
      for (const one of ends) one.destroy();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}
