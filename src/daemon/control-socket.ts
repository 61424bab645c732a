/** The control socket of a daemon: JSON-RPC 2.0, one request a line, for root (the daemon's user) alone. */
import { chmodSync, existsSync, lstatSync, mkdirSync, rmSync, statSync, type Stats } from 'node:fs';
import { connect, createServer, type Socket } from 'node:net';
import { dirname } from 'node:path';
import {
  createJSONRPCErrorResponse,
  JSONRPCErrorCode,
  JSONRPCErrorException,
  JSONRPCServer,
  type JSONRPCRequest,
  type JSONRPCResponse,
} from 'json-rpc-2.0';
import { isPlainObject } from '../api/plain-object.ts';
import { ConfigurationError } from './configuration.ts';
import { jsonLine, linesOf, LONGEST_REQUEST, LONGEST_SOCKET_PATH } from './control-protocol.ts';
import type { Logger } from './logger.ts';

/** Answers a request; `signal` aborts when the daemon stops, or the connection breaks. */
export type ControlMethod = (params: unknown, signal: AbortSignal) => Promise<unknown>;

export interface ControlOptions {
  readonly path: string;
  readonly methods: Readonly<Record<string, ControlMethod>>;
  readonly log: Pick<Logger, 'debug' | 'warn'>;
}

const MOST_CONNECTIONS = 32;
/** Milliseconds after which a connection without a request is closed. */
const IDLE_LIMIT = 60_000;
/** Milliseconds that a process on the socket gets to accept us before it counts as alive. */
const PROBE_LIMIT = 1000;
/** JSON-RPC leaves -32000 to -32099 to servers. */
const METHOD_FAILED = -32_000;

/** A request whose `params` can't be used; the message names the field. */
export const invalidParams = (message: string): Error =>
  new JSONRPCErrorException(message, JSONRPCErrorCode.InvalidParams);

/**
 * Listens until it is disposed. Takes the place of a socket whose process has ended; throws ConfigurationError when a process
 * answers there, or when others could put something else in the socket's place.
 */
export async function serveControl({
  path,
  methods,
  log,
}: ControlOptions): Promise<AsyncDisposable> {
  if (Buffer.byteLength(path) > LONGEST_SOCKET_PATH)
    throw new ConfigurationError(
      '--socket',
      `${path} has more than ${LONGEST_SOCKET_PATH} bytes: unix sockets need a shorter path`,
    );
  prepareFolder(dirname(path));
  await clear(path);
  const rpc = rpcServer(methods, log);
  const stop = new AbortController();
  const connections = new Set<Socket>();
  const server = createServer({ allowHalfOpen: true }, (socket) => {
    connections.add(socket);
    socket.once('close', () => connections.delete(socket));
    void converse(socket, rpc, stop.signal, log);
  });
  server.maxConnections = MOST_CONNECTIONS;
  const listening = new Promise<void>((resolve, reject) => {
    server.once('error', reject).once('listening', resolve);
  });
  server.listen(path);
  await listening.catch((error: NodeJS.ErrnoException) => {
    throw new ConfigurationError('--socket', `can't listen on ${path}: ${error.message}`);
  });
  chmodSync(path, 0o600);
  server.on('error', (error) => log.warn({ component: 'control', error }, 'control socket'));
  return {
    async [Symbol.asyncDispose]() {
      stop.abort();
      const closed = new Promise((resolve) => server.close(resolve));
      for (const socket of connections) socket.destroy();
      await closed;
    },
  };
}

/** Makes the folder if there is none. Others must not be able to write into it: they could put a socket in place of ours. */
function prepareFolder(folder: string): void {
  let found: Stats;
  try {
    if (!existsSync(folder)) mkdirSync(folder, { mode: 0o700 });
    found = statSync(folder);
  } catch (error) {
    throw new ConfigurationError(
      '--socket',
      `folder ${folder} can't be used: ${messageOf(error)}; name a socket in another one, or "none"`,
    );
  }
  const isOurs = found.uid === 0 || found.uid === process.getuid?.();
  if (!isOurs || (found.mode & 0o022) !== 0)
    throw new ConfigurationError(
      '--socket',
      `others may write into folder ${folder}: chmod 700 it, or name a socket in another one`,
    );
}

