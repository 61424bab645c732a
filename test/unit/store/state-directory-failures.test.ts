import { expect, test } from 'vitest';
import { writeFailure } from '../../../src/store/manifests/state-directory.ts';

const failed = (code: string, text: string): Error =>
  Object.assign(new Error(`${code}: ${text}, open '/s/unfinished/3f0c'`), { code });

test.each([
  ['EROFS', 'read-only file system', 'its file system is read-only'],
  ['ENOSPC', 'no space left on device', 'its file system is full'],
  ['ENOENT', 'no such file or directory', 'it is not there, or its file system is not mounted'],
  ['EACCES', 'permission denied', 'permission denied'],
])(
  '%s of a state directory names the fault, not the file that was to be written',
  (code, text, why) => {
    expect(writeFailure(failed(code, text))).toBe(
      `can't be written: ${why}; what is programmed goes on, and ids, addresses, statuses and heartbeats are written as soon as it can be`,
    );
  },
);

test('another fault says which file, and no name of an error number', () => {
  expect(writeFailure(failed('EMFILE', 'too many open files'))).toBe(
    'open /s/unfinished/3f0c: too many open files',
  );
  expect(writeFailure(new Error('the lock was lost'))).toBe('the lock was lost');
});
