/** Puts modules of WebAssembly together, instruction by instruction: for what JavaScript can't say, as vectors. */

export const I32 = 0x7f;
export const V128 = 0x7b;

/** Instructions as bytes; a name in a jump stands for the block that bears it. */
export type Code = readonly (number | Code | Block | Jump)[];

interface Block {
  readonly opcode: number;
  readonly label: string;
  readonly body: Code;
}

interface Jump {
  readonly opcode: number;
  readonly to: string;
}

export interface WasmFunction {
  readonly name: string;
  /** Number of parameters, each of 32 bits. */
  readonly parameters: number;
  readonly hasResult: boolean;
  /** Further locals: how many of which type, in order behind the parameters. */
  readonly locals: readonly (readonly [count: number, type: number])[];
  readonly code: Code;
}

/** Number in the variable-length form of WebAssembly (LEB128), unsigned. */
export function unsigned(value: number): number[] {
  const bytes: number[] = [];
  for (let rest = value; ; rest >>>= 7) {
    if (rest < 0x80) return [...bytes, rest];
    bytes.push((rest & 0x7f) | 0x80);
  }
}

/** The same with a sign. */
function signed(value: number): number[] {
  const bytes: number[] = [];
  for (let rest = value | 0; ; rest >>= 7) {
    const byte = rest & 0x7f;
    if (rest >> 6 === 0 || rest >> 6 === -1) return [...bytes, byte];
    bytes.push(byte | 0x80);
  }
}

// Operands come first, as on the stack of the machine.
export const get = (local: number): number[] => [0x20, ...unsigned(local)];
export const set = (local: number): number[] => [0x21, ...unsigned(local)];
export const constant = (value: number): number[] => [0x41, ...signed(value)];
/** An instruction on vectors. */
export const simd = (code: number): number[] => [0xfd, ...unsigned(code)];
/** Where a load or store begins, beyond its address; nothing is said of how that is aligned. */
export const memory = (offset: number): number[] => [0, ...unsigned(offset)];
/** The same four words in a vector. */
export const constantWords = (word: number): number[] => {
  const bytes = [word, word >>> 8, word >>> 16, word >>> 24].map((byte) => byte & 0xff);
  return [...simd(0x0c), ...bytes, ...bytes, ...bytes, ...bytes];
};
/** The same byte sixteen times. */
export const constantBytes = (byte: number): number[] => constantWords(byte * 0x0101_0101);

/** A jump to its label goes behind it. */
export const block = (label: string, body: Code): Block => ({ opcode: 0x02, label, body });
/** A jump to its label begins it again. */
export const loop = (label: string, body: Code): Block => ({ opcode: 0x03, label, body });
/** Carried out if the word on the stack is not 0; a jump to its label goes behind it. */
export const when = (label: string, body: Code): Block => ({ opcode: 0x04, label, body });
export const jump = (to: string): Jump => ({ opcode: 0x0c, to });
/** A jump if the word on the stack is not 0. */
export const jumpIf = (to: string): Jump => ({ opcode: 0x0d, to });

/** The bytes of instructions; `labels` are of the blocks around them, the innermost last. */
function assembled(code: Code, labels: readonly string[]): number[] {
  const bytes: number[] = [];
  const add = (more: readonly number[]): void => {
    for (const byte of more) bytes.push(byte);
  };
  for (const part of code) {
    if (typeof part === 'number') bytes.push(part);
    else if (isCode(part)) add(assembled(part, labels));
    else if ('to' in part) {
      const depth = labels.length - 1 - labels.lastIndexOf(part.to);
      if (depth === labels.length) throw new Error(`no block is called ${part.to}`);
      add([part.opcode, ...unsigned(depth)]);
    } else {
      add([part.opcode, 0x40]);
      add(assembled(part.body, [...labels, part.label]));
      bytes.push(0x0b);
    }
  }
  return bytes;
}

const isCode = (part: Code | Block | Jump): part is Code => Array.isArray(part);

const vector = (parts: readonly (readonly number[])[]): number[] => [
  ...unsigned(parts.length),
  ...parts.flat(),
];
const sized = (bytes: readonly number[]): number[] => [...unsigned(bytes.length), ...bytes];
const section = (id: number, bytes: readonly number[]): number[] => [id, ...sized(bytes)];
const text = (value: string): number[] => sized([...Buffer.from(value)]);

const typeOf = ({ parameters, hasResult }: WasmFunction): number[] => [
  0x60,
  ...vector(Array.from({ length: parameters }, () => [I32])),
  ...vector(hasResult ? [[I32]] : []),
];

const bodyOf = ({ locals, code }: WasmFunction): number[] =>
  sized([
    ...vector(locals.map(([count, type]) => [...unsigned(count), type])),
    ...assembled(code, []),
    0x0b,
  ]);

/** A module of functions and a memory of so many pages of 64 kB, which stays as large. */
function moduleBytes(pages: number, functions: readonly WasmFunction[]): Uint8Array<ArrayBuffer> {
  const header = [0x00, 0x61, 0x73, 0x6d, 1, 0, 0, 0];
  return Uint8Array.from([
    ...header,
    ...section(1, vector(functions.map(typeOf))),
    ...section(3, vector(functions.map((_function, i) => [i]))),
    ...section(5, vector([[1, ...unsigned(pages), ...unsigned(pages)]])),
    ...section(
      7,
      vector([
        [...text('memory'), 2, 0],
        ...functions.map(({ name }, i) => [...text(name), 0, ...unsigned(i)]),
      ]),
    ),
    ...section(10, vector(functions.map(bodyOf))),
  ]);
}

/** What is used of the global that the types of Node.js do not describe. */
declare const WebAssembly: {
  readonly Module: new (bytes: Uint8Array<ArrayBuffer>) => object;
  readonly Instance: new (module: object) => {
    readonly exports: Readonly<Record<string, unknown>>;
  };
};

/** Makes a module and starts it: its memory and its functions. */
export function wasmInstance(
  pages: number,
  functions: readonly WasmFunction[],
): {
  readonly buffer: ArrayBuffer;
  readonly functions: Readonly<Record<string, (...parameters: number[]) => number>>;
} {
  const { exports } = new WebAssembly.Instance(
    new WebAssembly.Module(moduleBytes(pages, functions)),
  );
  const { buffer } = exports['memory'] as { readonly buffer: ArrayBuffer };
  return {
    buffer,
    functions: exports as Readonly<Record<string, (...parameters: number[]) => number>>,
  };
}
