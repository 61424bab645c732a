/** Spans as OTLP over HTTP has them in JSON (opentelemetry-proto 1.x, trace/v1), and what a collector answers. Pure. */
import { own, isPlainObject } from '../api/plain-object.ts';
import type { Span, SpanAttributes } from './span.ts';

/** Who sends: `service.name` and others. */
export type Resource = Readonly<Record<string, string>>;

/** `SpanKind`. */
const KINDS: Readonly<Record<Span['kind'], number>> = { internal: 1, server: 2 };
/** `Status.StatusCode`. */
const UNSET = 0;
const ERROR = 2;
/** Flags of W3C Trace Context. */
const SAMPLED = 1;

/** The body of a request. */
export const traceRequest = (
  spans: readonly Span[],
  resource: Resource,
  scope: { readonly name: string; readonly version: string },
): string =>
  JSON.stringify({
    resourceSpans: [
      {
        resource: { attributes: keyValues(resource) },
        scopeSpans: [{ scope, spans: spans.map(spanJson) }],
      },
    ],
  });

/** How many spans a collector did not take, by the body of an answer that says that all is well. */
export function rejectedSpans(body: string): number {
  let answer: unknown;
  try {
    answer = JSON.parse(body);
  } catch {
    return 0; // nothing, or a proxy's page: the status counts
  }
  const partial = isPlainObject(answer) ? own(answer, 'partialSuccess') : undefined;
  // JSON of Protocol Buffers has 64-bit numbers as texts.
  const rejected = Number(isPlainObject(partial) ? (own(partial, 'rejectedSpans') ?? 0) : 0);
  return Number.isSafeInteger(rejected) && rejected > 0 ? rejected : 0;
}

function spanJson(span: Span): object {
  const { traceId, spanId, parentId, name, kind, start, end, attributes, error } = span;
  return {
    traceId,
    spanId,
    ...(parentId === undefined ? {} : { parentSpanId: parentId }),
    name,
    kind: KINDS[kind],
    startTimeUnixNano: nanoseconds(start),
    endTimeUnixNano: nanoseconds(end),
    attributes: keyValues(attributes),
    status: error === undefined ? { code: UNSET } : { code: ERROR, message: error },
    flags: SAMPLED,
  };
}

const keyValues = (attributes: SpanAttributes): readonly object[] =>
  Object.entries(attributes).map(([key, value]) => ({
    key,
    value:
      typeof value === 'string'
        ? { stringValue: value }
        : { arrayValue: { values: value.map((stringValue) => ({ stringValue })) } },
  }));

/** Nanoseconds since 1970 have more digits than a number: those of its whole milliseconds come apart. */
function nanoseconds(milliseconds: number): string {
  const whole = Math.floor(milliseconds);
  return String(BigInt(whole) * 1_000_000n + BigInt(Math.round((milliseconds - whole) * 1e6)));
}
