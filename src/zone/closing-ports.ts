/**
 * Logical ports whose interfaces are still plugged in are closed before they go: of a pod that is deleted by force, or loses its network. Open vSwitch looks at
 * what it cached one by one, so for a moment a packet would pass by what was cached of the port and by what is so of its policies: that they are gone.
 */
import type { Plan } from '../desired/ovsdb/changes.ts';
import { orGiveUp, TimedOutError } from '../process/waiting.ts';
import type { ZoneDatabase } from '../databases/zone-database.ts';
import { configurationSequence, raiseConfiguration } from './confirmation.ts';

const PORTS = 'Logical_Switch_Port';
/** Milliseconds: a data plane that stands still keeps nothing else waiting. */
const LONGEST = 5000;

export interface ClosingPortsOptions {
  readonly northbound: ZoneDatabase;
  /** Whether an interface of a pod is plugged in for the logical port. */
  readonly isPlugged: (logicalPort: string) => boolean;
  /** Resolves when what the datapath cached before is used no more. */
  readonly revalidated: () => Promise<void>;
}

/**
 * Closes ports that a plan deletes, and resolves when the data plane has that. True if there were any: the plan is to be made anew. A database that does not
 * take it does not take the plan either.
 */
export async function closePorts(
  { changes }: Pick<Plan, 'changes'>,
  { northbound, isPlugged, revalidated }: ClosingPortsOptions,
  signal: AbortSignal,
): Promise<boolean> {
  const { replica, transactor, lock } = northbound;
  const plugged = changes
    .filter(({ action, table }) => action === 'delete' && table === PORTS)
    .flatMap(({ uuid }) => replica.row(PORTS, uuid) ?? [])
    .filter((row) => row.column('enabled') !== false && isPlugged(row.column('name') as string));
  if (plugged.length === 0) return false;
  const outcome = await transactor.transact(
    [
      ...(lock === undefined ? [] : [{ op: 'assert', lock } as const]),
      ...plugged.map(({ uuid }) => ({
        op: 'update' as const,
        table: PORTS,
        where: [['_uuid', '==', ['uuid', uuid]] as const],
        row: { enabled: false },
      })),
      { op: 'comment', comment: 'heddle: ports that go' },
    ],
    { signal },
  );
  if (outcome.kind !== 'success') return false;
  const sequence = await raiseConfiguration(transactor, signal);
  if (sequence === undefined) return true;
  const limit = AbortSignal.any([signal, AbortSignal.timeout(LONGEST)]);
  try {
    await orGiveUp(reached(northbound, sequence, limit), limit, 'closed ports');
    await orGiveUp(revalidated(), limit, 'closed ports');
  } catch (error) {
    if (!(error instanceof TimedOutError)) throw error;
  }
  return true;
}

/** Resolves when the data plane has come to `sequence`; after `signal` it does not. */
function reached(
  { replica }: Pick<ZoneDatabase, 'replica'>,
  sequence: number,
  signal: AbortSignal,
): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  const look = (): void => {
    if (configurationSequence(replica).reached < sequence) return;
    stop();
    resolve();
  };
  const stop = replica.subscribe(look, { tables: ['NB_Global'] });
  signal.addEventListener('abort', stop, { once: true });
  look();
  return promise;
}

/** Whether a pod's interface is plugged in for a logical port, as far as the local Open_vSwitch database is known. */
export const hasPodInterface = (
  { replica, isLoaded }: Pick<ZoneDatabase, 'replica' | 'isLoaded'>,
  logicalPort: string,
): boolean =>
  isLoaded?.() !== false &&
  replica
    .find('Interface', [{ column: 'external_ids', key: 'iface-id' }], [logicalPort])
    .some((row) => (row.column('external_ids') as ReadonlyMap<string, string>).has('sandbox'));
