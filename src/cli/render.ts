/** `heddle render`: what a node's databases should hold, without any database. */
import type { Command } from 'commander';
import { problemText } from '../views/problem-text.ts';
import { INVENT_NODES, zoneOf } from './invented-zone.ts';
import { addSettings } from './options.ts';
import { EXIT, printJson, printLines, reportComplaints, reportProblems } from './output.ts';

export function register(program: Command): void {
  addSettings(
    program
      .command('render')
      .description('the rows that a node should have, as ovn-nbctl commands; needs no database')
      .option('--json', 'as JSON: each row with its unit, its object and the rule that it follows')
      .option(...INVENT_NODES)
      .addHelpText(
        'after',
        '\nThe commands are a shell script that makes the rows in fresh databases. What is still to be allocated is allocated in memory alone;' +
          ' --state, where there is one, says what was allocated before.\nExit code: 0 done, 1 done except for what is listed as a problem, 64 usage.',
      ),
    ['where', 'cluster', 'behaviour'],
  ).action(async (options: { readonly json?: boolean }, command: Command) => {
    await using zone = await zoneOf(command);
    const { node, databases, rules, problems, manifests } = await zone.report();
    if (options.json === true) printJson({ node, databases, rules, problems, manifests });
    else printLines(zone.script());
    const isWrong = [
      reportComplaints(manifests),
      reportProblems(problems.map((problem) => problemText(problem, () => problem.place))),
    ].some(Boolean);
    if (isWrong) process.exitCode = EXIT.problems;
  });
}
