/** Pods that carry what is not free for them, with the reason for each attachment. */
export class PodConflicts {
  readonly #messages = new Map<string, Map<string, string>>();

  /** Keys of the pods. */
  pods(): readonly string[] {
    return [...this.#messages.keys()];
  }

  /** Reasons by pod. */
  problems(): ReadonlyMap<string, string> {
    return new Map(
      [...this.#messages].map(([pod, reasons]) => [pod, [...reasons.values()].join('\n')]),
    );
  }

  /** Keeps the reason, or forgets the one there was; true when the reason has changed. */
  set(pod: string, nadKey: string, message: string | undefined): boolean {
    const reasons = this.#messages.get(pod) ?? new Map<string, string>();
    const isChanged = message !== undefined && reasons.get(nadKey) !== message;
    if (message === undefined) reasons.delete(nadKey);
    else reasons.set(nadKey, message);
    if (reasons.size === 0) this.#messages.delete(pod);
    else this.#messages.set(pod, reasons);
    return isChanged;
  }

  forget(pod: string): void {
    this.#messages.delete(pod);
  }
}
