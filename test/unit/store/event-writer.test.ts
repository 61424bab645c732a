import { expect, test } from 'vitest';
import { Registry } from 'prom-client';
import { registerDroppedEvents } from '../../../src/cluster/metrics.ts';
import { EventWriter } from '../../../src/store/event-writer.ts';
import type { ObjectEvent } from '../../../src/store/store.ts';
import { ManualClock, settle } from '../../support/run/manual-clock.ts';

test('of the events of an object that come one after the other those that are not written are counted and logged once', async () => {
  const registry = new Registry();
  const written: ObjectEvent[] = [];
  const logged: unknown[] = [];
  const log = (fields: unknown): void => void logged.push(fields);
  const writer = new EventWriter({
    store: { event: async (event) => void written.push(event) },
    clock: new ManualClock(),
    log: { debug: log, info: log, warn: log, error: log },
    onFailure: ({ error }) => {
      throw error;
    },
    onDropped: registerDroppedEvents(registry),
  });
  const stop = new AbortController();
  const running = writer.queue.run(stop.signal);
  for (let i = 0; i < 30; i += 1) {
    writer.emit({
      regarding: { apiVersion: 'v1', kind: 'Pod', metadata: { namespace: 'a', name: 'web' } },
      type: 'Warning',
      reason: 'Wrong',
      message: 'no address',
    });
    await settle();
  }
  expect(written).toHaveLength(25);
  expect(logged).toHaveLength(1);
  expect(await registry.metrics()).toContain(
    'heddle_cluster_events_dropped_total{limit="object"} 5\n',
  );
  stop.abort();
  await running;
});
