import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { exitCodeOf } from '../../../src/cli/user-errors.ts';
import { ControlError } from '../../../src/control/control-client.ts';
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
  ['a pod that the daemon knows not', new ControlError('x', { isOfRequest: true }), 64],
  ['what the daemon could not do', new ControlError('x'), 69],
  ['a wait that ended', new TimedOutError('x'), 69],
  ['a fault of ours', new TypeError('x is not a function'), undefined],
])('the exit code of %s', (_what, error, code) => {
  expect(exitCodeOf(error)).toBe(code);
});
