import type { PlanTable } from './plan-table.ts';

/** Rows whose keys are to be found anew, each once until it is taken. */
export class IdentifyQueue {
  readonly #waiting: (readonly [PlanTable, string])[] = [];
  readonly #known = new Map<PlanTable, Set<string>>();

  add(table: PlanTable, uuid: string): void {
    let known = this.#known.get(table);
    if (known === undefined) this.#known.set(table, (known = new Set()));
    if (known.has(uuid)) return;
    known.add(uuid);
    this.#waiting.push([table, uuid]);
  }

  take(): readonly [PlanTable, string] | undefined {
    const next = this.#waiting.pop();
    if (next !== undefined) this.#known.get(next[0])?.delete(next[1]);
    return next;
  }
}
