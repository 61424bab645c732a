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
