/** An attachment that can't be served, and whether its user gets an event. */
export interface AttachmentError {
  readonly message: string;
  /**
   * When its user gets an event: at once; once it has been so for a while, of what may be on its way; never, where somebody else says more,
   * or what is wrong is none of the attachments'.
   */
  readonly event: 'at once' | 'later' | 'never';
}

/** Milliseconds for which a pod may wait before its user is told: what is applied together comes one by one. */
const GRACE = 10_000;

/** What is to be told to a pod's user now. */
export interface AttachmentReport {
  /** What has not been told yet. */
  readonly news?: string;
  /** True when what was told is over. */
  readonly isOver: boolean;
  /** Milliseconds after which there may be more to tell. */
  readonly again?: number;
}

/** What pods lack at the moment, and what was reported to their users. */
export class AttachmentErrors {
  readonly #messages = new Map<string, string>();
  readonly #reported = new Map<string, string>();
  /** Since when each pod has lacked each thing without a break, by message, in milliseconds of a monotonic clock. */
  readonly #since = new Map<string, ReadonlyMap<string, number>>();

  /** Errors by pod, a line each. */
  messages(): ReadonlyMap<string, string> {
    return this.#messages;
  }

  /** Keeps the pod's errors in place of those it had; without any it may still lack what others give. */
  set(
    pod: string,
    errors: readonly AttachmentError[],
    { lacks, now }: { readonly lacks: boolean; readonly now: number },
  ): AttachmentReport {
    if (errors.length === 0) {
      this.#messages.delete(pod);
      this.#since.delete(pod);
      if (lacks) return { isOver: false };
      const isOver = this.#reported.has(pod);
      this.forget(pod);
      return { isOver };
    }
    this.#messages.set(pod, linesOf(errors));
    const before = this.#since.get(pod);
    const since = new Map(errors.map(({ message }) => [message, before?.get(message) ?? now]));
    this.#since.set(pod, since);
    const rest = ({ message, event }: AttachmentError): number =>
      event === 'at once' ? 0 : (since.get(message) ?? now) + GRACE - now;
    const toTell = errors.filter(({ event }) => event !== 'never');
    const message = linesOf(toTell.filter((error) => rest(error) <= 0));
    const rests = toTell.map(rest).filter((one) => one > 0);
    const again = rests.length === 0 ? {} : { again: Math.min(...rests) };
    if (message === '' || this.#reported.get(pod) === message) return { isOver: false, ...again };
    this.#reported.set(pod, message);
    return { news: message, isOver: false, ...again };
  }

  forget(pod: string): void {
    this.#messages.delete(pod);
    this.#reported.delete(pod);
    this.#since.delete(pod);
  }
}

const linesOf = (errors: readonly AttachmentError[]): string =>
  errors.map(({ message }) => message).join('\n');
