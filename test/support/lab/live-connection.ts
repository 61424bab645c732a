/** A TCP connection between two pods on which bytes go both ways all the time, until it is asked how it fared. */
import { outputInside, runInside } from '../../../src/lab/exec.ts';
import type { LabRecord } from '../../../src/lab/state-file.ts';
import { until } from '../run/until.ts';

/** Ends, and prints how often a byte came back, when its file is gone; fails when one does not come back within five seconds. */
const PROGRAM = `
import os, socket, sys, time
file, client, server, address = sys.argv[1:]
def within(space):
    os.setns(os.open('/run/netns/' + space, os.O_RDONLY), os.CLONE_NEWNET)
within(server)
ear = socket.create_server((address, 9300))
within(client)
one = socket.create_connection((address, 9300), 10)
other, _ = ear.accept()
one.settimeout(5)
other.settimeout(5)
open(file, 'w').close()
count = 0
while os.path.exists(file):
    one.sendall(b'a')
    other.sendall(other.recv(1))
    assert one.recv(1) == b'a'
    count += 1
    time.sleep(0.01)
print(count)
`;

export class LiveConnection {
  readonly #lab: LabRecord;
  readonly #file: string;
  readonly #ended: Promise<string>;

  private constructor(lab: LabRecord, file: string, ended: Promise<string>) {
    this.#lab = lab;
    this.#file = file;
    this.#ended = ended;
  }

  /** Between pods by their network namespaces, to an address of the second. */
  static async open(
    lab: LabRecord,
    client: string,
    server: string,
    address: string,
  ): Promise<LiveConnection> {
    const file = `/tmp/live-${client}-${server}`;
    await outputInside(lab, ['rm', '-f', file]);
    const argv = ['python3', '-c', PROGRAM, file, client, server, address];
    const connection = new LiveConnection(lab, file, outputInside(lab, argv));
    // What it fails with is told by whoever asks for its end.
    connection.#ended.catch(() => undefined);
    await until(
      `a connection of ${client} with ${server}`,
      async () => (await runInside(lab, ['test', '-e', file])).code === 0,
    );
    return connection;
  }

  /** How often a byte went there and back. Rejects when the connection broke. */
  async end(): Promise<number> {
    await outputInside(this.#lab, ['rm', '-f', this.#file]);
    return Number(await this.#ended);
  }
}
