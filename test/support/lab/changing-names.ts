/** A pod that goes on asking and connecting while names of a firewall change: what it was told, what it is kept from, and what it is connected to already. */
import { outputInside } from '../../../src/lab/exec.ts';
import type { LabRecord } from '../../../src/lab/state-file.ts';
import { ASKS_AND_CONNECTS } from './asked-names.ts';

/** Allowed by a rule, by its name and by a wildcard. */
export const ALLOWED_NAMES: readonly string[] = ['www.example.org', 'a.apps.example.org'];
/** Denied by a rule, likewise. */
export const DENIED_NAMES: readonly string[] = ['bad.example.org', 'b.worse.example.org'];
/** Of no rule. */
export const OTHER_NAME = 'example.net';
const NAMES = [...ALLOWED_NAMES, OTHER_NAME, ...DENIED_NAMES];

/** Addresses of the host outside: of names that are denied, and of all others. Each name has one that nobody had before at each change. */
export const DENIED_BLOCK = '172.18.12.0/22';
export const OTHER_BLOCK = '172.18.8.0/22';
/** For so many changes there are addresses, and as many a node keeps of a name. */
export const MOST_CHANGES = 250;
const CHANGE_SECONDS = 5;
/** Shorter than the change: who heeds it asks again several times before there is anything new. */
const TTL = 1;
const ECHO_PORT = 9390;

/** The address that a name has from that change on. */
function addressOf(name: string, change: number): string {
  const of = DENIED_NAMES.includes(name) ? DENIED_NAMES : [...ALLOWED_NAMES, OTHER_NAME];
  const index = 1 + change * of.length + of.indexOf(name);
  return `172.18.${(of === DENIED_NAMES ? 12 : 8) + (index >> 8)}.${index & 255}`;
}

/** What DNS says of the names, by change; 0 is before the first one. */
export const zoneAt = (change: number): object =>
  Object.fromEntries(
    NAMES.map((name) => [name, { addresses: [addressOf(name, change)], ttl: TTL }]),
  );

/**
 * Kinds of connections. `told`: to what the pod's resolver gave it within the TTL; `moment`: asked for around the moment of a change; `old`: told within the
 * five minutes for which an address counts beyond its TTL, and changed since; `gone`: told before that; `open`: a second of a connection that was opened within
 * the five minutes; `ended`: one of a connection that is older.
 */
