/** A string that is kept elsewhere than in the message. */
export interface TextElsewhere {
  /** Throws what is wrong with the string. */
  check(): void;
  /** Its UTF-8, and the number of its bytes. */
  readonly bytes: Buffer;
  readonly length: number;
  /** `textHash` of the bytes. */
  readonly hash: number;
  readonly text: string;
}

/** Strings that are kept elsewhere, by what stands for them in the message: `ELSEWHERE` and a number, between quotation marks. */
export interface TextsElsewhere {
  readonly isEmpty: boolean;
  find(number: number): TextElsewhere | undefined;
}

/** No string of JSON begins so. */
export const ELSEWHERE = 0x01;
