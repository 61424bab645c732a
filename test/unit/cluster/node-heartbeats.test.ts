import { expect, test } from 'vitest';
import { LEASES, microTime, nodeLeaseName, type Lease } from '../../../src/api/node-lease.ts';
import { userDefinedNetworks, zoneStatuses } from '../../../src/api/kinds.ts';
import { NodeHeartbeats } from '../../../src/cluster/nodes/node-heartbeats.ts';
import { systemClock, type Clock } from '../../../src/store/clock.ts';
import { Informer } from '../../../src/store/informer.ts';
import {
  apply,
  describeConditions,
  layer3,
  namespace,
  node,
  startManager,
} from '../../support/cluster/cluster.ts';
import { ManualClock } from '../../support/run/manual-clock.ts';
import { MemoryStore } from '../../support/cluster/memory-store.ts';

const NOW = Date.parse('2026-01-01T12:00:00Z');

const lease = (name: string, renewedAt: number, holderIdentity = 'daemon'): Lease => ({
  apiVersion: LEASES.apiVersion,
  kind: LEASES.kind,
  metadata: { name: nodeLeaseName(name), namespace: 'heddle' },
  spec: { holderIdentity, leaseDurationSeconds: 40, renewTime: microTime(renewedAt) },
});

interface Watched {
  readonly heartbeats: NodeHeartbeats;
  readonly changes: string[];
  readonly clock: ManualClock;
  renew(node: string, renewedAt: number, holder?: string): Promise<void>;
}

/** Heartbeats as a manager sees them that has started at noon. `isReadable`: whether its watch of the leases works. */
async function watched(
  leases: readonly Lease[],
  isReadable: () => boolean = () => true,
  reported: Readonly<Record<string, string>> = {},
): Promise<Watched & Disposable> {
  const store = new MemoryStore();
  await apply(store, ...leases);
  const clock = new ManualClock(NOW);
  const stop = new AbortController();
  const informer = new Informer(LEASES, {
    onHandlerError: (error) => {
      throw error;
    },
  });
  const running = informer.run(store, stop.signal);
  await informer.whenSynced;
  const changes: string[] = [];
  const heartbeats = new NodeHeartbeats({
    leases: informer,
    isReadable,
    reported: (name) => reported[name],
    clock,
    onChange: (name) => changes.push(name),
  });
  heartbeats.follow(stop.signal);
  return {
    heartbeats,
    changes,
    clock,
    async renew(name, renewedAt, holder) {
      const { spec } = lease(name, renewedAt, holder);
      await store.patch(LEASES, `heddle/${nodeLeaseName(name)}`, { spec }, { fieldManager: name });
      await clock.advance(0);
    },
    [Symbol.dispose]() {
      stop.abort();
      void running;
    },
  };
}

test('a daemon that renews is there, and is missed once it has not renewed for as long as it said', async () => {
  using bed = await watched([lease('n1', NOW), lease('n2', NOW)]);
  for (let second = 10; second <= 60; second += 10) {
    await bed.clock.advance(10_000);
    await bed.renew('n2', NOW + second * 1000);
  }
  expect(bed.heartbeats.absent('n1')).toEqual({
    state: 'Stale',
    message: 'no heartbeat of its daemon since 2026-01-01T12:00:00Z',
  });
  expect(bed.heartbeats.absent('n2')).toBeUndefined();
  expect([...bed.heartbeats.ages()]).toEqual([
    ['n1', 60_000],
    ['n2', 0],
  ]);
  await bed.renew('n1', NOW + 61_000);
  expect(bed.heartbeats.absent('n1')).toBeUndefined();
  expect(bed.changes).toEqual(['n1', 'n1']);
});

test("a node's clock may be wrong by any time, as long as it goes on", async () => {
  const [fast, slow] = [NOW + 3_600_000, NOW - 3_600_000];
  using bed = await watched([lease('fast', fast), lease('slow', slow)]);
  for (let second = 10; second <= 100; second += 10) {
    await bed.renew('fast', fast + second * 1000);
    await bed.renew('slow', slow + second * 1000);
    await bed.clock.advance(10_000);
    expect(bed.heartbeats.absentees()).toEqual([]);
  }
});

test('what the manager before told is not forgotten, as long as it is the same heartbeat', async () => {
  const message = 'Stale: no heartbeat of its daemon since 2026-01-01T11:58:30Z';
  using bed = await watched([lease('n1', NOW - 90_000), lease('n2', NOW - 80_000)], () => true, {
    n1: message,
    n2: message,
  });
  expect(bed.heartbeats.absent('n1')?.state).toBe('Stale');
  expect(bed.heartbeats.absent('n2')).toBeUndefined();
});

