/** What Prometheus sees of the informers of a process. */
import { Gauge, type Registry } from 'prom-client';
import type { Informers } from '../store/informers.ts';

export function registerInformerMetrics(
  registry: Registry,
  informers: Pick<Informers, 'unhandled'>,
): void {
  const unhandled = new Gauge({
    name: 'heddle_unhandled_objects',
    help: 'Objects whose last change a part of this process threw at: it is tried again.',
    labelNames: ['kind'],
    registers: [registry],
    collect() {
      for (const [kind, count] of informers.unhandled()) unhandled.set({ kind }, count);
    },
  });
}
