/** Whether a daemon of Open vSwitch or OVN answers on its control socket, asked again and again: one that stands still is seen before somebody needs it. */
import { errorText } from '../../api/error-text.ts';
import { withoutErrno } from '../../api/without-errno.ts';
import { pause, timestamp, type Clock } from '../../store/clock.ts';
import { UnixctlRefused, UnixctlSilent, type Unixctl } from './unixctl.ts';

export interface UnixctlWatchOptions {
  readonly daemon: Pick<Unixctl, 'run'>;
  /** A command that costs the daemon nothing. */
  readonly question: string;
  /** Milliseconds for which it may not answer: a restart takes less. */
  readonly grace: number;
  /** Why it does nothing, by what it answered; undefined where it works. */
  readonly whyIdle?: (answer: string) => string | undefined;
  /** Whether its control socket ought to be where it is asked, also where it never answered there. */
  readonly isExpected?: () => boolean;
  /** True for a daemon that was at work already at that time, on the clock that only goes forward: it is silent because of that. */
  readonly isAtWorkSince?: (begin: number) => boolean;
  /** That it is down, since when and why, with what to do. */
  readonly text: (since: string, why: string) => string;
  readonly clock: Clock;
  /** Called when it is down, and when it is back. */
  readonly onChange: () => void;
}

/** Milliseconds between two questions while it answers, and while it does not. */
const LOOK = 5000;
const LOOK_AGAIN = 1000;

interface Silence {
  /** On the clock that only goes forward, and the time of day. */
  readonly begin: number;
  readonly since: number;
  readonly why: string;
  /** It took the question, and may be at work. */
  readonly mayWork: boolean;
}

export class UnixctlWatch {
  readonly #options: UnixctlWatchOptions;
  #silence: Silence | undefined;
  #hasAnswered = false;
  #wasDown = false;
  #look = new AbortController();

  constructor(options: UnixctlWatchOptions) {
    this.#options = options;
  }

  /** Asks until the signal aborts. */
  async run(signal: AbortSignal): Promise<void> {
    const { clock, onChange } = this.#options;
    while (!signal.aborted) {
      await this.#ask(signal);
      if (signal.aborted) return;
      const isDown = this.down !== undefined;
      if (isDown !== this.#wasDown) {
        this.#wasDown = isDown;
        onChange();
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

  /** That it has not answered for longer than it may; undefined while it may be well. */
  get down(): string | undefined {
    const { clock, grace, isExpected, isAtWorkSince, text } = this.#options;
    if (this.#silence === undefined) return undefined;
    if (!this.#hasAnswered && isExpected?.() !== true) return undefined;
    const { begin, since, why, mayWork } = this.#silence;
    if (clock.monotonic() - begin < grace) return undefined;
    return mayWork && isAtWorkSince?.(begin) === true ? undefined : text(timestamp(since), why);
  }

  async #ask(signal: AbortSignal): Promise<void> {
    const { daemon, question, clock, whyIdle } = this.#options;
    const asked = { begin: clock.monotonic(), since: clock.now() };
    try {
      const answer = await daemon.run(question, [], signal);
      const why = whyIdle?.(answer);
      this.#hasAnswered = true;
      if (why === undefined) this.#silence = undefined;
      else this.#noteSilence(asked, why, false);
    } catch (error) {
      if (signal.aborted) return;
      // One that refuses is there and works; one that is silent is there.
      if (error instanceof UnixctlRefused || error instanceof UnixctlSilent)
        this.#hasAnswered = true;
      if (error instanceof UnixctlRefused) this.#silence = undefined;
      else {
        const why = withoutErrno(errorText(error)).replace(/^\S+ \S+: /, '');
        this.#noteSilence(asked, why, error instanceof UnixctlSilent);
      }
    }
  }

  #noteSilence(
    asked: Pick<Silence, 'begin' | 'since'>,
    why: string,
    mayWork: Silence['mayWork'],
  ): void {
    this.#silence = { ...(this.#silence ?? asked), why, mayWork };
  }
}
