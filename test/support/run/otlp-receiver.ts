/** Takes spans as a collector of OpenTelemetry does, by OTLP over HTTP with JSON; or is away, slow or hostile. */
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { once } from 'node:events';
import { text } from 'node:stream/consumers';

export interface ReceivedSpan {
  readonly traceId: string;
  readonly spanId: string;
  readonly parentSpanId?: string;
  readonly name: string;
  /** 1 internal, 2 server. */
  readonly kind: number;
  /** Nanoseconds since 1970. */
  readonly start: bigint;
  readonly end: bigint;
  readonly attributes: Readonly<Record<string, unknown>>;
  readonly error?: string;
  /** `service.name` of the sender. */
  readonly service: unknown;
}

/**
 * `take`: as it should be. `part`: but for one span. `hang`: never answers. `drip`: answers without an end, a byte at a time. `refuse`: 403. `redirect`: to
 * itself. `flood`: an answer of many bytes.
 */
type Behaviour = 'take' | 'part' | 'hang' | 'drip' | 'refuse' | 'redirect' | 'flood';

interface KeyValue {
  readonly key: string;
  readonly value: {
    readonly stringValue?: string;
    readonly arrayValue?: { readonly values: readonly { readonly stringValue: string }[] };
  };
}

export class OtlpReceiver implements AsyncDisposable {
  behaviour: Behaviour = 'take';
  /** Called when a request has come. */
  onRequest: () => void = () => undefined;
  requests = 0;
  readonly spans: ReceivedSpan[] = [];
  /** Of the last request. */
  headers: IncomingMessage['headers'] = {};
  path: string | undefined;
  /** Bytes of the last answer of a flood. */
  written = 0;
  readonly #server: Server;

  private constructor() {
    this.#server = createServer((request, response) => {
      this.#answer(request, response).catch((error: unknown) => {
        response.destroy(error instanceof Error ? error : undefined);
      });
    });
  }

  /** On a port of its own, or on a unix socket. */
  static async start(path?: string): Promise<OtlpReceiver> {
    const receiver = new OtlpReceiver();
    await new Promise<void>((resolve) => {
      if (path === undefined) receiver.#server.listen(0, '127.0.0.1', resolve);
      else receiver.#server.listen(path, resolve);
    });
    return receiver;
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#server.closeAllConnections();
    await new Promise((resolve) => this.#server.close(resolve));
  }

  async #answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    this.requests += 1;
    this.onRequest();
    this.headers = request.headers;
    this.path = request.url;
    const body = await text(request);
    switch (this.behaviour) {
      case 'take':
        this.spans.push(...received(JSON.parse(body)));
        response.writeHead(200, { 'Content-Type': 'application/json' }).end('{}');
        break;
      case 'hang':
        break;
      case 'drip': {
        response.writeHead(200);
        const timer = setInterval(() => response.write(' '), 20);
        response.once('close', () => clearInterval(timer));
        break;
      }
      case 'refuse':
        response.writeHead(403, '[2J').end('\u001b[2J');
        break;
      case 'part':
        response.writeHead(200).end('{"partialSuccess":{"rejectedSpans":"1","errorMessage":"no"}}');
        break;
      case 'redirect':
        response.writeHead(307, { Location: this.url }).end();
        break;
      case 'flood':
        response.writeHead(200);
        response.once('close', () => {
          this.written = request.socket.bytesWritten;
        });
        for (let sent = 0; sent < 64 && !response.destroyed; sent += 1) {
          if (response.write(Buffer.alloc(1024 * 1024))) continue;
          await Promise.race([once(response, 'drain'), once(response, 'close')]);
        }
        response.end();
        break;
    }
  }
}

interface Request {
  readonly resourceSpans: readonly {
    readonly resource: { readonly attributes: readonly KeyValue[] };
    readonly scopeSpans: readonly { readonly spans: readonly SentSpan[] }[];
  }[];
}

interface SentSpan extends Pick<ReceivedSpan, 'traceId' | 'spanId' | 'name' | 'kind'> {
  readonly parentSpanId?: string;
  readonly startTimeUnixNano: string;
  readonly endTimeUnixNano: string;
  readonly attributes: readonly KeyValue[];
  readonly status: { readonly code?: number; readonly message?: string };
}

const valuesOf = (attributes: readonly KeyValue[]): Record<string, unknown> =>
  Object.fromEntries(
    attributes.map(({ key, value: { stringValue, arrayValue } }) => [
      key,
      stringValue ?? arrayValue?.values.map((one) => one.stringValue),
    ]),
  );

function received(body: unknown): ReceivedSpan[] {
  return (body as Request).resourceSpans.flatMap(({ resource, scopeSpans }) =>
    scopeSpans.flatMap(({ spans }) =>
      spans.map(({ traceId, spanId, parentSpanId, name, kind, attributes, status, ...times }) => ({
        traceId,
        spanId,
        ...(parentSpanId === undefined ? {} : { parentSpanId }),
        name,
        kind,
        start: BigInt(times.startTimeUnixNano),
        end: BigInt(times.endTimeUnixNano),
        attributes: valuesOf(attributes),
        ...(status.code === 2 ? { error: status.message ?? '' } : {}),
        service: valuesOf(resource.attributes)['service.name'],
      })),
    ),
  );
}
