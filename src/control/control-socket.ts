/** The control socket of a daemon: JSON-RPC 2.0, one request a line, for root (the daemon's user) alone. */
import { createServer, type Socket } from 'node:net';
import {
  createJSONRPCErrorResponse,
  JSONRPCErrorCode,
  JSONRPCErrorException,
  JSONRPCServer,
  type JSONRPCRequest,
  type JSONRPCResponse,
} from 'json-rpc-2.0';
import { isPlainObject } from '../api/plain-object.ts';
import { jsonLine, linesOf, LONGEST_REQUEST } from './control-protocol.ts';
import { limitConnections } from '../process/connection-limit.ts';
import type { Logger } from '../process/logger.ts';
import { listenPrivately } from './private-socket.ts';
import { errorText, faultStack } from '../api/error-text.ts';
import { ConfigurationError } from '../process/configuration-error.ts';

/** Answers a request; `signal` aborts when the daemon stops, or the connection breaks. */
export type ControlMethod = (params: unknown, signal: AbortSignal) => Promise<unknown>;

export interface ControlOptions {
  readonly path: string;
  readonly methods: Readonly<Record<string, ControlMethod>>;
  readonly log: Pick<Logger, 'debug' | 'warn'>;
}

/** Of more the oldest goes that waits for no answer. */
const MOST_CONNECTIONS = 32;
/** Milliseconds after which a connection without a request is closed. */
const IDLE_LIMIT = 60_000;
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
  const answer = answerLine(methods, log);
  const stop = new AbortController();
  const atWork = new Set<Socket>();
  const server = createServer({ allowHalfOpen: true }, (socket) => {
    void converse(socket, answer, { stop: stop.signal, atWork, log });
  });
  const connections = limitConnections(server, MOST_CONNECTIONS, (socket) => atWork.has(socket));
  await listenPrivately(server, path, '--socket');
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

/** The line that answers `line`; undefined for a notification. Never rejects. */
type Answer = (line: string, signal: AbortSignal) => Promise<string | undefined>;

/** What answers the lines of a connection. */
export function answerLine(methods: ControlOptions['methods'], log: ControlOptions['log']): Answer {
  const rpc = rpcServer(methods, log);
  return (line, signal) => answerTo(rpc, line, signal);
}

function rpcServer(
  methods: ControlOptions['methods'],
  log: ControlOptions['log'],
): JSONRPCServer<AbortSignal> {
  const rpc = new JSONRPCServer<AbortSignal>({
    // Who asked is told what is wrong; a fault of ours has to be seen by others, too.
    errorListener: (_message, error) =>
      log[faultStack(error) === undefined ? 'debug' : 'warn'](
        { component: 'control', error },
        'a request failed',
      ),
  });
  rpc.mapErrorToJSONRPCErrorResponse = (id, error: unknown) =>
    error instanceof JSONRPCErrorException
      ? createJSONRPCErrorResponse(id, error.code, error.message)
      : createJSONRPCErrorResponse(
          id,
          error instanceof ConfigurationError ? JSONRPCErrorCode.InvalidParams : METHOD_FAILED,
          errorText(error),
        );
  for (const [name, method] of Object.entries(methods))
    rpc.addMethod(name, (params: unknown, signal) => method(params, signal));
  return rpc;
}

/** Answers the requests of one connection, one after the other, until it ends. */
async function converse(
  socket: Socket,
  answer: Answer,
  {
    stop,
    atWork,
    log,
  }: {
    readonly stop: AbortSignal;
    /** Those whose requests are being answered. */
    readonly atWork: Set<Socket>;
    readonly log: ControlOptions['log'];
  },
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
      atWork.add(socket);
      if (line === undefined) {
        await send(
          refusal(
            JSONRPCErrorCode.InvalidRequest,
            `a request has at most ${LONGEST_REQUEST} bytes`,
          ),
        );
        break;
      }
      const response = await answer(line, signal);
      if (response !== undefined) await send(response);
      atWork.delete(socket);
      socket.setTimeout(IDLE_LIMIT);
    }
    socket.end();
  } catch (error) {
    log.debug({ component: 'control', error }, 'a connection broke');
    socket.destroy();
  } finally {
    atWork.delete(socket);
  }
}

async function answerTo(
  rpc: JSONRPCServer<AbortSignal>,
  line: string,
  signal: AbortSignal,
): Promise<string | undefined> {
  let request: unknown;
  try {
    request = JSON.parse(line);
  } catch (error) {
    return refusal(JSONRPCErrorCode.ParseError, `not JSON: ${errorText(error)}`);
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
