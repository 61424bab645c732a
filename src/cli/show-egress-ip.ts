/** `heddle show egressip`: where the addresses of EgressIPs are, and who leaves with them. */
import type { Command } from 'commander';
import { egressTrafficClasses, namespaces, nodes, pods, zoneStatuses } from '../api/kinds.ts';
import { LEASES, NODE_LEASES } from '../api/node-lease.ts';
import { objectSource, openStore } from '../settings/object-store.ts';
import {
  egressOverview,
  type EgressAddressState,
  type EgressIpOverview,
} from '../views/egress-overview.ts';
import { egressPlacementProblems } from '../views/egress-problems.ts';
import { listed, readEgressPlacement } from '../views/overview-objects.ts';
import { addSettings, configurationOf } from './options.ts';
import { didYouMean, EXIT, print, printJson, printLines, report, table, tone } from './output.ts';

export function addShowEgressIp(show: Command): void {
  addSettings(
    show
      .command('egressip')
      .description(
        'EgressIPs, or the named one: the node of each address, its state, the pods that leave with it, and where to',
      )
      .argument('[name]', 'name of an EgressIP')
      .option('--json', 'as JSON')
      .addHelpText(
        'after',
        '\nStates: Committed (its node answers for it), Assigned (its node does not yet), Moving (the node that had it has not let it go), Waiting (no node may have it), Invalid.\nExit code: 0 all is as it should be, 1 an address is not Committed, or something is wrong.',
      ),
    ['where', 'cluster'],
  ).action(async (name: string | undefined, _options: unknown, command: Command) => {
    const { json } = command.optsWithGlobals<{ json?: boolean }>();
    await showEgressIps(command, name, json === true);
  });
}

const isRight = ({ addresses, problems }: EgressIpOverview): boolean =>
  problems.length === 0 && addresses.every(({ state }) => state === 'Committed');

async function showEgressIps(
  command: Command,
  name: string | undefined,
  isJson: boolean,
): Promise<void> {
  const configuration = configurationOf(command);
  await using store = await openStore(objectSource(configuration, process.env), { dryRun: true });
  const { objects } = store;
  const now = Date.now();
  const placed = {
    ...(await readEgressPlacement(objects)),
    nodes: await objects.list(nodes),
    leases: await listed(objects, LEASES, NODE_LEASES),
  };
  const all = egressOverview(
    {
      egressIps: placed.egressIps,
      trafficClasses: await listed(objects, egressTrafficClasses),
      nodes: placed.nodes,
      namespaces: await objects.list(namespaces),
      pods: await objects.list(pods),
      zoneStatuses: await objects.list(zoneStatuses),
      leases: placed.leases,
      placement: egressPlacementProblems(placed, configuration.settings, now),
    },
    { now },
  );
  const shown = name === undefined ? all : all.filter((one) => one.name === name);
  if (name !== undefined && shown.length === 0) {
    const names = all.map((one) => one.name);
    report(
      `heddle show egressip: no EgressIP is called "${name}"${didYouMean(name, names, 'there are')}`,
    );
    process.exitCode = EXIT.problems;
    return;
  }
  if (isJson) printJson(name === undefined ? shown : shown[0]);
  else printEgressIps(shown, name !== undefined);
  process.exitCode = shown.every(isRight) ? EXIT.success : EXIT.problems;
}

const TONES = {
  Committed: 'good',
  Assigned: 'warning',
  Moving: 'warning',
  Waiting: 'bad',
  Invalid: 'bad',
} as const satisfies Readonly<Record<EgressAddressState, string>>;

function printEgressIps(shown: readonly EgressIpOverview[], isOne: boolean): void {
  printLines(
    table(
      ['EGRESSIP', 'MARK', 'ADDRESS', 'NODE', 'STATE', 'PODS', 'TO'],
      shown.flatMap(({ name, mark, only, addresses, pods }) =>
        addresses.map(({ address, node, state }) => [
          name,
          mark === undefined ? '-' : String(mark),
          address,
          node ?? '-',
          tone(state, TONES[state]),
          String(pods.length),
          only === undefined ? 'all' : only.classes.join() || 'nobody',
        ]),
      ),
    ),
  );
  for (const { name, only, pods, standby, problems } of shown) {
    if (isOne && only !== undefined) {
      const classes = only.classes.join(' ') || 'none has the labels of its trafficSelector';
      printLines(`\nEgressTrafficClasses: ${classes}`);
      if (only.cidrs.length > 0) printLines(`\nto: ${only.cidrs.join(' ')}`);
    }
    if (isOne && pods.length > 0) printLines(`\npods: ${pods.join(' ')}`);
    if (isOne && standby.length > 0)
      printLines(`\nserved by an older EgressIP: ${standby.join(' ')}`);
    for (const problem of problems) print(`${tone('problem', 'bad')}  ${name}: ${problem}`);
  }
}
