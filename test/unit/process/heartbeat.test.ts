import { expect, test } from 'vitest';
import { heartbeatOf, LEASES } from '../../../src/api/node-lease.ts';
import { CLUSTER_HEARTBEAT, startHeartbeat } from '../../../src/process/heartbeat.ts';
import { createLogger } from '../../../src/process/logger.ts';
import { StoreError } from '../../../src/store/store.ts';
import { ManualClock } from '../../support/run/manual-clock.ts';
import { MemoryStore } from '../../support/cluster/memory-store.ts';

const START = Date.parse('2026-01-01T12:00:00Z');
const KEY = 'heddle/heddle-node-n1';

const begin = (
  store: MemoryStore,
  clock: ManualClock,
  nodeUid: () => string | undefined = () => 'u1',
): AsyncDisposable =>
  startHeartbeat({
    store,
    node: 'n1',
    nodeUid,
    identity: 'host_1',
    timing: CLUSTER_HEARTBEAT,
    log: createLogger('silent'),
    clock,
  });

test('a daemon renews the lease of its node, which goes with the Node, and says so when it is stopped', async () => {
  const store = new MemoryStore();
  const clock = new ManualClock(START);
  {
    await using _heartbeat = begin(store, clock);
    await clock.advance(0);
    const lease = await store.get(LEASES, KEY);
    expect(lease).toMatchObject({
      metadata: { ownerReferences: [{ kind: 'Node', name: 'n1', uid: 'u1' }] },
      spec: { holderIdentity: 'host_1', leaseDurationSeconds: 40 },
    });
    await clock.advance(10_000);
    expect(heartbeatOf((await store.get(LEASES, KEY)) ?? ({} as never)).renewedAt).toBe(
      START + 10_000,
    );
  }
  expect(heartbeatOf((await store.get(LEASES, KEY)) ?? ({} as never))).toMatchObject({
    isHeld: false,
  });
});

test('the daemon that came after it is not said to be stopped', async () => {
  const store = new MemoryStore();
  const clock = new ManualClock(START);
  {
    await using _heartbeat = begin(store, clock);
    await clock.advance(0);
    const spec = { holderIdentity: 'host_2' };
    await store.patch(LEASES, KEY, { spec }, { fieldManager: 'host_2' });
  }
  expect((await store.get(LEASES, KEY))?.spec?.holderIdentity).toBe('host_2');
});

test('nothing is said before the Node is there, and an API server that is away is asked again', async () => {
  const store = new MemoryStore();
  const clock = new ManualClock(START);
  let uid: string | undefined;
  await using _heartbeat = begin(store, clock, () => uid);
  await clock.advance(5000);
  expect(await store.get(LEASES, KEY)).toBeUndefined();
  uid = 'u1';
  store.beforeWrite = () => {
    throw new StoreError('unavailable', 'away');
  };
  await clock.advance(1000);
  store.beforeWrite = () => undefined;
  await clock.advance(10_000);
  expect(await store.get(LEASES, KEY)).toBeDefined();
});
