/** `heddle show node`: what the host holds for each network. */
import type { Command } from 'commander';
import type { Configuration } from '../settings/configuration.ts';
import type { HostCounts, HostReport, HostUplink, NetworkOnHost } from '../node/report.ts';
import { askOrLook } from './ask.ts';
import { addSettings, configurationOf } from './options.ts';
import { EXIT, print, printJson, printLines, table, tone } from './output.ts';
import { hostOf } from '../zone/zone-questions.ts';

export function addShowNode(show: Command): void {
  addSettings(
    show
      .command('node')
      .description('what the host of --node holds for each network; changes nothing')
      .option('--json', 'as JSON, with the rules that lead into each table')
      .addHelpText(
        'after',
        '\nAsks the daemon of the node; without one it needs --ovs, --node and --nb.\nExit code: 0 all is as it should be, 1 something is wrong, 2 something differs.',
      ),
    ['where', 'control', 'tls', 'cluster', 'behaviour'],
  ).action(async (_options: unknown, command: Command) => {
    const { json } = command.optsWithGlobals<{ json?: boolean }>();
    await showNode(configurationOf(command), json === true);
  });
}

async function showNode(configuration: Configuration, isJson: boolean): Promise<void> {
  const report = await askOrLook<HostReport>(
    configuration,
    'host',
    ['node', 'networks', 'healthChecks', 'common'],
    hostOf,
  );
  if (isJson) printJson(report);
  else printHost(report);
  const parts = [report.common, ...report.networks];
  if (parts.some(({ problems }) => problems.length > 0)) process.exitCode = EXIT.problems;
  else if (parts.some(({ differs }) => differs > 0)) process.exitCode = EXIT.changes;
  else process.exitCode = EXIT.success;
}

const stateOf = ({ differs, problems }: Pick<NetworkOnHost, 'differs' | 'problems'>): string =>
  problems.length > 0
    ? tone('has problems', 'bad')
    : differs > 0
      ? tone(`out of sync (${differs})`, 'warning')
      : tone('in sync', 'good');

const countsOf = ({ routes, neighbours, settings, nftables, flows }: HostCounts): string[] =>
  [routes, neighbours, settings, nftables, flows].map(String);

function uplinkText(uplink: HostUplink | undefined): string {
  if (uplink === undefined) return 'the bridge names none';
  const { name, isConnected, isMoved } = uplink;
  const origin = isMoved ? ', whose addresses and routes Heddle moved to the bridge' : '';
  return `${name}${origin}${isConnected ? '' : `: ${tone('not connected', 'bad')}`}`;
}

function printHost(report: HostReport): void {
  const { node, gateway, conntrackZones, networks, healthChecks, common } = report;
  print(`Node ${node}`);
  if (gateway === undefined) print('  bridge      none: nothing leaves the node');
  else {
    const { bridge, mac, mode, addresses, vlan, uplink } = gateway;
    const tag = vlan === 0 ? '' : `, VLAN ${vlan}`;
    print(`  bridge      ${bridge} ${mac} ${addresses.join(' ')}, ${mode} gateway mode${tag}`);
    print(`  uplink      ${uplinkText(uplink)}`);
  }
  const zones = Object.entries(conntrackZones).map(([name, zone]) => `${zone} ${name}`);
  print(`  conntrack   zones ${zones.join(', ')}`);
  print('');
  printLines(
    table(
      ['NETWORK', 'ID', 'VRF', 'TABLE', 'MARK', 'CT MARK', 'PORT', 'ADDRESSES', 'MASQUERADE'],
      networks.map((one) => [
        one.network,
        String(one.id),
        one.vrf ?? '-',
        String(one.table),
        one.mark,
        one.conntrackMark,
        one.port,
        one.addresses.join(' '),
        one.masquerade.join(' ') || '-',
      ]),
    ),
  );
  print('');
  printLines(
    table(
      ['NETWORK', 'RULES', 'ROUTES', 'NEIGHBOURS', 'SETTINGS', 'NFTABLES', 'FLOWS', 'STATE'],
      [
        ...networks.map((one) => [
          one.network,
          String(one.rules.length),
          ...countsOf(one.counts),
          stateOf(one),
        ]),
        ['(shared)', '-', ...countsOf(common.counts), stateOf(common)],
      ],
    ),
  );
  print('(shared): what is there for the node as a whole, or for more than one network');
  if (healthChecks.length > 0) {
    print('');
    printLines(
      table(
        ['HEALTH CHECK', 'SERVICE', 'READY HERE'],
        healthChecks.map(({ port, service, localEndpoints }) => [
          `port ${port}`,
          service,
          String(localEndpoints),
        ]),
      ),
    );
  }
  const problems = [common, ...networks].flatMap((part) => part.problems);
  if (problems.length > 0) printLines(`\n${tone('Problems', 'bad')}`);
  for (const problem of problems) print(`  ${problem}`);
}
