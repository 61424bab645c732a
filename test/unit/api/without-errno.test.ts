import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { reasonOfPath, withoutErrno } from '../../../src/api/without-errno.ts';

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

test.each([
  ['/nowhere', 'no such file or directory'],
  ['/', 'it is a directory, not a file'],
  ['/dev/null/x', 'not a directory'],
])('why %s can not be read, without its name', (path, why) => {
  let found: unknown;
  try {
    readFileSync(path);
  } catch (error) {
    found = error;
  }
  expect(reasonOfPath(found)).toBe(why);
  expect(reasonOfPath(new Error('as it is'))).toBe('as it is');
});
