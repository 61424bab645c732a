/** Datagrams between pods all the time, of all kinds of networks at once: how many of each flow were sent, and came. */
import { randomUUID } from 'node:crypto';
import { outputInside } from '../../../src/lab/exec.ts';
import type { LabRecord } from '../../../src/lab/state-file.ts';

export interface Flow {
  /** Network namespaces of the pods. */
  readonly from: string;
  readonly at: string;
  readonly to: string;
  readonly port: number;
}

export interface FlowCount {
  readonly sent: number;
  readonly got: number;
  /** When the first ones came; milliseconds since the epoch. */
  readonly times: readonly number[];
}

/** A datagram of each flow every 10 ms, until a file is there; half a second more to listen. Sockets stay in the network namespaces where they were made. */
const PROGRAM = `
import json, os, select, socket, sys, time
SO_RCVBUFFORCE = 33
ready, end = sys.argv[1:3]
flows = json.load(sys.stdin)
home = os.open('/proc/self/ns/net', os.O_RDONLY)
senders, poll, listeners = {}, select.epoll(), {}

def socket_in(space, family):
    handle = os.open('/run/netns/' + space, os.O_RDONLY)
    os.setns(handle, os.CLONE_NEWNET)
    one = socket.socket(family, socket.SOCK_DGRAM)
    os.setns(home, os.CLONE_NEWNET)
    os.close(handle)
    one.setblocking(False)
    return one

for flow in flows:
    flow['family'] = socket.AF_INET6 if ':' in flow['to'] else socket.AF_INET
    key = flow['from'], flow['family']
    if key not in senders:
        senders[key] = socket_in(*key)
for at, port in {(flow['at'], flow['port']) for flow in flows}:
    one = socket_in(at, socket.AF_INET6)
    one.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 0)
    one.setsockopt(socket.SOL_SOCKET, SO_RCVBUFFORCE, 1 << 20)
    one.bind(('::', port))
    listeners[one.fileno()] = one
    poll.register(one, select.EPOLLIN)
counts = [{'sent': 0, 'got': 0, 'times': []} for _ in flows]

def receive(seconds):
    until = time.monotonic() + seconds
    while (left := until - time.monotonic()) > 0:
        for file, _ in poll.poll(left):
            try:
                data = listeners[file].recv(64)
            except OSError:
                continue  # unreachable somewhere: of no flow
            count = counts[int(data)]
            count['got'] += 1
            if len(count['times']) < 3:
                count['times'].append(round(time.time() * 1000))

open(ready, 'w').close()
rounds = 0
while rounds % 10 or not os.path.exists(end):
    rounds += 1
    for index, flow in enumerate(flows):
        try:
            senders[flow['from'], flow['family']].sendto(b'%d' % index, (flow['to'], flow['port']))
            counts[index]['sent'] += 1
        except OSError:
            pass  # no room, or no device any more
    receive(0.01)
receive(0.5)
print(json.dumps(counts))
`;

/** What became of each flow while `during` ran. */
export async function whileSending(
  lab: LabRecord,
  flows: readonly Flow[],
  during: () => Promise<void>,
): Promise<readonly FlowCount[]> {
  const name = `/tmp/policed-${randomUUID()}`;
  const input = JSON.stringify(flows);
  const running = outputInside(lab, ['python3', '-c', PROGRAM, `${name}-ready`, `${name}-end`], {
    input,
  });
  running.catch(() => undefined); // it is awaited below, also where `during` fails
  const wait = 'until [ -e "$1" ]; do sleep 0.02; done';
  try {
    await outputInside(lab, ['timeout', '30', 'bash', '-c', wait, 'bash', `${name}-ready`]);
    await during();
  } finally {
    await outputInside(lab, ['touch', `${name}-end`]);
  }
  return JSON.parse(await running) as readonly FlowCount[];
}
