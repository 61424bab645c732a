/** `heddle node` beside a real ovs-vswitchd that is killed and started again, and an ovsdb-server that stands still. */
import { once } from 'node:events';
import { spawn } from 'node:child_process';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { program } from '../../../src/lab/paths.ts';
import { NetworkNamespace, whyNoNamespace } from '../../support/host/network-namespace.ts';
import { Vswitchd } from '../../support/host/vswitchd.ts';
import { OvsdbServer } from '../../support/ovsdb/ovsdb-server.ts';
import { Installation } from '../../support/run/heddle.ts';
import { bound } from '../../support/run/left-behind.ts';
import { until } from '../../support/run/until.ts';

const EXAMPLE = join(import.meta.dirname, '../cli/fixtures/worked-example');

interface Status {
  readonly nodes: readonly { readonly name: string; readonly message?: string }[];
  readonly networks: readonly { readonly nodes: readonly { readonly state: string }[] }[];
  readonly problems: readonly { readonly object: string; readonly message: string }[];
}

test.skipIf(whyNoNamespace !== undefined)(
  'an ovs-vswitchd that ends is said once, of the node, and no more when it is back; no network failed for it',
  async () => {
    await using northbound = await OvsdbServer.start();
    await using vswitchd = await Vswitchd.start();
    using host = await NetworkNamespace.create();
    using installation = new Installation();
    installation.copy(EXAMPLE);
    const common = [
      '--node=ovn-worker',
      `--nb=${northbound.remote}`,
      `--manifests=${installation.manifests}`,
      `--state=${installation.state}`,
      `--socket=${installation.socket}`,
      '--cluster-subnets=10.244.0.0/16/24',
      '--k8s-service-cidrs=10.96.0.0/16',
    ];
    const [nsenter = '', ...enter] = host.inside;
    const daemon = spawn(
      ...bound(nsenter, [
        ...enter,
        process.execPath,
        program,
        'node',
        ...common,
        `--ovs=${vswitchd.database.remote}`,
        '--metrics-bind-address=127.0.0.1:0',
      ]),
      { stdio: ['ignore', 'ignore', 'pipe'] },
    );
    let said = '';
    daemon.stderr.setEncoding('utf8').on('data', (piece: string) => (said += piece));
    const status = async (): Promise<Status> => {
      const { stdout } = await installation.runHere('status', '--json');
      return JSON.parse(stdout) as Status;
    };
    const ofSwitch = async (): Promise<readonly string[]> =>
      (await status()).problems.flatMap(({ object, message }) =>
        message.includes('ovs-vswitchd has not answered') ? [`${object}: ${message}`] : [],
      );
    const waiting = { limit: 120_000, output: () => said };
    try {
      await until('the daemon to have written', () => /rows committed|"rows":/.test(said), waiting);
      expect(await ofSwitch()).toEqual([]);
      const before = (await status()).networks.map(({ nodes }) => nodes.map(({ state }) => state));
      await vswitchd.kill();
      await until('the problem', async () => (await ofSwitch()).length > 0, waiting);
      const { nodes, networks } = await status();
      expect(await ofSwitch()).toEqual([
        expect.stringMatching(
          /^Node ovn-worker: ovs-vswitchd has not answered since .*: nothing that changes reaches packets/,
        ),
      ]);
      expect(nodes[0]?.message).toMatch(/ovs-vswitchd has not answered/);
      expect(networks.map(({ nodes: on }) => on.map(({ state }) => state))).toEqual(before);
      await vswitchd.launch();
      await until('its end', async () => (await ofSwitch()).length === 0, waiting);
      expect((await status()).nodes[0]?.message ?? '').not.toMatch(/ovs-vswitchd/);

      northbound.suspend('SIGSTOP');
      const manifest = {
        apiVersion: 'v1',
        kind: 'Pod',
        metadata: { name: 'late', namespace: 'blue' },
      };
      const pod = {
        ...manifest,
        spec: { nodeName: 'ovn-worker', containers: [{ name: 'a', image: 'a' }] },
      };
      installation.write('late.json', JSON.stringify(pod));
      const ofServer = async (): Promise<readonly string[]> =>
        (await status()).problems.flatMap(({ object, message }) =>
          /has not answered a transaction|at one pass/.test(message)
            ? [`${object}: ${message}`]
            : [],
        );
      await until('the server to be named', async () => (await ofServer()).length > 0, waiting);
      expect(await ofServer()).toEqual([
        expect.stringMatching(
          /^Node ovn-worker: OVN_Northbound \(--nb unix:.*\) has not answered a transaction since/,
        ),
      ]);
      expect((await status()).nodes[0]?.message).toMatch(/^OVN_Northbound .* has not answered/);
      northbound.suspend('SIGCONT');
      await until('its answer', async () => (await ofServer()).length === 0, waiting);
    } finally {
      daemon.kill('SIGTERM');
      await once(daemon, 'close');
    }
  },
  300_000,
);
