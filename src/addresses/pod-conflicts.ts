/** Pods that carry what is not free for them, with the reason for each attachment. */
export class PodConflicts {
  readonly #messages = new Map<string, Map<string, { message: string; pool: string }>>();

  /** Keys of the pods. */
  pods(): readonly string[] {
    return [...this.#messages.keys()];
  }

  /** Reasons by pod. */
  problems(): ReadonlyMap<string, string> {
    return new Map(
      [...this.#messages].map(([pod, reasons]) => [
        pod,
        [...reasons.values()].map(({ message }) => message).join('\n'),
      ]),
    );
  }

  /** Keeps the reason why the attachment can't have what it carries of the pool, or forgets the one there was; true when it has changed. */
  set(pod: string, nadKey: string, pool: string, message: string | undefined): boolean {
    const reasons = this.#messages.get(pod) ?? new Map<string, { message: string; pool: string }>();
    const isChanged = message !== undefined && reasons.get(nadKey)?.message !== message;
    if (message === undefined) reasons.delete(nadKey);
    else reasons.set(nadKey, { message, pool });
    if (reasons.size === 0) this.#messages.delete(pod);
    else this.#messages.set(pod, reasons);
    return isChanged;
  }

  /** Forgets what concerns a pool that is gone or made anew. */
  forgetPool(id: string): void {
    for (const [pod, reasons] of this.#messages)
      for (const [nadKey, { pool }] of reasons)
        if (pool === id) this.set(pod, nadKey, id, undefined);
  }

  forget(pod: string): void {
    this.#messages.delete(pod);
  }
}
