export type AllocationErrorCode =
  | 'exhausted' //      nothing free: ask again when something was released
  | 'taken' //          the wanted value belongs to another owner
  | 'conflict' //       the owner already holds a different value
  | 'out-of-range' //   the value lies outside of what is handed out here
  | 'invalid-range'; // the range itself can't hold what it should

/** Why an allocator refused; `message` names owner, value and range. */
export class AllocationError extends Error {
  readonly code: AllocationErrorCode;

  constructor(code: AllocationErrorCode, message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = 'AllocationError';
    this.code = code;
  }
}

export const isExhausted = (error: unknown): error is AllocationError =>
  error instanceof AllocationError && error.code === 'exhausted';
