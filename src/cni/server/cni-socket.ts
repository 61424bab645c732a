/** The socket on which the CNI plugin's shim hands over requests: HTTP, for root alone; a CNI error is a response with status 400. */
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { CNI_CODE, CniError } from '../protocol/cni-error.ts';
import { REQUEST_PATH, variableHeader } from '../install/shim.ts';
import { joinRequest, LONGEST_CNI_REQUEST } from '../protocol/request.ts';
import { errorResult } from '../protocol/result.ts';
import { NEWEST_VERSION } from '../protocol/versions.ts';
import type { CniAnswer } from './cni-plugin.ts';
import { limitConnections } from '../../process/connection-limit.ts';
import type { Logger } from '../../process/logger.ts';
import { listenPrivately } from '../../control/private-socket.ts';

export interface CniSocketOptions {
  readonly path: string;
  readonly answer: (text: string, signal: AbortSignal) => Promise<CniAnswer>;
  readonly log: Pick<Logger, 'debug' | 'warn'>;
}

/** A runtime has a connection for each pod that starts or ends: of more the oldest goes whose request is not there yet. */
const MOST_CONNECTIONS = 512;
/** Milliseconds for a request to be there, and how often it is looked whether one is late. */
const ARRIVAL_LIMIT = 10_000;
const ARRIVAL_LOOK = 5000;
/** Bytes of its headers: more than the kernel takes of the variables of a process. */
const MOST_HEADERS = 1 << 20;
/** Bytes that are read of a request that is too long, so that its answer is. */
const MOST_READ = 4 * LONGEST_CNI_REQUEST;

/** Listens until it is disposed, which ends what is being done and waits for that. Throws ConfigurationError. */
export async function serveCni({ path, answer, log }: CniSocketOptions): Promise<AsyncDisposable> {
  const stop = new AbortController();
  const running = new Set<Promise<void>>();
  const atWork = new Set<Socket>();
  const limits = {
    headersTimeout: ARRIVAL_LIMIT,
    requestTimeout: ARRIVAL_LIMIT,
    connectionsCheckingInterval: ARRIVAL_LOOK,
  };
  const server = createServer(
    { keepAlive: false, maxHeaderSize: MOST_HEADERS, ...limits },
    (request, response) => {
      const answered = (text: string, signal: AbortSignal): Promise<CniAnswer> => {
        atWork.add(request.socket);
        return answer(text, signal);
      };
      const task = converse(request, response, answered, stop.signal).catch((error: unknown) => {
        log.debug({ component: 'cni', error }, 'a connection broke');
        response.destroy();
      });
      running.add(task);
      void task.finally(() => {
        running.delete(task);
        atWork.delete(request.socket);
      });
    },
  );
  const isAtWork = (socket: Socket): boolean => atWork.has(socket);
  const connections = limitConnections(server, MOST_CONNECTIONS, isAtWork);
  await listenPrivately(server, path, '--cni-socket');
  server.on('error', (error) => log.warn({ component: 'cni', error }, 'CNI socket'));
  return {
    async [Symbol.asyncDispose]() {
      stop.abort();
      const closed = new Promise((resolve) => server.close(resolve));
      for (const socket of connections) if (!isAtWork(socket)) socket.destroy();
      await Promise.all(running);
      server.closeAllConnections();
      await closed;
    },
  };
}

async function converse(
  request: IncomingMessage,
  response: ServerResponse,
  answer: CniSocketOptions['answer'],
  stop: AbortSignal,
): Promise<void> {
  const gone = new AbortController();
  response.once('close', () => {
    if (!response.writableEnded) gone.abort();
  });
  const { isError, body } = await answerTo(request, (text) =>
    answer(text, AbortSignal.any([stop, gone.signal])),
  );
  response.writeHead(isError ? 400 : 200, {
    'Content-Type': 'application/json',
    Connection: 'close',
  });
  response.end(body === '' ? '' : `${body}\n`);
}

async function answerTo(
  request: IncomingMessage,
  answer: (text: string) => Promise<CniAnswer>,
): Promise<CniAnswer> {
  const body = await bodyOf(request);
  if (body !== undefined)
    return answer(request.url === REQUEST_PATH ? withHeaders(request, body) : body);
  const error = new CniError(
    `the request has more than ${LONGEST_CNI_REQUEST} bytes`,
    CNI_CODE.undecodable,
  );
  return { isError: true, body: JSON.stringify(errorResult(NEWEST_VERSION, error)) };
}

/** Headers are bytes to Node.js, a character each. */
function withHeaders({ headers }: IncomingMessage, input: string): string {
  const value = (name: string): string => String(headers[name.toLowerCase()] ?? '');
  return joinRequest(
    (name) => Buffer.from(value(variableHeader(name)), 'latin1').toString(),
    input,
  );
}

/** Undefined when it is too long: it is read to its end, so that the answer is, too, unless it has none. */
async function bodyOf(request: IncomingMessage): Promise<string | undefined> {
  const chunks: Buffer[] = [];
  let length = 0;
  for await (const chunk of request as AsyncIterable<Buffer>) {
    length += chunk.length;
    if (length <= LONGEST_CNI_REQUEST) chunks.push(chunk);
    else if (length > MOST_READ) throw new Error(`a request has more than ${MOST_READ} bytes`);
  }
  return length <= LONGEST_CNI_REQUEST ? Buffer.concat(chunks).toString('utf8') : undefined;
}
