/** Datagrams from pods to the host outside and back, in quick succession, while something moves: how many were lost, and as whom the pods were seen. */
import { randomUUID } from 'node:crypto';
import { outputInside } from '../../../src/lab/exec.ts';
import type { LabRecord } from '../../../src/lab/state-file.ts';

const PORT = 9100;

/** Sends back what it gets, and tells in the end by whom it was sent: an address, and a port for each name. */
const ECHO = `
import collections, json, os, socket, sys
SO_RCVBUFFORCE = 33
end, port = sys.argv[1], int(sys.argv[2])
one = socket.socket(socket.AF_INET6, socket.SOCK_DGRAM)
one.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 0)
one.setsockopt(socket.SOL_SOCKET, SO_RCVBUFFORCE, 8 << 20)
one.bind(('::', port))
one.settimeout(0.2)
seen = collections.Counter()
while not os.path.exists(end):
    try:
        data, peer = one.recvfrom(64)
    except TimeoutError:
        continue
    seen[peer[0].removeprefix('::ffff:')] += 1
    try:
        one.sendto(data, peer)
    except OSError:
        pass  # nobody is reached there: by whom it was sent is told all the same
print(json.dumps(seen))
`;

/**
 * From one port, one every so many seconds, from the first answer on; while so many are without an answer it waits, for a machine that is busy must not
 * lose any. What has no answer after 2 s is lost.
 */
const SENDER = `
import json, os, select, socket, sys, time
SO_RCVBUFFORCE = 33
end, ready, to, port, pause, most = *sys.argv[1:4], int(sys.argv[4]), float(sys.argv[5]), int(sys.argv[6])
one = socket.socket(socket.AF_INET6 if ':' in to else socket.AF_INET, socket.SOCK_DGRAM)
one.setsockopt(socket.SOL_SOCKET, SO_RCVBUFFORCE, 8 << 20)
one.connect((to, port))
first = next_at = time.monotonic()
number, open_ones, lost, counted, is_over = 0, {}, [], None, False
while not is_over or open_ones:
    now = time.monotonic()
    while open_ones and (oldest := next(iter(open_ones.items())))[1] < now - 2:
        del open_ones[oldest[0]]
        if counted is not None:
            lost.append(round((oldest[1] - first) * 1000))
    if not is_over and now >= next_at and len(open_ones) < most:
        next_at = now + pause
        try:
            one.send(str(number).encode())
            open_ones[number] = now
            number += 1
        except OSError:
            pass
        is_over = number % 50 == 0 and os.path.exists(end)
    if select.select([one], [], [], max(0, next_at - time.monotonic()) if len(open_ones) < most else 0.05)[0]:
        try:
            open_ones.pop(int(one.recv(64)), None)
        except OSError:
            continue
        if counted is None:
            counted = number
            open_ones.clear()
            open(ready, 'w').close()
print(json.dumps({'sent': number - (counted or 0), 'lost': lost}))
`;

export interface DatagramStream {
  /** Network namespace in the lab. */
  readonly from: string;
  readonly to: string;
}

export interface StreamedDatagrams {
  readonly sent: number;
  /** Of each that was lost: milliseconds since the first one. */
  readonly lost: readonly number[];
}

/** So many of a stream may be without an answer. */
const MOST_OPEN = 8;

/** `pause` in milliseconds. Gives what became of each stream, and how many the host outside had from each address. */
export async function whileSendingDatagrams(
  lab: LabRecord,
  streams: readonly DatagramStream[],
  pause: number,
  during: () => Promise<void>,
): Promise<{
  readonly streams: readonly StreamedDatagrams[];
  readonly sources: Readonly<Record<string, number>>;
}> {
  const name = `/tmp/datagrams-${randomUUID()}`;
  const python = (namespace: string, ...words: readonly string[]): Promise<string> =>
    outputInside(lab, ['ip', 'netns', 'exec', namespace, 'python3', '-c', ...words]);
  const echo = python('ext', ECHO, `${name}-over`, String(PORT));
  const senders = streams.map(({ from, to }, index) =>
    python(
      from,
      SENDER,
      `${name}-end`,
      `${name}-${index}`,
      to,
      String(PORT),
      String(pause / 1000),
      String(MOST_OPEN),
    ),
  );
  const ended = Promise.all([echo, ...senders]).then((said) =>
    Promise.reject(new Error(`the streams ended: ${said.join()}`)),
  );
  ended.catch(() => undefined);
  const ready = streams.map((_, index) => `${name}-${index}`);
  try {
    const wait = `for one in "$@"; do until [ -e $one ]; do sleep 0.05; done; done`;
    await Promise.race([
      outputInside(lab, ['timeout', '60', 'bash', '-c', wait, 'bash', ...ready]).then(during),
      ended,
    ]);
  } finally {
    await outputInside(lab, ['touch', `${name}-end`]);
  }
  const results = (await Promise.all(senders)).map((text) => JSON.parse(text) as StreamedDatagrams);
  await outputInside(lab, ['touch', `${name}-over`]);
  return { streams: results, sources: JSON.parse(await echo) as Record<string, number> };
}
