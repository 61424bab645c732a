/** Networks in use on this node: by whom, and since when by nobody. Takes the time, and whether new ones may come, from outside. */
import type { KeySource } from '../../facts/keys.ts';
import type { DerivationGraph, GraphStep } from '../../facts/derivation-graph.ts';
import { FactTable } from '../../facts/fact-table.ts';

/** A network that has rows here. */
export interface NetworkUse {
  readonly network: string;
  /** Milliseconds of the caller's clock; absent while something uses the network. */
  readonly unusedSince?: number;
}

export class NetworkUsage {
  readonly table: FactTable<[network: string], NetworkUse>;
  readonly #gracePeriod: number;
  readonly #users = new Map<string, Set<string>>();
  /** Networks that came into use and may not have rows yet. */
  readonly #entering = new Set<string>();
  #mayEnter = true;
  /** Networks that lost their last user since that was looked for last. */
  readonly #released = new Set<string>();
  /** Networks that nobody uses, by when that began: the one that goes first is first. */
  readonly #unused = new Map<string, number>();

  /** What uses networks comes before it: only then is it known which ones nobody uses. */
  readonly #step: GraphStep;
  /** The time at which what nobody uses is to be looked for, until that was done. */
  #due: number | undefined;

  constructor(graph: DerivationGraph, gracePeriod: number) {
    this.#step = graph.add('usage');
    this.#step.work = {
      isDirty: () => this.#due !== undefined,
      run: () => {
        const now = this.#due;
        this.#due = undefined;
        if (now !== undefined) this.#expire(now);
        if (this.#mayEnter) this.#enter();
      },
    };
    this.table = new FactTable('usage', graph.recorder, {}, this.#step);
    this.#gracePeriod = gracePeriod;
  }

  /** These keys use networks. */
  comesBehind({ steps }: KeySource): void {
    for (const step of steps) this.#step.comesBehind(step);
  }

  /** In the refresh that begins, `now` is the time; networks that come into use wait unless `mayEnter`. */
  begin(now: number, mayEnter: boolean): void {
    this.#due = now;
    this.#mayEnter = mayEnter;
  }

  /** Networks that are in use and wait. */
  get entering(): ReadonlySet<string> {
    return this.#entering;
  }

  /** Something uses the network from now on: `user` is any name for it. */
  use(network: string, user: string): void {
    const users = this.#users.get(network);
    if (users === undefined) this.#users.set(network, new Set([user]));
    else users.add(user);
    this.#released.delete(network);
    this.#unused.delete(network);
    // What has rows keeps them.
    if (this.#mayEnter || this.table.peek(network) !== undefined)
      this.table.put(network, { network });
    else this.#entering.add(network);
  }

  #enter(): void {
    for (const network of this.#entering) this.table.put(network, { network });
    this.#entering.clear();
  }

  /** That user needs the network no more. */
  release(network: string, user: string): void {
    const users = this.#users.get(network);
    if (users === undefined || !users.delete(user) || users.size > 0) return;
    this.#users.delete(network);
    if (!this.#entering.delete(network)) this.#released.add(network);
  }

  /** Notes what lost its last user, and ends what nobody used for the grace period. */
  #expire(now: number): void {
    for (const network of this.#released) {
      this.#unused.set(network, now);
      this.table.put(network, { network, unusedSince: now });
    }
    this.#released.clear();
    for (const [network, since] of this.#unused) {
      if (since + this.#gracePeriod > now) break;
      this.#unused.delete(network);
      this.table.delete(network);
    }
  }

  /** When the next network goes unless it is used again. */
  get nextExpiry(): number | undefined {
    const [first] = this.#unused.values();
    return first === undefined ? undefined : first + this.#gracePeriod;
  }
}
