/** `heddle node`: the daemon of one node. */
import type { Command } from 'commander';
import { createLogger } from '../daemon/logger.ts';
import { runZone } from '../daemon/zone-daemon.ts';
import { addSettings, configurationOf, needed } from './options.ts';

export function register(program: Command): void {
  addSettings(
    program
      .command('node')
      .description('stay, and keep the zone of --node as the manifests say')
      .addHelpText(
        'after',
        '\nLogs JSON lines to standard error. Ends at SIGTERM or SIGINT and leaves the networks as they are.',
      ),
  ).action(async (_options: unknown, command: Command) => {
    const configuration = needed(configurationOf(command), 'manifests', 'state', 'node', 'nb');
    const stop = new AbortController();
    for (const name of ['SIGTERM', 'SIGINT'] as const) process.once(name, () => stop.abort());
    await runZone(configuration, createLogger(configuration.logLevel), stop.signal);
  });
}
