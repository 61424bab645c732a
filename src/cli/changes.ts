/** `heddle changes`: what the daemon of a node changed lately, and what it put right. */
import { InvalidArgumentError, type Command } from 'commander';
import { ControlError } from '../control/control-client.ts';
import {
  chosenChanges,
  countsText,
  objectsText,
  type NodeChange,
  type NodeChanges,
} from '../views/node-changes.ts';
import { ConfigurationError } from '../process/configuration-error.ts';
import { askDaemon } from './ask.ts';
import { addSettings, configurationOf } from './options.ts';
import { EXIT, print, printJson, printLines, table, tone } from './output.ts';

interface ChangesOptions {
  readonly object?: string;
  readonly drift?: boolean;
  readonly limit: number;
  readonly json?: boolean;
}

const HELP = `
Asks the daemon of the node: nobody else knows what it did. It keeps the last 200 of what it wrote and of what it put right, since it started.
+ rows or objects of the host that were added, ~ changed, - removed. DRIFT is what somebody else had changed, with who did as far as that is known; OBJECT - is what is for all, or for an object that is gone.
Exit code: 0 nothing was put right, 2 something was, 69 no daemon answers.`;

const limitOf = (text: string): number => {
  const limit = Number(text);
  if (!Number.isInteger(limit) || limit < 1)
    throw new InvalidArgumentError('write a number from 1 on.');
  return limit;
};

export function register(program: Command): void {
  addSettings(
    program
      .command('changes')
      .description('what the daemon of a node changed lately, and what it put right, newest first')
      .option(
        '--object <OBJECT>',
        'for this object alone: KIND NAMESPACE/NAME, or without its kind',
      )
      .option('--drift', 'what somebody else had changed alone')
      .option('--limit <COUNT>', 'so many at most', limitOf, 30)
      .option('--json', 'as JSON')
      .addHelpText('after', HELP),
    ['where', 'control', 'cluster', 'behaviour'],
  ).action(async (options: ChangesOptions, command: Command) => {
    let nobody: string | undefined;
    const answer = await askDaemon<NodeChanges>(
      configurationOf(command),
      'changes',
      {},
      ['node', 'since', 'count', 'changes'],
      { onNobody: (why) => (nobody = why) },
    );
    if (answer === undefined && nobody === undefined)
      throw new ConfigurationError(
        '--node',
        'is not set: nobody but its daemon knows what it changed; name the node, or the socket of its daemon (--socket)',
      );
    if (answer === undefined)
      throw new ControlError(
        `${nobody}; nobody else knows what it changed: name its node (--node) or socket (--socket)`,
      );
    show(answer, options);
  });
}

function show({ node, since, count, changes }: NodeChanges, options: ChangesOptions): void {
  const { object, drift, limit, json } = options;
  const chosen = chosenChanges(changes, { object, onlyDrift: drift });
  const shown = chosen.slice(0, limit);
  if (json === true) printJson({ node, since, count, changes: shown });
  else if (shown.length === 0) {
    const what = drift === true ? 'put nothing right' : 'changed nothing';
    print(
      `the daemon of node ${node} ${what}${object === undefined ? '' : ` for ${object}`} since ${since}`,
    );
  } else {
    printLines(tableOf(shown));
    if (chosen.length > shown.length)
      print(tone(`and ${chosen.length - shown.length} older ones (--limit)`, 'quiet'));
  }
  process.exitCode = shown.some(({ kind }) => kind === 'drift') ? EXIT.changes : EXIT.success;
}

const tableOf = (changes: readonly NodeChange[]): string =>
  table(
    ['TIME', 'WHAT', 'WHERE', 'ROWS', 'OBJECT'],
    changes.flatMap((change) => {
      const { at, kind, database, by = [], rows = [] } = change;
      const what = kind === 'wrote' ? 'wrote' : tone('DRIFT', 'warning');
      const who = by.length === 0 ? 'somebody else' : by.join(', ');
      return [
        [at, what, database, countsText(change), objectsText(change)],
        ...(kind === 'drift' ? [['', '', '', '', `by ${who}`]] : []),
        ...rows.map((row) => ['', '', '', '', row]),
      ];
    }),
  );
