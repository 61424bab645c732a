import { beforeEach, describe, expect, test } from 'vitest';
import type { DesiredRow } from '../../../src/ovsdb/plan/desired.ts';
import { commitPlan } from '../../../src/ovsdb/plan/plan-commit.ts';
import { renderPlan } from '../../../src/ovsdb/plan/plan-render.ts';
import { plan } from '../../../src/ovsdb/plan/plan.ts';
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

let database: MemoryDatabase;
const schema = northboundSchema();
const planned = (rows: readonly DesiredRow[]) => plan(rows, database, RULES);

async function apply(rows: readonly DesiredRow[]): Promise<string> {
  const result = planned(rows);
  const outcome = await commitPlan(database, result);
  expect(outcome.refused).toEqual([]);
  expect(['success', 'unchanged']).toContain(outcome.kind);
  return renderPlan(result);
}

/** Row of a table by its name, as the database holds it. */
function found(table: string, name: string) {
  const row = [...database.rows(table)].find((candidate) => candidate.column('name') === name);
  if (row === undefined) throw new Error(`no ${table} ${name}`);
  return row;
}

const names = (table: string): readonly string[] =>
  [...database.rows(table)].map((candidate) => candidate.column('name') as string).toSorted();

beforeEach(() => {
  database = new MemoryDatabase(schema);
});

describe('what is wanted and missing is inserted', () => {
  test('a switch with a port: one transaction, the port inside the new switch', async () => {
    expect(
      await apply([
        switchRow('blue', { other_config: { subnet: '10.0.0.0/24' } }),
        portRow('pod', 'blue', { addresses: ['0a:58:0a:00:00:03 10.0.0.3'] }),
      ]),
    ).toBe(`Logical_Switch: 1 to add
  + blue
      name: blue
      external_ids: {owner=heddle}
      other_config: {subnet=10.0.0.0/24}
Logical_Switch_Port: 1 to add
  + pod
      name: pod
      external_ids: {owner=heddle}
      addresses: ["0a:58:0a:00:00:03 10.0.0.3"]
      in Logical_Switch blue ports
`);
    expect(database.transactions).toHaveLength(1);
    expect(found('Logical_Switch', 'blue').column('ports')).toEqual([
      found('Logical_Switch_Port', 'pod').uuid,
    ]);
  });

  test('the same rows get the same UUIDs in another database', async () => {
    const rows = [switchRow('blue'), portRow('pod', 'blue')];
    await apply(rows);
    const first = found('Logical_Switch_Port', 'pod').uuid;
    database = new MemoryDatabase(schema);
    await apply(rows);
    expect(found('Logical_Switch_Port', 'pod').uuid).toBe(first);
  });

  test('a second pass sends nothing', async () => {
    const rows = [
      switchRow('blue'),
      portRow('pod', 'blue'),
      routerRow('r'),
      routeRow('r', '10.0.0.0/8', '1.1.1.1'),
    ];
    await apply(rows);
    expect(await apply(rows)).toBe('Nothing to do.\n');
    expect(database.transactions).toHaveLength(1);
  });

  test('references point forward and backward within a transaction', async () => {
    await apply([
      switchRow('blue', { load_balancer_group: [reference('Load_Balancer_Group', 'ours-group')] }),
      groupRow('ours-group'),
    ]);
    expect(found('Logical_Switch', 'blue').column('load_balancer_group')).toEqual([
      found('Load_Balancer_Group', 'ours-group').uuid,
    ]);
  });

  test('a set that must not be empty comes with its member', async () => {
    const rows: readonly DesiredRow[] = [
      {
        table: 'Meter_Band',
        key: 'ours-acl drop',
        columns: { action: 'drop', rate: 20 },
        containers: [{ table: 'Meter', key: 'ours-acl', column: 'bands' }],
      },
      {
        table: 'Meter',
        key: 'ours-acl',
        columns: { name: 'ours-acl', unit: 'pktps' },
        containers: [],
      },
    ];
    await apply(rows);
    expect(planned(rows).isEmpty).toBe(true);
    const tiny = plan(rows, new MemoryDatabase(schema), RULES, { limits: { rows: 1, bytes: 1 } });
    expect(tiny.batches).toHaveLength(1);
  });

  test('a row that lives by a reference in a column comes with the row that refers to it', () => {
    const result = plan(
      [
        {
          table: 'Gateway_Chassis',
          key: 'ours-gc',
          columns: { name: 'ours-gc', chassis_name: 'c' },
          containers: [],
        },
        routerRow('r'),
        row(
          'Logical_Router_Port',
          'rp',
          {
            mac: '0a:58:00:00:00:01',
            networks: ['10.0.0.1/24'],
            gateway_chassis: [reference('Gateway_Chassis', 'ours-gc')],
          },
          ['Logical_Router', 'r', 'ports'],
        ),
      ],
      database,
      RULES,
      { limits: { rows: 1, bytes: 1 } },
    );
    expect(result.batches.map((batch) => batch.map((change) => change.key))).toEqual([
      ['r'],
      ['ours-gc', 'rp'],
    ]);
  });
});

