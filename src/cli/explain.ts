/** `heddle explain`: where a row, a flow or a rule of a node comes from; and what becomes of a packet, and why. */
import type { Command } from 'commander';
import { pods } from '../api/kinds.ts';
import {
  askedPacket,
  podName,
  type ObjectName,
  type PacketQuestion,
} from '../packets/asked-packet.ts';
import { joined, nextQuestions } from '../packets/joined-report.ts';
import { packetReportText, type PacketReport, type Verdict } from '../packets/packet-report.ts';
import { askedOrigin } from '../views/asked-origin.ts';
import { originText, originTitle, type ExplainReport } from '../views/origin.ts';
import type { Configuration } from '../settings/configuration.ts';
import { objectSource, openStore } from '../settings/object-store.ts';
import { askOrLook, type AnswerSource } from './ask.ts';
import { addSettings, configurationOf } from './options.ts';
import { EXIT, print, printJson, printLines, report, tone } from './output.ts';
import { isPlugin } from './plugin.ts';
import { printWho, whoReport } from './reach.ts';
import { ConfigurationError } from '../process/configuration-error.ts';
import { within } from '../process/waiting.ts';
import { noPod } from '../zone/packet-ends.ts';
import { originsOf, packetOf } from '../zone/zone-questions.ts';

const HELP = `
Asks the daemon of the node; without one it needs --node and --nb, for Southbound and flows of br-int --sb, and\nfor the host and its bridge --ovs.

  heddle explain ACL/9b73ada8                  a row of Northbound, Southbound or Open_vSwitch: TABLE/NAME or TABLE/UUID
  heddle explain 9b73ada8                      the beginning of any row's UUID, four digits or more
  heddle explain 0x402b88a2                    a cookie of br-int or of the external bridge
  heddle explain "$(ovs-ofctl dump-flows br-int | grep …)"    a flow, as dump-flows prints it
  heddle explain "handle 42"                   a rule of our nftables table, or its line of nft -a list ruleset
  heddle explain "2000: from all fwmark 0x1001 lookup 10001"  a line of ip rule
  heddle explain "default via 172.18.0.1 table 10001"         a line of ip route

With two arguments it follows a packet, and the answer to it, on the node of the pod that sends; it sends nothing.
Without --node, where the file of settings has nodes or as 'kubectl heddle', it finds that node, and asks the one to which it goes, too.

  heddle explain blue/web red/db:5432          from a pod to a pod, by TCP unless /udp or /sctp says otherwise
  heddle explain blue/web svc/red/db           to a service: NAMESPACE/NAME, :PORT where it has several
  heddle explain blue/web node/worker-1        to a node; without a port an echo (ping)
  heddle explain blue/web [2001:db8::5]:53/udp to an address
  heddle explain --who blue/web                everybody who may send something to a pod, by objects alone

Exit code: 0 one thing was found, 1 nothing was found, or several things that it may mean.
Of a packet: 0 it reaches, 1 it does not reach, 2 it can't be decided on the nodes that were asked.`;

interface ExplainOptions {
  readonly json?: boolean;
  readonly namespace?: string;
  readonly network?: string;
  readonly who?: boolean;
}

export function register(program: Command): void {
  addSettings(
    program
      .command('explain')
      .argument(
        '<ROW|FLOW|RULE|POD>',
        'as OVN, Open vSwitch, nft or ip name it or print it; or a pod',
      )
      .argument(
        '[DEST]',
        'whom the pod sends to: a pod, a service, a node or an address, with :PORT and /PROTOCOL',
      )
      .description(
        'which object and which rule a row, a flow or a rule is there for; whether a pod reaches somebody, by which way, and why not',
      )
      .option('-n, --namespace <NAMESPACE>', 'of a pod or service that is named without one')
      .option('--network <NETWORK>', 'by which the pod sends: its OVN name, or that of its object')
      .option('--who', 'who may send something to the pod, by objects alone')
      .option('--json', 'as JSON')
      .addHelpText('after', HELP),
    ['where', 'control', 'tls', 'cluster', 'behaviour'],
  ).action(
    async (
      asked: string,
      destination: string | undefined,
      options: ExplainOptions,
      command: Command,
    ) => {
      if (options.who === true) await explainWho(asked, destination, options, command);
      else if (destination === undefined) await explainOrigin(asked, options, command);
      else
        await explainPacket(
          {
            pod: asked,
            destination,
            ...(options.namespace === undefined ? {} : { namespace: options.namespace }),
            ...(options.network === undefined ? {} : { network: options.network }),
          },
          options,
          command,
        );
    },
  );
}

