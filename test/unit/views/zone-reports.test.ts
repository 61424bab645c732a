import { expect, test } from 'vitest';
import type { Plan, PlannedChange } from '../../../src/desired/ovsdb/changes.ts';
import { Exclusive } from '../../../src/process/exclusive.ts';
import type { OpenObjects } from '../../../src/settings/object-store.ts';
import { planReport, type PlannedZone } from '../../../src/views/zone-reports.ts';
import { MemoryStore } from '../../support/cluster/memory-store.ts';

function zone(
  objects: MemoryStore,
  steps: readonly string[] = [],
  settings: readonly string[] = [],
  plans: readonly Plan[] = [],
): PlannedZone {
  const store: OpenObjects = {
    objects,
    isEmbedded: true,
    complaints: () => [],
    placeOf: (object) => (object === 'EgressService blue/out' ? 'egress.yaml:3' : undefined),
    onComplaints: () => undefined,
    [Symbol.asyncDispose]: () => objects.close(),
  };
  return {
    configuration: { node: 'n1' },
    store,
    controller: {
      hostMayBeWanted: () => undefined,
      plans: () => plans,
      left: () => [],
      subjectOf: (unit) => (unit.startsWith('blue') ? 'blue_net' : undefined),
    },
    chassisSteps: () => Promise.resolve(settings),
    uplinkSteps: () => steps,
    problems: () => [],
  };
}

test('what is to be done with the external bridge is part of a plan', async () => {
  const report = await planReport(zone(new MemoryStore(), ['add bridge br-ex', 'add port eth0']), {
    details: true,
  });
  expect(report.hasChanges).toBe(true);
  expect(report.texts).toEqual([
    { database: 'External bridge', text: 'add bridge br-ex\nadd port eth0' },
  ]);
});

test('changes are counted by network, and by what a row that goes was there for', async () => {
  const change = (unit: string, object?: string): PlannedChange => ({
    action: 'delete',
    table: 'Logical_Switch',
    key: unit,
    uuid: unit,
    isRoot: true,
    isolates: false,
    unit: `${unit}/["x"]`,
    rule: undefined,
    object,
    reason: 'unwanted',
    columns: [],
    memberships: [],
  });
  const plan: Plan = {
    database: 'OVN_Northbound',
    isEmpty: false,
    changes: [change('blue1'), change('blue2'), change('gone', 'Pod red/web'), change('all')],
    batches: [],
    problems: [],
    unsupported: [],
    nameOf: () => undefined,
    heldBack: 0,
    drifted: new Set(),
    examined: 0,
  };
  const { networks } = await planReport(zone(new MemoryStore(), [], [], [plan]), {
    details: true,
  });
  expect(networks).toEqual({ '': 1, 'Pod red/web': 1, blue_net: 2 });
});

test('what ovn-controller is to be set to is part of a plan, before the bridge', async () => {
  const settings = ['set external_ids:ovn-is-interconn to "true"'];
  const report = await planReport(zone(new MemoryStore(), ['add bridge br-ex'], settings), {
    details: true,
  });
  expect(report.hasChanges).toBe(true);
  expect(report.texts).toEqual([
    { database: 'Chassis', text: settings.join() },
    { database: 'External bridge', text: 'add bridge br-ex' },
  ]);
  expect(report.databases).toContainEqual({ database: 'Chassis', steps: settings });
});

test('an object source that does not answer holds up no pass over the databases', async () => {
  const objects = new MemoryStore();
  objects.list = () => new Promise<never>(() => undefined);
  const passes = new Exclusive();
  const turn = <T>(report: () => Promise<T>): Promise<T> => passes.run(report);
  void planReport(zone(objects), { details: true }, { databases: turn, host: turn });
  await new Promise(setImmediate);
  expect(await passes.run(async () => 'a pass')).toBe('a pass');
});

test('a plan is made between two passes, and names where objects are written', async () => {
  const passes = new Exclusive();
  const pass = Promise.withResolvers<void>();
  const order: string[] = [];
  void passes.run(async () => {
    await pass.promise;
    order.push('pass');
  });
  const turn = <T>(report: () => Promise<T>): Promise<T> =>
    passes.run(async () => {
      order.push('plan');
      return report();
    });
  const refused = { object: 'EgressService blue/out', message: 'no pod of it leaves' };
  const planned = planReport(
    { ...zone(new MemoryStore()), problems: () => [refused] },
    { details: true },
    { databases: turn, host: turn },
  );
  await new Promise(setImmediate);
  pass.resolve();
  const { problems, hasChanges } = await planned;
  expect(order).toEqual(['pass', 'plan']);
  expect(hasChanges).toBe(false);
  expect(problems).toEqual([{ ...refused, place: 'egress.yaml:3' }]);
});

test('a task that fails does not keep the next one from running', async () => {
  const passes = new Exclusive();
  const failing = passes.run(async () => Promise.reject(new Error('lost')));
  await expect(failing).rejects.toThrow('lost');
  expect(await passes.run(async () => 'next')).toBe('next');
});