const PROGRAM = `
${ASKS_AND_CONNECTS}
import collections, random, threading

server, port, tries = sys.argv[1], int(sys.argv[2]), 3
given = json.loads(sys.argv[3])
zones, file, space, allowed, denied, other = (given[key] for key in ('zones', 'file', 'space', 'allowed', 'denied', 'other'))
each, ttl, echo_port = given['seconds'], given['ttl'], given['echoPort']
# Beyond its TTL, and what timers and passes take then.
HOLD, SLACK = 300, 20
began = time.monotonic()
changes, over = [], threading.Event()
lock = threading.Lock()
counts, wrong, faults = collections.defaultdict(lambda: [0, 0]), [], []
unanswered = [0, 0]

def within(space):
    handle = os.open('/run/netns/' + space, os.O_RDONLY)
    os.setns(handle, os.CLONE_NEWNET)
    os.close(handle)

def count(kind, is_allowed, reached, **more):
    with lock:
        one = counts[kind + (' allowed' if is_allowed else ' denied')]
        one[0] += 1
        one[1] += reached
        if reached != is_allowed and len(wrong) < 50:
            wrong.append({'kind': kind, 'isAllowed': is_allowed, 'at': round(time.monotonic() - began, 3), 'sinceChange': round(time.monotonic() - changes[-1], 3), **more})

def asked(name):
    found = told(name)
    with lock:
        unanswered[0] += 1
        unanswered[1] += not found
    return found

def connected(kind, name, address):
    late = {}
    is_allowed = name in allowed
    reached = connects(address, late if is_allowed else None)
    count(kind, is_allowed, reached, name=name, address=address, **late)

def resolver(name):
    while not over.is_set():
        addresses, end = asked(name), time.monotonic() + ttl
        while addresses and time.monotonic() < end and not over.is_set():
            for address in addresses:
                connected('told', name, address)
            time.sleep(0.2)

def at_moment(name, moment):
    time.sleep(max(0, moment - time.monotonic()))
    for address in asked(name):
        connected('moment', name, address)

def address_of(name, change):
    return zones[change][name]['addresses'][0]

# Each name is asked about all the time, so what it stood for at a change was told.
def older():
    while not over.is_set():
        now = time.monotonic()
        ended = [index for index in range(1, len(changes)) if changes[index] < now - 1]
        counting = [index - 1 for index in ended if changes[index - 1] > now - HOLD + 1]
        gone = [index - 1 for index in ended if changes[index] < now - HOLD - ttl - SLACK]
        if counting:
            for name in (*allowed, *denied):
                address = address_of(name, random.choice(counting))
                count('old', name in allowed, connects(address), name=name, address=address)
        if gone:
            for name in allowed:
                address = address_of(name, random.choice(gone))
                count('gone', False, connects(address), name=name, address=address)
        time.sleep(0.2)

def echo(one):
    while data := one.recv(4096):
        one.sendall(data)

def echoes(one):
    try:
        echo(one)
    except OSError:
        pass  # the pod is gone
    one.close()

def server_outside(ready):
    within('ext')
    listener = socket.create_server(('0.0.0.0', echo_port), backlog=64)
    ready.set()
    while True:
        threading.Thread(target=echoes, args=[listener.accept()[0]], daemon=True).start()

def keeps(name):
    kept, seen = [], None
    while not over.is_set():
        begun = time.monotonic()
        for address in asked(name):
            if address == seen:
                continue
            seen = address
            one = socket.socket()
            one.settimeout(0.8)
            try:
                one.connect((address, echo_port))
                one.setblocking(False)
                kept.append((one, address, time.monotonic()))
                is_open = True
            except OSError:
                is_open = False
            count('told', True, is_open, name=name, address=address)
        for one, *_ in kept:
            try:
                one.send(b'.')
            except OSError:
                pass  # broken or full: nothing comes back, which is counted
        time.sleep(max(0.8, begun + 1 - time.monotonic()))
        now = time.monotonic()
        for one, address, since in kept:
            try:
                is_heard = bool(one.recv(4096))
            except OSError:
                is_heard = False
            end = next((changes[index + 1] for index in range(len(changes) - 1) if address_of(name, index) == address), None)
            if now < since + HOLD - 1:
                count('open', True, is_heard, name=name, address=address, age=round(now - since, 1))
            elif end is not None and now > end + HOLD + ttl + SLACK:
                count('ended', False, is_heard, name=name, address=address, age=round(now - since, 1))

def guarded(work, *args):
    try:
        work(*args)
    except Exception as fault:
        faults.append(f'{work.__name__}: {fault!r}')
        over.set()

def start(work, *args):
    thread = threading.Thread(target=guarded, args=(work, *args), daemon=True)
    thread.start()
    return thread

ready = threading.Event()
start(server_outside, ready)
assert ready.wait(10), faults
within(space)
changes.append(time.monotonic())
threads = [start(resolver, name) for name in (*allowed, *denied, other)]
threads += [start(keeps, name) for name in allowed] + [start(older)]
for change in range(1, len(zones)):
    moment = changes[-1] + each
    threads += [start(at_moment, name, moment + offset) for name in (*allowed, *denied, other) for offset in (-0.02, 0, 0.02)]
    over.wait(max(0, moment - time.monotonic()))
    with open(file + '.new', 'w') as new:
        json.dump(zones[change], new)
    os.rename(file + '.new', file)
    changes.append(time.monotonic())
over.wait(each)
over.set()
for thread in threads:
    thread.join()
print(json.dumps({'counts': counts, 'wrong': wrong, 'faults': faults, 'questions': unanswered[0], 'unanswered': unanswered[1]}))
`;

export interface NameChanges {
  /** By kind and what rules say (`told allowed`): connections tried, and those of which the first packet was answered. */
  readonly counts: Readonly<Record<string, readonly [tried: number, reached: number]>>;
  /** The first 50 of those that went otherwise than rules say. */
  readonly wrong: readonly { readonly kind: string; readonly isAllowed: boolean }[];
  /** Of the program itself. */
  readonly faults: readonly string[];
  readonly questions: number;
  readonly unanswered: number;
}

/** Changes what DNS says in `file` so many times, every 5 s, while the pod in `namespace` asks `server` and connects. */
export async function changeNames(
  lab: LabRecord,
  options: {
    readonly namespace: string;
    readonly server: string;
    readonly file: string;
    readonly port: number;
    readonly changes: number;
  },
): Promise<NameChanges> {
  const { namespace, server, file, port, changes } = options;
  const given = {
    zones: Array.from({ length: changes + 1 }, (_, change) => zoneAt(change)),
    file,
    space: namespace,
    allowed: ALLOWED_NAMES,
    denied: DENIED_NAMES,
    other: OTHER_NAME,
    seconds: CHANGE_SECONDS,
    ttl: TTL,
    echoPort: ECHO_PORT,
  };
  const program = ['python3', '-c', PROGRAM, server, String(port), JSON.stringify(given)];
  return JSON.parse(await outputInside(lab, program)) as NameChanges;
}

/** Milliseconds that so many changes take. */
export const changesTake = (changes: number): number => (changes + 1) * CHANGE_SECONDS * 1000;
