/** What keeps objects, and them alone, out of the facts. */
import type { ObjectReading } from '../read/reading.ts';

export interface ModelProblem {
  /** `Pod blue/web`. */
  readonly object: string;
  /** What is wrong and what to do; or what is waited for. */
  readonly message: string;
}

/** Problems and missing allocations by object, and by what of the object was read. */
export class ProblemList {
  readonly #entries = new Map<string, Map<string, ObjectReading<unknown>>>();

  /** Takes what came of reading something of an object; a value or nothing ends what was wrong with it. */
  note(object: string, about: string, reading: ObjectReading<unknown> | undefined): void {
    const entries = this.#entries.get(object);
    if (reading !== undefined && reading.kind !== 'value') {
      if (entries === undefined) this.#entries.set(object, new Map([[about, reading]]));
      else entries.set(about, reading);
    } else if (entries?.delete(about) === true && entries.size === 0) this.#entries.delete(object);
  }

  /** Objects that are wrong. */
  *problems(): Iterable<ModelProblem> {
    for (const [object, readings] of this.#entries)
      for (const reading of readings.values())
        if (reading.kind === 'problem') yield { object, message: reading.message };
  }

  /** Objects that wait for an allocation, and which. */
  *pending(): Iterable<ModelProblem> {
    for (const [object, readings] of this.#entries)
      for (const reading of readings.values())
        if (reading.kind === 'pending') yield { object, message: reading.waitsFor };
  }
}

/** The problem of an object that can not be read, if that is what it is. */
export function* problemOf(
  object: string,
  reading: ObjectReading<unknown> | undefined,
): Iterable<ModelProblem> {
  if (reading?.kind === 'problem') yield { object, message: reading.message };
}
