import { constants } from 'node:os';
import { expect, test } from 'vitest';
import { uninterrupted } from '../../../src/netlink/socket/libc.ts';

const { EINTR, ENOBUFS } = constants.errno;

/** What becomes of a call that ends so, one time after the other: with an error of this number, or with the length 8. */
function calls(...ends: readonly (number | undefined)[]): { result: number; times: number } {
  let times = 0;
  let errno = 0;
  const result = uninterrupted(
    () => {
      const error = ends[times++];
      if (error === undefined) return 8;
      errno = error;
      return -1;
    },
    () => errno,
  );
  return { result, times };
}

test('a call that a signal interrupts is made again; another error is its number', () => {
  expect(calls(undefined)).toEqual({ result: 8, times: 1 });
  expect(calls(EINTR, EINTR, undefined)).toEqual({ result: 8, times: 3 });
  expect(calls(EINTR, ENOBUFS, undefined)).toEqual({ result: -ENOBUFS, times: 2 });
});
