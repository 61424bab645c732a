/**
 * `npm pack` runs this before and after: in the repository the package's entries are its sources, which Node.js runs as they are; below a
 * `node_modules` it runs no TypeScript, so what is packed names what was compiled of them. It may run twice: an interrupted `npm pack` is repaired by `node packing.ts sources`.
 */
import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

const [to] = process.argv.slice(2);
if (to !== 'dist' && to !== 'sources') throw new Error('usage: packing.ts dist|sources');

const manifest = join(import.meta.dirname, 'package.json');
const text = readFileSync(manifest, 'utf8');
writeFileSync(
  manifest,
  to === 'dist'
    ? text.replaceAll(/"\.\/(?!dist\/)([^"]+)\.ts"/g, '"./dist/$1.js"')
    : text.replaceAll(/"\.\/dist\/([^"]+)\.js"/g, '"./$1.ts"'),
);
if (to === 'sources') rmSync(join(import.meta.dirname, 'dist'), { recursive: true, force: true });
