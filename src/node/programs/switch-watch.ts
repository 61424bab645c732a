/** Whether ovs-vswitchd of the node answers: without it nothing that changes reaches packets, and what the datapath does not know yet gets nowhere. */
import { withoutErrno } from '../../api/without-errno.ts';
import { pause, timestamp, type Clock } from '../../store/clock.ts';
import { UnixctlRefused, type Unixctl } from './unixctl.ts';
import { errorText } from '../../api/error-text.ts';

export interface SwitchWatchOptions {
  readonly vswitchd: Pick<Unixctl, 'run'>;
  /** Whether its control socket ought to be where it is asked, also where it never answered there: a database far away says nothing of that. */
  readonly isExpected: () => boolean;
  readonly clock: Clock;
  /** Called when it is down, and when it is back. */
  readonly onChange: () => void;
}

/** Milliseconds between two questions while it answers, and while it does not. */
const LOOK = 5000;
const LOOK_AGAIN = 1000;
/** A restart, and a reconfiguration with very many flows, takes less. */
export const SWITCH_GRACE = 15_000;
/** Every daemon of Open vSwitch knows it, and it costs nothing. */
const QUESTION = 'version';

interface Silence {
  /** On the clock that only goes forward, and the time of day. */
  readonly begin: number;
  readonly since: number;
  readonly why: string;
}

export class SwitchWatch {
  readonly #options: SwitchWatchOptions;
  #silence: Silence | undefined;
  #hasAnswered = false;
  #wasDown = false;
  #look = new AbortController();

  constructor(options: SwitchWatchOptions) {
    this.#options = options;
  }

  /** Asks until the signal aborts. */
  async run(signal: AbortSignal): Promise<void> {
    const { clock } = this.#options;
    while (!signal.aborted) {
      await this.#ask(signal);
      if (signal.aborted) return;
      const isDown = this.down !== undefined;
      if (isDown !== this.#wasDown) {
        this.#wasDown = isDown;
        this.#options.onChange();
      }
      const wait = this.#silence === undefined ? LOOK : LOOK_AGAIN;
      await pause(clock, wait, AbortSignal.any([signal, this.#look.signal]));
    }
  }

  /** It may have ended: it is asked at once. */
  lost(): void {
    const asked = this.#look;
    this.#look = new AbortController();
    asked.abort();
  }

  /** That it has not answered for longer than a restart takes, since when, what that means and what to do; undefined while it may be well. */
  get down(): string | undefined {
    const { clock, isExpected } = this.#options;
    if (this.#silence === undefined || !(this.#hasAnswered || isExpected())) return undefined;
    const { begin, since, why } = this.#silence;
    if (clock.monotonic() - begin < SWITCH_GRACE) return undefined;
    return `ovs-vswitchd has not answered since ${timestamp(since)} (${why}): nothing that changes reaches packets, new connections get nowhere, and pods that start get no network; start Open vSwitch, or see its log (ovs-vswitchd.log) where it runs. Networks come back with it`;
  }

  async #ask(signal: AbortSignal): Promise<void> {
    const { vswitchd, clock } = this.#options;
    const [begin, since] = [clock.monotonic(), clock.now()];
    try {
      await vswitchd.run(QUESTION, [], signal);
      this.#answered();
    } catch (error) {
      // One that refuses is there.
      if (error instanceof UnixctlRefused) this.#answered();
      else if (!signal.aborted)
        this.#silence = {
          ...(this.#silence ?? { begin, since }),
          why: withoutErrno(errorText(error)).replace(`ovs-vswitchd ${QUESTION}: `, ''),
        };
    }
  }

  #answered(): void {
    this.#hasAnswered = true;
    this.#silence = undefined;
  }
}
