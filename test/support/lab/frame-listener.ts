/** Whoever gets frames with a mark (`markOf`), and from which address: listens on all devices of a pod, or of the host outside. */
import { randomUUID } from 'node:crypto';
import { runInside } from '../../../src/lab/exec.ts';
import type { LabRecord } from '../../../src/lab/state-file.ts';
import { commandIn } from '../host/streams.ts';

const READY = '(listening)';

/** Prints number and source of each mark that comes in; the source of what is not IP is its ethertype. */
const PROGRAM = `
import re, socket, sys
raw = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.ntohs(3))
raw.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1 << 24)
print('${READY}', flush=True)
seen = set()
while True:
    frame, address = raw.recvfrom(65535)
    if address[2] == socket.PACKET_OUTGOING:
        continue
    kind = frame[12:14]
    if kind == b'\\x08\\x00':
        source = socket.inet_ntop(socket.AF_INET, frame[26:30])
    elif kind == b'\\x86\\xdd':
        source = socket.inet_ntop(socket.AF_INET6, frame[22:38])
    else:
        source = 'ethertype ' + kind.hex()
    for number in re.findall(rb'<heddle-frame-(\\d+)>', frame):
        if (number, source) not in seen:
            seen.add((number, source))
            print(int(number), source, flush=True)
`;

export class FrameListener implements AsyncDisposable {
  /** A pod as '<namespace>/<name>', or 'ext'. */
  readonly place: string;
  /** Sources by number of the mark. */
  readonly heard = new Map<number, Set<string>>();
  readonly #lab: LabRecord;
  readonly #id = randomUUID();
  readonly #ended: Promise<unknown>;
  #rest = '';
  #isListening = false;

  constructor(lab: LabRecord, place: string) {
    this.#lab = lab;
    this.place = place;
    this.#ended = runInside(lab, [...commandIn(place), 'python3', '-c', PROGRAM, this.#id], {
      onStdout: (text) => {
        this.#read(text);
      },
    });
  }

  get isListening(): boolean {
    return this.#isListening;
  }

  #read(text: string): void {
    const lines = (this.#rest + text).split('\n');
    this.#rest = lines.pop() ?? '';
    for (const line of lines)
      if (line === READY) this.#isListening = true;
      else {
        const at = line.indexOf(' ');
        const mark = Number(line.slice(0, at));
        this.heard.set(mark, (this.heard.get(mark) ?? new Set()).add(line.slice(at + 1)));
      }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await runInside(this.#lab, ['pkill', '-TERM', '--full', `^python3 .* ${this.#id}$`]);
    await this.#ended;
  }
}
