/** What Prometheus sees of what a node drops. */
import { Counter, type Registry } from 'prom-client';
import type { Drop } from '../views/drops.ts';

const LABELS = ['network', 'reason', 'direction'] as const;
type Label = (typeof LABELS)[number];
type Labels = Readonly<Record<Label, string>>;

export class DropMetrics {
  readonly #packets: Counter<Label>;
  readonly #bytes: Counter<Label>;
  readonly #failures: Counter;
  /** Of each network, so that they go with it. */
  readonly #series = new Map<string, Map<string, Labels>>();

  constructor(registry: Registry) {
    const common = { labelNames: LABELS, registers: [registry] };
    this.#packets = new Counter({
      ...common,
      name: 'heddle_dropped_packets_total',
      help: 'Packets that the node dropped (--drops-interval), by network, by what drops them (heddle drops names objects and rules; "ovn": OVN by itself) and by direction, seen from pods. Network "": none can be told.',
    });
    this.#bytes = new Counter({
      ...common,
      name: 'heddle_dropped_bytes_total',
      help: 'The same in bytes.',
    });
    this.#failures = new Counter({
      name: 'heddle_drops_failures_total',
      help: 'Looks at counters of flows that were not complete (the log says why): what they missed is in the next one.',
      registers: [registry],
    });
  }

  count(drops: readonly Drop[]): void {
    for (const { network = '', reason, direction = '', packets, bytes } of drops) {
      const labels = { network, reason, direction };
      const series = this.#series.get(network) ?? new Map<string, Labels>();
      this.#series.set(network, series.set(`${reason} ${direction}`, labels));
      this.#packets.inc(labels, packets);
      this.#bytes.inc(labels, bytes);
    }
  }

  /** Networks that are gone have no series. */
  keep(networks: ReadonlySet<string>): void {
    for (const [network, series] of this.#series) {
      if (network === '' || networks.has(network)) continue;
      for (const labels of series.values())
        for (const counter of [this.#packets, this.#bytes]) counter.remove(labels);
      this.#series.delete(network);
    }
  }

  failed(): void {
    this.#failures.inc();
  }
}
