/** Requests that go on while something is changed. */
import { randomUUID } from 'node:crypto';
import { outputInside } from '../../../src/lab/exec.ts';
import type { LabRecord } from '../../../src/lab/state-file.ts';

/**
 * A new TCP connection every 50 ms. The kernel sends a lost SYN again after a second: an answer that takes that long is `late`, one
 * that takes three is none.
 */
const PROGRAM = `
import json, os, socket, sys, time
to, port, end = sys.argv[1], int(sys.argv[2]), sys.argv[3]
seen = {}
while not os.path.exists(end):
    begun = time.monotonic()
    try:
        with socket.create_connection((to, port), 3) as connection:
            words = connection.makefile().readline().split()
            answer = words[0] if words else 'nothing'
    except OSError as why:
        answer = 'nobody: %s' % why
    seen[answer] = seen.get(answer, 0) + 1
    if not answer.startswith('nobody') and time.monotonic() - begun > 0.9:
        seen['late'] = seen.get('late', 0) + 1
    time.sleep(0.05)
print(json.dumps(seen))
`;

/** From where to where: a pod's `<namespace>/<name>`, an address and a port. */
export type Way = readonly [from: string, to: string, port: number];

/** What answered while `during` ran, and how often, by way: the name of a server, or `nobody: <why>`; `late` counts answers a second time. */
export async function whileAsking(
  lab: LabRecord,
  ways: readonly Way[],
  during: () => Promise<void>,
): Promise<Record<string, Record<string, number>>> {
  const end = `/tmp/heddle-asked-${randomUUID()}`;
  const asked = ways.map(async ([from, to, port]) => {
    const args = ['pod', from, 'python3', '-c', PROGRAM, to, String(port), end];
    const answers = JSON.parse(await outputInside(lab, args)) as Record<string, number>;
    return [`${from} ${to}:${port}`, answers] as const;
  });
  try {
    await during();
  } finally {
    await outputInside(lab, ['touch', end]);
  }
  return Object.fromEntries(await Promise.all(asked));
}
