/**
 * Says which rows somebody else had changed, and who, once they are right again: in the log, by events of the node and of the objects that the rows are there
 * for, and in metrics. What comes soon after a report waits for the next one, so that two who fight fill nothing.
 */
import type { ObjectEvent } from '../store/store.ts';
import type { KubeObject } from '../api/objects.ts';
import type { Logger } from '../process/logger.ts';
import type { RepairedRow } from '../views/repair-text.ts';

export interface Repair {
  /** Northbound, Open_vSwitch, nftables … */
  readonly database: string;
  readonly rows: readonly RepairedRow[];
  /** Programs that changed something, as far as that is known. */
  readonly by?: readonly string[];
}

export interface DriftReportsOptions {
  readonly node: string;
  readonly log: Logger;
  /** The object of a name, `Kind namespace/name`; undefined where it is gone, or not known here. */
  readonly objectOf: (name: string) => KubeObject | undefined;
  readonly emit: (event: ObjectEvent) => void;
  /** Called for each table with how many of its rows were put right. */
  readonly onRepaired: (database: string, table: string, rows: number) => void;
}

/** Milliseconds between two reports of one database. */
export const REPORT_AFTER = 10_000;
/** So many rows are named, the others counted. */
const NAMED_IN_LOG = 10;
const NAMED_IN_EVENT = 3;
/** So many objects are told by an event of their own. */
const TOLD = 5;

interface Collected {
  rows: RepairedRow[];
  count: number;
  readonly by: Set<string>;
  timer: NodeJS.Timeout;
}

export class DriftReports implements Disposable {
  readonly #options: DriftReportsOptions;
  /** Databases that were reported of lately, with what came since. */
  readonly #collected = new Map<string, Collected>();

  constructor(options: DriftReportsOptions) {
    this.#options = options;
  }

  take({ database, rows, by = [] }: Repair): void {
    if (rows.length === 0) return;
    for (const [table, { length }] of Map.groupBy(rows, (row) => row.table))
      this.#options.onRepaired(database, table, length);
    const collected = this.#collected.get(database);
    if (collected === undefined) {
      this.#collected.set(database, this.#begin(database));
      this.#report(database, rows, rows.length, by);
      return;
    }
    collected.count += rows.length;
    for (const one of by) if (collected.by.size < TOLD) collected.by.add(one);
    collected.rows.push(...rows.slice(0, NAMED_IN_LOG - collected.rows.length));
  }

  [Symbol.dispose](): void {
    for (const { timer } of this.#collected.values()) clearTimeout(timer);
    this.#collected.clear();
  }

  #begin(database: string): Collected {
    const timer = setTimeout(() => this.#next(database), REPORT_AFTER).unref();
    return { rows: [], count: 0, by: new Set(), timer };
  }

  #next(database: string): void {
    const collected = this.#collected.get(database);
    this.#collected.delete(database);
    if (collected === undefined || collected.count === 0) return;
    this.#collected.set(database, this.#begin(database));
    this.#report(database, collected.rows, collected.count, [...collected.by]);
  }

  #report(
    database: string,
    rows: readonly RepairedRow[],
    count: number,
    by: readonly string[],
  ): void {
    const { node, log, objectOf } = this.#options;
    const texts = rows.map(({ text }) => text);
    const who = by.length === 0 ? 'somebody else' : by.join(', ');
    log.warn(
      { component: 'drift', database, count, rows: texts.slice(0, NAMED_IN_LOG), by: who },
      `${what(database, count)} had been changed by ${who}, and ${count === 1 ? 'is' : 'are'} put right`,
    );
    // A process has another number each time: an event says the same again.
    const programs = [...new Set(by.map((one) => one.replace(/^(.+) \(process \d+\)$|.+/, '$1')))];
    const known = programs.filter((name) => name !== '').join(', ');
    const tell = (name: string, all: readonly RepairedRow[], total: number): void => {
      const regarding = objectOf(name);
      if (regarding === undefined) return;
      this.#options.emit({
        regarding,
        type: 'Warning',
        reason: 'DriftRepaired',
        message: `node ${node}: ${what(database, total)} had been changed by ${known === '' ? 'somebody else' : known}, and ${total === 1 ? 'is' : 'are'} put right: ${shown(all, total)}`,
      });
    };
    tell(`Node ${node}`, rows, count);
    const objects = Map.groupBy(rows, ({ object }) => object ?? '');
    for (const [object, own] of [...objects].slice(0, TOLD))
      if (object !== '' && object !== `Node ${node}`) tell(object, own, own.length);
  }
}

const what = (database: string, count: number): string =>
  `${count} ${count === 1 ? 'row' : 'rows'} of ${database}`;

function shown(rows: readonly RepairedRow[], total: number): string {
  const named = rows.slice(0, NAMED_IN_EVENT);
  const more = total - named.length;
  return named.map(({ text }) => text).join('; ') + (more === 0 ? '' : `; and ${more} more`);
}
