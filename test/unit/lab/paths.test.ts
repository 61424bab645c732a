import { describe, expect, test } from 'vitest';
import { environmentArguments } from '../../../src/lab/exec.ts';
import {
  cacheFolder,
  labName,
  LONGEST_NAME,
  nodeCount,
  nodeSockets,
  stateFolder,
} from '../../../src/lab/paths.ts';
import { isAlive, identify } from '../../../src/lab/processes.ts';
import { shellQuoted } from '../../../src/process/shell-quoted.ts';

describe('places of a lab', () => {
  test('sockets are at paths that a unix socket can have, even in the lab with the longest name', () => {
    const folder = stateFolder('a'.repeat(LONGEST_NAME));
    const { ovs } = nodeSockets(folder, 'n89');
    expect(`${ovs.slice(0, -'db.sock'.length)}ovs-vswitchd.4194304.ctl`.length).toBeLessThanOrEqual(
      107,
    );
  });

  test.each(['', '-a', 'a-', 'A', 'a/b', '..', 'a b', 'a'.repeat(LONGEST_NAME + 1)])(
    'a lab is never named %j',
    (name) => {
      expect(() => labName(name)).toThrow(/can't be named/);
    },
  );

  test.each(['0', '90', '1.5', 'x', ''])('a lab never has %j nodes', (text) => {
    expect(() => nodeCount(text)).toThrow(/from 1 to 89/);
  });

  test('the cache is where the environment says, in this order', () => {
    expect(cacheFolder({ HEDDLE_CACHE: '/c', XDG_CACHE_HOME: '/x' })).toBe('/c');
    expect(cacheFolder({ HEDDLE_CACHE: '', XDG_CACHE_HOME: '/x' })).toBe('/x/heddle');
    expect(cacheFolder({})).toMatch(/\/\.cache\/heddle$/);
  });

  test('a command inside has a clean environment: the terminal, and what is meant for heddle', () => {
    const args = environmentArguments(
      ['ovn-nbctl', 'show'],
      { node: 'n1', folder: '/srv' },
      {
        TERM: 'xterm',
        HEDDLE_LOG_LEVEL: 'debug',
        AWS_SECRET: 'x',
      },
    );
    expect(args.slice(0, 4)).toEqual(['env', '-i', '-C', '/srv']);
    expect(args).toContain('TERM=xterm');
    expect(args).toContain('HEDDLE_LOG_LEVEL=debug');
    expect(args.join(' ')).not.toContain('AWS_SECRET');
    expect(args.slice(-4)).toEqual(['on', 'n1', 'ovn-nbctl', 'show']);
  });

  test('a shell reads a quoted word as it is, quotes and all', () => {
    expect(shellQuoted("it's $HOME")).toBe(String.raw`'it'\''s $HOME'`);
  });

  test('a process is not the later one with its number', () => {
    const self = identify(process.pid);
    if (self === undefined) throw new Error('no identity of our own');
    expect(isAlive(self)).toBe(true);
    expect(isAlive({ ...self, started: '1' })).toBe(false);
    expect(isAlive({ ...self, boot: 'an earlier one' })).toBe(false);
  });
});
