import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import * as fc from 'fast-check';
import { beforeEach, describe, expect, test } from 'vitest';
import type { DesiredRow } from '../../../src/ovsdb/plan/desired.ts';
import type { Operation } from '../../../src/ovsdb/data/operation.ts';
import type { Plan } from '../../../src/ovsdb/plan/plan-change.ts';
import { commitPlan } from '../../../src/ovsdb/plan/plan-commit.ts';
import { planToJson, renderPlan } from '../../../src/ovsdb/plan/plan-render.ts';
import { plan } from '../../../src/ovsdb/plan/plan.ts';
import { Reconciler } from '../../../src/ovsdb/plan/reconciler.ts';
import { MemoryDatabase } from '../../support/memory-database.ts';
import {
  aclRow,
  groupRow,
  insert,
  mutate,
  northboundSchema,
  portRow,
  reference,
  remove,
  routeRow,
  routerRow,
  row,
  RULES,
  switchRow,
  textMap,
  update,
  uuidSet,
} from './northbound.ts';

const schema = northboundSchema();
let database: MemoryDatabase;
let reconciler: Reconciler;

async function settle(): Promise<Plan> {
  const result = reconciler.plan();
  await commitPlan(database, result);
  return result;
}

const uuidOf = (table: string, name: string): string => {
  const row = database.rows(table).find((candidate) => candidate.column('name') === name);
  if (row === undefined) throw new Error(`no ${table} ${name}`);
  return row.uuid;
};

beforeEach(() => {
  database = new MemoryDatabase(schema);
  reconciler = new Reconciler(database, RULES);
  reconciler.follow();
});

describe('a change costs what it touches', () => {
  beforeEach(async () => {
    reconciler.setUnit('network', [switchRow('blue'), routerRow('r')]);
    for (let i = 0; i < 50; i++) reconciler.setUnit(`pod ${i}`, [portRow(`pod${i}`, 'blue')]);
    await settle();
    // Its own rows come back through the replica and are looked at once.
    expect(reconciler.plan().isEmpty).toBe(true);
    expect(reconciler.plan().examined).toBe(0);
  });

  test('one pod more', async () => {
    reconciler.setUnit('pod 50', [portRow('pod50', 'blue')]);
    const result = await settle();
    expect([result.examined, result.changes.length]).toEqual([1, 1]);
    expect(database.transactions.at(-1)?.map((operation) => operation.op)).toEqual([
      'insert',
      'mutate',
    ]);
  });

  test('the same rows again: nothing is looked at', () => {
    reconciler.setUnit('pod 7', [portRow('pod7', 'blue')]);
    expect(reconciler.dirtyCount).toBe(0);
  });

  test('one pod less', async () => {
    reconciler.removeUnit('pod 7');
    const result = await settle();
    expect([result.examined, result.changes.map((change) => change.key)]).toEqual([1, ['pod7']]);
    expect(reconciler.plan().isEmpty).toBe(true);
  });

  test('a port edited by somebody else', async () => {
    database.write(
      update('Logical_Switch_Port', uuidOf('Logical_Switch_Port', 'pod3'), { type: 'router' }),
    );
    const result = await settle();
    expect([result.examined, renderPlan(result)]).toEqual([
      1,
      'Logical_Switch_Port: 1 to change\n  ~ pod3\n      type: router → ""\n',
    ]);
  });

  test('a port taken out of its switch by somebody else', async () => {
    database.write(
      mutate(
        'Logical_Switch',
        uuidOf('Logical_Switch', 'blue'),
        'ports',
        'delete',
        uuidSet(uuidOf('Logical_Switch_Port', 'pod3')),
      ),
    );
    expect((await settle()).changes.map((change) => [change.action, change.key])).toEqual([
      ['insert', 'pod3'],
    ]);
  });

  test('a unit whose rows move to another one', async () => {
    reconciler.setUnit('pod 3 again', [portRow('pod3', 'blue')]);
    reconciler.removeUnit('pod 3');
    expect((await settle()).isEmpty).toBe(true);
  });
});

