/** `heddle node` while what one of its loops waits for is stopped: pods come and go all the same. ovn-controller is the test. */
import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { shimScript } from '../../../src/cni/install/shim.ts';
import { program } from '../../../src/lab/paths.ts';
import { FileLock } from '../../../src/store/manifests/file-lock.ts';
import { NetworkNamespace, whyNoNamespace } from '../../support/host/network-namespace.ts';
import { ovsProgram } from '../../support/host/ovs-programs.ts';
import { OvsdbServer, runOvs, SCHEMAS } from '../../support/ovsdb/ovsdb-server.ts';
import { Installation } from '../../support/run/heddle.ts';
import { bound } from '../../support/run/left-behind.ts';
import { until } from '../../support/run/until.ts';

const EXAMPLE = join(import.meta.dirname, '../cli/fixtures/worked-example');
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

test.skipIf(whyNoNamespace !== undefined)(
  'pods come and go while Northbound, nft or the writer of statuses is stopped, and beside 200,000 connections',
  async () => {
    await using northbound = await OvsdbServer.start();
    await using server = await OvsdbServer.start({ schema: join(SCHEMAS, 'vswitch.ovsschema') });
    using host = await NetworkNamespace.create();
    using inside = await NetworkNamespace.create();
    using installation = new Installation();
    installation.copy(EXAMPLE);
    const vsctl = (...words: string[]): Promise<string> =>
      runOvs('ovs-vsctl', [`--db=${server.remote}`, '--no-wait', '--timeout=10', ...words]);
    await vsctl('init');
    await vsctl('add-br', 'br-int');
    const { folder } = server;
    const [plugin, socket] = [join(folder, 'heddle-cni'), join(folder, 'run', 'cni.sock')];
    const programs = join(folder, 'programs');
    mkdirSync(programs);
    for (const [path, text] of [
      [plugin, shimScript(socket)],
      [join(programs, 'nft'), nftThatStops(folder)],
    ] as const) {
      writeFileSync(path, text);
      chmodSync(path, 0o755);
    }
    const flags = [
      'node',
      '--node=ovn-worker',
      `--nb=${northbound.remote}`,
      `--ovs=${server.remote}`,
      `--manifests=${installation.manifests}`,
      `--state=${installation.state}`,
      '--socket=none',
      `--cni-socket=${socket}`,
      '--metrics-bind-address=127.0.0.1:0',
      '--cluster-subnets=10.244.0.0/16/24',
      '--k8s-service-cidrs=10.96.0.0/16',
    ];
    const [nsenter = '', ...enter] = host.inside;
    const daemon = spawn(...bound(nsenter, [...enter, process.execPath, program, ...flags]), {
      stdio: ['ignore', 'ignore', 'pipe'],
      env: { ...process.env, PATH: `${programs}:${process.env['PATH']}` },
    });
    let said = '';
    daemon.stderr.setEncoding('utf8').on('data', (piece: string) => (said += piece));
    const waiting = { limit: 30_000, pause: 50, output: () => said };

    const call = async (command: string, pod: string): Promise<void> => {
      const child = spawn(plugin, {
        env: {
          PATH: process.env['PATH'],
          CNI_COMMAND: command,
          CNI_CONTAINERID: Buffer.from(pod.padEnd(16, '-')).toString('hex'),
          CNI_NETNS: inside.path,
          CNI_IFNAME: 'eth0',
          CNI_ARGS: `K8S_POD_NAMESPACE=blue;K8S_POD_NAME=${pod}`,
        },
        stdio: ['pipe', 'pipe', 'inherit'],
      });
      child.stdin.end('{"cniVersion":"1.0.0","name":"ovn-kubernetes","type":"heddle-cni"}');
      let text = '';
      child.stdout.setEncoding('utf8').on('data', (piece: string) => (text += piece));
      const [code] = (await once(child, 'close')) as [number | null];
      expect(code, `${command}: ${text}\n${said}`).toBe(0);
    };
    const podPorts = async (): Promise<readonly string[]> =>
      (await vsctl('list-ports', 'br-int'))
        .split('\n')
        .filter((name) => /^[0-9a-f]{13}/.test(name));
    const comesAndGoes = async (pod: string): Promise<void> => {
      const adding = call('ADD', pod);
      await until('its ports', async () => (await podPorts()).length === 2, waiting);
      for (const name of await podPorts())
        await vsctl('set', 'Interface', name, 'external_ids:ovn-installed=true');
      await adding;
      await call('DEL', pod);
      expect(await podPorts()).toEqual([]);
    };
    /** One that is made while something is stopped. */
    const another = async (name: string): Promise<void> => {
      const spec = { nodeName: 'ovn-worker', containers: [{ name: 'a', image: 'a' }] };
      const metadata = { name, namespace: 'blue' };
      const pod = { apiVersion: 'v1', kind: 'Pod', metadata, spec };
      installation.write(`${name}.json`, JSON.stringify(pod));
      await comesAndGoes(name);
    };

    try {
      await until('the plugin to be served', () => existsSync(socket), waiting);
      await comesAndGoes('pod1');

      northbound.suspend('SIGSTOP');
      await another('beside-northbound');
      northbound.suspend('SIGCONT');

      writeFileSync(join(folder, 'stop'), '');
      installation.write('service.json', JSON.stringify(nodePort('trigger')));
      const stopped = (): number =>
        Number(readFileSync(join(folder, 'stopped'), 'utf8').trim().split('\n').at(-1));
      await until('nft to stop', () => existsSync(join(folder, 'stopped')), waiting);
      // One is killed after 20 s, and the next one stops: on a slow machine that may be meanwhile.
      for (let attempt = 1; ; attempt += 1) {
        const before = stopped();
        await another(`beside-nft-${attempt}`);
        if (before === stopped() && stateOf(before) === 'T') break;
        expect(attempt).toBeLessThan(3);
      }
      rmSync(join(folder, 'stop'));
      process.kill(stopped(), 'SIGCONT');

      using lock = new FileLock(join(installation.state, 'lock'));
      expect(await lock.acquire(20)).toBe(true);
      await comesAndGoes('pod1');
      expect(lock.isAlive).toBe(true);
      await lock.release();

      const { command, args } = ovsProgram('conntrack');
      execFileSync(
        'sh',
        ['-c', 'cat | "$@"', 'sh', nsenter, ...enter, command, ...args, '--load-file', '-'],
        { input: [...connections()].join(''), stdio: ['pipe', 'ignore', 'ignore'] },
      );
      for (let n = 0; n < 3; n += 1) await another(`beside-connections-${n}`);
    } finally {
      northbound.suspend('SIGCONT');
      daemon.kill('SIGTERM');
      await once(daemon, 'close');
    }
  },
  180_000,
);
