/** ADD of pods on a lab's node, beside the floor: a veth pair, a port on br-int, and the wait for ovn-controller. Runs itself inside the lab. */
import { spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { stringify } from 'yaml';
import type { CniInterface } from '../../src/cni/protocol/result.ts';
import { PodPorts } from '../../src/cni/server/pod-ports.ts';
import { daemonProcess } from '../../src/lab/daemons.ts';
import { outputInside } from '../../src/lab/exec.ts';
import { manifestsFolder } from '../../src/lab/node-facts.ts';
import { checkout } from '../../src/lab/paths.ts';
import { SpareShells } from '../../src/node/programs/spare-shells.ts';
import { OvsdbClient } from 'ovsdb-client-ts';
import { testLab } from '../support/lab/lab.ts';
import { inParallel, startPodNode } from '../support/lab/pod-nodes.ts';
import { until } from '../support/run/until.ts';
import { timed, type Benchmark, type Figure } from './benchmark.ts';

const PODS = 100;
const AT_ONCE = 20;
/** Milliseconds between pods that come by themselves. */
const APART = 100;
const NODE = 'n1';

interface Times {
  readonly floor: readonly number[];
  readonly add: readonly number[];
  readonly del: readonly number[];
  /** Processor time of the daemon and its children, milliseconds for each pod. */
  readonly addCost: number;
  readonly delCost: number;
}
interface Measured {
  readonly apart: Times;
  readonly single: Times;
  readonly crowd: Times;
}

const nameOf = (index: number): string => `p-${index}`;
const uidOf = (index: number): string => `uid-of-p-${index}`;

const pods = Array.from({ length: PODS }, (_, index) => ({
  apiVersion: 'v1',
  kind: 'Pod',
  metadata: { namespace: 'plain', name: nameOf(index), uid: uidOf(index) },
  spec: { nodeName: NODE, containers: [{ name: 'main', image: 'box' }] },
}));

/** On the node: what the runtime does, and what at least has to be done. */
class OnNode {
  readonly #ports: PodPorts;
  /** A runtime starts its plugins without a copy of itself. */
  readonly #shells = new SpareShells(() => process.env);

  constructor(client: OvsdbClient) {
    this.#ports = new PodPorts({
      replica: client.replica,
      transactor: client,
      unavailable: () => undefined,
      isHeldByOther: () => false,
      status: () => undefined,
      ready: (signal) => client.ready(signal),
      [Symbol.asyncDispose]: () => client[Symbol.asyncDispose](),
    });
  }

  async namespace(index: number): Promise<void> {
    await this.#must([['netns', 'add', nameOf(index)]]);
  }

  async floor(index: number): Promise<number> {
    const hostDevice = `floor-${index}`;
    const externalIds = {
      'iface-id': `plain_${nameOf(index)}`,
      'iface-id-ver': uidOf(index),
      sandbox: hostDevice,
      'pod-if-name': 'eth0',
    };
    const port = { hostDevice, externalIds } as unknown as CniInterface;
    const peer = ['type', 'veth', 'peer', 'name', 'eth0', 'netns', nameOf(index)];
    const [, time] = await timed(async () => {
      await this.#must([['link', 'add', 'name', hostDevice, 'up', ...peer]]);
      await this.#ports.add([port]);
      await this.#installed(hostDevice);
    });
    await this.#ports.remove(this.#ports.list(hostDevice));
    await this.#must([['link', 'delete', 'dev', hostDevice]]);
    return time;
  }

  async call(command: 'ADD' | 'DEL', index: number): Promise<number> {
    const name = nameOf(index);
    const [, time] = await timed(async () => {
      const environment = {
        CNI_COMMAND: command,
        CNI_CONTAINERID: createHash('sha256').update(name).digest('hex'),
        CNI_NETNS: `/run/netns/${name}`,
        CNI_IFNAME: 'eth0',
        CNI_ARGS: `K8S_POD_NAMESPACE=plain;K8S_POD_NAME=${name};K8S_POD_UID=${uidOf(index)}`,
        CNI_PATH: '/opt/cni/bin',
      };
      const child = this.#shells.start([
        'env',
        ...Object.entries(environment).map(([key, value]) => `${key}=${value}`),
        '/opt/cni/bin/heddle-cni',
      ]);
      let said = '';
      child.stdout.setEncoding('utf8').on('data', (text: string) => (said += text));
      child.stdin.end('{"cniVersion":"1.0.0","name":"ovn-kubernetes","type":"heddle-cni"}');
      const [code] = (await once(child, 'close')) as [number | null];
      if (code !== 0) throw new Error(`${command} of ${name}: ${said}`);
    });
    return time;
  }

  async #installed(name: string): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    const look = (): void => {
      if (this.#ports.get(name)?.isInstalled === true) resolve();
    };
    const end = this.#ports.onChange(look);
    look();
    await promise;
    end();
  }

  async #must(commands: readonly (readonly string[])[]): Promise<void> {
    const child = spawn('ip', ['-batch', '-'], { stdio: ['pipe', 'ignore', 'pipe'] });
    let said = '';
    child.stderr.setEncoding('utf8').on('data', (text: string) => (said += text));
    child.stdin.end(`${commands.map((words) => words.join(' ')).join('\n')}\n`);
    const [code] = (await once(child, 'close')) as [number | null];
    if (code !== 0) throw new Error(`ip -batch: ${said}`);
  }
}

/** Ticks of /proc/…/stat in a second: the same on all machines that Linux runs Node.js on. */
const TICKS = 100;

