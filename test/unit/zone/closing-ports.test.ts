/** A logical port whose interface is still plugged in is closed, and the data plane has that, before it goes with its policies. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { parseSchema, type JsonValue, type Outcome } from 'ovsdb-client-ts';
import { createLogger } from '../../../src/process/logger.ts';
import { ZoneController } from '../../../src/zone/zone-controller.ts';
import { MemoryDatabase } from '../../support/ovsdb/memory-database.ts';
import { SCHEMAS } from '../../support/ovsdb/ovsdb-server.ts';
import {
  namespace,
  networkPolicy,
  PolicedZone,
  policedPod,
} from '../../support/zone/policed-zone.ts';
import { exampleZone } from '../../support/zone/zones.ts';

const NORTHBOUND = parseSchema(
  JSON.parse(readFileSync(join(SCHEMAS, 'ovn-nb.ovsschema'), 'utf8')) as JsonValue,
);
const signal = new AbortController().signal;
const pod = policedPod('default/a', { address: '10.244.0.5/24', labels: { name: 'a' } });
const PORT = 'default_a';

/** A node with a pod that a policy closes, all of it written; `plugged` are its logical ports with interfaces. */
async function bed(
  plugged: readonly string[],
  revalidated = (): Promise<void> => Promise.resolve(),
) {
  const policed = PolicedZone.of(
    exampleZone,
    namespace('default'),
    pod,
    networkPolicy('default/closed', { podSelector: {} }),
  );
  const database = new MemoryDatabase(NORTHBOUND);
  const controller = new ZoneController({
    facts: policed.facts,
    northbound: { replica: database, transactor: database, unavailable: () => undefined },
    pluggedPorts: { isPlugged: (port) => plugged.includes(port), revalidated },
    log: createLogger('silent'),
  });
  const flush = () => {
    controller.update();
    return controller.flush(signal);
  };
  await flush();
  /** As ovn-northd and the chassis do when they have come to what is there. */
  const confirm = (): Promise<Outcome> => {
    const [row] = database.rows('NB_Global');
    const reached = Number(row?.column('nb_cfg'));
    return database.transact([
      { op: 'update', table: 'NB_Global', where: [], row: { sb_cfg: reached, hv_cfg: reached } },
    ]);
  };
  const port = () =>
    database.rows('Logical_Switch_Port').find((row) => row.column('name') === PORT);
  /** `open`, `closed`, or `gone`, and how many groups the port is in. */
  const state = (): readonly [string, number] => {
    const row = port();
    if (row === undefined) return ['gone', 0];
    const groups = database.rows('Port_Group').filter((one) => one.includes('ports', row.uuid));
    return [row.column('enabled') === false ? 'closed' : 'open', groups.length];
  };
  return { policed, database, flush, confirm, state };
}

test('it stays closed, in all groups of its policies, until the data plane has that and its cache was looked at', async () => {
  const looked = Promise.withResolvers<void>();
  const { policed, flush, confirm, state } = await bed([PORT], () => looked.promise);
  const [, groups] = state();
  expect(groups).toBeGreaterThan(1);
  policed.remove(pod);
  const flushed = flush();
  await expect.poll(state).toEqual(['closed', groups]);
  await confirm();
  expect(state()).toEqual(['closed', groups]);
  looked.resolve();
  expect((await flushed).kind).toBe('settled');
  expect(state()).toEqual(['gone', 0]);
});

test('one that is not plugged in goes at once', async () => {
  const { policed, flush, state } = await bed([]);
  policed.remove(pod);
  await flush();
  expect(state()).toEqual(['gone', 0]);
});

test('of one that is wanted again before it goes nothing is left closed', async () => {
  const { policed, flush, confirm, state, database } = await bed([PORT]);
  const before = state();
  policed.remove(pod);
  const flushed = flush();
  await expect.poll(() => state()[0]).toBe('closed');
  policed.put(pod);
  await confirm();
  await flushed;
  await flush();
  expect(state()).toEqual(before);
  expect(database.rows('Logical_Switch_Port').length).toBeGreaterThan(0);
});
