/** Datagrams with an egress address while it moves, and the time without it when its node loses power: on a lab, by the clock of the host outside. */
import { randomUUID } from 'node:crypto';
import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { parseAllDocuments } from 'yaml';
import { outputInside } from '../../src/lab/exec.ts';
import { manifestsFolder, OUTSIDE } from '../../src/lab/node-facts.ts';
import type { LabRecord } from '../../src/lab/state-file.ts';
import { stopDaemon } from '../support/lab/lab-daemons.ts';
import { testLab } from '../support/lab/lab.ts';
import { manifestsText, podOn, spaceObjects, type Space } from '../support/lab/network-spaces.ts';
import { Tenants } from '../support/lab/tenants.ts';
import { ownFolder } from '../support/run/left-behind.ts';
import { until } from '../support/run/until.ts';
import { median, type Benchmark, type Figure } from './benchmark.ts';

const EGRESS = '172.18.0.60';
const PORT = 9300;
/** The first one has the manager and half of the pods; the others have the address. */
const NODES = ['n1', 'n2', 'n3'] as const;
type NodeName = (typeof NODES)[number];
type Holder = Exclude<NodeName, 'n1'>;
const other = (node: Holder): Holder => (node === 'n2' ? 'n3' : 'n2');

const LIMIT = { limit: 120_000, pause: 100 };

/** Sends datagrams, so many a second, until a file is there: a few at a time, as a timer has it. */
const SENDER = `
import os, socket, sys, time
end, to, port, rate, name = sys.argv[1], sys.argv[2], int(sys.argv[3]), float(sys.argv[4]), sys.argv[5].encode()
one = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
one.connect((to, port))
began, sent = time.monotonic(), 0
while not os.path.exists(end):
    due = (time.monotonic() - began) * rate
    if due - sent > rate:  # the machine was elsewhere for a second
        began, sent, due = time.monotonic(), 0, 1
    while sent < due:
        sent += 1
        try:
            one.send(name)
        except OSError:
            pass  # no room, or an ICMP error
    time.sleep(0.005)
`;

/** Seconds that a node may be silent. */
const TIMEOUT = process.env['HEDDLE_EGRESSIP_REACHABILITY_TOTAL_TIMEOUT'] ?? '1';

/** Takes the datagrams, and tells in the end of each time that is longer than 100 ms and without any of a pod: when it began, and how long it was, in seconds by the clock of this host. */
const LISTENER = `
import json, os, socket, sys, time
end, port = sys.argv[1], int(sys.argv[2])
one = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
one.setsockopt(socket.SOL_SOCKET, 33, 8 << 20)
one.bind(('0.0.0.0', port))
one.settimeout(0.2)
last, gaps = {}, []
while not os.path.exists(end):
    try:
        name = one.recv(64)
    except TimeoutError:
        continue
    now = time.monotonic()
    if now - last.get(name, now) > 0.1:
        gaps.append([last[name], now - last[name]])
    last[name] = now
print(json.dumps(gaps))
`;

/** Asks everybody for the address every 50 ms, each time as another one, so that it is known what an answer answers; gives who answered, in the order in which answers came. */
const ASKER = `
import json, os, select, socket, struct, sys, time
end, device, address = sys.argv[1:4]
raw = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(0x0806))
raw.bind((device, 0x0806))
SOL_PACKET, PACKET_ADD_MEMBERSHIP, PACKET_MR_PROMISC = 263, 1, 1
raw.setsockopt(SOL_PACKET, PACKET_ADD_MEMBERSHIP, struct.pack('iHH8s', socket.if_nametoindex(device), PACKET_MR_PROMISC, 0, b''))
own, wanted = raw.getsockname()[4], socket.inet_aton(address)
answers, asked, again = [], 0, 0
while not os.path.exists(end):
    if time.time() >= again:
        again = time.time() + 0.05
        asked += 1
        by = b'\\x02\\xaa' + struct.pack('!I', asked)
        raw.send(b'\\xff' * 6 + own + struct.pack('!HHHBBH', 0x0806, 1, 0x0800, 6, 4, 1) + by + bytes(10) + wanted)
    if not select.select([raw], [], [], 0.02)[0]:
        continue
    data, where = raw.recvfrom(128)
    if where[2] == socket.PACKET_OUTGOING or data[20:22] != b'\\0\\2' or data[28:32] != wanted or data[32:34] != b'\\x02\\xaa':
        continue
    question = struct.unpack('!I', data[34:38])[0]
    answers.append([question, data[22:28].hex(':')])
print(json.dumps({'asked': asked, 'answers': answers}))
`;