describe('after a start on a right database', () => {
  const UNITS: readonly (readonly [string, readonly DesiredRow[]])[] = [
    ['network', [switchRow('blue'), routerRow('r')]],
    ['routes', [routeRow('r', '10.0.0.0/8', '1.1.1.1'), routeRow('r', '11.0.0.0/8', '1.1.1.1')]],
    ['pods', [portRow('p1', 'blue'), portRow('p2', 'blue'), portRow('p3', 'blue')]],
  ];

  beforeEach(async () => {
    for (const [unit, rows] of UNITS) reconciler.setUnit(unit, rows);
    await settle();
    reconciler = new Reconciler(database, RULES);
    for (const [unit, rows] of UNITS) reconciler.setUnit(unit, rows);
    reconciler.follow();
    expect(reconciler.plan()).toMatchObject({ isEmpty: true, examined: 7, problems: [] });
    expect(reconciler.plan()).toMatchObject({ isEmpty: true, examined: 0 });
  });

  const shown = async (): Promise<readonly string[]> =>
    (await settle()).changes.map(({ action, table, key }) => `${action} ${table} ${key}`);

  test('what somebody edits is repaired, and nothing else is looked at', async () => {
    database.write(
      update('Logical_Switch_Port', uuidOf('Logical_Switch_Port', 'p2'), { type: 'router' }),
    );
    expect(reconciler.dirtyCount).toBe(1);
    expect(await shown()).toEqual(['update Logical_Switch_Port p2']);
    expect(reconciler.plan().isEmpty).toBe(true);
  });

  test('what somebody deletes comes back with all that it held', async () => {
    database.write(remove('Logical_Router', uuidOf('Logical_Router', 'r')));
    expect((await shown()).toSorted()).toEqual([
      'insert Logical_Router r',
      'insert Logical_Router_Static_Route r 10.0.0.0/8',
      'insert Logical_Router_Static_Route r 11.0.0.0/8',
    ]);
    expect(reconciler.plan().isEmpty).toBe(true);
  });

  test('what is wanted no more goes, what is wanted otherwise changes', async () => {
    reconciler.removeUnit('routes');
    reconciler.setUnit('pods', [
      portRow('p1', 'blue'),
      { ...portRow('p2', 'blue'), columns: { ...portRow('p2', 'blue').columns, type: 'router' } },
    ]);
    expect((await shown()).toSorted()).toEqual([
      'delete Logical_Router_Static_Route r 10.0.0.0/8',
      'delete Logical_Router_Static_Route r 11.0.0.0/8',
      'delete Logical_Switch_Port p3',
      'update Logical_Switch_Port p2',
    ]);
    expect(reconciler.plan().isEmpty).toBe(true);
  });

  test('a second wish for a row stands in for the first', async () => {
    reconciler.setUnit('more', [portRow('p1', 'blue')]);
    reconciler.setUnit('pods', []);
    expect((await shown()).toSorted()).toEqual([
      'delete Logical_Switch_Port p2',
      'delete Logical_Switch_Port p3',
    ]);
  });

  test('a row that refers to one whose name another row has now follows the name', async () => {
    const groups = [groupRow('ours-g'), groupRow('ours-h')];
    const wanted = [
      row('Logical_Router', 'red', {
        load_balancer_group: [reference('Load_Balancer_Group', 'ours-g')],
      }),
    ];
    reconciler.setUnit('groups', groups);
    reconciler.setUnit('red', wanted);
    await settle();
    const units = reconciler.units;
    reconciler = new Reconciler(database, RULES);
    for (const [unit, rows] of units) reconciler.setUnit(unit, rows);
    reconciler.follow();
    expect(reconciler.plan().isEmpty).toBe(true);
    const [g, h] = [
      uuidOf('Load_Balancer_Group', 'ours-g'),
      uuidOf('Load_Balancer_Group', 'ours-h'),
    ];
    database.write(
      update('Load_Balancer_Group', g, { name: 'ours-h' }),
      update('Load_Balancer_Group', h, { name: 'ours-g' }),
    );
    expect(contents(reconciler.plan())).toEqual(contents(plan(units, database, RULES)));
    expect(await shown()).toEqual(['update Logical_Router red']);
    const found = database.row('Logical_Router', uuidOf('Logical_Router', 'red'));
    expect(found?.column('load_balancer_group')).toEqual([h]);
  });

  test('a row that moves to another switch is taken out of the one before', async () => {
    reconciler.setUnit('network', [switchRow('blue'), switchRow('red'), routerRow('r')]);
    reconciler.setUnit('pods', [
      portRow('p1', 'red'),
      portRow('p2', 'blue'),
      portRow('p3', 'blue'),
    ]);
    await settle();
    const ports = (name: string): unknown =>
      database.row('Logical_Switch', uuidOf('Logical_Switch', name))?.column('ports');
    expect(ports('red')).toEqual([uuidOf('Logical_Switch_Port', 'p1')]);
    expect(ports('blue')).not.toContain(uuidOf('Logical_Switch_Port', 'p1'));
    expect(reconciler.plan().isEmpty).toBe(true);
  });
});

