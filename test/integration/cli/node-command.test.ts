/** `heddle node` on a real Northbound server, and what other commands hear from it. */
import { existsSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, onTestFinished, test } from 'vitest';
import { zoneStatuses } from '../../../src/api/kinds.ts';
import {
  heartbeatOf,
  LEASES,
  microTime,
  nodeLeaseName,
  type Lease,
} from '../../../src/api/node-lease.ts';
import { program } from '../../../src/lab/paths.ts';
import { VERSION } from '../../../src/process/version.ts';
import { ManifestStore } from '../../../src/store/manifests/manifest-store.ts';
import { objectRules } from '../../../src/store/object-rules.ts';
import type { NodeChanges } from '../../../src/views/node-changes.ts';
import { heddle, type CommandResult } from '../../support/run/heddle.ts';
import { NORTHBOUND_SCHEMA, OvsdbServer, runOvs } from '../../support/ovsdb/ovsdb-server.ts';
import { SaidOfNetworks } from '../../support/cluster/said-of-networks.ts';
import { until } from '../../support/run/until.ts';
import { commandZone, nbctl, names, ended } from '../../support/run/command-zone.ts';

describe('heddle node', () => {
  test('repairs what others break, survives its own death and that of the server', async () => {
    await using bed = await commandZone();
    const isThere = async (): Promise<boolean> =>
      (await names(bed.server, 'Logical_Switch')).includes('blue_blue_ovn-worker');
    {
      await using daemon = bed.heddle.daemon();
      await until('the network', isThere, 30_000);
      const versions = await bed.heddle.run(
        'version',
        '--json',
        '--node=ovn-worker',
        '--socket',
        bed.heddle.socket,
      );
      expect(versions.code, versions.stderr).toBe(0);
      expect(JSON.parse(versions.stdout)).toMatchObject({
        heddle: VERSION,
        daemon: { heddle: VERSION, node: expect.any(String) as string, pid: daemon.pid },
      });
      await nbctl(bed.server, 'ls-del', 'blue_blue_ovn-worker');
      await until('the switch to be back', isThere);
      await until('it to be told', () => daemon.log.includes('"component":"drift"'));
      const [line = ''] = daemon.log.split('\n').filter((one) => one.includes('"drift"'));
      expect(JSON.parse(line)).toMatchObject({
        level: 'warn',
        database: 'Northbound',
        by: 'somebody else',
        rows: expect.arrayContaining([
          'Logical_Switch blue_blue_ovn-worker was removed',
        ]) as unknown,
      });
      const told = (object: string): boolean =>
        readdirSync(bed.heddle.state, { recursive: true, encoding: 'utf8' })
          .filter((name) => name.endsWith('.json') && name.includes('objects/events/'))
          .map((name) => readFileSync(join(bed.heddle.state, name), 'utf8'))
          .some((text) => text.includes('DriftRepaired') && text.includes(object));
      await until('events', () => told('"UserDefinedNetwork"') && told('"Node"'));
      const changes = await bed.heddle.run('changes', '--socket', bed.heddle.socket);
      expect(changes.code, changes.stderr).toBe(2);
      expect(changes.stdout).toMatch(/DRIFT +Northbound +\+\d+ .*UserDefinedNetwork blue\/blue/);
      expect(changes.stdout).toContain('by somebody else');
      expect(changes.stdout).toContain('Logical_Switch blue_blue_ovn-worker was removed');
      const written = await bed.heddle.run(
        'changes',
        '--json',
        '--object=blue/blue',
        '--socket',
        bed.heddle.socket,
      );
      const kinds = (JSON.parse(written.stdout) as NodeChanges).changes.map(({ kind }) => kind);
      expect(kinds.slice(0, 1)).toEqual(['drift']);
      expect(kinds).toContain('wrote');
      await daemon.end('SIGKILL');
    }
    const rows = await nbctl(bed.server, 'list', 'Logical_Switch_Port');
    await using daemon = bed.heddle.daemon();
    await until('the second daemon', () => daemon.log.includes('"isHeld":true'), 30_000);
    await nbctl(bed.server, 'ls-del', 'blue_blue_join');
    await until('the join switch', async () =>
      (await names(bed.server, 'Logical_Switch')).includes('blue_blue_join'),
    );
    expect(await nbctl(bed.server, 'list', 'Logical_Switch_Port')).toBe(rows);
    expect(await daemon.end('SIGTERM')).toBe(0);
    expect(await isThere()).toBe(true);
  });

  test('is one process with a small young generation, of what was compiled before', async () => {
    await using bed = await commandZone();
    await using daemon = bed.heddle.daemon();
    await until('the lock', () => daemon.log.includes('"isHeld":true'), 30_000);
    const words = readFileSync(`/proc/${daemon.pid}/cmdline`, 'utf8').split('\0');
    expect(words.filter((word) => word.startsWith('--max-semi'))).toHaveLength(1);
    expect(words).toContain(program);
    expect(await daemon.end('SIGTERM')).toBe(0);
  });

  test('started again, beside an OVN that is slow, it says nothing of networks that it did not say before', async () => {
    await using bed = await commandZone();
    const { manifests, state } = bed.heddle;
    // The other node has no daemon here that could report.
    const nodes = join(manifests, 'nodes.yaml');
    writeFileSync(nodes, readFileSync(nodes, 'utf8').split('\n---\n')[0] ?? '');
    const store = await ManifestStore.open({ manifests, state, rules: objectRules });
    const set = (...values: readonly string[]): Promise<string> =>
      nbctl(bed.server, 'set', 'NB_Global', '.', ...values);
    const before = new SaidOfNetworks(store);
    const programmed = 'ovn-worker: blue_blue=Programmed default=Programmed';
    {
      await using daemon = bed.heddle.daemon();
      await until('its report', () => [...before.lines].some((line) => /=Committed/.test(line)), {
        limit: 30_000,
        output: () => daemon.log,
      });
      await set('sb_cfg=1000', 'hv_cfg=1000');
      await until('the data plane', () => before.lines.has(programmed), 30_000);
      await until('the condition', () => [...before.lines].some((line) => /True/.test(line)));
      await daemon.end('SIGTERM');
    }
    await before[Symbol.asyncDispose]();
    // What somebody changed meanwhile has not been confirmed yet.
    await set('nb_cfg=2000');
    const after = new SaidOfNetworks(store);
    await using daemon = bed.heddle.daemon();
    await until('the lock', () => daemon.log.includes('"isHeld":true'), 30_000);
    await sleep(3000);
    expect([...after.lines].toSorted()).toEqual([
      expect.stringMatching(/^blue\/blue: True since /),
      programmed,
    ]);
    await after[Symbol.asyncDispose]();
    await store.close();
  }, 60_000);

  test('a problem that is over is over in what is stored, too, although no row changed', async () => {
    await using bed = await commandZone();
    bed.heddle.write(
      'red.yaml',
      `apiVersion: k8s.ovn.org/v1
kind: UserDefinedNetwork
metadata: { name: again, namespace: blue }
spec: { topology: Layer3, layer3: { role: Secondary, subnets: [{ cidr: 10.244.0.0/16 }] } }
`,
    );
    const store = await ManifestStore.open({
      manifests: bed.heddle.manifests,
      state: bed.heddle.state,
      rules: objectRules,
    });
    const problems = async (): Promise<string> =>
      JSON.stringify((await store.get(zoneStatuses, 'ovn-worker'))?.status?.problems);
    await using daemon = bed.heddle.daemon();
    await until('the problem', async () => /blue\/again/.test((await problems()) ?? ''), {
      limit: 30_000,
      pause: 100,
      output: () => daemon.log,
    });
    bed.heddle.remove('red.yaml');
    await until('its end', async () => !/blue\/again/.test(await problems()), {
      limit: 10_000,
      pause: 100,
      output: () => daemon.log,
    });
    await daemon.end('SIGTERM');
    await store.close();
  }, 60_000);

  test('that is the manager itself, from its first start: a NAD that never gets an id holds up nobody else', async () => {
    await using bed = await commandZone();
    for (const [name, subnet] of [
      ['first', '10.1.0.0/16/24'],
      ['second', '10.2.0.0/16/24'],
    ])
      bed.heddle.write(
        `${name}.yaml`,
        `apiVersion: k8s.cni.cncf.io/v1
kind: NetworkAttachmentDefinition
metadata: { name: ${name}, namespace: blue }
spec:
  config: '{"cniVersion":"1.1.0","name":"twice","netAttachDefName":"blue/${name}","subnets":"${subnet}","topology":"layer3","type":"ovn-k8s-cni-overlay"}'
`,
      );
    for (const _start of ['first', 'second']) {
      await using daemon = bed.heddle.daemon();
      const rows = (): Promise<string[]> => names(bed.server, 'Logical_Switch');
      await until('the rows', async () => (await rows()).includes('blue_blue_ovn-worker'), {
        limit: 30_000,
        pause: 100,
        output: () => daemon.log,
      });
      await until('the problem', () => /NetworkAttachmentDefinition blue\/second/.test(daemon.log));
      await nbctl(bed.server, 'ls-del', 'blue_blue_ovn-worker');
      await daemon.end('SIGKILL');
    }
  });

  test('beside the manager of another process, a NAD that never gets an id holds up nobody else', async () => {
    await using bed = await commandZone();
    const nad = (network: string, subnet: string): string => `apiVersion: k8s.cni.cncf.io/v1
kind: NetworkAttachmentDefinition
metadata: { name: ${network}, namespace: blue }
spec:
  config: '{"cniVersion":"1.1.0","name":"twice","netAttachDefName":"blue/${network}","subnets":"${subnet}","topology":"layer3","type":"ovn-k8s-cni-overlay"}'
`;
    bed.heddle.write('first.yaml', nad('first', '10.1.0.0/16/24'));
    bed.heddle.write('second.yaml', nad('second', '10.2.0.0/16/24'));
    await using other = await OvsdbServer.start();
    await using leader = bed.heddle.daemon(`--nb=${other.remote}`, '--socket=none');
    const rows = (server: OvsdbServer): Promise<string> => nbctl(server, 'list', 'Logical_Switch');
    await until(
      'the leader to write',
      async () => (await rows(other)).includes('blue_blue'),
      30_000,
    );
    expect(leader.log).not.toContain('"level":"fatal"');
    await using node = bed.heddle.daemon();
    await until(
      'the node to write',
      async () => (await rows(bed.server)).includes('blue_blue'),
      30_000,
    );
    expect(node.log).toMatch(/NetworkAttachmentDefinition blue\/second/);
  });

  test('a second process does not write while the first one holds the lock', async () => {
    await using bed = await commandZone();
    await using daemon = bed.heddle.daemon();
    await until('the lock', () => daemon.log.includes('"isHeld":true'), 30_000);
    const second = await bed.heddle.run('apply', '--no-wait', '--timeout', '4');
    ended(second, 69);
    expect(second.stderr).toMatch(/another Heddle process holds the lock "heddle_zone"/);
  });
});

