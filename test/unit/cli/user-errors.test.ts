import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { exitCodeOf, withoutErrno } from '../../../src/cli/user-errors.ts';
import { ConfigurationError } from '../../../src/process/configuration-error.ts';
import { TimedOutError } from '../../../src/process/waiting.ts';
import { StoreError } from '../../../src/store/store.ts';

const thrown = (path: string): unknown => {
  try {
    return readFileSync(path);
  } catch (error) {
    return error;
  }
};
const refused = Object.assign(new Error('connect ENOENT /run/db.sock'), {
  code: 'ENOENT',
  syscall: 'connect',
  path: '/run/db.sock',
});

test.each([
  ['a setting', new ConfigurationError('--mtu', 'is no number'), 64],
  ['a path that is not there', thrown('/nowhere/file'), 64],
  ['a file that is a folder', thrown('/'), 64],
  [
    'a kubeconfig that is not there',
    new StoreError('unavailable', 'x', { cause: thrown('/nowhere/file') }),
    64,
  ],
  ['a kubeconfig that is none', new StoreError('invalid', 'x'), 65],
  ['an API server that is away', new StoreError('unavailable', 'x'), 69],
  ['a socket that is not there yet', refused, 69],
  ['a wait that ended', new TimedOutError('x'), 69],
  ['a fault of ours', new TypeError('x is not a function'), undefined],
])('the exit code of %s', (_what, error, code) => {
  expect(exitCodeOf(error)).toBe(code);
});

test.each([
  ["ENOENT: no such file or directory, open '/a b'", 'open /a b: no such file or directory'],
  [
    "kubeconfig /x: Error: ENOENT: no such file or directory, open '/x'",
    'kubeconfig /x: open /x: no such file or directory',
  ],
  ['EISDIR: illegal operation on a directory, read', 'read: illegal operation on a directory'],
  [
    'waiting (last error: disconnected: connect ENOENT /db.sock)',
    'waiting (last error: disconnected: connect /db.sock: no such file or directory)',
  ],
  ['connect ECONNREFUSED 10.0.0.1:6641', 'connect 10.0.0.1:6641: nobody listens there'],
  ['getaddrinfo ENOTFOUND api.example', 'getaddrinfo api.example: no such host'],
  ['Pod blue/EACH: nothing of that', 'Pod blue/EACH: nothing of that'],
])('%s in plain words', (text, plain) => {
  expect(withoutErrno(text)).toBe(plain);
});
