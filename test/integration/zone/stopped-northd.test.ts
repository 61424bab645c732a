/** `heddle node` beside a real ovn-northd that is paused, and stopped, while nothing changes. */
import { once } from 'node:events';
import { spawn } from 'node:child_process';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { Unixctl } from '../../../src/node/programs/unixctl.ts';
import { program } from '../../../src/lab/paths.ts';
import { ovsProgram } from '../../support/host/ovs-programs.ts';
import { OvsdbServer, runOvs, SCHEMAS } from '../../support/ovsdb/ovsdb-server.ts';
import { Installation } from '../../support/run/heddle.ts';
import { bound } from '../../support/run/left-behind.ts';
import { until } from '../../support/run/until.ts';

const EXAMPLE = join(import.meta.dirname, '../cli/fixtures/worked-example');

interface Status {
  readonly problems: readonly { readonly object: string; readonly message: string }[];
}

test('an ovn-northd that is paused or stands still is named within seconds, once, and no more when it goes on', async () => {
  await using northbound = await OvsdbServer.start();
  await using southbound = await OvsdbServer.start({ schema: join(SCHEMAS, 'ovn-sb.ovsschema') });
  using installation = new Installation();
  installation.copy(EXAMPLE);
  const { command, args } = ovsProgram('ovn-northd');
  const northd = spawn(
    ...bound(command, [
      ...args,
      `--ovnnb-db=${northbound.remote}`,
      `--ovnsb-db=${southbound.remote}`,
      `--pidfile=${join(northbound.folder, 'ovn-northd.pid')}`,
      '--verbose=off',
    ]),
    { stdio: 'ignore', env: { ...process.env, OVN_RUNDIR: northbound.folder } },
  );
  const daemon = spawn(
    ...bound(process.execPath, [
      program,
      'node',
      '--node=ovn-worker',
      `--nb=${northbound.remote}`,
      `--manifests=${installation.manifests}`,
      `--state=${installation.state}`,
      `--socket=${installation.socket}`,
      '--cluster-subnets=10.244.0.0/16/24',
      '--k8s-service-cidrs=10.96.0.0/16',
      '--metrics-bind-address=127.0.0.1:0',
    ]),
    { stdio: ['ignore', 'ignore', 'pipe'] },
  );
  let said = '';
  daemon.stderr.setEncoding('utf8').on('data', (piece: string) => (said += piece));
  const ofNorthd = async (): Promise<readonly string[]> => {
    const { stdout } = await installation.runHere('status', '--json');
    const { problems } = JSON.parse(stdout) as Status;
    return problems.flatMap(({ object, message }) =>
      message.startsWith('ovn-northd') ? [`${object}: ${message}`] : [],
    );
  };
  const control = new Unixctl({ folder: northbound.folder, daemon: 'ovn-northd' });
  const ask = (what: string): Promise<string> => control.run(what, [], AbortSignal.timeout(10_000));
  const confirmed = async (): Promise<boolean> => {
    const row = await runOvs('ovn-nbctl', [
      `--db=${northbound.remote}`,
      '--format=csv',
      '--no-headings',
      '--columns=nb_cfg,sb_cfg',
      'list',
      'NB_Global',
    ]);
    const [asked, answered] = row.trim().split(',');
    return asked !== '0' && asked === answered;
  };
  const waiting = { limit: 120_000, output: () => said };
  try {
    await until('the daemon to have written', () => /rows committed|"rows":/.test(said), waiting);
    await until('the answer of ovn-northd', confirmed, waiting);
    expect(await ask('status')).toBe('Status: active\n');
    expect(await ofNorthd()).toEqual([]);

    await ask('pause');
    const paused = performance.now();
    await until('it to be named', async () => (await ofNorthd()).length > 0, waiting);
    // Another 15 s for a machine that is busy.
    expect(performance.now() - paused).toBeLessThan(32_000);
    expect(await ofNorthd()).toEqual([
      expect.stringMatching(
        /^Node ovn-worker: ovn-northd has been paused since .*; it goes on by ovn-appctl -t ovn-northd resume$/,
      ),
    ]);

    northd.kill('SIGSTOP');
    const isStopped = async (): Promise<boolean> => /not answered/.test((await ofNorthd()).join());
    await until('its silence', isStopped, waiting);
    expect(await ofNorthd()).toEqual([
      expect.stringMatching(
        /^Node ovn-worker: ovn-northd has not answered since .* \(no answer within 5 s\): changes don't leave/,
      ),
    ]);
    northd.kill('SIGCONT');
    await ask('resume');
    await until('its end', async () => (await ofNorthd()).length === 0, waiting);
  } finally {
    daemon.kill('SIGTERM');
    northd.kill('SIGCONT');
    northd.kill('SIGKILL');
    await once(daemon, 'close');
  }
}, 300_000);
