/** A unix socket that leads to an OVSDB server and lets so many transactions through, and nothing after them. */
import { once } from 'node:events';
import { connect, createServer, type Server, type Socket } from 'node:net';
import { Framer } from '../../../src/ovsdb/wire/framer.ts';

export class TransactionGate implements AsyncDisposable {
  readonly #server: Server;
  readonly #sockets = new Set<Socket>();
  #open: number;
  /** Resolves when a transaction was held back. */
  readonly closed: Promise<void>;

  private constructor(path: string, transactions: number) {
    this.#open = transactions;
    const { promise, resolve } = Promise.withResolvers<void>();
    this.closed = promise;
    this.#server = createServer((client) => {
      const server = connect({ path });
      const framer = new Framer();
      for (const socket of [client, server]) {
        this.#sockets.add(socket);
        socket.on('error', () => undefined);
        socket.once('close', () => {
          client.destroy();
          server.destroy();
        });
      }
      server.pipe(client);
      client.on('data', (bytes) => {
        for (const message of framer.push(bytes)) {
          const { method } = JSON.parse(message.toString()) as { method?: string };
          if (method === 'transact') this.#open -= 1;
          if (this.#open >= 0) server.write(message);
          else resolve();
        }
      });
    });
  }

  static async listen(
    path: string,
    server: string,
    transactions: number,
  ): Promise<TransactionGate> {
    const gate = new TransactionGate(server, transactions);
    gate.#server.listen(path);
    await once(gate.#server, 'listening');
    return gate;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const socket of this.#sockets) socket.destroy();
    this.#server.close();
    await once(this.#server, 'close');
  }
}
