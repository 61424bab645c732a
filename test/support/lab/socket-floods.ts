/** Who floods what a node's daemon listens on: its sockets on the node, and its ports from a pod. */
import { randomUUID } from 'node:crypto';
import { outputInside } from '../../../src/lab/exec.ts';
import type { LabRecord } from '../../../src/lab/state-file.ts';

/** Half requests, garbage, and now and then 10 MB without an end of line, each on a connection of its own, of which 1,000 for each target stay. */
const FLOOD = `
import collections, json, os, resource, socket, sys, time
end, full, targets = sys.argv[1], sys.argv[2], sys.argv[3:]
hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
half, garbage, long = b'POST / HTTP/1.1\\r\\nHost: x\\r\\nX: ', os.urandom(4096), b'x' * 10_000_000
def connect(target):
    host, _, port = target.rpartition(':')
    if host:
        return socket.create_connection((host, int(port)), 1)
    one = socket.socket(socket.AF_UNIX)
    one.settimeout(1)
    one.connect(target)
    return one
opened, open_ones = collections.Counter(), {target: collections.deque() for target in targets}
while not os.path.exists(end):
    for target in targets:
        try:
            one = connect(target)
        except OSError:
            continue
        opened[target] += 1
        open_ones[target].append(one)
        if len(open_ones[target]) > 1000:
            open_ones[target].popleft().close()
        try:
            one.sendall(long if opened[target] % 100 == 0 else garbage if opened[target] % 2 else half)
        except OSError:
            pass  # it was closed on us
    if not os.path.exists(full) and all(opened[target] >= 1000 for target in targets):
        open(full, 'w').close()
    time.sleep(0.001)
print(json.dumps(opened))
`;

/** Runs it where `run` runs commands until `during` is over; gives how many connections were made to each target. */
export async function whileFlooding(
  run: (...command: readonly string[]) => Promise<string>,
  targets: readonly string[],
  during: () => Promise<void>,
): Promise<Readonly<Record<string, number>>> {
  const name = `/tmp/flood-${randomUUID()}`;
  const flood = run('python3', '-c', FLOOD, `${name}-end`, `${name}-full`, ...targets);
  const ended = flood.then((said) => Promise.reject(new Error(`the flood ended: ${said}`)));
  try {
    const wait = `until [ -e ${name}-full ]; do sleep 0.1; done`;
    await Promise.race([run('timeout', '60', 'bash', '-c', wait).then(during), ended]);
  } finally {
    await run('touch', `${name}-end`);
  }
  return JSON.parse(await flood) as Record<string, number>;
}

/** Tries each unix socket below these folders as nobody, so many times. Prints by path what came of it. */
const UNPRIVILEGED = `
import collections, json, os, socket, stat, sys
paths = [os.path.join(folder, name) for top in sys.argv[2:] for folder, _, names in os.walk(top) for name in names]
paths = [path for path in paths if stat.S_ISSOCK(os.lstat(path).st_mode)]
os.setgroups([])
os.setgid(65534)
os.setuid(65534)
came = {path: collections.Counter() for path in paths}
for path in paths:
    for _ in range(int(sys.argv[1])):
        with socket.socket(socket.AF_UNIX) as one:
            try:
                one.connect(path)
                came[path]['opened'] += 1
            except OSError as why:
                came[path][type(why).__name__] += 1
print(json.dumps(came))
`;

/** What came, by socket of a node and kind of answer, of connections that an unprivileged process of the host tries to make. */
export async function triedAsNobody(
  lab: LabRecord,
  node: string,
  times: number,
  folders: readonly string[],
): Promise<Readonly<Record<string, Readonly<Record<string, number>>>>> {
  const words = ['on', node, 'python3', '-c', UNPRIVILEGED, String(times), ...folders];
  return JSON.parse(await outputInside(lab, words)) as Record<string, Record<string, number>>;
}

/** Of so many honest requests one after the other, each with ten seconds, those that were not answered. */
export async function unanswered(
  lab: LabRecord,
  node: string,
  request: string,
  times: number,
): Promise<number> {
  const script = `lost=0; for n in $(seq ${times}); do timeout 10 bash -o pipefail -c "$1" > /dev/null 2>&1 || lost=$((lost + 1)); done; echo $lost`;
  return Number(await outputInside(lab, ['on', node, 'bash', '-c', script, '-', request]));
}
