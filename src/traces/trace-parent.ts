/** W3C Trace Context, `traceparent`: the trace that a pod's maker wants its start to be part of. Pure. */

/** Annotation of an object whose handling is part of somebody's trace. */
export const TRACE_PARENT = 'tracing.k8s.io/traceparent';

export interface TraceParent {
  /** 32 hexadecimal digits, not all 0. */
  readonly traceId: string;
  /** 16 hexadecimal digits, not all 0: the span above. */
  readonly spanId: string;
  /** Whether the span above is recorded. */
  readonly isSampled: boolean;
}

const FORM = /^([0-9a-f]{2})-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})(-[\x20-\x7e]*)?$/;
/** Version 00 has 55 characters; what a later one adds is not read, and an annotation may have 256 KiB. */
const LONGEST = 512;
const SAMPLED = 1;

/** Undefined for text that is no valid traceparent: then there is none. */
export function parseTraceParent(text: string): TraceParent | undefined {
  if (text.length > LONGEST) return undefined;
  const [, version, traceId = '', spanId = '', flags = '', rest] = FORM.exec(text) ?? [];
  if (version === undefined || version === 'ff' || (version === '00' && rest !== undefined))
    return undefined;
  if (/^0+$/.test(traceId) || /^0+$/.test(spanId)) return undefined;
  return { traceId, spanId, isSampled: (Number.parseInt(flags, 16) & SAMPLED) !== 0 };
}
