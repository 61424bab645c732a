/** The trace of a pod's start, from `heddle node` with its own databases, kernel and CNI socket to a collector; ovn-northd and ovn-controller are the test. */
import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { installPlugin } from '../../../src/cni/install/plugin-files.ts';
import { program } from '../../../src/lab/paths.ts';
import { runShim } from '../../support/host/cni-shim.ts';
import { NetworkNamespace, whyNoNamespace } from '../../support/host/network-namespace.ts';
import { OvsdbServer, runOvs, SCHEMAS } from '../../support/ovsdb/ovsdb-server.ts';
import { Installation } from '../../support/run/heddle.ts';
import { bound } from '../../support/run/left-behind.ts';
import { OtlpReceiver, type ReceivedSpan } from '../../support/run/otlp-receiver.ts';
import { until } from '../../support/run/until.ts';

const WORKED_EXAMPLE = join(import.meta.dirname, '../cli/fixtures/worked-example');
const UID = '9b8f2f5e-6a0c-4d1f-9a55-0d4c6f7b8a91';
const TRACE = '4bf92f3577b34da6a3ce929d0e0e4736';
const ABOVE = '00f067aa0ba902b7';
const HOSTILE = '00-$(reboot)-\\u001b[2J-01';

const podOf = (namespace: string, name: string, uid: string, annotation: string): string => `
apiVersion: v1
kind: Pod
metadata:
  name: ${name}
  namespace: ${namespace}
  uid: ${uid}
  annotations: { tracing.k8s.io/traceparent: "${annotation}" }
spec:
  nodeName: ovn-worker
`;

/** Hands connections to a port of another network namespace on to a unix socket, of which there is but one. */
const FORWARDER = `
  import { connect, createServer } from 'node:net';
  createServer((from) => {
    const to = connect(process.argv[1]);
    from.pipe(to).pipe(from);
    for (const [one, other] of [[from, to], [to, from]])
      one.on('error', () => other.destroy()).on('close', () => other.destroy());
  }).listen(4318, '127.0.0.1', () => console.log('ready'));
`;

/** `heddle node` in a network namespace, with what is around it. */
class Bed implements AsyncDisposable {
  readonly installation = new Installation();
  readonly #resources = new AsyncDisposableStack();
  readonly #server: OvsdbServer;
  readonly #northbound: OvsdbServer;
  readonly receiver: OtlpReceiver;
  readonly #plugins: string;
  #log = '';

  private constructor(
    servers: { readonly server: OvsdbServer; readonly northbound: OvsdbServer },
    receiver: OtlpReceiver,
  ) {
    this.#server = servers.server;
    this.#northbound = servers.northbound;
    this.receiver = receiver;
    this.#plugins = join(this.#server.folder, 'bin');
  }

