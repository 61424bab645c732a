/** An attachment that can't be served, and whether its user gets an event. */
export interface AttachmentError {
  readonly message: string;
  readonly isEvent: boolean;
}

/** What pods lack at the moment, and what was reported to their users. */
export class AttachmentErrors {
  readonly #messages = new Map<string, string>();
  readonly #reported = new Map<string, string>();

  /** Errors by pod, a line each. */
  messages(): ReadonlyMap<string, string> {
    return this.#messages;
  }

  /** Keeps the pod's errors in place of those it had. Returns what has not been reported yet. */
  set(pod: string, errors: readonly AttachmentError[]): string | undefined {
    if (errors.length === 0) {
      this.forget(pod);
      return undefined;
    }
    this.#messages.set(pod, linesOf(errors));
    const message = linesOf(errors.filter(({ isEvent }) => isEvent));
    if (message === '' || this.#reported.get(pod) === message) return undefined;
    this.#reported.set(pod, message);
    return message;
  }

  forget(pod: string): void {
    this.#messages.delete(pod);
    this.#reported.delete(pod);
  }
}

const linesOf = (errors: readonly AttachmentError[]): string =>
  errors.map(({ message }) => message).join('\n');
