/** HTTP to a Kubernetes API server: one request, one answer or one stream of lines, errors in the store's words. */
import { Agent as HttpAgent, request as httpRequest, type IncomingMessage } from 'node:http';
import { Agent as HttpsAgent, request as httpsRequest } from 'node:https';
import { createHash } from 'node:crypto';
import { TLSSocket } from 'node:tls';
import { isJsonObject, type JsonObject } from '../json.ts';
import type { Credentials, KubernetesConnection, TlsIdentity } from './kubernetes-connection.ts';
import { StoreError, type StoreErrorCode } from '../store.ts';
import { beforeHandshake, unknownCredentials, whyUnanswered } from './refused-server.ts';

export interface ApiRequest {
  readonly method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
  /** Below the server's URL, `/api/v1/namespaces/a/pods`. Segments are encoded already. */
  readonly path: string;
  readonly query?: Readonly<Record<string, string | undefined>>;
  readonly body?: unknown;
  readonly contentType?: string;
  readonly signal?: AbortSignal | undefined;
  /** What the request is about, for messages: `UserDefinedNetwork tenant-a/blue`. */
  readonly about: string;
}

export interface StreamHandlers {
  /** The server has agreed to answer. */
  readonly onOpen: () => void;
  readonly onLine: (line: string) => void;
}

/** The server's refusal, beside the store's code. */
export class ApiError extends StoreError {
  readonly status: number;
  /** `Conflict`, `Expired`, …; empty when the answer was no Status object. */
  readonly reason: string;
  /** Milliseconds after which the server wants to be asked again, if it says so. */
  readonly retryAfter: number | undefined;

  constructor(code: StoreErrorCode, message: string, answer: Answer) {
    super(code, message);
    this.name = 'ApiError';
    this.status = answer.status;
    this.reason = answer.reason;
    this.retryAfter = answer.retryAfter;
  }
}

interface Answer {
  readonly status: number;
  readonly reason: string;
  readonly retryAfter?: number | undefined;
}

/** True when the version or page token that a list or watch continued from is too old: read everything again. */
export const isExpired = (error: unknown): boolean =>
  error instanceof ApiError && (error.status === 410 || error.reason === 'Expired');

/** True when the network had an error in place of an answer: nobody listens, or what stands before the server closed the connection. */
export const isUnanswered = (error: unknown): boolean =>
  error instanceof StoreError &&
  error.cause instanceof Error &&
  'code' in error.cause &&
  ['ECONNREFUSED', 'ECONNRESET', 'EPIPE'].includes(String(error.cause.code));

/** Milliseconds for a whole answer; a stream is limited by silence instead. */
const ANSWER_LIMIT = 60_000;
const CONNECT_LIMIT = 15_000;

/** Milliseconds for which credentials are cached; when the server refuses them they are read again at once. */
const CREDENTIALS_LIFE = 1000;

export class KubernetesClient {
  readonly #connection: KubernetesConnection;
  readonly #agents = new Map<string, HttpAgent>();
  readonly #userAgent: string;
  #known: { readonly since: number; readonly value: Promise<Credentials> } | undefined;
  readonly #identities = new WeakMap<TlsIdentity, string>();

  constructor(connection: KubernetesConnection, userAgent: string) {
    this.#connection = connection;
    this.#userAgent = userAgent;
  }

  get server(): string {
    return this.#connection.server;
  }

  /** The answer's object; rejects with an ApiError or, when the server can't be reached, an `unavailable` StoreError. */
  async send(request: ApiRequest): Promise<JsonObject> {
    const limit = AbortSignal.timeout(ANSWER_LIMIT);
    const signal = request.signal === undefined ? limit : AbortSignal.any([request.signal, limit]);
    try {
      const response = await this.#open({ ...request, signal });
      const value: unknown = JSON.parse(await textOf(response));
      if (isJsonObject(value)) return value;
      throw new StoreError('unavailable', `${request.about}: the answer is not an object`);
    } catch (error) {
      throw this.#explain(request, error, limit);
    }
  }

