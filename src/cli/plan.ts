/** `heddle plan` and `heddle diff`: what would change, and what drifted. They change nothing. */
import type { Command } from 'commander';
import { distinctProblems } from '../daemon/distinct-problems.ts';
import { createLogger } from '../daemon/logger.ts';
import { unprogrammedProblems } from '../daemon/overview-objects.ts';
import { problemText } from '../daemon/problem-text.ts';
import { within } from '../daemon/waiting.ts';
import {
  ZoneRuntime,
  type RuntimeOptions,
  type ZoneConfiguration,
} from '../daemon/zone-runtime.ts';
import { planToJson, renderPlan } from '../ovsdb/index.ts';
import { addSettings, configurationOf, needed } from './options.ts';
import { EXIT, print, printJson, reportComplaints, reportProblems, tone } from './output.ts';

export function register(program: Command): void {
  const command = (
    name: string,
    mode: RuntimeOptions['mode'],
    description: string,
    more: string,
  ): void => {
    addSettings(
      program
        .command(name)
        .description(description)
        .option('--summary', 'new rows by name only')
        .option('--json', 'as JSON')
        .addHelpText('after', `\n${more}`),
    ).action(async (options: PlanOptions, called: Command) => {
      const configuration = needed(configurationOf(called), 'node', 'nb');
      await look(configuration, mode, options);
    });
  };
  command(
    'plan',
    'look',
    'what `heddle apply` would change, per table; changes nothing',
    'Allocations that are still to be made are made in memory alone.\nExit code: 0 nothing to do, 2 something would change, 1 nothing to do but there are problems.',
  );
  command(
    'diff',
    'as-is',
    'drift: where the databases differ from what was allocated and applied; changes nothing',
    'Shows how `heddle node` would repair it.\nExit code: 0 no drift, 2 drift, 1 no drift but there are problems.',
  );
}

interface PlanOptions {
  readonly summary?: boolean;
  readonly json?: boolean;
}

async function look(
  configuration: ZoneConfiguration,
  mode: RuntimeOptions['mode'],
  options: PlanOptions,
): Promise<void> {
  const log = createLogger(configuration.logLevel === 'info' ? 'error' : configuration.logLevel);
  await using runtime = await ZoneRuntime.open({ configuration, log, mode });
  await within(configuration.timeout, async (signal) => {
    await runtime.allocated(signal);
    await runtime.connected(signal);
  });
  runtime.controller.update(runtime.zone());
  const plans = runtime.controller.plans();
  const problems = distinctProblems([
    ...runtime.problems(),
    ...(await unprogrammedProblems(runtime.store.objects)),
  ]);
  const manifests = runtime.store.complaints();
  if (options.json === true) {
    printJson({
      node: configuration.node,
      databases: plans.map(planToJson),
      problems,
      manifests,
    });
  } else {
    for (const plan of plans) {
      print(tone(plan.database, 'strong'));
      print(renderPlan(plan, { details: options.summary !== true }));
    }
  }
  const isWrong =
    [
      reportComplaints(manifests),
      reportProblems(
        problems.map((problem) => problemText(problem, (object) => runtime.store.placeOf(object))),
      ),
    ].some(Boolean) ||
    plans.some(({ problems }) => problems.some(({ kind }) => kind !== 'awaited'));
  const changes = plans.some(({ isEmpty }) => !isEmpty);
  process.exitCode = changes ? EXIT.changes : isWrong ? EXIT.problems : EXIT.success;
}
