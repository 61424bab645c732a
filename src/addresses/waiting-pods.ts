/** Pods that don't have all they want, by what they wait for: a change wakes those that it concerns, however many others wait. */
export type Awaited =
  /** The namespace, its label, a NAD in it. */
  | `namespace ${string}`
  /** A NAD that the pod names. */
  | `nad ${string}`
  /** The node, its subnets. */
  | `node ${string}`
  /** An address in a pool. */
  | `room ${string}`;

export class WaitingPods {
  readonly #awaited = new Map<string, Set<Awaited>>();
  readonly #pods = new Map<Awaited, Set<string>>();

  /** The pod waits for these, too. */
  add(pod: string, awaited: Iterable<Awaited>): void {
    const all = this.#awaited.get(pod) ?? new Set();
    this.#awaited.set(pod, all);
    for (const one of awaited) {
      all.add(one);
      const pods = this.#pods.get(one) ?? new Set();
      this.#pods.set(one, pods.add(pod));
    }
  }

  /** The pod waits for nothing any more. */
  delete(pod: string): void {
    for (const one of this.#awaited.get(pod) ?? []) {
      const pods = this.#pods.get(one);
      pods?.delete(pod);
      if (pods?.size === 0) this.#pods.delete(one);
    }
    this.#awaited.delete(pod);
  }

  /** Pods that wait for one of these. */
  of(awaited: Iterable<Awaited>): ReadonlySet<string> {
    return new Set([...awaited].flatMap((one) => [...(this.#pods.get(one) ?? [])]));
  }
}
