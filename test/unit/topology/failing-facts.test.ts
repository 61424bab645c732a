import { readFileSync } from 'node:fs';
import { afterEach, describe, expect, test } from 'vitest';
import { parseSchema, type JsonValue, type ReplicaRow } from 'ovsdb-client-ts';
import { createLogger } from '../../../src/process/logger.ts';
import { ZoneController } from '../../../src/zone/zone-controller.ts';
import { MemoryDatabase } from '../../support/ovsdb/memory-database.ts';
import { zoneFeatures } from '../../../src/topology/features.ts';
import { keyText } from '../../../src/facts/keys.ts';
import type { Reader } from '../../../src/facts/reads.ts';
import { MARK, type DesiredRow } from '../../../src/desired/rows.ts';
import type { Engine, RowOwner, RowTarget } from '../../../src/desired/engine.ts';
import { DerivedFacts, isToBlame } from '../../../src/facts/derived-facts.ts';
import { aboutObject, concernedBy } from '../../../src/model/zone/failed-facts.ts';
import { zoneFacts, type ZoneFacts } from '../../../src/model/zone/zone.ts';
import { closedPolicy } from '../../../src/model/read/policies.ts';
import { everyKind } from '../../support/zone/all-kinds.ts';
import { networkPolicy } from '../../support/zone/policed-zone.ts';
import { engineOver } from '../../support/zone/zone-engine.ts';
import { bluePodDefault, dualZone, putZone } from '../../support/zone/zones.ts';

/** What the units of a zone want of Northbound, by their ids. */
class Wanted implements RowTarget {
  readonly database = 'OVN_Northbound';
  readonly rows = new Map<string, readonly DesiredRow[]>();

  set(owner: RowOwner, wanted: readonly DesiredRow[]): void {
    if (wanted.length === 0) this.rows.delete(owner.id);
    else this.rows.set(owner.id, wanted);
  }

  has(owner: RowOwner): boolean {
    return this.rows.has(owner.id);
  }
}

interface Key {
  readonly table: string;
  readonly tuple: readonly string[];
  readonly reader: Reader;
}

/** Every derivation of every key, as it is run, and which one throws. */
class Faults {
  readonly keys = new Map<string, Key>();
  broken: string | undefined;

  constructor({ recorder, graph }: ZoneFacts) {
    const run = recorder.run.bind(recorder);
    recorder.run = (reader, task) => {
      const table = graph.running?.name;
      if (table === undefined || !('key' in reader)) return run(reader, task);
      const tuple = reader.key as readonly string[];
      const id = keyText([table, ...tuple]);
      this.keys.set(id, { table, tuple, reader });
      return run(reader, () => {
        const value = task();
        if (this.broken === id) throw new Error('broken for a test');
        return value;
      });
    };
  }
}

/** A pod, and that nothing gets to it, in a namespace of its own on the default network. */
function putNewcomer(facts: ZoneFacts, isThere: boolean): void {
  const namespace = 'newcomer';
  const [pod, policy] = ['pod', 'closed'];
  const put = <T>(value: T): T | undefined => (isThere ? value : undefined);
  facts.namespaces.put(
    namespace,
    put({ name: namespace, isLabelled: false, labels: {}, logging: {}, hasMulticast: false }),
  );
  facts.networkRequests.put(
    [namespace, pod],
    put({
      namespace,
      pod,
      selections: [],
      unreadable: undefined,
      selected: undefined,
      primaryClaim: undefined,
      carried: ['default'],
    }),
  );
  facts.interfaces.put(
    [namespace, pod, 'default'],
    put({
      ...bluePodDefault,
      namespace,
      pod,
      role: 'primary',
      macAddress: '0a:58:0a:f4:00:63',
      addresses: ['10.244.0.99/24', 'fd00:10:244::99/64'],
    }),
  );
  facts.policies.put(
    [namespace, policy, 'NetworkPolicy'],
    put(closedPolicy(networkPolicy(`${namespace}/${policy}`, { podSelector: {} }))),
  );
  const everywhere = { kind: 'cidr', cidr: '0.0.0.0/0' } as const;
  facts.firewalls.put(
    [namespace, 'default'],
    put({
      namespace,
      name: 'default',
      rules: [{ isAllowed: false, destination: everywhere, ports: [] }],
    }),
  );
}

const NEWCOMERS_PORT = '["pods/port","newcomer","pod","default"]';

/** The zone of every kind, with the engine over it. */
class World {
  readonly facts: ZoneFacts;
  readonly faults: Faults;
  readonly target = new Wanted();
  readonly engine: Engine<ZoneFacts>;

