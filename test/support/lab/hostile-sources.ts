/** Pods whose packets can't be tracked, and so not be translated: for what they are, or as the table of connections is full. */
import { randomUUID } from 'node:crypto';
import { expect } from 'vitest';
import { contains } from '../../../src/allocators/addresses.ts';
import { outputInside, runInside } from '../../../src/lab/exec.ts';
import { OUTSIDE } from '../../../src/lab/node-facts.ts';
import { commandIn, whileStreaming, type Stream, type Streamed } from '../host/streams.ts';
import { until } from '../run/until.ts';
import { outOfNoConnection, plainly } from './hostile-attacks.ts';
import type { HostileLab, HostilePod } from './hostile-lab.ts';
import { nodeAddresses } from './matrix-tenants.ts';

const ATTACKERS = ['plain/attacker', 'blue/attacker', 'red/attacker'] as const;
const VICTIMS = ['guarded/beside', 'green/beside', 'green/far', 'red/far', 'plain/far'] as const;
/** What a machine on the underlay may have as its address; the unspecified one looks for duplicates of others. */
const UNDERLAY = ['172.18.0.0/24', 'fd00:172:18::/64', 'fe80::/10', '::/128'];
/** A packet to the outside needs a place in the zones of its port, of routers and of the bridge: with so many free ones it ends at each of them. */
const FREE = [0, 1, 2, 3, 4, 5, 6, 7];
const TOLD = 'listening';

/** Prints each source address of IP that comes in, once. */
const LISTEN = `
import socket, sys
raw = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.ntohs(3))
raw.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1 << 24)
if sys.argv[1]:
    raw.bind((sys.argv[1], 0))
print('${TOLD}', flush=True)
seen = set()
while True:
    frame, address = raw.recvfrom(65535)
    at = {b'\\x08\\x00': (socket.AF_INET, 26, 30), b'\\x86\\xdd': (socket.AF_INET6, 22, 38)}.get(frame[12:14])
    if at is None or address[2] == socket.PACKET_OUTGOING:
        continue
    source = socket.inet_ntop(at[0], frame[at[1]:at[2]])
    if source not in seen:
        seen.add(source)
        print(source, flush=True)
`;

/** Begins connections from ever new ports to each address: UDP, TCP, echoes. */
const SEND = `
import random, socket, struct, sys
for n in range(20):
    for to in sys.argv[1:]:
        family, icmp, kind = (socket.AF_INET6, socket.IPPROTO_ICMPV6, 128) if ':' in to else (socket.AF_INET, socket.IPPROTO_ICMP, 8)
        udp, tcp = socket.socket(family, socket.SOCK_DGRAM), socket.socket(family, socket.SOCK_STREAM)
        tcp.setblocking(False)
        raw = socket.socket(family, socket.SOCK_RAW, icmp)
        echo = struct.pack('!BBHHH', kind, 0, 0, random.getrandbits(16), n)
        if family == socket.AF_INET:
            s = sum(struct.unpack('!4H', echo))
            echo = echo[:2] + struct.pack('!H', ~((s >> 16) + (s & 0xffff)) & 0xffff) + echo[4:]
        for send in (lambda: udp.sendto(b'x', (to, 9)), lambda: tcp.connect((to, 9)), lambda: raw.sendto(echo, (to, 0))):
            try:
                send()
            except OSError:
                pass # of TCP, which has no answer yet, or of an earlier packet
        for one in (udp, tcp, raw):
            one.close()
`;

/** Source addresses that come in on the underlay at the host outside, and at the other node. */
class SourceListener implements AsyncDisposable {
  readonly sources = new Set<string>();
  readonly #lab: HostileLab;
  readonly #id = randomUUID();
  readonly #ended: Promise<unknown>;

  /** `device`: of what comes in there alone. */
  constructor(lab: HostileLab, command: readonly string[], device = '') {
    this.#lab = lab;
    let rest = '';
    this.#ended = runInside(lab.record, [...command, 'python3', '-c', LISTEN, device, this.#id], {
      onStdout: (text) => {
        const lines = (rest + text).split('\n');
        rest = lines.pop() ?? '';
        for (const line of lines) this.sources.add(line);
      },
    });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await runInside(this.#lab.record, ['pkill', '-TERM', '--full', `^python3 .* ${this.#id}$`]);
    await this.#ended;
  }
}

