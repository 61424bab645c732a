/** A pass that counts what the node dropped since the one before, for metrics. */
import { errorText } from '../api/error-text.ts';
import { isStopping, type PassEnd } from '../process/loop.ts';
import type { Logger } from '../process/logger.ts';
import type { DropsReport } from '../views/drops.ts';
import type { DropMetrics } from './drop-metrics.ts';

/** Of a look, what is used. */
export type Dropped = Pick<DropsReport, 'drops' | 'networks' | 'unread'>;

export interface DropPassOptions {
  /** What was dropped since the last look that was complete. */
  readonly look: (signal: AbortSignal) => Promise<Dropped>;
  /** Milliseconds between two looks. */
  readonly interval: number;
  readonly metrics: Pick<DropMetrics, 'count' | 'keep' | 'failed'>;
  readonly log: Logger;
}

export class DropPass {
  readonly #options: DropPassOptions;
  #failure = '';

  constructor(options: DropPassOptions) {
    this.#options = options;
  }

  async run(signal: AbortSignal): Promise<PassEnd> {
    const { look, interval, metrics } = this.#options;
    try {
      const { drops, networks, unread } = await look(signal);
      metrics.count(drops);
      metrics.keep(new Set(networks.map(({ name }) => name)));
      this.#report(unread.join('; '));
    } catch (error) {
      if (isStopping(signal)) throw error;
      this.#report(errorText(error));
    }
    return { wait: interval, isBlocked: false };
  }

  /** Once per reason. */
  #report(failure: string): void {
    const { metrics, log } = this.#options;
    if (failure !== '') metrics.failed();
    if (failure !== '' && failure !== this.#failure)
      log.warn({ component: 'drops', failure }, 'what the node drops could not be counted');
    this.#failure = failure;
  }
}
