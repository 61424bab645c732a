import { beforeEach, describe, expect, test } from 'vitest';
import type { DesiredRow } from '../../../src/desired/rows.ts';
import {
  aclRow,
  bandRow,
  globalRow,
  insert,
  keyed,
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
import { changesOf, EACH, problemsOf, World } from './world.ts';

/** What one unit's rows need, against a database as it is found. */

let world: World;

function wants(...rows: readonly DesiredRow[]): void {
  world.set('one', rows);
}

async function apply(...rows: readonly DesiredRow[]): Promise<string> {
  wants(...rows);
  return await world.apply();
}

beforeEach(() => {
  world = new World();
});

describe('what is wanted and missing is inserted', () => {
  test('a switch with a port, marked: one transaction, the port inside the new switch', async () => {
    expect(
      await apply(
        switchRow('blue', { other_config: { subnet: '10.0.0.0/24' }, external_ids: { a: 'b' } }),
        portRow('pod', 'blue', { addresses: ['0a:58:0a:00:00:03 10.0.0.3'] }),
      ),
    ).toBe(`Logical_Switch: 1 to add
  + blue
      name: blue
      other_config: {subnet=10.0.0.0/24}
      external_ids: {a=b, heddle="Test one"}
Logical_Switch_Port: 1 to add
  + pod
      name: pod
      addresses: ["0a:58:0a:00:00:03 10.0.0.3"]
      external_ids: {heddle="Test one"}
      in Logical_Switch blue ports
`);
    expect(world.database.transactions).toHaveLength(1);
    expect(world.found('Logical_Switch', 'blue').column('ports')).toEqual([
      world.found('Logical_Switch_Port', 'pod').uuid,
    ]);
  });

  test('the same rows get the same UUIDs in another database', async () => {
    await apply(switchRow('blue'), portRow('pod', 'blue'));
    const first = world.found('Logical_Switch_Port', 'pod').uuid;
    world = new World();
    await apply(switchRow('blue'), portRow('pod', 'blue'));
    expect(world.found('Logical_Switch_Port', 'pod').uuid).toBe(first);
  });

  test('a second pass sends nothing', async () => {
    const rows = [
      switchRow('blue'),
      portRow('pod', 'blue'),
      routerRow('r'),
      routeRow('r', '10.0.0.0/8', '1.1.1.1'),
    ];
    await apply(...rows);
    expect(await apply(...rows)).toBe('Nothing to do.\n');
    expect(world.database.transactions).toHaveLength(1);
  });

  test('references point forward and backward within a transaction', async () => {
    await apply(switchRow('blue', { copp: reference('Copp', 'defence') }), row('Copp', 'defence'));
    expect(world.found('Logical_Switch', 'blue').column('copp')).toBe(
      world.found('Copp', 'defence').uuid,
    );
  });

  test('a set that must not be empty comes with its member', async () => {
    await apply(bandRow('acl'), meterRow('acl'));
    expect(world.plan().isEmpty).toBe(true);
    expect(world.found('Meter', 'acl').column('bands')).toHaveLength(1);
  });

  test('a row whose place the server lacks is not made', () => {
    world.database.missing.add('Logical_Router.static_routes');
    world = new World({ database: world.database });
    wants(routerRow('r'), routeRow('r', '10.0.0.0/8', '1.1.1.1'));
    expect(world.plan().problems.map(({ message }) => message)).toEqual([
      'Logical_Router_Static_Route "r 10.0.0.0/8": the server has no column that could hold the row',
    ]);
  });
});

describe('differences are repaired', () => {
  const rows = [
    switchRow('blue', { other_config: { subnet: '10.0.0.0/24' } }),
    portRow('pod', 'blue', { addresses: ['a'], options: { x: '1' } }),
  ];
  beforeEach(() => apply(...rows));

  test('an edited column becomes what it was, named in the plan', async () => {
    const { uuid } = world.found('Logical_Switch_Port', 'pod');
    world.database.write(update('Logical_Switch_Port', uuid, { addresses: 'b', type: 'router' }));
    expect(await world.apply()).toBe(`Logical_Switch_Port: 1 to change
  ~ pod
      type: router → ""
      addresses: [b] → [a]
`);
    expect(world.found('Logical_Switch_Port', 'pod').column('addresses')).toEqual(['a']);
  });

  test('one key of a large map is sent alone, what is put in before what is taken out in sets', async () => {
    const ids = Object.fromEntries(Array.from({ length: 20 }, (_, i) => [`k${i}`, 'v']));
    const addresses = Array.from({ length: 20 }, (_, i) => `a${i}`);
    const wide = [switchRow('blue'), portRow('pod', 'blue', { addresses, options: ids })];
    await apply(...wide);
    const { uuid } = world.found('Logical_Switch_Port', 'pod');
    world.database.write(
      update('Logical_Switch_Port', uuid, {
        options: textMap({ ...ids, k3: 'w', other: '1' }),
        addresses: ['set', ['b', ...addresses.slice(1)]],
      }),
    );
    await apply(...wide);
    expect(world.database.transactions.at(-1)).toEqual([
      {
        op: 'mutate',
        table: 'Logical_Switch_Port',
        where: [['_uuid', '==', ['uuid', uuid]]],
        mutations: [
          ['options', 'delete', ['set', ['k3', 'other']]],
          ['options', 'insert', ['map', [['k3', 'v']]]],
          ['addresses', 'insert', 'a0'],
          ['addresses', 'delete', 'b'],
        ],
      },
    ]);
    expect(world.plan().isEmpty).toBe(true);
  });

  test('columns that others write are left alone', () => {
    const { uuid } = world.found('Logical_Switch_Port', 'pod');
    expect(world.plan().isEmpty).toBe(true);
    world.database.write(update('Logical_Switch_Port', uuid, { up: true, tag: 7 }));
    expect(world.plan()).toMatchObject({ isEmpty: true, examined: 0 });
  });

  test('columns about which a row says nothing stay as they are found', async () => {
    const { uuid } = world.found('Logical_Switch_Port', 'pod');
    world.database.write(update('Logical_Switch_Port', uuid, { type: 'router', peer: 'x' }));
    const [blue, pod] = rows as [DesiredRow, DesiredRow];
    await apply(blue, { ...pod, unspecified: ['type'] });
    expect(world.found('Logical_Switch_Port', 'pod').column('type')).toBe('router');
    expect(world.found('Logical_Switch_Port', 'pod').column('peer')).toBe(undefined);
  });

  test('keys of others in a shared map stay, ours come back', async () => {
    const { uuid } = world.found('Logical_Switch', 'blue');
    world.database.write(
      update('Logical_Switch', uuid, { other_config: textMap({ theirs: '1' }) }),
    );
    await world.apply();
    expect(world.found('Logical_Switch', 'blue').column('other_config')).toEqual(
      new Map([
        ['subnet', '10.0.0.0/24'],
        ['theirs', '1'],
      ]),
    );
  });

  test('a deleted switch comes back with its port', async () => {
    world.database.write(remove('Logical_Switch', world.found('Logical_Switch', 'blue').uuid));
    expect(world.names('Logical_Switch_Port')).toEqual([]);
    await world.apply();
    expect(world.names('Logical_Switch_Port')).toEqual(['pod']);
  });

  test('a renamed switch gets its name back and keeps its row', async () => {
    const { uuid } = world.found('Logical_Switch', 'blue');
    world.database.write(update('Logical_Switch', uuid, { name: 'mine now' }));
    expect(await world.apply()).toBe(`Logical_Switch: 1 to change
  ~ blue
      name: "mine now" → blue
`);
    expect(world.found('Logical_Switch', 'blue').uuid).toBe(uuid);
  });

  test('a row that lost its mark gets it back', async () => {
    for (const table of ['Logical_Switch', 'Logical_Switch_Port']) {
      const [only] = world.database.rows(table);
      world.database.write(update(table, only?.uuid ?? '', { external_ids: textMap({}) }));
    }
    await world.apply();
    expect(world.plan().isEmpty).toBe(true);
    expect(world.found('Logical_Switch_Port', 'pod').column('external_ids')).toEqual(
      new Map(Object.entries(MARKED)),
    );
  });

  test('a row that is there for another object now is marked with that one', async () => {
    await apply(...rows.map((one) => ({ ...one, object: 'Test two' })));
    expect(world.found('Logical_Switch_Port', 'pod').column('external_ids')).toEqual(
      new Map([['heddle', 'Test two']]),
    );
  });
});

describe('what nobody wants goes', () => {
  test('a port goes by the reference to it, a switch by a delete', async () => {
    await apply(
      switchRow('a'),
      portRow('p', 'a'),
      portRow('q', 'a'),
      switchRow('b'),
      portRow('r', 'b'),
    );
    world.database.transactions.length = 0;
    await apply(switchRow('a'), portRow('q', 'a'));
    expect(world.database.transactions.flat().map((operation) => operation.op)).toEqual([
      'mutate',
      'delete',
    ]);
    expect(world.names('Logical_Switch_Port')).toEqual(['q']);
    expect(world.names('Logical_Switch')).toEqual(['a']);
  });

  test('a row goes together with what refers to it', async () => {
    await apply(switchRow('blue', { copp: reference('Copp', 'defence') }), row('Copp', 'defence'));
    expect(await apply(switchRow('blue'))).toContain('copp: defence → []');
    expect(world.names('Copp')).toEqual([]);
  });

  test('rows and members of others stay, also within ours', async () => {
    await apply(switchRow('blue'), portRow('pod', 'blue'), row('Port_Group', 'pg'));
    const theirPort = crypto.randomUUID();
    world.database.write(
      insert('Logical_Switch_Port', { name: 'theirs' }, theirPort),
      mutate(
        'Logical_Switch',
        world.found('Logical_Switch', 'blue').uuid,
        'ports',
        'insert',
        uuidSet(theirPort),
      ),
      mutate(
        'Port_Group',
        world.found('Port_Group', 'pg').uuid,
        'ports',
        'insert',
        uuidSet(theirPort),
      ),
      insert('Logical_Switch', { name: 'theirs' }),
      insert('Load_Balancer', { name: 'theirs' }),
    );
    expect(world.plan()).toMatchObject({ isEmpty: true, problems: [] });
  });

  test('a port of ours in a group of theirs stays there', async () => {
    await apply(switchRow('blue'), portRow('pod', 'blue'));
    const pod = world.found('Logical_Switch_Port', 'pod').uuid;
    world.database.write(insert('Port_Group', { name: 'theirs', ports: uuidSet(pod) }));
    expect(world.plan().isEmpty).toBe(true);
  });

  test('a member of ours that nobody put into our group leaves it', async () => {
    await apply(switchRow('blue'), portRow('pod', 'blue'), row('Port_Group', 'pg'));
    const pod = world.found('Logical_Switch_Port', 'pod').uuid;
    world.database.write(
      mutate('Port_Group', world.found('Port_Group', 'pg').uuid, 'ports', 'insert', uuidSet(pod)),
    );
    await world.apply();
    expect(world.found('Port_Group', 'pg').column('ports')).toEqual([]);
    expect(world.plan().isEmpty).toBe(true);
  });

  test('meters that share one band each get a band of their own before they leave it', async () => {
    const band = crypto.randomUUID();
    world.database.write(
      insert('Meter_Band', { action: 'drop', rate: 25, external_ids: textMap(MARKED) }, band),
      ...['acl', 'arp', 'bfd'].map((name) =>
        insert('Meter', {
          name,
          unit: 'pktps',
          bands: uuidSet(band),
          external_ids: textMap(MARKED),
        }),
      ),
    );
    const meters = ['acl', 'arp', 'bfd'];
    await apply(...meters.map(meterRow), ...meters.map(bandRow));
    const bands = meters.map((name) => world.found('Meter', name).column('bands') as string[]);
    expect(bands.map((one) => one.length)).toEqual([1, 1, 1]);
    expect(new Set(bands.flat()).size).toBe(3);
    for (const { mutations } of world.database.transactions
      .flat()
      .filter((operation) => operation.op === 'mutate'))
      expect(mutations.map(([, mutator]) => mutator)).toEqual(['insert', 'delete']);
    expect(world.plan().isEmpty).toBe(true);
  });
});

describe('one row per key', () => {
  test('a second switch of a name with our mark is removed', async () => {
    await apply(switchRow('blue'), portRow('pod', 'blue'));
    world.database.write(insert('Logical_Switch', { name: 'blue', external_ids: textMap(MARKED) }));
    expect(await world.apply()).toMatch(
      /^Logical_Switch: 1 to remove\n {2}- blue \(second row of this key, /,
    );
    expect(world.names('Logical_Switch')).toEqual(['blue']);
    expect(world.plan().isEmpty).toBe(true);
  });

  test('a switch of the name that is not ours stays beside ours', async () => {
    await apply(switchRow('blue'));
    world.database.write(insert('Logical_Switch', { name: 'blue' }));
    expect(world.plan()).toMatchObject({ isEmpty: true, problems: [] });
  });

  test('equal routes of two routers are two rows; a second one on a router goes', async () => {
    await apply(
      routerRow('a'),
      routerRow('b'),
      routeRow('a', '1.0.0.0/8', '1.1.1.1'),
      routeRow('b', '1.0.0.0/8', '1.1.1.1'),
    );
    expect(world.database.size('Logical_Router_Static_Route')).toBe(2);
    const first = world.found('Logical_Router', 'a').column('static_routes');
    const twin = crypto.randomUUID();
    world.database.write(
      insert(
        'Logical_Router_Static_Route',
        { ip_prefix: '1.0.0.0/8', nexthop: '2.2.2.2', external_ids: textMap(MARKED) },
        twin,
      ),
      mutate(
        'Logical_Router',
        world.found('Logical_Router', 'a').uuid,
        'static_routes',
        'insert',
        uuidSet(twin),
      ),
    );
    await world.apply();
    expect(world.found('Logical_Router', 'a').column('static_routes')).toEqual(first);
  });
});

describe('rows without our mark', () => {
  test('one with our key and no ids is adopted: changed where it differs, and marked', async () => {
    const [uuid] = world.database.write(insert('Port_Group', { name: 'pg' }));
    expect(await apply(row('Port_Group', 'pg'))).toBe(`Port_Group: 1 to change
  ~ pg
      external_ids: {} → {heddle="Test one"}
`);
    expect(world.found('Port_Group', 'pg').uuid).toBe(uuid);
  });

  test('one that carries the ids that ours carries is adopted', async () => {
    const ids = { 'k8s.ovn.org/id': 'x', 'k8s.ovn.org/owner-type': 'y' };
    world.database.write(insert('Port_Group', { name: 'pg', external_ids: textMap(ids) }));
    await apply(row('Port_Group', 'pg', { external_ids: ids }));
    expect(world.database.size('Port_Group')).toBe(1);
  });

  test.each([{ theirs: '1' }, { 'k8s.ovn.org/owner-type': 'Other' }])(
    'one that carries other ids is left alone: %j',
    (ids) => {
      world.database.write(insert('Port_Group', { name: 'pg', external_ids: textMap(ids) }));
      wants(row('Port_Group', 'pg', { external_ids: { 'k8s.ovn.org/owner-type': 'Cluster' } }));
      const plan = world.plan();
      expect([plan.isEmpty, problemsOf(plan)]).toEqual([true, ['held-by-other pg']]);
    },
  );

  test('one with our key on a port that is ours is not: who holds it is said, the unit stays as it is', () => {
    const port = crypto.randomUUID();
    world.database.write(
      insert('Logical_Switch_Port', { name: 'pod', external_ids: textMap({ a: 'b' }) }, port),
      insert('Logical_Switch', { name: 'theirs', ports: uuidSet(port) }),
    );
    wants(switchRow('blue'), portRow('pod', 'blue'));
    expect(world.plan()).toMatchObject({
      isEmpty: true,
      problems: [
        {
          kind: 'held-by-other',
          table: 'Logical_Switch_Port',
          key: 'pod',
          unit: 'one',
          message:
            `Logical_Switch_Port "pod": row ${port} (in Logical_Switch "theirs" ports; external_ids a=b) ` +
            'has this key and is not ours, so it is left alone: rename or delete it; ours is made as soon as it is gone',
        },
      ],
    });
  });

  test('one with our mark on a switch of theirs is moved to ours', async () => {
    const port = crypto.randomUUID();
    world.database.write(
      insert('Logical_Switch_Port', { name: 'pod', external_ids: textMap(MARKED) }, port),
      insert('Logical_Switch', { name: 'theirs', ports: uuidSet(port) }),
    );
    expect(await apply(switchRow('blue'), portRow('pod', 'blue'))).toContain(
      'out of Logical_Switch theirs ports',
    );
    expect(world.found('Logical_Switch', 'theirs').column('ports')).toEqual([]);
    expect(world.found('Logical_Switch', 'blue').column('ports')).toEqual([port]);
  });

  test('another row that has our UUID does not stop ours', async () => {
    await apply(switchRow('blue'));
    const { uuid } = world.found('Logical_Switch', 'blue');
    world.database.write(update('Logical_Switch', uuid, { name: 'red' }));
    await apply(switchRow('blue'), switchRow('red'));
    expect(world.names('Logical_Switch')).toEqual(['blue', 'red']);
    expect(world.found('Logical_Switch', 'red').uuid).toBe(uuid);
  });

  test('a row of a table without external_ids that we made is ours by its UUID, whatever became of its switch and its name', async () => {
    await apply(switchRow('blue'), row('Load_Balancer_Group', 'blue-lbg'));
    world.database.write(
      { op: 'delete', table: 'Logical_Switch', where: [] },
      { op: 'update', table: 'Load_Balancer_Group', where: [], row: { name: 'x' } },
    );
    await world.settle();
    expect(world.names('Load_Balancer_Group')).toEqual(['blue-lbg']);
    world.database.write({ op: 'delete', table: 'Logical_Switch', where: [] });
    wants();
    world.restart();
    await world.settle();
    expect(world.names('Load_Balancer_Group')).toEqual([]);
  });

  test('a row of a table without external_ids is adopted, and ours by the mark of its switch', async () => {
    world.database.write(
      insert('Load_Balancer_Group', { name: 'blue-group' }),
      insert('Load_Balancer_Group', { name: 'theirs-group' }),
    );
    await apply(switchRow('blue'), row('Load_Balancer_Group', 'blue-group'));
    expect(world.database.size('Load_Balancer_Group')).toBe(2);
    await apply(switchRow('blue'));
    expect(world.names('Load_Balancer_Group')).toEqual(['theirs-group']);
  });
});

describe('a unit that can not be as it is wanted stays as it is', () => {
  test('a reference to a row that is neither wanted nor there', () => {
    wants(portRow('pod', 'nowhere'), switchRow('blue'));
    const plan = world.plan();
    expect(plan.problems.map((problem) => problem.message)).toEqual([
      'Logical_Switch_Port "pod": belongs into ports of Logical_Switch "nowhere", which is neither wanted nor there: want that row too, or drop the reference',
    ]);
    expect(plan.isEmpty).toBe(true);
  });

  test('a row that belongs into one of others, which no unit wants', () => {
    world.database.write(insert('Logical_Switch', { name: 'theirs' }));
    wants(portRow('pod', 'theirs'), switchRow('blue'));
    const plan = world.plan();
    expect(plan.problems.map(({ kind, message }) => [kind, message])).toEqual([
      [
        'held-by-other',
        'Logical_Switch_Port "pod": belongs into ports of Logical_Switch "theirs", which is not ours: ours is made as soon as that row is gone and its own unit could be built',
      ],
    ]);
    expect(plan.isEmpty).toBe(true);
  });

  test('a value that does not fit its column: column and value are named', () => {
    wants(switchRow('blue'), portRow('pod', 'blue', { enabled: 'yes' }));
    const plan = world.plan();
    expect(plan.problems.map(({ kind, message }) => [kind, message])).toEqual([
      [
        'bad-value',
        'Logical_Switch_Port "pod": column enabled can\'t hold "yes": yes is not true or false',
      ],
    ]);
    expect(plan.isEmpty).toBe(true);
  });

  test('one row wanted in two ways', () => {
    wants(switchRow('blue', { other_config: { a: '1' } }), switchRow('blue'));
    const plan = world.plan();
    expect([plan.isEmpty, plan.problems.map(({ message }) => message)]).toEqual([
      true,
      ['Logical_Switch "blue": it is wanted in two ways: correct the feature that builds it'],
    ]);
  });

  test('one row wanted twice in the same way is one row in the places of both', async () => {
    await apply(
      switchRow('blue'),
      row('Port_Group', 'pg'),
      portRow('pod', 'blue'),
      row('Logical_Switch_Port', 'pod', {}, ['Port_Group', 'pg', 'ports']),
    );
    expect(world.found('Port_Group', 'pg').column('ports')).toHaveLength(1);
    expect(world.plan().isEmpty).toBe(true);
  });

  test('a table that no feature claims', () => {
    wants(keyed('DNS', 'x', {}));
    expect(problemsOf(world.plan())).toEqual(['unclaimed-table x']);
  });

  test('a list of rows where the rows have to name their container', () => {
    wants(
      switchRow('blue', { load_balancer_group: [reference('Load_Balancer_Group', 'blue-g')] }),
      row('Load_Balancer_Group', 'blue-g'),
    );
    expect(world.plan().problems.map(({ message }) => message)).toEqual([
      'Logical_Switch "blue": column load_balancer_group lists rows: a row that belongs into a set says so itself, as one of its containers',
    ]);
  });

  test('a row that others refer to is not removed', async () => {
    await apply(row('Load_Balancer_Group', 'blue-g'), switchRow('blue'));
    world.database.write(
      insert('Logical_Switch', {
        name: 'theirs',
        load_balancer_group: uuidSet(world.found('Load_Balancer_Group', 'blue-g').uuid),
      }),
    );
    wants(switchRow('blue'));
    const plan = world.plan();
    expect([plan.isEmpty, problemsOf(plan)]).toEqual([true, ['still-referred blue-g']]);
    world.database.write(remove('Logical_Switch', world.found('Logical_Switch', 'theirs').uuid));
    expect(changesOf(world.plan())).toEqual(['delete blue-g']);
  });

  test('the rest of the units goes on', () => {
    wants(switchRow('blue'), portRow('pod', 'nowhere'));
    world.set('two', [switchRow('red')]);
    expect(changesOf(world.plan())).toEqual(['insert red']);
  });

  test('columns that an older server lacks are left out and said once', async () => {
    world.database.missing.add('Logical_Switch_Port.peer');
    world = new World({ database: world.database });
    wants(switchRow('blue'), portRow('p', 'blue', { peer: 'x' }), portRow('q', 'blue'));
    expect(world.plan().unsupported).toEqual([
      `the server's schema OVN_Northbound ${world.database.schema.version} has no column peer in table Logical_Switch_Port: its values are left out`,
    ]);
    await world.apply();
    expect(world.plan().isEmpty).toBe(true);
  });
});

describe('rows of other programs', () => {
  test('only our keys are written, and nothing before the row is there', async () => {
    wants(globalRow({ ours: '1' }));
    expect(problemsOf(world.plan())).toEqual(['awaited NB_Global']);
    world.database.write(insert('NB_Global', { nb_cfg: 7, options: textMap({ theirs: '1' }) }));
    expect(await world.apply()).toBe(`NB_Global: 1 to change
  ~ NB_Global
      options: {theirs=1} → {theirs=1, ours=1}
`);
    expect(world.plan()).toMatchObject({ isEmpty: true, problems: [] });
    wants();
    expect(world.plan().isEmpty).toBe(true);
  });

  test('what is awaited holds up nothing else of the unit', () => {
    wants(globalRow({ ours: '1' }), switchRow('blue'));
    const plan = world.plan();
    expect([changesOf(plan), problemsOf(plan)]).toEqual([['insert blue'], ['awaited NB_Global']]);
  });
});

test('a port joins its group in the transaction that makes it', async () => {
  world = new World({ limits: EACH });
  await apply(
    portRow('pod', 'blue', {}, 'pg'),
    switchRow('blue'),
    row('Port_Group', 'pg'),
    aclRow('acl', 'pg'),
  );
  expect(world.database.transactions).toHaveLength(1);
  expect(world.found('Port_Group', 'pg').column('ports')).toEqual([
    world.found('Logical_Switch_Port', 'pod').uuid,
  ]);
});