  /**
   * Calls `onLine` for every line that the server sends until it ends the answer. Rejects with what a handler throws, when the server
   * was silent for `silence` milliseconds, when the connection broke, or when `signal` aborted.
   */
  async stream(
    request: ApiRequest & { readonly signal: AbortSignal },
    silence: number,
    { onOpen, onLine }: StreamHandlers,
  ): Promise<void> {
    let listenerFailure: { readonly error: unknown } | undefined;
    const call = (run: () => void): void => {
      try {
        run();
      } catch (error) {
        listenerFailure = { error };
        throw error;
      }
    };
    const quiet = new AbortController();
    const timer = setTimeout(() => {
      quiet.abort(
        new StoreError('unavailable', `${request.about}: silent for ${silence / 1000} s`),
      );
    }, silence);
    try {
      const signal = AbortSignal.any([request.signal, quiet.signal]);
      const response = await this.#open({ ...request, signal });
      response.setEncoding('utf8');
      call(onOpen);
      let rest = '';
      for await (const chunk of response as AsyncIterable<string>) {
        timer.refresh();
        const lines = (rest + chunk).split('\n');
        rest = lines.pop() ?? '';
        for (const line of lines) if (line !== '') call(() => onLine(line));
      }
    } catch (error) {
      if (listenerFailure !== undefined) throw listenerFailure.error;
      throw this.#explain(request, quiet.signal.aborted ? quiet.signal.reason : error);
    } finally {
      clearTimeout(timer);
    }
  }

  close(): void {
    for (const agent of this.#agents.values()) agent.destroy();
    this.#agents.clear();
  }

  async #open(request: ApiRequest): Promise<IncomingMessage> {
    const first = await this.#credentials(false);
    const response = await this.#once(request, first);
    if (response.statusCode !== 401) return this.#checked(request, response);
    response.resume();
    // A token that was replaced since, or credentials that a plugin must renew.
    const renewed = await this.#credentials(true);
    return this.#checked(request, await this.#once(request, renewed));
  }

  async #checked(request: ApiRequest, response: IncomingMessage): Promise<IncomingMessage> {
    const status = response.statusCode ?? 0;
    if (status >= 200 && status < 300) return response;
    const text = await textOf(response);
    throw refusal(request.about, status, text, {
      retryAfter: response.headers['retry-after'],
      source: this.#connection.source,
    });
  }

  /** Reading the files of the credentials for each request would be much of its cost. */
  #credentials(refused: boolean): Promise<Credentials> {
    const now = performance.now();
    if (!refused && this.#known !== undefined && now - this.#known.since < CREDENTIALS_LIFE)
      return this.#known.value;
    const value = this.#connection.credentials({ refused });
    const known = { since: now, value };
    this.#known = known;
    value.catch(() => {
      if (this.#known === known) this.#known = undefined;
    });
    return value;
  }

  #once(request: ApiRequest, { authorization, tls }: Credentials): Promise<IncomingMessage> {
    const query = new URLSearchParams(
      Object.entries(request.query ?? {}).filter(
        (entry): entry is [string, string] => entry[1] !== undefined,
      ),
    ).toString();
    const url = new URL(
      `${this.#connection.server}${request.path}${query === '' ? '' : `?${query}`}`,
    );
    const body = request.body === undefined ? undefined : JSON.stringify(request.body);
    const send = url.protocol === 'https:' ? httpsRequest : httpRequest;
    return new Promise((resolve, reject) => {
      const outgoing = send(
        url,
        {
          method: request.method,
          agent: this.#agent(url, tls),
          signal: request.signal,
          headers: {
            accept: 'application/json',
            'user-agent': this.#userAgent,
            ...(authorization === undefined ? {} : { authorization }),
            ...(body === undefined
              ? {}
              : {
                  'content-type': request.contentType ?? 'application/json',
                  'content-length': Buffer.byteLength(body),
                }),
          },
        },
        resolve,
      );
      let awaitsHandshake = false;
      outgoing.once('socket', (socket) => {
        awaitsHandshake = socket instanceof TLSSocket && !outgoing.reusedSocket;
        if (awaitsHandshake) socket.once('secureConnect', () => (awaitsHandshake = false));
      });
      outgoing.on('error', (error) => {
        reject(awaitsHandshake ? beforeHandshake(error) : error);
      });
      outgoing.setTimeout(CONNECT_LIMIT, () => {
        if (outgoing.socket?.connecting === true)
          outgoing.destroy(new Error(`no connection within ${CONNECT_LIMIT / 1000} s`));
      });
      outgoing.end(body);
    });
  }

  /** Connections are kept; those made with an identity that is no longer current are let go. */
  #agent(url: URL, tls: TlsIdentity): HttpAgent {
    const identity =
      this.#identities.get(tls) ?? createHash('sha256').update(JSON.stringify(tls)).digest('hex');
    this.#identities.set(tls, identity);
    const existing = this.#agents.get(identity);
    if (existing !== undefined) return existing;
    const keep = { keepAlive: true, keepAliveMsecs: 30_000, maxFreeSockets: 16 };
    const agent =
      url.protocol === 'https:'
        ? new HttpsAgent({
            ...keep,
            ...(tls.ca === undefined ? {} : { ca: tls.ca }),
            ...(tls.certificate === undefined ? {} : { cert: tls.certificate }),
            ...(tls.key === undefined ? {} : { key: tls.key }),
            ...(tls.serverName === undefined ? {} : { servername: tls.serverName }),
            rejectUnauthorized: tls.skipVerification !== true,
          })
        : new HttpAgent(keep);
    // Watches that run on an old one go on until they end.
    this.#agents.clear();
    this.#agents.set(identity, agent);
    return agent;
  }

  #explain(request: ApiRequest, error: unknown, limit?: AbortSignal): unknown {
    if (error instanceof StoreError) return error;
    const aborted = request.signal?.aborted === true && limit?.aborted !== true;
    if (aborted) return request.signal?.reason ?? error;
    const why =
      limit?.aborted === true ? `no answer within ${ANSWER_LIMIT / 1000} s` : whyUnanswered(error);
    return new StoreError(
      'unavailable',
      `${request.about}: ${this.#connection.server} (${this.#connection.source}): ${why}`,
      { cause: error },
    );
  }
}

