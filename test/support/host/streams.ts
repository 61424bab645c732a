/** Connections, datagrams and echoes that go on while something breaks, from the moment at which all of them are answered. */
import { randomUUID } from 'node:crypto';
import { outputInside, runInside } from '../../../src/lab/exec.ts';
import type { LabRecord } from '../../../src/lab/state-file.ts';
import { until } from '../run/until.ts';

/** TCP and UDP port of the servers. */
export const STREAM_PORT = 9000;

/** Sends back what it gets, by TCP and UDP. */
const SERVER = `
import socket, sys, threading
port = int(sys.argv[1])
listener = socket.create_server(('0.0.0.0', port))
datagrams = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
datagrams.bind(('0.0.0.0', port))
def answer(connection):
    with connection:
        while data := connection.recv(64):
            connection.sendall(data)
def echo():
    while True:
        datagrams.sendto(*datagrams.recvfrom(64))
threading.Thread(target=echo, daemon=True).start()
while True:
    threading.Thread(target=answer, args=(listener.accept()[0],), daemon=True).start()
`;

/**
 * One connection on which a byte goes there and back every 50 ms, another one only after it broke; and beside it datagrams from one port, which
 * are counted from the first answer on. If asked for, a new connection every 100 ms besides, which has 2 s for an answer, or no pause between an answer and
 * the next byte, on a connection that ends when an answer takes 2 s. Says when connection and datagrams are answered, after SIGUSR1 when the connection
 * is once more, and at SIGTERM what it saw.
 */
const CLIENT = `
import json, os, signal, socket, sys, threading, time
to, port, kinds = sys.argv[1], int(sys.argv[2]), sys.argv[3].split('+')
pause, longest = (0, 2) if 'unpaused' in kinds else (0.05, 30)
seen, connection = {'answers': 0, 'broken': 0, 'connections': 0, 'failedConnections': 0}, None
is_said, is_asked = False, True
sent, returned, datagrams = 0, set(), socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
datagrams.connect((to, port))
datagrams.settimeout(1)
is_over = threading.Event()
def send():
    global sent
    while not is_over.wait(0.05):
        try:
            datagrams.send(str(sent).encode())
        except OSError:
            continue  # what an earlier one was told: the server is starting
        sent += 1 if returned else 0
def receive():
    while sending.is_alive() or len(returned) < sent:
        try:
            returned.add(datagrams.recv(64))
        except TimeoutError:
            if is_over.is_set():
                break
        except OSError:
            pass  # nobody is there: one more is lost
def ask():
    try:
        with socket.create_connection((to, port), 2) as one:
            one.sendall(b'x')
            is_answered = one.recv(1) == b'x'
    except OSError:
        is_answered = False
    seen['connections' if is_answered else 'failedConnections'] += 1
def renew():
    while 'renewed' in kinds and not is_over.wait(0.1):
        if is_said:
            asking.append(threading.Thread(target=ask, daemon=True))
            asking[-1].start()
def end(*_):
    is_over.set()
    for thread in (sending, receiving, renewing, *asking):
        thread.join()
    print(json.dumps(seen | {'datagrams': len(returned), 'lostDatagrams': sent - len(returned)}), flush=True)
    os._exit(0)
def tell(*_):
    global is_asked
    is_asked = True
asking = []
sending, receiving, renewing = (threading.Thread(target=work, daemon=True) for work in (send, receive, renew))
for thread in (sending, receiving, renewing):
    thread.start()
signal.signal(signal.SIGTERM, end)
signal.signal(signal.SIGUSR1, tell)
while connection is None:
    try:
        connection = socket.create_connection((to, port), 30)
    except OSError:
        time.sleep(0.1)  # the server is starting
while True:
    try:
        if connection is None:
            connection = socket.create_connection((to, port), 30)
        connection.settimeout(longest)
        connection.sendall(b'x')
        if connection.recv(1) != b'x':
            raise OSError('closed')
        seen['answers'] += 1
        if returned and is_asked:
            print('answered', flush=True)
            is_said, is_asked = True, False
    except OSError:
        connection = None
        seen['broken'] += 1
    time.sleep(pause)
`;

/** From a pod's `<namespace>/<name>` to a pod, or to the outside host `ext`, at its address or that of a service. */
export interface Stream {
  readonly from: string;
  readonly to: string;
  readonly address: string;
  /** Whether the address answers echoes; yes if left out. Those of services answer none. */
  readonly isPinged?: boolean;
  /** Of the address; that of the server if left out. */
  readonly port?: number;
  /** Whether new connections are opened all the time; no if left out. */
  readonly isRenewed?: boolean;
  /** Whether a byte follows an answer without pause, and an answer that takes 2 s ends the connection; no if left out. */
  readonly isUnpaused?: boolean;
}

