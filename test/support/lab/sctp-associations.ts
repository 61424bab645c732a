/**
 * Beginnings of SCTP associations (RFC 9260 §5.1): INIT and INIT ACK by raw sockets, which need no module of the kernel. Of the host outside, of pods and
 * of nodes; what is between them tracks and translates them as any association.
 */
import { randomUUID } from 'node:crypto';
import { outputInside, runInside } from '../../../src/lab/exec.ts';
import type { LabRecord } from '../../../src/lab/state-file.ts';
import { until } from '../run/until.ts';

/** Says that it listens, and answers each INIT of whatever port with an INIT ACK, which names itself and whom it saw; or asks, and prints what is answered, or null. */
const PROGRAM = `
import json, random, select, socket, struct, sys, time
TABLE = []
for n in range(256):
    for _ in range(8):
        n = (n >> 1) ^ 0x82F63B78 if n & 1 else n >> 1
    TABLE.append(n)
def crc32c(data):
    crc = 0xffffffff
    for one in data:
        crc = TABLE[(crc ^ one) & 255] ^ (crc >> 8)
    return struct.pack('<I', crc ^ 0xffffffff)
INIT, INIT_ACK, SEEN = 1, 2, 0xc0de
def packet(source, destination, tag, kind, seen=b''):
    parameter = struct.pack('!HH', SEEN, 4 + len(seen)) + seen if seen else b''
    chunk = struct.pack('!BBHIIHHI', kind, 0, 20 + len(parameter), 1, 65536, 1, 1, 1) + parameter
    chunk += bytes(-len(chunk) % 4)
    head = struct.pack('!HHI', source, destination, tag)
    return head + crc32c(head + bytes(4) + chunk) + chunk
def read(family, data):
    if family == socket.AF_INET:
        data = data[(data[0] & 15) * 4:]
    if len(data) < 32 or crc32c(data[:8] + bytes(4) + data[12:]) != data[8:12]:
        return None
    length = struct.unpack('!H', data[14:16])[0]
    return (*struct.unpack('!HH', data[:4]), data[12], data[36:12 + length].decode())
def raw(family):
    return socket.socket(family, socket.SOCK_RAW, socket.IPPROTO_SCTP)
if sys.argv[1] == 'serve':
    sockets = [raw(family) for family in (socket.AF_INET, socket.AF_INET6)]
    print('listening', flush=True)
    while True:
        for one in select.select(sockets, [], [])[0]:
            data, (peer, *_) = one.recvfrom(4096)
            found = read(one.family, data)
            if found is not None and found[2] == INIT:
                one.sendto(packet(found[1], found[0], 1, INIT_ACK, f'{sys.argv[2]} {peer}'.encode()), (peer, 0))
seconds, first, asked, seen = float(sys.argv[2]), int(sys.argv[3]), json.loads(sys.argv[4]), {}
first = first or random.randrange(32768, 60000)
sockets = [raw(family) for family in (socket.AF_INET, socket.AF_INET6)]
end, again = time.monotonic() + seconds, 0
while time.monotonic() < end and len(seen) < len(asked):
    if time.monotonic() >= again:
        again = time.monotonic() + 0.3
        for n, (to, port) in enumerate(asked):
            if n not in seen:
                sockets[':' in to].sendto(packet(first + n, port, 0, INIT), (to, 0))
    for one in select.select(sockets, [], [], 0.1)[0]:
        data, (peer, *_) = one.recvfrom(4096)
        found = read(one.family, data)
        n = found[1] - first if found is not None and found[2] == INIT_ACK else -1
        if 0 <= n < len(asked) and (peer, found[0]) == (asked[n][0], asked[n][1]):
            seen[n] = found[3]
print(json.dumps([seen.get(n) for n in range(len(asked))]))
`;

/** A command that runs a program where it is: a pod, a node, the host outside. */
export type Where = readonly string[];

/** Servers at each of `where`, until disposed. */
export class SctpServers implements AsyncDisposable {
  readonly #lab: LabRecord;
  readonly #id = randomUUID();
  readonly #ended: readonly Promise<unknown>[];

  private constructor(lab: LabRecord, where: readonly Where[], onListening: () => void) {
    this.#lab = lab;
    this.#ended = where.map((command) =>
      runInside(
        lab,
        [...command, 'python3', '-c', PROGRAM, 'serve', command.at(-1) ?? '', this.#id],
        {
          onStdout: onListening,
        },
      ),
    );
  }

  static async start(lab: LabRecord, where: readonly Where[]): Promise<SctpServers> {
    let listening = 0;
    const servers = new SctpServers(lab, where, () => (listening += 1));
    await until('servers of SCTP', () => listening >= where.length);
    return servers;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await runInside(this.#lab, ['pkill', '-TERM', '--full', `^python3 .* ${this.#id}$`]);
    await Promise.all(this.#ended);
  }
}

/** What a server answered: the last word of where it is, and the address that it saw. */
export interface SctpAnswer {
  readonly server: string;
  readonly peer: string;
}

export interface SctpAsking {
  readonly seconds?: number;
  /** That of the first one; the others have those that follow. New ones if left out. */
  readonly sourcePort?: number;
}

/** Asks to begin an association with each of `to`, three times a second until it is answered: undefined where nobody did, or another one than who was asked. */
export async function askSctp(
  lab: LabRecord,
  from: Where,
  to: readonly (readonly [address: string, port: number])[],
  { seconds = 3, sourcePort = 0 }: SctpAsking = {},
): Promise<readonly (SctpAnswer | undefined)[]> {
  const numbers = [String(seconds), String(sourcePort)];
  const command = [...from, 'python3', '-c', PROGRAM, 'ask', ...numbers, JSON.stringify(to)];
  const seen = JSON.parse(await outputInside(lab, command)) as readonly (string | null)[];
  return seen.map((one) => {
    const [server = '', peer = ''] = one?.split(' ') ?? [];
    return one === null ? undefined : { server, peer };
  });
}
