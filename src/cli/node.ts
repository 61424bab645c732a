/** `heddle node`: the daemon of one node. */
import type { Command } from 'commander';
import { createLogger } from '../process/logger.ts';
import { runZone } from '../zone/zone-daemon.ts';
import { addSettings, configurationOf, needed, stopSignal } from './options.ts';

export function register(program: Command): void {
  addSettings(
    program
      .command('node')
      .description('stay, and keep the zone of --node as the manifests say')
      .addHelpText(
        'after',
        '\nLogs JSON lines to standard error. Ends at SIGTERM or SIGINT and leaves the networks as they are.',
      ),
    ['where', 'control', 'tls', 'cluster', 'behaviour'],
  ).action(async (_options: unknown, command: Command) => {
    const configuration = needed(configurationOf(command), 'node', 'nb');
    await runZone(configuration, createLogger(configuration.logLevel), stopSignal());
  });
}