describe('differences are repaired', () => {
  const rows = [
    switchRow('blue', { other_config: { subnet: '10.0.0.0/24' } }),
    portRow('pod', 'blue', { addresses: ['a'], options: { x: '1' } }),
  ];
  beforeEach(() => apply(rows));

  test('an edited column becomes what it was, named in the plan', async () => {
    const { uuid } = found('Logical_Switch_Port', 'pod');
    database.write(update('Logical_Switch_Port', uuid, { addresses: 'b', type: 'router' }));
    expect(await apply(rows)).toBe(`Logical_Switch_Port: 1 to change
  ~ pod
      addresses: [b] → [a]
      type: router → ""
`);
    expect(found('Logical_Switch_Port', 'pod').column('addresses')).toEqual(['a']);
  });

  test('one key of a large map is sent alone', async () => {
    const ids = Object.fromEntries(Array.from({ length: 20 }, (_, i) => [`k${i}`, 'v']));
    const wide = [
      rows[0] as DesiredRow,
      portRow('pod', 'blue', { addresses: ['a'], options: ids }),
    ];
    await apply(wide);
    const { uuid } = found('Logical_Switch_Port', 'pod');
    database.write(
      update('Logical_Switch_Port', uuid, { options: textMap({ ...ids, k3: 'w', other: '1' }) }),
    );
    await apply(wide);
    expect(database.transactions.at(-1)).toEqual([
      {
        op: 'mutate',
        table: 'Logical_Switch_Port',
        where: [['_uuid', '==', ['uuid', uuid]]],
        mutations: [
          ['options', 'delete', ['set', ['k3', 'other']]],
          ['options', 'insert', ['map', [['k3', 'v']]]],
        ],
      },
    ]);
    expect(planned(wide).isEmpty).toBe(true);
  });

  test('columns that others write are left alone', () => {
    const { uuid } = found('Logical_Switch_Port', 'pod');
    database.write(update('Logical_Switch_Port', uuid, { up: true, tag: 7 }));
    expect(planned(rows).isEmpty).toBe(true);
  });

  test('keys of others in a shared map stay, ours come back', async () => {
    const { uuid } = found('Logical_Switch', 'blue');
    database.write(update('Logical_Switch', uuid, { other_config: textMap({ theirs: '1' }) }));
    await apply(rows);
    expect(found('Logical_Switch', 'blue').column('other_config')).toEqual(
      new Map([
        ['subnet', '10.0.0.0/24'],
        ['theirs', '1'],
      ]),
    );
  });

  test('a deleted switch comes back with its port', async () => {
    database.write(remove('Logical_Switch', found('Logical_Switch', 'blue').uuid));
    expect(names('Logical_Switch_Port')).toEqual([]);
    await apply(rows);
    expect(names('Logical_Switch_Port')).toEqual(['pod']);
  });

  test('a renamed switch gets its name back and keeps its row', async () => {
    const { uuid } = found('Logical_Switch', 'blue');
    database.write(update('Logical_Switch', uuid, { name: 'mine now' }));
    expect(await apply(rows)).toBe(`Logical_Switch: 1 to change
  ~ blue
      name: "mine now" → blue
`);
    expect(found('Logical_Switch', 'blue').uuid).toBe(uuid);
  });

  test('a row that lost its mark gets it back', async () => {
    for (const table of ['Logical_Switch', 'Logical_Switch_Port']) {
      const [only] = [...database.rows(table)];
      database.write(update(table, only?.uuid ?? '', { external_ids: textMap({}) }));
    }
    await apply(rows);
    expect(planned(rows).isEmpty).toBe(true);
    expect(found('Logical_Switch_Port', 'pod').column('external_ids')).toEqual(
      new Map([['owner', 'heddle']]),
    );
  });
});

