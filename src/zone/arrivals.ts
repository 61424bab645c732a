/**
 * Networks that came a moment ago and that OVN has not taken in. Each makes ovn-northd and ovn-controller work out everything anew, however many
 * come with it: those that come meanwhile wait, and go together.
 */

/** Milliseconds for which a network keeps others waiting at most: OVN may be silent, or its rows be refused. */
const LONGEST = 5000;

interface Arrival {
  readonly network: string;
  readonly since: number;
  isWritten: boolean;
}

export class Arrivals {
  /** By when they came, the first one first. */
  #all: Arrival[] = [];
  readonly #isUnderWay: (network: string) => boolean;

  /** `isUnderWay`: false once OVN has all that was written of the network. */
  constructor(isUnderWay: (network: string) => boolean) {
    this.#isUnderWay = isUnderWay;
  }

  add(network: string, now: number): void {
    this.#all.push({ network, since: now, isWritten: false });
  }

  delete(network: string): void {
    this.#all = this.#all.filter((one) => one.network !== network);
  }

  /** What was built is in the database. */
  written(): void {
    for (const one of this.#all) one.isWritten = true;
  }

  /** True while others have to wait. */
  areUnderWay(now: number): boolean {
    this.#all = this.#all.filter(
      ({ network, since, isWritten }) =>
        since + LONGEST > now && !(isWritten && !this.#isUnderWay(network)),
    );
    return this.#all.length > 0;
  }

  /** When nobody has to wait for those that are here, at the latest. */
  get end(): number | undefined {
    const last = this.#all.at(-1);
    return last === undefined ? undefined : last.since + LONGEST;
  }
}
