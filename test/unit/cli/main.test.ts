/** Who starts `heddle` with a Node.js that is too old reads that. */
import { spawnSync } from 'node:child_process';
import { describe, expect, test } from 'vitest';
import { program } from '../../../src/lab/paths.ts';
import packageFile from '../../../package.json' with { type: 'json' };

const oldest = Number.parseInt(packageFile.engines.node.replace('>=', ''), 10);

const run = (node: string, ...args: readonly string[]) =>
  spawnSync(node, args, { encoding: 'utf8' });

/** A distribution's Node.js. */
const older = ['/usr/bin/node', '/usr/local/bin/node'].find((node) => {
  const version = Number.parseInt(run(node, '-p', 'process.versions.node').stdout, 10);
  return version < oldest;
});

describe.skipIf(older === undefined)(
  `an older Node.js${older === undefined ? ` (there is none before ${oldest} in /usr/bin or /usr/local/bin)` : ''}`,
  () => {
    test.each([['--version'], ['status', '--manifests', '/'], ['no-such-command']])(
      'ends with a sentence and code 1 for heddle %s',
      (...args) => {
        const node = older ?? '';
        const version = run(node, '--version').stdout.trim();
        const { status, stdout, stderr } = run(node, program, ...args);
        expect(stderr).toBe(`heddle needs Node.js ${oldest} or newer; this is ${version}\n`);
        expect([status, stdout]).toEqual([1, '']);
      },
    );
  },
);

test('the Node.js of the tests gets past that', () => {
  const { status, stdout } = run(process.execPath, program, '--version');
  expect([status, stdout.trim()]).toEqual([0, packageFile.version]);
});