export interface Streamed {
  /** Bytes that came back on connections. */
  readonly answers: number;
  /** Connections that ended, or gave no answer for 30 s (unpaused ones: for 2 s). */
  readonly broken: number;
  /** New connections with an answer, and those without. */
  readonly connections: number;
  readonly failedConnections: number;
  /** Datagrams that came back, and those that did not. */
  readonly datagrams: number;
  readonly lostDatagrams: number;
  readonly echoes: number;
  /** Echo requests without a reply since the first that had one, but for those that were under way at the end. */
  readonly lost: number;
  /** Echo requests that more than one replied to. */
  readonly twice: number;
}

/** What runs a program in a pod, `<namespace>/<name>`, or at the outside host. */
export const commandIn = (who: string): readonly string[] =>
  who === 'ext' ? ['ip', 'netns', 'exec', who] : ['pod', who];

/**
 * What became of a TCP connection, of datagrams, and of an echo every 20 ms on each way while `during` ran, which can wait until all connections are
 * answered: after a gap they send again when TCP thinks fit. `command` says what runs a program at one end of a way.
 */
export async function whileStreaming(
  lab: LabRecord,
  streams: readonly Stream[],
  during: (answered: () => Promise<void>) => Promise<void>,
  command: (who: string) => readonly string[] = commandIn,
): Promise<Streamed[]> {
  const id = randomUUID();
  const python = (who: string, program: string, ...args: readonly string[]): string[] => [
    ...command(who),
    'python3',
    '-c',
    program,
    ...args,
  ];
  const signal = (name: string, which: string): Promise<unknown> =>
    runInside(lab, ['pkill', `-${name}`, '--full', `^python3 .* ${which}-${id}$`]);
  const end = (which: string): Promise<unknown> => signal('TERM', which);
  const port = String(STREAM_PORT);
  const servers = [...new Set(streams.map(({ to }) => to))].map((to) =>
    runInside(lab, python(to, SERVER, port, `server-${id}`)),
  );
  const silent = new Set(streams);
  const unheard = new Set(streams.filter(({ isPinged }) => isPinged !== false));
  const clients = streams.map((stream) => {
    const to = [stream.address, String(stream.port ?? STREAM_PORT)];
    const kinds = ['kept'];
    if (stream.isRenewed === true) kinds.push('renewed');
    if (stream.isUnpaused === true) kinds.push('unpaused');
    return outputInside(lab, python(stream.from, CLIENT, ...to, kinds.join('+'), `client-${id}`), {
      onStdout: () => silent.delete(stream),
    });
  });
  const pings = streams.map(async (stream) =>
    unheard.has(stream)
      ? runInside(
          lab,
          [...command(stream.from), ...'ping -n -i 0.02 -w 300'.split(' '), stream.address],
          { onStdout: (text) => isReply(text) && unheard.delete(stream) },
        )
      : undefined,
  );
  const allAnswered = (): Promise<void> =>
    until('answers on every way', () => silent.size + unheard.size === 0, {
      limit: 60_000,
      pause: 100,
      output: () =>
        [...silent, ...unheard].map(({ from, address }) => `${from} to ${address}`).join('\n'),
    });
  try {
    await allAnswered();
    await during(async () => {
      for (const stream of streams) silent.add(stream);
      await signal('USR1', 'client');
      await allAnswered();
    });
  } finally {
    await runInside(lab, ['pkill', '-INT', '-x', 'ping']);
    await end('client');
    await Promise.allSettled([...clients, ...pings]);
    // Whoever comes next finds their port free.
    await end('server');
    await Promise.allSettled(servers);
  }
  const [answered, echoed] = [await Promise.all(clients), await Promise.all(pings)];
  return answered.map((text, n) => ({
    ...(JSON.parse(text.slice(text.indexOf('{'))) as Omit<Streamed, 'echoes' | 'lost' | 'twice'>),
    ...echoesOf(echoed[n]?.stdout ?? ''),
  }));
}

/** Echo requests of half a second: more are not under way at the end, however busy the machine is. */
const UNDER_WAY = 25;

const isReply = (text: string): boolean => text.includes('bytes from ');

/** From the first one on that was answered. */
function echoesOf(output: string): Pick<Streamed, 'echoes' | 'lost' | 'twice'> {
  const replied = new Set(
    [...output.matchAll(/bytes from [^\n]*icmp_seq=(\d+)/g)].map(([, seq]) => Number(seq)),
  );
  const sent = Number(/(\d+) packets transmitted/.exec(output)?.[1] ?? 0);
  const [first, last] = [Math.min(...replied), Math.max(...replied)];
  return {
    twice: [...output.matchAll(/\(DUP!\)/g)].length,
    echoes: replied.size,
    lost:
      replied.size === 0
        ? sent
        : last - first + 1 - replied.size + Math.max(0, sent - last - UNDER_WAY),
  };
}
