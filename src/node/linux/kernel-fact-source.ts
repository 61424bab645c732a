/** What all sources of facts from the host's kernel share: they read when the kernel announces something, and again after a while without. */
import { errorText } from '../../api/error-text.ts';
import type { ZoneProblem } from '../../api/zone-status.ts';
import type { ZoneFacts } from '../../model/zone/zone.ts';
import type { Clock } from '../../store/clock.ts';
import type { Log } from '../../store/log.ts';
import { WorkQueue } from '../../store/work-queue.ts';
import type { FactSource } from '../fact-source.ts';
import type { NetworkFollower, NetworkMonitor } from './network-monitor.ts';

export interface KernelSourceOptions {
  readonly node: string;
  /** Path of the network namespace; that of the process, if none is named. */
  readonly namespace: string | undefined;
  /** Of the same namespace. */
  readonly monitor: NetworkMonitor;
  readonly log: Log;
  /** Called when facts or problems are others. */
  readonly onChange: () => void;
}

/** What reading came to. */
export interface KernelReading {
  /** Whether facts are others. */
  readonly hasChanged: boolean;
  /** What is wrong with what was read. */
  readonly problem: string | undefined;
}

/** Milliseconds. */
export interface KernelPace {
  /** Changes within this time of each other are one. */
  readonly debounce: number;
  /** Without any event everything is read again after this time. */
  readonly resync: number;
}

/** One key: all is read at once. */
const ALL = 'all';

export abstract class KernelFactSource<
  Options extends KernelSourceOptions = KernelSourceOptions,
> implements FactSource {
  protected readonly options: Options;
  readonly #pace: KernelPace;
  #problem: string | undefined;

  constructor(options: Options, pace: KernelPace) {
    this.options = options;
    this.#pace = pace;
  }

  /** Calls `look` for what announces that facts may be others. */
  protected abstract follower(look: () => void): NetworkFollower;
  /** Puts what the kernel has. Throws NetlinkError. */
  protected abstract read(facts: ZoneFacts): KernelReading;
  /** What it means that nothing can be read, for the reason given, as a problem of the Node. */
  protected abstract unreadable(facts: ZoneFacts, reason: string): string;

  async start(facts: ZoneFacts, clock: Clock, signal: AbortSignal): Promise<void> {
    const { monitor } = this.options;
    const { debounce, resync } = this.#pace;
    const look = (): void => {
      // What happens while it reads is not missed.
      monitor.listen();
      const { hasChanged, problem } = this.read(facts);
      if (this.#say(problem) || hasChanged) this.options.onChange();
    };
    const failed = (error: unknown): void => {
      const problem = this.unreadable(facts, errorText(error));
      if (!this.#say(problem)) return;
      this.options.log.warn({ node: this.options.node, error }, problem);
      this.options.onChange();
    };
    const queue = new WorkQueue({
      reconcile: async () => {
        look();
        return { after: resync };
      },
      onFailure: ({ error }) => failed(error),
      clock,
    });
    const unfollow = monitor.follow(this.follower(() => queue.addAfter(ALL, debounce)));
    try {
      look();
      queue.addAfter(ALL, resync);
    } catch (error) {
      failed(error);
      queue.add(ALL);
    }
    try {
      await queue.run(signal);
    } finally {
      unfollow();
    }
  }

  problems(): readonly ZoneProblem[] {
    const object = `Node ${this.options.node}`;
    return this.#problem === undefined ? [] : [{ object, message: this.#problem }];
  }

  /** True if it is another than before. */
  #say(problem: string | undefined): boolean {
    const isNew = this.#problem !== problem;
    this.#problem = problem;
    return isNew;
  }
}