/** Collects garbage. */
function collect(): void {
  setFlagsFromString('--expose-gc');
  (runInNewContext('gc') as () => void)();
}

test('of a plan that came true nothing is kept', async () => {
  reconciler.setUnit('first', [switchRow('blue')]);
  await settle();
  async function remembered(): Promise<readonly WeakRef<object>[]> {
    // Into a switch that is there, and beside one that comes with its port: some are asked for while they arrive.
    reconciler.setUnit('later', [
      switchRow('red'),
      portRow('a', 'blue'),
      portRow('b', 'red'),
      routerRow('r'),
      routeRow('r', '10.0.0.0/8', '10.0.0.1'),
    ]);
    const { changes } = await settle();
    expect(changes.length).toBe(5);
    return changes.map((change) => new WeakRef(change));
  }
  const changes = await remembered();
  expect(reconciler.plan().isEmpty).toBe(true);
  await expect
    .poll(() => {
      collect();
      return changes.filter((change) => change.deref() !== undefined).length;
    })
    .toBe(0);
});

test('wishes that change before the first plan are those of the first plan', async () => {
  reconciler.setUnit('network', [switchRow('blue'), switchRow('red')]);
  reconciler.setUnit('network', [switchRow('blue')]);
  reconciler.setUnit('pods', [portRow('p1', 'blue')]);
  reconciler.removeUnit('pods');
  expect((await settle()).changes.map(({ key }) => key)).toEqual(['blue']);
});

describe('what depends on a row follows it', () => {
  test('a port group deleted by somebody else comes back with its ports', async () => {
    reconciler.setUnit('policy', [row('Port_Group', 'pg'), aclRow('acl', 'pg')]);
    reconciler.setUnit('pod', [
      switchRow('blue'),
      row(
        'Logical_Switch_Port',
        'p',
        {},
        ['Logical_Switch', 'blue', 'ports'],
        ['Port_Group', 'pg', 'ports'],
      ),
    ]);
    await settle();
    reconciler.plan();
    database.write(remove('Port_Group', uuidOf('Port_Group', 'pg')));
    await settle();
    const [group] = database.rows('Port_Group');
    expect(group?.column('ports')).toEqual([uuidOf('Logical_Switch_Port', 'p')]);
    expect(database.size('ACL')).toBe(1);
    expect(reconciler.plan().isEmpty).toBe(true);
  });

  test('a row that others refer to and that is wanted no more is a problem of those', async () => {
    reconciler.setUnit('group', [groupRow('ours-g')]);
    reconciler.setUnit('switch', [
      switchRow('blue', { load_balancer_group: [reference('Load_Balancer_Group', 'ours-g')] }),
    ]);
    await settle();
    reconciler.plan();
    reconciler.removeUnit('group');
    expect(reconciler.plan().problems.map(({ kind, key }) => `${kind} ${key}`)).toContain(
      'missing-row blue',
    );
    reconciler.setUnit('group', [groupRow('ours-g')]);
    expect(reconciler.plan()).toMatchObject({ isEmpty: true, problems: [] });
  });

  test('keys of others that were wanted once go, theirs stay', async () => {
    const wish = (options: Record<string, string>): DesiredRow => ({
      table: 'NB_Global',
      key: 'NB_Global',
      columns: { options },
      containers: [],
      partial: true,
    });
    database.write(insert('NB_Global', { options: textMap({ theirs: '1' }) }));
    reconciler.setUnit('global', [wish({ a: '1', b: '1' })]);
    await settle();
    reconciler.setUnit('global', [wish({ b: '2' })]);
    await settle();
    const options = () =>
      Object.fromEntries(
        database.rows('NB_Global')[0]?.column('options') as ReadonlyMap<string, string>,
      );
    expect(options()).toEqual({ theirs: '1', b: '2' });
    reconciler.removeUnit('global');
    await settle();
    expect(options()).toEqual({ theirs: '1' });
    expect(reconciler.plan().isEmpty).toBe(true);
  });

  test('a problem stays until it is solved, and is solved by the event that solves it', async () => {
    database.write(insert('Logical_Switch', { name: 'blue' }));
    reconciler.setUnit('network', [switchRow('blue'), portRow('p', 'blue')]);
    expect((await settle()).problems).toHaveLength(2);
    expect(reconciler.plan().problems).toHaveLength(2);
    database.write(remove('Logical_Switch', uuidOf('Logical_Switch', 'blue')));
    expect((await settle()).problems).toEqual([]);
    expect(database.size('Logical_Switch_Port')).toBe(1);
  });
});

