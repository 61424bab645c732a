/** `heddle node --verify-interval`: what leads from one network to another though no object wants that is told by itself, also to the owner of the network. */
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { OvsdbServer, runOvs } from '../../support/ovsdb/ovsdb-server.ts';
import { Installation, type RunningCommand } from '../../support/run/heddle.ts';
import { until } from '../../support/run/until.ts';

const EXAMPLE = join(import.meta.dirname, '../cli/fixtures/worked-example');
const NETWORKS = ['--cluster-subnets=10.244.0.0/16/24', '--k8s-service-cidrs=10.96.0.0/16'];
const ROUTER = 'blue_blue_ovn_cluster_router';
const RED_ROUTER = 'red_red_ovn_cluster_router';

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
  // It finds the same at its first look at Northbound, an hour before its first proof.
  await becomes('the next daemon to find it', (text) => {
    if (text !== '') expect(text).toContain('NetworkIsolated');
    return daemon.log.includes('may have joined networks') && isViolated(text);
  });
  expect(await daemon.end('SIGTERM')).toBe(0);
  daemon = start(1);

  await nbctl('lr-route-del', ROUTER, '10.244.0.0/16');
  await becomes('it to be over', (text) => !isViolated(text) && !text.includes('NetworkIsolated'));
  expect(await daemon.end('SIGTERM')).toBe(0);
}, 120_000);

/** A namespace with a primary network, both of that name. */
const networkOf = (name: string): string => `
apiVersion: v1
kind: Namespace
metadata:
  name: ${name}
  labels: {k8s.ovn.org/primary-user-defined-network: ''}
---
apiVersion: k8s.ovn.org/v1
kind: UserDefinedNetwork
metadata: {name: ${name}, namespace: ${name}}
spec:
  topology: Layer3
  layer3: {role: Primary, subnets: [{cidr: 103.103.0.0/16, hostSubnet: 24}]}
`;

test('routers of two networks that somebody joins are found at once, not at the next proof, and so is the end of that; networks that come are no violation', async () => {
  await using northbound = await OvsdbServer.start();
  using heddle = new Installation([...NETWORKS, '--node=ovn-worker']);
  heddle.copy(EXAMPLE);
  heddle.write('red.yaml', networkOf('red'));
  await using daemon = heddle.daemon(
    '--nb',
    northbound.remote,
    '--render=everywhere',
    '--verify-interval=3600',
  );
  const nbctl = (...words: readonly string[]): Promise<string> =>
    runOvs('ovn-nbctl', [`--db=${northbound.remote}`, ...words]);
  let said = '';
  const becomes = (what: string, isSo: () => Promise<boolean>): Promise<void> =>
    until(what, isSo, { limit: 60_000, pause: 250, output: () => `${said}\n${daemon.log}` });
  const status = async (): Promise<string> =>
    (said = (await heddle.runHere('status', '--json')).stdout);
  const asked = async (): Promise<number> => {
    const [, url = ''] = /"health":"([^"]+)"/.exec(daemon.log) ?? [];
    const metrics = await (await fetch(`${url}/metrics`)).text();
    return Number(/^heddle_verify_asked_total (\d+)$/m.exec(metrics)?.[1]);
  };
  const isNotApart = (text: string): boolean => text.includes('networks are not apart (cut): ');
  const hasRouter = async (name: string): Promise<boolean> =>
    (await nbctl('--bare', '--columns=name', 'find', 'Logical_Router', `name=${name}`)).includes(
      name,
    );

  await becomes('both networks', async () => {
    const [blue, red] = await Promise.all([hasRouter(ROUTER), hasRouter(RED_ROUTER)]);
    return blue && red;
  });
  for (let n = 0; n < 50; n += 1) heddle.write(`n${n}.yaml`, networkOf(`n${n}`));
  await becomes('fifty networks more', () => hasRouter('n49_n49_ovn_cluster_router'));

  const join = (router: string, port: string, address: string, peer: string): readonly string[] => [
    'lrp-add',
    router,
    port,
    `0a:58:0a:00:00:0${address}`,
    `192.0.2.${address}/30`,
    `peer=${peer}`,
  ];
  await nbctl(
    ...join(ROUTER, 'to-red', '1', 'to-blue'),
    '--',
    ...join(RED_ROUTER, 'to-blue', '2', 'to-red'),
  );
  await becomes('the way to be found', async () => isNotApart(await status()));
  // What fifty networks made has asked for none before.
  expect(await asked()).toBe(1);
  expect(said).toContain('to-red');
  await becomes('its owners to be told', async () => (await status()).includes('NetworkIsolated'));

  await nbctl('lrp-del', 'to-red', '--', 'lrp-del', 'to-blue');
  await becomes('it to be over', async () => !isNotApart(await status()));
  expect(await asked()).toBe(2);
  expect(await daemon.end('SIGTERM')).toBe(0);
}, 180_000);

test('an ACL that drops what nothing denies is found at once, keeps no network from being apart, and is forgotten when it is gone', async () => {
  await using northbound = await OvsdbServer.start();
  using heddle = new Installation([...NETWORKS, '--node=ovn-worker']);
  heddle.copy(EXAMPLE);
  await using daemon = heddle.daemon(
    '--nb',
    northbound.remote,
    '--render=everywhere',
    '--verify-interval=3600',
  );
  const nbctl = (...words: readonly string[]): Promise<string> =>
    runOvs('ovn-nbctl', [`--db=${northbound.remote}`, ...words]);
  let said = '';
  const becomes = (what: string, isSo: (text: string) => boolean): Promise<void> =>
    until(what, async () => isSo((said = (await heddle.runHere('status', '--json')).stdout)), {
      limit: 60_000,
      pause: 250,
      output: () => `${said}\n${daemon.log}`,
    });
  const isFound = (text: string): boolean =>
    text.includes('policies and EgressFirewalls are not in force as they are (firewalls): ');
  await becomes('the network', (text) => text.includes('blue_blue'));
  const block = ['blue_blue_ovn-worker', 'to-lport', '9000', 'ip4.dst == 192.0.2.0/24'] as const;
  await until(
    'its switch',
    async () =>
      (await nbctl('--bare', '--columns=name', 'list', 'Logical_Switch')).includes(block[0]),
    { limit: 60_000, pause: 250, output: () => daemon.log },
  );
  await nbctl('acl-add', ...block, 'drop');
  await becomes('it to be found', isFound);
  expect(said).not.toContain('NetworkIsolated');
  await nbctl('acl-del', ...block);
  await becomes('it to be over', (text) => text !== '' && !isFound(text));
  expect(await daemon.end('SIGTERM')).toBe(0);
}, 120_000);
