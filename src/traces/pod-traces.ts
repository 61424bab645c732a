/** Spans of pods' ways through Heddle, for those whose traces are recorded. */
import { randomBytes } from 'node:crypto';
import type { KubeObject } from '../api/objects.ts';
import { clipped, visibleText } from '../api/visible-text.ts';
import { isRecorded, podTrace, type PodTrace } from './pod-trace.ts';
import type { Span, SpanAttributes } from './span.ts';
import type { Stage } from './stages.ts';
import { WallClock } from './wall-clock.ts';

export interface PodTracesOptions {
  /** Part of the traces that is recorded, from 0 to 1. */
  readonly ratio: number;
  readonly send: (span: Span) => void;
  readonly clock?: WallClock;
  /** Of a span: 16 hexadecimal digits. */
  readonly newId?: () => string;
}

/** Name of the span that all others of a pod are below. */
const POD_START = 'pod start';

/** Characters of an attribute. */
const LONGEST_VALUE = 300;

export class PodTraces {
  readonly #options: PodTracesOptions;
  readonly #clock: WallClock;
  readonly #newId: () => string;

  constructor(options: PodTracesOptions) {
    this.#options = options;
    this.#clock = options.clock ?? new WallClock();
    this.#newId = options.newId ?? ((): string => randomBytes(8).toString('hex'));
  }

  /** Whether spans of the pod are sent. */
  isRecorded(pod: KubeObject): boolean {
    return this.#traceOf(pod) !== undefined;
  }

  /** A stage of the pod's way, with what is below it. */
  record(pod: KubeObject, stage: Stage): void {
    const trace = this.#traceOf(pod);
    if (trace !== undefined) this.#send(trace.traceId, trace.rootId, attributesOf(pod), stage);
  }

  /**
   * The way as a whole, once for a pod: from when the pod was made, as its object says to the second, or from `seen`, until its interfaces work.
   * `seen` and `end` in milliseconds of the monotonic clock.
   */
  recordStart(pod: KubeObject, seen: number, end: number): void {
    const trace = this.#traceOf(pod);
    if (trace === undefined) return;
    const made = Date.parse(pod.metadata.creationTimestamp ?? '');
    const since = this.#clock.at(seen);
    this.#options.send({
      traceId: trace.traceId,
      spanId: trace.rootId,
      ...(trace.parentId === undefined ? {} : { parentId: trace.parentId }),
      name: POD_START,
      kind: 'internal',
      // A clock may be off.
      start: made < since ? made : since,
      end: this.#clock.at(end),
      attributes: attributesOf(pod),
    });
  }

  #traceOf({ metadata }: KubeObject): PodTrace | undefined {
    const trace = podTrace(metadata);
    return trace !== undefined && isRecorded(trace, this.#options.ratio) ? trace : undefined;
  }

  #send(
    traceId: string,
    parentId: string,
    ofPod: SpanAttributes,
    { name, start, end, kind = 'internal', attributes = {}, error, stages = [] }: Stage,
  ): void {
    const spanId = this.#newId();
    this.#options.send({
      traceId,
      spanId,
      parentId,
      name,
      kind,
      start: this.#clock.at(start),
      end: this.#clock.at(end),
      attributes: { ...ofPod, ...shown(attributes) },
      ...(error === undefined ? {} : { error }),
    });
    for (const stage of stages) this.#send(traceId, spanId, ofPod, stage);
  }
}

/** Names as OpenTelemetry has them (semantic conventions, Kubernetes). */
function attributesOf({ metadata }: KubeObject): SpanAttributes {
  const { namespace = '', name, uid = '' } = metadata;
  return shown({ 'k8s.namespace.name': namespace, 'k8s.pod.name': name, 'k8s.pod.uid': uid });
}

/** Texts may be anybody's. */
function shown(attributes: SpanAttributes): SpanAttributes {
  const text = (value: string): string => clipped(visibleText(value), LONGEST_VALUE);
  return Object.fromEntries(
    Object.entries(attributes).map(([key, value]) => [
      key,
      typeof value === 'string' ? text(value) : value.map(text),
    ]),
  );
}
