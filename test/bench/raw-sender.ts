import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import {
  stringify,
  ZERO_UUID,
  type JsonValue,
  type Operation,
  type Replica,
} from 'ovsdb-client-ts';

/**
 * The floor of a commit: sends transactions as they are over a socket and counts the replies. No replica, no monitor,
 * no plan.
 */
export class RawSender implements AsyncDisposable {
  readonly #socket: Socket;
  #depth = 0;
  #isText = false;
  #isEscaped = false;
  #message: string[] = [];
  #waiting: ((reply: string) => void)[] = [];
  #nextId = 0;

  private constructor(socket: Socket) {
    this.#socket = socket;
    socket.setEncoding('latin1');
    socket.on('data', (chunk: string) => {
      this.#read(chunk);
    });
  }

  static async connect(path: string): Promise<RawSender> {
    const socket = connect(path);
    await once(socket, 'connect');
    return new RawSender(socket);
  }

  /** A message ends with the brace that closes its first one. */
  #read(chunk: string): void {
    let start = 0;
    for (let i = 0; i < chunk.length; i++) {
      const c = chunk.charCodeAt(i);
      if (this.#isText) {
        if (this.#isEscaped) this.#isEscaped = false;
        else if (c === 0x5c) this.#isEscaped = true;
        else if (c === 0x22) this.#isText = false;
      } else if (c === 0x22) this.#isText = true;
      else if (c === 0x7b) this.#depth++;
      else if (c === 0x7d && --this.#depth === 0) {
        this.#message.push(chunk.slice(start, i + 1));
        start = i + 1;
        const reply = this.#message.join('');
        this.#message = [];
        if (!isNotification(reply)) this.#waiting.shift()?.(reply);
      }
    }
    if (start < chunk.length) this.#message.push(chunk.slice(start));
  }

  /** Has the server send what changes in all that this replica follows, and nothing else. It is not read. */
  async monitor(database: string, replica: Replica): Promise<void> {
    const { tables } = replica.schema;
    const requests = [...tables.values()].map(({ name, columns }) => [
      name,
      [{ columns: [...columns.keys()].filter((column) => replica.hasColumn(name, column)) }],
    ]);
    const answer = await this.#request('monitor_cond_since', [
      database,
      'monitor',
      Object.fromEntries(requests) as JsonValue,
      ZERO_UUID,
    ]);
    if (answer.includes('"details"')) throw new Error(answer.slice(0, 500));
  }

  #request(method: string, params: readonly JsonValue[]): Promise<string> {
    const text = stringify({ id: this.#nextId++, method, params });
    const reply = new Promise<string>((resolve) => this.#waiting.push(resolve));
    this.#socket.write(text);
    return reply;
  }

  /** One transaction; throws when the server refuses it. */
  async transact(database: string, operations: readonly Operation[]): Promise<void> {
    const answer = await this.#request('transact', [
      database,
      ...(operations as unknown as readonly JsonValue[]),
    ]);
    // Only an error is long to tell from a result: results hold "error" as null at the top level alone.
    if (answer.includes('"details"')) throw new Error(answer.slice(0, 500));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const closed = once(this.#socket, 'close');
    this.#socket.destroy();
    await closed;
  }
}

/** What frames a message stands at its start or at its end. */
const isNotification = (message: string): boolean =>
  message.slice(0, 40).includes('"method":') || message.slice(-40).includes('"method":');
