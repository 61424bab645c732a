/** `heddle apply`: commit once, wait for the data plane, exit. */
import type { Command } from 'commander';
import type { ZoneNetworkStatus } from '../api/zone-status.ts';
import { distinctProblems } from '../views/distinct-problems.ts';
import { createLogger } from '../process/logger.ts';
import { telling, until, within } from '../process/waiting.ts';
import { ZoneRuntime, type ZoneConfiguration } from '../zone/zone-runtime.ts';
import type { CommitRecord } from '../zone/database-target.ts';
import { ZoneStatusWriter, zoneReport } from '../zone/zone-status-writer.ts';
import { known } from './ask.ts';
import { addSettings, configurationOf, needed } from './options.ts';
import {
  EXIT,
  print,
  printJson,
  report,
  reportComplaints,
  reportProblems,
  table,
  tone,
  printLines,
} from './output.ts';
import type { Complaint } from '../settings/object-store.ts';
import { problemText } from '../views/problem-text.ts';

export function register(program: Command): void {
  addSettings(
    program
      .command('apply')
      .description('bring the zone of --node to what the manifests say, once')
      .option('--no-wait', 'return after the commit, without waiting for the data plane')
      .option('--json', 'result as JSON')
      .addHelpText(
        'after',
        '\nExit code: 0 done, 1 done except for what is listed as a problem, 64 usage, 69 not reachable in time.',
      ),
  ).action(async (options: ApplyOptions, command: Command) => {
    const configuration = needed(configurationOf(command), 'node', 'nb');
    await apply(configuration, options);
  });
}

/** Makes the host as it should be; waits for the devices that Open vSwitch makes, if it is to. */
async function settleHost(
  { host, controller }: ZoneRuntime,
  wait: boolean,
  signal: AbortSignal,
): Promise<void> {
  if (host === undefined) return;
  await host.start();
  await until(
    async () => {
      const blocked = await host.controller.flush(controller.hostMayBeWanted(), signal);
      return blocked === undefined && (!wait || host.controller.awaited === undefined);
    },
    signal,
    () => `the host: ${host.controller.awaited ?? 'it changes faster than it can be followed'}`,
  );
}

interface ApplyOptions {
  readonly wait: boolean;
  readonly json?: boolean;
}

interface ApplyResult {
  readonly node: string;
  /** Rows written, by database. */
  readonly rows: Readonly<Record<string, number>>;
  readonly northbound: { readonly configured: number; readonly reached: number } | undefined;
  readonly networks: readonly ZoneNetworkStatus[];
  readonly problems: readonly {
    readonly object: string;
    readonly message: string;
    /** `FILE:LINE`. */
    readonly place?: string;
  }[];
  readonly manifests: readonly Complaint[];
}

async function apply(configuration: ZoneConfiguration, options: ApplyOptions): Promise<void> {
  const rows: Record<string, number> = { Northbound: 0, Southbound: 0 };
  const onCommit = ({ database, rows: count, duration }: CommitRecord): void => {
    rows[database] = (rows[database] ?? 0) + count;
    report(`${database}: ${count} rows committed in ${Math.round(duration)} ms`);
  };
  const log = createLogger(configuration.logLevel === 'info' ? 'error' : configuration.logLevel);
  await using runtime = await ZoneRuntime.open({ configuration, log, mode: 'write', onCommit });
  const { controller, store } = runtime;
  const status = new ZoneStatusWriter(store.objects, configuration.node);
  const settle = async (signal: AbortSignal): Promise<void> => {
    await known(runtime, signal);
    await status.resume(controller.progress, signal);
    runtime.update();
    const { knownNames, builtEgress, builtObjects } = runtime;
    const taken = 'the databases to take the changes';
    const settled = until(
      async () => {
        const result = await controller.flush(signal);
        if (result.kind === 'again') log.debug({ reason: result.reason }, 'once more');
        return result.kind === 'settled';
      },
      signal,
      taken,
    );
    await telling(taken, report, settled);
    runtime.written(knownNames, builtEgress, builtObjects);
    await telling(
      () => `the host: ${runtime.host?.controller.awaited ?? 'its changes'}`,
      report,
      settleHost(runtime, options.wait, signal),
    );
    runtime.noteReached();
    if (!options.wait) return;
    const { configured } = controller.progress.sequence;
    if (controller.progress.sequence.reached < configured)
      report(`waiting for the data plane (nb_cfg ${configured})`);
    const owed = (): string =>
      `the data plane: ${controller.progress.owed(configured)} (--no-wait doesn't ask)`;
    const isThere = (): boolean => controller.progress.sequence.reached >= configured;
    await telling(owed, report, until(isThere, signal, owed));
    runtime.noteReached();
    await runtime.chassisSet(signal);
  };
  await within(configuration.timeout, settle);
  await within(configuration.timeout, (signal) =>
    status.write(
      zoneReport({
        controller,
        problems: runtime.problems(),
        waiting: runtime.waiting(),
        justWaiting: runtime.justWaiting(),
        notes: runtime.notes(),
        applied: runtime.applied(runtime.problems()),
        ovnVersion: runtime.ovnVersion,
      }),
      signal,
    ),
  );
  const placeOf = (object: string): string | undefined => store.placeOf(object);
  const problems = distinctProblems([...runtime.problems(), ...status.problems()]);
  const result: ApplyResult = {
    node: configuration.node,
    rows,
    northbound: controller.progress.sequence,
    networks: controller.progress.networks(),
    problems: problems.map((problem) => ({
      ...problem,
      ...placed(placeOf(problem.object)),
    })),
    manifests: store.complaints(),
  };
  if (options.json === true) printJson(result);
  else printResult(result, options.wait);
  const isWrong = [
    reportComplaints(result.manifests),
    reportProblems(result.problems.map((problem) => problemText(problem, placeOf))),
  ].some(Boolean);
  if (isWrong) process.exitCode = EXIT.problems;
}

const placed = (place: string | undefined): { readonly place?: string } =>
  place === undefined ? {} : { place };

function printResult(result: ApplyResult, waited: boolean): void {
  const { Northbound: north = 0, Southbound: south = 0 } = result.rows;
  const written =
    north + south === 0 ? 'nothing to change' : `${north} Northbound and ${south} Southbound rows`;
  const confirmed = waited ? `, in the data plane (nb_cfg ${result.northbound?.reached})` : '';
  print(`node ${result.node}: ${written}${confirmed}`);
  printLines(
    table(
      ['NETWORK', 'STATE'],
      result.networks.map(({ name, state, message }) => [
        name,
        message === undefined ? tone(state, 'good') : `${tone(state, 'bad')}: ${message}`,
      ]),
    ),
  );
}
