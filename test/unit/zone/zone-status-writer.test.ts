import { describe, expect, test } from 'vitest';
import { zoneStatuses } from '../../../src/api/kinds.ts';
import { VERSION } from '../../../src/process/version.ts';
import {
  zoneReport,
  ZoneStatusWriter,
  type ZoneReport,
  type ZoneSources,
} from '../../../src/zone/zone-status-writer.ts';
import { delegatingStore } from '../../../src/store/delegating-store.ts';
import { StoreError, type Store } from '../../../src/store/store.ts';
import { MemoryStore } from '../../support/cluster/memory-store.ts';

const NOTHING = { problems: [], problemCount: 0, version: VERSION };
const REPORT: ZoneReport = {
  ...NOTHING,
  networks: [{ name: 'blue_blue', state: 'Programmed' }],
  connects: [],
};
const { signal } = new AbortController();

test('is written once for each change of what is reported', async () => {
  const store = new MemoryStore();
  const writer = new ZoneStatusWriter(store, 'n1', { now: () => new Date(0) });
  await writer.write(REPORT, signal);
  const { length } = store.writes;
  await writer.write(structuredClone(REPORT), signal);
  expect(store.writes.length).toBe(length);
  await writer.write({ ...REPORT, networks: [] }, signal);
  expect(store.writes.length).toBe(length + 1);
});

test('is written again after five minutes, so that its age says when the daemon was seen', async () => {
  const store = new MemoryStore();
  let now = 0;
  const options = { now: () => new Date(now) };
  const writer = new ZoneStatusWriter(store, 'n1', options);
  const writtenAt = async (): Promise<number> =>
    Date.parse((await store.get(zoneStatuses, 'n1'))?.status?.observedAt ?? '');
  await writer.write(REPORT, signal);
  now = 299_000;
  await writer.write(REPORT, signal);
  expect(await writtenAt()).toBe(0);
  // Also by a process that came later.
  const next = new ZoneStatusWriter(store, 'n1', options);
  await next.resume({ rememberProgrammed: () => undefined }, signal);
  await next.write(REPORT, signal);
  expect(await writtenAt()).toBe(0);
  now = 300_000;
  await next.write(REPORT, signal);
  expect(await writtenAt()).toBe(300_000);
});

describe('a report', () => {
  const report = (
    networks: ReturnType<ZoneSources['controller']['progress']['reported']>,
    sources: Partial<ZoneSources> = {},
  ): ZoneReport =>
    zoneReport({
      controller: {
        hasWritten: true,
        objectOf: (name) => `UserDefinedNetwork ${name}`,
        progress: { reported: () => networks, connects: () => [] },
      },
      problems: [],
      ...sources,
    });

  test('counts the networks in the data plane of those that are used, and problems', () => {
    expect(
      report(
        [
          { name: 'a', state: 'Programmed' },
          { name: 'b', state: 'Committed' },
          { name: 'c', state: 'Unused' },
        ],
        { ovnVersion: '25.03.0' },
      ),
    ).toMatchObject({
      programmed: '1/2',
      problemCount: 0,
      ready: false,
      version: VERSION,
      ovnVersion: '25.03.0',
    });
  });

  test('says that a node is not ready while there is a problem', () => {
    const networks = [{ name: 'a', state: 'Programmed' }] as const;
    expect(report(networks)).toMatchObject({ ready: true, problemCount: 0 });
    const problems = [{ object: 'Pod blue/web', message: 'waits' }];
    expect(report(networks, { problems })).toMatchObject({ ready: false, problemCount: 1 });
  });

  test('a node is ready while something waits there for what others hand out, which is a problem after a while', () => {
    const networks = [{ name: 'a', state: 'Programmed' }] as const;
    const waiting = [{ object: 'Pod blue/web', message: 'waits for its network' }];
    const wrong = { object: 'Service blue/web', message: 'is wrong' };
    const of = (sources: Partial<ZoneSources>): unknown => report(networks, sources);
    expect(of({ problems: waiting, waiting, justWaiting: waiting })).toMatchObject({
      ready: true,
      problems: waiting,
      problemCount: 0,
    });
    expect(of({ problems: waiting, waiting })).toMatchObject({ ready: true, problemCount: 1 });
    expect(of({ problems: [...waiting, wrong], waiting, justWaiting: waiting })).toMatchObject({
      ready: false,
      problemCount: 1,
    });
  });
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
  await writer.write({ ...NOTHING, message: 'no connection' }, signal);
  expect((await store.get(zoneStatuses, 'n1'))?.status).toMatchObject({
    ...REPORT,
    message: 'no connection',
  });
});

