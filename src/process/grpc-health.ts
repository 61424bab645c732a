/**
 * Health checks as gRPC has them (grpc.health.v1.Health/Check), over HTTP/2 without TLS: the server of a node, and who asks it. The messages are two fixed
 * ones, so that nothing of gRPC but its framing is needed (docs/decisions/egress-health.md). What Heddle says besides is in metadata, which others ignore.
 */
import {
  connect,
  constants,
  createServer,
  type ClientHttp2Session,
  type Http2Session,
  type IncomingHttpHeaders,
  type ServerHttp2Stream,
} from 'node:http2';
import { connect as connectSocket, type Socket } from 'node:net';
import { errorText } from '../api/error-text.ts';

const PATH = '/grpc.health.v1.Health/Check';
/** As ovn-kubernetes calls it. */
const SERVICE = 'Service_Egress_IP';
const CONTENT_TYPE = 'application/grpc';
/**
 * Metadata: an answer's number, how old the last one is that was acknowledged, and for how long the data plane has egress addresses without its daemon, both in
 * milliseconds; of a request the number that it acknowledges, and whether another node could have an address that this one has.
 */
const TOKEN = 'heddle-token';
const AGE = 'heddle-age';
const FENCE = 'heddle-fence';
const SEEN = 'heddle-seen';
const MAY_MOVE = 'heddle-may-move';
const YES = '1';
/** Codes of gRPC. */
const OK = '0';
const NOT_FOUND = '5';
const UNIMPLEMENTED = '12';

const framed = (message: Buffer): Buffer => {
  const head = Buffer.alloc(5);
  head.writeUInt32BE(message.length, 1);
  return Buffer.concat([head, message]);
};
/** HealthCheckRequest { service }. */
const REQUEST = framed(
  Buffer.concat([Buffer.from([0x0a, SERVICE.length]), Buffer.from(SERVICE, 'ascii')]),
);
/** HealthCheckResponse { status: SERVING }. */
const SERVING = framed(Buffer.from([0x08, 0x01]));

/** Of a request that asks for the service of a node as a whole. */
const WHOLE = framed(Buffer.alloc(0));
const LARGEST_REQUEST = 1024;
const MOST_CONNECTIONS = 512;
/** Milliseconds after which a connection on which nothing comes is closed. */
const IDLE = 60_000;

export interface HealthMetadata {
  readonly token: string;
  /** Milliseconds; Infinity where no answer was acknowledged yet. */
  readonly age: number;
  /** Milliseconds; absent where addresses stay without the daemon. */
  readonly fence?: number | undefined;
}

/** What a manager says as it asks. */
export interface HealthQuestion {
  /** The token of the answer that is acknowledged. */
  readonly seen?: string | undefined;
  /** Another node could have an address that this one has. */
  readonly mayMove?: boolean;
}

export interface GrpcHealthServerOptions {
  readonly host: string;
  readonly port: number;
  /** Called for each question. */
  readonly answer: (question: HealthQuestion) => HealthMetadata;
}

const textOf = (value: string | readonly string[] | undefined): string | undefined =>
  typeof value === 'string' ? value : undefined;

/** Rejects when the address can't be had. */
export async function serveGrpcHealth({
  host,
  port,
  answer,
}: GrpcHealthServerOptions): Promise<Disposable> {
  const sessions = new Set<Http2Session>();
  const sockets = new Set<Socket>();
  const server = createServer({
    maxHeaderListPairs: 32,
    maxSessionMemory: 1,
    settings: { maxConcurrentStreams: 64 },
  });
  server.on('connection', (socket: Socket) => {
    sockets.add(socket);
    socket.once('close', () => sockets.delete(socket));
  });
  server.on('session', (session) => {
    if (sessions.size >= MOST_CONNECTIONS) {
      session.destroy();
      return;
    }
    sessions.add(session);
    session.setTimeout(IDLE, () => session.destroy());
    // Whoever sends what is not HTTP/2 loses the connection, and nobody else anything.
    session.on('error', () => session.destroy());
    session.once('close', () => sessions.delete(session));
  });
  server.on('stream', (stream, headers) => respond(stream, headers, answer));
  server.on('sessionError', () => undefined);
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen(port, host, resolve);
  });
  server.on('error', () => undefined); // of one connection that can't be taken
  server.unref();
  return {
    [Symbol.dispose]() {
      server.close();
      for (const session of sessions) session.destroy();
      // One whose session has ended waits for the other end, which may be cut off: it would keep the process until the kernel gives up.
      for (const socket of sockets) socket.destroy();
    },
  };
}

function respond(
  stream: ServerHttp2Stream,
  headers: IncomingHttpHeaders,
  answer: GrpcHealthServerOptions['answer'],
): void {
  const chunks: Buffer[] = [];
  let length = 0;
  stream.on('error', () => stream.destroy());
  stream.on('data', (chunk: Buffer) => {
    length += chunk.length;
    if (length > LARGEST_REQUEST) stream.close(constants.NGHTTP2_ENHANCE_YOUR_CALM);
    else chunks.push(chunk);
  });
  stream.on('end', () => {
    if (stream.destroyed || stream.closed) return;
    const head = { ':status': 200, 'content-type': CONTENT_TYPE };
    const fails = (code: string): void =>
      stream.respond({ ...head, 'grpc-status': code }, { endStream: true });
    if (headers[':path'] !== PATH) {
      fails(UNIMPLEMENTED);
      return;
    }
    const request = Buffer.concat(chunks);
    if (!request.equals(REQUEST) && !request.equals(WHOLE)) {
      fails(NOT_FOUND);
      return;
    }
    const { token, age, fence } = answer({
      seen: textOf(headers[SEEN]),
      mayMove: headers[MAY_MOVE] === YES,
    });
    const metadata = {
      [TOKEN]: token,
      [AGE]: String(age),
      ...(fence === undefined ? {} : { [FENCE]: String(fence) }),
    };
    stream.respond({ ...head, ...metadata }, { waitForTrailers: true });
    stream.on('wantTrailers', () => stream.sendTrailers({ 'grpc-status': OK }));
    stream.end(SERVING);
  });
}

