import { describe, expect, test } from 'vitest';
import { batchLine, failures, IpProgram } from '../../../../src/node/programs/ip-program.ts';
import { temporaryFolder } from '../../../support/ovsdb/ovsdb-server.ts';

describe('commands of a batch', () => {
  test('are words, and marks in quotes', () => {
    expect(
      batchLine(['link', 'set', 'dev', 'v', 'alias', 'heddle UserDefinedNetwork blue/net']),
    ).toBe('link set dev v alias "heddle UserDefinedNetwork blue/net"');
  });

  test.each(['a\nlink delete eth0', 'a"', "a'b", 'a # b', 'a\\', ''])('%j is no word', (word) => {
    expect(() => batchLine(['link', 'show', 'dev', word])).toThrow(/can't be a word/);
  });

  test('that failed are known by their lines, with the words of the kernel', () => {
    const stderr = [
      'RTNETLINK answers: File exists',
      'Command failed -:2',
      'Error: Nexthop has invalid gateway.',
      'Command failed -:4',
      '',
    ].join('\n');
    expect([...failures(stderr)]).toEqual([
      [1, 'File exists'],
      [3, 'Nexthop has invalid gateway.'],
    ]);
  });
});

/** A program in place of `ip`. */
const script = (text: string, timeout?: number): IpProgram =>
  new IpProgram({
    program: ['sh', '-c', text, 'ip'],
    ...(timeout === undefined ? {} : { timeout }),
  });

describe('what ip answers', () => {
  test('a command that can not be written harms itself alone', async () => {
    const ip = script(
      'read -r line; [ "$line" = "route add a" ] && echo "Error: no." >&2 && echo "Command failed -:1" >&2; exit 1',
    );
    expect(
      await ip.change('inet', [
        ['link', 'set', 'dev', 'a b\nlink delete lo'],
        ['route', 'add', 'a'],
      ]),
    ).toEqual([expect.stringContaining("can't be a word of an ip command"), 'no.']);
  });

  test('is read again when a dump was interrupted', async () => {
    using folder = temporaryFolder();
    const ip = script(
      `read -r line; cd ${folder.path}; if [ -e asked ]; then echo "[{}]"; else : > asked; echo "[]"; echo "Dump was interrupted and may be inconsistent." >&2; fi`,
    );
    expect(await ip.read('inet', [['rule', 'show']])).toEqual([[{}]]);
  });

  test('is an error when it stays inconsistent, or is not what was asked', async () => {
    await expect(
      script('cat > /dev/null; echo "[]"; echo "Dump was interrupted" >&2').read('inet', [
        ['rule', 'show'],
      ]),
    ).rejects.toThrow(/changed while it was read/);
    await expect(
      script('cat > /dev/null; echo "[]"; echo "[]"').read('inet', [['rule', 'show']]),
    ).rejects.toThrow(/1 dumps of ip gave 2 answers/);
    await expect(
      script('cat > /dev/null; echo oh >&2; exit 2').change('inet', [['rule', 'flush']]),
    ).rejects.toThrow('ip -batch ended with 2: oh');
  });

  test('is waited for with a limit', async () => {
    await expect(script('exec sleep 60', 50).read('inet', [['rule', 'show']])).rejects.toThrow(
      /did not end within/,
    );
  });

  test('a program that is not there, or is too old, is an error with a remedy', async () => {
    await expect(new IpProgram({ program: ['/nowhere/ip'] }).check()).rejects.toThrow(
      /install iproute2/,
    );
    await expect(script('echo "Usage: ip address" >&2').check()).rejects.toThrow(
      /install iproute2 6.3 or newer/,
    );
  });
});
