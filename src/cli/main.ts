#!/usr/bin/env node
/** Starts the `heddle` command; daemons with what keeps them small, which V8 is told at the start of a process alone: they begin anew, as the same process. */

const DAEMONS: readonly unknown[] = ['cluster', 'node'];

/**
 * For daemons, which rest most of the time. Megabytes of the young generation's half: V8 lets it grow to 16 for the sake of throughput and
 * rarely gives it back. And the rest of the heap is given back, too, although something is looked at every few seconds.
 */
const SMALL = ['--max-semi-space-size=2', '--optimize-for-size'];

const { execArgv, execPath, env, argv } = process;
const isGiven = `${execArgv.join(' ')} ${env['NODE_OPTIONS'] ?? ''}`.includes(
  '--max-semi-space-size',
);
// Goes on where a process can't begin anew.
if (DAEMONS.includes(argv[2]) && !isGiven)
  process.execve?.(execPath, [execPath, ...SMALL, ...execArgv, ...argv.slice(1)], env);

const { main } = await import('./program.ts');
await main();