  constructor(broken?: string) {
    const zone = {
      ...everyKind(dualZone),
      hostNetworkPods: [
        { namespace: 'blue', name: 'on-host', uid: 'b7a2d6c0-0000-4000-8000-00000000000a' },
      ],
    };
    this.facts = zoneFacts(zone.node.name, zone.settings);
    this.faults = new Faults(this.facts);
    this.faults.broken = broken;
    putZone(this.facts, undefined, zone);
    this.engine = engineOver(this.facts);
    this.engine.connect([this.target]);
    this.engine.build();
  }

  /** The fact of this key can't be worked out from now on, or can be again. */
  break(id: string, isBroken: boolean): void {
    this.faults.broken = isBroken ? id : undefined;
    this.faults.keys.get(id)?.reader.invalidate();
  }

  rows(): ReadonlyMap<string, readonly DesiredRow[]> {
    this.engine.build();
    return new Map(this.target.rows);
  }
}

/** Texts of a set are in no order. */
const sorted = (_key: string, value: unknown): unknown =>
  Array.isArray(value) && value.every((one) => typeof one === 'string') ? value.toSorted() : value;

const textsOf = (rows: ReadonlyMap<string, readonly DesiredRow[]>): ReadonlyMap<string, string> =>
  new Map(
    [...rows.keys()].toSorted().map((id) => [id, JSON.stringify(rows.get(id), sorted)] as const),
  );

/** Units that differ. */
const difference = (a: ReadonlyMap<string, string>, b: ReadonlyMap<string, string>): string[] =>
  [...new Set([...a.keys(), ...b.keys()])]
    .filter((id) => a.get(id) !== b.get(id))
    .map((id) => `${id} ${a.has(id) ? 'is' : 'is not there'} ${b.has(id) ? '' : 'and was not'}`);

test('each feature names the objects of its rows, and claims their tables', () => {
  const { facts, target, engine } = new World();
  engine.build();
  for (const [id, rows] of target.rows) {
    const [name, ...args] = JSON.parse(id) as [string, ...string[]];
    const feature = zoneFeatures.find((one) => one.name === name);
    const tables = feature?.claims.map(({ table }) => table);
    const objects = feature?.objects?.(facts, args);
    for (const { table, object } of rows) {
      expect(objects, id).toContain(object);
      expect(tables, id).toContain(table);
    }
  }
});

