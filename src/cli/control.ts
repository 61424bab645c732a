/** `heddle control`: carries standard input and output to the control socket of the daemon of `--node`, for `kubectl heddle` on another machine. */
import { once } from 'node:events';
import { connect } from 'node:net';
import type { Command } from 'commander';
import { addSettings, configurationOf, needed } from './options.ts';

export function register(program: Command): void {
  addSettings(
    program
      .command('control', { hidden: true })
      .description("carry standard input and output to the daemon's control socket"),
    ['where', 'control'],
  ).action(async (_options: unknown, command: Command) => {
    const { socket = '' } = needed(configurationOf(command), 'node');
    const daemon = connect(socket);
    await once(daemon, 'connect');
    process.stdin.pipe(daemon);
    daemon.pipe(process.stdout);
    await once(daemon, 'close');
    process.exit();
  });
}
