import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { distinctProblems } from '../../../src/views/distinct-problems.ts';
import { ONE } from '../../../src/facts/keys.ts';
import type { Feature } from '../../../src/desired/features.ts';
import { createLogger } from '../../../src/process/logger.ts';
import { MARK } from '../../../src/desired/rows.ts';
import { ZoneController, type NetworkWritten } from '../../../src/zone/zone-controller.ts';
import type { RenderingOptions } from '../../../src/model/zone/rendered-networks.ts';
import type { ZoneFacts } from '../../../src/model/zone/zone.ts';
import { parseSchema, type DatabaseSchema, type JsonValue, type Outcome } from 'ovsdb-client-ts';
import { MemoryDatabase } from '../../support/ovsdb/memory-database.ts';
import { SCHEMAS } from '../../support/ovsdb/ovsdb-server.ts';
import {
  blue,
  bluePod,
  bluePodDefault,
  defaultNetwork,
  exampleZone,
  factsOf,
  layer2Secondary,
  localnet,
  putZone,
  yellow,
  type Zone,
} from '../../support/zone/zones.ts';

const schema = (file: string): DatabaseSchema =>
  parseSchema(JSON.parse(readFileSync(join(SCHEMAS, file), 'utf8')) as JsonValue);
const NORTHBOUND = schema('ovn-nb.ovsschema');
const SOUTHBOUND = schema('ovn-sb.ovsschema');

const signal = new AbortController().signal;

interface Bed {
  readonly database: MemoryDatabase;
  readonly facts: ZoneFacts;
  readonly controller: ZoneController;
  readonly clock: { now: number };
  readonly lost: { reason: string | undefined };
  readonly written: NetworkWritten[];
  /** The controller's facts become those of the zone. */
  readonly put: (zone: Zone) => void;
}

interface BedOptions extends RenderingOptions {
  /** Taken over from another bed. */
  readonly database?: MemoryDatabase;
  readonly takeOver?: boolean;
  readonly switchDown?: () => string | undefined;
  readonly northdDown?: () => string | undefined;
  readonly controllerDown?: () => string | undefined;
}

/** A controller that knows `zone` and has built nothing yet. */
function bed(
  zone: Zone,
  {
    database: taken,
    takeOver = false,
    switchDown = () => undefined,
    northdDown = () => undefined,
    controllerDown = () => undefined,
    ...options
  }: BedOptions = {},
): Bed {
  const database = taken ?? new MemoryDatabase(NORTHBOUND);
  const clock = { now: 0 };
  const lost: { reason: string | undefined } = { reason: undefined };
  const written: NetworkWritten[] = [];
  const facts = factsOf(zone, { renderEverywhere: true, ...options });
  const controller = new ZoneController({
    facts,
    takeOver,
    switchDown,
    northdDown,
    controllerDown,
    northbound: { replica: database, transactor: database, unavailable: () => lost.reason },
    log: createLogger('silent'),
    now: () => clock.now,
    onNetworkWritten: (one) => written.push(one),
  });
  let before = zone;
  const put = (after: Zone): void => {
    putZone(facts, before, after);
    before = after;
    controller.update();
  };
  controller.update();
  return { database, facts, controller, clock, lost, written, put };
}

test('a builder that is at fault is logged once, with where it threw; its unit is a problem', () => {
  const logged: object[] = [];
  const error = (fields: object, text: string): void => void logged.push({ ...fields, text });
  const feature: Feature<ZoneFacts> = {
    name: 'host/odd',
    over: () => ONE,
    rules: {},
    claims: [],
    build: () => (undefined as unknown as string).trim(),
  };
  const database = new MemoryDatabase(NORTHBOUND);
  const controller = new ZoneController({
    facts: factsOf(exampleZone, { renderEverywhere: true }),
    northbound: { replica: database, transactor: database, unavailable: () => undefined },
    host: { features: [feature], targets: [], problems: () => [] },
    log: Object.assign(createLogger('silent'), { error }),
  });
  controller.update();
  controller.update();
  expect(logged).toEqual([
    {
      component: 'zone',
      unit: 'host/odd',
      err: expect.any(TypeError) as TypeError,
      text: 'could not be built, its rows stay as they are',
    },
  ]);
  expect(controller.problems()).toContainEqual({
    object: 'unit host/odd',
    message: expect.stringMatching(/^could not be built, its rows stay as they are: /) as string,
  });
});

