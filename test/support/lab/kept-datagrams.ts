/** Datagrams of one and the same flow, also from call to call with the same port: to conntrack all are one connection. */
import { outputInside } from '../../../src/lab/exec.ts';
import type { LabRecord } from '../../../src/lab/state-file.ts';

/** Source port where none is given. */
const FROM = 41_234;
const SENT = 10;

/** One every 0.1 s to each address; counts answers, each within that time. */
const PROGRAM = `
import json, select, socket, sys, time
sent, source, port, *to = int(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3]), *sys.argv[4:]
flows = []
for address in to:
    one = socket.socket(socket.AF_INET6 if ':' in address else socket.AF_INET, socket.SOCK_DGRAM)
    one.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    one.bind(('', source))
    one.connect((address, port))
    flows.append(one)
answered = [0] * len(to)
for n in range(sent):
    for one in flows:
        try:
            one.send(b'x')
        except OSError:
            pass
    end = time.monotonic() + 0.1
    while (left := end - time.monotonic()) > 0:
        for one in select.select(flows, [], [], left)[0]:
            try:
                one.recv(100)
                answered[flows.index(one)] += 1
            except OSError:
                pass
print(json.dumps(answered))
`;

/** How many of ten datagrams to each address were answered. */
export async function askAgain(
  lab: LabRecord,
  namespace: string,
  to: readonly string[],
  port: number,
  from = FROM,
): Promise<readonly number[]> {
  const numbers = [SENT, from, port].map(String);
  const inside = ['ip', 'netns', 'exec', namespace, 'python3', '-c', PROGRAM];
  return JSON.parse(await outputInside(lab, [...inside, ...numbers, ...to])) as readonly number[];
}
