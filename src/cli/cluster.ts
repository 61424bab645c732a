/** `heddle cluster`: the cluster manager. */
import type { Command } from 'commander';
import { runCluster } from '../cluster-daemon/cluster-daemon.ts';
import { createLogger } from '../process/logger.ts';
import { addSettings, configurationOf, stopSignal } from './options.ts';

export function register(program: Command): void {
  addSettings(
    program
      .command('cluster')
      .description(
        'the cluster manager: validates networks, hands out ids and subnets, reports conditions',
      )
      .addHelpText(
        'after',
        '\nSeveral may run; one leads, by a lease. Logs JSON lines to standard error; ends at SIGTERM or SIGINT. A leader that loses its lease writes nothing more, and competes for it anew.',
      ),
    ['where', 'cluster', 'behaviour'],
  ).action(async (_options: unknown, command: Command) => {
    const configuration = configurationOf(command);
    await runCluster(configuration, createLogger(configuration.logLevel), stopSignal());
  });
}