describe('what nobody wants goes', () => {
  test('a port goes by the reference to it, a switch by a delete', async () => {
    await apply([
      switchRow('a'),
      portRow('p', 'a'),
      portRow('q', 'a'),
      switchRow('b'),
      portRow('r', 'b'),
    ]);
    database.transactions.length = 0;
    await apply([switchRow('a'), portRow('q', 'a')]);
    expect(database.transactions.flat().map((operation) => operation.op)).toEqual([
      'mutate',
      'delete',
    ]);
    expect(names('Logical_Switch_Port')).toEqual(['q']);
    expect(names('Logical_Switch')).toEqual(['a']);
  });

  test('a group that switches refer to goes with the references', async () => {
    const members = [reference('Load_Balancer_Group', 'ours-g')];
    await apply([
      groupRow('ours-g'),
      switchRow('a', { load_balancer_group: members }),
      switchRow('b'),
    ]);
    await apply([switchRow('a'), switchRow('b')]);
    expect(names('Load_Balancer_Group')).toEqual([]);
  });

  test('rows and members of others stay, also within ours', async () => {
    const rows = [switchRow('blue'), portRow('pod', 'blue'), row('Port_Group', 'pg')];
    await apply(rows);
    const theirPort = crypto.randomUUID();
    database.write(
      insert('Logical_Switch_Port', { name: 'theirs' }, theirPort),
      mutate(
        'Logical_Switch',
        found('Logical_Switch', 'blue').uuid,
        'ports',
        'insert',
        uuidSet(theirPort),
      ),
      mutate('Port_Group', found('Port_Group', 'pg').uuid, 'ports', 'insert', uuidSet(theirPort)),
      insert('Logical_Switch', { name: 'theirs' }),
      insert('Load_Balancer', { name: 'theirs' }),
    );
    expect(planned(rows).isEmpty).toBe(true);
  });

  test('a port of ours in a group of theirs stays there', async () => {
    const rows = [switchRow('blue'), portRow('pod', 'blue')];
    await apply(rows);
    const pod = found('Logical_Switch_Port', 'pod').uuid;
    database.write(insert('Port_Group', { name: 'theirs', ports: uuidSet(pod) }));
    expect(planned(rows).isEmpty).toBe(true);
  });

  test('a member of ours that nobody put into our group leaves it', async () => {
    const rows = [switchRow('blue'), portRow('pod', 'blue'), row('Port_Group', 'pg')];
    await apply(rows);
    const pod = found('Logical_Switch_Port', 'pod').uuid;
    database.write(
      mutate('Port_Group', found('Port_Group', 'pg').uuid, 'ports', 'insert', uuidSet(pod)),
    );
    await apply(rows);
    expect(found('Port_Group', 'pg').column('ports')).toEqual([]);
    expect(planned(rows).isEmpty).toBe(true);
  });
});