/** What a plan does, without the order and grouping that depend on which units were known. */
function contents(result: Plan): readonly string[] {
  const { changes, problems } = planToJson(result) as unknown as {
    readonly changes: readonly Record<string, unknown>[];
    readonly problems: readonly Record<string, unknown>[];
  };
  return [...changes, ...problems]
    .map(({ unit: _unit, ...rest }) =>
      JSON.stringify(rest, (_key, value: unknown) =>
        Array.isArray(value) ? value.map((v) => JSON.stringify(v)).toSorted() : value,
      ),
    )
    .toSorted();
}

const RULES_FOR_HISTORIES = {
  ...RULES,
  Logical_Switch: {
    ...RULES['Logical_Switch'],
    ownsMember: (_column: string, member: unknown) => String(member).startsWith('ours'),
  },
} as typeof RULES;

const SWITCHES = ['s1', 's2'];
const PORTS = ['p1', 'p2', 'p3'];
const ROUTERS = ['r1', 'r2'];
const PREFIXES = ['10.0.0.0/8', '11.0.0.0/8'];
const pick = (...names: readonly string[]) => fc.constantFrom(...names);

const desiredRow: fc.Arbitrary<DesiredRow> = fc.oneof(
  fc.tuple(pick(...SWITCHES), pick('1', '2'), fc.boolean()).map(([name, value, inGroup]) =>
    switchRow(name, {
      other_config: { [`ours-${value}`]: value },
      ...(inGroup ? { load_balancer_group: [reference('Load_Balancer_Group', 'ours-g')] } : {}),
    }),
  ),
  fc
    .tuple(pick(...PORTS), pick(...SWITCHES), fc.boolean(), pick('a', 'b'))
    .map(([name, on, inGroup, address]) =>
      row(
        'Logical_Switch_Port',
        name,
        { addresses: [address] },
        ['Logical_Switch', on, 'ports'],
        ...(inGroup ? [['Port_Group', 'pg', 'ports'] as const] : []),
      ),
    ),
  fc
    .tuple(pick(...ROUTERS), pick('ours-g', 'ours-h'), fc.boolean())
    .map(([name, group, inGroup]) =>
      routerRow(
        name,
        inGroup ? { load_balancer_group: [reference('Load_Balancer_Group', group)] } : {},
      ),
    ),
  fc
    .tuple(pick(...ROUTERS), pick(...PREFIXES), pick('1.1.1.1', '2.2.2.2'))
    .map(([r, p, n]) => routeRow(r, p, n)),
  fc.constant(row('Port_Group', 'pg')),
  pick('a1', 'a2').map((id) => aclRow(id, 'pg')),
  pick('ours-g', 'ours-h').map((name) => groupRow(name)),
);

/** Something that another client does to the n-th row of a table, if there is one. */
const meddling = fc.record({
  table: pick(
    'Logical_Switch',
    'Logical_Switch_Port',
    'Logical_Router',
    'Port_Group',
    'Load_Balancer_Group',
    'Logical_Router_Static_Route',
    'ACL',
  ),
  row: fc.nat(5),
  other: fc.nat(5),
  what: pick('delete', 'rename', 'unmark', 'edit', 'twin', 'foreign', 'leave', 'join', 'swap'),
});

type Meddling = typeof meddling extends fc.Arbitrary<infer T> ? T : never;

const nth = (table: string, n: number): string | undefined => {
  const rows = database
    .rows(table)
    .map(({ uuid }) => uuid)
    .toSorted();
  return rows[n % Math.max(rows.length, 1)];
};