async function textOf(response: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  for await (const chunk of response as AsyncIterable<Buffer>) chunks.push(chunk);
  return Buffer.concat(chunks).toString('utf8');
}

/** The error for an answer or for a watch's ERROR event; `source`: where the credentials come from. */
export function refusal(
  about: string,
  status: number,
  text: string,
  { retryAfter, source = 'this client' }: { retryAfter?: string | undefined; source?: string } = {},
): ApiError {
  let body: unknown;
  try {
    body = JSON.parse(text);
  } catch {
    body = undefined; // a proxy or load balancer in between says it in its own way
  }
  const object = isJsonObject(body) ? body : {};
  const reason = typeof object['reason'] === 'string' ? object['reason'] : '';
  const message = typeof object['message'] === 'string' ? object['message'] : text.slice(0, 200);
  const seconds = Number(retryAfter);
  const answer = {
    status,
    reason,
    retryAfter: retryAfter !== undefined && seconds >= 0 ? seconds * 1000 : undefined,
  };
  const code = status === 404 ? codeOfMissing(about, object) : codeOf(status, reason);
  const explanation = message.trim() === '' ? `HTTP status ${status}` : message.trim();
  const remedy =
    code === 'not-installed'
      ? '; the API server does not serve this kind: install the CRDs (`kubectl apply -k deploy/`)'
      : code === 'no-namespace'
        ? '; the API server takes no write there while its admission looks for that namespace: create it again, and what is left in it can go'
        : status === 403
          ? '; grant it to this service account or user'
          : status === 401
            ? unknownCredentials(source)
            : '';
  return new ApiError(code, `${about}: ${explanation}${remedy}`, answer);
}

/**
 * What a 404 says is not there: the kind, the object, or the namespace, for which the server's admission asks before a write (k8s.io/apiserver,
 * pkg/admission/plugin/policy/matching and plugin/namespace/lifecycle).
 */
function codeOfMissing(about: string, { details }: JsonObject): StoreErrorCode {
  if (!isJsonObject(details)) return 'not-installed';
  const isOther = details['kind'] === 'namespaces' && !about.startsWith('Namespace ');
  return isOther ? 'no-namespace' : 'not-found';
}

function codeOf(status: number, reason: string): StoreErrorCode {
  switch (status) {
    case 400:
    case 413:
    case 422:
      return 'invalid';
    case 401:
      return 'unauthenticated';
    case 403:
      return 'forbidden';
    case 405:
    case 406:
    case 415:
      return 'not-supported';
    case 409:
      return reason === 'AlreadyExists' ? 'already-exists' : 'conflict';
    default:
      return 'unavailable';
  }
}
