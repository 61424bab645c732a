/**
 * Compiles the `heddle` command to JavaScript, with the packages that it uses: `dist/cli`, where the image, `./dev` and the tests run it.
 * A start from the sources takes types out of some hundred files first.
 */
import {
  chmodSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { dirname, join } from 'node:path';
import { rolldown, type Plugin } from 'rolldown';

const ROOT = import.meta.dirname;
const SOURCES = ['src', 'build.ts', 'package-lock.json'];
/** As far from the root as the sources: what is found from there is found from here. */
const TARGET = join(ROOT, 'dist/cli');
const NOTICES = join(ROOT, 'dist/NOTICES');
const ENTRY = 'main.js';
/** What is started by its file's name: the command, and threads of it. */
const INPUT = {
  main: 'src/cli/main.ts',
  'conversion-server': 'src/cluster-daemon/conversion-server.ts',
};

/** What the pages that `heddle graph --html` writes run, and how they look. */
const PAGE = { script: 'src/page/browser/main.ts', style: 'src/page/browser/page.css' };
const PAGE_FILES = { script: 'page.js', style: 'page.css' };

/** Files of builds before the last one are kept for processes that run from them and may still load one. */
const KEPT_MS = 7 * 24 * 3600 * 1000;

/** The compiled command. */
export const program = join(TARGET, ENTRY);

function newest(path: string): number {
  const { mtimeMs } = statSync(path);
  if (!statSync(path).isDirectory()) return mtimeMs;
  return Math.max(
    mtimeMs,
    ...readdirSync(path, { recursive: true, encoding: 'utf8' }).map(
      (name) => statSync(join(path, name), { throwIfNoEntry: false })?.mtimeMs ?? 0,
    ),
  );
}

/** Whether the compiled command is that of the sources. */
function isCurrent(): boolean {
  const built = statSync(program, { throwIfNoEntry: false })?.mtimeMs ?? 0;
  return SOURCES.every((path) => newest(join(ROOT, path)) < built);
}

/** At each moment there is the old file or the new one, as a whole: others may build or start at the same time. */
function replace(path: string, content: string | Uint8Array): void {
  const temporary = `${path}.${process.pid}`;
  writeFileSync(temporary, content);
  renameSync(temporary, path);
}

/**
 * koffi loads its binaries from beside its own file, which is copied with those of the processors that Heddle runs on: the same ones, whatever this
 * machine is. What loads it finds it there.
 */
const KOFFI = join(ROOT, 'node_modules/koffi');
const KOFFI_FILES = [
  'index.js',
  'package.json',
  'LICENSE.txt',
  'build/koffi/linux_arm64/koffi.node',
  'build/koffi/linux_x64/koffi.node',
];
const besideKoffi: Plugin = {
  name: 'beside koffi',
  transform: {
    filter: { id: /\/src\/netlink\/socket\/libc\.ts$/ },
    handler: (code) => {
      const parts = code.split("require('koffi')");
      if (parts.length !== 2) throw new Error("src/netlink/socket/libc.ts: no require('koffi')");
      return parts.join("require('./koffi/index.js')");
    },
  },
};

function copyKoffi(): void {
  for (const file of KOFFI_FILES) {
    const to = join(TARGET, 'koffi', file);
    mkdirSync(dirname(to), { recursive: true });
    replace(to, readFileSync(join(KOFFI, file)));
  }
}

/** What packages have in them of others, of which their own files say nothing. */
const CONTAINED: Readonly<Record<string, string>> = {
  '@hpcc-js/wasm-graphviz':
    'Its WebAssembly is Graphviz 16.1.0, under the Eclipse Public License, unchanged by us: https://gitlab.com/graphviz/graphviz/-/tree/16.1.0 has its source, and the text of the license in the version that is in force for it (LICENSE).',
};

/** The licences of the packages whose modules are in the compiled command. */
function notices(modules: readonly string[]): string {
  const folders = modules.map((path) => /^.*\/node_modules\/(?:@[^/]+\/)?[^/]+/.exec(path)?.[0]);
  const texts = [...new Set(folders)].flatMap((folder) => {
    if (folder === undefined) return [];
    const { name, version, license } = JSON.parse(
      readFileSync(join(folder, 'package.json'), 'utf8'),
    ) as Readonly<Record<string, string>>;
    const files = readdirSync(folder).filter((file) => /^(licen[cs]e|notice|copying)/i.test(file));
    const own = files.toSorted().map((file) => readFileSync(join(folder, file), 'utf8').trim());
    const contained = CONTAINED[name ?? ''] ?? [];
    return [[`${name} ${version} (${license})`, contained, ...own].flat().join('\n\n')];
  });
  return `${texts.toSorted().join(`\n\n${'-'.repeat(80)}\n\n`)}\n`;
}

/** One script without imports: it stands in the page. */
async function pageScript(): Promise<string> {
  await using bundle = await rolldown({
    input: join(ROOT, PAGE.script),
    cwd: ROOT,
    platform: 'browser',
    // Types go away; that of the page builds on one of the checkout, which an image or a package is built without.
    tsconfig: false,
    transform: { target: 'es2022' },
  });
  const { output } = await bundle.generate({ format: 'iife', minify: true });
  const [{ code }] = output;
  return code;
}

/** Compiles what has changed since; files are written before those that load them. */
export async function build(): Promise<void> {
  if (isCurrent()) return;
  const began = new Date();
  await using bundle = await rolldown({
    input: Object.fromEntries(
      Object.entries(INPUT).map(([name, path]) => [name, join(ROOT, path)]),
    ),
    cwd: ROOT,
    platform: 'node',
    transform: { target: 'node22' },
    external: /^node:/,
    plugins: [besideKoffi],
  });
  const { output } = await bundle.generate({ format: 'esm', entryFileNames: '[name].js' });
  const page = await pageScript();
  mkdirSync(TARGET, { recursive: true });
  copyKoffi();
  replace(join(TARGET, PAGE_FILES.script), page);
  replace(join(TARGET, PAGE_FILES.style), readFileSync(join(ROOT, PAGE.style)));
  const chunks = output.filter((file) => file.type === 'chunk');
  const last = ({ fileName, isEntry }: (typeof chunks)[number]): number =>
    fileName === ENTRY ? 2 : Number(isEntry);
  for (const { fileName, code, isEntry } of chunks.toSorted((a, b) => last(a) - last(b)))
    if (isEntry || !existsSync(join(TARGET, fileName))) replace(join(TARGET, fileName), code);
  replace(
    NOTICES,
    notices([...chunks.flatMap(({ moduleIds }) => moduleIds), join(KOFFI, 'index.js')]),
  );
  const current = new Set([
    'koffi',
    ...Object.values(PAGE_FILES),
    ...chunks.map(({ fileName }) => fileName),
  ]);
  for (const name of readdirSync(TARGET)) {
    const path = join(TARGET, name);
    const written = statSync(path, { throwIfNoEntry: false })?.mtimeMs;
    if (!current.has(name) && written !== undefined && began.getTime() - written > KEPT_MS)
      rmSync(path, { force: true });
  }
  chmodSync(program, 0o755);
  // What is changed while this runs is newer.
  utimesSync(program, began, began);
}

if (import.meta.main) await build();
