/** Datagrams and a TCP connection from each of some pods to the host outside, from one port as long as it lives, and with which sources they come there. */
import { randomUUID } from 'node:crypto';
import { outputInside, runInside } from '../../../src/lab/exec.ts';
import type { LabRecord } from '../../../src/lab/state-file.ts';
import { until } from '../run/until.ts';

/** That of the first pod; others have the next ones. */
const FIRST_PORT = 9200;

/**
 * One process for all: sockets stay in the network namespace that they were made in. Each pod sends a datagram and a byte every 20 ms; a connection that is
 * broken, or not answered for a second, is followed by a new one.
 */
const PROGRAM = `
import os, selectors, socket, sys, time
first, to, *spaces = int(sys.argv[1]), *sys.argv[2:-1]
events = selectors.DefaultSelector()
def within(space):
    handle = os.open('/run/netns/' + space, os.O_RDONLY)
    os.setns(handle, os.CLONE_NEWNET)
    os.close(handle)
def watch(one, work):
    one.setblocking(False)
    events.register(one, selectors.EVENT_READ, work)
def close(one):
    events.unregister(one)
    one.close()
def accept(listener):
    watch(listener.accept()[0], echo)
def echo(one):
    try:
        if data := one.recv(65536):
            one.sendall(data)
            return
    except OSError:
        pass  # its pod has another one
    close(one)
def echo_datagram(one):
    one.sendto(*one.recvfrom(64))
class Pod:
    def __init__(self, space, port):
        self.space, self.port, self.connection = space, port, None
        within(space)
        self.datagrams = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self.datagrams.connect((to, port))
        watch(self.datagrams, self.drain)
    def drain(self, one):
        try:
            one.recv(64)
        except OSError:
            pass  # an ICMP error
    def read(self, one):
        try:
            if one.recv(65536):
                self.answered = time.monotonic()
                return
        except OSError:
            pass  # it is broken
        self.drop()
    def drop(self):
        close(self.connection)
        self.connection = None
    def send(self):
        try:
            self.datagrams.send(b'.')
        except OSError:
            pass  # no room, or an ICMP error
        if self.connection is not None and self.answered < time.monotonic() - 1:
            self.drop()
        if self.connection is None:
            within(self.space)
            self.connection, self.answered = socket.socket(socket.AF_INET, socket.SOCK_STREAM), time.monotonic()
            watch(self.connection, self.read)
            self.connection.connect_ex((to, self.port))
            return
        try:
            self.connection.send(b'.')
        except OSError:
            pass  # not connected yet, or broken, which is read
within('ext')
for port in range(first, first + len(spaces)):
    watch(socket.create_server(('0.0.0.0', port), backlog=16), accept)
    datagrams = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    datagrams.bind(('0.0.0.0', port))
    watch(datagrams, echo_datagram)
pods = [Pod(space, first + index) for index, space in enumerate(spaces)]
again = time.monotonic()
while True:
    for key, _ in events.select(max(0, again - time.monotonic())):
        if events.get_map().get(key.fd) is key:
            key.data(key.fileobj)
    if time.monotonic() >= again:
        again = time.monotonic() + 0.02
        for pod in pods:
            pod.send()
`;

/** So many datagrams of each pod are waited for at a look: of half a second. */
const LOOK = 25;

export class KeptStreams implements AsyncDisposable {
  readonly #lab: LabRecord;
  readonly #id = randomUUID();
  readonly #pods: readonly string[];
  readonly #ended: Promise<unknown>;

  /** `pods`: their network namespaces. */
  private constructor(lab: LabRecord, pods: readonly string[], to: string) {
    this.#lab = lab;
    this.#pods = pods;
    const words = ['python3', '-c', PROGRAM, String(FIRST_PORT), to, ...pods, this.#id];
    this.#ended = runInside(lab, words);
  }

  /** Does not look at resets: the node itself answers so what still comes for a connection that is forgotten. */
  static async start(lab: LabRecord, pods: readonly string[], to: string): Promise<KeptStreams> {
    const streams = new KeptStreams(lab, pods, to);
    await streams.#nft(`
      table inet kept {
        set sources { type inet_proto . inet_service . ipv4_addr; flags dynamic; counter; }
        chain input {
          type filter hook input priority 0;
          tcp flags rst accept
          meta l4proto { tcp, udp } th dport ${FIRST_PORT}-${FIRST_PORT + pods.length - 1} update @sources { meta l4proto . th dport . ip saddr }
        }
      }`);
    return streams;
  }

  #nft(input: string): Promise<string> {
    const words = ['ip', 'netns', 'exec', 'ext', 'nft', '-f', '-'];
    return outputInside(this.#lab, words, { input });
  }

  async #counted(): Promise<readonly (readonly [string, number])[]> {
    const text = await this.#nft('list set inet kept sources');
    const found = text.matchAll(/(tcp|udp) \. (\d+) \. ([\d.]+) counter packets (\d+)/g);
    return [...found].map(([, protocol, port, source, packets]) => [
      `${Number(port) - FIRST_PORT} ${protocol} ${source}`,
      Number(packets),
    ]);
  }

  /** `<number of the pod> <tcp or udp> <source>` of all that comes from now on until each pod has sent some datagrams. */
  async sources(): Promise<readonly string[]> {
    await this.#nft('flush set inet kept sources');
    let counted: readonly (readonly [string, number])[] = [];
    await until(
      'datagrams of every pod',
      async () => {
        counted = await this.#counted();
        return this.#pods.every((_pod, index) => {
          const own = counted.filter(([key]) => key.startsWith(`${index} udp`));
          return own.reduce((sum, [, packets]) => sum + packets, 0) >= LOOK;
        });
      },
      { limit: 60_000, pause: 100, output: () => JSON.stringify(counted) },
    );
    return counted.map(([key]) => key).toSorted();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await runInside(this.#lab, ['pkill', '-TERM', '--full', `^python3 .* ${this.#id}$`]);
    await this.#ended;
    await this.#nft('delete table inet kept');
  }
}
