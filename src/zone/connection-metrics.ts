/** What Prometheus sees of the tables of connections of a node. */
import { Gauge, type Registry } from 'prom-client';
import type { TableUsage } from '../node/conntrack/connection-limits.ts';

/** `usages`: as of the last look. A table that could not be read then has no samples, one without a limit none of a limit. */
export function registerConnections(registry: Registry, usages: () => readonly TableUsage[]): void {
  const register = (name: string, help: string, value: (usage: TableUsage) => number): void => {
    const gauge: Gauge<'table'> = new Gauge({
      name,
      help,
      labelNames: ['table'],
      registers: [registry],
      collect() {
        gauge.reset();
        for (const usage of usages())
          if (Number.isFinite(value(usage))) gauge.set({ table: usage.table }, value(usage));
      },
    });
  };
  register(
    'heddle_host_connections',
    "Connections that the node tracks: in the kernel's table, and in that of Open vSwitch's userspace datapath where that is in use.",
    ({ entries }) => entries,
  );
  register(
    'heddle_host_connections_limit',
    'How many that table takes. When it is full, new connections of all pods fail.',
    ({ limit }) => limit,
  );
}
