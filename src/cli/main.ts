#!/usr/bin/env node
/**
 * Starts the `heddle` command; daemons with what keeps them small. What is only known at the start of a process (the size of V8's young
 * generation, where compiled modules are kept) is given to it by beginning anew, as the same process.
 */
import { statSync } from 'node:fs';
import { flushCompileCache, getCompileCacheDir } from 'node:module';
import { join } from 'node:path';

const DAEMONS: readonly unknown[] = ['cluster', 'node'];

/**
 * For daemons, which rest most of the time. Megabytes of the young generation's half: V8 lets it grow to 16 for the sake of throughput and
 * rarely gives it back. And the rest of the heap is given back, too, although something is looked at every few seconds.
 */
const SMALL = ['--max-semi-space-size=2', '--optimize-for-size'];

/** Beside the modules that they are made from, and as trustworthy as those: without them every start loads a compiler for types (25 MB). */
const COMPILED = join(import.meta.dirname, '../../node_modules/.cache/heddle');

/** Set in a process whose modules were compiled for it. */
const IS_COMPILED = 'HEDDLE_IS_COMPILED';

const { execArgv, execPath, env, argv } = process;

/** Begins anew with these environment variables besides; goes on where that can't be done. */
const beginAnew = (options: readonly string[], more: Readonly<Record<string, string>>): void =>
  process.execve?.(execPath, [execPath, ...options, ...execArgv, ...argv.slice(1)], {
    ...env,
    ...more,
  });

/** When a compiled module was last written. */
function writtenAt(): number {
  const folder = getCompileCacheDir();
  return folder === undefined ? 0 : (statSync(folder, { throwIfNoEntry: false })?.mtimeMs ?? 0);
}

const isDaemon = DAEMONS.includes(argv[2]);
const isGiven = `${execArgv.join(' ')} ${env['NODE_OPTIONS'] ?? ''}`.includes(
  '--max-semi-space-size',
);
if (isDaemon && !isGiven)
  beginAnew(SMALL, { NODE_COMPILE_CACHE: env['NODE_COMPILE_CACHE'] ?? COMPILED });

const before = writtenAt();
const { load, main } = await import('./program.ts');
const commands = await load();
// A daemon that is killed one day would keep nothing for the next start.
flushCompileCache();
if (isDaemon && env[IS_COMPILED] === undefined && writtenAt() !== before) {
  const { loadLaterModules } = await import('../daemon/later-modules.ts');
  await loadLaterModules();
  flushCompileCache();
  // This one has the compiler in its memory.
  beginAnew([], { [IS_COMPILED]: '1' });
}
await main(commands);
