import { execFileSync } from 'node:child_process';
import {
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, onTestFinished, test } from 'vitest';
import type { Gathered } from '../../../src/bundle/gather.ts';
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
import { heddle, Installation, type CommandResult } from '../../support/run/heddle.ts';
import {
  NORTHBOUND_SCHEMA,
  OvsdbServer,
  runOvs,
  SCHEMAS,
} from '../../support/ovsdb/ovsdb-server.ts';
import { SaidOfNetworks } from '../../support/cluster/said-of-networks.ts';
import { until } from '../../support/run/until.ts';

const WORKED_EXAMPLE = join(import.meta.dirname, 'fixtures/worked-example');

/** A zone without a data plane: `--no-wait` is for that. */
async function zone(): Promise<AsyncDisposable & { server: OvsdbServer; heddle: Installation }> {
  const server = await OvsdbServer.start();
  const heddle = new Installation([
    '--node=ovn-worker',
    `--nb=${server.remote}`,
    '--cluster-subnets=10.244.0.0/16/24',
    '--k8s-service-cidrs=10.96.0.0/16',
  ]);
  heddle.copy(WORKED_EXAMPLE);
  return {
    server,
    heddle,
    async [Symbol.asyncDispose]() {
      heddle[Symbol.dispose]();
      await server[Symbol.asyncDispose]();
    },
  };
}

const nbctl = (server: OvsdbServer, ...args: readonly string[]): Promise<string> =>
  runOvs('ovn-nbctl', [`--db=${server.remote}`, ...args]);

const names = async (server: OvsdbServer, table: string): Promise<string[]> =>
  (await nbctl(server, '--bare', '--columns=name', 'list', table))
    .split('\n')
    .filter(Boolean)
    .sort();

const ended = ({ code, stderr }: CommandResult, expected: number): void => {
  expect(code, stderr).toBe(expected);
};

