/** What a kind of the host's state gets from its driver, for a row type, a reader and a writer: here labels in a map, which anybody may change. */
import { beforeEach, describe, expect, test } from 'vitest';
import type { RowOwner } from '../../../../src/desired/engine.ts';
import type { RowOf } from '../../../../src/node/reconcile/claims.ts';
import { HostDriver, type Written } from '../../../../src/node/reconcile/host-driver.ts';
import {
  wantedBy,
  wantedByNobody,
  type Difference,
  type PlannedChange,
} from '../../../../src/node/reconcile/host-plan.ts';

type LabelRow = RowOf<{ readonly label: { readonly text: string } }>;

const RESYNC = 60_000;

class Labels extends HostDriver<LabelRow, PlannedChange> {
  readonly database = 'labels';
  readonly title = 'labels';
  /** As they are; one that says `no` can't be written. */
  readonly kernel = new Map<string, string>();
  compared = 0;
  writes = 0;
  #found = new Map<string, string>();
  #version = 0;
  #isStale = true;

  constructor() {
    super({ resync: RESYNC });
  }

  protected staleAll(): void {
    this.#isStale = true;
  }

  protected async read(): Promise<void> {
    if (!this.#isStale) return;
    this.#isStale = false;
    this.#found = new Map(this.kernel);
    this.#version += 1;
  }

  protected get foundVersion(): string {
    return String(this.#version);
  }

  protected compare(): Difference<PlannedChange> {
    this.compared += 1;
    const gone = new Map(this.#found);
    const changes = [...this.claims.winners()].flatMap((one): PlannedChange[] => {
      const { key, columns } = one.row;
      const before = this.#found.get(key);
      gone.delete(key);
      if (before === columns.text) return [];
      const action = before === undefined ? 'add' : 'change';
      return [{ ...wantedBy(one), action, before, after: columns.text }];
    });
    for (const [key, before] of gone)
      changes.push({ ...wantedByNobody(key), table: 'label', key, before });
    return { changes, problems: [] };
  }

  protected async write(changes: readonly PlannedChange[]): Promise<Written<PlannedChange>> {
    this.writes += 1;
    this.#isStale = true;
    const refused = changes
      .filter(({ after }) => after === 'no')
      .map((change) => ({ change, reason: 'it says no' }));
    for (const { key, after } of changes)
      if (after === undefined) this.kernel.delete(key);
      else if (after !== 'no') this.kernel.set(key, after);
    return { applied: changes.length - refused.length, refused };
  }

  protected contestText({ row, winner }: { row: LabelRow; winner: LabelRow }): string {
    return `label ${row.key} is that of ${winner.object}`;
  }

  [Symbol.dispose](): void {}
}

const unit = (id: string, order: number): RowOwner => ({ id, rank: 0, order, rowsIn: () => [] });
const label = (key: string, text: string, object = 'Pod a'): LabelRow => ({
  database: 'labels',
  table: 'label',
  key,
  columns: { text },
  containers: [],
  rule: 'label',
  object,
});

let labels: Labels;
const [first, second] = [unit('first', 0), unit('second', 1)];

/** A pass: how many objects were changed, and what is wrong. */
async function pass(now: number): Promise<readonly [applied: number, ...problems: string[]]> {
  await labels.refresh(now);
  const plan = labels.plan(now);
  const { applied, refused } = plan.isEmpty
    ? { applied: 0, refused: [] }
    : await labels.apply(plan, now);
  return [applied, ...[...plan.problems, ...refused].map(({ message }) => message)];
}

beforeEach(() => {
  labels = new Labels();
});

describe('a kind of state', () => {
  test('is made as units want it, and left alone then', async () => {
    labels.kernel.set('b', 'old').set('c', 'of nobody');
    labels.set(first, [label('a', 'one'), label('b', 'two')]);
    expect(await pass(0)).toEqual([3]);
    expect(labels.kernel).toEqual(
      new Map([
        ['a', 'one'],
        ['b', 'two'],
      ]),
    );
    expect(await pass(1)).toEqual([0]);
    labels.set(first, []);
    expect(await pass(2)).toEqual([2]);
    expect(labels.kernel.size).toBe(0);
  });

  test('is compared only when something is wanted or found otherwise', async () => {
    labels.set(first, [label('a', 'one')]);
    await pass(0);
    await pass(1);
    const before = labels.compared;
    await pass(2);
    expect(labels.compared).toBe(before);
    labels.set(second, [label('b', 'two')]);
    await pass(3);
    expect(labels.compared).toBe(before + 1);
  });

  test('is read as a whole from time to time, whoever changed it without a word', async () => {
    labels.set(first, [label('a', 'one')]);
    await pass(0);
    await pass(1);
    labels.kernel.set('a', 'of somebody');
    expect(await pass(RESYNC - 1)).toEqual([0]);
    expect(await pass(RESYNC)).toEqual([1]);
    expect(labels.kernel.get('a')).toBe('one');
  });

  test('of what is refused is one problem of its unit, for half a minute or until something else is wanted; others go on', async () => {
    const problem = "label a can't be made (no): it says no";
    labels.set(first, [label('a', 'no')]);
    labels.set(second, [label('b', 'two')]);
    expect(await pass(0)).toEqual([1, problem]);
    expect([await pass(29_999), labels.writes]).toEqual([[0, problem], 1]);
    expect([await pass(30_000), labels.writes]).toEqual([[0, problem], 2]);
    labels.set(first, [label('a', 'yes')]);
    expect(await pass(30_001)).toEqual([1]);
    expect(labels.kernel.get('a')).toBe('yes');
  });

  test('that two units want otherwise is that of the first, and a problem of the second', async () => {
    labels.set(second, [label('a', 'two', 'Pod b')]);
    labels.set(first, [label('a', 'one')]);
    expect(await pass(0)).toEqual([1, 'label a is that of Pod a']);
    expect(labels.kernel.get('a')).toBe('one');
    labels.set(first, []);
    expect(await pass(1)).toEqual([1]);
    expect(labels.kernel.get('a')).toBe('two');
  });

  test('loses nothing that may be there for what is not known', async () => {
    labels.kernel.set('a', 'of before').set('b', 'of before');
    await labels.refresh(0);
    const plan = labels.plan(0, (marks) => marks.includes('a'));
    expect([plan.changes.map(({ key }) => key), plan.heldBack]).toEqual([['b'], 1]);
  });
});
