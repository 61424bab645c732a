import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeEach, expect, test } from 'vitest';
import { conflist, CONFLIST_NAME } from '../../../../src/cni/install/shim.ts';
import { ShownConflist } from '../../../../src/cni/install/shown-conflist.ts';
import { ownFolder } from '../../../support/run/left-behind.ts';

let confDir: string;
let socket: string;
const file = (): string => join(confDir, CONFLIST_NAME);

beforeEach(() => {
  const folder = ownFolder('heddle-conflist');
  confDir = join(folder, 'net.d');
  socket = join(folder, 'cni.sock');
  mkdirSync(confDir);
});

test('is there once the daemon answers, and stays when it is started again', () => {
  const first = new ShownConflist(confDir, socket, 'boot 1');
  expect([first.isShown, existsSync(file())]).toEqual([false, false]);
  first.show();
  expect([first.isShown, readFileSync(file(), 'utf8')]).toEqual([true, conflist()]);
  const second = new ShownConflist(confDir, socket, 'boot 1');
  expect([second.isShown, existsSync(file())]).toEqual([false, true]);
});

test('of an earlier boot goes: nobody answers there', () => {
  new ShownConflist(confDir, socket, 'boot 1').show();
  const later = new ShownConflist(confDir, socket, 'boot 2');
  expect(existsSync(file())).toBe(false);
  later.show();
  expect(existsSync(file())).toBe(true);
});

test('of others stays, and one that somebody takes away is not put back', () => {
  const other = join(confDir, '99-other.conflist');
  writeFileSync(other, '{}');
  const shown = new ShownConflist(confDir, socket, 'boot 1');
  shown.show();
  rmSync(file());
  shown.show();
  expect([existsSync(file()), existsSync(other)]).toEqual([false, true]);
});

test('that can not be written is a problem, until it can', () => {
  const shown = new ShownConflist(confDir, socket, 'boot 1');
  rmSync(confDir, { recursive: true });
  writeFileSync(confDir, 'no folder');
  shown.show();
  expect([shown.isShown, shown.problem]).toEqual([
    false,
    expect.stringMatching(/^--cni-conf-dir: .*10-heddle\.conflist can't be written: /),
  ]);
  rmSync(confDir);
  shown.show();
  expect([shown.isShown, shown.problem]).toEqual([true, undefined]);
});
