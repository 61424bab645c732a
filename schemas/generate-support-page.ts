// Writes docs/support.md from support-matrix.ts. With --check: exits 1 when the page does not hold what the matrix says.
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { FEATURES, KINDS, type Feature, type Kind } from './support-matrix.ts';

const TARGET = join(import.meta.dirname, '../docs/support.md');
const SHOWN = { packets: 'yes', rows: '(yes)' } as const;

const reasons = [...new Set(FEATURES.flatMap(({ not }) => not.map(({ why }) => why)))];
const cell = ({ works, not }: Feature, kind: Kind): string => {
  const found = works.find(({ on }) => on.includes(kind));
  if (found !== undefined) return SHOWN[found.proof];
  return `– ${reasons.indexOf(not.find(({ on }) => on.includes(kind))?.why ?? '') + 1}`;
};

const page = `<!-- Written by schemas/generate-support-page.ts: npm run generate -->
# What works on which network

**yes**: a test sends packets. **(yes)**: a test shows that the rows are right, or what the program answers, and sends no packet. **–**: not there, for the reason of that number.
Layer3 and Layer2 networks are UserDefinedNetworks and ClusterUserDefinedNetworks; a secondary Layer2 network and one on the underlay (localnet) are OVNSecondaryNetworks as well. All are of IPv4, IPv6 or both.

| | ${KINDS.join(' | ')} |
|${'---|'.repeat(KINDS.length + 1)}
${FEATURES.map((feature) => `| [${feature.name}](${feature.page}) | ${KINDS.map((kind) => cell(feature, kind)).join(' | ')} |`).join('\n')}

${reasons.map((why, n) => `${n + 1}. ${why}`).join('\n')}

What differs from ovn-kubernetes stands in [differences.md](differences.md), versions of Kubernetes, OVN and kernels in [upgrade.md](upgrade.md), what has an end in numbers in [operations.md](operations.md).

## The tests

| | test |
|---|---|
${FEATURES.map(({ name, works }) => `| ${name} | ${works.flatMap(({ by }) => by.map(([file, test]) => `\`test/${file}.ts\`: ${test} …`)).join('; ')} |`).join('\n')}
`;

if (process.argv.includes('--check')) {
  if (readFileSync(TARGET, 'utf8') !== page) {
    process.stderr.write('docs/support.md is not what schemas/support-matrix.ts says: npm run generate\n');
    process.exitCode = 1;
  }
} else writeFileSync(TARGET, page);