function operationsOf({ table, row, other, what }: Meddling): readonly Operation[] {
  const uuid = nth(table, row);
  const fresh = crypto.randomUUID();
  const hasName = database.hasColumn(table, 'name');
  const mark = textMap({ owner: 'heddle' });
  if (what === 'twin' || what === 'foreign') {
    const ids = what === 'twin' ? { external_ids: mark } : {};
    if (table === 'Logical_Switch_Port') {
      const on = nth('Logical_Switch', other);
      if (on === undefined) return [];
      return [
        insert(table, { name: PORTS[row % 3] as string, ...ids }, fresh),
        mutate('Logical_Switch', on, 'ports', 'insert', uuidSet(fresh)),
      ];
    }
    if (table === 'Logical_Router_Static_Route') {
      const on = nth('Logical_Router', other);
      if (on === undefined) return [];
      return [
        insert(
          table,
          { ip_prefix: PREFIXES[row % 2] as string, nexthop: '9.9.9.9', ...ids },
          fresh,
        ),
        mutate('Logical_Router', on, 'static_routes', 'insert', uuidSet(fresh)),
      ];
    }
    if (table === 'Logical_Switch')
      return [insert(table, { name: SWITCHES[row % 2] as string, ...ids }, fresh)];
    if (table === 'Logical_Router')
      return [insert(table, { name: ROUTERS[row % 2] as string, ...ids }, fresh)];
    return [];
  }
  if (uuid === undefined) return [];
  switch (what) {
    case 'delete':
      return [remove(table, uuid)];
    case 'rename':
      return hasName
        ? [update(table, uuid, { name: `${SWITCHES[other % 2] as string}${other > 3 ? 'x' : ''}` })]
        : [];
    case 'unmark':
      return database.hasColumn(table, 'external_ids')
        ? [update(table, uuid, { external_ids: textMap({}) })]
        : [];
    case 'edit':
      return database.hasColumn(table, 'options')
        ? [update(table, uuid, { options: textMap({ x: '1' }) })]
        : [];
    case 'leave': {
      const member = nth('Logical_Switch_Port', other);
      return member !== undefined && (table === 'Logical_Switch' || table === 'Port_Group')
        ? [mutate(table, uuid, 'ports', 'delete', uuidSet(member))]
        : [];
    }
    case 'join': {
      const member = nth('Logical_Switch_Port', other);
      return member !== undefined && (table === 'Logical_Switch' || table === 'Port_Group')
        ? [mutate(table, uuid, 'ports', 'insert', uuidSet(member))]
        : [];
    }
    default: {
      const second = nth(table, other);
      if (!hasName || second === undefined || second === uuid) return [];
      const name = (of: string): string => database.row(table, of)?.column('name') as string;
      return [
        update(table, uuid, { name: name(second) }),
        update(table, second, { name: name(uuid) }),
      ];
    }
  }
}

const step = fc.oneof(
  {
    weight: 3,
    arbitrary: fc.tuple(
      fc.constant('set' as const),
      pick('u1', 'u2', 'u3'),
      fc.array(desiredRow, { maxLength: 6 }),
    ),
  },
  { weight: 1, arbitrary: fc.tuple(fc.constant('remove' as const), pick('u1', 'u2', 'u3')) },
  { weight: 3, arbitrary: fc.tuple(fc.constant('meddle' as const), meddling) },
  { weight: 2, arbitrary: fc.tuple(fc.constant('settle' as const)) },
  { weight: 1, arbitrary: fc.tuple(fc.constant('restart' as const)) },
);

describe('on random histories', () => {
  test('the plan of what changed is the plan of everything, and leads to nothing left to do', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(step, { minLength: 1, maxLength: 25 }), async (steps) => {
        database = new MemoryDatabase(schema);
        reconciler = new Reconciler(database, RULES_FOR_HISTORIES);
        let forget = reconciler.follow();
        const restart = (): void => {
          forget();
          const { units } = reconciler;
          reconciler = new Reconciler(database, RULES_FOR_HISTORIES);
          for (const [unit, rows] of units) reconciler.setUnit(unit, rows);
          forget = reconciler.follow();
        };
        const full = (): Plan => plan(reconciler.units, database, RULES_FOR_HISTORIES);
        for (const [what, first, second] of steps) {
          if (what === 'set') reconciler.setUnit(first, second);
          else if (what === 'remove') reconciler.removeUnit(first);
          else if (what === 'meddle') {
            try {
              database.write(...operationsOf(first));
            } catch {
              // Refused, as the server would: the other client meant something impossible.
            }
          } else if (what === 'settle') await settle();
          else restart();
          expect(contents(reconciler.plan())).toEqual(contents(full()));
        }
        let rounds = 0;
        while (!reconciler.plan().isEmpty) {
          const outcome = await commitPlan(database, reconciler.plan());
          expect({ outcome, rounds: rounds++ < 4 }).toMatchObject({ rounds: true });
        }
        expect(full().isEmpty).toBe(true);
      }),
      { numRuns: Number(process.env['HISTORIES'] ?? 250) },
    );
  });
});