/** The database takes a commit as ovn-northd and one chassis would confirm it. */
async function confirm(database: MemoryDatabase, sequence: number): Promise<void> {
  await database.transact([
    {
      op: 'update',
      table: 'NB_Global',
      where: [],
      row: { sb_cfg: sequence, hv_cfg: sequence },
    },
  ]);
}

/** All there is in every row. */
const rowsOf = (database: MemoryDatabase): unknown =>
  [...NORTHBOUND.tables.values()].flatMap(({ name, columns }) =>
    [...database.rows(name)].map((row) =>
      [...columns.keys()].map((column) => {
        const value = row.column(column);
        return value instanceof Map
          ? [...value]
          : typeof value === 'bigint'
            ? Number(value)
            : value;
      }),
    ),
  );

const states = (controller: ZoneController): Record<string, string> =>
  Object.fromEntries(controller.progress.networks().map(({ name, state }) => [name, state]));

/** UUIDs of every row, by table. */
const rowsIn = (database: MemoryDatabase): unknown =>
  Object.fromEntries(
    [...NORTHBOUND.tables.keys()].map((table) => [
      table,
      [...database.rows(table)].map(({ uuid }) => uuid),
    ]),
  );

/** Takes our mark from every row: what is left is what an ovn-kubernetes wrote. */
function unmark(database: MemoryDatabase): void {
  for (const { name, columns } of NORTHBOUND.tables.values())
    if (columns.has('external_ids'))
      database.write({
        op: 'mutate',
        table: name,
        where: [],
        mutations: [['external_ids', 'delete', ['set', [MARK]]]],
      });
}

const only = (...names: readonly string[]): Zone => ({
  ...exampleZone,
  networks: exampleZone.networks.filter(({ name }) => names.includes(name)),
});

