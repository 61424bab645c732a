/** `heddle node` while something beside the Northbound database hangs: pods get their logical ports all the same. */
import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { connect } from 'node:net';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { parseAllDocuments } from 'yaml';
import { resourceKindOf } from '../../../src/api/kinds.ts';
import { program } from '../../../src/lab/paths.ts';
import { collectionPath } from '../../../src/store/kubernetes/kubernetes-paths.ts';
import { startApiProxy } from '../../support/cluster/api-proxy.ts';
import { startKubeApi, type KubeApi } from '../../support/cluster/kube-api.ts';
import { servedDefinitions } from '../../support/cluster/served-definitions.ts';
import { NetworkNamespace, whyNoNamespace } from '../../support/host/network-namespace.ts';
import { OvsdbServer, runOvs, SCHEMAS } from '../../support/ovsdb/ovsdb-server.ts';
import { command, Installation } from '../../support/run/heddle.ts';
import { bound } from '../../support/run/left-behind.ts';
import { until } from '../../support/run/until.ts';

const EXAMPLE = join(import.meta.dirname, '../cli/fixtures/worked-example');
const SETTINGS = ['--cluster-subnets=10.244.0.0/16/24', '--k8s-service-cidrs=10.96.0.0/16'];

const ports = async (northbound: OvsdbServer): Promise<string> =>
  runOvs('ovn-nbctl', [
    `--db=${northbound.remote}`,
    '--bare',
    '--columns=name',
    'list',
    'Logical_Switch_Port',
  ]);

/** A request on the control socket of a daemon, and what came for it. */
function asked(path: string, method: string): Disposable & { readonly answer: string } {
  let answer = '';
  const socket = connect(path)
    .setEncoding('utf8')
    .on('data', (piece: string) => (answer += piece))
    .on('error', () => undefined);
  socket.write(`${JSON.stringify({ jsonrpc: '2.0', id: 1, method })}\n`);
  return {
    get answer() {
      return answer;
    },
    [Symbol.dispose]: () => socket.destroy(),
  };
}

/** Another pod of the example's namespace, on its node. */
const another = (name: string): object => ({
  apiVersion: 'v1',
  kind: 'Pod',
  metadata: { name, namespace: 'blue' },
  spec: { nodeName: 'ovn-worker', containers: [{ name: 'a', image: 'a' }] },
});

const started = await startKubeApi();
if (typeof started === 'string')
  console.warn(`statuses that hang are not tested on a real API server: ${started}`);

describe.skipIf(typeof started === 'string')('an API server that takes no status', () => {
  const api = started as KubeApi;
  beforeAll(() => api.install(servedDefinitions));
  afterAll(async () => api[Symbol.asyncDispose]());

  test('holds up no logical port', async () => {
    const create = async (object: unknown): Promise<void> => {
      const { apiVersion, kind, metadata } = object as {
        apiVersion: string;
        kind: string;
        metadata: { namespace?: string };
      };
      const known = resourceKindOf(apiVersion, kind);
      if (known === undefined) throw new Error(`unknown kind ${kind}`);
      const path = collectionPath(known, metadata.namespace);
      const { status, body } = await api.call('POST', path, object);
      expect([201, 409], JSON.stringify(body)).toContain(status);
    };
    await using northbound = await OvsdbServer.start();
    for (const name of ['default', 'kube-system'])
      await create({ apiVersion: 'v1', kind: 'Namespace', metadata: { name } });
    await using proxy = await startApiProxy(api);
    const isPatch = (request: string): boolean => /^PATCH .*\/zonestatuses\//.test(request);
    const released = Promise.withResolvers<void>();
    let held = 0;
    let answered = 0;
    proxy.hold = (request) => {
      if (!isPatch(request)) return undefined;
      held += 1;
      return released.promise.then(() => void (answered += 1));
    };
    const common = [...SETTINGS, '--metrics-bind-address=127.0.0.1:0'];
    await using _manager = command('cluster', `--kubeconfig=${api.kubeconfig}`, ...common);
    await using node = command(
      'node',
      `--kubeconfig=${await api.kubeconfigFor(proxy.url)}`,
      ...common,
      '--node=ovn-worker',
      '--socket=none',
      `--nb=${northbound.remote}`,
    );
    for (const file of ['nodes.yaml', 'services.yaml', 'blue.yaml'])
      for (const document of parseAllDocuments(readFileSync(join(EXAMPLE, file), 'utf8')))
        await create(document.toJS());
    const output = (): string => node.log;
    await until('a status to be written', () => held > 0, { limit: 60_000, output });
    await create(another('late'));
    await until('its port', async () => (await ports(northbound)).includes('blue_late'), {
      limit: 30_000,
      output,
    });
    expect(answered).toBe(0);
    released.resolve();
    await until('the status', () => answered > 0, { limit: 30_000, output });
  });
});

