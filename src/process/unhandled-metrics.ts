/** What Prometheus sees of objects and rows that a fault of our own keeps from being worked in, and of objects that can't be read. */
import { Gauge, type Registry } from 'prom-client';

/** `counts`: how many there are now, by kind or table. */
export function registerUnhandled(
  registry: Registry,
  ...counts: readonly (() => ReadonlyMap<string, number>)[]
): void {
  const unhandled = new Gauge({
    name: 'heddle_unhandled_objects',
    help: 'Objects, and rows of databases (their table is the kind), whose last change a part of this process threw at: it is tried again.',
    labelNames: ['kind'],
    registers: [registry],
    collect() {
      for (const count of counts)
        for (const [kind, objects] of count()) unhandled.set({ kind }, objects);
    },
  });
}

/** `milliseconds`: for how long objects that were read before could not be read any more. */
export function registerUnreadable(registry: Registry, milliseconds: () => number): void {
  const unreadable = new Gauge({
    name: 'heddle_objects_unreadable_seconds',
    help: 'For how long the API server has not been read, by the kind of which that is longest so; 0 while all are followed. What is there goes on meanwhile.',
    registers: [registry],
    collect() {
      unreadable.set(milliseconds() / 1000);
    },
  });
}
