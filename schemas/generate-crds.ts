// Writes src/api/validation/crds.generated.ts from schemas/crds/*.yaml, so that validation needs no file access at run time.
// With --check: exits 1 when the file does not hold what the YAML says.
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { parse } from 'yaml';

const folder = join(import.meta.dirname, 'crds');
const target = join(import.meta.dirname, '../src/api/validation/crds.generated.ts');

const definitions = readdirSync(folder)
  .filter((name) => name.endsWith('.yaml'))
  .sort()
  .map((name): unknown => parse(readFileSync(join(folder, name), 'utf8')));

const text = [
  '// Written by `node schemas/generate-crds.ts` from schemas/crds/*.yaml. Edit the YAML instead.',
  '/* oxlint-disable */',
  'export const customResourceDefinitions: readonly unknown[] = JSON.parse(',
  `  ${JSON.stringify(JSON.stringify(definitions)).replaceAll("'", "\\u0027").replace(/^"|"$/g, "'").replaceAll('\\"', '"')},`,
  ') as unknown[];',
  '',
].join('\n');

if (process.argv.includes('--check')) {
  if (readFileSync(target, 'utf8') !== text) {
    console.error('src/api/validation/crds.generated.ts is out of date: run `node schemas/generate-crds.ts`');
    process.exitCode = 1;
  }
} else {
  writeFileSync(target, text);
}