/** Removes what a daemon that has ended left at `path`. */
async function clear(path: string): Promise<void> {
  const found = lstatSync(path, { throwIfNoEntry: false });
  if (found === undefined) return;
  if (!found.isSocket())
    throw new ConfigurationError(
      '--socket',
      `${path} is no socket: remove it, or name another path`,
    );
  if (await isAnswered(path))
    throw new ConfigurationError(
      '--socket',
      `a process answers on ${path} already: end it, or name another path`,
    );
  rmSync(path, { force: true });
}

function isAnswered(path: string): Promise<boolean> {
  return new Promise((resolve) => {
    const probe = connect(path);
    const done = (answer: boolean): void => {
      probe.destroy();
      resolve(answer);
    };
    probe.setTimeout(PROBE_LIMIT, () => done(true));
    probe.once('connect', () => done(true));
    probe.once('error', (error: NodeJS.ErrnoException) =>
      done(error.code !== 'ECONNREFUSED' && error.code !== 'ENOENT'),
    );
  });
}

function rpcServer(
  methods: ControlOptions['methods'],
  log: ControlOptions['log'],
): JSONRPCServer<AbortSignal> {
  const rpc = new JSONRPCServer<AbortSignal>({
    errorListener: (_message, error) =>
      log.debug({ component: 'control', error }, 'a request failed'),
  });
  rpc.mapErrorToJSONRPCErrorResponse = (id, error: unknown) =>
    error instanceof JSONRPCErrorException
      ? createJSONRPCErrorResponse(id, error.code, error.message)
      : createJSONRPCErrorResponse(id, METHOD_FAILED, messageOf(error));
  for (const [name, method] of Object.entries(methods))
    rpc.addMethod(name, (params: unknown, signal) => method(params, signal));
  return rpc;
}

/** Answers the requests of one connection, one after the other, until it ends. */
async function converse(
  socket: Socket,
  rpc: JSONRPCServer<AbortSignal>,
  stop: AbortSignal,
  log: ControlOptions['log'],
): Promise<void> {
  const closed = new AbortController();
  socket.once('close', () => closed.abort());
  const signal = AbortSignal.any([stop, closed.signal]);
  const send = async (text: string): Promise<void> => {
    if (socket.destroyed || socket.write(text)) return;
    await new Promise<void>((resolve) => {
      socket.once('drain', resolve).once('close', () => resolve());
    });
  };
  try {
    socket.setTimeout(IDLE_LIMIT, () => socket.destroy());
    for await (const line of linesOf(socket, LONGEST_REQUEST)) {
      socket.setTimeout(0);
      if (line === undefined) {
        await send(
          refusal(
            JSONRPCErrorCode.InvalidRequest,
            `a request has at most ${LONGEST_REQUEST} bytes`,
          ),
        );
        break;
      }
      const response = await answer(rpc, line, signal);
      if (response !== undefined) await send(response);
      socket.setTimeout(IDLE_LIMIT);
    }
    socket.end();
  } catch (error) {
    log.debug({ component: 'control', error }, 'a connection broke');
    socket.destroy();
  }
}

/** The line that answers `line`; undefined for a notification. */
async function answer(
  rpc: JSONRPCServer<AbortSignal>,
  line: string,
  signal: AbortSignal,
): Promise<string | undefined> {
  let request: unknown;
  try {
    request = JSON.parse(line);
  } catch (error) {
    return refusal(JSONRPCErrorCode.ParseError, `not JSON: ${messageOf(error)}`);
  }
  if (!isPlainObject(request) || typeof request['method'] !== 'string')
    return refusal(
      JSONRPCErrorCode.InvalidRequest,
      'a request is one JSON object with "jsonrpc", "id", "method" and "params"',
    );
  const response: JSONRPCResponse | null = await rpc.receive(
    request as unknown as JSONRPCRequest,
    signal,
  );
  return response === null ? undefined : jsonLine(response);
}

const refusal = (code: JSONRPCErrorCode, message: string): string =>
  jsonLine(createJSONRPCErrorResponse(null, code, message));

const messageOf = (error: unknown): string =>
  error instanceof Error ? error.message : String(error);