  static async start(): Promise<Bed> {
    const northbound = await OvsdbServer.start();
    const server = await OvsdbServer.start({ schema: join(SCHEMAS, 'vswitch.ovsschema') });
    const collector = join(server.folder, 'collector.sock');
    const receiver = await OtlpReceiver.start(collector);
    const bed = new Bed({ server, northbound }, receiver);
    bed.#resources.use(northbound);
    bed.#resources.use(server);
    bed.#resources.use(receiver);
    bed.#resources.use(bed.installation);
    bed.installation.copy(WORKED_EXAMPLE);
    await bed.vsctl('init');
    await bed.vsctl('add-br', 'br-int');
    const socket = join(server.folder, 'run', 'cni.sock');
    installPlugin(bed.#plugins, socket);
    const host = bed.#resources.use(await NetworkNamespace.create());
    const inside = (...words: string[]): ChildProcess => {
      const [nsenter = '', ...enter] = host.inside;
      const child = spawn(...bound(nsenter, [...enter, process.execPath, ...words]), {
        stdio: ['ignore', 'pipe', 'pipe'],
      });
      for (const stream of [child.stdout, child.stderr])
        stream?.setEncoding('utf8').on('data', (piece: string) => {
          bed.#log += piece;
        });
      bed.#resources.defer(async () => {
        const ended = once(child, 'close');
        child.kill('SIGTERM');
        await ended;
      });
      return child;
    };
    inside('--input-type=module', '--eval', FORWARDER, collector);
    inside(
      program,
      'node',
      '--node=ovn-worker',
      `--nb=${northbound.remote}`,
      `--ovs=${server.remote}`,
      `--manifests=${bed.installation.manifests}`,
      `--state=${bed.installation.state}`,
      '--socket=none',
      `--cni-socket=${socket}`,
      '--metrics-bind-address=127.0.0.1:0',
      '--cluster-subnets=10.244.0.0/16/24',
      '--k8s-service-cidrs=10.96.0.0/16',
      '--traces-endpoint=http://127.0.0.1:4318',
    );
    await until('the CNI plugin', async () => (await bed.call('STATUS')).code === 0, {
      pause: 100,
      limit: 30_000,
      output: () => bed.#log,
    });
    return bed;
  }

  get log(): string {
    return this.#log;
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.#resources.disposeAsync();
  }

  vsctl(...words: string[]): Promise<string> {
    const server = `--db=${this.#server.remote}`;
    return runOvs('ovs-vsctl', [server, '--no-wait', '--timeout=10', ...words]);
  }

  nbctl(...words: string[]): Promise<string> {
    return runOvs('ovn-nbctl', [`--db=${this.#northbound.remote}`, '--timeout=10', ...words]);
  }

  call(command: string, pod = '', namespace?: NetworkNamespace): ReturnType<typeof runShim> {
    const container = Buffer.from(pod.padEnd(32, '-')).toString('hex');
    return runShim(this.#plugins, { command, container, namespace, pod });
  }

  /** ADD of a pod, with what ovn-controller does meanwhile. Returns the milliseconds that it took. */
  async add(pod: string, ports: number): Promise<number> {
    using inside = await NetworkNamespace.create();
    const before = await this.#ports();
    const began = performance.now();
    const adding = this.call('ADD', pod, inside);
    const added = async (): Promise<readonly string[]> =>
      (await this.#ports()).filter((name) => !before.includes(name));
    await until('ports', async () => (await added()).length === ports, {
      pause: 20,
      limit: 20_000,
      output: () => this.#log,
    });
    for (const name of await added())
      await this.vsctl('set', 'Interface', name, 'external_ids:ovn-installed=true');
    const { code, text } = await adding;
    expect(code, text).toBe(0);
    const took = performance.now() - began;
    expect(await this.call('DEL', pod, inside)).toMatchObject({ code: 0 });
    return took;
  }

  /** Spans of a trace. */
  spansOf(traceId: string): readonly ReceivedSpan[] {
    return this.receiver.spans.filter((span) => span.traceId === traceId);
  }

  async #ports(): Promise<readonly string[]> {
    const names = (await this.vsctl('list-ports', 'br-int')).split('\n');
    return names.filter((name) => /^[0-9a-f]{13}/.test(name));
  }
}

/** Names of spans with those of their parents, in order. */
function tree(spans: readonly ReceivedSpan[]): readonly string[] {
  const names = new Map(spans.map(({ spanId, name }) => [spanId, name]));
  return spans
    .map(({ name, parentSpanId }) => `${names.get(parentSpanId ?? '') ?? parentSpanId} > ${name}`)
    .toSorted();
}

const ADD_STAGES = [
  'CNI ADD > add ports',
  'CNI ADD > configure interfaces',
  'CNI ADD > create interfaces',
  'CNI ADD > wait for Open vSwitch',
  'CNI ADD > wait for addresses',
  'CNI ADD > wait for old connections',
  'CNI ADD > wait for ovn-installed',
];

