/** A pass that has it proved that the networks of the node are apart: what no object wants is a problem of the node, and is counted for each network. */
import { errorText } from '../api/error-text.ts';
import type { ZoneProblem } from '../api/zone-status.ts';
import { isStopping, type PassEnd } from '../process/loop.ts';
import type { Logger } from '../process/logger.ts';
import type { Check } from '../verify/findings.ts';
import type { Verdict } from '../verify/verify.ts';
import type { ZoneMetrics } from './zone-metrics.ts';

/** Of a verdict, what is used. */
export type ProvedZone = Pick<Verdict, 'violations' | 'undecided'>;

/** So many are named of what is wrong: a bridge that lets everything pass would be a problem for each pair of networks. */
const MOST_NAMED = 20;
/** Milliseconds between a proof and one that is asked for: a row that comes and goes asks again and again. */
const REST = 10_000;

export interface ProofPassOptions {
  readonly node: string;
  readonly prove: (signal: AbortSignal) => Promise<ProvedZone>;
  /** Milliseconds between two proofs that nobody asked for, and before the first one: what starts is not in order yet. */
  readonly interval: number;
  readonly metrics: Pick<ZoneMetrics, 'proved' | 'notProved' | 'proofAsked'>;
  readonly log: Logger;
  /** Called when what is known has changed. */
  readonly onChange: () => void;
  /** Milliseconds of a monotonic clock. */
  readonly now?: () => number;
}

export class ProofPass {
  readonly #options: ProofPassOptions;
  readonly #now: () => number;
  /** When the next one is made that nobody asks for, and the earliest one that somebody does. */
  #nextAt: number;
  #askedFrom = Number.NEGATIVE_INFINITY;
  #isAsked = false;
  #failures = 0;
  #problems: readonly ZoneProblem[] = [];
  #violations: ReadonlyMap<string, number> | undefined;

  constructor(options: ProofPassOptions) {
    this.#options = options;
    this.#now = options.now ?? (() => performance.now());
    this.#nextAt = this.#now() + options.interval;
  }

  /** What the last proof found, or why there was none. */
  problems(): readonly ZoneProblem[] {
    return this.#problems;
  }

  /**
   * How many ways or numbers the last proof found that no object wants, by the name of the network; undefined before the first one. What was found stays until
   * another proof has been made.
   */
  get violations(): ReadonlyMap<string, number> | undefined {
    return this.#violations;
  }

  /** The next pass makes a proof, after a rest: Northbound may have been changed in a way that no object wants, or what did so has ended. */
  ask(): void {
    this.#isAsked = true;
  }

  async run(signal: AbortSignal): Promise<PassEnd> {
    const { interval, prove, metrics, log, onChange } = this.#options;
    const rest = Math.min(this.#nextAt, this.#isAsked ? this.#askedFrom : Infinity) - this.#now();
    if (rest > 0) return { wait: rest, isBlocked: false };
    const began = this.#now();
    const isAsked = this.#isAsked;
    // Who asks meanwhile has seen what this one may not see.
    this.#isAsked = false;
    if (isAsked) metrics.proofAsked();
    const before = this.#problems;
    const isFirst = this.#violations === undefined;
    try {
      const { violations, undecided } = await prove(signal);
      metrics.proved({
        violations: violations.length,
        undecided: undecided.length,
        seconds: (this.#now() - began) / 1000,
      });
      this.#violations = countedByNetwork(violations);
      this.#problems = this.#problemsOf(violations, undecided);
      this.#failures = 0;
    } catch (error) {
      if (isStopping(signal)) throw error;
      metrics.notProved();
      // What was asked is not answered yet.
      this.#isAsked ||= isAsked;
      this.#failures += 1;
      log.warn(
        { component: 'verify', error },
        'the networks of the node could not be proved apart',
      );
      this.#problems = [
        ...this.#problems.filter(({ message }) =>
          [NOT_APART, NOT_IN_FORCE].some((title) => message.startsWith(title)),
        ),
        this.#problem(
          `whether its networks are apart could not be proved: ${errorText(error)}; run heddle verify on the node`,
        ),
      ];
    }
    if (isFirst || before.length > 0 || this.#problems.length > 0) onChange();
    const ended = this.#now();
    this.#nextAt = ended + interval;
    this.#askedFrom = ended + Math.min(interval, REST * 2 ** this.#failures);
    return {
      wait: (this.#isAsked ? Math.min(this.#nextAt, this.#askedFrom) : this.#nextAt) - ended,
      isBlocked: false,
    };
  }

  #problem(message: string): ZoneProblem {
    return { object: `Node ${this.#options.node}`, message };
  }

  #problemsOf(
    violations: ProvedZone['violations'],
    undecided: readonly string[],
  ): readonly ZoneProblem[] {
    const named = violations.slice(0, MOST_NAMED);
    const rest = violations.length - named.length;
    return [
      ...named.map(({ check, where, what, object }) =>
        this.#problem(
          `${WITHIN.has(check) ? NOT_IN_FORCE : NOT_APART} (${check}): ${where} ${what}; it concerns ${object}: heddle verify on the node shows all of it`,
        ),
      ),
      ...(rest > 0
        ? [
            this.#problem(
              `${NOT_APART}: ${rest} more that no object wants: heddle verify on the node lists them`,
            ),
          ]
        : []),
      ...undecided.map((text) =>
        this.#problem(`whether its networks are apart is not decided: ${text}`),
      ),
    ];
  }
}

const NOT_APART = 'networks are not apart';
const NOT_IN_FORCE = 'policies and EgressFirewalls are not in force as they are';

/** Checks of what pods may within their network and outside, whatever keeps networks apart. */
const WITHIN: ReadonlySet<Check> = new Set<Check>(['policies', 'firewalls']);

/** What keeps networks from being apart. */
function countedByNetwork(violations: ProvedZone['violations']): ReadonlyMap<string, number> {
  const counts = new Map<string, number>();
  for (const { networks } of violations.filter(({ check }) => !WITHIN.has(check)))
    for (const name of networks) counts.set(name, (counts.get(name) ?? 0) + 1);
  return counts;
}