/** What a node answered; `refused`: it is there, and nobody serves the port; `silent`: nothing came in time. */
export type HealthAnswer =
  | { readonly kind: 'serving'; readonly metadata: HealthMetadata | undefined }
  | { readonly kind: 'refused' | 'silent'; readonly why: string };

/** Asks one node, over a connection that stays open: of several addresses the next one when one does not answer. */
export class GrpcHealthClient implements Disposable {
  readonly #addresses: readonly string[];
  readonly #port: number;
  readonly #onThere: () => void;
  #at = 0;
  #session: ClientHttp2Session | undefined;
  /** Of the session: one that is not connected yet would outlive it, and keep the process, until the kernel gives up. */
  #socket: Socket | undefined;

  /** `onThere`: called when the node took a connection: its kernel does so also for a process that stands still. */
  constructor(addresses: readonly string[], port: number, onThere: () => void = () => undefined) {
    this.#addresses = addresses;
    this.#port = port;
    this.#onThere = onThere;
  }

  /** `timeout` in milliseconds. */
  async check(question: HealthQuestion, timeout: number): Promise<HealthAnswer> {
    const session = (this.#session ??= this.#open());
    const answer = await ask(session, question, timeout);
    if (answer.kind !== 'serving' && this.#session === session) {
      // A connection whose packets got lost would wait for long before it sends again.
      this.#end();
      this.#at += 1;
    }
    return answer;
  }

  #open(): ClientHttp2Session {
    const address = this.#addresses[this.#at % this.#addresses.length] ?? '';
    const host = address.includes(':') ? `[${address}]` : address;
    const socket = connectSocket({ host: address, port: this.#port });
    this.#socket = socket;
    const session = connect(`http://${host}:${this.#port}`, { createConnection: () => socket });
    session.unref();
    session.once('connect', this.#onThere);
    session.on('error', () => undefined); // told by the stream that it ends
    session.once('close', () => {
      if (this.#session === session) this.#session = undefined;
    });
    return session;
  }

  #end(): void {
    this.#session?.destroy();
    this.#socket?.destroy();
    this.#session = undefined;
    this.#socket = undefined;
  }

  [Symbol.dispose](): void {
    this.#end();
  }
}

function ask(
  session: ClientHttp2Session,
  { seen, mayMove = false }: HealthQuestion,
  timeout: number,
): Promise<HealthAnswer> {
  return new Promise((resolve) => {
    let sessionError: unknown;
    let metadata: HealthMetadata | undefined;
    let status: string | undefined;
    const chunks: Buffer[] = [];
    const onSessionError = (error: unknown): void => {
      sessionError = error;
    };
    session.once('error', onSessionError);
    const stream = session.request(
      {
        ':method': 'POST',
        ':path': PATH,
        'content-type': CONTENT_TYPE,
        te: 'trailers',
        ...(seen === undefined ? {} : { [SEEN]: seen }),
        ...(mayMove ? { [MAY_MOVE]: YES } : {}),
      },
      { endStream: false },
    );
    const done = (answer: HealthAnswer): void => {
      clearTimeout(timer);
      session.removeListener('error', onSessionError);
      resolve(answer);
    };
    const timer = setTimeout(() => {
      done({ kind: 'silent', why: `no answer within ${timeout} ms` });
      stream.destroy();
    }, timeout);
    let error: unknown;
    stream.on('error', (cause) => {
      error = cause;
    });
    stream.on('response', (headers) => {
      const [token, age] = [textOf(headers[TOKEN]), Number(headers[AGE])];
      const fence = headers[FENCE] === undefined ? NaN : Number(headers[FENCE]);
      metadata =
        token === undefined || Number.isNaN(age)
          ? undefined
          : { token, age, ...(fence >= 0 && fence < Infinity ? { fence } : {}) };
      status = textOf(headers['grpc-status']);
    });
    stream.on('trailers', (trailers: IncomingHttpHeaders) => {
      status = textOf(trailers['grpc-status']);
    });
    stream.on('data', (chunk: Buffer) => {
      if (chunks.length < 4) chunks.push(chunk);
    });
    stream.on('close', () => {
      const cause = sessionError ?? (error as Error | undefined)?.cause ?? error;
      const { code } = (cause ?? {}) as { code?: unknown };
      if (status === OK && Buffer.concat(chunks).equals(SERVING))
        done({ kind: 'serving', metadata });
      // Whoever answers, if only that he does not serve, is there.
      else if (status !== undefined) done({ kind: 'refused', why: `gRPC status ${status}` });
      else if (code === 'ECONNREFUSED' || code === 'ECONNRESET')
        done({ kind: 'refused', why: errorText(cause) });
      else done({ kind: 'silent', why: cause === undefined ? 'closed' : errorText(cause) });
    });
    stream.end(REQUEST);
  });
}
