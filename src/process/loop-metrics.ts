/** How long the loops of a daemon take, for alerts. */
import { Gauge, type Registry } from 'prom-client';
import type { Loop } from './loop.ts';

/** Seconds: how Prometheus wants durations. */
const seconds = (milliseconds: number): number => milliseconds / 1000;

export function registerLoops(registry: Registry, loops: readonly Loop[]): void {
  const register = (name: string, help: string, value: (loop: Loop) => number): void => {
    const gauge: Gauge<'loop'> = new Gauge({
      name,
      help,
      labelNames: ['loop'],
      registers: [registry],
      collect() {
        for (const loop of loops) gauge.set({ loop: loop.name }, value(loop));
      },
    });
  };
  register(
    'heddle_loop_pass_under_way_seconds',
    'Since when the pass that is under way is: 0 between two. More than 60: it waits for something that does not answer.',
    ({ watch }) => seconds(watch.underWay),
  );
  register('heddle_loop_last_pass_duration_seconds', 'How long the last pass took.', ({ watch }) =>
    seconds(watch.last),
  );
  register(
    'heddle_loop_longest_pass_duration_seconds',
    'How long the longest pass took since the start, that which is under way included.',
    ({ watch }) => seconds(watch.longest),
  );
}