/** By objects alone: neither a daemon nor a database is asked. */
async function explainWho(
  asked: string,
  destination: string | undefined,
  { namespace, network, json }: ExplainOptions,
  command: Command,
): Promise<void> {
  if (destination !== undefined)
    throw new ConfigurationError('--who', 'takes a pod alone: it asks who sends to it');
  if (network !== undefined)
    throw new ConfigurationError(
      '--network',
      'does not go with --who: all networks of the pod are told',
    );
  const { namespace: space, name } = podName(asked, namespace);
  const found = await whoReport(configurationOf(command), `${space}/${name}`);
  if (json === true) printJson(found);
  else printWho(found);
}

async function explainOrigin(
  asked: string,
  options: ExplainOptions,
  command: Command,
): Promise<void> {
  for (const name of ['namespace', 'network'] as const)
    if (options[name] !== undefined)
      throw new ConfigurationError(`--${name}`, 'is for a packet: name whom the pod sends to, too');
  // What can't be asked for is refused before anybody is asked.
  askedOrigin(asked);
  const configuration = configurationOf(command);
  const { source, ...answer } = await askOrLook<ExplainReport>(
    configuration,
    'explain',
    ['node', 'found', 'looked'],
    (runtime) => within(configuration.timeout, (signal) => originsOf(runtime, asked, signal)),
    { params: { asked }, hasHost: false },
  );
  if (options.json === true) printJson({ source, ...answer });
  else printAnswer(answer);
  process.exitCode = answer.found.length === 1 ? EXIT.success : EXIT.problems;
}

const EXITS: Readonly<Record<Verdict, number>> = {
  reaches: EXIT.success,
  'does not reach': EXIT.problems,
  "can't be decided here": EXIT.changes,
};
const TONES = {
  reaches: 'good',
  'does not reach': 'bad',
  "can't be decided here": 'warning',
} as const satisfies Record<Verdict, string>;

async function explainPacket(
  question: PacketQuestion,
  options: ExplainOptions,
  command: Command,
): Promise<void> {
  const { pod } = askedPacket(question);
  const configuration = configurationOf(command);
  const ask = async (
    asked: PacketQuestion,
    node?: string,
  ): Promise<PacketReport & { readonly source: AnswerSource }> => {
    const of = node === undefined ? configuration : configurationOf(command, node);
    return askOrLook<PacketReport>(
      of,
      'packet',
      ['node', 'verdict', 'legs'],
      (runtime) => within(of.timeout, (signal) => packetOf(runtime, asked, signal)),
      { params: asked, hasHost: false },
    );
  };
  const isAnyNode =
    configuration.node === undefined && (isPlugin() || configuration.knownNodes.length > 0);
  const first = await ask(question, isAnyNode ? await nodeOfPod(configuration, pod) : undefined);
  const next = isAnyNode ? nextQuestions(first) : [];
  const others: PacketReport[] = [];
  if (next.every(({ node }) => isPlugin() || configuration.knownNodes.includes(node)))
    for (const { node, destination = question.destination } of next)
      others.push(await ask({ ...question, destination }, node));
  const { source, ...answer } =
    others.length === 0 ? first : { ...joined(first, others), source: first.source };
  if (options.json === true) printJson({ source, ...answer });
  else {
    const { packet, verdict } = answer;
    print(`${tone(packet, 'strong')}: ${tone(verdict, TONES[verdict])}`);
    printLines(packetReportText(answer));
  }
  process.exitCode = EXITS[answer.verdict];
}

/** Throws ConfigurationError for a pod that is on none. */
async function nodeOfPod(configuration: Configuration, asked: ObjectName): Promise<string> {
  const { namespace, name } = asked;
  await using opened = await openStore(objectSource(configuration, process.env), { dryRun: true });
  return await within(configuration.timeout, async (signal) => {
    const found = await opened.objects.get(pods, `${namespace}/${name}`, signal);
    if (found === undefined) throw await noPod(opened, asked, 'POD', signal);
    const node = found.spec.nodeName ?? '';
    if (node === '')
      throw new ConfigurationError('POD', `pod ${namespace}/${name} is on no node yet`);
    return node;
  });
}

function printAnswer({ found, isCut, looked, node }: ExplainReport): void {
  const [first, ...others] = found;
  if (first === undefined) {
    report(`nothing was found on node ${node}; looked at: ${looked.join('; ')}`);
    return;
  }
  if (others.length === 0) {
    printLines(originText(first));
    return;
  }
  report(`it may mean ${isCut ? 'more than ' : ''}${found.length} things; write more of it:`);
  for (const origin of found) {
    const { owner } = origin.madeOf.at(-1) ?? origin;
    print(`${originTitle(origin)}${'object' in owner ? `: for ${owner.object}` : ''}`);
  }
}
