/** What was done, and when, one stage below the other: becomes spans once it is known whose it was. */
import { errorText } from '../api/error-text.ts';
import { clipped, visibleText } from '../api/visible-text.ts';
import type { Span, SpanAttributes } from './span.ts';

export interface Stage {
  readonly name: string;
  /** Milliseconds of a monotonic clock. */
  readonly start: number;
  readonly end: number;
  readonly attributes?: SpanAttributes;
  readonly error?: string;
  readonly kind?: Span['kind'];
  readonly stages?: readonly Stage[];
}

/** Takes the times of stages of one task. */
export class Stages {
  readonly done: Stage[] = [];
  readonly #now: () => number;

  constructor(now: () => number = () => performance.now()) {
    this.#now = now;
  }

  /** Does it. What it rejects with is passed on. */
  async run<T>(name: string, task: () => T | Promise<T>): Promise<T> {
    const start = this.#now();
    try {
      const result = await task();
      this.done.push({ name, start, end: this.#now() });
      return result;
    } catch (error) {
      this.done.push({ name, start, end: this.#now(), error: stageError(error) });
      throw error;
    }
  }
}

/** Characters of an error's text in a span. */
const LONGEST_ERROR = 500;

/** Why a stage failed, in a line. */
export const stageError = (error: unknown): string =>
  clipped(visibleText(errorText(error)), LONGEST_ERROR);
