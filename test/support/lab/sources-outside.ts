/** Pods send all the time, answered or not, while something happens, and each frame of theirs that reaches the host outside tells as whom it was sent. */
import { randomUUID } from 'node:crypto';
import { outputInside } from '../../../src/lab/exec.ts';
import type { LabRecord } from '../../../src/lab/state-file.ts';

const FIRST_PORT = 9400;

/** A datagram every 5 ms until a file is there. */
const SENDER = `
import os, socket, sys, time
end, to, port = sys.argv[1], sys.argv[2], int(sys.argv[3])
one = socket.socket(socket.AF_INET6 if ':' in to else socket.AF_INET, socket.SOCK_DGRAM)
one.connect((to, port))
while not os.path.exists(end):
    try:
        one.send(b'source')
    except OSError:
        pass  # no room, no way, or an ICMP error
    time.sleep(0.005)
`;

/** Takes frames off the wire: what the host outside would not hear for its source counts as well. A file is there once it has one of each port. Gives when each source of each port was seen, in ms. */
const LISTENER = `
import json, os, socket, sys, time
end, ready, ports = sys.argv[1], sys.argv[2], [int(port) for port in sys.argv[3:]]
raw = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(3))
raw.setsockopt(socket.SOL_SOCKET, 33, 8 << 20)
raw.settimeout(0.2)
seen, began = {}, time.monotonic()
while not os.path.exists(end):
    try:
        frame, where = raw.recvfrom(2048)
    except TimeoutError:
        continue
    if where[2] == socket.PACKET_OUTGOING:
        continue
    at = 12
    while frame[at:at + 2] == b'\\x81\\0':
        at += 4
    kind, packet = frame[at:at + 2], frame[at + 2:]
    if kind == b'\\x08\\0' and packet[9] == 17:
        source, udp = socket.inet_ntop(socket.AF_INET, packet[12:16]), packet[4 * (packet[0] & 15):]
    elif kind == b'\\x86\\xdd' and packet[6] == 17:
        source, udp = socket.inet_ntop(socket.AF_INET6, packet[8:24]), packet[40:]
    else:
        continue
    port = int.from_bytes(udp[2:4], 'big')
    if port in ports:
        if port not in seen and len(seen) + 1 == len(ports):
            open(ready, 'w').close()
        seen.setdefault(port, {}).setdefault(source, []).append(round(1000 * (time.monotonic() - began)))
print(json.dumps([seen.get(port, {}) for port in ports]))
`;

export interface Sending {
  /** Network namespace in the lab. */
  readonly from: string;
  readonly to: string;
}

/** Milliseconds at which each source was seen. */
export type SourcesSeen = Readonly<Record<string, readonly number[]>>;

/** Of each sender, as whom it was seen outside. What happens does so once each of them was seen. */
export async function whileSendingOut(
  lab: LabRecord,
  sendings: readonly Sending[],
  during: () => Promise<void>,
): Promise<readonly SourcesSeen[]> {
  const end = `/tmp/sources-${randomUUID()}`;
  const ready = `${end}-ready`;
  const python = (namespace: string, ...words: readonly string[]): Promise<string> =>
    outputInside(lab, ['ip', 'netns', 'exec', namespace, 'python3', '-c', ...words]);
  const ports = sendings.map((_, index) => String(FIRST_PORT + index));
  const listener = python('ext', LISTENER, end, ready, ...ports);
  const senders = sendings.map(({ from, to }, index) =>
    python(from, SENDER, end, to, ports[index] ?? ''),
  );
  const all = Promise.all([listener, ...senders]);
  all.catch(() => undefined);
  try {
    const wait = `until [ -e ${ready} ]; do sleep 0.05; done`;
    await outputInside(lab, ['timeout', '60', 'sh', '-c', wait]);
    await during();
  } finally {
    await outputInside(lab, ['touch', end]);
  }
  return JSON.parse((await all)[0]) as readonly SourcesSeen[];
}

/** The longest time for which nothing with this source came, in milliseconds. */
export const longestGap = (seen: SourcesSeen, source: string): number => {
  const times = seen[source] ?? [];
  return Math.max(0, ...times.slice(1).map((at, index) => at - (times[index] ?? at)));
};
