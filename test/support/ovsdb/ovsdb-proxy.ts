import { once } from 'node:events';
import { connect, createServer, type Server, type Socket } from 'node:net';

/** How bytes of the server are passed on. */
export type Passing =
  | 'whole'
  /** In pieces of any size, some of them late. */
  | 'pieces'
  /** Not at all: the connection is half open. */
  | 'none';

/** A TCP port that leads to a server's unix socket, and treats what passes through badly. */
export class OvsdbProxy implements AsyncDisposable {
  passing: Passing = 'whole';
  /** Bytes of the server after which one that is in no UTF-8 is put in; undefined: never. */
  garbageAfter: number | undefined;
  /** Bytes of the server after which the connection ends. */
  cutAfter: number | undefined;
  readonly #server: Server;
  readonly #path: string;
  readonly #random: () => number;
  readonly #sockets = new Set<Socket>();

  private constructor(path: string, random: () => number) {
    this.#path = path;
    this.#random = random;
    this.#server = createServer((client) => {
      this.#join(client, connect({ path: this.#path }));
    });
  }

  /** `random`: 0 ≤ x < 1. */
  static async start(path: string, random: () => number = Math.random): Promise<OvsdbProxy> {
    const proxy = new OvsdbProxy(path, random);
    proxy.#server.listen(0, '127.0.0.1');
    await once(proxy.#server, 'listening');
    return proxy;
  }

  /** For a client. */
  get remote(): string {
    const address = this.#server.address();
    return `tcp:127.0.0.1:${typeof address === 'object' && address !== null ? address.port : 0}`;
  }

  #join(client: Socket, server: Socket): void {
    let hasLost = false;
    let passed = Promise.resolve();
    for (const socket of [client, server]) {
      this.#sockets.add(socket);
      socket.on('error', () => undefined);
      socket.once('close', () => {
        this.#sockets.delete(socket);
        client.destroy();
        server.destroy();
      });
    }
    client.on('data', (bytes) => server.write(bytes));
    server.on('data', (bytes) => {
      // A stream with a hole in it must not go on.
      if (this.passing === 'none') hasLost = true;
      else if (hasLost) client.destroy();
      else {
        const given = this.#withGarbage(bytes);
        const isPieces = this.passing === 'pieces';
        const end = this.#cut(given.length);
        const kept = end === undefined ? given : given.subarray(0, end);
        const before = passed;
        passed = (async () => {
          await before;
          if (isPieces) await this.#pieces(kept, client);
          else client.write(kept);
          if (end !== undefined) client.end();
        })();
      }
    });
  }

  #withGarbage(bytes: Buffer): Buffer {
    if (this.garbageAfter === undefined) return bytes;
    this.garbageAfter -= bytes.length;
    if (this.garbageAfter >= 0) return bytes;
    this.garbageAfter = undefined;
    const at = Math.floor(this.#random() * bytes.length);
    return Buffer.concat([bytes.subarray(0, at), Buffer.of(0xff), bytes.subarray(at)]);
  }

  #cut(length: number): number | undefined {
    if (this.cutAfter === undefined) return undefined;
    this.cutAfter -= length;
    if (this.cutAfter >= 0) return undefined;
    this.cutAfter = undefined;
    return Math.floor(this.#random() * length);
  }

  async #pieces(bytes: Buffer, client: Socket): Promise<void> {
    const longest = bytes.length > 20_000 ? 8000 : 300;
    for (let at = 0; at < bytes.length;) {
      const length = this.#random() < 0.1 ? 1 : 1 + Math.floor(this.#random() * longest);
      client.write(bytes.subarray(at, at + length));
      at += length;
      await new Promise<void>((resolve) => {
        if (this.#random() < 0.05) setTimeout(resolve, this.#random() * 5);
        else setImmediate(resolve);
      });
    }
  }

  /** Ends every connection. */
  cut(): void {
    for (const socket of this.#sockets) socket.destroy();
  }

  /** Passes everything on from now on; connections that have lost something end. */
  heal(): void {
    if (this.passing === 'none') this.cut();
    this.passing = 'whole';
    this.garbageAfter = undefined;
    this.cutAfter = undefined;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#server.close();
    this.cut();
    if (this.#server.listening) await once(this.#server, 'close');
  }
}
