import type { ColumnCodec } from '../storage/column-codec.ts';

/** A column as the reader needs it: found by the bytes of its name. */
export interface NamedColumn {
  readonly name: Buffer;
  readonly position: number;
  readonly codec: ColumnCodec;
  /** The column that came behind this one the last time: most likely it does again. */
  follower: NamedColumn | undefined;
}

/** Finds names by their bytes without making strings of them. */
export class NameTable {
  /** The column that a row began with the last time. */
  first: NamedColumn | undefined;
  readonly #byHash = new Map<number, NamedColumn[]>();

  constructor(columns: Iterable<NamedColumn>) {
    for (const column of columns) {
      const hash = hashName(column.name, 0, column.name.length);
      this.#byHash.set(hash, [...(this.#byHash.get(hash) ?? []), column]);
    }
  }

  find(text: Buffer, start: number, end: number): NamedColumn | undefined {
    const candidates = this.#byHash.get(hashName(text, start, end));
    if (candidates === undefined) return undefined;
    for (const candidate of candidates) {
      const { name } = candidate;
      if (name.length !== end - start) continue;
      let i = 0;
      while (i < name.length && name[i] === text[start + i]) i++;
      if (i === name.length) return candidate;
    }
    return undefined;
  }
}

function hashName(text: Buffer, start: number, end: number): number {
  let hash = end - start;
  for (let i = start; i < end; i++) hash = (Math.imul(hash, 31) + (text[i] as number)) | 0;
  return hash;
}