test('what proofs found before is known to the next process', async () => {
  const store = new MemoryStore();
  const networks = [
    { name: 'blue_blue', state: 'Programmed' as const, violations: 2 },
    { name: 'red_red', state: 'Programmed' as const },
  ];
  await new ZoneStatusWriter(store, 'n1').write({ ...REPORT, networks }, signal);
  const writer = new ZoneStatusWriter(store, 'n1');
  expect(writer.violationsBefore.size).toBe(0);
  await writer.resume({ rememberProgrammed: () => undefined }, signal);
  expect(Object.fromEntries(writer.violationsBefore)).toEqual({ blue_blue: 2 });
});

test('the first report of a node has lists of networks and connections, known or not', async () => {
  const store = new MemoryStore();
  await new ZoneStatusWriter(store, 'n1').write({ ...NOTHING, message: 'no connection' }, signal);
  expect((await store.get(zoneStatuses, 'n1'))?.status).toMatchObject({
    networks: [],
    connects: [],
    message: 'no connection',
  });
});

test('an object without a status, left by a daemon that was killed, gets all that a status holds', async () => {
  const store = new MemoryStore();
  await store.create(
    zoneStatuses,
    { apiVersion: 'k8s.ovn.org/v1alpha1', kind: 'ZoneStatus', metadata: { name: 'n1' } },
    { fieldManager: 'heddle-node-n1' },
  );
  await new ZoneStatusWriter(store, 'n1').write({ ...NOTHING, message: 'no connection' }, signal);
  expect((await store.get(zoneStatuses, 'n1'))?.status).toMatchObject({
    networks: [],
    connects: [],
    message: 'no connection',
  });
});