test.skipIf(whyNoNamespace !== undefined)(
  'the spans of a pod on a primary network are one trace, as are those of a pod on the default network; a collector that hangs delays no ADD',
  async () => {
    await using bed = await Bed.start();
    const { installation, receiver } = bed;
    installation.write(
      'pods.yaml',
      [
        'apiVersion: v1\nkind: Namespace\nmetadata: { name: plain }',
        podOf('blue', 'traced', 'any-uid', `00-${TRACE}-${ABOVE}-01`),
        podOf('plain', 'other', UID, HOSTILE),
        podOf(
          'plain',
          'unsampled',
          '11111111-2222-4333-8444-555555555555',
          `00-${'1'.repeat(32)}-${ABOVE}-00`,
        ),
      ].join('\n---\n'),
    );
    const ofPrimary = await bed.add('blue/traced', 2);
    await bed.add('plain/other', 1);
    await bed.add('plain/unsampled', 1);
    await bed.nbctl('set', 'NB_Global', '.', 'sb_cfg=100000');
    const haveAll = (name: string): boolean =>
      [TRACE, UID.replaceAll('-', '')].every((trace) =>
        bed.spansOf(trace).some((span) => span.name === name),
      );
    await until('ovn-northd', () => haveAll('ovn-northd'));
    await bed.nbctl('set', 'NB_Global', '.', 'hv_cfg=100000');
    await until('ovn-controller', () => haveAll('ovn-controller'));
    const primary = bed.spansOf(TRACE);
    expect(tree(primary)).toEqual([
      `${ABOVE} > pod start`,
      ...ADD_STAGES,
      'pod start > CNI ADD',
      'pod start > allocate addresses',
      'pod start > build logical port',
      'pod start > build logical port',
      'pod start > commit logical port',
      'pod start > commit logical port',
      'pod start > ovn-controller',
      'pod start > ovn-northd',
      'pod start > receive addresses',
      'pod start > receive addresses',
    ]);
    const plain = bed.spansOf(UID.replaceAll('-', ''));
    expect(tree(plain)).toEqual([
      ...ADD_STAGES,
      'pod start > CNI ADD',
      'pod start > allocate addresses',
      'pod start > build logical port',
      'pod start > commit logical port',
      'pod start > ovn-controller',
      'pod start > ovn-northd',
      'pod start > receive addresses',
      'undefined > pod start',
    ]);
    expect(receiver.spans.map(({ attributes }) => attributes['k8s.pod.name'])).not.toContain(
      'unsampled',
    );
    for (const spans of [primary, plain]) inOrder(spans);
    expect(new Set(receiver.spans.map(({ service }) => service))).toEqual(new Set(['heddle-node']));
    expect(JSON.stringify(receiver.spans.map(({ attributes }) => attributes))).not.toContain(
      'reboot',
    );

    receiver.behaviour = 'hang';
    const requests = receiver.requests;
    installation.write(
      'more.yaml',
      podOf('plain', 'again', 'again', '') + '---' + podOf('plain', 'last', 'last', ''),
    );
    await bed.add('plain/again', 1);
    await until('a request that hangs', () => receiver.requests > requests, { limit: 10_000 });
    // A request would hang for ten seconds.
    expect(await bed.add('plain/last', 1)).toBeLessThan(Math.max(5000, 3 * ofPrimary));
    expect(bed.log).not.toContain('reboot');
  },
);

/** Each begins before it ends, and none before its parent; what is done one after the other follows so. */
function inOrder(spans: readonly ReceivedSpan[]): void {
  const byId = new Map(spans.map((span) => [span.spanId, span]));
  for (const { name, start, end, parentSpanId } of spans) {
    expect(end, name).toBeGreaterThanOrEqual(start);
    const parent = byId.get(parentSpanId ?? '');
    if (parent !== undefined) expect(start, name).toBeGreaterThanOrEqual(parent.start);
  }
  const one = (name: string): ReceivedSpan => {
    const found = spans.find((span) => span.name === name);
    if (found === undefined) throw new Error(`no span ${name}`);
    return found;
  };
  expect(one('build logical port').end).toBe(one('commit logical port').start);
  expect(one('allocate addresses').end).toBeLessThanOrEqual(one('build logical port').end);
  expect(one('ovn-northd').end).toBe(one('ovn-controller').start);
  expect(one('add ports').start).toBeGreaterThanOrEqual(one('create interfaces').end);
  expect(one('wait for ovn-installed').start).toBeGreaterThanOrEqual(one('add ports').end);
  expect(one('pod start').end).toBe(one('CNI ADD').end);
}