test('a manager that starts where a node is slow by an hour, or whose own clock is set, misses nobody', async () => {
  using bed = await watched([lease('slow', NOW - 3_600_000), lease('n1', NOW)]);
  expect(bed.heartbeats.absentees()).toEqual([]);
  for (const [round, step] of [120_000, -3_600_000].entries()) {
    bed.clock.set(step);
    await bed.clock.advance(20_000);
    await bed.renew('slow', NOW - 3_600_000 + round);
    await bed.renew('n1', NOW + round);
    expect(bed.heartbeats.absentees()).toEqual([]);
  }
  // Nor does a step that comes again and again keep it from missing who is gone.
  for (let second = 0; second < 50; second += 5) {
    bed.clock.set(60_000);
    await bed.clock.advance(5000);
  }
  expect(bed.heartbeats.absentees().map(([name]) => name)).toEqual(['n1', 'slow']);
});

test('a daemon that was stopped is missed when it is not back in time', async () => {
  using bed = await watched([lease('n1', NOW), lease('n2', NOW)]);
  await bed.renew('n1', NOW + 1000, '');
  await bed.renew('n2', NOW + 1000, '');
  await bed.clock.advance(30_000);
  expect(bed.heartbeats.absentees()).toEqual([]);
  await bed.renew('n2', NOW + 30_000);
  await bed.clock.advance(30_000);
  expect(bed.heartbeats.absentees()).toEqual([
    ['n1', { state: 'no daemon', message: 'its daemon was stopped at 2026-01-01T12:00:01Z' }],
  ]);
});

test('while the API server is away nobody is missed, nor right after it is back', async () => {
  let isReadable = false;
  using bed = await watched([lease('n1', NOW)], () => isReadable);
  await bed.clock.advance(300_000);
  isReadable = true;
  await bed.clock.advance(35_000);
  expect(bed.heartbeats.absentees()).toEqual([]);
  await bed.clock.advance(15_000);
  expect(bed.heartbeats.absent('n1')?.state).toBe('Stale');
});

test('a manager that stood still misses nobody for that', async () => {
  using bed = await watched([lease('n1', NOW)]);
  bed.clock.standStill(600_000);
  await bed.clock.advance(10_000);
  expect(bed.heartbeats.absentees()).toEqual([]);
});

test('a network is not ready on a node whose daemon is gone, but where nothing there uses it', async () => {
  const store = new MemoryStore();
  // Forty seconds in two.
  const clock: Clock = {
    ...systemClock,
    monotonic: () => performance.now() * 20,
    after: (milliseconds, run) => systemClock.after(milliseconds / 20, run),
  };
  await using running = startManager(store, {}, {}, { clock });
  const report = (name: string, state: string): object => ({
    apiVersion: 'k8s.ovn.org/v1alpha1',
    kind: 'ZoneStatus',
    metadata: { name },
    status: {
      observedAt: '2026-01-01T00:00:00Z',
      networks: [{ name: 'blue_net', state, ...(name === 'n1' ? { violations: 1 } : {}) }],
      problems: [],
      ready: true,
    },
  });
  await apply(
    store,
    node('n1'),
    node('n2'),
    namespace('blue'),
    layer3('blue/net', '10.20.0.0/16/24'),
  );
  const reports = [report('n1', 'Programmed'), report('n2', 'Unused')];
  await apply(store, ...(reports as Parameters<typeof apply>[1][]));
  await apply(store, lease('n1', Date.now() - 600_000), lease('n2', Date.now() - 600_000));
  const ready = async (): Promise<string | undefined> =>
    describeConditions(
      (await store.get(userDefinedNetworks, 'blue/net'))?.status?.conditions ?? [],
    ).find((line) => line.startsWith('NetworkReady'));
  await running.settled();
  await expect.poll(() => running.manager.problems().length, { timeout: 20_000 }).toBe(2);
  await running.settled();
  expect(await ready()).toMatch(
    /^NetworkReady=False NetworkNotInDataPlane: n1: Stale: no heartbeat of its daemon since \S+; it was Programmed$/,
  );
  // What a proof found there is there until somebody looks again.
  expect(
    (await store.get(userDefinedNetworks, 'blue/net'))?.status?.conditions?.map(({ type }) => type),
  ).toContain('NetworkIsolated');
  const zone = await store.get(zoneStatuses, 'n1');
  expect(zone?.status).toMatchObject({
    ready: false,
    message: expect.stringMatching(/^Stale: no heartbeat of its daemon since /) as string,
  });
  expect(running.manager.problems().map(({ object }) => object)).toEqual(['Node n1', 'Node n2']);
  const { spec } = lease('n1', Date.now());
  await store.patch(LEASES, 'heddle/heddle-node-n1', { spec }, { fieldManager: 'n1' });
  await running.settled();
  expect(await ready()).toMatch(/^NetworkReady=True/);
});
