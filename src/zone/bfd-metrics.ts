/** What Prometheus sees of next hops that are watched. */
import { Gauge, type Registry } from 'prom-client';
import type { BfdSession } from './bfd-sessions.ts';

/** `sessions`: as of the last look. */
export function registerBfdSessions(
  registry: Registry,
  sessions: () => readonly BfdSession[],
): void {
  const gauge: Gauge<'hop'> = new Gauge({
    name: 'heddle_next_hop_up',
    help: 'Whether BFD reaches a next hop of an AdminPolicyBasedExternalRoute by which pods of this node leave: 1, or 0.',
    labelNames: ['hop'],
    registers: [registry],
    collect() {
      gauge.reset();
      for (const { hop, isUp } of sessions()) gauge.set({ hop }, isUp ? 1 : 0);
    },
  });
}
