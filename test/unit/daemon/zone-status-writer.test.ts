import { expect, test } from 'vitest';
import { zoneStatuses } from '../../../src/api/kinds.ts';
import { ZoneStatusWriter, type ZoneReport } from '../../../src/daemon/zone-status-writer.ts';
import { MemoryStore } from '../../support/memory-store.ts';

const REPORT: ZoneReport = {
  networks: [{ name: 'blue_blue', state: 'Programmed' }],
  connects: [],
  problems: [],
};
const { signal } = new AbortController();

test('is written once for each change of what is reported', async () => {
  const store = new MemoryStore();
  const writer = new ZoneStatusWriter(store, 'n1', () => new Date(0));
  await writer.write(REPORT, signal);
  const { length } = store.writes;
  await writer.write(structuredClone(REPORT), signal);
  expect(store.writes.length).toBe(length);
  await writer.write({ ...REPORT, networks: [] }, signal);
  expect(store.writes.length).toBe(length + 1);
});

test('what is not known yet stays as the process before reported it, and is not written again', async () => {
  const store = new MemoryStore();
  await new ZoneStatusWriter(store, 'n1').write(REPORT, signal);
  const { length } = store.writes;
  const programmed: string[] = [];
  const writer = new ZoneStatusWriter(store, 'n1');
  await writer.resume({ rememberProgrammed: (names) => programmed.push(...names) }, signal);
  expect(programmed).toEqual(['blue_blue']);
  await writer.write(REPORT, signal);
  expect(store.writes.length).toBe(length);
  await writer.write({ message: 'no connection', problems: [] }, signal);
  expect((await store.get(zoneStatuses, 'n1'))?.status).toMatchObject({
    ...REPORT,
    message: 'no connection',
  });
});

test('the first report of a node has lists of networks and connections, known or not', async () => {
  const store = new MemoryStore();
  await new ZoneStatusWriter(store, 'n1').write({ message: 'no connection', problems: [] }, signal);
  expect((await store.get(zoneStatuses, 'n1'))?.status).toMatchObject({
    networks: [],
    connects: [],
    message: 'no connection',
  });
});

test('comes back when somebody removed or changed it', async () => {
  const store = new MemoryStore();
  let now = 0;
  const writer = new ZoneStatusWriter(store, 'n1', () => new Date(now));
  const networks = async (): Promise<unknown> =>
    (await store.get(zoneStatuses, 'n1'))?.status?.networks;
  await writer.write(REPORT, signal);

  await store.delete(zoneStatuses, 'n1');
  now += 60_000;
  await writer.write(REPORT, signal);
  expect(await networks()).toEqual(REPORT.networks);

  await store.patchStatus(
    zoneStatuses,
    'n1',
    { status: { networks: [] } },
    { fieldManager: 'somebody' },
  );
  now += 60_000;
  await writer.write(REPORT, signal);
  expect(await networks()).toEqual(REPORT.networks);
});
