import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { createLogger } from '../../../src/process/logger.ts';
import { ZoneController, type ZoneHost } from '../../../src/zone/zone-controller.ts';
import type { DesiredRow } from '../../../src/desired/rows.ts';
import { hostFeatures } from '../../../src/node/features.ts';
import { parseSchema, type JsonValue } from 'ovsdb-client-ts';
import { HOST_SETTINGS } from '../../support/host/host-units.ts';
import { MemoryDatabase } from '../../support/ovsdb/memory-database.ts';
import { SCHEMAS } from '../../support/ovsdb/ovsdb-server.ts';
import { exampleZone, factsOf } from '../../support/zone/zones.ts';

const NORTHBOUND = parseSchema(
  JSON.parse(readFileSync(join(SCHEMAS, 'ovn-nb.ovsschema'), 'utf8')) as JsonValue,
);
const UNIT = JSON.stringify(['host/network', 'blue_blue']);

type Problems = ReturnType<ZoneHost['problems']>;

/** A zone that is all written, with a host of which `problems` are known. */
async function zoneWith(
  problems: () => Problems,
): Promise<[ZoneController, Map<string, DesiredRow>]> {
  const database = new MemoryDatabase(NORTHBOUND);
  const rows = new Map<string, DesiredRow>();
  const host: ZoneHost = {
    features: hostFeatures(HOST_SETTINGS),
    targets: [
      {
        database: 'Linux',
        has: () => false,
        set: (_owner, wanted) => {
          for (const row of wanted) rows.set(`${row.table} ${row.key}`, row);
        },
      },
    ],
    problems,
  };
  const controller = new ZoneController({
    facts: factsOf(exampleZone),
    northbound: { replica: database, transactor: database, unavailable: () => undefined },
    host,
    log: createLogger('silent'),
    now: () => 0,
  });
  controller.update();
  await controller.flush(new AbortController().signal);
  await database.transact([
    { op: 'update', table: 'NB_Global', where: [], row: { sb_cfg: 1, hv_cfg: 1 } },
  ]);
  return [controller, rows];
}

const blue = (controller: ZoneController): unknown =>
  controller.progress.networks().find(({ name }) => name === 'blue_blue');

const problem = (kind: Problems[number]['kind'], message: string): Problems[number] => ({
  kind,
  unit: UNIT,
  object: 'UserDefinedNetwork blue/blue',
  table: 'link',
  key: 'mp1-udn-vrf',
  message,
});

test('the units of the host are built from the facts of the zone', async () => {
  const [controller, rows] = await zoneWith(() => []);
  expect([...rows.keys()]).toContain('link mp1-udn-vrf');
  expect(blue(controller)).toMatchObject({ state: 'Programmed' });
});

test('a network is not programmed before its side of the host is there', async () => {
  const problems = [problem('awaited', 'device ovn-k8s-mp1 is not there yet')];
  const [controller] = await zoneWith(() => problems);
  expect(blue(controller)).toEqual({
    name: 'blue_blue',
    state: 'Pending',
    message: 'device ovn-k8s-mp1 is not there yet',
  });
  // It is no problem: it will be.
  expect(controller.problems()).toEqual([]);
  problems.pop();
  expect(blue(controller)).toMatchObject({ state: 'Programmed' });
});

test('what the kernel refuses is a problem of the network, and of no other', async () => {
  const [controller] = await zoneWith(() => [problem('refused', 'link mp1-udn-vrf: no VRFs')]);
  expect(controller.progress.networks().map(({ name, state }) => [name, state])).toEqual([
    ['default', 'Programmed'],
    ['blue_blue', 'Failed'],
  ]);
  expect(controller.problems()).toEqual([
    { object: 'UserDefinedNetwork blue/blue', message: 'link mp1-udn-vrf: no VRFs' },
  ]);
});
