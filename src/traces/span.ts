/** A span as it is sent. */

export interface Span {
  readonly traceId: string;
  readonly spanId: string;
  readonly parentId?: string;
  /** One of few. */
  readonly name: string;
  /** `server`: it answers somebody outside. */
  readonly kind: 'server' | 'internal';
  /** Milliseconds since 1970. */
  readonly start: number;
  readonly end: number;
  readonly attributes: SpanAttributes;
  /** Why it failed, if so. */
  readonly error?: string;
}

export type SpanAttributes = Readonly<Record<string, string | readonly string[]>>;
