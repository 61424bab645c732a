/**
 * The HTTPS server of the conversion webhook, in a thread of its own: anybody who reaches the port may send to it, and what he sends costs
 * this thread alone, which has a heap of its own, too. Who leads goes on meanwhile.
 */
import { createServer } from 'node:https';
import type { IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';
import { parentPort, workerData } from 'node:worker_threads';
import { answerConversionReview } from '../api/conversion/conversion-review.ts';
import { limitConnections } from '../process/connection-limit.ts';
import type { TlsIdentity } from '../process/self-signed.ts';
import { errorText } from '../api/error-text.ts';

export interface ServerData {
  readonly host: string;
  readonly port: number;
  readonly identity: TlsIdentity;
}

/** What the thread says: that it listens, or why it can't. */
export type ServerMessage =
  | { readonly kind: 'listening'; readonly port: number }
  | { readonly kind: 'failed'; readonly message: string };

/** A list of as many networks as there may be, converted in one review, has some 12 MiB. */
const LARGEST_REVIEW = 16 * 1024 * 1024;
/** Of all reviews that are being received. */
const MOST_RECEIVED = 3 * LARGEST_REVIEW;
/** API servers keep few connections, and make new ones. */
const MOST_CONNECTIONS = 64;
/** Milliseconds for a handshake, for headers, and for a whole request: an API server waits 30 s for the answer. */
const LIMITS = { handshake: 5000, headers: 5000, request: 20_000 };

let received = 0;

type Answer = readonly [status: number, body: string];

const refuse = (status: number, message: string): Answer => [status, JSON.stringify({ message })];

/** Status and body of the answer to one request; never rejects. */
async function answer(request: IncomingMessage): Promise<Answer> {
  if (request.method !== 'POST' || request.url?.split('?')[0] !== '/convert')
    return refuse(404, 'known: POST /convert');
  const tooLarge = refuse(413, `more than ${LARGEST_REVIEW} bytes`);
  if (Number(request.headers['content-length'] ?? 0) > LARGEST_REVIEW) return tooLarge;
  const chunks: Buffer[] = [];
  let size = 0;
  try {
    for await (const chunk of request as AsyncIterable<Buffer>) {
      size += chunk.length;
      received += chunk.length;
      if (size > LARGEST_REVIEW) return tooLarge;
      if (received > MOST_RECEIVED) return refuse(503, 'too many reviews at a time');
      chunks.push(chunk);
    }
    const review = answerConversionReview(JSON.parse(Buffer.concat(chunks).toString('utf8')));
    return review === undefined
      ? refuse(400, 'the body is no ConversionReview')
      : [200, JSON.stringify(review)];
  } catch (error) {
    return refuse(400, errorText(error));
  } finally {
    received -= size;
  }
}

const { host, port, identity } = workerData as ServerData;
// oxlint-disable-next-line unicorn/require-post-message-target-origin -- a port of a thread has no origin
const say = (message: ServerMessage): void => parentPort?.postMessage(message);
const server = createServer(
  { cert: identity.certificate, key: identity.key, handshakeTimeout: LIMITS.handshake },
  (request, response) => {
    request.on('error', () => undefined);
    void answer(request).then(([status, body]) => {
      // What is still being sent is not read.
      const isRead = request.complete;
      response.writeHead(status, {
        'content-type': 'application/json',
        ...(isRead ? {} : { connection: 'close' }),
      });
      response.end(body, () => {
        if (!isRead) request.destroy();
      });
      return undefined;
    });
  },
);
server.headersTimeout = LIMITS.headers;
server.requestTimeout = LIMITS.request;
server.timeout = LIMITS.request;
limitConnections(server, MOST_CONNECTIONS);
server.on('error', ({ message }) => say({ kind: 'failed', message }));
server.listen(port, host, () =>
  say({ kind: 'listening', port: (server.address() as AddressInfo).port }),
);
parentPort?.on('message', ({ certificate, key }: TlsIdentity) =>
  server.setSecureContext({ cert: certificate, key }),
);
