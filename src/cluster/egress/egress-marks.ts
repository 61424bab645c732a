import { isExhausted } from '../../allocators/allocation-error.ts';
import { IdAllocator } from '../../allocators/ids.ts';
import { complaint } from '../../api/annotations/annotations.ts';
import {
  EGRESS_MARK,
  egressMark,
  FIRST_EGRESS_MARK,
  LAST_EGRESS_MARK,
} from '../../api/annotations/network-annotations.ts';
import type { EgressIP } from '../../api/types.ts';
import type { EgressProblem } from './egress-ip-outcome.ts';

/** The packet marks of EgressIPs, by which pods of user-defined networks leave (reference/egress.md §1). */
export class EgressMarks {
  readonly #marks = new IdAllocator(FIRST_EGRESS_MARK, LAST_EGRESS_MARK);

  /** Takes over the mark that an object has. */
  adopt(egressIp: EgressIP): void {
    const { name } = egressIp.metadata;
    const mark = egressMark(egressIp).value;
    if (mark === undefined || this.#marks.idOf(name) === mark) return;
    // Of two with one mark the older one has it; the other one is told.
    if (this.#marks.ownerOf(mark) !== undefined) return;
    this.#marks.release(name);
    this.#marks.reserve(name, mark);
  }

  release(name: string): void {
    this.#marks.release(name);
  }

  /** The mark to write; undefined where the object has one, or there is none left. */
  markFor(egressIp: EgressIP): number | undefined {
    const { value, errors } = egressMark(egressIp);
    if (value !== undefined || errors.length > 0) return undefined;
    try {
      return this.#marks.allocate(egressIp.metadata.name);
    } catch (error) {
      if (isExhausted(error)) return undefined;
      throw error;
    }
  }

  /** Why pods of an object do not leave by its mark. */
  problemOf(egressIp: EgressIP): EgressProblem | undefined {
    const { name } = egressIp.metadata;
    const problem = (message: string): EgressProblem => ({ reason: 'NoMark', message });
    const marked = egressMark(egressIp);
    const wrong = complaint(marked);
    if (wrong !== undefined) return problem(wrong);
    if (marked.value === undefined) {
      const isFull = this.#marks.size > LAST_EGRESS_MARK - FIRST_EGRESS_MARK;
      return isFull && this.#marks.idOf(name) === undefined
        ? problem(
            `EgressIP ${name}: all ${this.#marks.size} marks are in use, and pods of user-defined networks do not leave without one; delete EgressIPs that nobody needs`,
          )
        : undefined;
    }
    const owner = this.#marks.ownerOf(marked.value);
    return owner === undefined || owner === name
      ? undefined
      : problem(
          `EgressIP ${name}: its mark ${marked.value} (annotation ${EGRESS_MARK}) is that of EgressIP ${owner}, and its pods of user-defined networks do not leave; delete it and make it again`,
        );
  }
}
