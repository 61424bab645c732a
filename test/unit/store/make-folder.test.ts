import { rmSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { makeFolder } from '../../../src/store/make-folder.ts';
import { ownFolder } from '../../support/run/left-behind.ts';

test('a folder is made with those above it, and is there already the second time', () => {
  const root = ownFolder('heddle-make-folder');
  try {
    const folder = join(root, 'a/b/c');
    makeFolder(folder);
    makeFolder(folder);
    expect(statSync(folder).isDirectory()).toBe(true);
  } finally {
    rmSync(root, { recursive: true });
  }
});

test('where none can be made there is an error, and an end', () => {
  expect(() => makeFolder('/proc/x/y')).toThrow("no such file or directory, mkdir '/proc/x'");
  expect(() => makeFolder('/dev/null/x')).toThrow('/dev/null');
});
