import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { promisify } from 'node:util';
import { expect, test } from 'vitest';

const SOURCE = join(import.meta.dirname, '../../../../src');
const source = (path: string): string => JSON.stringify(pathToFileURL(join(SOURCE, path)).href);

/** Runs out of descriptors with a program under way, and tries everything that starts one; prints what became of it. */
const SCRIPT = `
import { closeSync, openSync } from 'node:fs';
import { setTimeout as pause } from 'node:timers/promises';
import { Program } from ${source('node/programs/program.ts')};
import { ProgramMonitor } from ${source('node/programs/program-monitor.ts')};
import { FileLock } from ${source('store/manifests/file-lock.ts')};

class Failed extends Error {}
const program = (...words) => new Program(words, {}, 'it', Failed);
const attempt = (promise) => promise.then(() => 'done', (error) => \`\${error.constructor.name}: \${error.message}\`);

const running = program('cat').run([], 'x');
const held = [];
try {
  for (;;) held.push(openSync('/dev/null'));
} catch (error) {
  if (error.code !== 'EMFILE') throw error;
}
const ends = [await attempt(program('true').run([]))];
await running;
await pause(50); // the time after which shells are made that wait
const monitor = new ProgramMonitor({ name: 'monitor', program: ['cat'], onLines() {}, onUnknown() {} });
ends.push(await attempt(monitor.start()));
monitor[Symbol.dispose]();
ends.push(await attempt(new FileLock('/dev/null').acquire(1)));
for (const one of held) closeSync(one);
ends.push(await attempt(program('true').run([])));
console.log(JSON.stringify(ends));
process.exit();
`;

test('without descriptors nothing is started, whoever wanted it is told, and everything goes on', async () => {
  const limited = ['-c', 'ulimit -n 64; exec "$@"', 'sh', process.execPath];
  const { stdout } = await promisify(execFile)('sh', [
    ...limited,
    '--input-type=module',
    '--eval',
    SCRIPT,
  ]);
  const why = "can't be started: too many open files (EMFILE or ENFILE)";
  expect(JSON.parse(stdout)).toEqual([
    `Failed: true can't be run: /bin/sh ${why}`,
    `Error: sh ${why}`,
    expect.stringMatching(/^StoreError: \/dev\/null: can't be locked: sh can't be started/),
    'done',
  ]);
}, 20_000);
