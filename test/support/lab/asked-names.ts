/** What a pod is told by DNS, and whether it gets there at once: with its first packet. */
import type { Endpoint } from '../../../src/lab/connectivity.ts';
import { outputInside } from '../../../src/lab/exec.ts';
import type { LabRecord } from '../../../src/lab/state-file.ts';

/** How a pod asks and connects, in Python: for programs that say `server`, `port` and `tries`. */
export const ASKS_AND_CONNECTS = `
import json, os, select, socket, struct, sys, time

def ask(name, kind):
    query = os.urandom(2) + b'\\1\\0\\0\\1\\0\\0\\0\\0\\0\\0'
    query += b''.join(bytes([len(one)]) + one.encode() for one in name.split('.')) + b'\\0' + struct.pack('!HH', kind, 1)
    with socket.socket(socket.AF_INET6 if ':' in server else socket.AF_INET, socket.SOCK_DGRAM) as udp:
        udp.settimeout(2)
        udp.connect((server, 53))
        for _ in range(tries):
            try:
                udp.send(query)
                answer = udp.recv(4096)
                # A failure is asked again, as resolvers do.
                if answer[3] & 15 != 2:
                    return query, answer
            except OSError:
                pass
    return query, b''

def told(name):
    query, answer = ask(name, 1)
    if answer[3:4] and answer[3] & 15:
        return []
    at, found = len(query), []
    while at < len(answer):
        kind, length = struct.unpack('!H', answer[at + 2:at + 4])[0], struct.unpack('!H', answer[at + 10:at + 12])[0]
        if kind == 1:
            found.append(socket.inet_ntoa(answer[at + 12:at + 16]))
        at += 12 + length
    return found

def connects(address, late=None):
    # Shorter than the second after which the first packet is sent again.
    with socket.socket() as tcp:
        tcp.settimeout(0.8)
        began = time.monotonic()
        try:
            tcp.connect((address, port))
            return True
        except TimeoutError:
            # What was lost is answered when it was sent again; what was late may be before.
            if late is not None and select.select([], [tcp], [], 2.5)[1]:
                again = struct.unpack_from('I', tcp.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, 104), 100)[0]
                late.update(after=round(time.monotonic() - began, 3), sentAgain=again)
            return False
        except OSError:
            return False
`;

const PROGRAM = `
${ASKS_AND_CONNECTS}
server, names, port, tries, seconds = sys.argv[1], sys.argv[2].split(','), int(sys.argv[3]), int(sys.argv[4]), float(sys.argv[5])

def reached():
    found = {}
    for name in names:
        addresses = [name] if name.replace('.', '').isdigit() else told(name)
        found[name] = {address: connects(address) for address in addresses}
    return found

end = time.monotonic() + seconds
rounds = [reached()]
while time.monotonic() < end:
    rounds.append(reached())
print(json.dumps(rounds))
`;

type Reached = Readonly<Record<string, Readonly<Record<string, boolean>>>>;

/** By name the addresses that the pod is told, with whether its first packet there is answered. An address stands for itself. */
export async function connectedByName(
  lab: LabRecord,
  { namespace }: Endpoint,
  server: string,
  names: readonly string[],
  port: number,
  tries = 3,
): Promise<Reached> {
  const [found = {}] = await rounds(lab, namespace, [server, names.join(','), port, tries, 0]);
  return found;
}

/** The same again and again, one round after the other, for so many seconds. */
export const connectedByNameFor = (
  seconds: number,
  lab: LabRecord,
  { namespace }: Endpoint,
  server: string,
  names: readonly string[],
  port: number,
): Promise<readonly Reached[]> =>
  rounds(lab, namespace, [server, names.join(','), port, 3, seconds]);

async function rounds(
  lab: LabRecord,
  namespace: string,
  args: readonly (string | number)[],
): Promise<readonly Reached[]> {
  const program = ['python3', '-c', PROGRAM, ...args.map(String)];
  const output = await outputInside(lab, ['ip', 'netns', 'exec', namespace, ...program]);
  return JSON.parse(output) as readonly Reached[];
}
