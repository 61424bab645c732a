/** `heddle check`: whether the network below a node is as clean as the node can tell. */
import type { Command } from 'commander';
import type { Configuration } from '../settings/configuration.ts';
import type { TunnelEndReport, UnderlayReport } from '../node/chassis/underlay-report.ts';
import { askOrLook } from './ask.ts';
import { addSettings, configurationOf } from './options.ts';
import { EXIT, print, printJson, printLines, table, tone } from './output.ts';
import { underlayOf } from '../zone/zone-questions.ts';

export function register(program: Command): void {
  addSettings(
    program
      .command('check')
      .description(
        'whether the network below --node is clean: who sends to the port of tunnels, where tunnels end, and which nodes have one; changes nothing',
      )
      .option('--json', 'as JSON')
      .addHelpText(
        'after',
        '\nAsks the daemon of the node; without one it needs --ovs, --node and --nb.\nWhether packets arrive at another node, and who sends with the address of one, no node can tell.\nExit code: 0 nothing is wrong, 1 something is.',
      ),
    ['where', 'control', 'tls', 'cluster', 'behaviour'],
  ).action(async (_options: unknown, command: Command) => {
    await check(configurationOf(command), command.opts<{ json?: boolean }>().json === true);
  });
}

async function check(configuration: Configuration, isJson: boolean): Promise<void> {
  const report = await askOrLook<UnderlayReport>(
    configuration,
    'underlay',
    ['node', 'tunnels', 'ends', 'peers', 'problems', 'notes'],
    underlayOf,
  );
  if (isJson) printJson(report);
  else printUnderlay(report);
  process.exitCode = report.problems.length > 0 ? EXIT.problems : EXIT.success;
}

function sourcesText({ tunnels }: UnderlayReport): string {
  const { sources, isHeld } = tunnels;
  if (sources === 'any') return tone('for everybody (--tunnel-sources)', 'warning');
  const who = sources.length === 0 ? 'nodes' : `nodes, and ${sources.join(' ')}`;
  return isHeld ? tone(`for ${who} alone`, 'good') : tone(`not held for ${who}`, 'bad');
}

const mtuText = ({ mtu, neededMtu }: TunnelEndReport): string =>
  mtu === undefined ? '-' : tone(`${mtu} (needs ${neededMtu})`, mtu < neededMtu ? 'bad' : 'good');

function printUnderlay(report: UnderlayReport): void {
  const { node, tunnels, ends, peers, problems, notes } = report;
  print(`Node ${node}`);
  print(`  port of tunnels    UDP ${tunnels.port}, ${sourcesText(report)}`);
  const seen = tunnels.seen.map(({ at, packets }) => `${packets ?? 'not known'} at ${at}`);
  print(
    `  from strangers     ${tone(`${tunnels.strangers} packets`, tunnels.strangers > 0 ? 'bad' : 'good')} (${seen.join(', ')})`,
  );
  print('');
  printLines(
    table(
      ['TUNNELS END AT', 'DEVICE', 'MTU', 'SHARED WITH'],
      ends.map((end) => [
        end.address,
        end.device ?? tone('none', 'bad'),
        mtuText(end),
        end.sharedWith.join(' ') || '-',
      ]),
    ),
  );
  print('');
  printLines(
    table(
      ['PEER', 'ADDRESSES', 'TUNNEL'],
      peers.map((peer) => [
        peer.node,
        peer.addresses.join(' '),
        peer.problem === undefined ? tone('up', 'good') : tone('none', 'bad'),
      ]),
    ),
  );
  if (problems.length > 0) printLines(`\n${tone('Problems', 'bad')}`);
  for (const problem of problems) print(`  ${problem}`);
  if (notes.length > 0) printLines('\nNotes');
  for (const note of notes) print(`  ${note}`);
}
