import { Command, Option } from 'commander';
import { describe, expect, test } from 'vitest';
import { completionLines, completionsOf } from '../../../src/cli/completion.ts';

function program(): Command {
  const heddle = new Command('heddle');
  heddle
    .command('graph')
    .description('the logical topology')
    .option('--node <NAME>', 'node')
    .option('--manifests <DIR>', 'directory')
    .option('--json', 'as JSON')
    .addOption(new Option('--format <FORMAT>', 'what it is written as').choices(['svg', 'dot']))
    .addOption(new Option('--inner', 'for ourselves').hideHelp())
    .argument('[network]', 'one network');
  heddle.command('validate').description('check\n  manifests').argument('[files...]', 'files');
  heddle.command('secret', { hidden: true });
  heddle.command('lab').command('up').option('--nodes <N>', 'how many');
  return heddle;
}

const words = (...typed: readonly string[]): readonly string[] =>
  completionsOf(program(), typed).candidates.map(([word]) => word);

describe('a shell is told', () => {
  test('the commands, but the hidden ones', () => {
    expect(words('')).toEqual(['graph', 'validate', 'lab', 'help']);
  });

  test('commands of a command', () => {
    expect(words('lab', '')).toContain('up');
  });

  test('the flags of the command, whatever stands before', () => {
    const flags = ['--node', '--manifests', '--json', '--format', '--help'];
    expect(words('graph', '--')).toEqual(flags);
    expect(words('graph', '--node', 'lab', 'blue', '--j')).toEqual(flags);
  });

  test('the values of a flag, behind it and after =', () => {
    expect(words('graph', '--format', '')).toEqual(['svg', 'dot']);
    expect(words('graph', '--format=s')).toEqual(['--format=svg', '--format=dot']);
  });

  test.each([
    { typed: ['graph', '--manifests', ''], isFile: true },
    { typed: ['graph', '--manifests=ex'], isFile: true },
    { typed: ['validate', 'a.yaml', ''], isFile: true },
    { typed: ['graph', '--node', ''], isFile: false },
    { typed: ['graph', ''], isFile: false },
    { typed: ['graph', '--nothing=x'], isFile: false },
  ])('whether paths may stand there: $typed, $isFile', ({ typed, isFile }) => {
    expect(completionsOf(program(), typed)).toEqual({ candidates: [], isFile });
  });

  test('in lines, only what begins with what was typed, and whether the shell may try paths', () => {
    expect(completionLines(program(), ['va'])).toBe('validate\tcheck manifests\n:4');
    expect(completionLines(program(), ['validate', ''])).toBe(':0');
  });
});
