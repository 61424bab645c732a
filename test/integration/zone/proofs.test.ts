/** `heddle node --verify-interval`: what leads from one network to another though no object wants that is told by itself, also to the owner of the network. */
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { OvsdbServer, runOvs } from '../../support/ovsdb/ovsdb-server.ts';
import { Installation, type RunningCommand } from '../../support/run/heddle.ts';
import { until } from '../../support/run/until.ts';

const EXAMPLE = join(import.meta.dirname, '../cli/fixtures/worked-example');
const NETWORKS = ['--cluster-subnets=10.244.0.0/16/24', '--k8s-service-cidrs=10.96.0.0/16'];
const ROUTER = 'blue_blue_ovn_cluster_router';

interface Status {
  readonly problems: readonly { readonly object: string; readonly message: string }[];
  readonly networks: readonly {
    readonly name: string;
    readonly conditions?: readonly { readonly type: string; readonly message: string }[];
  }[];
}

test('a route that somebody adds into another network is found, told with its object, and forgotten when it is gone', async () => {
  await using northbound = await OvsdbServer.start();
  using heddle = new Installation([...NETWORKS, '--node=ovn-worker']);
  heddle.copy(EXAMPLE);
  const start = (seconds: number): RunningCommand =>
    heddle.daemon('--nb', northbound.remote, '--render=everywhere', `--verify-interval=${seconds}`);
  let daemon = start(1);
  onTestFinished(async () => daemon[Symbol.asyncDispose]());
  const nbctl = (...words: readonly string[]): Promise<string> =>
    runOvs('ovn-nbctl', [`--db=${northbound.remote}`, ...words]);
  let said = '';
  let json = '';
  const status = async (...more: readonly string[]): Promise<string> => {
    const { stdout, stderr } = await heddle.runHere('status', ...more);
    said = `${stdout}${stderr}`;
    return stdout;
  };
  const becomes = (what: string, isSo: (text: string) => boolean): Promise<void> =>
    until(what, async () => isSo((json = await status('--json'))), {
      limit: 60_000,
      pause: 500,
      output: () => `${said}\n${daemon.log}`,
    });
  const messages = (text: string): readonly string[] =>
    (JSON.parse(text === '' ? '{"problems":[]}' : text) as Status).problems
      .filter(({ object }) => object === 'Node ovn-worker')
      .map(({ message }) => message);
  const isViolated = (text: string): boolean =>
    messages(text).some((message) => message.startsWith('networks are not apart (routes): '));

  // Without the other databases and the host the question stays open, which is said.
  await becomes('a proof', (text) =>
    messages(text).includes(
      'whether its networks are apart is not decided: OVN_Southbound: it needs --sb',
    ),
  );
  expect(isViolated(json)).toBe(false);

  await nbctl('lr-route-add', ROUTER, '10.244.0.0/16', '100.88.0.9');
  await becomes('the route to be found', isViolated);
  expect(messages(json).find((message) => message.includes('10.244.0.0/16'))).toMatch(
    /Northbound Logical_Router_Static_Route .*; it concerns UserDefinedNetwork blue\/blue: heddle verify on the node shows all of it$/,
  );
  await becomes('its owner to be told', (text) => text.includes('NetworkIsolated'));

  // A daemon that comes after one that was killed takes nothing back before it has proved something itself.
  await daemon.end('SIGKILL');
  daemon = start(3600);
  await becomes('the next daemon', (text) => text !== '' && !isViolated(text));
  for (let look = 0; look < 3; look += 1)
    expect(await status('--json')).toContain('NetworkIsolated');
  expect(await daemon.end('SIGTERM')).toBe(0);
  daemon = start(1);

  await nbctl('lr-route-del', ROUTER, '10.244.0.0/16');
  await becomes('it to be over', (text) => !isViolated(text) && !text.includes('NetworkIsolated'));
  expect(await daemon.end('SIGTERM')).toBe(0);
}, 120_000);
