import type { Turn, Work } from '../turn.ts';

import { LongText, type TextForm } from './long-text.ts';
import type { TextsElsewhere } from './text-elsewhere.ts';

/** Long strings of a message that is not complete. */
export class LongTexts implements TextsElsewhere {
  /** By number, each with the place where it is stood for, in order. */
  readonly #texts = new Map<number, { readonly text: LongText; readonly place: number }>();
  #last = 0;
  /** The one whose end has not come. */
  #open: LongText | undefined;
  /** Those whose bytes have still to be put together. */
  #unfinished: LongText[] = [];

  get isEmpty(): boolean {
    return this.#texts.size === 0;
  }

  /** True while the end of one is awaited. */
  get isOpen(): boolean {
    return this.#open !== undefined;
  }

  find(number: number): LongText | undefined {
    return this.#texts.get(number)?.text;
  }

  /** Begins another one; returns its number. */
  open(place: number, form: TextForm): number {
    this.#open = new LongText(form);
    this.#texts.set(++this.#last, { text: this.#open, place });
    return this.#last;
  }

  /** Takes bytes of the one that is open; returns where it stopped, as `LongText.push`. */
  push(bytes: Buffer, from: number, end: number): number {
    const text = this.#open;
    const stopped = text?.push(bytes, from, end) ?? from;
    if (text?.isComplete === true) {
      this.#open = undefined;
      if (text.isUnfinished) this.#unfinished.push(text);
    }
    return stopped;
  }

  /** Puts the bytes of those together that are complete, in pieces; undefined when that is done. */
  finishing(turn: Turn): Work | undefined {
    if (this.#unfinished.length === 0) return undefined;
    const texts = this.#unfinished;
    this.#unfinished = [];
    return finishAll(texts, turn);
  }

  /** Forgets those that are stood for before this place. */
  forgetBefore(place: number): void {
    for (const [number, text] of this.#texts) {
      if (text.place >= place) return;
      this.#texts.delete(number);
    }
  }

  clear(): void {
    this.#texts.clear();
    this.#open = undefined;
    this.#unfinished = [];
  }
}

function* finishAll(texts: readonly LongText[], turn: Turn): Work {
  for (const text of texts) yield* text.finishing(turn);
}
