/**
 * The handshake with the data plane (ovn-nb(5), NB_Global): after a commit `nb_cfg` is raised; ovn-northd copies it
 * to `sb_cfg` once the Southbound database is written, and `hv_cfg` is what every chassis has reached.
 */
import type { Operation, ReplicaView, Transactor } from 'ovsdb-client-ts';

export interface ConfigurationSequence {
  /** `nb_cfg`: raised with each change. */
  readonly configured: number;
  /** What ovn-northd and every chassis have reached. */
  readonly reached: number;
}

/** Who has to answer: ovn-northd, and then ovn-controller of the chassis. */
export interface Answers extends ConfigurationSequence {
  /** `sb_cfg` */
  readonly northd: number;
  /** `hv_cfg` */
  readonly chassis: number;
}

/** Columns of NB_Global that hold the sequence numbers. */
export const CONFIRMATION_COLUMNS = ['nb_cfg', 'sb_cfg', 'hv_cfg'] as const;

const ZERO: Answers = { configured: 0, reached: 0, northd: 0, chassis: 0 };

/** The sequence numbers as the replica shows them; zero before NB_Global exists. */
export function configurationSequence(replica: ReplicaView): Answers {
  if (!replica.hasTable('NB_Global')) return ZERO;
  const [row] = replica.rows('NB_Global');
  if (row === undefined) return ZERO;
  const number = (column: (typeof CONFIRMATION_COLUMNS)[number]): number =>
    Number(row.column(column));
  const [northd, chassis] = [number('sb_cfg'), number('hv_cfg')];
  return { configured: number('nb_cfg'), reached: Math.min(northd, chassis), northd, chassis };
}

/**
 * Inserts the single row of NB_Global where a new database has none yet. When another writer was first, the `wait` does not
 * match: that is success as well.
 */
export const createGlobalRow: readonly Operation[] = [
  {
    op: 'wait',
    table: 'NB_Global',
    where: [],
    columns: ['name'],
    until: '==',
    rows: [],
    timeout: 0,
  },
  { op: 'insert', table: 'NB_Global', row: {} },
];

/**
 * Raises `nb_cfg` and returns the number to wait for, which is read in the same transaction: others raise it too.
 * Undefined when the database could not take it now; the caller tries again later.
 */
export async function raiseConfiguration(
  database: Transactor,
  signal: AbortSignal,
): Promise<number | undefined> {
  const outcome = await database.transact(
    [
      { op: 'mutate', table: 'NB_Global', where: [], mutations: [['nb_cfg', '+=', 1]] },
      { op: 'select', table: 'NB_Global', where: [], columns: ['nb_cfg'] },
    ],
    { signal },
  );
  if (outcome.kind !== 'success') return undefined;
  const value = outcome.results[1]?.rows?.[0]?.['nb_cfg'];
  return typeof value === 'number' ? value : undefined;
}