describe('one row per key', () => {
  test('a second switch of a name with our mark is removed, with what it holds', async () => {
    const rows = [switchRow('blue'), portRow('pod', 'blue')];
    await apply(rows);
    database.write(
      insert('Logical_Switch', { name: 'blue', external_ids: textMap({ owner: 'heddle' }) }),
    );
    expect(await apply(rows)).toMatch(
      /^Logical_Switch: 1 to remove\n {2}- blue \(second row of this key, /,
    );
    expect(names('Logical_Switch')).toEqual(['blue']);
    expect(planned(rows).isEmpty).toBe(true);
  });

  test('a switch of the name that is not ours stays beside ours', async () => {
    await apply([switchRow('blue')]);
    database.write(insert('Logical_Switch', { name: 'blue' }));
    expect(planned([switchRow('blue')]).isEmpty).toBe(true);
  });

  test('the row of a router is known by the router: equal routes of two routers are two rows', async () => {
    const rows = [
      routerRow('a'),
      routerRow('b'),
      routeRow('a', '1.0.0.0/8', '1.1.1.1'),
      routeRow('b', '1.0.0.0/8', '1.1.1.1'),
    ];
    await apply(rows);
    expect(database.size('Logical_Router_Static_Route')).toBe(2);
    const [a] = found('Logical_Router', 'a').column('static_routes') as readonly string[];
    const twin = crypto.randomUUID();
    database.write(
      insert(
        'Logical_Router_Static_Route',
        { ip_prefix: '1.0.0.0/8', nexthop: '2.2.2.2', external_ids: textMap({ owner: 'heddle' }) },
        twin,
      ),
      mutate(
        'Logical_Router',
        found('Logical_Router', 'a').uuid,
        'static_routes',
        'insert',
        uuidSet(twin),
      ),
    );
    await apply(rows);
    expect(found('Logical_Router', 'a').column('static_routes')).toEqual([a]);
  });
});

describe('keys held by others', () => {
  test('a port of ours on a switch of theirs is moved to ours', async () => {
    const rows = [switchRow('blue'), portRow('pod', 'blue')];
    const port = crypto.randomUUID();
    database.write(
      insert(
        'Logical_Switch_Port',
        { name: 'pod', external_ids: textMap({ owner: 'heddle' }) },
        port,
      ),
      insert('Logical_Switch', { name: 'theirs', ports: uuidSet(port) }),
    );
    expect(await apply(rows)).toContain('out of Logical_Switch theirs ports');
    expect(found('Logical_Switch', 'theirs').column('ports')).toEqual([]);
    expect(found('Logical_Switch', 'blue').column('ports')).toEqual([port]);
  });

  test('a port of theirs with our name stays, and the plan says who holds it', async () => {
    const port = crypto.randomUUID();
    database.write(
      insert('Logical_Switch_Port', { name: 'pod' }, port),
      insert('Logical_Switch', { name: 'theirs', ports: uuidSet(port) }),
    );
    const rows = [switchRow('blue'), portRow('pod', 'blue'), portRow('other', 'blue')];
    const result = planned(rows);
    expect(result.problems).toEqual([
      {
        kind: 'held-by-other',
        table: 'Logical_Switch_Port',
        key: 'pod',
        unit: '',
        message:
          `Logical_Switch_Port "pod": row ${port} (in Logical_Switch "theirs" ports; no external_ids) ` +
          'has this key and is not ours, so it is left alone: rename or delete it; ours is made as soon as it is gone',
      },
    ]);
    expect(result.changes.map((change) => change.key)).toEqual(['blue', 'other']);
  });

  test('what belongs into a row that is held by others is blocked, the rest goes on', () => {
    database.write(insert('Logical_Switch', { name: 'blue' }));
    const result = planned([switchRow('blue'), portRow('pod', 'blue'), switchRow('red')]);
    expect(result.changes.map((change) => change.key)).toEqual(['red']);
    expect(result.problems.map(({ kind, key }) => [kind, key])).toEqual([
      ['held-by-other', 'blue'],
      ['blocked', 'pod'],
    ]);
  });

  test('another row that has our UUID does not stop ours', async () => {
    await apply([switchRow('blue')]);
    const { uuid } = found('Logical_Switch', 'blue');
    database.write(update('Logical_Switch', uuid, { name: 'red' }));
    await apply([switchRow('blue'), switchRow('red')]);
    expect(names('Logical_Switch')).toEqual(['blue', 'red']);
    expect(found('Logical_Switch', 'red').uuid).toBe(uuid);
  });
});

describe('rows that can not be planned', () => {
  test('a reference to a row that is neither wanted nor there', () => {
    const result = planned([portRow('pod', 'nowhere'), switchRow('blue')]);
    expect(result.problems.map((problem) => problem.message)).toEqual([
      'Logical_Switch_Port "pod": belongs into ports of Logical_Switch "nowhere", which is neither wanted nor there: want that row too, or drop the reference',
    ]);
    expect(result.changes.map((change) => change.key)).toEqual(['blue']);
  });

  test('a value that does not fit its column names column and value', () => {
    const result = planned([switchRow('blue'), portRow('pod', 'blue', { enabled: 'yes' })]);
    expect(result.problems.map(({ kind, message }) => [kind, message])).toEqual([
      [
        'bad-value',
        'Logical_Switch_Port "pod": column enabled can\'t hold "yes": yes is not true or false',
      ],
    ]);
  });

  test('two units that want one row differently', () => {
    const result = plan(
      new Map([
        ['b', [switchRow('blue', { other_config: { subnet: '2' } })]],
        ['a', [switchRow('blue', { other_config: { subnet: '1' } })]],
      ]),
      database,
      RULES,
    );
    expect(result.problems.map((problem) => problem.message)).toEqual([
      'Logical_Switch "blue": wanted by "a" and differently by "b": the first one is followed; make them agree',
    ]);
    expect(result.changes[0]?.columns.map((column) => column.after)).toContainEqual(
      new Map([['subnet', '1']]),
    );
  });

  test('a table without rules', () => {
    expect(
      planned([{ table: 'DNS', key: 'x', columns: {}, containers: [] }]).problems.map(
        (p) => p.kind,
      ),
    ).toEqual(['no-rules']);
  });

  test('columns that an older server lacks are left out and said once', async () => {
    database.missing.add('Logical_Switch_Port.dhcpv4_options');
    const rows = [switchRow('blue'), portRow('p', 'blue', { peer: 'x' }), portRow('q', 'blue')];
    database.missing.add('Logical_Switch_Port.peer');
    expect(planned(rows).leftOut).toEqual([
      `the server's schema OVN_Northbound ${schema.version} has no column peer in table Logical_Switch_Port: its values are left out`,
    ]);
    await apply(rows);
    expect(planned(rows).isEmpty).toBe(true);
  });
});

describe('rows of other programs', () => {
  const wish: DesiredRow = {
    table: 'NB_Global',
    key: 'NB_Global',
    columns: { options: { ours: '1' } },
    containers: [],
    partial: true,
  };

  test('only our keys are written, and nothing before the row is there', async () => {
    expect(planned([wish]).problems.map((problem) => problem.kind)).toEqual(['awaited']);
    database.write(insert('NB_Global', { nb_cfg: 7, options: textMap({ theirs: '1' }) }));
    expect(await apply([wish])).toBe(`NB_Global: 1 to change
  ~ NB_Global
      options: {theirs=1} → {theirs=1, ours=1}
`);
    expect(planned([wish]).isEmpty).toBe(true);
    expect(planned([]).isEmpty).toBe(true);
  });
});

describe('order', () => {
  test('isolation comes before connectivity and goes after it', () => {
    const units = new Map([
      [
        '1 pod',
        [
          row(
            'Logical_Switch_Port',
            'pod',
            {},
            ['Logical_Switch', 'blue', 'ports'],
            ['Port_Group', 'pg', 'ports'],
          ),
        ],
      ],
      ['2 network', [switchRow('blue')]],
      ['3 policy', [row('Port_Group', 'pg'), aclRow('acl', 'pg')]],
    ]);
    const tiny = { limits: { rows: 1, bytes: 1 } };
    const result = plan(units, database, RULES, tiny);
    expect(result.changes.map((change) => change.key)).toEqual(['acl', 'pg', 'blue', 'pod']);
    expect(result.batches.map((batch) => batch.map((change) => change.key))).toEqual([
      ['acl', 'pg'],
      ['blue', 'pod'],
    ]);
  });

  test('a port joins its group in the transaction that makes it', async () => {
    const rows = [
      row(
        'Logical_Switch_Port',
        'pod',
        {},
        ['Logical_Switch', 'blue', 'ports'],
        ['Port_Group', 'pg', 'ports'],
      ),
      switchRow('blue'),
      row('Port_Group', 'pg'),
    ];
    await apply(rows);
    expect(database.transactions).toHaveLength(1);
    expect(found('Port_Group', 'pg').column('ports')).toEqual([
      found('Logical_Switch_Port', 'pod').uuid,
    ]);
  });

  test('units are kept whole where they fit', () => {
    const unit = (name: string) => [
      switchRow(name),
      ...[1, 2, 3].map((i) => portRow(`${name}${i}`, name)),
    ];
    const result = plan(
      new Map([
        ['a', unit('a')],
        ['b', unit('b')],
        ['c', unit('c')],
      ]),
      database,
      RULES,
      { limits: { rows: 10, bytes: 1e6 } },
    );
    expect(result.batches.map((batch) => batch.length)).toEqual([8, 4]);
  });
});