describe('a running daemon', () => {
  test('answers status, plan and diff itself, and nobody does when it was killed', async () => {
    await using bed = await commandZone();
    const ask = async (command: string, ...more: string[]): Promise<CommandResult> =>
      bed.heddle.run(command, '--json', ...more);
    const sourceOf = ({ stdout }: CommandResult): unknown =>
      (JSON.parse(stdout) as { source: unknown }).source;
    {
      await using daemon = bed.heddle.daemon();
      await until('the networks', async () =>
        (await names(bed.server, 'Logical_Switch')).includes('blue_blue_ovn-worker'),
      );
      for (const command of ['status', 'plan', 'diff']) {
        const result = await ask(command);
        expect([command, sourceOf(result)]).toEqual([command, 'daemon']);
        expect(result.stderr).toMatch(
          new RegExp(`answered by the daemon of node ovn-worker \\(process ${daemon.pid}\\)`),
        );
      }
      const plan = await ask('plan');
      ended(plan, 0);
      expect(JSON.parse(plan.stdout)).toMatchObject({
        node: 'ovn-worker',
        databases: [{ database: 'OVN_Northbound', empty: true, changes: [] }],
      });
      expect((await bed.heddle.run('plan')).stdout).toMatch(/^Node ovn-worker: Nothing to do\.\n$/);
      expect((await bed.heddle.run('status')).stdout).toMatch(
        /^blue_blue .* Committed +ovn-worker Committed/m,
      );
      const page = join(bed.heddle.folder, 'page.html');
      ended(await bed.heddle.run('graph', '--html', page, '--socket', bed.heddle.socket), 0);
      const data = /id="data">(.*?)<\/script>/s.exec(readFileSync(page, 'utf8'))?.[1] ?? '';
      expect(JSON.parse(data)).toMatchObject({
        status: {
          nodes: expect.arrayContaining([
            expect.objectContaining({ name: 'ovn-worker', daemon: 'running' }),
          ]) as unknown,
        },
        networks: expect.arrayContaining([
          expect.objectContaining({ name: 'blue_blue', state: 'Committed' }),
        ]) as unknown,
        changes: {
          node: 'ovn-worker',
          changes: expect.arrayContaining([
            expect.objectContaining({ kind: 'wrote', database: 'Northbound' }),
          ]) as unknown,
        },
        plan: { rows: 0, networks: [] },
      });
      // The socket is all that it takes.
      const bare = await heddle('status', '--json', '--socket', bed.heddle.socket);
      expect(sourceOf(bare)).toBe('daemon');
      // A question about something else is not its business.
      const other = await ask('plan', '--mtu', '1300');
      expect(sourceOf(other)).toBe('direct');
      expect(other.stderr).toMatch(
        /works with other settings: --mtu is "1300" here and "1400" there/,
      );
      // A second one for the same node is refused, and the first one goes on.
      const second = bed.heddle.daemon();
      expect(await second.ended).toBe(64);
      expect(second.log).toMatch(/--socket: a process answers on .*control\.sock already: end it/);
      expect(sourceOf(await ask('plan'))).toBe('daemon');
      await daemon.end('SIGKILL');
    }
    const alone = await ask('plan');
    ended(alone, 0);
    expect(sourceOf(alone)).toBe('direct');
    expect(alone.stderr).toMatch(/not from a daemon: no daemon answers on .*control\.sock/);
    expect(sourceOf(await ask('status'))).toBe('direct');
    // What it left behind is in nobody's way.
    await using daemon = bed.heddle.daemon();
    await until('an answer', async () => sourceOf(await ask('status')) === 'daemon', 30_000);
    expect(await daemon.end('SIGTERM')).toBe(0);
    expect(existsSync(bed.heddle.socket)).toBe(false);
  });

  test('that died is missed at its socket at once, and elsewhere once its heartbeat is old; one that was stopped said so', async () => {
    await using bed = await commandZone();
    const shown = (...more: string[]): Promise<CommandResult> => bed.heddle.run('status', ...more);
    const { manifests, state } = bed.heddle;
    const store = await ManifestStore.open({ manifests, state, rules: objectRules });
    onTestFinished(() => store.close());
    const key = `heddle/${nodeLeaseName('ovn-worker')}`;
    const isHeld = async (): Promise<boolean> => {
      const lease = await store.get(LEASES, key);
      return lease !== undefined && heartbeatOf(lease).isHeld;
    };
    {
      await using daemon = bed.heddle.daemon();
      await until('the heartbeat', isHeld, { limit: 30_000, pause: 50 });
      const isCommitted = async (): Promise<boolean> =>
        (await store.get(zoneStatuses, 'ovn-worker'))?.status?.networks.some(
          ({ name, state: reported }) => name === 'blue_blue' && reported === 'Committed',
        ) === true;
      await until('the networks', isCommitted, { limit: 30_000, pause: 50 });
      // Without its socket the command has nothing but what is stored.
      expect((await shown('--socket=none')).stdout).toMatch(/^ovn-worker +2 +running/m);
      await daemon.end('SIGKILL');
    }
    const atOnce = await shown();
    ended(atOnce, 1);
    expect(atOnce.stdout).toMatch(
      /^1 node, .*\n\nProblems\n.*Node ovn-worker: no daemon: nobody listens on its socket: it has ended: its networks stay as they are, .*\n[^]*^blue_blue .* no daemon +ovn-worker no daemon$/m,
    );
    const spec = { renewTime: microTime(Date.now() - 21_000) };
    await store.patch(LEASES, key, { spec }, { fieldManager: 'test' });
    const late = await shown('--socket=none', '--json');
    const { networks, nodes } = JSON.parse(late.stdout) as {
      networks: { name: string; nodes: { node: string; state: string; message: string }[] }[];
      nodes: { name: string; daemon: { state: string } }[];
    };
    expect(nodes.find(({ name }) => name === 'ovn-worker')?.daemon.state).toBe('Stale');
    expect(networks.find(({ name }) => name === 'blue_blue')?.nodes[0]).toMatchObject({
      state: 'Stale',
      message: expect.stringMatching(
        /^no heartbeat of its daemon since \S+, \d+ s ago by the clock of this machine; it was Committed$/,
      ) as string,
    });
    await using daemon = bed.heddle.daemon();
    const isNew = async (): Promise<boolean> =>
      heartbeatOf((await store.get(LEASES, key)) as Lease).renewedAt > Date.now() - 20_000;
    await until('the next daemon', isNew, { limit: 30_000, pause: 50 });
    expect(await daemon.end('SIGTERM')).toBe(0);
    const stopped = await shown('--socket=none');
    ended(stopped, 1);
    expect(stopped.stdout).toMatch(/Node ovn-worker: no daemon: its daemon was stopped at /);
  }, 180_000);

  test('asked of a pod that is not there says so as a command that asks nobody does, and exits as for any mistake', async () => {
    await using bed = await commandZone();
    await using daemon = bed.heddle.daemon();
    await until(
      'a plan',
      async () => (await bed.heddle.run('plan')).stdout.includes('Nothing to do.'),
      30_000,
    );
    const asked = ['blue/pod11', '103.103.0.4'] as const;
    const refused = /^heddle: POD: there is no pod blue\/pod11; did you mean "blue\/pod1"\?$/m;
    const answered = await bed.heddle.run('explain', ...asked);
    ended(answered, 64);
    expect(answered.stderr).toMatch(refused);
    expect(answered.stderr).not.toContain('not from a daemon');
    expect(await daemon.end('SIGTERM')).toBe(0);
    const alone = await bed.heddle.run('explain', ...asked);
    ended(alone, 64);
    expect(alone.stderr).toMatch(refused);
  });

  test('whose database is away says that nobody knows what would change', async () => {
    await using bed = await commandZone();
    await using _daemon = bed.heddle.daemon();
    await until(
      'a plan',
      async () => (await bed.heddle.run('plan')).stdout.includes('Nothing to do.'),
      30_000,
    );
    await bed.server.stop('SIGKILL');
    for (const command of ['plan', 'diff'] as const) {
      let result: CommandResult | undefined;
      await until('the daemon to notice', async () => {
        result = await bed.heddle.run(command);
        return result.code !== 0;
      });
      expect(result?.stdout).toBe('');
      expect(result?.code).toBe(69);
      expect(result?.stderr).toMatch(
        /nobody knows what would change: OVN_Northbound .* is not connected/,
      );
    }
  });

  test('that can not work yet says why', async () => {
    await using bed = await commandZone();
    await bed.server.stop('SIGKILL');
    await using daemon = bed.heddle.daemon();
    await until('the socket', () => existsSync(bed.heddle.socket), 30_000);
    const plan = await bed.heddle.run('plan');
    ended(plan, 69);
    expect(plan.stderr).toMatch(/nobody knows what would change: .*OVN_Northbound/);
    expect((await bed.heddle.run('status')).stdout).toMatch(/Node ovn-worker: .*OVN_Northbound/);
    expect(await daemon.end('SIGTERM')).toBe(0);
  });
});

describe('heddle node and its database server', () => {
  test('fills an empty database that takes the place of the old one', async () => {
    await using bed = await commandZone();
    await using daemon = bed.heddle.daemon();
    const switches = (): Promise<string[]> => names(bed.server, 'Logical_Switch');
    await until(
      'the networks',
      async () => (await switches()).includes('blue_blue_ovn-worker'),
      30_000,
    );
    const before = await switches();
    await bed.server.stop('SIGKILL');
    const database = join(bed.server.folder, 'server.db');
    rmSync(database);
    await runOvs('ovsdb-tool', ['create', database, NORTHBOUND_SCHEMA]);
    await bed.server.launch();
    await until('the refilled database', async () => (await switches()).length > 0, 30_000);
    expect(await switches()).toEqual(before);
    expect(daemon.log).toMatch(/disconnected/);
  });
});
