/** `heddle plan` and `heddle diff`: what would change, and what drifted. They change nothing. */
import type { Command } from 'commander';
import { visibleText } from '../api/visible-text.ts';
import type { Configuration } from '../settings/configuration.ts';
import { createLogger } from '../process/logger.ts';
import { problemText } from '../views/problem-text.ts';
import { within } from '../process/waiting.ts';
import { NOTHING_TO_DO, planTotals } from '../views/plan-totals.ts';
import { planReport, type PlanFormat, type PlanReport } from '../views/zone-reports.ts';
import { ZoneRuntime, type RuntimeOptions, type ZoneConfiguration } from '../zone/zone-runtime.ts';
import { askDaemon, known, type AnswerSource } from './ask.ts';
import { appended } from './manifest-files.ts';
import { addSettings, configurationOf, needed } from './options.ts';
import {
  EXIT,
  print,
  printJson,
  printLines,
  reportComplaints,
  reportProblems,
  tone,
} from './output.ts';
import {
  changed,
  hasReachChange,
  objectsNow,
  objectsOf,
  printReach,
  reachReport,
} from './reach.ts';

const MODES = { plan: 'dry-run', diff: 'as-is' } as const;

export function register(program: Command): void {
  const command = (name: 'plan' | 'diff', description: string, more: string): Command =>
    addSettings(
      program
        .command(name)
        .description(description)
        .option('--summary', 'new rows by name only')
        .option('--json', 'as JSON')
        .addHelpText('after', `\n${more}`),
      ['where', 'control', 'tls', 'cluster', 'behaviour'],
    ).action(async (options: PlanOptions, called: Command) => {
      const isOfReach = options.reach !== undefined || options.delete !== undefined;
      await (isOfReach
        ? lookAtReach(configurationOf(called), options)
        : look(configurationOf(called), name, options));
    });
  command(
    'plan',
    'what `heddle apply` would change, per table; changes nothing',
    'Allocations that are still to be made are made in memory alone.\nExit code: 0 nothing to do, 2 something would change, 1 nothing to do but there are problems.',
  )
    .option(
      '--reach <FILE>',
      'instead: which pods would reach which, and which no longer, if this file or directory were applied to what there is (repeatable)',
      appended,
    )
    .option(
      '--delete <FILE>',
      '… and if the objects of this one were deleted (repeatable)',
      appended,
    );
  command(
    'diff',
    'drift: where the databases differ from what was allocated and applied; changes nothing',
    'Shows how `heddle node` would repair it.\nExit code: 0 no drift, 2 drift, 1 no drift but there are problems.',
  );
}

interface PlanOptions {
  readonly summary?: boolean;
  readonly json?: boolean;
  readonly reach?: readonly string[];
  readonly delete?: readonly string[];
}

/** By objects alone: neither a daemon nor a database is asked. */
async function lookAtReach(
  configuration: Configuration,
  { reach = [], delete: gone = [], json = false }: PlanOptions,
): Promise<void> {
  const [applied, deleted] = [objectsOf(reach), objectsOf(gone)];
  const now = await objectsNow(configuration);
  const found = await reachReport(
    configuration,
    now,
    changed(now, applied, deleted),
    applied.passedOver,
  );
  if (json) printJson(found);
  else printReach(found);
  process.exitCode = hasReachChange(found) ? EXIT.changes : EXIT.success;
}

/** The daemon of an earlier release does not say for which networks things change. */
type AnyReport = Omit<PlanReport, 'networks'> & Partial<Pick<PlanReport, 'networks'>>;

async function look(
  configuration: Configuration,
  command: 'plan' | 'diff',
  options: PlanOptions,
): Promise<void> {
  const format = { details: options.summary !== true };
  const answered = await askDaemon<AnyReport>(configuration, command, format, [
    'node',
    'databases',
    'rules',
    'texts',
    'left',
    'problems',
    'manifests',
  ]);
  const report =
    answered ?? (await lookDirectly(needed(configuration, 'node', 'nb'), MODES[command], format));
  const { node, databases, rules, texts, networks, left, problems, manifests } = report;
  const source: AnswerSource = answered === undefined ? 'direct' : 'daemon';
  if (options.json === true)
    printJson({ source, node, databases, networks, rules, left, problems, manifests });
  else {
    print(tone(planTotals(node, databases), 'strong'));
    for (const [network, changes] of Object.entries(networks ?? {}))
      print(`  ${network === '' ? 'what all share' : network}: ${changes}`);
    for (const { database, text } of texts.filter((part) => part.text !== NOTHING_TO_DO)) {
      print('');
      print(tone(database, 'strong'));
      printLines(text.split('\n').map(marked).join('\n').trimEnd());
    }
    if (left.length > 0) printLines(renderLeft(left));
  }
  const isWrong =
    [
      reportComplaints(manifests),
      reportProblems(problems.map((problem) => problemText(problem, () => problem.place))),
    ].some(Boolean) || report.hasBlockedRows;
  process.exitCode = report.hasChanges ? EXIT.changes : isWrong ? EXIT.problems : EXIT.success;
}

/** What goes is seen at once. */
const marked = (line: string): string =>
  line.startsWith('  - ') ? tone(line, 'bad') : line.startsWith('  + ') ? tone(line, 'good') : line;

/** What the command finds by itself, from objects and databases. */
async function lookDirectly(
  configuration: ZoneConfiguration,
  mode: RuntimeOptions['mode'],
  format: PlanFormat,
): Promise<PlanReport> {
  const log = createLogger(configuration.logLevel === 'info' ? 'error' : configuration.logLevel);
  await using runtime = await ZoneRuntime.open({ configuration, log, mode });
  await within(configuration.timeout, async (signal) => {
    await known(runtime, signal);
  });
  runtime.update();
  return await planReport(runtime, format);
}

/** Rows of an ovn-kubernetes that no object asks for: they stay unless they are taken over. */
function renderLeft(left: PlanReport['left']): string {
  return [
    tone(`${left.length} rows of ovn-kubernetes that no object asks for`, 'strong'),
    'They stay; heddle node --take-over removes them.',
    ...left.map(({ database, table, key }) => visibleText(`  ${database} ${table} ${key}`)),
    '',
  ].join('\n');
}
