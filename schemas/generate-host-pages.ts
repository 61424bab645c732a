// Writes docs/reference/openflow.md from src/node/openflow/pipeline.ts. With --check: exits 1 when the page does not hold what the source says.
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
  ];
}

const PAGES: readonly (readonly [file: string, source: string, page: readonly string[]])[] = [
  ['docs/reference/openflow.md', 'src/node/openflow/pipeline.ts', openflowPage()],
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