describe('heddle apply', () => {
  test('writes the networks into an empty database, and nothing the second time', async () => {
    await using bed = await zone();
    ended(await bed.heddle.run('apply', '--no-wait'), 0);
    expect(await names(bed.server, 'Logical_Router')).toEqual([
      'GR_blue_blue_ovn-worker',
      'GR_ovn-worker',
      'blue_blue_ovn_cluster_router',
      'ovn_cluster_router',
    ]);
    expect(await nbctl(bed.server, 'lsp-get-addresses', 'blue.blue_blue_pod1')).toBe(
      '0a:58:67:67:00:03 103.103.0.3\n',
    );
    const before = await nbctl(bed.server, 'get', 'NB_Global', '.', 'nb_cfg');
    const again = await bed.heddle.run('apply', '--no-wait', '--json');
    ended(again, 0);
    expect(JSON.parse(again.stdout)).toMatchObject({ rows: { Northbound: 0, Southbound: 0 } });
    expect(await nbctl(bed.server, 'get', 'NB_Global', '.', 'nb_cfg')).toBe(before);
  });

  test('waits for its own cluster manager, however long that takes to lead on a busy machine', async () => {
    await using bed = await zone();
    // The lock of the leader alone is slow: longer than anybody would wait who takes it for another process's.
    const programs = join(bed.heddle.folder, 'programs');
    mkdirSync(programs);
    writeFileSync(
      join(programs, 'flock'),
      `#!/bin/sh
case $(readlink /proc/self/fd/9) in *heddle-cluster-manager*) sleep 8 ;; esac
PATH=\${PATH#*:} exec flock "$@"
`,
      { mode: 0o755 },
    );
    const { PATH = '' } = process.env;
    process.env['PATH'] = `${programs}:${PATH}`;
    onTestFinished(() => {
      process.env['PATH'] = PATH;
    });
    ended(await bed.heddle.run('apply', '--no-wait'), 0);
    expect(await nbctl(bed.server, 'lsp-get-addresses', 'blue.blue_blue_pod1')).toBe(
      '0a:58:67:67:00:03 103.103.0.3\n',
    );
  });

  test('a subnet that is too small is refused before anything is touched', async () => {
    await using bed = await zone();
    ended(await bed.heddle.run('apply', '--no-wait'), 0);
    const before = await nbctl(bed.server, 'show');
    const option = '--gateway-v4-masquerade-subnet';
    const applied = await bed.heddle.run('apply', '--no-wait', option, '169.254.0.0/30');
    ended(applied, 64);
    expect(applied.stderr).toBe(
      `heddle: ${option}: 169.254.0.0/30 is too small: 13 addresses are needed (11 for the node and 2 for each network), write 169.254.0.0/28 or a larger subnet\n`,
    );
    await using daemon = bed.heddle.daemon(option, '169.254.0.0/30');
    expect(await daemon.ended).toBe(64);
    expect(await nbctl(bed.server, 'show')).toBe(before);
  });

  test('a network whose manifest is gone leaves nothing behind, others and rows of others stay', async () => {
    await using bed = await zone();
    bed.heddle.write(
      'red.yaml',
      `apiVersion: v1
kind: Namespace
metadata: { name: red, labels: { k8s.ovn.org/primary-user-defined-network: "" } }
---
apiVersion: k8s.ovn.org/v1alpha1
kind: UserDefinedNetwork
metadata: { name: red, namespace: red }
spec: { topology: Layer3, role: Primary, subnets: [103.103.0.0/16/24] }
---
apiVersion: v1
kind: Pod
metadata: { name: web, namespace: red }
spec: { nodeName: ovn-worker, containers: [{ name: web, image: web }] }
`,
    );
    ended(await bed.heddle.run('apply', '--no-wait'), 0);
    expect(await names(bed.server, 'Logical_Switch')).toContain('red_red_ovn-worker');
    await nbctl(bed.server, 'ls-add', 'mine', '--', 'lsp-add', 'blue_blue_ovn-worker', 'theirs');
    bed.heddle.remove('red.yaml');
    ended(await bed.heddle.run('apply', '--no-wait'), 0);
    for (const table of [
      'Logical_Switch',
      'Logical_Router',
      'Logical_Switch_Port',
      'Logical_Router_Port',
      'Load_Balancer_Group',
      'Static_MAC_Binding',
      'NAT',
      'Logical_Router_Static_Route',
      'Logical_Router_Policy',
      'Port_Group',
      'Address_Set',
      'ACL',
      'QoS',
    ])
      expect(await nbctl(bed.server, 'list', table), table).not.toMatch(/red_red/);
    expect(await names(bed.server, 'Logical_Switch')).toContain('mine');
    expect(await names(bed.server, 'Logical_Switch_Port')).toContain('theirs');
    expect(await names(bed.server, 'Logical_Switch')).toContain('blue_blue_ovn-worker');
  });

  test('an object that nodes can make nothing of is named by apply, plan and status', async () => {
    await using bed = await zone();
    bed.heddle.write(
      'egress.yaml',
      `apiVersion: k8s.ovn.org/v1
kind: EgressService
metadata: { name: web, namespace: blue }
spec: { sourceIPBy: LoadBalancerIP, network: main }
`,
    );
    const problem =
      /egress\.yaml:1: EgressService blue\/web: spec\.network: "main" is not the number of a routing table/g;
    const applied = await bed.heddle.run('apply', '--no-wait');
    ended(applied, 1);
    expect(applied.stderr.match(problem)).toHaveLength(1);
    expect(await names(bed.server, 'Logical_Switch')).toContain('blue_blue_ovn-worker');
    for (const command of ['plan', 'diff']) {
      const result = await bed.heddle.run(command);
      ended(result, 1);
      expect(result.stderr.match(problem)).toHaveLength(1);
    }
    const shown = await bed.heddle.run('status');
    ended(shown, 1);
    expect(shown.stdout.match(problem)).toHaveLength(1);
  });

  test('what is wrong is named with file, line, object and field; everything else goes on', async () => {
    await using bed = await zone();
    bed.heddle.write('broken.yaml', 'kind: [\n');
    bed.heddle.write(
      'wrong.yaml',
      `apiVersion: v1
kind: Namespace
metadata: { name: red, labels: { k8s.ovn.org/primary-user-defined-network: "" } }
---
apiVersion: k8s.ovn.org/v1
kind: UserDefinedNetwork
metadata: { name: host, namespace: red }
spec: { topology: Layer3, layer3: { role: Primary, subnets: [{ cidr: 10.244.0.0/16, hostSubnet: 24 }] } }
---
apiVersion: k8s.ovn.org/v1
kind: UserDefinedNetwork
metadata: { name: small, namespace: red }
spec:
  topology: Layer3
  layer3: { role: Primary, mtu: 100, subnets: [{ cidr: 10.1.0.0/16 }] }
---
apiVersion: apps/v1
kind: Deployment
metadata: { name: web, namespace: red }
---
apiVersion: v1
kind: Pod
metadata: { name: lost, namespace: nowhere }
spec: { nodeName: ovn-worker }
---
apiVersion: v1
kind: Pod
metadata: { name: astray, namespace: red }
spec: { nodeName: ovn-wroker }
`,
    );
    const result = await bed.heddle.run('apply', '--no-wait');
    ended(result, 1);
    expect(result.stderr).toMatch(/broken\.yaml:2/);
    expect(result.stderr).toMatch(
      /wrong\.yaml:1\d: UserDefinedNetwork red\/small: spec\.layer3\.mtu: .*576/,
    );
    expect(result.stderr).toMatch(
      /wrong\.yaml:5: UserDefinedNetwork red\/host: .*"10\.244\.0\.0\/16" overlaps cluster subnet.*; change subnets/,
    );
    expect(result.stderr).toMatch(
      /wrong\.yaml:\d+: Deployment \(apps\/v1\): this release does not know/,
    );
    expect(result.stderr).toMatch(
      /wrong\.yaml:21: Pod nowhere\/lost: metadata\.namespace: there is no namespace "nowhere": create it/,
    );
    expect(result.stderr).toMatch(
      /wrong\.yaml:26: Pod red\/astray: spec\.nodeName: there is no node "ovn-wroker": add a Node/,
    );
    expect(await names(bed.server, 'Logical_Router')).toContain('blue_blue_ovn_cluster_router');
  });

  test('an unreachable database and an unknown node end with a message and codes 69 and 64', async () => {
    await using bed = await zone();
    const lost = await bed.heddle.run('apply', '--nb', 'unix:/nowhere.sock', '--timeout', '600');
    ended(lost, 69);
    expect(lost.stderr).toMatch(
      /OVN_Northbound \(--nb unix:\/nowhere\.sock\).*no such file or directory/,
    );
    const unknown = await bed.heddle.run('apply', '--node', 'ovn-wroker', '--no-wait');
    ended(unknown, 64);
    expect(unknown.stderr).toMatch(
      /--node ovn-wroker: no Node of this name in .*; did you mean ovn-worker\?/,
    );
  });

  test('the socket of another database is a mistake of the command line, which is told at once', async () => {
    await using bed = await zone();
    await using other = await OvsdbServer.start({ schema: join(SCHEMAS, 'ovn-sb.ovsschema') });
    for (const command of ['apply', 'plan']) {
      const result = await bed.heddle.run(command, '--nb', other.remote, '--timeout', '600');
      ended(result, 64);
      expect(result.stderr).toContain(
        `--nb: the server at ${other.remote} has OVN_Southbound, and no database OVN_Northbound, which is needed`,
      );
    }
  });

  test('without a data plane the wait ends with what was waited for', async () => {
    await using bed = await zone();
    const result = await bed.heddle.run('apply', '--timeout', '5');
    ended(result, 69);
    expect(result.stderr).toMatch(/gave up waiting for the data plane: nb_cfg is 1/);
  });
});

