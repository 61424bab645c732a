import type { BaseType } from '../data/column-type.ts';
import type { Operation } from '../data/operation.ts';
import type { DatabaseSchema, TableSchema } from '../data/schema.ts';

/** A set of tables: a bit for each. */
export type Tables = bigint;

/** What a transaction may do besides what its operations say, by tables. */
export interface Effects {
  /** Whose rows it looks for, to tell or to compare them. */
  readonly reads: Tables;
  /** Whose rows it may change, or whose rows have another number of references to them then. */
  readonly touches: Tables;
  /** Whose rows it may remove. */
  readonly removes: Tables;
  /** Of these, whose rows go only at the end of the request: nothing refers to them any more. */
  readonly collects: Tables;
  /** Which may have weak references to rows that it removes. They go at the end, too. */
  readonly weakens: Tables;
  /** Where it writes weak references, which go at the end unless their row is there. */
  readonly dangles: Tables;
}

const NONE: Effects = {
  reads: 0n,
  touches: 0n,
  removes: 0n,
  collects: 0n,
  weakens: 0n,
  dangles: 0n,
};

export const bothEffects = (a: Effects, b: Effects): Effects => ({
  reads: a.reads | b.reads,
  touches: a.touches | b.touches,
  removes: a.removes | b.removes,
  collects: a.collects | b.collects,
  weakens: a.weakens | b.weakens,
  dangles: a.dangles | b.dangles,
});

interface ColumnReferences {
  readonly strong: Tables;
  readonly weak: Tables;
}

/** One table, in view of references. */
interface Node {
  readonly bit: Tables;
  readonly isRoot: boolean;
  /** Columns that refer to rows. */
  readonly columns: ReadonlyMap<string, ColumnReferences>;
  readonly strong: Tables;
  readonly weak: Tables;
  /** Tables whose rows may go when one of these goes, its own among them. */
  removes: Tables;
}

/** The references between the tables of a database, and what follows from them for transactions that share a request. */
export class References {
  readonly #nodes = new Map<string, Node>();
  readonly #byBit: Node[] = [];

  constructor(schema: DatabaseSchema) {
    const bits = new Map([...schema.tables.keys()].map((name, n) => [name, 1n << BigInt(n)]));
    for (const [name, table] of schema.tables) {
      const node = nodeOf(table, bits);
      this.#nodes.set(name, node);
      this.#byBit.push(node);
    }
    // Until nothing is added: rows that are removed hold others, and so on.
    for (let isDone = false; !isDone;) {
      isDone = true;
      for (const node of this.#byBit) {
        const removes = node.removes | this.#removedWithout(node.strong);
        if (removes !== node.removes) isDone = false;
        node.removes = removes;
      }
    }
  }

  #in(tables: Tables): readonly Node[] {
    return tables === 0n ? [] : this.#byBit.filter(({ bit }) => (tables & bit) !== 0n);
  }

  /** What may go when references to rows of these tables go. */
  #removedWithout(targets: Tables): Tables {
    return this.#in(targets).reduce(
      (sum, { isRoot, removes }) => (isRoot ? sum : sum | removes),
      0n,
    );
  }

  /** What operations may do; undefined for a table that is not in the schema. */
  of(operations: readonly Operation[]): Effects | undefined {
    let effects = NONE;
    for (const operation of operations) {
      if (!('table' in operation)) continue;
      const node = this.#nodes.get(operation.table);
      if (node === undefined) return undefined;
      effects = bothEffects(effects, this.#ofOne(operation, node));
    }
    const { removes } = effects;
    if (removes === 0n) return effects;
    let { touches, weakens } = effects;
    for (const node of this.#byBit) {
      if ((node.bit & removes) !== 0n) touches |= node.strong;
      if ((node.weak & removes) !== 0n) weakens |= node.bit;
    }
    return { ...effects, touches, weakens };
  }

  #ofOne(operation: Extract<Operation, { table: string }>, node: Node): Effects {
    switch (operation.op) {
      case 'select':
      case 'wait':
        return { ...NONE, reads: node.bit };
      case 'delete': {
        const collects = this.#removedWithout(node.strong);
        return { ...NONE, removes: node.bit | collects, collects };
      }
      case 'insert':
        return writes(node, Object.keys(operation.row));
      case 'update': {
        const written = writes(node, Object.keys(operation.row));
        const collects = this.#removedWithout(written.touches);
        return { ...written, touches: written.touches | node.bit, removes: collects, collects };
      }
      case 'mutate': {
        const { mutations } = operation;
        const removed = mutations.filter(([, mutator]) => mutator === 'delete');
        const written = writes(node, mutations.map(nameOf));
        const collects = this.#removedWithout(writes(node, removed.map(nameOf)).touches);
        return { ...written, touches: written.touches | node.bit, removes: collects, collects };
      }
    }
  }

  /**
   * True when a transaction, behind others whose effects are those of `before`, may do in the same request what it does in one of its own.
   *
   * It must not see what is about to go. And no row may have been changed, by one of them, that has weak references to rows removed by
   * another: ovsdb-server 3.5 may look after the references of the row before it knows of the removal, and leaves one to a row that is not
   * there. The same goes for two removals with weak references from the same row.
   */
  mayFollow(before: Effects, next: Effects): boolean {
    if ((next.reads & (before.collects | before.weakens | before.dangles)) !== 0n) return false;
    if ((next.touches & before.weakens) !== 0n || (before.touches & next.weakens) !== 0n)
      return false;
    const removed = before.removes | next.removes;
    return this.#in(before.weakens & next.weakens).every(({ bit, weak }) => {
      const targets = weak & removed;
      return (targets & bit) === 0n && (targets & (targets - 1n)) === 0n;
    });
  }
}

const nameOf = ([column]: readonly [string, ...unknown[]]): string => column;

function nodeOf(table: TableSchema, bits: ReadonlyMap<string, Tables>): Node {
  const columns = new Map<string, ColumnReferences>();
  let [strong, weak] = [0n, 0n];
  for (const [name, { type }] of table.columns) {
    const own = [type.key, type.value].reduce<ColumnReferences>(
      (sum, base) => withReference(sum, base, bits),
      { strong: 0n, weak: 0n },
    );
    if ((own.strong | own.weak) === 0n) continue;
    columns.set(name, own);
    strong |= own.strong;
    weak |= own.weak;
  }
  const bit = bits.get(table.name) ?? 0n;
  return { bit, isRoot: table.isRoot, columns, strong, weak, removes: bit };
}

function withReference(
  sum: ColumnReferences,
  base: BaseType | undefined,
  bits: ReadonlyMap<string, Tables>,
): ColumnReferences {
  const target = base?.refTable === undefined ? 0n : (bits.get(base.refTable) ?? 0n);
  return base?.refType === 'weak'
    ? { ...sum, weak: sum.weak | target }
    : { ...sum, strong: sum.strong | target };
}

/** References that are written with these columns. */
function writes(node: Node, columns: readonly string[]): Effects {
  let [touches, dangles] = [0n, 0n];
  for (const name of columns) {
    const column = node.columns.get(name);
    if (column === undefined) continue;
    touches |= column.strong;
    if (column.weak !== 0n) dangles |= node.bit;
  }
  return { ...NONE, touches, dangles };
}
