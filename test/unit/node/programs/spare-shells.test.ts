import { execFileSync } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { setTimeout as pause } from 'node:timers/promises';
import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { Program } from '../../../../src/node/programs/program.ts';
import { SpareShells } from '../../../../src/node/programs/spare-shells.ts';
import { until } from '../../../support/run/until.ts';

const environment = (): NodeJS.ProcessEnv => ({ PATH: process.env['PATH'] });

async function outputOf(
  shells: SpareShells,
  words: readonly string[],
  input = '',
): Promise<string> {
  const child = shells.start(words);
  child.stdin.end(input);
  const [said] = await Promise.all([text(child.stdout), once(child, 'close')]);
  return said;
}

test('a program gets its words and its input as they are, from a new shell and from one that waited', async () => {
  const shells = new SpareShells(environment);
  await fc.assert(
    fc.asyncProperty(
      fc.array(fc.string({ unit: 'binary' }).map((word) => word.replaceAll(/[\n\0]/g, ''))),
      fc.string(),
      fc.boolean(),
      async (words, input, hasWaited) => {
        if (hasWaited) await pause(20);
        const program = ['sh', '-c', String.raw`printf '%s\0' "$@"; cat`, 'sh'];
        const said = await outputOf(shells, [...program, ...words], input);
        expect(said).toBe(
          `${words.length === 0 ? '\0' : words.map((w) => `${w}\0`).join('')}${input}`,
        );
      },
    ),
    { numRuns: 60 },
  );
});

test.each(['link\nreboot', 'link\0'])('a word that no command line can hold is refused', (word) => {
  const shells = new SpareShells(environment);
  expect(() => shells.start(['ip', word])).toThrow('an argument of ip has an end of line or a NUL');
});

test('a program that is missing is named, with what to install', async () => {
  const program = new Program(['no-such-program'], {}, 'such-programs', Error);
  await expect(program.run([])).rejects.toThrow(
    "no-such-program can't be run: not found; install such-programs",
  );
  // One that says so itself was run.
  const own = new Program(['sh', '-c', 'no-such-program'], {}, 'sh', Error);
  expect(await own.run([])).toMatchObject({ code: 127 });
});

test('shells that wait keep no process from ending, and end with it', async () => {
  const module = join(import.meta.dirname, '../../../../src/node/programs/spare-shells.ts');
  const script = `
    import { readFileSync } from 'node:fs';
    import { SpareShells } from ${JSON.stringify(module)};
    const shells = new SpareShells(() => process.env);
    shells.start(['true']).stdin.end();
    const children = () =>
      readFileSync('/proc/self/task/' + process.pid + '/children', 'utf8').trim();
    while (children().split(' ').length < 3) await new Promise((resolve) => setTimeout(resolve, 5));
    console.log(children());`;
  const said = execFileSync(process.execPath, ['--input-type=module', '-e', script], {
    encoding: 'utf8',
    timeout: 20_000,
  });
  const waited = said.trim().split(' ');
  expect(waited.length).toBeGreaterThan(2);
  await until('the end of all of them', () => !waited.some((pid) => existsSync(`/proc/${pid}`)));
});
