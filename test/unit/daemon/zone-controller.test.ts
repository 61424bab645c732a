import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { createLogger } from '../../../src/daemon/logger.ts';
import { ZoneController, type NetworkWritten } from '../../../src/daemon/zone-controller.ts';
import { parseSchema, type JsonValue, type Outcome } from '../../../src/ovsdb/index.ts';
import { MemoryDatabase } from '../../support/memory-database.ts';
import { SCHEMAS } from '../../support/ovsdb-server.ts';
import { bluePod, bluePodDefault, exampleZone } from '../../support/zones.ts';

const NORTHBOUND = parseSchema(
  JSON.parse(readFileSync(join(SCHEMAS, 'ovn-nb.ovsschema'), 'utf8')) as JsonValue,
);

const signal = new AbortController().signal;

function bed(): {
  database: MemoryDatabase;
  controller: ZoneController;
  clock: { now: number };
  lost: { reason: string | undefined };
  written: NetworkWritten[];
} {
  const database = new MemoryDatabase(NORTHBOUND);
  const clock = { now: 0 };
  const lost: { reason: string | undefined } = { reason: undefined };
  const written: NetworkWritten[] = [];
  const controller = new ZoneController({
    northbound: { replica: database, transactor: database, unavailable: () => lost.reason },
    log: createLogger('silent'),
    now: () => clock.now,
    onNetworkWritten: (one) => written.push(one),
  });
  return { database, controller, clock, lost, written };
}

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

const states = (controller: ZoneController): Record<string, string> =>
  Object.fromEntries(controller.networks().map(({ name, state }) => [name, state]));

describe('zone controller', () => {
  test('a network is committed first and programmed when the data plane has reached its nb_cfg', async () => {
    const { database, controller } = bed();
    controller.update(exampleZone);
    await controller.flush(signal);
    expect(states(controller)).toEqual({ default: 'Committed', blue_blue: 'Committed' });
    expect(controller.sequence).toEqual({ configured: 1, reached: 0 });
    await confirm(database, 1);
    expect(states(controller)).toEqual({ default: 'Programmed', blue_blue: 'Programmed' });
  });

  test('a pod makes only its networks wait for the data plane again', async () => {
    const { database, controller } = bed();
    controller.update(exampleZone);
    await controller.flush(signal);
    await confirm(database, 1);
    controller.update({ ...exampleZone, attachments: [bluePod] });
    expect(await controller.flush(signal)).toEqual({ kind: 'settled', committed: 1 });
    expect(states(controller)).toEqual({ default: 'Programmed', blue_blue: 'Committed' });
  });

  test('a second pass, and a new controller on a right database, send nothing', async () => {
    const { database, controller } = bed();
    controller.update({ ...exampleZone, attachments: [bluePod, bluePodDefault] });
    await controller.flush(signal);
    const sent = database.transactions.length;
    await controller.flush(signal);
    const second = new ZoneController({
      northbound: { replica: database, transactor: database, unavailable: () => undefined },
      log: createLogger('silent'),
    });
    second.update({ ...exampleZone, attachments: [bluePod, bluePodDefault] });
    expect(await second.flush(signal)).toEqual({ kind: 'settled', committed: 0 });
    expect(database.transactions.length).toBe(sent);
  });

  test('while the database is away nothing is sent, and the reason is told', async () => {
    const { database, controller, lost } = bed();
    lost.reason = 'OVN_Northbound is not connected';
    controller.update(exampleZone);
    expect(await controller.flush(signal)).toEqual({
      kind: 'again',
      reason: 'OVN_Northbound is not connected',
    });
    expect(database.transactions).toEqual([]);
    lost.reason = undefined;
    expect(await controller.flush(signal)).toMatchObject({ kind: 'settled' });
  });

  test('a refused row fails its network alone, and is not sent again at every other change', async () => {
    const { database, controller, clock } = bed();
    const refuse: Outcome = { kind: 'error', error: 'constraint violation', details: 'no' };
    database.intercept = (operations) =>
      operations.some(
        (operation) => operation.op === 'insert' && operation.row['name'] === 'blue.blue_blue_pod1',
      )
        ? refuse
        : undefined;
    controller.update({ ...exampleZone, attachments: [bluePod] });
    await controller.flush(signal);
    expect(states(controller)).toEqual({ default: 'Committed', blue_blue: 'Failed' });
    expect(controller.problems[0]?.message).toMatch(
      /Logical_Switch_Port "blue.blue_blue_pod1": the server refused to insert it: constraint violation: no/,
    );
    const sent = database.transactions.length;
    await controller.flush(signal);
    expect(database.transactions.length).toBe(sent);
    expect(states(controller)['blue_blue']).toBe('Failed');
    clock.now = 31_000;
    database.intercept = undefined;
    await controller.flush(signal);
    expect(states(controller)['blue_blue']).toBe('Committed');
  });

  test('how long a network that comes later takes is told once, from first seen to written', async () => {
    const { controller, clock, lost, written } = bed();
    const [base, blue] = exampleZone.networks;
    if (base === undefined || blue === undefined) throw new Error('the example has networks');
    controller.update({ ...exampleZone, networks: [base] });
    await controller.flush(signal);
    const unallocated = { ...blue, nodeSubnets: new Map<string, readonly string[]>() };
    clock.now = 1000;
    controller.update({ ...exampleZone, networks: [base, unallocated] });
    await controller.flush(signal);
    clock.now = 1500;
    controller.update(exampleZone);
    lost.reason = 'OVN_Northbound is not connected';
    await controller.flush(signal);
    expect(written).toEqual([]);
    clock.now = 1700;
    lost.reason = undefined;
    await controller.flush(signal);
    expect(written).toEqual([{ network: 'blue_blue', topology: 'layer3', duration: 700 }]);
    controller.update({ ...exampleZone, attachments: [bluePod] });
    await controller.flush(signal);
    expect(written).toHaveLength(1);
  });

  test('what was there at the start, or was written before, is not measured', async () => {
    const { database, controller, written } = bed();
    controller.update(exampleZone);
    await controller.flush(signal);
    const later: NetworkWritten[] = [];
    const second = new ZoneController({
      northbound: { replica: database, transactor: database, unavailable: () => undefined },
      log: createLogger('silent'),
      onNetworkWritten: (one) => later.push(one),
    });
    second.update({ ...exampleZone, networks: exampleZone.networks.slice(0, 1) });
    second.update(exampleZone);
    await second.flush(signal);
    expect([written, later]).toEqual([[], []]);
  });

  test.each([
    [{ topology: 'layer2' }, 'layer2 networks'],
    [{ transport: 'no-overlay' }, 'networks with transport "no-overlay"'],
    [{ transport: 'evpn' }, 'networks with transport "evpn"'],
    [{ uplink: 'eth1' }, 'networks with an uplink of their own ("eth1")'],
  ] as const)('a network that is not rendered waits, and says why: %j', async (asked, what) => {
    const { controller, database } = bed();
    const base = exampleZone.networks.find(({ topology, id }) => topology === 'layer3' && id > 0);
    if (base === undefined) throw new Error('the example has a layer3 network');
    const other = { ...base, name: 'red_other' as typeof base.name, id: 9, ...asked };
    controller.update({ ...exampleZone, networks: [...exampleZone.networks, other] });
    await controller.flush(signal);
    expect(controller.networks().find(({ name }) => name === 'red_other')).toMatchObject({
      state: 'Pending',
      message: `${what} are allocated, but not rendered in this release`,
    });
    expect(JSON.stringify(database.transactions)).not.toContain('red_other');
  });
});
