/** `heddle drops`: what a node drops now, by network, object and rule. */
import { InvalidArgumentError, type Command } from 'commander';
import type { Configuration } from '../settings/configuration.ts';
import { ConfigurationError } from '../process/configuration-error.ts';
import { chosen, isNetworkNamed, type Drop, type DropsReport } from '../views/drops.ts';
import { askOrLook, type AnswerSource } from './ask.ts';
import { addSettings, configurationOf } from './options.ts';
import {
  clearScreen,
  didYouMean,
  EXIT,
  print,
  printJson,
  printLines,
  report,
  table,
  tone,
} from './output.ts';
import { dropsOf } from '../zone/zone-questions.ts';

interface DropsOptions {
  readonly namespace?: string;
  readonly seconds: number;
  readonly watch?: boolean;
  readonly total?: boolean;
  readonly json?: boolean;
}

/** Longer nobody waits for one answer. */
const LONGEST = 3600;

const HELP = `
Asks the daemon of the node; without one it needs --node, --nb, --sb and --ovs.
Counted are flows of br-int and of the external bridge that drop, reject, or decide that it is done, and rules of nftables that have a counter.
OBJECT - is what OVN drops by itself, by its stage; heddle explain KEY says more of a row, a flow or a rule.
Exit code: 0 nothing was dropped, 2 something was, 1 not all could be read.`;

const secondsOf = (text: string): number => {
  const seconds = Number(text);
  if (!(seconds > 0 && seconds <= LONGEST))
    throw new InvalidArgumentError(`write a number of seconds from 1 to ${LONGEST}.`);
  return seconds;
};

export function register(program: Command): void {
  addSettings(
    program
      .command('drops')
      .argument('[NETWORK]', 'of this network alone: its name, or NAMESPACE/NAME of its object')
      .description('what the node drops now, by network, object and rule')
      .option('-n, --namespace <NAMESPACE>', 'of objects and networks of this namespace alone')
      .option('--seconds <SECONDS>', 'between the two readings of the counters', secondsOf, 5)
      .option('--watch', 'again and again, until it is ended')
      .option('--total', 'one reading: since each flow was made')
      .option('--json', 'as JSON')
      .addHelpText('after', HELP),
    ['where', 'control', 'tls', 'cluster', 'behaviour'],
  ).action(async (network: string | undefined, options: DropsOptions, command: Command) => {
    if (options.watch === true && options.total === true)
      throw new ConfigurationError('--total', 'is one reading, and --watch are many: give one');
    const configuration = configurationOf(command);
    do {
      const answer = await ask(configuration, options);
      show(answer, network, options);
    } while (options.watch === true);
  });
}

async function ask(
  configuration: Configuration,
  { seconds, total }: DropsOptions,
): Promise<DropsReport & { readonly source: AnswerSource }> {
  const between = total === true ? 0 : seconds;
  // The answer comes no sooner than after that.
  const patient = { ...configuration, timeout: configuration.timeout + between * 1000 };
  return askOrLook<DropsReport>(
    patient,
    'drops',
    ['node', 'drops', 'networks', 'unread'],
    (runtime) => dropsOf(runtime, between, AbortSignal.timeout(patient.timeout)),
    { params: { seconds: between } },
  );
}

function show(
  {
    source,
    node,
    seconds,
    drops,
    networks,
    unread,
  }: DropsReport & { readonly source: AnswerSource },
  network: string | undefined,
  { namespace, watch, json }: DropsOptions,
): void {
  if (network !== undefined && !networks.some((one) => isNetworkNamed(one, network)))
    throw new ConfigurationError(
      'NETWORK',
      `no network "${network}" is in use on node ${node}${didYouMean(
        network,
        networks.map(({ name }) => name),
        'there are',
      )}`,
    );
  const shown = chosen(drops, {
    ...(network === undefined ? {} : { network }),
    ...(namespace === undefined ? {} : { namespace }),
  });
  if (json === true) printJson({ source, node, seconds, drops: shown, unread });
  else {
    if (watch === true && process.stdout.isTTY) clearScreen();
    const when = seconds === 0 ? 'since flows were made' : `in ${seconds} s`;
    if (shown.length === 0) print(`nothing was dropped on node ${node} ${when}`);
    else {
      print(tone(`dropped on node ${node} ${when}`, 'strong'));
      printLines(tableOf(shown));
      for (const text of sentences(shown)) print(text);
    }
  }
  for (const text of unread) report(`${tone('not read:', 'bad', process.stderr)} ${text}`);
  process.exitCode =
    unread.length > 0 ? EXIT.problems : shown.length > 0 ? EXIT.changes : EXIT.success;
}

const shortKey = (key: string): string => (/^[0-9a-f]{8}-/.test(key) ? key.slice(0, 8) : key);

const tableOf = (drops: readonly Drop[]): string =>
  table(
    ['PACKETS', 'BYTES', 'NETWORK', 'OBJECT', 'RULE', 'DIRECTION', 'STAGE', 'KEY'],
    drops.map(({ packets, bytes, network, object, reason, rule, direction, stage, key }) => [
      String(packets),
      String(bytes),
      network ?? '-',
      object ?? '-',
      rule === undefined ? reason : `${reason} ${rule.name}`,
      direction ?? '-',
      stage,
      shortKey(key),
    ]),
  );

/** Each rule's sentence once. */
function sentences(drops: readonly Drop[]): readonly string[] {
  const lines = drops.flatMap(({ reason, rule }) =>
    rule === undefined ? [] : [`${reason} ${rule.name}: ${rule.text} (${rule.source})`],
  );
  return lines.length === 0 ? [] : ['', ...new Set(lines)];
}
