// Writes the types of OVN's databases into src/topology/schema: of rows as they are read, and of desired rows.
// With --check: exits 1 when a file does not hold what its schema says.
import { execFileSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

const generator = join(import.meta.dirname, '../src/ovsdb/schema/generate.ts');
const folder = 'src/topology/schema';
const sources = [
  { schema: 'ovn-nb.ovsschema', file: 'northbound.generated.ts', name: 'Northbound' },
  { schema: 'ovn-sb.ovsschema', file: 'southbound.generated.ts', name: 'Southbound' },
];

for (const { schema, file, name } of sources) {
  const types = execFileSync(
    process.execPath,
    [generator, join(import.meta.dirname, schema), name, '--rows', './row-types.ts'],
    { encoding: 'utf8' },
  );
  const text = `// Written by \`npm run generate\`. Edit the schema or the generator instead.\n${types}`;
  const target = join(import.meta.dirname, '..', folder, file);
  if (!process.argv.includes('--check')) {
    writeFileSync(target, text);
  } else if (readFileSync(target, 'utf8') !== text) {
    console.error(`${folder}/${file} does not match schemas/${schema}: run \`npm run generate\``);
    process.exitCode = 1;
  }
}
