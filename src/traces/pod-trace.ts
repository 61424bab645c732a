/** The trace of a pod's start, which the cluster manager, the daemon of its node and the CNI plugin's server know by the pod alone. Pure. */
import { createHash } from 'node:crypto';
import type { ObjectMeta } from '../api/objects.ts';
import { parseTraceParent, TRACE_PARENT } from './trace-parent.ts';

export interface PodTrace {
  readonly traceId: string;
  /** Of the span that the others are below. */
  readonly rootId: string;
  /** The span above that one, by the pod's annotation. */
  readonly parentId?: string;
  /** What the annotation says of it. */
  readonly isSampled?: boolean;
}

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/;
const NONE = /^0+$/;

const hash = (text: string): string => createHash('sha256').update(text).digest('hex');

/** A UID is as unique as a trace's id has to be: without its dashes it is one, so people find the trace of a pod. */
function traceIdOf(uid: string): string {
  const digits = UUID.test(uid) ? uid.replaceAll('-', '') : '';
  return digits === '' || NONE.test(digits) ? hash(`trace ${uid}`).slice(0, 32) : digits;
}

/** Undefined for a pod without a UID. */
export function podTrace({
  uid = '',
  annotations,
}: Pick<ObjectMeta, 'uid' | 'annotations'>): PodTrace | undefined {
  if (uid === '') return undefined;
  // Pods of one owner may share a trace: their spans differ by the pod.
  const rootId = hash(`pod start ${uid}`).slice(0, 16);
  const parent = parseTraceParent(annotations?.[TRACE_PARENT] ?? '');
  if (parent === undefined) return { traceId: traceIdOf(uid), rootId };
  const { traceId, spanId, isSampled } = parent;
  return { traceId, rootId, parentId: spanId, isSampled };
}

/** Bits of a trace's id that are taken for its lot. */
const LOT_DIGITS = 13;
const LOTS = 16 ** LOT_DIGITS;

/** Whether spans of it are sent, where `ratio` of all traces are: decided by its id, so everywhere alike. A trace that somebody else began is as they decided. */
export const isRecorded = ({ traceId, isSampled }: PodTrace, ratio: number): boolean =>
  isSampled ?? Number.parseInt(traceId.slice(-LOT_DIGITS), 16) < ratio * LOTS;
