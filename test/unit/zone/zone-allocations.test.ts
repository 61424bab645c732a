import { expect, test } from 'vitest';
import type { NodePodAddresses } from '../../../src/addresses/node-pod-addresses.ts';
import type { ClusterManager } from '../../../src/cluster/manager.ts';
import { createLogger } from '../../../src/process/logger.ts';
import { ZoneAllocations } from '../../../src/zone/zone-allocations.ts';

/** Allocations of which `done` has what was waited for, in order. */
function allocationsOf(done: string[], isLeading: boolean): ZoneAllocations {
  const caughtUp = (who: string) => (): Promise<void> => {
    done.push(who);
    return Promise.resolve();
  };
  const manager = {
    isLeading,
    isWaitingToLead: !isLeading,
    caughtUp: caughtUp('manager'),
  } as unknown as ClusterManager;
  const podAddresses = { caughtUp: caughtUp('pods') } as unknown as NodePodAddresses;
  return new ZoneAllocations({
    node: 'n1',
    makeManager: () => manager,
    podAddresses,
    pending: () => 0,
    throwFailure: () => undefined,
    log: createLogger('silent'),
  });
}

test('what the manager makes of addresses of the node’s pods is waited for, too', async () => {
  const done: string[] = [];
  await allocationsOf(done, true).caughtUp(new AbortController().signal);
  expect(done).toEqual(['manager', 'pods', 'manager']);
});

test('of a manager of another process nothing more is waited for than that nothing is missing', async () => {
  const done: string[] = [];
  await allocationsOf(done, false).caughtUp(new AbortController().signal);
  expect(done).toEqual(['pods']);
});
