/** Gives readers many inputs that are nearly right, and looks at what must hold for each. */
import { visibleText } from '../../src/api/visible-text.ts';
import { mutated } from './mutation.ts';
import type { FuzzTarget } from './targets.ts';

/** Milliseconds of processor for one input, and for each 1000 characters of it; the best of several tries, for a busy machine is no finding. */
const TIME_LIMIT = 100;
const TIME_PER_1000 = 10;
const TRIES = 5;
/** UTF-16 units of one text that comes of an input, and of all together: they become problems, events and conditions. */
const LONGEST_TEXT = 2048;
const LONGEST_TEXTS = 256 * 1024;
/** Bytes of heap that may be more after all inputs of a target than before. */
const MOST_GROWTH = 64 * 1024 * 1024;

/** An input that does what none may, and how to get it again. */
export class FuzzFinding extends Error {
  constructor(target: FuzzTarget, seed: number, index: number, input: string, what: string) {
    super(
      `${target.name}, seed ${seed}, input ${index}: ${what}\n${visibleText(JSON.stringify(input)).slice(0, 2000)}`,
    );
    this.name = 'FuzzFinding';
  }
}

const PROTOTYPES = [
  Object.prototype,
  Array.prototype,
  String.prototype,
  Function.prototype,
  Map.prototype,
];
const fingerprint = (): string => PROTOTYPES.map((one) => Reflect.ownKeys(one).length).join(' ');
const CLEAN = fingerprint();

/** Throws a FuzzFinding for the first input of `from` … `from + count` that breaks a rule. */
export async function fuzz(
  target: FuzzTarget,
  seed: number,
  { from = 0, count }: { readonly from?: number; readonly count: number },
): Promise<void> {
  globalThis.gc?.();
  const before = process.memoryUsage().heapUsed;
  for (let index = from; index < from + count; index += 1) {
    const input = mutated(target.corpus, seed, index);
    const failed = (what: string): FuzzFinding => new FuzzFinding(target, seed, index, input, what);
    const limit = TIME_LIMIT + (TIME_PER_1000 * input.length) / 1000;
    let took = Infinity;
    let texts: readonly string[] = [];
    for (let attempt = 0; attempt < TRIES && took > limit; attempt += 1) {
      const began = process.cpuUsage();
      try {
        texts = await target.run(input);
      } catch (error) {
        throw failed(error instanceof Error ? (error.stack ?? error.message) : String(error));
      }
      const { user, system } = process.cpuUsage(began);
      took = Math.min(took, (user + system) / 1000);
    }
    if (took > limit) throw failed(`took ${Math.round(took)} ms`);
    const long = texts.find((text) => text.length > LONGEST_TEXT);
    if (long !== undefined)
      throw failed(`a text of ${long.length} characters: ${long.slice(0, 300)}`);
    const total = texts.reduce((sum, text) => sum + text.length, 0);
    if (total > LONGEST_TEXTS) throw failed(`${texts.length} texts of ${total} characters`);
    if (fingerprint() !== CLEAN || 'polluted' in {}) throw failed('a prototype was changed');
  }
  globalThis.gc?.();
  const growth = process.memoryUsage().heapUsed - before;
  if (globalThis.gc !== undefined && growth > MOST_GROWTH)
    throw new Error(
      `${target.name}, seed ${seed}: ${growth} bytes more are held after ${count} inputs`,
    );
}
