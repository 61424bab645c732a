/** The last changes of this daemon, in memory: a new one begins anew. */
import { SETTINGS } from '../desired/rows.ts';
import type { ChangeCounts, NodeChange, NodeChanges } from '../views/node-changes.ts';
import type { Repair } from './drift-reports.ts';

/** So many are kept of either kind: what a busy node writes does not push out what somebody else did. */
const KEPT = 200;
/** So many objects of one change are named, and so many rows of drift. */
const NAMED = 8;

/** A row of a plan of a database or of the host. */
export interface WrittenRow {
  readonly action: 'insert' | 'update' | 'delete' | 'add' | 'change' | 'remove';
  readonly object: string | undefined;
}

const COUNTED: Readonly<Record<WrittenRow['action'], keyof ChangeCounts>> = {
  insert: 'added',
  add: 'added',
  update: 'changed',
  change: 'changed',
  delete: 'removed',
  remove: 'removed',
};

export class ChangeRecord {
  readonly #now: () => Date;
  readonly #since: Date;
  #count = 0;
  readonly #kept: Readonly<Record<NodeChange['kind'], NodeChange[]>> = { wrote: [], drift: [] };

  constructor(now: () => Date = () => new Date()) {
    this.#now = now;
    this.#since = now();
  }

  /** What the daemon wrote of its own accord. */
  wrote(database: string, rows: readonly WrittenRow[]): void {
    this.#note('wrote', database, rows, {});
  }

  /** What it put right. */
  repaired({ database, rows, by = [] }: Repair, actions: readonly WrittenRow[]): void {
    const texts = rows.slice(0, NAMED).map(({ text }) => text);
    this.#note('drift', database, actions, { rows: texts, by });
  }

  #note(
    kind: NodeChange['kind'],
    database: string,
    rows: readonly WrittenRow[],
    further: Pick<NodeChange, 'rows' | 'by'>,
  ): void {
    if (rows.length === 0) return;
    const counts = { added: 0, changed: 0, removed: 0 };
    const byObject = new Map<string, number>();
    for (const { action, object } of rows) {
      counts[COUNTED[action]] += 1;
      if (object !== undefined && object !== SETTINGS)
        byObject.set(object, (byObject.get(object) ?? 0) + 1);
    }
    const objects = [...byObject]
      .map(([object, count]) => ({ object, rows: count }))
      .toSorted((a, b) => b.rows - a.rows);
    const kept = this.#kept[kind];
    kept.push({
      at: this.#now().toISOString(),
      kind,
      database,
      ...counts,
      objects: objects.slice(0, NAMED),
      more: Math.max(0, objects.length - NAMED),
      ...further,
    });
    if (kept.length > KEPT) kept.shift();
    this.#count += 1;
  }

  report(node: string): NodeChanges {
    const { wrote, drift } = this.#kept;
    // Those of one moment stay in the order in which they came.
    const changes = [...wrote, ...drift].toSorted((a, b) =>
      a.at < b.at ? -1 : a.at > b.at ? 1 : 0,
    );
    return {
      node,
      since: this.#since.toISOString(),
      count: this.#count,
      changes: changes.toReversed(),
    };
  }
}
