/** `heddle node` as a container runtime meets it: its own databases, kernel and socket; ovn-controller is the test. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import {
  chmodSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { installConflist, installPlugin } from '../../../src/cni/install/plugin-files.ts';
import { CONFLIST_NAME } from '../../../src/cni/install/shim.ts';
import { program } from '../../../src/lab/paths.ts';
import { Installation } from '../../support/run/heddle.ts';
import { bound } from '../../support/run/left-behind.ts';
import { runShim } from '../../support/host/cni-shim.ts';
import { NetworkNamespace, whyNoNamespace } from '../../support/host/network-namespace.ts';
import { OvsdbServer, runOvs, SCHEMAS } from '../../support/ovsdb/ovsdb-server.ts';
import { until } from '../../support/run/until.ts';

const WORKED_EXAMPLE = join(import.meta.dirname, '../cli/fixtures/worked-example');
const ID = 'fedcba9876543210'.repeat(4);

/** A PATH on which programs that a daemon has no need of are others, which do nothing but write down that they were run. */
function needlessPrograms(folder: string): { path: string; run: () => string } {
  const path = join(folder, 'programs');
  const log = join(folder, 'needless.log');
  mkdirSync(path);
  for (const name of ['ip', 'conntrack', 'ethtool', 'sysctl']) {
    writeFileSync(join(path, name), `#!/bin/sh\necho "${name} $@" >> ${log}\nexit 1\n`);
    chmodSync(join(path, name), 0o755);
  }
  return {
    path: `${path}:${process.env['PATH']}`,
    run: () => (existsSync(log) ? readFileSync(log, 'utf8') : ''),
  };
}

/** Fields of /proc/PID/stat behind the name of the program (proc_pid_stat(5)). */
const PARENT = 1;
const FAULTS_OF_CHILDREN = 8;

function statOf(pid: number | string): readonly string[] {
  try {
    return readFileSync(`/proc/${pid}/stat`, 'utf8')
      .replace(/^.*\) /s, '')
      .split(' ');
  } catch {
    return []; // it ended
  }
}

/** Another text once a process started a program: its children, and how often those that ended needed memory, as each does. Those that its children start don't count. */
function programsOf(pid: number): string {
  const children = readdirSync('/proc').filter(
    (name) => /^\d+$/.test(name) && statOf(name)[PARENT] === String(pid),
  );
  return `${children.join()} ${statOf(pid)[FAULTS_OF_CHILDREN]}`;
}

test.skipIf(whyNoNamespace !== undefined)(
  'a pod of a manifest gets its two networks with their MTU, for which the daemon starts no program',
  async () => {
    await using northbound = await OvsdbServer.start();
    await using server = await OvsdbServer.start({ schema: join(SCHEMAS, 'vswitch.ovsschema') });
    using host = await NetworkNamespace.create();
    using inside = await NetworkNamespace.create();
    using installation = new Installation();
    installation.copy(WORKED_EXAMPLE);
    const vsctl = (...words: string[]): Promise<string> =>
      runOvs('ovs-vsctl', [`--db=${server.remote}`, '--no-wait', '--timeout=10', ...words]);
    await vsctl('init');
    await vsctl('add-br', 'br-int');
    const socket = join(server.folder, 'run', 'cni.sock');
    const folders = { binDir: join(server.folder, 'bin'), confDir: join(server.folder, 'conf') };
    installPlugin(folders.binDir, socket);
    // That of an earlier boot.
    installConflist(folders.confDir, '--conf-dir');
    const isShown = (): boolean => existsSync(join(folders.confDir, CONFLIST_NAME));
    const call = (command: string) =>
      runShim(folders.binDir, { command, container: ID, namespace: inside, pod: 'blue/pod1' });
    const pod = async (): Promise<string[]> =>
      (await vsctl('list-ports', 'br-int')).split('\n').filter((name) => name.startsWith('fedc'));

    const [nsenter = '', ...enter] = host.inside;
    const flags = [
      'node',
      '--node=ovn-worker',
      `--nb=${northbound.remote}`,
      `--ovs=${server.remote}`,
      `--manifests=${installation.manifests}`,
      `--state=${installation.state}`,
      '--socket=none',
      `--cni-socket=${socket}`,
      `--cni-conf-dir=${folders.confDir}`,
      '--metrics-bind-address=127.0.0.1:0',
      '--cluster-subnets=10.244.0.0/16/24',
      '--k8s-service-cidrs=10.96.0.0/16',
      '--mtu=1350',
    ];
    northbound.suspend('SIGSTOP');
    const needless = needlessPrograms(server.folder);
    const daemon = spawn(...bound(nsenter, [...enter, process.execPath, program, ...flags]), {
      stdio: ['ignore', 'ignore', 'pipe'],
      env: { ...process.env, PATH: needless.path },
    });
    let said = '';
    daemon.stderr.setEncoding('utf8').on('data', (piece: string) => {
      said += piece;
    });
    const output = (): string => said;
    try {
      await until('what an earlier boot left to go', () => !isShown(), { limit: 30_000, output });
      await until('Open vSwitch', async () => (await call('STATUS')).code === 0, {
        pause: 100,
        limit: 30_000,
        output,
      });
      // Pods could not be served yet.
      expect(isShown()).toBe(false);
      northbound.suspend('SIGCONT');
      await until('the configuration of the plugin', isShown, { limit: 30_000, output });
      expect(await call('STATUS')).toMatchObject({ code: 0 });
      const added = async (): Promise<{ code: number | null; text: string }> => {
        const adding = call('ADD');
        await until('ports', async () => (await pod()).length === 2, {
          pause: 50,
          limit: 20_000,
          output,
        });
        for (const name of await pod())
          await vsctl('set', 'Interface', name, 'external_ids:ovn-installed=true');
        return adding;
      };
      const { code, text } = await added();
      expect(code, text).toBe(0);
      expect(JSON.parse(text)).toMatchObject({
        interfaces: [
          { name: 'fedcba987654321', mtu: 1350 },
          { name: 'eth0' },
          { name: 'fedcba9876543_3' },
          { name: 'ovn-udn1', mac: '0a:58:67:67:00:03' },
        ],
        ips: [
          { interface: 1 },
          { address: '103.103.0.3/24', interface: 3, gateway: '103.103.0.1' },
        ],
      });
      expect(inside.ip('route show default')).toContain('default via 103.103.0.1 dev ovn-udn1');
      expect(await call('DEL')).toEqual({ code: 0, text: '' });
      expect(await pod()).toEqual([]);
      expect(host.ip('-brief link show type veth')).toBe('');
      await until('rules of the host', () => host.ip('rule show').includes('l3mdev'), {
        limit: 20_000,
        output,
      });
      expect(needless.run()).toBe('');
      // Without a switch the host is tried again and again: a pod that comes and goes between two tries is enough.
      let isWithoutPrograms = false;
      for (let attempt = 1; attempt <= 20 && !isWithoutPrograms; attempt += 1) {
        const before = programsOf(daemon.pid ?? 0);
        expect(await added()).toMatchObject({ code: 0 });
        expect(await call('DEL')).toMatchObject({ code: 0 });
        isWithoutPrograms = programsOf(daemon.pid ?? 0) === before;
      }
      expect(isWithoutPrograms).toBe(true);
    } finally {
      daemon.kill('SIGTERM');
      await once(daemon, 'close');
    }
  },
);