describe('a fact that can not be worked out', () => {
  const world = new World();
  const { facts, faults, engine } = world;
  const all = world.rows();
  const before = textsOf(all);
  putNewcomer(facts, true);
  const newcomer = world.rows();
  const after = textsOf(newcomer);
  const keys = [...faults.keys].filter(([, { tuple }]) => !tuple.join().includes('newcomer'));
  putNewcomer(facts, false);
  const tables = [...new Set(keys.map(([, { table }]) => table))].toSorted();
  /** Of each table the first key and the last one: for what makes a whole world for each. */
  const someKeys = tables.flatMap((name) => {
    const own = keys.filter(([, { table }]) => table === name);
    return [...new Set([own[0], own.at(-1)])].filter((one) => one !== undefined);
  });

  test('the zone has facts of every table, and none follows from itself', () => {
    expect(textsOf(world.rows())).toEqual(before);
    const derived = Object.entries(facts).filter(([, table]) => table instanceof DerivedFacts);
    for (const [name] of derived) expect(tables).toContain(name);
    expect(facts.graph.circles).toEqual([]);
    expect([...after.keys()].filter((unit) => !before.has(unit))).toEqual(
      expect.arrayContaining([
        NEWCOMERS_PORT,
        '["policy/group","default","newcomer","closed","NetworkPolicy"]',
        '["egress/firewall","default","newcomer","default"]',
      ]),
    );
  });

  afterEach(() => {
    putNewcomer(facts, false);
    if (faults.broken !== undefined) world.break(faults.broken, false);
    world.rows();
  });

  test.each(tables)(
    '%s: its rows stay, all others are as they should be, and so is all when it can be again',
    (table) => {
      for (const [id, key] of keys.filter(([, one]) => one.table === table)) {
        world.break(id, true);
        expect(difference(textsOf(world.rows()), before), id).toEqual([]);
        const failures = [...facts.graph.failures()];
        const toBlame = failures.filter(isToBlame);
        expect(
          toBlame.map(({ key: at }) => at),
          id,
        ).toEqual([key.tuple]);
        // Each says of which object it is.
        for (const { object } of toBlame) expect(object.split(' ')[0], id).not.toBe(table);
        putNewcomer(facts, true);
        const found = textsOf(world.rows());
        const isConcerned = concernedBy(
          [...facts.graph.failures()].map((failure) => aboutObject(facts, failure.object)),
        );
        for (const [unit, text] of after) {
          const own = newcomer.get(unit) ?? [];
          const isOfIt = own.some(({ object }) => isConcerned(object));
          if (!isOfIt) expect(found.get(unit) === text, `${id}: ${unit}`).toBe(true);
          // Nobody gets a port without what closes it.
          else if (unit.startsWith('["pods/port"'))
            expect([undefined, before.get(unit), text], `${id}: ${unit}`).toContain(
              found.get(unit),
            );
        }
        putNewcomer(facts, false);
        world.break(id, false);
        expect(difference(textsOf(world.rows()), before), id).toEqual([]);
        expect([...facts.graph.failures()], id).toEqual([]);
      }
      expect([...engine.notable()].filter(({ state }) => state.kind === 'failed')).toEqual([]);
    },
  );

  test('is one of a new pod: it has a port only where all that closes it is there', () => {
    const own = [...faults.keys.keys()].filter((id) => id.includes('newcomer'));
    expect(own.length).toBeGreaterThan(8);
    for (const id of own) {
      faults.broken = id;
      putNewcomer(facts, true);
      const found = textsOf(world.rows());
      expect([...facts.graph.failures()], id).not.toEqual([]);
      if (found.has(NEWCOMERS_PORT)) expect(difference(found, after), id).toEqual([]);
      else expect(difference(found, after), id).toContain(`${NEWCOMERS_PORT} is not there `);
      world.break(id, false);
      expect(difference(textsOf(world.rows()), after), id).toEqual([]);
      putNewcomer(facts, false);
      expect(difference(textsOf(world.rows()), before), id).toEqual([]);
    }
  });

  test('from the start on a database that was right: nothing goes that is wanted, and a deleted policy goes', async () => {
    const schema = parseSchema(
      JSON.parse(readFileSync('schemas/ovn-nb.ovsschema', 'utf8')) as JsonValue,
    );
    const database = new MemoryDatabase(schema);
    database.write({ op: 'insert', table: 'NB_Global', row: {} });
    const controllerOf = ({ facts: known }: Pick<World, 'facts'>): ZoneController =>
      new ZoneController({
        facts: known,
        northbound: { replica: database, transactor: database, unavailable: () => undefined },
        log: createLogger('silent'),
        now: () => 0,
      });
    const earlier = new World();
    earlier.facts.policies.put(
      ['blue', 'deleted', 'NetworkPolicy'],
      closedPolicy(networkPolicy('blue/deleted', { podSelector: {} })),
    );
    const first = controllerOf(earlier);
    first.update();
    await first.flush(new AbortController().signal);
    first.close();
    const isDeleted = (row: ReplicaRow | undefined): boolean =>
      row?.includes('external_ids', MARK) === true &&
      (row.column('external_ids') as ReadonlyMap<string, string>).get(MARK) ===
        'NetworkPolicy blue/deleted';
    const going = ['Port_Group', 'ACL'].flatMap((table) =>
      database
        .rows(table)
        .filter(isDeleted)
        .map(({ uuid }) => uuid),
    );
    expect(going.length).toBeGreaterThan(0);
    const wanted = new Set([...all.values()].flat().map(({ table, key }) => `${table} ${key}`));
    for (const [id] of someKeys) {
      const again = new World(id);
      const controller = controllerOf(again);
      controller.update();
      const gone = controller
        .plans()
        .flatMap(({ changes }) => changes)
        .filter(({ action }) => action === 'delete');
      controller.close();
      const lost = gone
        .map(({ table, key }) => `${table} ${key}`)
        .filter((name) => wanted.has(name));
      expect(lost, id).toEqual([]);
      expect(
        gone.map(({ uuid }) => uuid),
        id,
      ).toEqual(expect.arrayContaining(going));
    }
  });

  test('from the start: all others are there, and nobody has a port without what closes it', () => {
    const missing: string[] = [];
    for (const [id] of someKeys) {
      const fresh = new World(id);
      const found = textsOf(fresh.rows());
      const isConcerned = concernedBy(
        [...fresh.facts.graph.failures()].map((failure) =>
          aboutObject(fresh.facts, failure.object),
        ),
      );
      for (const [unit, text] of before) {
        const isOfIt = all.get(unit)?.some(({ object }) => isConcerned(object));
        if (isOfIt !== true && found.get(unit) !== text) missing.push(`${id}: ${unit}`);
      }
      for (const [unit, rows] of fresh.target.rows)
        if (unit.startsWith('["pods/port"'))
          expect(rows[0]?.containers, `${id}: ${unit}`).toEqual(all.get(unit)?.[0]?.containers);
      fresh.break(id, false);
      expect(difference(textsOf(fresh.rows()), before), id).toEqual([]);
    }
    expect(missing).toEqual([]);
  });
});
