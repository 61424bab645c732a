/** `heddle explain`: where a row, a flow or a rule of a node comes from. */
import type { Command } from 'commander';
import { askedOrigin } from '../views/asked-origin.ts';
import { originText, originTitle, type ExplainReport } from '../views/origin.ts';
import { askOrLook } from './ask.ts';
import { addSettings, configurationOf } from './options.ts';
import { EXIT, print, printJson, printLines, report } from './output.ts';
import { within } from '../process/waiting.ts';

const HELP = `
Asks the daemon of the node; without one it needs --node and --nb, for Southbound and flows of br-int --sb, and\nfor the host and its bridge --ovs.

  heddle explain ACL/9b73ada8                  a row of Northbound, Southbound or Open_vSwitch: TABLE/NAME or TABLE/UUID
  heddle explain 9b73ada8                      the beginning of any row's UUID, four digits or more
  heddle explain 0x402b88a2                    a cookie of br-int or of the external bridge
  heddle explain "$(ovs-ofctl dump-flows br-int | grep …)"    a flow, as dump-flows prints it
  heddle explain "handle 42"                   a rule of our nftables table, or its line of nft -a list ruleset
  heddle explain "2000: from all fwmark 0x1001 lookup 10001"  a line of ip rule
  heddle explain "default via 172.18.0.1 table 10001"         a line of ip route

Exit code: 0 one thing was found, 1 nothing was found, or several things that it may mean.`;

export function register(program: Command): void {
  addSettings(
    program
      .command('explain')
      .argument('<ROW|FLOW|RULE>', 'as OVN, Open vSwitch, nft or ip name it or print it')
      .description('which object and which rule a row, a flow or a rule is there for')
      .option('--json', 'as JSON')
      .addHelpText('after', HELP),
    ['where', 'control', 'tls', 'cluster', 'behaviour'],
  ).action(async (asked: string, options: { readonly json?: boolean }, command: Command) => {
    // What can't be asked for is refused before anybody is asked.
    askedOrigin(asked);
    const configuration = configurationOf(command);
    const { source, ...answer } = await askOrLook<ExplainReport>(
      configuration,
      'explain',
      ['node', 'found', 'looked'],
      (runtime) => within(configuration.timeout, (signal) => runtime.explain(asked, signal)),
      { params: { asked }, hasHost: false },
    );
    if (options.json === true) printJson({ source, ...answer });
    else printAnswer(answer);
    process.exitCode = answer.found.length === 1 ? EXIT.success : EXIT.problems;
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
