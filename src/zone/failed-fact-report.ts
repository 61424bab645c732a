/** Facts that could not be worked out, as problems of their objects; each is logged once, with the stack. */
import type { FactFailure } from '../facts/derivation-graph.ts';
import type { ZoneProblem } from '../api/zone-status.ts';
import { errorText } from '../api/error-text.ts';
import { isToBlame } from '../facts/derived-facts.ts';
import { NotReadYet, Unreadable } from '../facts/unreadable.ts';
import { aboutObject, factName } from '../model/zone/failed-facts.ts';
import type { ZoneFacts } from '../model/zone/zone.ts';
import type { Logger } from '../process/logger.ts';

/** What can't be known says why itself; anything else is an error of ours. */
const isKnownWhy = ({ error }: FactFailure): boolean => error instanceof Unreadable;

export class FailedFacts {
  readonly #facts: ZoneFacts;
  readonly #log: Logger;
  #logged: ReadonlyMap<string, string> = new Map();

  constructor(facts: ZoneFacts, log: Logger) {
    this.#facts = facts;
    this.#log = log;
  }

  /** How many there are, those not counted that follow from others. */
  get count(): number {
    return [...this.#facts.graph.failures()].filter(
      (failure) => isToBlame(failure) && !isKnownWhy(failure),
    ).length;
  }

  /** Logs what failed since the last time. To be called after each pass. */
  logNew(): void {
    const found = new Map<string, string>();
    for (const failure of this.#facts.graph.failures()) {
      if (!isToBlame(failure) || isKnownWhy(failure)) continue;
      const name = factName(failure);
      const text = errorText(failure.error);
      found.set(name, text);
      if (this.#logged.get(name) === text) continue;
      this.#log.error(
        {
          component: 'facts',
          object: aboutObject(this.#facts, failure.object).object,
          err: failure.error,
        },
        `${name} could not be worked out: what follows from it stays as it was until the object changes`,
      );
    }
    this.#logged = found;
  }

  *problems(): Iterable<ZoneProblem> {
    for (const failure of this.#facts.graph.failures())
      if (isToBlame(failure) && !(failure.error instanceof NotReadYet))
        yield {
          object: aboutObject(this.#facts, failure.object).object,
          message: isKnownWhy(failure)
            ? errorText(failure.error)
            : `${factName(failure)} could not be worked out, what follows from it stays as it was: ${errorText(failure.error)}; change the object, and report this with the stack in the log of heddle node`,
        };
  }

  /** What objects wait for that is known in a moment. */
  *waiting(): Iterable<ZoneProblem> {
    for (const failure of this.#facts.graph.failures())
      if (isToBlame(failure) && failure.error instanceof NotReadYet)
        yield {
          object: aboutObject(this.#facts, failure.object).object,
          message: `what is to be read first: ${errorText(failure.error)}`,
        };
  }
}
