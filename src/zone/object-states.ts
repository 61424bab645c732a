/** The objects that are not as they should be on a node, of any kind, each with one state. Pure. */
import { isObjectName } from '../api/zone-objects.ts';
import type { ZoneObjectState, ZoneProblem } from '../api/zone-status.ts';

export interface StateSources {
  readonly problems: readonly ZoneProblem[];
  /** Those of them that are over as soon as something is allocated. */
  readonly waiting: readonly ZoneProblem[];
  /** How far networks and connections are, with the objects that they are there for. */
  readonly progress: readonly {
    readonly object: string;
    readonly state: string;
    readonly message?: string;
  }[];
}

/** Of what fails and waits it fails. Rows, units and databases are no objects; who looks for them finds them among the problems. */
export function objectStates({
  problems,
  waiting,
  progress,
}: StateSources): readonly ZoneObjectState[] {
  const isWaiting = new Set(waiting.map(({ object, message }) => `${object} ${message}`));
  const found = [
    ...problems.map(({ object, message }) => ({
      object,
      message,
      state: isWaiting.has(`${object} ${message}`) ? ('Pending' as const) : ('Failed' as const),
    })),
    ...progress.flatMap(({ object, state, message = '' }) =>
      state === 'Failed' || state === 'Pending' ? [{ object, state, message } as const] : [],
    ),
  ];
  const byObject = Map.groupBy(
    found.filter(({ object }) => isObjectName(object)),
    ({ object }) => object,
  );
  return [...byObject].map(([object, entries]) => {
    const failed = entries.filter(({ state }) => state === 'Failed');
    const counting = failed.length > 0 ? failed : entries;
    const messages = new Set(counting.map(({ message }) => message).filter((text) => text !== ''));
    return {
      object,
      state: failed.length > 0 ? 'Failed' : 'Pending',
      message: [...messages].join('; '),
    };
  });
}