test('comes back when somebody removed or changed it', async () => {
  const store = new MemoryStore();
  let now = 0;
  const writer = new ZoneStatusWriter(store, 'n1', { now: () => new Date(now) });
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

/** A store that refuses statuses as an API server does whose definition knows no connection `new`. */
function olderStore(memory: MemoryStore): Store {
  return delegatingStore(memory, {
    patchStatus: async (kind, key, patch, options) => {
      const { status } = patch as { status: ZoneReport };
      const index = status.connects?.findIndex(({ name }) => name === 'new') ?? -1;
      if (index !== -1)
        throw new StoreError('invalid', `status.connects[${index}].state: Unsupported value`);
      return memory.patchStatus(kind, key, patch, options);
    },
  });
}

test('an entry that is refused takes nothing else of the status with it, is counted, and is a problem until it is taken', async () => {
  const memory = new MemoryStore();
  let now = 0;
  const refused: string[] = [];
  const writer = new ZoneStatusWriter(olderStore(memory), 'n1', {
    now: () => new Date(now),
    onRefused: ({ part }) => refused.push(part),
  });
  const report: ZoneReport = {
    ...REPORT,
    used: ['blue_blue'],
    ready: true,
    connects: [
      { name: 'new', state: 'Unused' },
      { name: 'old', state: 'Programmed' },
    ],
    problems: [{ object: 'Pod blue/web', message: 'waits' }],
  };
  await writer.write(report, signal);
  const status = async (): Promise<unknown> => (await memory.get(zoneStatuses, 'n1'))?.status;
  expect(await status()).toMatchObject({
    networks: report.networks,
    used: ['blue_blue'],
    ready: true,
    connects: [{ name: 'old', state: 'Programmed' }],
    problems: report.problems,
  });
  expect(refused).toEqual(['connects']);
  expect(writer.problems()).toEqual([
    {
      object: 'ZoneStatus n1',
      message: expect.stringMatching(/status\.connects.*connects\[0\]\.state/) as unknown,
    },
  ]);

  // What changes meanwhile is written at once, and what was refused is not sent with it.
  const { length } = memory.writes;
  await writer.write({ ...report, problems: [] }, signal);
  expect(memory.writes.length).toBe(length + 1);
  expect(await status()).toMatchObject({ problems: [] });
  expect(refused).toEqual(['connects']);

  now += 60_000;
  await writer.write({ ...report, connects: [], problems: [] }, signal);
  expect(writer.problems()).toEqual([]);
  expect(await status()).toMatchObject({ connects: [] });
});

test('a status that can not be written at all is a problem with its reason, until it is', async () => {
  const store = new MemoryStore();
  store.beforeWrite = () => {
    throw new StoreError('forbidden', 'not yours');
  };
  const refused: string[] = [];
  const writer = new ZoneStatusWriter(store, 'n1', {
    onRefused: ({ part }) => refused.push(part),
  });
  await expect(writer.write(REPORT, signal)).rejects.toThrow('not yours');
  expect(refused).toEqual(['all']);
  expect(writer.problems()).toEqual([
    { object: 'ZoneStatus n1', message: expect.stringContaining('not yours') as unknown },
  ]);
  store.beforeWrite = () => undefined;
  await writer.write(REPORT, signal);
  expect(writer.problems()).toEqual([]);
});

test.each(['unavailable', 'unauthenticated'] as const)(
  'a status that a source does not take because it is %s is not refused, and not told beside that objects can’t be read',
  async (code) => {
    const store = new MemoryStore();
    store.beforeWrite = () => {
      throw new StoreError(code, 'no answer');
    };
    const refused: string[] = [];
    const writer = new ZoneStatusWriter(store, 'n1', {
      onRefused: ({ part }) => refused.push(part),
    });
    await expect(writer.write(REPORT, signal)).rejects.toThrow('no answer');
    expect(refused).toEqual([]);
    expect(writer.problems(false)).toHaveLength(1);
    expect(writer.problems(true)).toEqual([]);
  },
);

test('texts and problems are bounded to what an object holds', async () => {
  const store = new MemoryStore();
  const problems = Array.from({ length: 3000 }, (_, index) => ({
    object: `Pod blue/web-${index}`,
    message: 'x'.repeat(5000),
  }));
  const objects = problems.map((problem) => ({ ...problem, state: 'Failed' as const }));
  await new ZoneStatusWriter(store, 'n1').write({ ...REPORT, problems, objects }, signal);
  const status = (await store.get(zoneStatuses, 'n1'))?.status;
  expect(JSON.stringify(status).length).toBeLessThan(1_000_000);
  expect(status?.problems.at(-1)?.message).toContain('2500 further problems');
  expect(status?.objects).toHaveLength(200);
  expect(status?.objects?.[0]?.message).toHaveLength(256);
});

test('of objects that are in force the first 500 are listed, and all are counted; while they are not known those of before stand', async () => {
  const store = new MemoryStore();
  const writer = new ZoneStatusWriter(store, 'n1');
  const applied = Array.from({ length: 501 }, (_, n) => ({
    object: `EgressFirewall ${'n'.repeat(60)}${n}/default`,
    generation: 1,
    uid: '00000000-0000-4000-8000-000000000001',
  }));
  const source: ZoneSources = {
    controller: {
      hasWritten: true,
      objectOf: (name) => name,
      progress: { reported: () => [], connects: () => [] },
    },
    problems: [],
  };
  const status = async () => (await store.get(zoneStatuses, 'n1'))?.status;
  await writer.write(zoneReport({ ...source, applied }), signal);
  expect((await status())?.applied).toEqual(applied.slice(0, 500));
  expect(await status()).toMatchObject({ appliedCount: 501 });
  expect(JSON.stringify((await status())?.applied).length).toBeLessThan(100_000);
  await new ZoneStatusWriter(store, 'n1').write(zoneReport(source), signal);
  expect(await status()).toMatchObject({ appliedCount: 501 });
  await writer.write(zoneReport({ ...source, applied: [] }), signal);
  expect(await status()).toMatchObject({ applied: [], appliedCount: 0 });
});
