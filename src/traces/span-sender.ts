/** Sends spans to a collector, by OTLP over HTTP. They wait in a queue of bounded length, and nobody waits for them. */
import { request as httpRequest } from 'node:http';
import { request as httpsRequest } from 'node:https';
import { rejectedSpans, traceRequest, type Resource } from './otlp-json.ts';
import type { Span } from './span.ts';

export interface SpanSenderOptions {
  /** With the path. */
  readonly endpoint: URL;
  readonly resource: Resource;
  readonly version: string;
  /** Called with spans that the collector took; that were one too many; or that it did not take, with the reason. */
  readonly onEnd: (outcome: SpanOutcome, spans: number, why?: unknown) => void;
  readonly limits?: Partial<SenderLimits>;
}

export const SPAN_OUTCOMES = ['sent', 'dropped', 'failed'] as const;
type SpanOutcome = (typeof SPAN_OUTCOMES)[number];

interface SenderLimits {
  /** Spans that wait. */
  readonly waiting: number;
  /** Spans of a request. */
  readonly batch: number;
  /** Milliseconds for which spans wait for others. */
  readonly delay: number;
  /** Milliseconds for a request, to the end of its answer. */
  readonly request: number;
  /** Milliseconds for all that is left when the process ends. */
  readonly end: number;
}

/** What waits is some hundred starts of pods, and 2 MB. */
const LIMITS: SenderLimits = {
  waiting: 2048,
  batch: 512,
  delay: 2000,
  request: 10_000,
  end: 2000,
};

/** Bytes of an answer that are read: a collector says in some hundred what it did not take. */
const MOST_ANSWER = 65_536;

export class SpanSender implements AsyncDisposable {
  readonly #options: SpanSenderOptions;
  readonly #limits: SenderLimits;
  readonly #stop = new AbortController();
  #queue: Span[] = [];
  #timer: NodeJS.Timeout | undefined;
  /** Resolves when nothing is under way. */
  #sending: Promise<void> | undefined;

  constructor(options: SpanSenderOptions) {
    this.#options = options;
    this.#limits = { ...LIMITS, ...options.limits };
  }

  /** Returns at once. */
  send(span: Span): void {
    if (this.#queue.length >= this.#limits.waiting) {
      this.#options.onEnd('dropped', 1);
      return;
    }
    this.#queue.push(span);
    this.#soon();
  }

  /** Sends what waits, if that does not take long. */
  async [Symbol.asyncDispose](): Promise<void> {
    clearTimeout(this.#timer);
    const limit = setTimeout(() => this.#stop.abort(), this.#limits.end);
    await this.#sending;
    while (this.#queue.length > 0) await this.#sendBatch();
    clearTimeout(limit);
  }

  #soon(): void {
    if (this.#timer !== undefined || this.#sending !== undefined) return;
    this.#timer = setTimeout(() => {
      this.#timer = undefined;
      this.#sending = this.#sendBatch().finally(() => {
        this.#sending = undefined;
        if (this.#queue.length > 0) this.#soon();
      });
    }, this.#limits.delay);
    this.#timer.unref();
  }

  /** Of what a collector does not take nothing is kept: it may be what it does not take that it fails at. */
  async #sendBatch(): Promise<void> {
    const { endpoint, resource, version, onEnd } = this.#options;
    const spans = this.#queue.splice(0, this.#limits.batch);
    const signal = AbortSignal.any([AbortSignal.timeout(this.#limits.request), this.#stop.signal]);
    try {
      const answer = await post(
        endpoint,
        traceRequest(spans, resource, { name: 'heddle', version }),
        signal,
      );
      const rejected = Math.min(rejectedSpans(answer), spans.length);
      if (spans.length > rejected) onEnd('sent', spans.length - rejected);
      if (rejected > 0) onEnd('failed', rejected, new Error('the collector refused some of them'));
    } catch (error) {
      onEnd('failed', spans.length, error);
    }
  }
}

/** Resolves with the answer, as far as it is read; rejects for one that is no success, and when `signal` aborts. A redirection is none. */
async function post(endpoint: URL, body: string, signal: AbortSignal): Promise<string> {
  signal.throwIfAborted();
  const { promise, resolve, reject } = Promise.withResolvers<string>();
  const request = (endpoint.protocol === 'https:' ? httpsRequest : httpRequest)(
    endpoint,
    {
      method: 'POST',
      agent: false,
      headers: {
        'Content-Type': 'application/json',
        'Content-Length': Buffer.byteLength(body),
      },
      signal,
    },
    (response) => {
      const { statusCode = 0 } = response;
      if (statusCode < 200 || statusCode > 299) {
        reject(new Error(`the collector answers with status ${statusCode}`));
        response.destroy();
        return;
      }
      let text = '';
      response.setEncoding('utf8');
      response.on('data', (piece: string) => {
        text += piece;
        if (text.length < MOST_ANSWER) return;
        resolve('');
        response.destroy();
      });
      response.on('end', () => resolve(text));
      response.on('error', reject);
    },
  );
  request.on('error', reject);
  request.end(body);
  return promise;
}
