/** A client that sends datagrams from one port without a pause, whatever it hears. */
import { randomUUID } from 'node:crypto';
import { runInside } from '../../../src/lab/exec.ts';
import type { LabRecord } from '../../../src/lab/state-file.ts';
import { commandIn } from './streams.ts';

/** So many that whoever tracks connections has this one. */
const MANY = 100;
const SENDING = '(sending)';
const SILENT = '(silent)';
/** Seconds without an answer. */
const SILENCE = 2;

/** One datagram every 10 ms; prints once that many went, who answers whenever it is another one, and that nobody does any more. */
const PROGRAM = `
import socket, sys, threading, time
to, port, source = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
is_v6 = ':' in to
client = socket.socket(socket.AF_INET6 if is_v6 else socket.AF_INET, socket.SOCK_DGRAM)
client.bind(('::' if is_v6 else '0.0.0.0', source))
client.connect((to, port))
heard = time.monotonic()
last = None
def receive():
    global last, heard
    while True:
        try:
            server = client.recv(4096).decode().split()[0]
        except OSError:
            continue  # nobody is there
        heard = time.monotonic()
        if server != last:
            print(server, flush=True)
        last = server
threading.Thread(target=receive, daemon=True).start()
sent = 0
while True:
    try:
        client.send(b'?')
        sent += 1
        if sent == ${MANY}:
            print('${SENDING}', flush=True)
    except OSError:
        pass  # what an earlier one was told
    if last is not None and time.monotonic() - heard > ${SILENCE}:
        last = None
        print('${SILENT}', flush=True)
    time.sleep(0.01)
`;

export interface Datagrams {
  /** A pod as `<namespace>/<name>`, or `ext`. */
  readonly from: string;
  readonly address: string;
  readonly port: number;
  readonly source: number;
}

export class DatagramSender implements AsyncDisposable {
  readonly #lab: LabRecord;
  readonly #id = randomUUID();
  readonly #ended: Promise<unknown>;
  #heard = '';

  constructor(lab: LabRecord, { from, address, port, source }: Datagrams) {
    this.#lab = lab;
    const args = [PROGRAM, address, String(port), String(source), this.#id];
    this.#ended = runInside(lab, [...commandIn(from), 'python3', '-c', ...args], {
      onStdout: (text) => {
        this.#heard += text;
      },
    });
  }

  /** Whether it has sent for a while. */
  get isSending(): boolean {
    return this.#lines.includes(SENDING);
  }

  /** Who answered last; undefined before anybody did. */
  get answeredBy(): string | undefined {
    return this.#lines.findLast((line) => ![SENDING, SILENT, ''].includes(line));
  }

  /** Whether nobody has answered for a while, of those who did. */
  get isSilent(): boolean {
    return this.#lines.findLast((line) => line !== SENDING && line !== '') === SILENT;
  }

  get #lines(): readonly string[] {
    return this.#heard.split('\n');
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await runInside(this.#lab, ['pkill', '-TERM', '--full', `^python3 .* ${this.#id}$`]);
    await this.#ended;
  }
}
