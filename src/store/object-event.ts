/** core/v1 Events: what an object's owner tells its user (`kubectl describe`). */
import { createHash } from 'node:crypto';
import { events } from '../api/kinds.ts';
import type { KubeObject, ResourceKind } from '../api/objects.ts';
import { clipped, visibleText } from '../api/visible-text.ts';
import type { ObjectEvent } from './store.ts';

export interface CoreEvent extends KubeObject {
  readonly involvedObject: {
    readonly apiVersion: string;
    readonly kind: string;
    readonly namespace?: string;
    readonly name: string;
    readonly uid?: string;
  };
  readonly type: 'Normal' | 'Warning';
  readonly reason: string;
  readonly message: string;
  readonly source: { readonly component: string };
  readonly firstTimestamp: string;
  readonly lastTimestamp: string;
  readonly count: number;
}

export const EVENTS = events as ResourceKind<CoreEvent>;

/** The API refuses longer ones. */
const LONGEST_MESSAGE = 1024;

/**
 * The Event object of `event` at its first occurrence. Its name is made of what it says, so that the same event again
 * becomes one more `count` of the same Event. Events of cluster-scoped objects live in `default`, as in Kubernetes.
 */
export function coreEvent(event: ObjectEvent, component: string, now: string): CoreEvent {
  const { apiVersion, kind, metadata } = event.regarding;
  const digest = createHash('sha256')
    .update(JSON.stringify([metadata.uid, event.type, event.reason, event.message, component]))
    .digest('hex')
    .slice(0, 16);
  return {
    apiVersion: 'v1',
    kind: 'Event',
    metadata: {
      name: `${metadata.name.slice(0, 230)}.${digest}`,
      namespace: metadata.namespace ?? 'default',
    },
    involvedObject: {
      apiVersion,
      kind,
      ...(metadata.namespace === undefined ? {} : { namespace: metadata.namespace }),
      name: metadata.name,
      ...(metadata.uid === undefined ? {} : { uid: metadata.uid }),
    },
    type: event.type,
    reason: event.reason,
    message: clipped(visibleText(event.message), LONGEST_MESSAGE),
    source: { component },
    firstTimestamp: now,
    lastTimestamp: now,
    count: 1,
  };
}

/** What one more occurrence changes. */
export const countedAgain = (
  { count }: CoreEvent,
  now: string,
): Pick<CoreEvent, 'count' | 'lastTimestamp'> => ({ count: count + 1, lastTimestamp: now });