/** Proves that of what pods send during `work` nothing leaves n1 with another address than the node's. `kind`: of that in the table. */
async function proveSources(
  lab: HostileLab,
  kind: string,
  work: () => Promise<void>,
): Promise<void> {
  await using outside = new SourceListener(lab, commandIn('ext'));
  await using other = new SourceListener(lab, ['on', 'n2'], 'eth0');
  await until('listeners', () => outside.sources.has(TOLD) && other.sources.has(TOLD));
  await work();
  await until("packets with the node's addresses", () =>
    nodeAddresses('n1').every((address) => outside.sources.has(address)),
  );
  const foreign = [...outside.sources, ...other.sources].filter(
    (one) => one !== TOLD && !UNDERLAY.some((range) => contains(range, one)),
  );
  lab.note(`${kind}: out of the node with another address than the node's`, foreign.length === 0);
  expect(foreign).toEqual([]);
}

/** Sends what belongs to no connection and begins none: conntrack leaves it alone, and so does whatever translates. */
export async function sendOfNoConnection(lab: HostileLab): Promise<void> {
  const kind = 'of no connection';
  await proveSources(lab, kind, () => lab.prove(kind, outOfNoConnection(lab)));
}

/** The table of connections of n1, and how many it takes. Those that the kernel tracks have one limit for all nodes of a lab, of which n1 has most. */
interface ConnectionTable {
  entries(): Promise<number>;
  most(): Promise<number>;
  setMost(most: number): Promise<unknown>;
  /** With which it takes nothing. */
  readonly least: number;
  /** Free places to try: with the kernel's a packet without one is dropped, wherever it is. */
  readonly free: readonly number[];
}

function tableOf(lab: HostileLab): ConnectionTable {
  const number = async (...command: string[]): Promise<number> =>
    Number(await lab.onNode('n1', ...command));
  if (lab.record.kind === 'host')
    return {
      entries: () => number('ovs-appctl', 'dpctl/ct-get-nconns'),
      most: () => number('ovs-appctl', 'dpctl/ct-get-maxconns'),
      setMost: (most) => lab.onNode('n1', 'ovs-appctl', 'dpctl/ct-set-maxconns', String(most)),
      least: 0,
      free: FREE,
    };
  const key = 'net.netfilter.nf_conntrack_max';
  return {
    entries: () => number('sysctl', '-n', 'net.netfilter.nf_conntrack_count'),
    most: () => number('sysctl', '-n', key),
    setMost: (most) => outputInside(lab.record, ['sysctl', '-qw', `${key}=${most}`]),
    least: 1,
    free: FREE.slice(0, 3),
  };
}

/** Sends while packets can't be tracked. Who was connected before goes on, and nothing gets to others. */
export async function sendWithoutPlaces(lab: HostileLab): Promise<void> {
  const kind = 'a full table';
  const table = tableOf(lab);
  const most = await table.most();
  const send = async (): Promise<void> => {
    const to = [OUTSIDE.v4, OUTSIDE.v6, ...nodeAddresses('n2')];
    const sender = (key: HostilePod): string[] => {
      const inside = ['ip', 'netns', 'exec', lab.on(key).namespace];
      return [...inside, 'python3', '-c', SEND, ...to];
    };
    await Promise.all(ATTACKERS.map((key) => outputInside(lab.record, sender(key))));
  };
  const streams: Stream[] = [];
  for (const from of ['plain/beside', 'green/beside'] as const)
    if (from === 'plain/beside' || (await lab.reachesOutside('green')))
      streams.push({ from, to: 'ext', address: OUTSIDE.v4 });
  const untracked = ATTACKERS.flatMap((key) =>
    VICTIMS.filter((victim) => victim.split('/')[0] !== key.split('/')[0])
      .flatMap((victim) => lab.on(victim).addresses)
      .map((to) => plainly(lab, `${key}, untracked,`, lab.on(key).namespace, to)),
  );
  let streamed: readonly Streamed[] = [];
  await proveSources(lab, kind, async () => {
    await send();
    streamed = await whileStreaming(lab.record, streams, async () => {
      try {
        for (const free of table.free) {
          await table.setMost((await table.entries()) + free);
          await send();
        }
        await table.setMost(table.least);
        // Outside are such addresses, too: there a pod of the default network may ask for them.
        await lab.prove(`${kind}: to pods that they may not reach`, untracked, []);
      } finally {
        await table.setMost(most);
      }
    });
  });
  for (const { broken, echoes, lost } of streamed) {
    expect(broken).toBe(0);
    // A busy machine loses one or another by itself. Echoes, which it never takes for assured, the kernel forgets for new connections.
    if (lab.record.kind === 'host') expect(lost).toBeLessThan(echoes / 10);
  }
}
