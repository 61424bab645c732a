import type { Duplex } from 'node:stream';
import { unlessAborted } from '../data/abort.ts';
import { errorText, OvsdbError, shorten } from '../data/error.ts';
import { stringify } from '../data/json.ts';
import type { JsonValue } from '../data/value.ts';
import type { Message, TakenUpdates, UpdateHead, UpdateSink } from '../wire/message.ts';
import { MessageStream, type StreamLimits } from '../wire/message-stream.ts';

/** A reply, handed over in the read loop: before any later message is read. */
export interface Reply {
  readonly result: JsonValue | undefined;
  readonly error: JsonValue | undefined;
  readonly updates: TakenUpdates | undefined;
}

export interface ConnectionOptions {
  readonly limits?: StreamLimits | undefined;
  /** Milliseconds that a `request` may take; 0: for ever. */
  readonly answerTimeout?: number | undefined;
}

/** Whoever made a request. Exactly one of `answered` and `lost` is called. */
export interface Requester {
  /** Called in the read loop. */
  answered(reply: Reply): void;
  /** The connection ended first. `wasSent`: false when the server can't have heard of the request. */
  lost(error: OvsdbError, wasSent: boolean): void;
  /** Where the table updates of the reply go; called when the reply begins. */
  readonly sink?: ((head: UpdateHead) => UpdateSink) | undefined;
}

export interface ConnectionHandler {
  /** Where updates of this monitor go; undefined: it is not ours. */
  sinkForUpdate(monitor: JsonValue): UpdateSink | undefined;
  update(monitor: JsonValue, updates: TakenUpdates): void;
  /** Any other notification: `locked`, `stolen`, `monitor_canceled`, an update that has no sink … */
  notification(method: string, params: readonly JsonValue[]): void;
  /** Bytes arrived: the server lives. */
  heard(): void;
  /** The connection is gone; called once, after `lost` of every request without an answer. */
  closed(error: OvsdbError): void;
}

/** What passed through a connection, for metrics. */
export interface Traffic {
  bytesReceived: number;
  bytesSent: number;
  messagesReceived: number;
  messagesSent: number;
}

/**
 * Milliseconds of reading before timers and other sockets get their turn of the event loop: the socket is paused until then. A peer that is as
 * fast as we are has the next chunk ready each time, and libuv reads up to 32 of them in a row.
 */
const TIME_SLICE = 8;

/** A smaller chunk fills neither the socket's buffer nor a TLS record: nothing is queued behind it. */
const FULL_CHUNK = 16 * 1024;

/** Milliseconds that a peer has to read what was sent last and to close its side: a frozen one would keep our process alive. */
const CLOSE_TIMEOUT = 1000;

/** Milliseconds for the answer to a request of the client's own. A server is silent while it composes large contents. */
const ANSWER_TIMEOUT = 120_000;

/** Characters of messages that are gathered for one write: enough to make the write cheap, few enough to keep the server busy. */
const BATCH_LIMIT = 32 * 1024;

/** JSON-RPC 1.0 over one open socket (RFC 7047 §4). Messages are handled to the end in the order in which they arrive. */
export class Connection {
  readonly #socket: Duplex;
  readonly #handler: ConnectionHandler;
  readonly #answerTimeout: number;
  readonly #stream: MessageStream;
  readonly #pending = new Map<number, Requester>();
  readonly traffic: Traffic = {
    bytesReceived: 0,
    bytesSent: 0,
    messagesReceived: 0,
    messagesSent: 0,
  };
  #nextId = 1;
  /** Messages after the first one of this turn of the event loop: they are written together, while the server reads the first. */
  #batch = '';
  #isBatching = false;
  /** The first request in the batch; later ones are in it as well. */
  #firstInBatch = Infinity;
  /** When the time slice ends; undefined: none has begun in this turn of the event loop. */
  #sliceEnd: number | undefined;
  #error: OvsdbError | undefined;

