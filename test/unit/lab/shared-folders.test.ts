import { mkdirSync, mkdtempSync, realpathSync, rmSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { sharedFolders } from '../../../src/lab/shared-folders.ts';

describe('folders that a lab shares with this machine', () => {
  let folder: string;
  let checkout: string;

  beforeEach(() => {
    folder = realpathSync(mkdtempSync(join(tmpdir(), 'heddle-shared-')));
    checkout = join(folder, 'checkout');
    mkdirSync(checkout);
  });
  afterEach(() => rmSync(folder, { recursive: true }));

  const make = (...path: string[]): string => {
    const made = join(folder, ...path);
    mkdirSync(made, { recursive: true });
    return made;
  };

  test('the checkout alone, with its packages in it', () => {
    make('checkout', 'node_modules', 'pino');
    expect(sharedFolders(checkout)).toEqual([checkout]);
  });

  test('without packages the checkout alone', () => {
    expect(sharedFolders(checkout)).toEqual([checkout]);
  });

  test('the folder that node_modules is a link to', () => {
    const elsewhere = make('other', 'node_modules');
    symlinkSync(elsewhere, join(checkout, 'node_modules'));
    expect(sharedFolders(checkout)).toEqual([checkout, elsewhere]);
  });

  test('the folder of packages that single ones are links to, scopes of packages too, once', () => {
    const elsewhere = make('other', 'node_modules');
    make('checkout', 'node_modules');
    for (const name of ['pino', '@grpc'])
      symlinkSync(make('other', 'node_modules', name), join(checkout, 'node_modules', name));
    expect(sharedFolders(checkout)).toEqual([checkout, elsewhere]);
  });

  test('a workspace package, which is a link into the checkout, and a link to nothing add nothing', () => {
    make('checkout', 'node_modules');
    symlinkSync(make('checkout', 'src', 'ovsdb'), join(checkout, 'node_modules', 'ovsdb'));
    symlinkSync(join(folder, 'gone'), join(checkout, 'node_modules', 'gone'));
    expect(sharedFolders(checkout)).toEqual([checkout]);
  });
});
