import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { Plan } from '../../../src/desired/ovsdb/changes.ts';
import { commitPlan } from '../../../src/desired/ovsdb/commit.ts';
import { planToJson } from '../../../src/views/plan-text.ts';
import type { DesiredRow } from '../../../src/desired/rows.ts';
import type { Operation, Outcome } from 'ovsdb-client-ts';
import type { MemoryDatabase } from '../../support/ovsdb/memory-database.ts';
import {
  aclRow,
  bandRow,
  insert,
  MARKED,
  meterRow,
  mutate,
  portRow,
  reference,
  remove,
  routeRow,
  routerRow,
  row,
  switchRow,
  textMap,
  update,
  uuidSet,
} from './northbound.ts';
import { EACH, World } from './world.ts';

/** Random histories of units and of other programs' edits. */

const RUNS = Number(process.env['HISTORIES'] ?? 250);

const SWITCHES = ['s1', 's2'];
const PORTS = ['p1', 'p2', 'p3'];
const ROUTERS = ['r1', 'r2'];
const PREFIXES = ['10.0.0.0/8', '11.0.0.0/8'];
const GROUPS = ['pg1', 'pg2'];
const ADDRESSES = ['1.1.1.1', '2.2.2.2', '3.3.3.3', '4.4.4.4', '5.5.5.5', '6.6.6.6'];
const pick = (...names: readonly string[]) => fc.constantFrom(...names);

const networkRow: fc.Arbitrary<DesiredRow> = fc.oneof(
  fc.tuple(pick(...SWITCHES), pick('1', '2'), fc.boolean()).map(([name, value, hasCopp]) =>
    switchRow(name, {
      other_config: { [`ours-${value}`]: value },
      ...(hasCopp ? { copp: reference('Copp', 'a') } : {}),
    }),
  ),
  fc
    .tuple(pick(...ROUTERS), pick('a', 'b'), fc.boolean())
    .map(([name, copp, hasCopp]) =>
      routerRow(name, hasCopp ? { copp: reference('Copp', copp) } : {}),
    ),
  pick('a', 'b').map((name) => row('Copp', name)),
  fc.constant(meterRow('m1')),
  fc.constant(row('Load_Balancer_Group', 's1-group')),
);
const policyRow: fc.Arbitrary<DesiredRow> = fc.oneof(
  pick(...GROUPS).map((name) => row('Port_Group', name)),
  fc
    .tuple(pick('a1', 'a2', 'a3'), pick(...GROUPS), pick('ip4', 'ip6'))
    .map(([id, group, match]) => aclRow(id, group, match)),
);
const podRow: fc.Arbitrary<DesiredRow> = fc.oneof(
  fc
    .tuple(pick(...PORTS), pick(...SWITCHES), fc.subarray(GROUPS), pick('a', 'b'))
    .map(([name, on, groups, address]) => portRow(name, on, { addresses: [address] }, ...groups)),
  fc
    .tuple(pick(...ROUTERS), pick(...PREFIXES), pick('1.1.1.1', '2.2.2.2'))
    .map(([router, prefix, nexthop]) => routeRow(router, prefix, nexthop)),
  fc.constant(bandRow('m1')),
);

/** Rows of one unit that agree with each other. */
const rowsOf = (one: fc.Arbitrary<DesiredRow>): fc.Arbitrary<readonly DesiredRow[]> =>
  fc
    .array(one, { maxLength: 6 })
    .map((rows) => [...new Map(rows.map((each) => [`${each.table} ${each.key}`, each])).values()]);

const BASE = [
  ...SWITCHES.map((name) => switchRow(name)),
  ...ROUTERS.map((name) => routerRow(name)),
  row('Copp', 'a'),
  row('Copp', 'b'),
  meterRow('m1'),
  bandRow('m1'),
];
const POLICY = GROUPS.flatMap((name) => [row('Port_Group', name), aclRow(`base-${name}`, name)]);

/** Something that another client does to the n-th row of a table, if there is one. */
const meddling = fc.record({
  table: pick(
    'Logical_Switch',
    'Logical_Switch_Port',
    'Logical_Router',
    'Port_Group',
    'Logical_Router_Static_Route',
    'ACL',
    'Copp',
    'Meter',
    'Meter_Band',
    'Address_Set',
  ),
  row: fc.nat(5),
  other: fc.nat(5),
  what: pick(
    'delete',
    'rename',
    'unmark',
    'alien',
    'edit',
    'twin',
    'foreign',
    'leave',
    'join',
    'swap',
  ),
});

type Meddling = typeof meddling extends fc.Arbitrary<infer T> ? T : never;

