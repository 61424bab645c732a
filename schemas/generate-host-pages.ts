// Writes docs/reference/openflow.md from src/node/openflow/pipeline.ts, and docs/reference/nftables.md from src/node/nftables/ruleset.ts. With --check:
// exits 1 when a page does not hold what its source says.
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import {
  COOKIES,
  FLOW_FIELDS,
  PICTURE,
  PIPELINE,
  ZONE_MEANINGS,
  ZONES,
  type FlowTable,
} from '../src/node/openflow/pipeline.ts';
import { bridgeFlows } from '../src/node/openflow/bridge-flows.ts';
import { nftFeatures } from '../src/node/nftables/nft-features.ts';
import {
  CHAINS,
  isOfFamily,
  MARKS,
  NETWORK_CHAINS,
  PICTURE as HOOKS,
  SETS,
  type DeclaredChain,
  type DeclaredSet,
} from '../src/node/nftables/ruleset.ts';

const ROOT = join(import.meta.dirname, '..');

/** Fixed-width words of names, and `|` as a table's cell can have it. */
const code = (text: string): string => `\`${text.replaceAll('|', '\\|')}\``;
const list = (names: readonly string[]): string => names.map(code).join(', ');

const rows = (
  head: readonly string[],
  lines: readonly (readonly (string | number)[])[],
): readonly string[] => [
  `| ${head.join(' | ')} |`,
  `|${'---|'.repeat(head.length)}`,
  ...lines.map((cells) => `| ${cells.join(' | ')} |`),
];

const tableTitle = ({ id, job }: FlowTable): string => `Table ${id}: ${job}`;

function openflowPage(): readonly string[] {
  const tables: readonly FlowTable[] = Object.values(PIPELINE);
  return [
    '# Flows of the external bridge',
    '',
    'Written by `npm run generate` from `src/node/openflow/pipeline.ts`, which the flows are built from. Beside it read `ovs-ofctl -O OpenFlow13 --no-stats dump-flows br-ex`; `heddle plan --json` names the rule of each flow.',
    'What the flows match and do is in [node.md](node.md) §4, why in [../bridge.md](../bridge.md). N is the id of a network, or its patch port.',
    '',
    '```text',
    PICTURE.replaceAll(/^\n|\n$/g, ''),
    '```',
    '',
    '## Tables',
    ...tables.flatMap((table) => [
      '',
      `### ${tableTitle(table)}`,
      '',
      ...(table.leadsTo.length === 0 ? [] : [`Leads to ${table.leadsTo.join(', ')}.`, '']),
      ...rows(
        ['Priority', 'What', 'Rules'],
        Object.values(table.at).map(({ priority, meaning, rules }) => [
          priority,
          meaning,
          list(rules),
        ]),
      ),
    ]),
    '',
    '## Marks and registers',
    '',
    ...rows(
      ['Field', 'Value', 'Means', 'Set in table', 'Read in table', 'Elsewhere'],
      FLOW_FIELDS.map(({ field, value, meaning, setIn, readIn, elsewhere = '' }) => [
        code(field),
        value,
        meaning,
        setIn.join(', '),
        readIn.join(', '),
        elsewhere,
      ]),
    ),
    '',
    '## Conntrack zones',
    '',
    ...rows(
      ['Zone', 'What'],
      Object.entries(ZONES).map(([name, zone]) => [
        zone,
        ZONE_MEANINGS[name as keyof typeof ZONES],
      ]),
    ),
    '',
    '## Cookies',
    '',
    ...rows(
      ['Cookie', 'Of'],
      COOKIES.map(({ text, meaning }) => [text, meaning]),
    ),
    '',
    '## Rules',
    '',
    ...rows(
      ['Rule', 'What'],
      Object.entries(bridgeFlows.rules).map(([rule, { text }]) => [code(rule), text]),
    ),
  ];
}

function nftablesPage(): readonly string[] {
  const chains = Object.entries<DeclaredChain>(CHAINS);
  const based = chains.filter(([, { hook }]) => hook !== undefined);
  const led = chains.filter(([, { hook }]) => hook === undefined);
  return [
    '# nftables',
    '',
    'Written by `npm run generate` from `src/node/nftables/ruleset.ts`, which the rows are built from. Beside it read `nft list table inet ovn-kubernetes`: the comment of a rule says for which object it is there (`cluster`: for the node itself), and which rule of which feature it follows.',
    'What rules match is in [node.md](node.md) §3, why in [../host.md](../host.md#nftables). All policies accept. N is the id of a network.',
    '',
    '```text',
    HOOKS.replaceAll(/^\n|\n$/g, ''),
    '```',
    '',
    '## Chains at hooks',
    '',
    ...rows(
      ['Chain', 'Type', 'Hook', 'Priority', 'What'],
      based.map(([name, { type = '', hook = '', priority = '', meaning }]) => [
        code(name),
        type,
        hook,
        priority,
        meaning,
      ]),
    ),
    '',
    '## Chains that they lead to',
    '',
    ...rows(
      ['Chain', 'What'],
      [
        ...led.map(([name, { meaning }]) => [code(name), meaning]),
        ...Object.entries(NETWORK_CHAINS).map(([name, meaning]) => [
          `\`${name}\`, packet mark of network N`,
          meaning,
        ]),
      ],
    ),
    '',
    '## Sets and maps',
    '',
    'Of a name that ends in `-v4` there is one with `-v6`, too.',
    '',
    ...rows(
      ['Name', 'Elements', 'Map to', 'What'],
      Object.entries<DeclaredSet>(SETS).map(([name, declared]) => [
        code(isOfFamily(declared) ? `${name}-v4` : name),
        declared.type.join(' . '),
        declared.value?.join(' . ') ?? '',
        declared.meaning,
      ]),
    ),
    '',
    '## Marks',
    '',
    ...rows(
      ['Mark', 'Means', 'Set in', 'Read in', 'Elsewhere'],
      MARKS.map(({ value, meaning, setIn, readIn, elsewhere }) => [
        value,
        meaning,
        list(setIn),
        list(readIn),
        elsewhere,
      ]),
    ),
    '',
    '## Rules',
    '',
    ...rows(
      ['Feature', 'Rule', 'What'],
      nftFeatures.flatMap(({ name, rules }) =>
        Object.entries(rules).map(([rule, { text }]) => [code(name), code(rule), text]),
      ),
    ),
  ];
}

const PAGES: readonly (readonly [file: string, source: string, page: readonly string[]])[] = [
  ['docs/reference/openflow.md', 'src/node/openflow/pipeline.ts', openflowPage()],
  ['docs/reference/nftables.md', 'src/node/nftables/ruleset.ts', nftablesPage()],
];

for (const [file, source, page] of PAGES) {
  const text = `${page.join('\n')}\n`;
  const path = join(ROOT, file);
  if (!process.argv.includes('--check')) writeFileSync(path, text);
  else if (readFileSync(path, 'utf8') !== text) {
    console.error(`${file} does not match ${source}: run \`npm run generate\``);
    process.exitCode = 1;
  }
}
