/** What went wrong with netlink, with what was asked. */
import { getSystemErrorMessage, getSystemErrorName } from 'node:util';

export class NetlinkError extends Error {
  /** As in errno.h: `EEXIST`; ours: `NETLINK_INTERRUPTED`, `NETLINK_NO_ANSWER`, `NETLINK_TOO_LONG`. */
  readonly code: string;
  /** What the kernel says beyond the number, where it does. */
  readonly reason: string | undefined;
  /** Why it was refused, in words: the message without what was asked. */
  readonly why: string;

  constructor(what: string, why: string, code: string, reason?: string) {
    super(`${what}: ${why}`);
    this.why = why;
    this.code = code;
    this.reason = reason;
  }
}

/** The error of a number of errno.h. `what` was asked. */
export function systemError(what: string, errno: number, reason?: string): NetlinkError {
  const code = getSystemErrorName(-errno);
  const text = getSystemErrorMessage(-errno) ?? `error ${errno}`;
  const why = reason === undefined ? text : `${reason} (${text})`;
  return new NetlinkError(what, why, code, reason);
}
