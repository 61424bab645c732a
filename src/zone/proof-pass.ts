/** A pass that has it proved that the networks of the node are apart: what no object wants is a problem of the node, and is counted for each network. */
import { errorText } from '../api/error-text.ts';
import type { ZoneProblem } from '../api/zone-status.ts';
import { isStopping, type PassEnd } from '../process/loop.ts';
import type { Logger } from '../process/logger.ts';
import type { Verdict } from '../verify/verify.ts';
import type { ZoneMetrics } from './zone-metrics.ts';

/** Of a verdict, what is used. */
export type ProvedZone = Pick<Verdict, 'violations' | 'undecided'>;

/** So many are named of what is wrong: a bridge that lets everything pass would be a problem for each pair of networks. */
const MOST_NAMED = 20;

export interface ProofPassOptions {
  readonly node: string;
  readonly prove: (signal: AbortSignal) => Promise<ProvedZone>;
  /** Milliseconds between two proofs, and before the first one: what starts is not in order yet. */
  readonly interval: number;
  readonly metrics: Pick<ZoneMetrics, 'proved' | 'notProved'>;
  readonly log: Logger;
  /** Called when what is known has changed. */
  readonly onChange: () => void;
  /** Milliseconds of a monotonic clock. */
  readonly now?: () => number;
}

export class ProofPass {
  readonly #options: ProofPassOptions;
  readonly #now: () => number;
  readonly #startedAt: number;
  #problems: readonly ZoneProblem[] = [];
  #violations: ReadonlyMap<string, number> | undefined;

  constructor(options: ProofPassOptions) {
    this.#options = options;
    this.#now = options.now ?? (() => performance.now());
    this.#startedAt = this.#now();
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

  async run(signal: AbortSignal): Promise<PassEnd> {
    const { interval, prove, metrics, log, onChange } = this.#options;
    const rest = this.#startedAt + interval - this.#now();
    if (rest > 0) return { wait: rest, isBlocked: false };
    const began = this.#now();
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
    } catch (error) {
      if (isStopping(signal)) throw error;
      metrics.notProved();
      log.warn(
        { component: 'verify', error },
        'the networks of the node could not be proved apart',
      );
      this.#problems = [
        ...this.#problems.filter(({ message }) => message.startsWith(NOT_APART)),
        this.#problem(
          `whether its networks are apart could not be proved: ${errorText(error)}; run heddle verify on the node`,
        ),
      ];
    }
    if (isFirst || before.length > 0 || this.#problems.length > 0) onChange();
    return { wait: interval, isBlocked: false };
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
          `${NOT_APART} (${check}): ${where} ${what}; it concerns ${object}: heddle verify on the node shows all of it`,
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

function countedByNetwork(violations: ProvedZone['violations']): ReadonlyMap<string, number> {
  const counts = new Map<string, number>();
  for (const { networks } of violations)
    for (const name of networks) counts.set(name, (counts.get(name) ?? 0) + 1);
  return counts;
}
