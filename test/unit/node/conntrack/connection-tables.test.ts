/** Tables of connections are looked at now and then, and what is full is told with who fills it. */
import type { ReplicaView } from 'ovsdb-client-ts';
import { expect, test } from 'vitest';
import { ConnectionTables } from '../../../../src/node/conntrack/connection-tables.ts';
import { UnixctlError, UnixctlRefused } from '../../../../src/node/programs/unixctl.ts';

/** A node as far as its tables of connections are concerned. */
class Node {
  sysctls: Record<string, string> = {
    'net/netfilter/nf_conntrack_count': '10',
    'net/netfilter/nf_conntrack_max': '1000',
  };
  answers: Record<string, string> = {
    'dpctl/ct-get-nconns': '5\n',
    'dpctl/ct-get-maxconns': '3000000\n',
    'dpctl/ct-get-limits': 'default limit=0\nzone=7,limit=300,count=1\n',
  };
  refusal: string | undefined;
  asked: string[] = [];
  changes = 0;
  now = 0;
  datapath = 'netdev';
  isLoaded = true;
  hasBridge = true;
  readonly tables: ConnectionTables;

  constructor(hasPodLimits: boolean) {
    this.tables = new ConnectionTables({
      node: 'n1',
      sysctls: { read: (path) => this.sysctls[path] },
      vswitchd: {
        run: (command, args) => {
          this.asked.push([command, ...args].join(' '));
          const answer = this.answers[command];
          if (this.refusal !== undefined)
            return Promise.reject(new UnixctlRefused(`ovs-vswitchd ${command}: ${this.refusal}`));
          return answer === undefined
            ? Promise.reject(new UnixctlError(`ovs-vswitchd ${command}: nobody answers`))
            : Promise.resolve(answer);
        },
      },
      openVswitch: () => (this.isLoaded ? this.#replica() : undefined),
      hasPodLimits,
      podOf: (port) => (port === 'blue_web' ? 'Pod blue/web' : undefined),
      onChange: () => (this.changes += 1),
      now: () => this.now,
    });
  }

  #replica(): ReplicaView {
    const columns: Record<string, unknown> = {
      name: this.hasBridge ? 'br-int' : 'breth0',
      datapath_type: this.datapath,
      external_ids: new Map([
        ['ct-zone-blue_web', '7'],
        ['ct-zone-GR_n1_snat', '8'],
      ]),
    };
    return {
      rows: () => [{ column: (name: string) => columns[name] }],
    } as unknown as ReplicaView;
  }

  /** The problems of the next look. */
  async look(): Promise<readonly string[]> {
    this.now += 10_000;
    await this.tables.look(new AbortController().signal);
    return this.tables.problems().map(({ object, message }) => `${object}: ${message}`);
  }
}

test('both tables of a node in userspace, and limits only where there are some', async () => {
  const node = new Node(false);
  expect(await node.look()).toEqual([]);
  expect(node.tables.usages).toEqual([
    { table: 'kernel', entries: 10, limit: 1000 },
    { table: 'userspace', entries: 5, limit: 3_000_000 },
  ]);
  expect(node.asked).toEqual([
    'dpctl/ct-get-nconns netdev@ovs-netdev',
    'dpctl/ct-get-maxconns netdev@ovs-netdev',
  ]);
});

test('in the kernel nobody is asked but the kernel, and for limits Open vSwitch', async () => {
  const node = new Node(false);
  node.datapath = '';
  await node.look();
  expect(node.asked).toEqual([]);
  const limited = new Node(true);
  limited.datapath = '';
  await limited.look();
  expect(limited.asked).toEqual(['dpctl/ct-get-limits system@ovs-system']);
});

test('a look comes ten seconds after the last one, however often one is asked for', async () => {
  const node = new Node(false);
  await node.look();
  const { signal } = new AbortController();
  node.now += 4000;
  expect(await node.tables.look(signal)).toBe(6000);
  expect(node.asked).toHaveLength(2);
  node.now += 6000;
  expect(await node.tables.look(signal)).toBe(10_000);
  expect(node.asked).toHaveLength(4);
});

test('a table that fills is told of before and when it is full, each once, until there is room', async () => {
  const node = new Node(false);
  const at = (entries: string): Promise<readonly string[]> => {
    node.sysctls['net/netfilter/nf_conntrack_count'] = entries;
    return node.look();
  };
  expect(await at('899')).toEqual([]);
  expect(await at('920')).toEqual([
    expect.stringMatching(/^Node n1: the kernel's table .*nine tenths/),
  ]);
  await at('930');
  expect(node.changes).toBe(1);
  expect(await at('1000')).toEqual([
    expect.stringMatching(/^Node n1: the kernel's table .*is full/),
  ]);
  await at('960');
  await at('1000');
  expect(node.changes).toBe(2);
  expect(await at('700')).toEqual([]);
  expect(node.changes).toBe(3);
});

test('of a pod with all connections that it may have the pod is told, of what is no pod the port', async () => {
  const node = new Node(true);
  node.answers['dpctl/ct-get-limits'] =
    'default limit=0\nzone=7,limit=300,count=300\nzone=8,limit=50,count=50\nzone=9,limit=50,count=50\n';
  const problems = await node.look();
  expect(problems).toEqual([
    expect.stringMatching(/^Pod blue\/web: its port blue_web has as many connections .*\(300\)/),
    expect.stringMatching(/^Node n1: its port GR_n1_snat /),
    expect.stringMatching(/^Node n1: its port of conntrack zone 9 /),
  ]);
});

test('while ovs-vswitchd does not answer that is a problem, and its table has no figures', async () => {
  const node = new Node(true);
  await node.look();
  node.answers = {};
  expect(await node.look()).toEqual([
    expect.stringMatching(/^Node n1: .*can't be seen: .*nobody answers/),
  ]);
  expect(node.tables.usages.map(({ table }) => table)).toEqual(['kernel']);
});

test('where zones can have no limits it is told that there are none', async () => {
  const node = new Node(true);
  node.datapath = '';
  // Open vSwitch 3.5 on a kernel without them; what it says of a datapath that is not there.
  node.refusal = 'failed to get conntrack limit Operation not supported (Operation not supported)';
  expect(await node.look()).toEqual([
    expect.stringMatching(/^Node n1: max-pod-connections limits nothing here: .*CONNCOUNT/),
  ]);
  expect(node.tables.usages.map(({ table }) => table)).toEqual(['kernel']);
  node.refusal = 'invalid argument system@ovs-system (Invalid argument)';
  expect(await node.look()).toEqual([
    expect.stringMatching(/^Node n1: .*can't be seen: .*invalid/),
  ]);
});

test('before ovn-controller has made its bridge nobody is asked', async () => {
  const node = new Node(true);
  node.hasBridge = false;
  expect(await node.look()).toEqual([]);
  expect(node.asked).toEqual([]);
});

test('without the database of Open vSwitch the kernel is looked at all the same', async () => {
  const node = new Node(true);
  node.isLoaded = false;
  node.sysctls['net/netfilter/nf_conntrack_count'] = '1000';
  expect(await node.look()).toHaveLength(1);
  expect(node.asked).toEqual([]);
});

test('a kernel that tracks nothing has no table, and one without a limit is never full', async () => {
  const node = new Node(false);
  node.sysctls = {};
  await node.look();
  expect(node.tables.usages.map(({ table }) => table)).toEqual(['userspace']);
  node.sysctls = {
    'net/netfilter/nf_conntrack_count': '5000000',
    'net/netfilter/nf_conntrack_max': '0',
  };
  expect(await node.look()).toEqual([]);
});
