/** How long a node may have egress addresses: since the last of its answers that the cluster manager is known to have got. Pure. */
export class EgressLease {
  readonly #prefix: string;
  #acknowledged = -Infinity;

  /** `run`: of this process alone, so that nobody acknowledges what one before it answered. */
  constructor(run: string) {
    this.#prefix = `${run}.`;
  }

  /** What stands for an answer that is given now. */
  token(now: number): string {
    return `${this.#prefix}${now.toFixed(1)}`;
  }

  /** Takes the token of an answer that somebody got; true if that is later than all before. What is none, or stands for a later answer than any, says nothing. */
  acknowledge(token: string | undefined, now: number): boolean {
    if (token?.startsWith(this.#prefix) !== true) return false;
    const at = Number(token.slice(this.#prefix.length));
    if (!(at <= now && at > this.#acknowledged)) return false;
    this.#acknowledged = at;
    return true;
  }

  /** Milliseconds since that answer; Infinity if there was none. */
  age(now: number): number {
    return now - this.#acknowledged;
  }
}