describe('heddle plan and diff', () => {
  test('plan shows what apply would do, changes nothing, and says so with its exit code', async () => {
    await using bed = await zone();
    const plan = await bed.heddle.run('plan');
    ended(plan, 2);
    expect(plan.stdout).toMatch(/Logical_Switch: \d+ to add/);
    expect(plan.stdout).toMatch(/ {2}\+ blue_blue_ovn-worker\n/);
    expect(await names(bed.server, 'Logical_Switch')).toEqual([]);
    ended(await bed.heddle.run('status'), 0);
    ended(await bed.heddle.run('apply', '--no-wait'), 0);
    ended(await bed.heddle.run('plan'), 0);
  });

  test('plan and apply agree on what is allocated', async () => {
    await using bed = await zone();
    const planned = await bed.heddle.run('plan', '--json');
    ended(await bed.heddle.run('apply', '--no-wait'), 0);
    const { databases } = JSON.parse(planned.stdout) as {
      databases: [{ changes: { table: string; key: string }[] }];
    };
    const switches = databases[0].changes
      .filter(({ table }) => table === 'Logical_Switch')
      .map(({ key }) => key)
      .sort();
    expect(await names(bed.server, 'Logical_Switch')).toEqual(switches);
  });

  test('plan names for each row the object that it is there for, its unit, and the rule with its source', async () => {
    await using bed = await zone();
    const planned = await bed.heddle.run('plan', '--json');
    const { databases, rules } = JSON.parse(planned.stdout) as {
      databases: [{ changes: { key: string; unit: string; object: string; rule: string }[] }];
      rules: Record<string, Record<string, { text: string; source: string }>>;
    };
    const router = databases[0].changes.find(({ key }) => key === 'blue_blue_ovn_cluster_router');
    expect(router).toMatchObject({
      unit: '["layer3/network","blue_blue"]',
      object: 'UserDefinedNetwork blue/blue',
      rule: 'distributed-router',
    });
    expect(rules['layer3/network']?.['distributed-router']).toEqual({
      text: 'One distributed router per Layer3 network and zone joins the pods of this node, the gateway and the other zones.',
      source: 'reference/topology.md §7.1',
    });
    for (const { unit, rule } of databases[0].changes) {
      const [feature = ''] = JSON.parse(unit) as string[];
      expect(rules[feature]?.[rule], `${unit} ${rule}`).toBeDefined();
    }
  });

  test('diff shows rows of ours that somebody edited or removed', async () => {
    await using bed = await zone();
    ended(await bed.heddle.run('apply', '--no-wait'), 0);
    ended(await bed.heddle.run('diff'), 0);
    await nbctl(
      bed.server,
      'lsp-set-addresses',
      'k8s-blue_blue_ovn-worker',
      'unknown',
      '--',
      'lr-route-del',
      'GR_blue_blue_ovn-worker',
      '0.0.0.0/0',
    );
    const drift = await bed.heddle.run('diff');
    ended(drift, 2);
    expect(drift.stdout).toMatch(/Logical_Router_Static_Route: 1 to add/);
    expect(drift.stdout).toMatch(
      /~ k8s-blue_blue_ovn-worker\n {6}addresses: \[unknown\] → \["0a:58:67:67:00:02 103.103.0.2"\]/,
    );
  });
});

