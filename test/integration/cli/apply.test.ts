/** `heddle apply`, `plan` and `diff` on a real Northbound server. */
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, onTestFinished, test } from 'vitest';
import { OvsdbServer, SCHEMAS } from '../../support/ovsdb/ovsdb-server.ts';
import { commandZone, nbctl, names, ended } from '../../support/run/command-zone.ts';

describe('heddle apply', () => {
  test('writes the networks into an empty database, and nothing the second time', async () => {
    await using bed = await commandZone();
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
    await using bed = await commandZone();
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
    await using bed = await commandZone();
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
    await using bed = await commandZone();
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
    await using bed = await commandZone();
    bed.heddle.write(
      'egress.yaml',
      `apiVersion: k8s.ovn.org/v1
kind: EgressService
metadata: { name: web, namespace: blue }
spec: { sourceIPBy: LoadBalancerIP, network: local }
`,
    );
    const problem =
      /egress\.yaml:1: EgressService blue\/web: spec\.network: "local" is the kernel's table of local addresses/g;
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
    await using bed = await commandZone();
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
    await using bed = await commandZone();
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
    await using bed = await commandZone();
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
    await using bed = await commandZone();
    const result = await bed.heddle.run('apply', '--timeout', '5');
    ended(result, 69);
    expect(result.stderr).toMatch(/gave up waiting for the data plane: nb_cfg is 1/);
  });
});

describe('heddle plan and diff', () => {
  test('plan shows what apply would do, changes nothing, and says so with its exit code', async () => {
    await using bed = await commandZone();
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
    await using bed = await commandZone();
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
    await using bed = await commandZone();
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
    await using bed = await commandZone();
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