function operationsOf(
  database: MemoryDatabase,
  { table, row, other, what }: Meddling,
): readonly Operation[] {
  const nth = (of: string, n: number): string | undefined => {
    const rows = database
      .rows(of)
      .map(({ uuid }) => uuid)
      .toSorted();
    return rows[n % Math.max(rows.length, 1)];
  };
  const uuid = nth(table, row);
  const fresh = crypto.randomUUID();
  const hasName = database.hasColumn(table, 'name');
  if (what === 'twin' || what === 'foreign') {
    const ids = what === 'twin' ? { external_ids: textMap(MARKED) } : {};
    const beside = (holder: string, column: string, columns: Record<string, string>) => {
      const on = nth(holder, other);
      return on === undefined
        ? []
        : [
            insert(table, { ...columns, ...ids }, fresh),
            mutate(holder, on, column, 'insert', uuidSet(fresh)),
          ];
    };
    const names: Record<string, readonly string[]> = {
      Logical_Switch: SWITCHES,
      Logical_Router: ROUTERS,
    };
    if (table === 'Logical_Switch_Port')
      return beside('Logical_Switch', 'ports', { name: PORTS[row % 3] as string });
    if (table === 'Logical_Router_Static_Route')
      return beside('Logical_Router', 'static_routes', {
        ip_prefix: PREFIXES[row % 2] as string,
        nexthop: '9.9.9.9',
      });
    const name = names[table]?.[row % 2];
    return name === undefined ? [] : [insert(table, { name, ...ids }, fresh)];
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
      return [update(table, uuid, { external_ids: textMap({}) })];
    case 'alien':
      return [update(table, uuid, { external_ids: textMap({ alien: '1' }) })];
    case 'edit':
      return database.hasColumn(table, 'options')
        ? [update(table, uuid, { options: textMap({ x: '1' }) })]
        : [];
    case 'leave':
    case 'join': {
      if (table === 'Address_Set') {
        const mutator = what === 'join' ? 'insert' : 'delete';
        return [mutate(table, uuid, 'addresses', mutator, ADDRESSES[other] as string)];
      }
      const member = nth('Logical_Switch_Port', other);
      return member !== undefined && (table === 'Logical_Switch' || table === 'Port_Group')
        ? [mutate(table, uuid, 'ports', what === 'join' ? 'insert' : 'delete', uuidSet(member))]
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

const set = (unit: string, rows: fc.Arbitrary<DesiredRow>) =>
  fc.tuple(fc.constant('set' as const), fc.constant(unit), rowsOf(rows));

/** Members of a kept set come and go, then its unit is built. */
const moves = fc.tuple(
  fc.constant('move' as const),
  fc.array(fc.tuple(fc.boolean(), pick(...ADDRESSES)), { minLength: 1, maxLength: 4 }),
);

const step = fc.oneof(
  { weight: 3, arbitrary: moves },
  { weight: 2, arbitrary: set('1 pods', podRow) },
  { weight: 2, arbitrary: set('2 policy', policyRow) },
  { weight: 1, arbitrary: set('3 network', networkRow) },
  { weight: 1, arbitrary: set('4 pods', podRow) },
  { weight: 1, arbitrary: set('5 mixed', fc.oneof(podRow, policyRow, networkRow)) },
  {
    weight: 1,
    arbitrary: fc.tuple(
      fc.constant('remove' as const),
      pick(
        '1 pods',
        '2 policy',
        '3 network',
        '4 pods',
        '5 mixed',
        '6 peers',
        'base',
        'base policy',
      ),
    ),
  },
  {
    weight: 1,
    arbitrary: fc.tuple(fc.constant('rank' as const), pick('1 pods', '5 mixed', 'base'), fc.nat(2)),
  },
  { weight: 4, arbitrary: fc.tuple(fc.constant('meddle' as const), meddling) },
  { weight: 3, arbitrary: fc.tuple(fc.constant('settle' as const)) },
  { weight: 1, arbitrary: fc.tuple(fc.constant('restart' as const)) },
);

type Step = typeof step extends fc.Arbitrary<infer T> ? T : never;

async function take(world: World, one: Step): Promise<void> {
  switch (one[0]) {
    case 'set':
      world.set(one[1], one[2]);
      return;
    case 'remove':
      world.remove(one[1]);
      return;
    case 'move':
      for (const [isAdded, member] of one[1])
        if (isAdded) world.members.add(member);
        else world.members.remove(member);
      world.set('6 peers', [row('Address_Set', 'as1', { addresses: world.members.version })]);
      return;
    case 'rank': {
      const unit = world.unit(one[1]);
      unit.rank = one[2];
      world.reconciler.set(unit, unit.wanted);
      return;
    }
    case 'meddle':
      try {
        world.database.write(...operationsOf(world.database, one[1]));
      } catch {
        // Refused, as the server would: the other client meant something impossible.
      }
      return;
    case 'settle':
      await world.settle();
      return;
    case 'restart':
      world.restart();
  }
}

/** What a plan does, without the order and grouping, which depend on which units were known. */
function contents(plan: Plan): readonly string[] {
  const { changes } = planToJson(plan) as unknown as {
    readonly changes: readonly Record<string, unknown>[];
  };
  return changes
    .map(({ unit: _unit, memberships, ...rest }) =>
      // Out of which sets a row is taken before it goes depends on what else goes with it.
      JSON.stringify(
        rest['action'] === 'delete' ? rest : { ...rest, memberships },
        (_key, value: unknown) =>
          Array.isArray(value) ? value.map((one) => JSON.stringify(one)).toSorted() : value,
      ),
    )
    .toSorted();
}

/** A world with a network and policies that units can build upon. */
function furnished(options: ConstructorParameters<typeof World>[0] = {}): World {
  const world = new World(options);
  world.unit('base').rank = 1;
  world.set('base', BASE);
  world.unit('base policy').rank = 1;
  world.set('base policy', POLICY);
  return world;
}

describe('on random histories', () => {
  test('the plan of what changed is the plan of everything, and leads to nothing left to do', async () => {
    let compared = 0;
    await fc.assert(
      fc.asyncProperty(fc.array(step, { minLength: 1, maxLength: 25 }), async (steps) => {
        const world = furnished();
        for (const one of steps) {
          await take(world, one);
          const [plan, full] = [world.plan(), world.full()];
          // What a unit wants no more stays with it when it is blocked; a restart knows of no such unit.
          if (plan.problems.length + full.problems.length > 0) continue;
          compared += 1;
          expect(contents(plan)).toEqual(contents(full));
        }
        for (let rounds = 0; !world.plan().isEmpty; rounds++) {
          const { result } = await world.settle();
          expect({ result, isBounded: rounds < 6 }).toMatchObject({ isBounded: true });
        }
        world.restart();
        for (let rounds = 0; !world.plan().isEmpty; rounds++) {
          await world.settle();
          expect(rounds).toBeLessThan(6);
        }
        expect(world.plan().isEmpty).toBe(true);
      }),
      { numRuns: RUNS },
    );
    expect(compared).toBeGreaterThan(RUNS);
  });

  test('a unit is in the database as a whole or as it was, and never before the isolation that it needs', async () => {
    const refusal = fc.record({
      table: pick('ACL', 'Port_Group', 'Logical_Switch', 'Logical_Switch_Port'),
      op: pick('insert', 'delete', 'update', 'mutate'),
    });
    const history = fc.tuple(
      fc.array(step, { minLength: 1, maxLength: 20 }),
      fc.array(fc.option(refusal, { freq: 2, nil: undefined }), { minLength: 20, maxLength: 20 }),
      fc.boolean(),
    );
    let written = 0;
    await fc.assert(
      fc.asyncProperty(history, async ([steps, refusals, isTiny]) => {
        const world = furnished(isTiny ? { limits: EACH } : {});
        for (const [i, one] of steps.entries()) {
          const refused = refusals[i];
          await take(world, one);
          const plan = world.plan();
          const left = new Set(plan.problems.map(({ unit }) => unit));
          const transactor = {
            async transact(operations: readonly Operation[]): Promise<Outcome> {
              const isRefused = operations.some(
                (o) => o.op === refused?.op && 'table' in o && o.table === refused.table,
              );
              if (isRefused) return { kind: 'error', error: 'constraint violation', details: 'no' };
              const outcome = await world.database.transact(operations);
              written += 1;
              expectIsolated(world, operations, left);
              return outcome;
            },
          };
          const result = await commitPlan(transactor, plan);
          world.reconciler.refused(result.refused, world.now);
          world.now += 20_000;
        }
      }),
      { numRuns: RUNS },
    );
    expect(written).toBeGreaterThan(RUNS);
  });
});

/** After a transaction: ports that it made are in the groups that they are to be in, and these are as they should be. */
function expectIsolated(
  world: World,
  operations: readonly Operation[],
  left: ReadonlySet<string>,
): void {
  const { database } = world;
  const wanted = [...world.units.values()].flatMap(({ id, wanted: rows }) =>
    left.has(id) ? [] : rows,
  );
  const made = new Set(
    operations.flatMap((one) =>
      one.op === 'insert' && one.table === 'Logical_Switch_Port' ? [one.uuid] : [],
    ),
  );
  for (const port of database.rows('Logical_Switch_Port')) {
    if (!made.has(port.uuid)) continue;
    const desired = wanted.find(
      ({ table, key }) => table === port.table && key === port.column('name'),
    );
    for (const { table, key } of desired?.containers ?? []) {
      if (table !== 'Port_Group') continue;
      const group = world.found(table, key);
      expect(group.includes('ports', port.uuid)).toBe(true);
      const acls = database.rows('ACL').filter((acl) => group.includes('acls', acl.uuid));
      const idOf = (ids: unknown): string => (ids as ReadonlyMap<string, string>).get('id') ?? '';
      const owner = [...world.units.values()]
        .filter((unit) => unit.wanted.some((one) => one.table === table && one.key === key))
        .find(({ id }) => !left.has(id));
      const needed = (owner?.wanted ?? [])
        .filter((one) => one.table === 'ACL' && one.containers[0]?.key === key)
        .map((one) => `${one.key} ${one.columns['match'] as string}`);
      expect(
        acls.map((acl) => `${idOf(acl.column('external_ids'))} ${acl.column('match') as string}`),
      ).toEqual(expect.arrayContaining(needed));
    }
  }
}