describe('zone controller', () => {
  test('a network is committed first and programmed when the data plane has reached its nb_cfg', async () => {
    const { database, controller } = bed(exampleZone);
    await controller.flush(signal);
    expect(states(controller)).toEqual({ default: 'Committed', blue_blue: 'Committed' });
    expect(controller.progress.sequence).toEqual({ configured: 1, reached: 0 });
    await confirm(database, 1);
    expect(states(controller)).toEqual({ default: 'Programmed', blue_blue: 'Programmed' });
  });

  test('networks that come while OVN takes one in wait and go together, unless OVN never answered', async () => {
    const networks = [blue, yellow, layer2Secondary, localnet] as const;
    const [first, second, third, last] = [
      blue.name,
      yellow.name,
      layer2Secondary.name,
      localnet.name,
    ] as const;
    const of = (...names: readonly string[]): Zone => ({
      ...exampleZone,
      networks: [defaultNetwork, ...networks.filter(({ name }) => names.includes(name))],
    });
    const { database, controller, put } = bed(of());
    const pass = async (): Promise<void> => {
      controller.update();
      expect((await controller.flush(signal)).kind).toBe('settled');
    };
    await pass();
    // OVN has not answered yet: it may not be there.
    put(of(first));
    put(of(first, second));
    await pass();
    expect(states(controller)).toMatchObject({ [first]: 'Committed', [second]: 'Committed' });
    await confirm(database, controller.progress.sequence.configured);

    put(of(first));
    await pass();
    put(of(first, second));
    await pass();
    put(of(first, second, third, last));
    await pass();
    expect(states(controller)).toMatchObject({
      [first]: 'Programmed',
      [second]: 'Committed',
      [third]: 'Pending',
      [last]: 'Pending',
    });
    expect(controller.progress.networks().find(({ name }) => name === third)?.message).toBe(
      'waits until OVN has taken in the networks that came before it',
    );
    expect(controller.nextExpiry).toBe(5000);
    await confirm(database, controller.progress.sequence.configured);
    await pass();
    expect(states(controller)).toMatchObject({
      [second]: 'Programmed',
      [third]: 'Committed',
      [last]: 'Committed',
    });
    expect(controller.nextExpiry).toBeUndefined();
  });

  test('a network that OVN never takes in keeps others waiting for five seconds', async () => {
    const of = (...more: Zone['networks']): Zone => ({
      ...exampleZone,
      networks: [defaultNetwork, ...more],
    });
    const { database, controller, clock, put } = bed(of());
    await controller.flush(signal);
    await confirm(database, 1);
    put(of(blue));
    await controller.flush(signal);
    put(of(blue, yellow));
    clock.now = 4999;
    controller.update();
    expect(states(controller)[yellow.name]).toBe('Pending');
    clock.now = 5000;
    controller.update();
    await controller.flush(signal);
    expect(states(controller)[yellow.name]).toBe('Committed');
  });

  test('what was in the data plane before a start is there after it, though OVN lags behind, until it is changed', async () => {
    const { database, controller } = bed(exampleZone);
    await controller.flush(signal);
    const again = bed(exampleZone, { database });
    again.controller.progress.rememberProgrammed(['blue_blue']);
    expect(again.controller.hasWritten).toBe(false);
    await again.controller.flush(signal);
    expect(again.controller.hasWritten).toBe(true);
    expect(states(again.controller)).toEqual({ default: 'Committed', blue_blue: 'Programmed' });
    again.put({ ...exampleZone, attachments: [bluePod] });
    await again.controller.flush(signal);
    expect(states(again.controller)).toEqual({ default: 'Committed', blue_blue: 'Committed' });
    await confirm(database, again.controller.progress.sequence.configured);
    expect(states(again.controller)).toEqual({ default: 'Programmed', blue_blue: 'Programmed' });
  });

  test('a pod makes only its networks wait for the data plane again', async () => {
    const { database, controller, put } = bed(exampleZone);
    await controller.flush(signal);
    await confirm(database, 1);
    put({ ...exampleZone, attachments: [bluePod] });
    expect(await controller.flush(signal)).toEqual({ kind: 'settled', committed: 1 });
    expect(states(controller)).toEqual({ default: 'Programmed', blue_blue: 'Committed' });
  });

  test('a second pass, and a new controller on a right database, send nothing', async () => {
    const zone = { ...exampleZone, attachments: [bluePod, bluePodDefault] };
    const { database, controller } = bed(zone);
    await controller.flush(signal);
    const sent = database.transactions.length;
    await controller.flush(signal);
    const second = bed(zone, { database });
    expect(await second.controller.flush(signal)).toEqual({ kind: 'settled', committed: 0 });
    expect(database.transactions.length).toBe(sent);
  });

  test('OVN is asked once a minute whether it still answers, where it owes nothing: one that ended is named though nothing changed', async () => {
    const { database, controller, clock } = bed(exampleZone);
    await controller.flush(signal);
    await confirm(database, 1);
    clock.now = 59_999;
    await controller.flush(signal);
    expect(controller.progress.behind).toBe(0);
    clock.now = 60_000;
    await controller.flush(signal);
    expect(controller.progress.behind).toBe(1);
    expect(states(controller)).toEqual({ default: 'Programmed', blue_blue: 'Programmed' });
    const sent = database.transactions.length;
    expect(controller.problems()).toEqual([]);
    clock.now = 150_000;
    await controller.flush(signal);
    expect(database.transactions.length).toBe(sent);
    const [silent, ...more] = controller.problems();
    expect(silent?.object).toMatch(/^Node /);
    expect(silent?.message).toMatch(/^ovn-northd has not answered since /);
    expect(more).toEqual([]);
    await confirm(database, 2);
    expect(controller.problems()).toEqual([]);
    await controller.flush(signal);
    expect(controller.progress.behind).toBe(1);
  });

  test('that Open vSwitch does not run is said once, of the node, in place of ovn-controller that can confirm nothing without it', async () => {
    let switchDown: string | undefined;
    const { database, controller, clock } = bed(exampleZone, { switchDown: () => switchDown });
    await controller.flush(signal);
    await confirm(database, 1);
    switchDown = 'ovs-vswitchd has not answered since noon';
    const [problem, ...more] = controller.problems();
    expect(problem).toEqual({
      object: expect.stringMatching(/^Node /) as string,
      message: switchDown,
    });
    expect(more).toEqual([]);
    expect(states(controller)).toEqual({ default: 'Programmed', blue_blue: 'Programmed' });
    clock.now = 60_000;
    await controller.flush(signal);
    await database.transact([{ op: 'update', table: 'NB_Global', where: [], row: { sb_cfg: 2 } }]);
    controller.problems();
    clock.now = 150_000;
    expect(controller.problems().map(({ message }) => message)).toEqual([switchDown]);
    switchDown = undefined;
    expect(controller.problems().map(({ message }) => message)).toEqual([
      expect.stringMatching(/^ovn-controller of chassis .* has not confirmed since /),
    ]);
    await confirm(database, 2);
    expect(controller.problems()).toEqual([]);
  });

  test('that ovn-northd stands still is said once, and nobody else is blamed meanwhile', async () => {
    let northdDown: string | undefined;
    const { database, controller, clock } = bed(exampleZone, { northdDown: () => northdDown });
    await controller.flush(signal);
    await confirm(database, 1);
    expect(controller.problems()).toEqual([]);
    northdDown = 'ovn-northd has been paused since noon';
    expect(controller.problems()).toEqual([
      { object: expect.stringMatching(/^Node /) as string, message: northdDown },
    ]);
    clock.now = 60_000;
    await controller.flush(signal);
    controller.problems();
    clock.now = 150_000;
    expect(controller.problems().map(({ message }) => message)).toEqual([northdDown]);
    expect(controller.progress.owedSince('ovn-northd', 60_001)).toBe(true);
    expect(controller.progress.owedSince('ovn-northd', 60_000)).toBe(false);
    await confirm(database, 2);
    expect(controller.progress.owedSince('ovn-northd', 150_000)).toBe(true);
    northdDown = undefined;
    expect(controller.problems()).toEqual([]);
    expect(controller.progress.owedSince('ovn-northd', 150_000)).toBe(false);
  });

  test('that ovn-controller does not answer is told once, in place of what it has not confirmed', async () => {
    let controllerDown: string | undefined;
    const { database, controller, clock } = bed(exampleZone, {
      controllerDown: () => controllerDown,
    });
    await controller.flush(signal);
    await confirm(database, 1);
    controllerDown = 'ovn-controller has not answered since noon';
    const told = (): readonly string[] => controller.problems().map(({ message }) => message);
    expect(told()).toEqual([controllerDown]);
    clock.now = 60_000;
    await controller.flush(signal);
    await database.transact([{ op: 'update', table: 'NB_Global', where: [], row: { sb_cfg: 2 } }]);
    expect(told()).toEqual([controllerDown]);
    clock.now = 150_000;
    expect(told()).toEqual([controllerDown]);
    await confirm(database, 2);
    controllerDown = undefined;
    expect(told()).toEqual([]);
  });

  test('while the database is away nothing is sent, and the reason is given', async () => {
    const { database, controller, lost } = bed(exampleZone);
    lost.reason = 'OVN_Northbound is not connected';
    expect(await controller.flush(signal)).toEqual({
      kind: 'again',
      reason: 'OVN_Northbound is not connected',
    });
    expect(database.transactions).toEqual([]);
    lost.reason = undefined;
    expect(await controller.flush(signal)).toMatchObject({ kind: 'settled' });
  });

  test('a refused pod fails its network alone, and is not sent again at changes of something else', async () => {
    const { database, controller, clock, put } = bed({ ...exampleZone, attachments: [bluePod] });
    const refuse: Outcome = { kind: 'error', error: 'constraint violation', details: 'no' };
    let tries = 0;
    database.intercept = (operations) => {
      const isGuilty = operations.some(
        (operation) => operation.op === 'insert' && operation.row['name'] === 'blue.blue_blue_pod1',
      );
      if (isGuilty) tries += 1;
      return isGuilty ? refuse : undefined;
    };
    await controller.flush(signal);
    expect(states(controller)).toEqual({ default: 'Committed', blue_blue: 'Failed' });
    expect(controller.problems()[0]?.message).toMatch(
      /Logical_Switch_Port "blue.blue_blue_pod1": the server refused to insert it: constraint violation: no/,
    );
    const before = tries;
    put({ ...exampleZone, attachments: [bluePod], namespaces: [...exampleZone.namespaces, 'new'] });
    await controller.flush(signal);
    put({ ...exampleZone, attachments: [bluePod, bluePodDefault] });
    await controller.flush(signal);
    expect(tries).toBe(before);
    expect(states(controller)['blue_blue']).toBe('Failed');
    clock.now = 31_000;
    database.intercept = undefined;
    await controller.flush(signal);
    expect(states(controller)['blue_blue']).toBe('Committed');
  });

  test('a row of somebody else under a name of ours: the state names that row, not what depends on it', async () => {
    const { database, controller } = bed(exampleZone);
    database.write({
      op: 'insert',
      table: 'Logical_Switch',
      row: { name: 'blue_blue_join', external_ids: ['map', [['owner', 'me']]] },
    });
    await controller.flush(signal);
    expect(controller.progress.networks().find(({ name }) => name === 'blue_blue')).toMatchObject({
      state: 'Failed',
      message: expect.stringMatching(
        /^Logical_Switch "blue_blue_join": row .* \(external_ids owner=me\) has this key and is not ours/,
      ) as string,
    });
    expect(distinctProblems(controller.problems())).toContainEqual({
      object: 'UserDefinedNetwork blue/blue',
      message: expect.stringMatching(
        /^Logical_Switch "blue_blue_join": row .* has this key and is not ours/,
      ) as string,
    });
  });

  test('a network has no rows while nothing here uses it, and keeps them for a while after its last use', async () => {
    const gracePeriod = 60_000;
    const { database, controller, clock, put } = bed(exampleZone, {
      renderEverywhere: false,
      gracePeriod,
    });
    const hasRows = (): boolean =>
      [...database.rows('Logical_Router')].some(
        (row) => row.column('name') === 'blue_blue_ovn_cluster_router',
      );
    await controller.flush(signal);
    expect([states(controller)['blue_blue'], hasRows()]).toEqual(['Unused', false]);

    put({ ...exampleZone, attachments: [bluePod] });
    await controller.flush(signal);
    expect([states(controller)['blue_blue'], hasRows()]).toEqual(['Committed', true]);

    clock.now = 1000;
    put(exampleZone);
    await controller.flush(signal);
    expect(controller.nextExpiry).toBe(1000 + gracePeriod);
    expect(hasRows()).toBe(true);

    clock.now = 1000 + gracePeriod;
    put(exampleZone);
    await controller.flush(signal);
    expect([states(controller)['blue_blue'], hasRows()]).toEqual(['Unused', false]);
  });

  test('how long a network that comes into use later takes is reported once, from its first use to its last row', async () => {
    const { controller, clock, lost, written, put } = bed(only('default'));
    await controller.flush(signal);
    clock.now = 1000;
    put(exampleZone);
    lost.reason = 'OVN_Northbound is not connected';
    await controller.flush(signal);
    expect(written).toEqual([]);
    clock.now = 1700;
    lost.reason = undefined;
    await controller.flush(signal);
    expect(written).toEqual([{ network: 'blue_blue', topology: 'layer3', duration: 700 }]);
    put({ ...exampleZone, attachments: [bluePod] });
    await controller.flush(signal);
    expect(written).toHaveLength(1);
  });

  test('what was there at the start, or was written before, is not measured', async () => {
    const { database, controller, written } = bed(exampleZone);
    await controller.flush(signal);
    const second = bed(only('default'), { database });
    second.put(exampleZone);
    await second.controller.flush(signal);
    expect([written, second.written]).toEqual([[], []]);
  });

  test('a unit that cannot be built keeps its rows, nothing is removed, and the report says so', async () => {
    const { database, controller } = bed({ ...exampleZone, attachments: [bluePod] });
    await controller.flush(signal);
    const before = rowsIn(database);
    // A daemon with a masquerade subnet in which no network has an address any more.
    const small = bed(
      {
        ...exampleZone,
        attachments: [bluePod],
        settings: { ...exampleZone.settings, masqueradeSubnets: { v4: '169.254.0.0/30' } },
      },
      { database },
    );
    expect(await small.controller.flush(signal)).toMatchObject({ kind: 'settled', committed: 0 });
    expect(rowsIn(database)).toEqual(before);
    expect(states(small.controller)).toMatchObject({ default: 'Failed' });
    expect(small.controller.problems().map(({ message }) => message)).toContainEqual(
      expect.stringMatching(/rows that nobody wants stay, as they may be there for something/),
    );
  });

  test('a network that a smaller masquerade subnet has no room for stays as it was written, says so, and others go on', async () => {
    const zone: Zone = {
      ...exampleZone,
      networks: [...exampleZone.networks, yellow],
      attachments: [bluePod],
    };
    const { database, controller } = bed(zone);
    await controller.flush(signal);
    const rows = (): readonly string[] =>
      [...NORTHBOUND.tables.keys()].flatMap((table) =>
        [...database.rows(table)].map(({ uuid }) => uuid),
      );
    const before = rows();
    const names = (table: string): readonly unknown[] =>
      [...database.rows(table)].map((row) => row.column('name'));
    const ofYellow = 'cluster_udn_yellow.net_ovn_layer2_switch';
    expect(names('Logical_Switch')).toContain(ofYellow);
    // The addresses of network id 1 are in it, those of id 3 are not.
    const settings = { ...zone.settings, masqueradeSubnets: { v4: '169.254.0.0/28' } };
    const small = bed({ ...zone, settings }, { database });
    await small.controller.flush(signal);
    // Routes of the masquerade subnet itself are new; nothing went.
    expect(rows()).toEqual(expect.arrayContaining([...before]));
    expect(states(small.controller)).toEqual({
      default: 'Committed',
      blue_blue: 'Committed',
      'cluster_udn_yellow-net': 'Failed',
    });
    expect([...small.facts.modelProblems()]).toEqual([
      {
        object: 'ClusterUserDefinedNetwork yellow-net',
        message:
          'network "cluster_udn_yellow-net": masquerade subnet 169.254.0.0/28 has no addresses for network id 3; configure a larger one',
      },
    ]);
    // What comes to the others, or goes from them, is written all the same.
    small.put({ ...zone, settings, attachments: [] });
    await small.controller.flush(signal);
    expect(names('Logical_Switch_Port')).not.toContain('blue.blue_blue_pod1');
    expect(names('Logical_Switch')).toContain(ofYellow);
  });

  test('while another node could not be read since the start its rows stay', async () => {
    const { database, controller } = bed(exampleZone);
    await controller.flush(signal);
    const before = rowsIn(database);
    const torn = bed({ ...exampleZone, remoteNodes: [] }, { database });
    torn.facts.unreadable.set('Node ovn-worker2', []);
    await torn.controller.flush(signal);
    expect(rowsIn(database)).toEqual(before);
    torn.facts.unreadable.delete('Node ovn-worker2');
    await torn.controller.flush(signal);
    expect(rowsIn(database)).not.toEqual(before);
  });

  test.each([
    [{ transport: 'no-overlay' }, 'networks with transport "no-overlay"'],
    [{ transport: 'evpn' }, 'networks with transport "evpn"'],
    [{ uplink: 'eth1' }, 'networks with an uplink of their own ("eth1")'],
  ] as const)('a network that is not rendered waits, and says why: %j', async (asked, what) => {
    const base = exampleZone.networks.find(({ topology, id }) => topology === 'layer3' && id > 0);
    if (base === undefined) throw new Error('the example has a layer3 network');
    const other = {
      ...base,
      name: 'red_other' as typeof base.name,
      id: 9,
      nads: ['red/other'],
      ...asked,
    };
    const { controller, database } = bed({
      ...exampleZone,
      networks: [...exampleZone.networks, other],
    });
    await controller.flush(signal);
    expect(controller.progress.networks().find(({ name }) => name === 'red_other')).toMatchObject({
      state: 'Pending',
      message: `${what} are allocated, but not rendered in this release`,
    });
    expect(JSON.stringify(database.transactions)).not.toContain('red_other');
  });

  test('a primary Layer2 network waits for its tunnel keys, and is rendered with them', async () => {
    const { controller, put } = bed({ ...exampleZone, networks: [{ ...yellow, tunnelKeys: [] }] });
    const state = (): unknown =>
      controller.progress.networks().find(({ name }) => name === yellow.name);
    await controller.flush(signal);
    expect(state()).toMatchObject({
      state: 'Pending',
      message:
        'waits for tunnel keys of its switch and router (annotation k8s.ovn.org/tunnel-keys of its NADs)',
    });
    put({ ...exampleZone, networks: [yellow] });
    await controller.flush(signal);
    expect(state()).toMatchObject({ state: 'Committed' });
  });

  test('networks of every topology are committed', async () => {
    const { controller, database } = bed({
      ...exampleZone,
      networks: [...exampleZone.networks, yellow, layer2Secondary, localnet],
    });
    await controller.flush(signal);
    const names: readonly string[] = [yellow, layer2Secondary, localnet].map(({ name }) => name);
    const states = controller.progress.networks().filter(({ name }) => names.includes(name));
    expect(states.map(({ state }) => state)).toEqual(['Committed', 'Committed', 'Committed']);
    expect(database.rows('Logical_Switch').map((row) => row.column('name'))).toEqual(
      expect.arrayContaining([
        'cluster_udn_yellow.net_ovn_layer2_switch',
        'blue_l2_ovn_layer2_switch',
        'blue_ln_ovn_localnet_switch',
      ]),
    );
  });
});

