import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { piecesOf } from '../../../../src/node/openflow/flow-pieces.ts';
import type { FlowChange } from '../../../../src/node/openflow/flow-plan.ts';

/** A flow of one table: which of eight kinds of packets it decides on, and whether it lets them through. */
interface Flow {
  readonly priority: number;
  readonly packets: number;
  readonly isDrop: boolean;
}

const keyOf = ({ priority, packets }: Flow): string => `${priority} ${packets}`;
type Table = ReadonlyMap<string, Flow>;

const flow = fc.record({
  priority: fc.integer({ min: 1, max: 4 }),
  packets: fc.integer({ min: 1, max: 255 }),
  isDrop: fc.boolean(),
});
const table = fc
  .array(flow, { maxLength: 12 })
  .map((flows): Table => new Map(flows.map((one) => [keyOf(one), one])));

/** What no flow decides on is dropped. Of two with one priority the switch may take either. */
function passes(flows: Table, packet: number): boolean {
  const matching = [...flows.values()].filter(({ packets }) => (packets & (1 << packet)) !== 0);
  const highest = Math.max(...matching.map(({ priority }) => priority));
  return matching.some(({ priority, isDrop }) => priority === highest && !isDrop);
}

const change = (action: FlowChange['action'], one: Flow): FlowChange => ({
  action,
  bridge: 'br',
  table: 'flow',
  key: keyOf(one),
  before: undefined,
  after: undefined,
  unit: 'u',
  rule: undefined,
  object: undefined,
  priority: one.priority,
  isDrop: one.isDrop,
  command: JSON.stringify(one),
});

function changesBetween(before: Table, after: Table): FlowChange[] {
  const changes: FlowChange[] = [];
  for (const [key, one] of after) {
    const there = before.get(key);
    if (there?.isDrop !== one.isDrop)
      changes.push(change(there === undefined ? 'add' : 'change', one));
  }
  for (const [key, one] of before) if (!after.has(key)) changes.push(change('remove', one));
  return changes;
}

test('between two pieces no packet gets through that gets through neither before nor after', () => {
  fc.assert(
    fc.property(table, table, fc.integer({ min: 1, max: 3 }), (before, after, size) => {
      const now = new Map(before);
      for (const piece of piecesOf(changesBetween(before, after), size)) {
        for (const { action, key, command } of piece)
          if (action === 'remove') now.delete(key);
          else now.set(key, JSON.parse(command) as Flow);
        for (let packet = 0; packet < 8; packet += 1)
          if (!passes(before, packet) && !passes(after, packet))
            expect(passes(now, packet)).toBe(false);
      }
      expect(Object.fromEntries(now)).toEqual(Object.fromEntries(after));
    }),
    { numRuns: 2000 },
  );
});

test('a small change is one piece, a large one as many as it takes', () => {
  const many = Array.from({ length: 2500 }, (_, packets) =>
    change('add', { priority: 1, packets, isDrop: false }),
  );
  expect(piecesOf(many.slice(0, 1000)).map(({ length }) => length)).toEqual([1000]);
  expect(piecesOf(many).map(({ length }) => length)).toEqual([1000, 1000, 500]);
  expect(piecesOf([])).toEqual([]);
});
