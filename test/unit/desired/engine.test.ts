import { beforeEach, describe, expect, test } from 'vitest';
import { claimsOf, Engine, featureOf, type RowOwner } from '../../../src/desired/engine.ts';
import { DerivationGraph } from '../../../src/facts/derivation-graph.ts';
import { DerivedFacts } from '../../../src/facts/derived-facts.ts';
import { FactTable } from '../../../src/facts/fact-table.ts';
import type { Feature } from '../../../src/desired/features.ts';
import type { DesiredRow } from '../../../src/desired/rows.ts';
import { ReadRecorder } from '../../../src/facts/reads.ts';
import { Reconciler } from '../../../src/desired/ovsdb/reconciler.ts';
import { MemoryDatabase } from '../../support/ovsdb/memory-database.ts';
import { CLAIMS, northboundSchema, switchRow } from './northbound.ts';

interface Network {
  readonly subnet: string;
  readonly note: string;
}

class Facts {
  readonly recorder = new ReadRecorder();
  readonly networks = new FactTable<[name: string], Network>('networks', this.recorder);
  readonly settings = new FactTable<[name: string], { readonly mtu: string }>(
    'settings',
    this.recorder,
  );
}

const LOGICAL_SWITCH = CLAIMS.get('Logical_Switch');
if (LOGICAL_SWITCH === undefined) throw new Error('no claim');

/** One switch per network. What a subnet says decides how the build ends. */
const switches: Feature<Facts> = {
  name: 'switches',
  over: (facts) => facts.networks,
  rules: { rule: { text: 'one switch per network', source: 'tests' } },
  claims: [LOGICAL_SWITCH],
  rank: (facts, [name = '']) => Number(facts.networks.part(name, 'subnet') === 'first') * -1,
  build(facts, [name = ''], out) {
    const subnet = facts.networks.part(name, 'subnet') ?? '';
    if (subnet === 'throw') throw new RangeError('no such subnet');
    out.row(
      switchRow(name, {
        other_config: { subnet, mtu: facts.settings.get('mtu')?.mtu ?? 'none' },
      }),
    );
    if (subnet === 'reject') out.reject(`Network ${name}`, 'choose another subnet');
    if (subnet === 'wait') out.waitFor(`a subnet of ${name}`);
    if (subnet === 'odd') out.problem(`Network ${name}`, 'odd subnet');
  },
};

/** Takes what it is given. */
class Target {
  readonly database = 'OVN_Northbound';
  readonly wanted = new Map<RowOwner, readonly DesiredRow[]>();
  sets = 0;

  set(owner: RowOwner, wanted: readonly DesiredRow[]): void {
    this.sets += 1;
    if (wanted.length === 0) this.wanted.delete(owner);
    else this.wanted.set(owner, wanted);
  }

  has(owner: RowOwner): boolean {
    return this.wanted.has(owner);
  }

  get keys(): readonly string[] {
    return [...this.wanted.values()].flatMap((rows) => rows.map(({ key }) => key)).toSorted();
  }
}

let facts: Facts;
let engine: Engine<Facts>;
let target: Target;

const network = (subnet: string, note = ''): Network => ({ subnet, note });
const states = (): readonly string[] =>
  [...engine.notable()].map(({ args, state, problems }) =>
    [args.join(), state.kind, ...problems.map(({ message }) => message)].join(' '),
  );

beforeEach(() => {
  facts = new Facts();
  const { recorder } = facts;
  engine = new Engine({ facts, recorder, refresh: () => undefined, features: [switches] });
  target = new Target();
  engine.connect([target]);
  facts.settings.put('mtu', { mtu: '1400' });
  facts.networks.put('a', network('10.0.0.0/24'));
  facts.networks.put('b', network('10.0.1.0/24'));
});

describe('units are built', () => {
  test('one for each key, once', () => {
    expect([engine.isComplete, engine.isDirty]).toEqual([false, true]);
    expect([engine.build(), engine.build()]).toEqual([2, 0]);
    expect([engine.unitCount, engine.isComplete, engine.isDirty]).toEqual([2, true, false]);
    expect(target.keys).toEqual(['a', 'b']);
    expect(states()).toEqual([]);
  });

  test('again when something changed that they read, and not otherwise', () => {
    engine.build();
    facts.networks.put('a', network('10.0.0.0/24', 'a note that nobody reads'));
    expect(engine.build()).toBe(0);
    facts.networks.put('a', network('10.0.2.0/24'));
    expect(engine.build()).toBe(1);
    facts.settings.put('mtu', { mtu: '1500' });
    expect(engine.build()).toBe(2);
  });

  test('no more when their key goes: their rows go', () => {
    engine.build();
    facts.networks.delete('a');
    expect(target.keys).toEqual(['b']);
    expect(engine.build()).toBe(0);
    facts.settings.put('mtu', { mtu: '1500' });
    expect(engine.build()).toBe(1);
  });

  test('for other targets all anew', () => {
    engine.build();
    const other = new Target();
    engine.connect([other]);
    expect(engine.isComplete).toBe(false);
    expect(engine.build()).toBe(2);
    expect([other.keys, engine.isComplete]).toEqual([['a', 'b'], true]);
  });
});

test('what a builder throws is told, and what it throws again is not told again', () => {
  const faults: string[] = [];
  const { recorder } = facts;
  engine = new Engine({
    facts,
    recorder,
    refresh: () => undefined,
    features: [switches],
    onFault: (unit, error) => faults.push(`${unit}: ${String(error)}`),
  });
  engine.connect([target]);
  facts.networks.put('a', network('throw'));
  engine.build();
  engine.connect([new Target()]);
  engine.build();
  expect(faults).toEqual(['["switches","a"]: RangeError: no such subnet']);
  facts.networks.put('a', network('10.0.0.0/24'));
  engine.build();
  facts.networks.put('a', network('throw'));
  engine.build();
  expect(faults).toHaveLength(2);
});