describe('heddle node', () => {
  test('repairs what others break, survives its own death and that of the server', async () => {
    await using bed = await zone();
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
    await using bed = await zone();
    await using daemon = bed.heddle.daemon();
    await until('the lock', () => daemon.log.includes('"isHeld":true'), 30_000);
    const words = readFileSync(`/proc/${daemon.pid}/cmdline`, 'utf8').split('\0');
    expect(words.filter((word) => word.startsWith('--max-semi'))).toHaveLength(1);
    expect(words).toContain(program);
    expect(await daemon.end('SIGTERM')).toBe(0);
  });

  test('started again, beside an OVN that is slow, it says nothing of networks that it did not say before', async () => {
    await using bed = await zone();
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
    await using bed = await zone();
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
    await using bed = await zone();
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
    await using bed = await zone();
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
    await using bed = await zone();
    await using daemon = bed.heddle.daemon();
    await until('the lock', () => daemon.log.includes('"isHeld":true'), 30_000);
    const second = await bed.heddle.run('apply', '--no-wait', '--timeout', '4');
    ended(second, 69);
    expect(second.stderr).toMatch(/another Heddle process holds the lock "heddle_zone"/);
  });
});

describe('a running daemon', () => {
  test('answers status, plan and diff itself, and nobody does when it was killed', async () => {
    await using bed = await zone();
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
    await using bed = await zone();
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
    await using bed = await zone();
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
    await using bed = await zone();
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
    await using bed = await zone();
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
    await using bed = await zone();
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

describe('heddle bundle', () => {
  test('is one file with what was said, names what is missing, and writes over nothing', async () => {
    await using bed = await zone();
    const SECRET = 'hunter2-hunter2';
    const spec = {
      nodeName: 'ovn-worker',
      containers: [{ name: 'main', image: 'box', env: [{ name: 'KEY', value: SECRET }] }],
    };
    const metadata = { namespace: 'blue', name: 'keeps-a-secret' };
    bed.heddle.write(
      'pod.json.yaml',
      JSON.stringify({ apiVersion: 'v1', kind: 'Pod', metadata, spec }),
    );
    ended(await bed.heddle.run('apply', '--no-wait'), 0);
    const file = join(bed.heddle.folder, 'one.tar.gz');
    const bundle = (): Promise<CommandResult> =>
      bed.heddle.run('bundle', '--json', '--output', file);
    const first = await bundle();
    const { gathered, missing } = JSON.parse(first.stdout) as {
      readonly gathered: readonly Gathered[];
      readonly missing: readonly { readonly file: string; readonly why: string }[];
    };
    // Which of OVN's programs are installed here is not ours to say; each that is not is named.
    ended(first, missing.length > 0 ? 1 : 0);
    for (const { file: name, why } of missing)
      expect(first.stderr).toContain(`missing: ${name}: ${why}`);
    expect(gathered.map((one) => one.file)).toEqual(
      expect.arrayContaining([
        'heddle/status.json',
        'heddle/plan.json',
        'databases/northbound.json',
      ]),
    );
    expect(statSync(file).mode & 0o777).toBe(0o600);
    const unpacked = execFileSync('tar', ['-xzOf', file], { encoding: 'utf8' });
    expect(unpacked).toContain('keeps-a-secret');
    expect(unpacked).not.toContain(SECRET);
    const again = await bundle();
    ended(again, 64);
    expect(again.stderr).toContain(`--output: ${file} is there already: name another file`);
    const nowhere = join(bed.heddle.folder, 'none', 'one.tar.gz');
    const lost = await bed.heddle.run('bundle', '--output', nowhere);
    ended(lost, 64);
    expect(lost.stderr).toContain(`--output: ${nowhere}: there is no folder `);
    expect(readdirSync(bed.heddle.folder).filter((name) => name.startsWith('.heddle'))).toEqual([]);
  });
});

describe('heddle completion', () => {
  test('bash completes commands and flags by its script, and leaves paths to itself', async () => {
    const { stdout: script, code, stderr } = await heddle('completion', 'bash');
    expect(code, stderr).toBe(0);
    // Of the package bash-completion the script takes this function alone.
    const ask = `${script}
      _get_comp_words_by_ref() { words=("\${COMP_WORDS[@]}"); cword=$COMP_CWORD; cur="\${words[cword]}"; prev="\${words[cword-1]}"; }
      compopt() { :; }
      heddle() { ${process.execPath} ${program} "$@"; }
      COMP_WORDS=(heddle "$@"); COMP_CWORD=$#; __heddle_complete; printf '%s\\n' "\${COMPREPLY[@]}"`;
    const completed = (...typed: readonly string[]): string[] =>
      execFileSync('bash', ['-c', ask, 'bash', ...typed], { encoding: 'utf8' })
        .trim()
        .split('\n');
    expect(completed('valid')).toEqual(['validate']);
    expect(completed('graph', '--format', 's')).toEqual(['svg']);
    expect(completed('validate', '')).toEqual(['']);
  });
});

test.each([
  [
    'show blue_bleu',
    /no network, connection or pod is called "blue_bleu"; did you mean "blue_blue"\?/,
  ],
  ['show blue/pod2x', /did you mean "blue\/pod\d"\?/],
  ['show nothing-like-it', /; networks: .*blue_blue.*; connections: none/],
  ['show egressip some', /no EgressIP is called "some"; there are: none/],
  ['graph blue_bleu --node ovn-worker', /is called "blue_bleu"; did you mean "blue_blue"\?/],
])('%s: which name may have been meant', async (line, text) => {
  using bed = new Installation(['--cluster-subnets=10.244.0.0/16/24']);
  bed.copy(WORKED_EXAMPLE);
  const [command = '', ...words] = line.split(' ');
  const { code, stderr } = await bed.run(command, ...words);
  expect(stderr).toMatch(text);
  expect(code).not.toBe(0);
});

test('a file of settings has the sockets of nodes: with --node alone its daemon answers, or its database', async () => {
  await using bed = await zone();
  const { manifests, state, socket, folder } = bed.heddle;
  const config = join(folder, 'heddle.yaml');
  const settings = { manifests, state, nodes: { 'ovn-worker': { nb: bed.server.remote, socket } } };
  writeFileSync(config, JSON.stringify(settings));
  const ask = (...more: string[]): Promise<CommandResult> =>
    heddle('diff', '--config', config, ...more);
  const direct = await ask('--node', 'ovn-worker', '--cluster-subnets', '10.244.0.0/16/24');
  expect(direct.stderr).toMatch(/not from a daemon: no daemon answers on .*control\.sock/);
  expect(direct.stdout).toMatch(/ovn-worker/);
  {
    await using _daemon = bed.heddle.daemon();
    const answered = /answered by the daemon of node ovn-worker/;
    await expect
      .poll(async () => (await ask('--node', 'ovn-worker')).stderr, { timeout: 30_000 })
      .toMatch(answered);
  }
  const [nameless, unknown] = [await ask(), await ask('--node', 'ovn-wroker')];
  ended(nameless, 64);
  expect(nameless.stderr).toMatch(/--node: is not set: .*; its nodes: ovn-worker$/m);
  ended(unknown, 64);
  expect(unknown.stderr).toMatch(
    /--nb: is not set: .*; it has no node "ovn-wroker", but: ovn-worker$/m,
  );
});

describe('a database that is not there', () => {
  test.each([
    ['plan', '--nb', 'unix:/no.sock', /no such file or directory; start its server, or correct/],
    ['apply', '--nb', 'unix:/no.sock,unix:/nor.sock', /no such file or directory; start its/],
    ['cleanup', '--ovs', 'unix:/no.sock', /Open_vSwitch .* can't be reached: .*; start its server/],
  ])('%s %s %s ends at once, whatever --timeout is', async (command, flag, remote, text) => {
    using bed = new Installation([`${flag}=${remote}`, '--timeout=3600']);
    bed.copy(WORKED_EXAMPLE);
    const node = command === 'cleanup' ? [] : ['--node=ovn-worker'];
    const found = await bed.run(command, ...node);
    expect([found.code, found.stderr]).toEqual([69, expect.stringMatching(text)]);
  });

  test('apply goes on where its server comes back', async () => {
    await using bed = await zone();
    const socket = bed.server.remote.replace('unix:', '');
    renameSync(socket, `${socket}.away`);
    writeFileSync(socket, ''); // nobody listens there, as after a crash
    const applied = bed.heddle.run('apply', '--no-wait');
    await sleep(1500);
    renameSync(`${socket}.away`, socket);
    ended(await applied, 0);
  });
});

describe('what is wrong with a command line', () => {
  const AT = '--manifests DIR --state DIR/state --node n1 --socket none';
  test.each([
    ['status --manifests DIR --state DIR/notes.txt', 64, /--state: .*notes.txt is not a directory/],
    ['status --manifests DIR/nowhere --state DIR/state', 64, /--manifests: there is no file or/],
    [
      'status --config DIR/torn',
      64,
      /torn: not valid YAML: Flow map must .* line \d+, column \d+$/m,
    ],
    [`status ${AT}`, 1, /no node is called "n1"; nodes: none/],
    [`plan ${AT} --nb foo`, 64, /--nb: "foo": it has no connection method; expected unix:PATH/],
    [
      `plan ${AT} --nb unix:/no.sock --timeout 1`,
      69,
      /heddle: OVN_Northbound \(--nb unix:\/no.sock\) can't be reached: connect \/no.sock: no such/,
    ],
    [`plan ${AT} --cluster-subnets foo`, 64, /--cluster-subnets: "foo" is not a subnet such as/],
    [
      'render --manifests DIR --node n',
      64,
      /--node n: no Node of this name in .*; add it or correct/,
    ],
    ['validate DIR/nowhere DIR', 64, /nowhere can't be read: stat .*: no such file or directory/],
    ['lab shell --name nope', 64, /there is no lab 'nope'/],
    ['lab up --name ../x', 64, /a lab can't be named/],
  ])('%s', async (line, code, text) => {
    using bed = new Installation();
    writeFileSync(join(bed.folder, 'notes.txt'), '');
    writeFileSync(join(bed.folder, 'torn'), '{');
    const found = await heddle(...line.replaceAll('DIR', bed.folder).split(' '));
    expect([found.code, found.stderr]).toEqual([code, expect.stringMatching(text)]);
    expect(found.stderr).not.toMatch(/\bE[A-Z]{4,}\b|\n {4}at /);
  });
});
