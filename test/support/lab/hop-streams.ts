/** Datagrams between pods and a client behind each of two next hops: who asks once is answered from then on, without asking again. */
import { randomUUID } from 'node:crypto';
import { outputInside, runInside } from '../../../src/lab/exec.ts';
import type { LabRecord } from '../../../src/lab/state-file.ts';
import { CLIENT, HOPS, type Hop } from './next-hops.ts';

/** Where pods are asked. */
export const STREAM_PORT = 9100;

/** Answers all who ever asked, every 20 ms. */
const STREAMER = `
import select, socket, sys
ear = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
ear.bind(('0.0.0.0', ${STREAM_PORT}))
clients = set()
while True:
    ready, _, _ = select.select([ear], [], [], 0.02)
    if ready: clients.add(ear.recvfrom(64)[1])
    for client in clients: ear.sendto(b'more', client)
`;
const ASKER = `
import socket, sys
mouth = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
mouth.bind(('${CLIENT}', int(sys.argv[1])))
mouth.sendto(b'ask', (sys.argv[2], int(sys.argv[3])))
`;

/** As long as it is there the pods of these network namespaces answer. */
export class Streams implements AsyncDisposable {
  readonly #lab: LabRecord;
  readonly #id = randomUUID();
  readonly #ended: readonly Promise<unknown>[];

  constructor(lab: LabRecord, namespaces: readonly string[]) {
    this.#lab = lab;
    this.#ended = namespaces.map((namespace) =>
      runInside(lab, ['ip', 'netns', 'exec', namespace, 'python3', '-c', STREAMER, this.#id]),
    );
  }

  /** From behind a hop, from a port of the client. */
  async ask(hop: Hop, from: number, node: string, nodePort: number): Promise<void> {
    const words = ['python3', '-c', ASKER, String(from), node, String(nodePort)];
    await outputInside(this.#lab, ['ip', 'netns', 'exec', hop, ...words]);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await runInside(this.#lab, ['pkill', '-TERM', '--full', `^python3 .* ${this.#id}$`]);
    await Promise.all(this.#ended);
  }
}

/** Has the hops count what comes for ports of the client: for each pair of a port there and the node port that answers it, and for others that answer. */
export async function countAnswers(
  lab: LabRecord,
  pairs: readonly { readonly from: number; readonly nodePort: number }[],
): Promise<void> {
  const counted = pairs.flatMap(({ from, nodePort }) => [
    { name: `same${from}`, match: `udp dport ${from} udp sport ${nodePort}` },
    { name: `other${from}`, match: `udp dport ${from} udp sport != ${nodePort}` },
  ]);
  const rules = [
    'table inet seen {',
    ...counted.map(({ name }) => `counter ${name} {}`),
    'chain input { type filter hook input priority 0;',
    ...counted.map(({ name, match }) => `${match} counter name ${name}`),
    '}',
    '}',
  ].join('\n');
  for (const hop of Object.keys(HOPS))
    await outputInside(lab, ['ip', 'netns', 'exec', hop, 'nft', '-f', '-'], { input: rules });
}

/** Counters of a hop that counted something since they were read last. */
export async function answersAt(lab: LabRecord, hop: Hop): Promise<readonly string[]> {
  const words = ['nft', '--json', 'reset', 'counters', 'table', 'inet', 'seen'];
  const text = await outputInside(lab, ['ip', 'netns', 'exec', hop, ...words]);
  const { nftables } = JSON.parse(text) as {
    readonly nftables: readonly { readonly counter?: { name: string; packets: number } }[];
  };
  return nftables
    .flatMap(({ counter }) => (counter !== undefined && counter.packets > 0 ? [counter.name] : []))
    .toSorted();
}