describe('a database that an ovn-kubernetes filled', () => {
  const filled = async (): Promise<MemoryDatabase> => {
    const database = new MemoryDatabase(NORTHBOUND);
    // Rows that can't be marked are known to be ours by the UUIDs that we give them: an ovn-kubernetes gives them others.
    for (const name of ['clusterLBGroup', 'clusterSwitchLBGroup', 'clusterRouterLBGroup'])
      database.write({
        op: 'insert',
        table: 'Load_Balancer_Group',
        row: { name: `blue_blue_${name}` },
      });
    for (const ip of ['169.254.0.2', '169.254.0.4'])
      database.write({
        op: 'insert',
        table: 'Static_MAC_Binding',
        row: { logical_port: 'rtoe-GR_blue_blue_ovn-worker', ip },
      });
    const { controller } = bed({ ...exampleZone, attachments: [bluePod] }, { database });
    await controller.flush(signal);
    controller.close();
    unmark(database);
    return database;
  };
  const names = (database: MemoryDatabase): unknown =>
    Object.fromEntries(
      ['Logical_Switch', 'Load_Balancer_Group', 'Port_Group'].map((table) => [
        table,
        new Set(database.rows(table).map((row) => row.column('name'))),
      ]),
    );

  test('is taken over as it is where its rows are wanted', async () => {
    const database = await filled();
    const before = rowsIn(database);
    const { controller } = bed({ ...exampleZone, attachments: [bluePod] }, { database });
    expect(controller.left()).toEqual([]);
    await controller.flush(signal);
    expect(rowsIn(database)).toEqual(before);
  });

  test('the rest is listed and stays, unless it is asked for', async () => {
    const database = await filled();
    database.write({
      op: 'insert',
      table: 'Logical_Router',
      row: { name: 'theirs', external_ids: ['map', [['node', 'n1']]] },
    });
    const before = names(database);
    const { controller } = bed(only('default'), { database });
    const listed = controller.left().map(({ table, key }) => `${table} ${key}`);
    expect(listed).toEqual(
      expect.arrayContaining([
        'Logical_Switch blue_blue_ovn-worker',
        'Load_Balancer_Group blue_blue_clusterLBGroup',
        'Static_MAC_Binding rtoe-GR_blue_blue_ovn-worker 169.254.0.4',
      ]),
    );
    expect(listed).not.toContain('Logical_Router theirs');
    await controller.flush(signal);
    expect(names(database)).toEqual(before);
    const second = bed(only('default'), { database, takeOver: true });
    await second.controller.flush(signal);
    expect(second.controller.left()).toEqual([]);
    const alone = bed(only('default'));
    await alone.controller.flush(signal);
    expect(names(database)).toEqual(names(alone.database));
    expect(database.size('Static_MAC_Binding')).toBe(alone.database.size('Static_MAC_Binding'));
  });

  test('a network that is declared and not rendered here keeps its rows: they may carry its pods', async () => {
    const database = await filled();
    const blue = exampleZone.networks.find(({ name }) => name === 'blue_blue');
    if (blue === undefined) throw new Error('the example has this network');
    const zone = {
      ...exampleZone,
      networks: [...only('default').networks, { ...blue, transport: 'no-overlay' as const }],
    };
    const { controller } = bed(zone, { database, takeOver: true });
    await controller.flush(signal);
    expect([...database.rows('Logical_Switch')].map((row) => row.column('name'))).toEqual(
      expect.arrayContaining(['blue_blue_ovn-worker', 'blue_blue_join']),
    );
    expect(database.rows('Load_Balancer_Group').map((row) => row.column('name'))).toContain(
      'blue_blue_clusterLBGroup',
    );
    expect(controller.left()).toEqual([]);
  });

  test('is taken over but for what one unreadable Node may have there', async () => {
    const database = await filled();
    const textOf = (): string => JSON.stringify(rowsOf(database));
    const { controller, facts } = bed(
      { ...only('default'), remoteNodes: [] },
      { database, takeOver: true },
    );
    facts.unreadable.set('Node ovn-worker2', []);
    expect(textOf()).toContain('blue_blue');
    await controller.flush(signal);
    expect(textOf()).not.toContain('blue_blue');
    expect(textOf()).toContain('ovn-worker2');
    facts.unreadable.clear();
    await controller.flush(signal);
    expect(textOf()).not.toContain('ovn-worker2');
  });

  test('is not taken over before every unit was built', async () => {
    const database = await filled();
    const before = rowsIn(database);
    const settings = { ...exampleZone.settings, masqueradeSubnets: { v4: '169.254.0.0/30' } };
    const zone = { ...exampleZone, remoteNodes: [], settings };
    const { controller } = bed(zone, { database, takeOver: true });
    expect(controller.left()).toEqual([]);
    await controller.flush(signal);
    expect(rowsIn(database)).toEqual(before);
  });
});

