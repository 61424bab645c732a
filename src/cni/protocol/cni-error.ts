/** Errors as the CNI specification numbers them (spec 1.1.0, "Error"). Pure. */

export const CNI_CODE = {
  incompatibleVersion: 1,
  unsupportedField: 2,
  unknownContainer: 3,
  invalidEnvironment: 4,
  io: 5,
  undecodable: 6,
  invalidConfig: 7,
  tryAgainLater: 11,
  notAvailable: 50,
  /** The first of those that plugins may define. */
  failed: 100,
} as const;

export type CniCode = (typeof CNI_CODE)[keyof typeof CNI_CODE];

/** What a runtime is told instead of a result; the message names pod, variable or field. */
export class CniError extends Error {
  readonly code: CniCode;
  /** More than a line, for `details`. */
  readonly details: string | undefined;

  constructor(
    message: string,
    code: CniCode = CNI_CODE.failed,
    details?: string,
    options?: ErrorOptions,
  ) {
    super(message, options);
    this.name = 'CniError';
    this.code = code;
    this.details = details;
  }
}
