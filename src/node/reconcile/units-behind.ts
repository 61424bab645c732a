/** Which units want something of the host that no pass has looked at yet: units are built while a pass over the host is under way. */
import type { RowTarget } from '../../desired/engine.ts';
import { problemOf, type HostProblem } from './host-plan.ts';

export class UnitsBehind {
  /** By unit: the pass before whose end it can't be done. */
  readonly #units = new Map<string, number>();
  #pass = 0;

  /** The same target; what is wanted of it is noted. */
  note(target: RowTarget): RowTarget {
    return {
      database: target.database,
      has: (owner) => target.has(owner),
      set: (owner, rows) => {
        this.#units.set(owner.id, this.#pass + 1);
        target.set(owner, rows);
      },
    };
  }

  get isAny(): boolean {
    return this.#units.size > 0;
  }

  /** A pass begins: what is wanted from now on is for the next one. The returned function is to be called when it has done all. */
  begin(): () => void {
    this.#pass += 1;
    const pass = this.#pass;
    return () => {
      for (const [unit, needed] of this.#units) if (needed <= pass) this.#units.delete(unit);
    };
  }

  /** True for a unit that wants something since the pass that is under way began. */
  isNewer(unit: string): boolean {
    return (this.#units.get(unit) ?? 0) > this.#pass;
  }

  /** What is waited for, by unit: who reports of a unit must not call it done. */
  *awaited(): Iterable<HostProblem> {
    for (const unit of this.#units.keys())
      yield problemOf(
        'awaited',
        { table: 'unit', key: unit, unit, object: undefined },
        'the host of this node is not as this needs it yet: a pass over it is under way, or waits',
      );
  }
}
