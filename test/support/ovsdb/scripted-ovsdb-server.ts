import { once } from 'node:events';
import { createServer, type Server, type Socket } from 'node:net';
import { join } from 'node:path';
import { Framer, parseJson } from 'ovsdb-client-ts/values';
import { stringify, type JsonValue } from 'ovsdb-client-ts';
import { temporaryFolder } from './ovsdb-server.ts';

export interface HeardMessage {
  readonly id: JsonValue;
  readonly method: string | undefined;
  readonly params: readonly JsonValue[];
  readonly result: JsonValue | undefined;
}

/** One client's connection to the double. */
export class ScriptedPeer {
  readonly #socket: Socket;

  constructor(socket: Socket) {
    this.#socket = socket;
  }

  /** Sends anything, in one piece. */
  send(...messages: readonly JsonValue[]): void {
    this.#socket.write(messages.map(stringify).join(''));
  }

  /** Sends a piece of a message. */
  sendText(text: string): void {
    this.#socket.write(text);
  }

  notify(method: string, ...params: readonly JsonValue[]): void {
    this.send({ id: null, method, params });
  }

  reply(id: JsonValue, result: JsonValue, error: JsonValue = null): void {
    this.send({ id, result, error });
  }

  hangUp(): void {
    this.#socket.destroy();
  }
}

/** Answers one request: a result, an error in `refuse`, or undefined when it answers by itself or not at all. */
export type Answer = (
  message: HeardMessage,
  peer: ScriptedPeer,
) => JsonValue | { readonly refuse: JsonValue } | undefined;

const isRefusal = (answer: unknown): answer is { readonly refuse: JsonValue } =>
  typeof answer === 'object' && answer !== null && 'refuse' in answer;

/** A test double of ovsdb-server: answers each method as its script says, and remembers what it heard. */
export class ScriptedOvsdbServer implements AsyncDisposable {
  readonly #folder = temporaryFolder();
  readonly #server: Server;
  readonly #sockets = new Set<Socket>();
  readonly answers: { [method: string]: Answer };
  readonly heard: HeardMessage[] = [];
  connections = 0;
  peer: ScriptedPeer | undefined;

  private constructor(answers: { readonly [method: string]: Answer }) {
    this.answers = { ...answers };
    this.#server = createServer((socket) => {
      this.#accept(socket);
    });
  }

  static async start(answers: { readonly [method: string]: Answer }): Promise<ScriptedOvsdbServer> {
    const server = new ScriptedOvsdbServer(answers);
    server.#server.listen(server.#path);
    await once(server.#server, 'listening');
    return server;
  }

  get #path(): string {
    return join(this.#folder.path, 'double.sock');
  }

  get remote(): string {
    return `unix:${this.#path}`;
  }

  /** Parameters of each request of this method, in order. */
  asked(method: string): readonly (readonly JsonValue[])[] {
    return this.heard.filter((message) => message.method === method).map(({ params }) => params);
  }

  #accept(socket: Socket): void {
    const peer = new ScriptedPeer(socket);
    const framer = new Framer();
    this.peer = peer;
    this.connections++;
    this.#sockets.add(socket);
    socket.on('error', () => this.#sockets.delete(socket));
    socket.on('close', () => this.#sockets.delete(socket));
    socket.on('data', (chunk: Buffer) => {
      for (const bytes of framer.push(chunk)) this.#hear(parseJson(bytes), peer);
    });
  }

  #hear(json: JsonValue, peer: ScriptedPeer): void {
    const message = json as unknown as HeardMessage;
    this.heard.push(message);
    const { method, id } = message;
    if (method === undefined || id === null) return;
    const answer = (this.answers[method] ?? (() => ({ refuse: 'unknown method' })))(message, peer);
    if (isRefusal(answer)) peer.reply(id, null, answer.refuse);
    else if (answer !== undefined) peer.reply(id, answer);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const socket of this.#sockets) socket.destroy();
    const closed = once(this.#server, 'close');
    this.#server.close();
    await closed;
    this.#folder[Symbol.dispose]();
  }
}

export const SMALL_SCHEMA: JsonValue = {
  name: 'Small',
  version: '1.0.0',
  tables: {
    T: {
      columns: {
        name: { type: 'string' },
        count: { type: 'integer' },
        members: { type: { key: 'string', min: 0, max: 'unlimited' } },
        tags: { type: { key: 'string', value: 'string', min: 0, max: 'unlimited' } },
      },
      isRoot: true,
    },
  },
};

/** A row of `_Server.Database` for that schema. */
export const databaseRow = (columns: { readonly [column: string]: JsonValue } = {}): JsonValue => ({
  name: 'Small',
  model: 'standalone',
  connected: true,
  leader: true,
  schema: stringify(SMALL_SCHEMA),
  ...columns,
});

export const DATABASE_ID = '99999999-0000-4000-8000-000000000000';

/** Answers of a server with one small database whose contents are `rows`, by UUID. */
export const smallDatabase = (
  rows: { readonly [uuid: string]: JsonValue } = {},
  status: { readonly [column: string]: JsonValue } = {},
): { readonly [method: string]: Answer } => ({
  set_db_change_aware: () => ({}),
  get_schema: () => SMALL_SCHEMA,
  monitor_cancel: () => ({}),
  monitor_cond: ({ params }) =>
    params[0] === '_Server'
      ? { Database: { [DATABASE_ID]: { initial: databaseRow(status) } } }
      : { refuse: 'unknown method' },
  monitor_cond_since: () => [
    false,
    DATABASE_ID,
    { T: Object.fromEntries(Object.entries(rows).map(([uuid, row]) => [uuid, { initial: row }])) },
  ],
});
