#!/usr/bin/env node
/**
 * Starts the `heddle` command; daemons with what keeps them small. What is only known at the start of a process (the size of V8's young
 * generation, where compiled modules are kept) is given to it by beginning anew, as the same process.
 */
import { join } from 'node:path';

const DAEMONS: readonly unknown[] = ['cluster', 'node'];

/**
 * Megabytes of the young generation's half. V8 lets it grow to 16 for the sake of throughput and rarely gives it back; a daemon rests most of
 * the time.
 */
const SEMI_SPACE = '--max-semi-space-size=2';

/** Beside the modules that they are made from, and as trustworthy as those: without them every start loads a compiler for types (25 MB). */
const COMPILED = join(import.meta.dirname, '../../node_modules/.cache/heddle');

const { execArgv, execPath, env, argv } = process;
const isGiven = `${execArgv.join(' ')} ${env['NODE_OPTIONS'] ?? ''}`.includes(
  '--max-semi-space-size',
);
if (DAEMONS.includes(argv[2]) && !isGiven && process.execve !== undefined)
  process.execve(execPath, [execPath, SEMI_SPACE, ...execArgv, ...argv.slice(1)], {
    ...env,
    NODE_COMPILE_CACHE: env['NODE_COMPILE_CACHE'] ?? COMPILED,
  });

await import('./program.ts');
