/** Datagrams with a number each, and the mark (DSCP) that they arrive with: read from their IP headers where they come in. */
import { outputInside } from '../../../src/lab/exec.ts';
import type { LabRecord } from '../../../src/lab/state-file.ts';

export interface MarkedWay {
  /** Network namespaces inside the lab. */
  readonly from: string;
  readonly at: string;
  /** Address there. */
  readonly to: string;
  /** UDP port that nobody needs to listen on. */
  readonly port: number;
}

/** Sockets stay in the network namespace that they were made in: one process sends and listens everywhere. */
const PROLOGUE = `
import json, os, re, select, socket, sys, time
def within(space):
    handle = os.open('/run/netns/' + space, os.O_RDONLY)
    os.setns(handle, os.CLONE_NEWNET)
    os.close(handle)
def listen(space):
    within(space)
    raw = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.ntohs(3))
    raw.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1 << 24)
    return raw
def sender(space, to):
    within(space)
    return socket.socket(socket.AF_INET6 if ':' in to else socket.AF_INET, socket.SOCK_DGRAM)
def incoming(raw):
    frame, address = raw.recvfrom(65535)
    found = re.search(rb'<heddle-mark-(\\d+)>', frame)
    if address[2] == socket.PACKET_OUTGOING or found is None:
        return None
    kind = int.from_bytes(frame[12:14], 'big')
    if kind == 0x0800 and frame[23] == 17:
        return int(found[1]), frame[15] >> 2
    if kind == 0x86dd and frame[20] == 17:
        return int(found[1]), ((frame[14] & 15) << 2) | (frame[15] >> 6)
    return None
def send(socket_, to, port, number, size=0):
    try:
        socket_.sendto((b'<heddle-mark-%d>' % number).ljust(size, b'.'), (to, port))
    except OSError:
        pass  # no route, or no room: it does not arrive
asked = json.loads(sys.argv[1])
listeners = {space: listen(space) for space in {way['at'] for way in asked['ways']}}
senders = [sender(way['from'], way['to']) for way in asked['ways']]
`;

/** One datagram again and again, until it arrived. */
const MARKS = `${PROLOGUE}
marks, end, again = {}, time.monotonic() + asked['seconds'], 0
while len(marks) < len(senders) and time.monotonic() < end:
    if time.monotonic() >= again:
        again = time.monotonic() + 0.3
        for number, way in enumerate(asked['ways']):
            if number not in marks:
                send(senders[number], way['to'], way['port'], number)
    for raw in select.select(list(listeners.values()), [], [], 0.1)[0]:
        found = incoming(raw)
        if found is not None and raw is listeners[asked['ways'][found[0]]['at']]:
            marks[found[0]] = found[1]
print(json.dumps([marks.get(number) for number in range(len(senders))]))
`;

/** Marks with which datagrams arrive, by way; null where none did in that time. */
export async function marksOf(
  lab: LabRecord,
  ways: readonly MarkedWay[],
  seconds: number,
): Promise<readonly (number | null)[]> {
  const input = JSON.stringify({ ways, seconds });
  return JSON.parse(await outputInside(lab, ['python3', '-c', MARKS, input])) as (number | null)[];
}

/** The same many times, evenly, on all ways at once. */
const COUNTS = `${PROLOGUE}
counts, sent, began = [0] * len(senders), 0, time.monotonic()
while (now := time.monotonic()) < began + asked['seconds'] + 1:
    while sent < asked['packets'] and sent <= (now - began) / asked['seconds'] * asked['packets']:
        for number, way in enumerate(asked['ways']):
            send(senders[number], way['to'], way['port'], number, asked['size'])
        sent += 1
    for raw in select.select(list(listeners.values()), [], [], 0.001)[0]:
        found = incoming(raw)
        if found is not None and raw is listeners[asked['ways'][found[0]]['at']]:
            counts[found[0]] += 1
print(json.dumps(counts))
`;

export interface Load {
  /** In all, on each way. */
  readonly packets: number;
  /** Bytes of a datagram. */
  readonly size: number;
  readonly seconds: number;
}

/** How many datagrams arrive of those that are sent, by way. */
export async function arrivalsOf(
  lab: LabRecord,
  ways: readonly MarkedWay[],
  load: Load,
): Promise<readonly number[]> {
  const input = JSON.stringify({ ways, ...load });
  return JSON.parse(await outputInside(lab, ['python3', '-c', COUNTS, input])) as number[];
}