test('objects are unfinished whose units failed or wait, and no longer than that', () => {
  const named: Feature<Facts> = {
    ...switches,
    objects: (_facts, [name = '']) => [`Network ${name}`],
  };
  const { recorder } = facts;
  engine = new Engine({ facts, recorder, refresh: () => undefined, features: [named] });
  engine.connect([target]);
  facts.networks.put('a', network('throw'));
  facts.networks.put('b', network('wait'));
  facts.networks.put('c', network('odd'));
  engine.build();
  expect([...engine.unfinishedObjects()].toSorted()).toEqual(['Network a', 'Network b']);
  for (const name of ['a', 'b']) facts.networks.put(name, network('10.0.0.0/24'));
  engine.build();
  expect([...engine.unfinishedObjects()]).toEqual([]);
});

describe('a unit', () => {
  test('that throws keeps its last rows, is reported, and is built again when what it read changes', () => {
    engine.build();
    facts.networks.put('a', network('throw'));
    engine.build();
    expect(target.keys).toEqual(['a', 'b']);
    expect(states()).toEqual(['a failed']);
    expect([...engine.notable()][0]?.state).toEqual({ kind: 'failed', error: 'no such subnet' });
    facts.networks.put('a', network('10.0.0.0/24'));
    expect(engine.build()).toBe(1);
    expect(states()).toEqual([]);
  });

  test('that never was built leaves it unknown which rows nobody wants', () => {
    facts.networks.put('a', network('throw'));
    engine.build();
    expect(engine.isComplete).toBe(false);
    facts.networks.delete('a');
    expect(engine.isComplete).toBe(true);
  });

  test('that failed for another target has not been built for a new one', () => {
    engine.build();
    facts.networks.put('a', network('throw'));
    engine.connect([new Target()]);
    engine.build();
    expect(engine.isComplete).toBe(false);
  });

  test('that is rejected gets no rows', () => {
    facts.networks.put('a', network('reject'));
    engine.build();
    expect([target.keys, states(), engine.isComplete]).toEqual([['b'], ['a rejected'], true]);
    expect([...engine.notable()][0]?.state).toEqual({
      kind: 'rejected',
      object: 'Network a',
      reason: 'choose another subnet',
    });
  });

  test('that waits, or has a problem, has its rows all the same', () => {
    facts.networks.put('a', network('wait'));
    facts.networks.put('b', network('odd'));
    engine.build();
    expect(target.keys).toEqual(['a', 'b']);
    expect(states()).toEqual(['a waiting', 'b ok odd subnet']);
  });

  test('has a rank by its facts, and an id that no other one has', () => {
    facts.networks.put('a","b', network('first'));
    engine.build();
    expect([...target.wanted.keys()].map(({ id, rank }) => [id, Math.abs(rank)])).toEqual([
      ['["switches","a"]', 0],
      ['["switches","b"]', 0],
      ['["switches","a\\",\\"b"]', 1],
    ]);
    expect(featureOf('["switches","a\\",\\"b"]')).toBe('switches');
  });

  test('is asked for its rows without being taken for built anew', () => {
    engine.build();
    const [owner] = target.wanted.keys();
    expect(owner?.rowsIn('OVN_Northbound').map(({ key }) => key)).toEqual(['a']);
    expect(owner?.rowsIn('OVN_Southbound')).toEqual([]);
    facts.networks.put('a', network('10.0.2.0/24'));
    expect(engine.isDirty).toBe(true);
  });
});

test('features that write one table share its claim', () => {
  const { claims } = switches;
  expect(
    claimsOf([switches, { name: 'more', claims }], 'OVN_Northbound').get('Logical_Switch'),
  ).toBe(LOGICAL_SWITCH);
  expect(claimsOf([switches], 'OVN_Southbound').size).toBe(0);
  expect(() =>
    claimsOf([switches, { name: 'more', claims: [{ ...LOGICAL_SWITCH }] }], 'OVN_Northbound'),
  ).toThrow('feature more claims table Logical_Switch in its own way');
});

test('with a reconciler: a builder that throws after a restart removes nothing', async () => {
  const database = new MemoryDatabase(northboundSchema());
  const mark = ['map', [['heddle', 'Network a']]] as const;
  database.write({
    op: 'insert',
    table: 'Logical_Switch',
    row: { name: 'a', external_ids: mark },
  });
  const reconciler = new Reconciler(database, claimsOf([switches], database.schema.name));
  facts.networks.put('a', network('throw'));
  engine.connect([reconciler]);
  engine.build();
  const plan = reconciler.plan({ now: 0, isComplete: engine.isComplete });
  expect(plan.changes.map(({ action, key }) => `${action} ${key}`)).toEqual(['insert b']);
  expect(plan.heldBack).toBe(1);
});

test('units over derived facts come and go with them', () => {
  const { recorder, networks } = facts;
  const graph = new DerivationGraph(recorder);
  const used = new DerivedFacts<[name: string], Network>('used', graph, networks, (name) => {
    const found = networks.get(name);
    return found?.note === 'unused' ? undefined : found;
  });
  const refresh = (): void => graph.refresh();
  const lazy = new Engine({
    facts,
    recorder,
    refresh,
    features: [{ ...switches, over: () => used }],
  });
  lazy.connect([target]);
  lazy.build();
  expect(target.keys).toEqual(['a', 'b']);
  networks.put('a', network('10.0.0.0/24', 'unused'));
  lazy.build();
  expect(target.keys).toEqual(['b']);
});
