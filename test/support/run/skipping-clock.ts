import { systemClock, type Clock } from '../../../src/store/clock.ts';

interface Timer {
  readonly due: number;
  readonly run: () => void;
  readonly cancel: () => void;
}

/** The system's clock, which a test may move on: what is due by then runs at once. For tests in which other work goes on by itself. */
export class SkippingClock implements Clock {
  #ahead = 0;
  readonly #timers = new Set<Timer>();

  now(): number {
    return systemClock.now() + this.#ahead;
  }

  monotonic(): number {
    return systemClock.monotonic() + this.#ahead;
  }

  after(milliseconds: number, run: () => void): () => void {
    const timer: Timer = {
      due: this.monotonic() + milliseconds,
      run,
      cancel: systemClock.after(milliseconds, () => this.#run(timer)),
    };
    this.#timers.add(timer);
    return () => {
      this.#timers.delete(timer);
      timer.cancel();
    };
  }

  skip(milliseconds: number): void {
    this.#ahead += milliseconds;
    for (const timer of this.#timers) if (timer.due <= this.monotonic()) this.#run(timer);
  }

  #run(timer: Timer): void {
    timer.cancel();
    if (this.#timers.delete(timer)) timer.run();
  }
}
