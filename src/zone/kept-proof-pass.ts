/**
 * A pass that keeps the proof of Northbound while rows and objects change, beside the daemon's other work: what a change may have joined, opened or shut, and what
 * can't be told any more, is found at once, and a proof from nothing is asked for, whose verdict is the one that counts.
 */
import { errorText } from '../api/error-text.ts';
import { isStopping, type PassEnd } from '../process/loop.ts';
import type { Logger } from '../process/logger.ts';
import { violationText } from '../verify/findings.ts';
import type { KeptProof } from '../verify/kept/kept-proof.ts';
import { REVISIT } from './database-pass.ts';
import type { ProofChanges } from './proof-changes.ts';
import type { ZoneMetrics } from './zone-metrics.ts';

/** Milliseconds after which a slice gives way to the rest of the daemon: pods come first. */
const SLICE = 5;
/** Slices of one pass. The loop rests before the next one, so that a proof from nothing takes no more than a part of the processor. */
const MOST_SLICES = 40;
/** Milliseconds that something wrong has to stand: what is written in several steps looks wrong between two of them. */
const STANDS = 1000;
/** Milliseconds after which it counts though the daemon is not done with its own changes: it may never be. */
const STANDS_IN_ANY_CASE = 30_000;

const NOT_DECIDED = 'not decided';

type Kept = Pick<KeptProof, 'apply' | 'judge' | 'waiting' | 'violations' | 'undecided'>;

export interface KeptProofPassOptions {
  /** Begins to follow what changes. Called once, when the daemon has nothing under way for the first time. */
  readonly follow: () => Pick<ProofChanges, 'all' | 'take'>;
  /** Makes a proof that has nothing yet. */
  readonly begin: () => Kept;
  /** True when the daemon has nothing under way: all that it wants is in Northbound. */
  readonly isSettled: () => boolean;
  /** Asks for a proof from nothing. */
  readonly ask: () => void;
  readonly metrics: Pick<ZoneMetrics, 'notProved'>;
  readonly log: Logger;
  /** Milliseconds of a monotonic clock. */
  readonly now?: () => number;
}

export class KeptProofPass {
  readonly #options: KeptProofPassOptions;
  readonly #now: () => number;
  #changes: ReturnType<KeptProofPassOptions['follow']> | undefined;
  #proof: Kept | undefined;
  /** Since when each is wrong, or not decided, of what is. */
  readonly #since = new Map<string, number>();
  /** What was when a proof was asked for last. */
  #asked: ReadonlySet<string> = new Set();
  #failure: string | undefined;

  constructor(options: KeptProofPassOptions) {
    this.#options = options;
    this.#now = options.now ?? (() => performance.now());
  }

  /** `isBlocked` after an error: it begins from nothing after the loop's back-off. */
  async run(signal: AbortSignal): Promise<PassEnd> {
    const { follow, begin, isSettled, metrics, log } = this.#options;
    // The start of a daemon is for its networks.
    if (this.#proof === undefined && !isSettled()) return { wait: REVISIT, isBlocked: false };
    try {
      if (this.#proof === undefined) {
        this.#changes ??= follow();
        this.#changes.all();
        this.#proof = begin();
      }
      for (let slice = 0; this.#prove(this.#proof); slice += 1) {
        if (slice >= MOST_SLICES) return { wait: 0, isBlocked: false };
        await new Promise(setImmediate);
        signal.throwIfAborted();
      }
      const wait = this.#look(this.#proof);
      this.#failure = undefined;
      return { wait, isBlocked: false };
    } catch (error) {
      if (isStopping(signal)) throw error;
      this.#proof = undefined;
      metrics.notProved();
      const message = errorText(error);
      if (message !== this.#failure)
        log.error(
          { component: 'verify', err: error },
          'changes could not be proved, and are again from nothing; proofs of verify-interval go on',
        );
      this.#failure = message;
      return { wait: REVISIT, isBlocked: true };
    }
  }

  /** One slice; false when nothing is left. */
  #prove(proof: Kept): boolean {
    const end = performance.now() + SLICE;
    do {
      const changes = this.#changes?.take();
      if (changes !== undefined) proof.apply(changes);
      else if (proof.waiting > 0) proof.judge(end - performance.now());
      else return false;
    } while (performance.now() < end);
    return true;
  }

  /** Asks for a proof when something is wrong or not decided that was not when one was asked for last, or is not any more. Returns when to look again. */
  #look(proof: Kept): number {
    const { isSettled, ask, log } = this.#options;
    const now = this.#now();
    const wrong = new Set([
      ...proof.violations.map(violationText),
      ...proof.undecided.map((text) => `${NOT_DECIDED}: ${text}`),
    ]);
    for (const text of this.#since.keys()) if (!wrong.has(text)) this.#since.delete(text);
    for (const text of wrong) if (!this.#since.has(text)) this.#since.set(text, now);
    const standing = (for_: number): readonly string[] =>
      [...this.#since].filter(([, since]) => now - since >= for_).map(([text]) => text);
    const lasting = standing(STANDS);
    const fresh = lasting.filter((text) => !this.#asked.has(text));
    const isOver = [...this.#asked].some((text) => !wrong.has(text));
    const again = lasting.length < wrong.size ? STANDS : REVISIT;
    if (fresh.length === 0 && !isOver) return again;
    const isLong = standing(STANDS_IN_ANY_CASE).some((text) => !this.#asked.has(text));
    if (!isSettled() && !isLong) return STANDS;
    this.#asked = new Set(lasting);
    if (fresh.length > 0)
      log.warn(
        { component: 'verify', found: fresh.length, first: fresh[0] },
        'a change may have joined networks, or opened or shut what policies do not: the networks of the node are proved',
      );
    ask();
    return again;
  }
}
