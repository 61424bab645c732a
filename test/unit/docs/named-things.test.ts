/** What pages name is there: commands and their flags, settings with their defaults, containers, kinds, annotations, metrics, conditions and reasons. */
import { globSync, readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import type { Command } from 'commander';
import { expect, test } from 'vitest';
import { EXIT } from '../../../src/cli/output.ts';
import { commandFor } from '../../../src/cli/program.ts';
import { OPTIONS, type OptionSpec } from '../../../src/settings/options.ts';
import { manifests, type Manifest } from '../../support/cluster/deploy-manifests.ts';

const ROOT = resolve(import.meta.dirname, '../../..');
const read = (path: string): string => readFileSync(join(ROOT, path), 'utf8');
const PAGES = [
  'README.md',
  'CONTRIBUTING.md',
  ...globSync(['docs/**/*.md', 'examples/**/*.md'], { cwd: ROOT }),
].toSorted();
const textsOf = (...patterns: string[]): string =>
  globSync(patterns, { cwd: ROOT, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map(({ parentPath, name }) => readFileSync(join(parentPath, name), 'utf8'))
    .join('\n');
const PRODUCT = textsOf(
  'src/**/*.ts',
  'deploy/*',
  'deploy/{helm/heddle,monitoring}/**',
  'schemas/crds/*',
);

/** Texts in backticks, and lines of code blocks: a line that ends in a backslash goes on. */
const codeOf = (page: string): readonly string[] => {
  const text = read(page);
  return [
    ...[...text.matchAll(/`([^`\n]+)`/g)].map(([, span = '']) => span),
    ...[...text.matchAll(/^ *```\w*\n([^]*?)^ *```/gm)].flatMap(([, block = '']) =>
      block.replaceAll('\\\n', ' ').split('\n'),
    ),
    ...[...text.matchAll(/^ {4}(\S.*)$/gm)].map(([, line = '']) => line),
  ];
};
const everywhere = (pattern: RegExp): readonly (readonly [page: string, ...parts: string[]])[] =>
  PAGES.flatMap((page) =>
    codeOf(page).flatMap((line) =>
      [...line.matchAll(pattern)].map((match): readonly [string, ...string[]] => [page, ...match]),
    ),
  );

const program = await commandFor('');
const flagsOf = ({ options, commands }: Command, isDeep = false): readonly string[] => [
  '--help',
  ...options.flatMap(({ long, short }) => [long, short].filter((flag) => typeof flag === 'string')),
  ...(isDeep ? commands.flatMap((command) => flagsOf(command, true)) : []),
];

/** Of the script `dev` itself. */
const DEV = ['up', 'test'];

test('commands of heddle are there, with the flags that stand behind them', () => {
  const named = everywhere(
    /(?:^|-- |kubectl |npx |\$ )(?:heddle|\.\/dev) (?!deploy\/)([a-z][\w-]*)(.*)/g,
  ).filter(([, , name = '']) => !DEV.includes(name));
  expect(named.length).toBeGreaterThan(60);
  const wrong = named.flatMap(([page, line = '', name, rest = '']) => {
    const called = program.commands.find((command) => command.name() === name);
    if (called === undefined) return [`${page}: there is no heddle ${name}`];
    const [first] = rest.trim().split(/\s+/);
    const command = called.commands.find((below) => below.name() === first) ?? called;
    if (command.name() === 'kubectl') return [];
    const known = new Set(flagsOf(command));
    const [own = ''] = rest.split(/ #| -- /);
    return [...own.matchAll(/(?<=\s)--?[a-zA-Z][\w-]*/g)]
      .filter(([flag]) => !known.has(flag))
      .map(([flag]) => `${page}: ${flag} of ${line}`);
  });
  expect(wrong).toEqual([]);
});

/** Flags of other programs that stand alone in a sentence. */
const FOREIGN = [
  '--as',
  '--db',
  '--ignore-scripts',
  '--monitor',
  '--only',
  '--optimize-for-size',
  '--profile',
  '--push',
  '--server-side',
  '--timestamp',
];

test('flags that stand alone are those of a command', () => {
  const known = new Set([...flagsOf(program, true), ...FOREIGN]);
  const unknown = everywhere(/^(--[a-z][\w-]*[a-z])(?![\w-]*…)/g).filter(
    ([, , flag = '']) => !known.has(flag),
  );
  expect(unknown).toEqual([]);
});

test('a variable HEDDLE_… is that of a setting, or read somewhere', () => {
  const settings = new Set(
    OPTIONS.map(({ name }) => `HEDDLE_${name.toUpperCase().replaceAll('-', '_')}`),
  );
  const readers = PRODUCT + textsOf('dev', 'lab/*', 'test/support/**/*.ts', 'test/e2e/**/*.ts');
  const unknown = everywhere(/\bHEDDLE_[A-Z0-9_]*[A-Z0-9]/g).filter(
    ([, name = '']) => name !== 'HEDDLE_NAME' && !settings.has(name) && !readers.includes(name),
  );
  expect(unknown).toEqual([]);
});

test('docs/operations.md has the defaults that settings have', () => {
  const defaults = new Map(
    OPTIONS.map((option: OptionSpec) => [option.name, option.default] as const),
  );
  const rows = [...read('docs/operations.md').matchAll(/^\| (`[^|]+`) \| (`[^|]+`) \|/gm)].map(
    ([, names = '', values = '']) =>
      [names, values].map((cell) => [...cell.matchAll(/`([^`]+)`/g)].map(([, text = '']) => text)),
  );
  const compared = rows.flatMap(([names = [], values = []]) =>
    names.flatMap((name, index) => {
      // `gateway-v6-…` is named by the one before it.
      const prefix = name.split('…')[0] ?? '';
      const known = name.includes('…')
        ? [...defaults.keys()].filter(
            (other) =>
              (prefix === ''
                ? other.endsWith(name.split('…').at(-1) ?? '')
                : other.startsWith(prefix)) && !names.includes(other),
          )
        : [name];
      const [found] = known;
      if (known.length !== 1 || found === undefined || !defaults.has(found)) return [];
      return [[found, values[index]] as const];
    }),
  );
  expect(compared.length).toBeGreaterThan(35);
  expect(
    compared.filter(([name, value]) => (defaults.get(name) ?? value) !== value),
    'another default is written there',
  ).toEqual([]);
});

test('docs/operations.md has the exit codes that there are, and commands have no others', () => {
  const [, sentence = ''] = /^Exit codes: ([^]*?)\n\n/m.exec(read('docs/operations.md')) ?? [];
  const codes = Object.values(EXIT).map(String);
  expect(new Set(sentence.match(/(?<![\w-])\d+(?= )/g))).toEqual(new Set(codes));
  const told = globSync('src/cli/*.ts', { cwd: ROOT }).flatMap((file) =>
    [...read(file).matchAll(/Exit codes?: ([^'`]*)/g)].flatMap(([, text = '']) =>
      [...text.matchAll(/(?:^|, )(\d+) /g)].map(([, code = '']) => code),
    ),
  );
  expect(told.length).toBeGreaterThan(15);
  expect(told.filter((code) => !codes.includes(code))).toEqual([]);
});

const workloads = manifests.filter(
  (manifest): manifest is Manifest & { spec: { template: { spec: PodSpec } } } =>
    ['DaemonSet', 'Deployment'].includes(manifest.kind),
);
interface PodSpec {
  readonly containers: readonly { readonly name: string; readonly args?: readonly string[] }[];
}

test('what is run in a container is there', () => {
  const pods = workloads.flatMap(({ spec }) => spec.template.spec.containers);
  const named = everywhere(/kubectl .*? -c (\w+)(?: -- (\w+))?/g);
  expect(named.length).toBeGreaterThan(1);
  const wrong = named.filter(([, line = '', name, command]) => {
    // Of the DaemonSet that takes Heddle off.
    if (line.includes('component=cleanup')) return name !== 'cleanup';
    const container = pods.find((one) => one.name === name);
    // Sockets of the daemon are where the daemon runs.
    return container === undefined || (command === 'heddle' && container.args?.[0] !== 'node');
  });
  expect(wrong).toEqual([]);
});

/** Of Kubernetes itself, and of the network policy API. */
const BUILT_IN =
  /^(?:pods?|po|nodes?|netpol|networkpolic(?:y|ies)|svc|services?|endpointslices|events?|leases?|deploy\w*|daemonsets?|flowschemas|namespaces?|ns|cnp|clusternetworkpolic(?:y|ies))$/;

test('kubectl gets kinds that are there', () => {
  const ours = new Set(
    manifests
      .concat(
        globSync('schemas/crds/*.yaml', { cwd: ROOT }).flatMap((file) =>
          [...read(file).matchAll(/^ {4}(?:plural|singular): (\S+)|^ {6}- ([a-z]\S*)$/gm)].map(
            ([, name, short]) =>
              ({ kind: 'name', metadata: { name: name ?? short } }) as unknown as Manifest,
          ),
        ),
      )
      .filter(({ kind }) => kind === 'name')
      .map(({ metadata }) => metadata.name),
  );
  const unknown = everywhere(/kubectl (?:-n \S+ )?(?:get|describe) ([a-z][\w-]*)/g).filter(
    ([, , kind = '']) => !ours.has(kind) && !BUILT_IN.test(kind),
  );
  expect(unknown).toEqual([]);
});

test('annotations are those that are read or written', () => {
  const unknown = everywhere(
    /(?<![\w.-])(?:k8s\.ovn\.org|k8s\.v1\.cni\.cncf\.io|v1\.multus-cni\.io)\/[\w-]*\w/g,
  ).filter(([, key = '']) => !new RegExp(`${RegExp.escape(key)}(?![\\w-])`).test(PRODUCT));
  expect(unknown).toEqual([]);
});

test('docs/host.md and docs/security.md have every annotation that a node writes', () => {
  const written = [
    ...read('src/api/annotations/node-annotations.ts').matchAll(
      /= 'k8s\.ovn\.org\/([\w-]+)'; \/\/ node$/gm,
    ),
  ].map(([, key = '']) => key);
  expect(written.length).toBeGreaterThan(8);
  for (const page of ['docs/host.md', 'docs/security.md', 'docs/reference/api.md'])
    expect(written.filter((key) => !read(page).includes(`\`${key}\``))).toEqual([]);
});

test('names of conditions and reasons are those that are written', () => {
  const words = PAGES.filter((page) => !page.startsWith('docs/reference/')).flatMap((page) =>
    [...read(page).matchAll(/`([A-Z][a-z]+(?:[A-Z][a-z]+)+)`/g)].map(
      ([, word = '']) => [page, word] as const,
    ),
  );
  expect(words.length).toBeGreaterThan(50);
  expect(words.filter(([, word]) => !new RegExp(`\\b${word}`).test(PRODUCT))).toEqual([]);
});

test('scripts of npm and projects of vitest are there', () => {
  const { scripts } = JSON.parse(read('package.json')) as { scripts: Record<string, string> };
  expect(
    everywhere(/\bnpm run ([\w:-]+)/g).filter(([, , name = '']) => scripts[name] === undefined),
  ).toEqual([]);
  const projects = read('vitest.config.ts');
  expect(
    everywhere(/--project (\w+)/g).filter(([, , name = '']) => !projects.includes(`'${name}'`)),
  ).toEqual([]);
});

test('metrics of ours are written by somebody', () => {
  const unknown = PAGES.flatMap((page) =>
    [...read(page).matchAll(/\bheddle_[a-z_]*[a-z]/g)].map(([name]) => [page, name] as const),
  ).filter(([, name]) => !PRODUCT.includes(name));
  expect(unknown).toEqual([]);
});