interface Heard {
  readonly asked: number;
  /** In the order in which they came. */
  readonly answers: readonly (readonly [
    question: number,
    mac: string,
    asked: number,
    at: number,
  ])[];
}

const answered = ({ answers }: Heard): number =>
  new Set(answers.map(([question]) => question)).size;
/**
 * Another one than before answers. With two that have the address at a time it would be more often than it moves; that two answer one question is not enough:
 * a node may find the question in its queue once it has got the address.
 */
const ownersChanged = ({ answers }: Heard): number =>
  answers.filter(([, mac], index) => index > 0 && mac !== answers[index - 1]?.[1]).length;

class MovingLab {
  readonly record: LabRecord;
  readonly #tenants: Tenants;
  readonly #end = `/tmp/egress-moves-${randomUUID()}`;

  constructor(record: LabRecord, tenants: Tenants) {
    this.record = record;
    this.#tenants = tenants;
  }

  on(node: NodeName, ...words: readonly string[]): Promise<string> {
    return outputInside(this.record, ['on', node, ...words]);
  }

  outside(...words: readonly string[]): Promise<string> {
    return outputInside(this.record, ['ip', 'netns', 'exec', 'ext', ...words]);
  }

  python(namespace: string, program: string, ...args: readonly string[]): Promise<string> {
    const words = ['ip', 'netns', 'exec', namespace, 'python3', '-c', program, this.#end, ...args];
    return outputInside(this.record, words);
  }

  /** While all of that runs. */
  async meanwhile<T>(programs: readonly Promise<T>[], during: () => Promise<void>): Promise<T[]> {
    const all = Promise.all(programs);
    all.catch(() => undefined);
    try {
      await Promise.race([during(), all.then(() => Promise.reject(new Error('programs ended')))]);
    } finally {
      await outputInside(this.record, ['touch', this.#end]);
    }
    const results = await all;
    await outputInside(this.record, ['rm', this.#end]);
    return results;
  }

  /** Nodes that may have the address, and those of them that are drained. */
  label(labelled: readonly NodeName[], drained: readonly NodeName[] = []): void {
    const path = join(manifestsFolder(this.record.name), 'nodes.yaml');
    const nodes = parseAllDocuments(readFileSync(path, 'utf8')).map(
      (document) => document.toJS() as { metadata: { name: NodeName }; spec?: object },
    );
    const changed = nodes.map(({ metadata: { name }, spec: _spec, ...node }) => {
      const assignable = labelled.includes(name) ? { 'k8s.ovn.org/egress-assignable': '' } : {};
      return {
        ...node,
        metadata: { name, labels: { 'kubernetes.io/hostname': name, ...assignable } },
        ...(drained.includes(name) ? { spec: { unschedulable: true } } : {}),
      };
    });
    writeFileSync(path, manifestsText(changed));
  }

  async has(node: NodeName): Promise<boolean> {
    return (await this.on(node, 'ip', '-o', 'addr')).includes(`${EGRESS}/32`);
  }

  async awaitAt(node: Holder): Promise<void> {
    await until(
      `the address on ${node} alone`,
      async () => (await this.has(node)) && !(await this.has(other(node))),
      LIMIT,
    );
  }

  async kill(node: NodeName): Promise<void> {
    await stopDaemon(this.record, node, 'kill');
  }

  start(): Promise<void> {
    return this.#tenants.start();
  }

  /** The device of the host outside at which nodes are. */
  async device(): Promise<string> {
    const route = await this.outside('ip', '-o', 'route', 'get', EGRESS);
    return / dev (\S+)/.exec(route)?.[1] ?? '';
  }

  async wire(node: NodeName): Promise<string> {
    const bridges = (await this.on(node, 'ovs-vsctl', 'list-br')).split('\n');
    const bridge = bridges.find((name) => name !== '' && name !== 'br-int') ?? '';
    const ports = (await this.on(node, 'ovs-vsctl', 'list-ports', bridge)).split('\n');
    return ports.find((port) => port !== '' && !port.startsWith('patch-')) ?? '';
  }

  async counted(): Promise<{ readonly all: number; readonly wrong: number }> {
    const text = await this.outside('nft', 'list', 'table', 'inet', 'moves');
    const [all = 0, wrong = 0] = [...text.matchAll(/packets (\d+)/g)].map(([, n]) => Number(n));
    return { all, wrong };
  }
}

const objectsOf = (spaces: readonly Space[]): readonly object[] => [
  ...spaces.flatMap((space) => [
    ...spaceObjects(space, { leaves: 'fixed' }),
    podOn('n1', space, 'near'),
    podOn('n2', space, 'far'),
  ]),
  {
    apiVersion: 'k8s.ovn.org/v1',
    kind: 'EgressIP',
    metadata: { name: 'fixed' },
    spec: { egressIPs: [EGRESS], namespaceSelector: { matchLabels: { leaves: 'fixed' } } },
  },
];

/** One round: each way in which an address moves, and each program killed while it does. */
async function moveRound(lab: MovingLab, from: Holder): Promise<number> {
  const to = other(from);
  lab.label([to]);
  await lab.awaitAt(to);
  lab.label(['n2', 'n3'], [to]);
  await lab.awaitAt(from);
  // Its daemon dies, and it is to go: nobody there can let go, so that it stays until there is one again.
  await lab.kill(from);
  lab.label([to]);
  await pause(3000);
  if (await lab.has(to)) throw new Error(`${EGRESS} is on ${to} while ${from} has no daemon`);
  await lab.start();
  await lab.awaitAt(to);
  // The new node's daemon dies as it gets it.
  lab.label([from]);
  await lab.kill(from);
  await lab.start();
  await lab.awaitAt(from);
  // The manager dies in the middle.
  lab.label([to]);
  await lab.kill('n1');
  await lab.start();
  await lab.awaitAt(to);
  lab.label([from]);
  await lab.awaitAt(from);
  return 6;
}

async function cutPower(lab: MovingLab, node: Holder): Promise<void> {
  const wire = await lab.wire(node);
  await lab.on(node, 'ip', 'link', 'set', wire, 'down');
  await lab.kill(node);
  await until(`the address on ${other(node)}`, () => lab.has(other(node)), LIMIT);
  await pause(1000);
  // A host that starts has no address of another time.
  const dev = (await lab.on(node, 'ip', '-o', 'addr'))
    .split('\n')
    .find((line) => line.includes(EGRESS));
  const device = dev?.split(/\s+/)[1];
  if (device !== undefined)
    await lab.on(node, 'ip', 'address', 'del', `${EGRESS}/32`, 'dev', device);
  await lab.on(node, 'ip', 'link', 'set', wire, 'up');
  await lab.start();
}

interface Case {
  readonly mode: 'shared' | 'local';
  readonly spaces: readonly Space[];
  readonly packets: number;
  readonly powerCuts: number;
}

const moving = (name: string, { mode, spaces, packets, powerCuts }: Case): Benchmark => ({
  name,
  title: `${packets} datagrams with an egress address that moves while daemons are killed, and ${powerCuts} nodes that lose power, in ${mode} gateway mode`,
  onlyAs: 'egress-moves', // needs root, and the machine for itself
  async run(progress) {
    const folder = ownFolder('heddle-egress-moves');
    writeFileSync(join(folder, 'objects.yaml'), manifestsText(objectsOf(spaces)));
    await using made = await testLab(`bench-${name}`, {
      nodes: NODES.length,
      families: 'dual',
    });
    const tenants = new Tenants(made.record, {
      folder,
      seconds: 300,
      daemonArguments: [
        `--gateway-mode=${mode}`,
        `--egressip-reachability-total-timeout=${TIMEOUT}`,
      ],
    });
    const lab = new MovingLab(made.record, tenants);
    await tenants.start();
    // Who started first manages the cluster, and goes on.
    for (const node of ['n2', 'n3'] as const) await stopDaemon(made.record, node);
    await tenants.start();
    const ends = await tenants.endpoints();
    lab.label(['n2', 'n3']);
    lab.label(['n2']);
    await lab.awaitAt('n2');
    const near = ends.filter(({ node }) => node === 'n1');
    const counters = `add table inet moves
        add chain inet moves input { type filter hook input priority 0; }
        add rule inet moves input udp dport ${PORT} counter
        add rule inet moves input udp dport ${PORT} ip saddr != ${EGRESS} counter`;
    await outputInside(made.record, ['ip', 'netns', 'exec', 'ext', 'nft', '-f', '-'], {
      input: counters,
    });
    const device = await lab.device();
    const watched = async (
      senders: typeof ends,
      rate: number,
      during: () => Promise<void>,
    ): Promise<{ readonly gaps: readonly [number, number][]; readonly heard: Heard }> => {
      const [gaps = '', heard = ''] = await lab.meanwhile(
        [
          lab.python('ext', LISTENER, String(PORT)),
          lab.python('ext', ASKER, device, EGRESS),
          ...senders.map(({ namespace, pod }) =>
            lab.python(namespace, SENDER, OUTSIDE.v4, String(PORT), String(rate), pod),
          ),
        ],
        during,
      );
      return {
        gaps: JSON.parse(gaps) as [number, number][],
        heard: JSON.parse(heard) as Heard,
      };
    };
    let moves = 0;
    const moved = await watched(ends, 1200, async () => {
      for (let all = 0; all < packets; { all } = await lab.counted()) {
        moves += await moveRound(lab, 'n2');
        progress(`${moves} moves, ${JSON.stringify(await lab.counted())}`);
      }
    });
    const afterMoves = await lab.counted();
    lab.label(['n2', 'n3']);
    const cut = await watched(near, 250, async () => {
      let node: Holder = 'n2';
      for (let times = 0; times < powerCuts; times += 1) {
        await lab.awaitAt(node);
        await pause(2000);
        progress(`${node} loses power`);
        await cutPower(lab, node);
        node = other(node);
      }
    });
    rmSync(folder, { recursive: true });
    // Each cut is one for every pod.
    const times = cut.gaps
      .map(([, seconds]) => seconds * 1000)
      .toSorted((a, b) => b - a)
      .slice(0, powerCuts * near.length);
    progress(`times without it: ${times.map((time) => time.toFixed(0)).join(', ')} ms`);
    const operations = (name: string, value: number, goal?: number): Figure => ({
      name,
      value,
      unit: 'operations',
      ...(goal === undefined ? {} : { goal }),
    });
    return [
      operations('datagrams that came while it moved', afterMoves.all),
      operations('of these with another source', afterMoves.wrong, 0),
      operations('moves', moves),
      operations('times that everybody was asked for it', moved.heard.asked),
      operations('of these answered', answered(moved.heard)),
      operations('changes of who answers', ownersChanged(moved.heard)),
      operations('more than it moved', Math.max(0, ownersChanged(moved.heard) - moves), 0),
      operations('asked while nodes lost power', cut.heard.asked),
      operations(
        'changes of who answers, more than nodes lost power',
        Math.max(0, ownersChanged(cut.heard) - powerCuts),
        0,
      ),
      operations(
        'datagrams with another source meanwhile',
        (await lab.counted()).wrong - afterMoves.wrong,
        0,
      ),
      { name: 'power lost: median time without it', value: median(times), unit: 'ms' },
      {
        name: 'power lost: longest time without it',
        value: times[0] ?? 0,
        unit: 'ms',
        goal: 2000,
      },
    ];
  },
});

export const benchmarks: readonly Benchmark[] = [
  moving('egress-moves', {
    mode: 'shared',
    spaces: ['plain', 'flat'],
    packets: 1_000_000,
    powerCuts: 5,
  }),
  // Networks of users need VRFs there, which this kernel need not have.
  moving('egress-moves-local', {
    mode: 'local',
    spaces: ['plain'],
    packets: 300_000,
    powerCuts: 5,
  }),
];
