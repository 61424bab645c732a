/** An attachment that can't be served, and whether that is news for the pod's user. */
export interface Trouble {
  readonly message: string;
  readonly isEvent: boolean;
}

/** What pods lack at the moment, and what their users were told of it. */
export class PodTroubles {
  readonly #messages = new Map<string, string>();
  readonly #told = new Map<string, string>();

  /** Troubles by pod, a line each. */
  messages(): ReadonlyMap<string, string> {
    return this.#messages;
  }

  /** Keeps the pod's troubles in place of those it had. Returns what its user has not been told yet. */
  set(pod: string, troubles: readonly Trouble[]): string | undefined {
    if (troubles.length === 0) {
      this.forget(pod);
      return undefined;
    }
    this.#messages.set(pod, linesOf(troubles));
    const message = linesOf(troubles.filter(({ isEvent }) => isEvent));
    if (message === '' || this.#told.get(pod) === message) return undefined;
    this.#told.set(pod, message);
    return message;
  }

  forget(pod: string): void {
    this.#messages.delete(pod);
    this.#told.delete(pod);
  }
}

const linesOf = (troubles: readonly Trouble[]): string =>
  troubles.map(({ message }) => message).join('\n');