/** Milliseconds of processor time of a process and its children, with those that have ended. */
function processorTimeOfTree(root: number): number {
  const stats = readdirSync('/proc').flatMap((name) => {
    if (!/^\d+$/.test(name)) return [];
    try {
      // The name of the program, in brackets, may have spaces. What follows begins with the state, which is field 3.
      const fields = readFileSync(`/proc/${name}/stat`, 'utf8')
        .replace(/^.*\) /s, '')
        .split(' ');
      const ticks = fields.slice(11, 15).reduce((sum, text) => sum + Number(text), 0);
      return [{ pid: Number(name), parent: Number(fields[1]), ticks }];
    } catch {
      return []; // it ended
    }
  });
  const timeOf = (pid: number): number =>
    stats.reduce(
      (sum, stat) =>
        sum + (stat.pid === pid ? stat.ticks : 0) + (stat.parent === pid ? timeOf(stat.pid) : 0),
      0,
    );
  return (timeOf(root) * 1000) / TICKS;
}

/** One after the other, and then many at once; what is measured takes turns, so that all have the same machine. */
async function measure(daemon: number): Promise<Measured> {
  await using client = new OvsdbClient({
    remotes: 'unix:/run/openvswitch/db.sock',
    database: 'Open_vSwitch',
  }).start();
  await client.ready(AbortSignal.timeout(20_000));
  const node = new OnNode(client);
  const numbers = Array.from({ length: PODS }, (_, index) => index);
  for (const index of numbers) await node.namespace(index);
  const run = async (atOnce: number, chosen: readonly number[], rest = 0): Promise<Times> => {
    const phase = async (action: (index: number) => Promise<number>) => {
      const times: number[] = [];
      const before = processorTimeOfTree(daemon);
      await inParallel(chosen, atOnce, async (index) => {
        await pause(rest);
        times.push(await action(index));
      });
      return { times, cost: (processorTimeOfTree(daemon) - before) / chosen.length };
    };
    const floor = await phase((index) => node.floor(index));
    const add = await phase((index) => node.call('ADD', index));
    const del = await phase((index) => node.call('DEL', index));
    return {
      floor: floor.times,
      add: add.times,
      del: del.times,
      addCost: add.cost,
      delCost: del.cost,
    };
  };
  await run(1, numbers.slice(0, 5)); // what runs for the first time is slower
  return {
    apart: await run(1, numbers, APART),
    single: await run(1, numbers),
    crowd: await run(AT_ONCE, numbers),
  };
}

const quantile = (values: readonly number[], part: number): number =>
  values.toSorted((a, b) => a - b)[Math.min(values.length - 1, Math.floor(values.length * part))] ??
  0;

/** Milliseconds of processor time for a pod. */
const COST_GOAL = 10;

const figures = (
  name: string,
  { floor, add, del, addCost, delCost }: Times,
  goal: (floor: number, part: number) => number,
): readonly Figure[] => [
  ...(
    [
      ['p50', 0.5],
      ['p99', 0.99],
    ] as const
  ).flatMap(([label, part]): Figure[] => [
    {
      name: `${name}: ADD ${label}`,
      value: quantile(add, part),
      unit: 'ms',
      floor: quantile(floor, part),
      goal: goal(quantile(floor, part), part),
    },
    { name: `${name}: DEL ${label}`, value: quantile(del, part), unit: 'ms' },
  ]),
  ...(
    [
      ['ADD', addCost],
      ['DEL', delCost],
    ] as const
  ).map(([command, value]): Figure => ({
    name: `${name}: processor time of the daemon for ${command}`,
    value,
    unit: 'ms',
    goal: COST_GOAL,
  })),
];

const alone = (floor: number, part: number): number => floor + (part < 0.9 ? 10 : 20);
const among = (floor: number, part: number): number => floor * (part < 0.9 ? 1.5 : 2);

export const benchmarks: readonly Benchmark[] = [
  {
    name: 'pod-add',
    title: `${PODS} pods on a lab's node: ADD and DEL through the plugin, by themselves, without a pause, and ${AT_ONCE} at once`,
    onlyAs: 'pod-add', // needs root, and the machine for itself
    async run(progress) {
      await using lab = await testLab('bench-pods', { nodes: 1 });
      const { record } = lab;
      await startPodNode(record, NODE);
      const plain = { apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'plain' } };
      const text = [plain, ...pods].map((object) => stringify(object)).join('---\n');
      writeFileSync(join(manifestsFolder(record.name), 'pods.yaml'), text);
      progress('waiting for the logical ports of all pods');
      const bound = ['--bare', '--columns=_uuid', 'list', 'Port_Binding'];
      await until(
        'ports of all pods',
        async () =>
          (await outputInside(record, ['on', NODE, 'ovn-sbctl', ...bound]))
            .split('\n')
            .filter((line) => line !== '').length >= PODS,
        { limit: 120_000, pause: 500 },
      );
      const daemon = await daemonProcess(record, NODE);
      const node = join(checkout, 'node_modules/.bin/node');
      const program = [node, import.meta.filename, String(daemon)];
      const measured = JSON.parse(await outputInside(record, ['on', NODE, ...program])) as Measured;
      return [
        ...figures(`${APART / 1000} s apart`, measured.apart, alone),
        ...figures('one after the other', measured.single, alone),
        ...figures(`${AT_ONCE} at once`, measured.crowd, among),
      ];
    },
  },
];

if (import.meta.main)
  process.stdout.write(`${JSON.stringify(await measure(Number(process.argv[2])))}\n`);