describe('a database that can not be written', () => {
  test('for a fault of its server is one problem; nothing is blamed, and all is written once it can', async () => {
    const { database, controller, clock } = bed(exampleZone);
    let sent = 0;
    database.intercept = (operations): Outcome | undefined => {
      if (!operations.some(({ op }) => op === 'comment')) return undefined;
      sent += 1;
      return { kind: 'error', error: 'I/O error', details: 'nb.db: write failed: No space left' };
    };
    const reason = expect.stringMatching(
      /^the server of Northbound can't write, whatever the rows are \(I\/O error: nb\.db: write failed: No space left\)/,
    ) as string;
    for (let pass = 0; pass < 5; pass += 1)
      expect(await controller.flush(signal)).toEqual({ kind: 'again', reason });
    // Nothing is halved, nor sent again before the wait is over.
    expect(sent).toBe(1);
    expect(controller.problems()).toEqual([{ object: 'database Northbound', message: reason }]);
    for (let second = 0; second < 120; second += 1) {
      clock.now += 1000;
      await controller.flush(signal);
    }
    expect(sent).toBeGreaterThan(5);
    expect(sent).toBeLessThan(12);
    database.intercept = undefined;
    clock.now += 30_000;
    expect(await controller.flush(signal)).toMatchObject({ kind: 'settled' });
    expect(controller.problems()).toEqual([]);
    expect(database.rows('Logical_Switch').length).toBeGreaterThan(3);
  });

  test('keeps nothing from the other one', async () => {
    const northbound = new MemoryDatabase(NORTHBOUND);
    const southbound = new MemoryDatabase(SOUTHBOUND);
    const away: { nb?: string | undefined; sb?: string | undefined } = {};
    const facts = factsOf(exampleZone, { renderEverywhere: true });
    const controller = new ZoneController({
      facts,
      northbound: { replica: northbound, transactor: northbound, unavailable: () => away.nb },
      southbound: { replica: southbound, transactor: southbound, unavailable: () => away.sb },
      log: createLogger('silent'),
      now: () => 0,
    });
    controller.update();
    away.sb = 'OVN_Southbound is not connected';
    expect(await controller.flush(signal)).toEqual({ kind: 'again', reason: away.sb });
    expect(northbound.rows('Logical_Switch').length).toBeGreaterThan(3);
    // What is written is announced to the data plane, and not all is known to be written.
    expect(controller.progress.sequence.configured).toBe(1);
    expect([southbound.rows('Chassis').length, controller.hasWritten]).toEqual([0, false]);
    [away.sb, away.nb] = [undefined, 'OVN_Northbound is not connected'];
    expect(await controller.flush(signal)).toEqual({ kind: 'again', reason: away.nb });
    expect(southbound.rows('Chassis').map((row) => row.column('hostname'))).toEqual([
      'ovn-worker2',
    ]);
    away.nb = undefined;
    expect(await controller.flush(signal)).toMatchObject({ kind: 'settled' });
    expect(controller.hasWritten).toBe(true);
  });
});
