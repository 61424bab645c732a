/** `heddle render`: what a node's databases should hold, without any database. */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Command } from 'commander';
import { freshDatabase, scriptOf } from '../daemon/fresh-database.ts';
import { createLogger } from '../daemon/logger.ts';
import { problemText } from '../daemon/problem-text.ts';
import { within } from '../daemon/waiting.ts';
import { planReport } from '../daemon/zone-reports.ts';
import { ZoneRuntime, type ZoneConfiguration } from '../daemon/zone-runtime.ts';
import { addSettings, configurationOf, needed } from './options.ts';
import { EXIT, print, printJson, reportComplaints, reportProblems } from './output.ts';

export function register(program: Command): void {
  addSettings(
    program
      .command('render')
      .description('the rows that a node should have, as ovn-nbctl commands; needs no database')
      .option('--json', 'as JSON: each row with its unit, its object and the rule that it follows')
      .addHelpText(
        'after',
        '\nThe commands are a shell script that makes the rows in fresh databases. What is still to be allocated is allocated in memory alone;' +
          ' --state, where there is one, says what was allocated before.\nExit code: 0 done, 1 done except for what is listed as a problem, 64 usage.',
      ),
    ['where', 'cluster', 'behaviour'],
  ).action(async (options: { readonly json?: boolean }, command: Command) => {
    const configuration = needed(configurationOf(command), 'node');
    if (configuration.manifests === undefined || configuration.state !== undefined) {
      await render({ ...configuration, ...FRESH }, options.json === true);
      return;
    }
    const state = await mkdtemp(join(tmpdir(), 'heddle-render-'));
    try {
      await render({ ...configuration, ...FRESH, state }, options.json === true);
    } finally {
      await rm(state, { recursive: true, force: true });
    }
  });
}

const FRESH = { nb: 'a fresh database', sb: 'a fresh database' };

async function render(configuration: ZoneConfiguration, asJson: boolean): Promise<void> {
  const log = createLogger(configuration.logLevel === 'info' ? 'error' : configuration.logLevel);
  await using runtime = await ZoneRuntime.open({
    configuration,
    log,
    mode: 'dry-run',
    openDatabase: freshDatabase,
  });
  await within(configuration.timeout, (signal) => runtime.allocated(signal));
  runtime.update();
  const { node, databases, rules, problems, manifests } = await planReport(runtime, {
    details: true,
  });
  if (asJson) printJson({ node, databases, rules, problems, manifests });
  else print(scriptOf(runtime.controller.plans()));
  const isWrong = [
    reportComplaints(manifests),
    reportProblems(problems.map((problem) => problemText(problem, () => problem.place))),
  ].some(Boolean);
  if (isWrong) process.exitCode = EXIT.problems;
}
