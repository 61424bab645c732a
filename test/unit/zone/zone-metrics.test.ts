import { expect, test } from 'vitest';
import type { NetworkState, ZoneNetworkStatus } from '../../../src/api/zone-status.ts';
import type { PlannedChange } from '../../../src/node/reconcile/host-plan.ts';
import { ZoneMetrics } from '../../../src/zone/zone-metrics.ts';

/** The metrics of a zone whose clock is moved by hand. */
function zone() {
  const clock = { now: 0 };
  const metrics = new ZoneMetrics(() => clock.now);
  return {
    /** At this time, in milliseconds, networks are in these states. */
    at: (now: number, states: Readonly<Record<string, NetworkState>>): void => {
      clock.now = now;
      const networks = Object.entries(states).map(([name, state]): ZoneNetworkStatus => ({
        name,
        state,
      }));
      metrics.state({
        networks,
        problems: 0,
        waiting: ['Pod blue/a', 'Pod blue/b', 'Node n2'],
        failedFacts: 0,
        behind: 0,
      });
    },
    /** How many networks came into the data plane, and in how many seconds in all. */
    programmed: async (): Promise<readonly [count: number, sum: number]> => {
      const name = 'heddle_zone_network_programmed_duration_seconds';
      const text = await metrics.registry.getSingleMetricAsString(name);
      const value = (suffix: string): number =>
        Number(new RegExp(`^${name}_${suffix} (.+)$`, 'm').exec(text)?.[1] ?? 0);
      return [value('count'), value('sum')];
    },
    metrics,
  };
}

test('a network is measured from its first use, or a change, until it is in the data plane', async () => {
  const { at, programmed } = zone();
  at(0, { blue: 'Unused' });
  at(1000, { blue: 'Pending' });
  at(1500, { blue: 'Committed' });
  at(3000, { blue: 'Programmed' });
  expect(await programmed()).toEqual([1, 2]);
  at(9000, { blue: 'Programmed' });
  at(10_000, { blue: 'Committed' });
  at(10_500, { blue: 'Programmed' });
  expect(await programmed()).toEqual([2, 2.5]);
});

test('one that was there at the start, or that goes before it was there, is none', async () => {
  const { at, programmed } = zone();
  at(0, { blue: 'Programmed', green: 'Pending', red: 'Committed' });
  at(1000, { blue: 'Programmed', green: 'Unused' });
  at(2000, { blue: 'Programmed', green: 'Programmed', red: 'Programmed' });
  expect(await programmed()).toEqual([0, 0]);
});

test('what a pass changed on the host is counted by its cause', async () => {
  const { metrics } = zone();
  const drifted = { action: 'add', table: 'rule', key: 'a', unit: 'u' } as PlannedChange;
  metrics.driftRepaired('Northbound', 'ACL', 3);
  const change = { database: 'Linux', refused: 1, duration: 20 };
  metrics.hostChange({ ...change, applied: 7, repaired: [], written: [], by: [] });
  metrics.hostChange({ ...change, applied: 2, repaired: [drifted, drifted], written: [], by: [] });
  metrics.hostObjects([['OpenFlow', 'flow', 40]]);
  const text = await metrics.registry.metrics();
  expect(text).toContain('heddle_host_changes_total{database="Linux",cause="wanted"} 7');
  expect(text).toContain('heddle_host_changes_total{database="Linux",cause="drift"} 2');
  expect(text).toContain('heddle_drift_repaired_total{database="Northbound",table="ACL"} 3');
  expect(text).toContain('heddle_host_refused_total{database="Linux"} 2');
  expect(text).toContain('heddle_host_objects{database="OpenFlow",table="flow"} 40');
});

test('what waits is counted by kind, and no more once it waits no longer', async () => {
  const { at, metrics } = zone();
  const lines = async (): Promise<readonly string[]> =>
    (await metrics.registry.getSingleMetricAsString('heddle_zone_waiting_objects'))
      .split('\n')
      .filter((line) => line.startsWith('heddle'));
  at(0, {});
  expect(await lines()).toEqual([
    'heddle_zone_waiting_objects{kind="Pod"} 2',
    'heddle_zone_waiting_objects{kind="Node"} 1',
  ]);
  metrics.state({ networks: [], problems: 0, waiting: [], failedFacts: 0, behind: 0 });
  expect(await lines()).toEqual([]);
});
