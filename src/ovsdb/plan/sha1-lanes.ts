import { constant, constantWords, get, memory, set, simd, V128, wasmInstance } from '../wasm.ts';

/**
 * SHA-1 (RFC 3174) of four messages side by side: the same steps as for one, on vectors of four words, in WebAssembly
 * because JavaScript has no vectors. The module is put together here, instruction by instruction.
 */

/** Words of the state, four lanes each: A to E of lane 0, 1, 2, 3. */
const STATE_WORDS = 20;

/** Where the messages begin, in bytes: behind the state. */
const MESSAGES = 128;

/** Blocks of 64 bytes that a message may have. */
export const LANE_BLOCKS = 8;

export interface Lanes {
  /** Word `w` of lane `l` at `w * 4 + l`, for A to E. */
  readonly state: Uint32Array;
  /** Word `w` of a message in lane `l` at `w * 4 + l`, sixteen words for each block. */
  readonly messages: Uint32Array;
  /** Takes block `number` of all four messages into the state. */
  compress(number: number): void;
}

const load = (offset: number): number[] => [...simd(0x00), ...memory(offset)];
const store = (offset: number): number[] => [...simd(0x0b), ...memory(offset)];
const or = simd(0x50);
const xor = simd(0x51);
/** Bits of the first operand where the third has ones, of the second where it has zeros. */
const select = simd(0x52);
const shiftLeft = simd(0xab);
const shiftRight = simd(0xad);
const add = simd(0xae);
const rotated = (local: number, by: number): number[] => [
  ...get(local),
  ...constant(by),
  ...shiftLeft,
  ...get(local),
  ...constant(32 - by),
  ...shiftRight,
  ...or,
];

/** Locals: the address of the block (a parameter), A to E, sixteen words of the schedule, one for intermediate results. */
const BLOCK = 0;
const A = 1;
const SCHEDULE = 6;
const BETWEEN = 22;

const K = [0x5a827999, 0x6ed9eba1, 0x8f1bbcdc, 0xca62c1d6] as const;

/** The function of B, C and D in a step: choice, parity, majority, parity. */
function mixed(step: number, b: number, c: number, d: number): number[] {
  if (step < 20) return [...get(c), ...get(d), ...get(b), ...select];
  const parity = [...get(b), ...get(c), ...xor];
  if (step >= 40 && step < 60) return [...get(d), ...get(b), ...parity, ...select];
  return [...parity, ...get(d), ...xor];
}

function compressCode(): number[] {
  const code: number[] = [];
  const word = (step: number): number => SCHEDULE + (step & 15);
  for (let i = 0; i < 5; i++) code.push(...constant(0), ...load(i * 16), ...set(A + i));
  for (let step = 0; step < 80; step++) {
    if (step < 16) code.push(...get(BLOCK), ...load(step * 16), ...set(word(step)));
    else {
      const earlier = [step - 8, step - 14, step - 16].flatMap((t) => [...get(word(t)), ...xor]);
      code.push(...get(word(step - 3)), ...earlier, ...set(BETWEEN));
      code.push(...rotated(BETWEEN, 1), ...set(word(step)));
    }
    // Instead of moving A to B, B to C and so on, each step calls them by other names.
    const at = (letter: number): number => A + ((letter + 400 - step) % 5);
    const [a, b, c, d, e] = [at(0), at(1), at(2), at(3), at(4)];
    code.push(...get(e), ...constantWords(K[Math.floor(step / 20)] as number), ...add);
    code.push(...get(word(step)), ...add, ...mixed(step, b, c, d), ...add);
    code.push(...rotated(a, 5), ...add, ...set(e), ...rotated(b, 30), ...set(b));
  }
  for (let i = 0; i < 5; i++) {
    code.push(
      ...constant(0),
      ...constant(0),
      ...load(i * 16),
      ...get(A + i),
      ...add,
      ...store(i * 16),
    );
  }
  return code;
}

let made: Lanes | undefined;

/** The only lanes of the program: whoever uses them does so from begin to end in one go. */
export function sha1Lanes(): Lanes {
  if (made === undefined) {
    const { buffer, functions } = wasmInstance(1, [
      {
        name: 'compress',
        parameters: 1,
        hasResult: false,
        locals: [[BETWEEN, V128]],
        code: compressCode(),
      },
    ]);
    const compress = functions['compress'] as (address: number) => void;
    made = {
      state: new Uint32Array(buffer, 0, STATE_WORDS),
      messages: new Uint32Array(buffer, MESSAGES, LANE_BLOCKS * 64),
      compress: (number) => {
        compress(MESSAGES + number * 256);
      },
    };
  }
  return made;
}