  constructor(socket: Duplex, handler: ConnectionHandler, options: ConnectionOptions = {}) {
    this.#answerTimeout = options.answerTimeout ?? ANSWER_TIMEOUT;
    this.#socket = socket;
    this.#handler = handler;
    this.#stream = new MessageStream(
      {
        sinkForReply: (head) => this.#sinkForReply(head),
        sinkForUpdate: (head) =>
          head.monitor === undefined ? undefined : handler.sinkForUpdate(head.monitor),
        message: (message, updates) => {
          this.#message(message, updates);
        },
      },
      options.limits,
    );
    socket.on('data', (chunk: Buffer) => {
      this.#data(chunk);
    });
    socket.on('error', (error) => {
      this.close(new OvsdbError('disconnected', error.message, { cause: error }));
    });
    socket.on('close', () => {
      this.close(new OvsdbError('disconnected', 'the server closed the connection'));
    });
  }

  get isOpen(): boolean {
    return this.#error === undefined;
  }

  #data(chunk: Buffer): void {
    if (this.#error !== undefined) return;
    this.traffic.bytesReceived += chunk.length;
    this.#handler.heard();
    if (chunk.length >= FULL_CHUNK) this.#beginSlice();
    try {
      this.#stream.push(chunk);
    } catch (error) {
      if (!(error instanceof OvsdbError)) throw error;
      this.close(
        new OvsdbError('protocol', `the server sent what can't be understood: ${error.details}`, {
          cause: error,
        }),
      );
    }
    if (this.isOpen && performance.now() >= (this.#sliceEnd ?? Infinity)) this.#socket.pause();
  }

  #beginSlice(): void {
    if (this.#sliceEnd !== undefined) return;
    this.#sliceEnd = performance.now() + TIME_SLICE;
    setImmediate(() => {
      this.#sliceEnd = undefined;
      if (this.isOpen && this.#socket.isPaused()) this.#socket.resume();
    });
  }

  /**
   * A reply whose id comes last is recognised when it is the only one that is awaited. Otherwise it is kept until its id has arrived.
   */
  #sinkForReply(head: UpdateHead): UpdateSink | undefined {
    if (typeof head.id === 'number') return this.#pending.get(head.id)?.sink?.(head);
    if (head.id !== undefined || this.#pending.size !== 1) return undefined;
    const [only] = this.#pending.values();
    return only?.sink?.(head);
  }

  #message(message: Message, updates: TakenUpdates | undefined): void {
    this.traffic.messagesReceived++;
    if (this.#error !== undefined) return;
    if (message.method === undefined) this.#reply(message, updates);
    else this.#request(message, updates);
  }

  #reply({ id, result, error }: Message, updates: TakenUpdates | undefined): void {
    const pending = typeof id === 'number' ? this.#pending.get(id) : undefined;
    if (pending === undefined || typeof id !== 'number') {
      // The answer to our own probe carries the id that the server's probe has, too.
      if (id === 'echo') return;
      throw new OvsdbError('protocol', `reply to a request that was not made (id ${shorten(id)})`);
    }
    this.#pending.delete(id);
    pending.answered({ result, error: error ?? undefined, updates });
  }

  #request({ id, method, params }: Message, updates: TakenUpdates | undefined): void {
    if (typeof method !== 'string') throw new OvsdbError('protocol', 'a method must be a string');
    if (updates?.head.monitor !== undefined) {
      this.#handler.update(updates.head.monitor, updates);
      return;
    }
    if (id === undefined || id === null) {
      if (!Array.isArray(params))
        throw new OvsdbError('protocol', `${method} without an array of params`);
      this.#handler.notification(method, params as readonly JsonValue[]);
    } else if (method === 'echo') {
      this.#sendMessage({ id, result: params ?? [], error: null });
    } else {
      this.#sendMessage({ id, result: null, error: 'unknown method' });
    }
  }

  #sendMessage(message: JsonValue): void {
    if (this.#error === undefined) this.#write(stringify(message), this.#nextId);
  }

  /** `id`: of this request, or else of the next one. */
  #write(text: string, id: number): void {
    this.traffic.messagesSent++;
    this.traffic.bytesSent += Buffer.byteLength(text);
    if (this.#isBatching) {
      if (this.#batch === '') this.#firstInBatch = id;
      this.#batch += text;
      if (this.#batch.length >= BATCH_LIMIT) this.#flush();
      return;
    }
    this.#socket.write(text);
    this.#isBatching = true;
    process.nextTick(() => {
      this.#isBatching = false;
      this.#flush();
    });
  }

  #flush(): void {
    const text = this.#batch;
    this.#batch = '';
    this.#firstInBatch = Infinity;
    if (text !== '' && this.#error === undefined) this.#socket.write(text);
  }

  /** The id that the next request will have. */
  get nextId(): number {
    return this.#nextId;
  }

  /** Sends a request. Throws when the parameters are no JSON; nothing is sent then. */
  send(method: string, params: readonly JsonValue[], requester: Requester): void {
    const id = this.#nextId++;
    if (this.#error !== undefined) {
      requester.lost(this.#error, false);
      return;
    }
    const text = stringify({ id, method, params });
    this.#pending.set(id, requester);
    this.#write(text, id);
  }

  /**
   * Sends a request of the client's own. `onReply` is called in the read loop; not if the connection ends first, as it does when the answer does not
   * come in time. `sink`: where the table updates of the reply go; called when the reply begins.
   */
  request(
    method: string,
    params: readonly JsonValue[],
    onReply?: (reply: Reply) => void,
    sink?: (head: UpdateHead) => UpdateSink,
  ): void {
    let isArriving = false;
    let stopWatching = (): void => undefined;
    this.send(method, params, {
      answered: (reply) => {
        stopWatching();
        onReply?.(reply);
      },
      lost: () => {
        stopWatching();
      },
      sink:
        sink === undefined
          ? undefined
          : (head) => {
              isArriving = true;
              return sink(head);
            },
    });
    if (this.#error !== undefined || this.#answerTimeout === 0) return;
    const of = typeof params[0] === 'string' ? ` (${params[0]})` : '';
    stopWatching = this.#watch(`${method}${of}`, () => isArriving);
  }

  /** Ends the connection when an answer does not come in time, or stops on its way. Returns what ends the watch. */
  #watch(what: string, isArriving: () => boolean): () => void {
    let seen = this.traffic.bytesReceived;
    let late: NodeJS.Immediate | undefined;
    const check = (): void => {
      const received = this.traffic.bytesReceived;
      if (isArriving() && received > seen) {
        seen = received;
        timer.refresh();
        return;
      }
      const within = `${this.#answerTimeout} ms (timing.answerTimeout)`;
      this.close(new OvsdbError('timed out', `the server did not answer ${what} within ${within}`));
    };
    const timer = setTimeout(() => {
      // What came while the process was busy or stopped is read first.
      late = setImmediate(check);
    }, this.#answerTimeout);
    return () => {
      clearTimeout(timer);
      clearImmediate(late);
    };
  }

  /** Sends a request of the program's, which is limited by the signal alone: resolves with its result, rejects with `rpc error`. */
  call(method: string, params: readonly JsonValue[], signal?: AbortSignal): Promise<JsonValue> {
    const { promise, resolve, reject } = Promise.withResolvers<JsonValue>();
    this.send(method, params, {
      answered: ({ result, error }) => {
        if (error === undefined) resolve(result ?? null);
        else reject(new OvsdbError('rpc error', `${method}: ${errorText(error)}`));
      },
      lost: reject,
    });
    return unlessAborted(promise, signal);
  }

  notify(method: string, params: readonly JsonValue[]): void {
    this.#sendMessage({ id: null, method, params });
  }

  /** Asks whether the peer lives. */
  probe(): void {
    this.#sendMessage({ id: 'echo', method: 'echo', params: [] });
  }

  /** Ends the connection at once. Requests without an answer are `lost`. */
  close(error: OvsdbError): void {
    if (this.#error !== undefined) return;
    this.#socket.destroy();
    this.#ended(error);
  }

  #ended(error: OvsdbError): void {
    this.#error = error;
    this.#stream.abandon();
    const pending = [...this.#pending];
    this.#pending.clear();
    for (const [id, requester] of pending) requester.lost(error, id < this.#firstInBatch);
    this.#handler.closed(error);
  }

  /** Ends the connection after everything was sent, as far as the peer reads it within a second. */
  end(): void {
    if (this.#error !== undefined) return;
    this.#flush();
    const socket = this.#socket;
    socket.end();
    this.#ended(new OvsdbError('closed', 'the client was closed'));
    // A paused socket would not notice that its peer has closed.
    socket.resume();
    const timer = setTimeout(() => {
      socket.destroy();
    }, CLOSE_TIMEOUT);
    socket.once('close', () => {
      clearTimeout(timer);
    });
  }
}

/** The server does not know the method. ovsdb-server has a plain string for that, others an object or other words. */
export const isUnknownMethod = (error: JsonValue | undefined): boolean =>
  /unknown method|method not found|can't find method/i.test(errorText(error));