/** A folder of the PATH in which `nft` hangs until it is released; its `pids` are those that were started. */
function programsWithHangingNft(folder: string): {
  path: string;
  pids: () => readonly number[];
  release: () => void;
} {
  const path = join(folder, 'programs');
  const log = join(folder, 'nft.pids');
  const released = join(folder, 'released');
  mkdirSync(path);
  const nft = join(path, 'nft');
  writeFileSync(
    nft,
    `#!/bin/sh\necho $$ >> ${log}\nwhile [ ! -e ${released} ]; do sleep 0.1; done\nexit 1\n`,
  );
  chmodSync(nft, 0o755);
  return {
    path: `${path}:${process.env['PATH']}`,
    pids: () =>
      existsSync(log) ? readFileSync(log, 'utf8').split('\n').filter(Boolean).map(Number) : [],
    release: () => writeFileSync(released, ''),
  };
}

test.skipIf(whyNoNamespace !== undefined)(
  'nft that hangs holds up no logical port, nor does who asks for a plan meanwhile',
  async () => {
    await using northbound = await OvsdbServer.start();
    await using server = await OvsdbServer.start({ schema: join(SCHEMAS, 'vswitch.ovsschema') });
    using host = await NetworkNamespace.create();
    using installation = new Installation();
    installation.copy(EXAMPLE);
    await runOvs('ovs-vsctl', [`--db=${server.remote}`, '--no-wait', '--timeout=10', 'init']);
    const programs = programsWithHangingNft(server.folder);
    const [nsenter = '', ...enter] = host.inside;
    const flags = [
      'node',
      '--node=ovn-worker',
      `--nb=${northbound.remote}`,
      `--ovs=${server.remote}`,
      `--manifests=${installation.manifests}`,
      `--state=${installation.state}`,
      `--socket=${installation.socket}`,
      '--metrics-bind-address=127.0.0.1:0',
      ...SETTINGS,
    ];
    const daemon: ChildProcess = spawn(
      ...bound(nsenter, [...enter, process.execPath, program, ...flags]),
      { stdio: ['ignore', 'ignore', 'pipe'], env: { ...process.env, PATH: programs.path } },
    );
    let said = '';
    daemon.stderr?.setEncoding('utf8').on('data', (piece: string) => {
      said += piece;
    });
    const waiting = { limit: 30_000, output: () => said };
    try {
      await until('nft to hang', () => programs.pids().length > 0, waiting);
      // One that hangs is killed after 20 s, and the next one hangs: on a slow machine a port may come only then.
      let isBesideHanging = false;
      for (let attempt = 1; attempt <= 3 && !isBesideHanging; attempt += 1) {
        const hanging = programs.pids().at(-1);
        using plan = asked(installation.socket, 'plan');
        using about = asked(installation.socket, 'about');
        await until('the daemon to be at the plan', () => about.answer !== '', waiting);
        installation.write(`late-${attempt}.json`, JSON.stringify(another(`late-${attempt}`)));
        await until(
          'its port',
          async () => (await ports(northbound)).includes(`blue_late-${attempt}`),
          waiting,
        );
        isBesideHanging = programs.pids().at(-1) === hanging && plan.answer === '';
      }
      expect(isBesideHanging).toBe(true);
    } finally {
      programs.release();
      daemon.kill('SIGTERM');
      await once(daemon, 'close');
    }
  },
  150_000,
);

test('a database that is away is one line of the log, which says why, and what to look at', async () => {
  using installation = new Installation();
  installation.copy(EXAMPLE);
  await using node = installation.daemon(
    '--node=ovn-worker',
    `--nb=unix:${installation.folder}/nowhere.sock`,
    ...SETTINGS,
  );
  const warnings = (): unknown[] =>
    node.log
      .split('\n')
      .filter((line) => line.includes('"component":"zone"'))
      .map((line) => (JSON.parse(line) as { msg: string }).msg);
  await until('a warning', () => warnings().length > 0, { limit: 30_000, output: () => node.log });
  const health = /"health":"(?<url>[^"]+)"/.exec(node.log)?.groups?.['url'] ?? '';
  const text = await (await fetch(`${health}/readyz`)).text();
  expect(text).toMatch(/^not ready: northbound;/);
  const cause = `OVN_Northbound (--nb unix:${installation.folder}/nowhere.sock) is not connected (connect ${installation.folder}/nowhere.sock: no such file or directory): what was programmed goes on, and no change gets there; see whether its ovsdb-server runs, and its log`;
  await until('the cause', () => warnings().includes(cause), { output: () => node.log });
  // Before the first attempt has ended nothing is known of why.
  expect(warnings().filter((line) => !/is not connected yet/.test(String(line)))).toEqual([cause]);
});
