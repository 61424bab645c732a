/** Connections and echoes that go on while something breaks. */
import { randomUUID } from 'node:crypto';
import { outputInside, runInside } from '../../src/lab/exec.ts';
import type { LabRecord } from '../../src/lab/state-file.ts';

const PORT = 9000;

/** Sends back what it gets, until the file `end` is there. */
const SERVER = `
import os, socket, sys, threading, time
listener = socket.create_server(('0.0.0.0', int(sys.argv[1])))
def answer(connection):
    with connection:
        while data := connection.recv(64):
            connection.sendall(data)
def listen():
    while True:
        threading.Thread(target=answer, args=(listener.accept()[0],), daemon=True).start()
threading.Thread(target=listen, daemon=True).start()
while not os.path.exists(sys.argv[2]):
    time.sleep(0.1)
time.sleep(2)  # clients end first
`;

/** One connection on which a byte goes there and back every 50 ms; another one only after it broke. */
const CLIENT = `
import json, os, socket, sys, time
to, port, end = sys.argv[1], int(sys.argv[2]), sys.argv[3]
seen, connection = {'answers': 0, 'broken': 0}, None
while connection is None and not os.path.exists(end):
    try:
        connection = socket.create_connection((to, port), 30)
    except OSError:
        time.sleep(0.1)  # the server is starting
while not os.path.exists(end):
    try:
        if connection is None:
            connection = socket.create_connection((to, port), 30)
        connection.sendall(b'x')
        if connection.recv(1) != b'x':
            raise OSError('closed')
        seen['answers'] += 1
    except OSError:
        connection = None
        seen['broken'] += 1
    time.sleep(0.05)
print(json.dumps(seen))
`;

/** From a pod's `<namespace>/<name>` to a pod, or to the outside host `ext`, at its address. */
export interface Stream {
  readonly from: string;
  readonly to: string;
  readonly address: string;
}

export interface Streamed {
  /** Bytes that came back on connections. */
  readonly answers: number;
  /** Connections that ended, or gave no answer for 30 s. */
  readonly broken: number;
  readonly echoes: number;
  /** Echo requests without a reply; one may be under way at the end. */
  readonly lost: number;
}

const inside = (who: string): readonly string[] =>
  who === 'ext' ? ['ip', 'netns', 'exec', who] : ['pod', who];

/** What became of a TCP connection and of an echo every 20 ms on each way while `during` ran. */
export async function whileStreaming(
  lab: LabRecord,
  streams: readonly Stream[],
  during: () => Promise<void>,
): Promise<Streamed[]> {
  const end = `/tmp/heddle-streams-${randomUUID()}`;
  const servers = [...new Set(streams.map(({ to }) => to))].map((to) =>
    outputInside(lab, [...inside(to), 'python3', '-c', SERVER, String(PORT), end]),
  );
  const clients = streams.map(({ from, address }) =>
    outputInside(lab, [...inside(from), 'python3', '-c', CLIENT, address, String(PORT), end]),
  );
  const pings = streams.map(({ from, address }) =>
    runInside(lab, [...inside(from), ...'ping -n -q -i 0.02 -w 300'.split(' '), address]),
  );
  try {
    await during();
  } finally {
    await runInside(lab, ['pkill', '-INT', '-x', 'ping']);
    await outputInside(lab, ['touch', end]);
  }
  const [answered, echoed] = [await Promise.all(clients), await Promise.all(pings)];
  await Promise.all(servers);
  return answered.map((text, n) => {
    const counts = /(\d+) packets transmitted, (\d+) received/.exec(echoed[n]?.stdout ?? '');
    const [, sent = '0', received = '0'] = counts ?? [];
    return {
      ...(JSON.parse(text) as Pick<Streamed, 'answers' | 'broken'>),
      echoes: Number(received),
      lost: Number(sent) - Number(received),
    };
  });
}
