/**
 * Runs the tests and ends with one line: `N passed, N failed, N skipped`. A check (types, lint …) counts as one test. Exit code 1 when anything
 * failed or nothing ran.
 */
import { spawn } from 'node:child_process';
import { existsSync, globSync, readFileSync, rmSync } from 'node:fs';
import { availableParallelism, setPriority } from 'node:os';
import { join, relative } from 'node:path';
import { createInterface } from 'node:readline';
import { parseArgs } from 'node:util';
import { prepare } from '../src/lab/build.ts';
import { checkout } from '../src/lab/paths.ts';
import { HELD_FILE, heldOfRun } from './support/lab/held-table.ts';
import { LAST_BEGIN } from './support/run/late-files.ts';
import { ownFolder } from './support/run/left-behind.ts';

const CHECKS = ['check:types', 'check:lint', 'check:format', 'check:exports', 'check:generated'];
const SUITES = ['unit', 'integration', 'e2e'];
const USAGE = `usage: ./dev test [--all | --release | SUITE...] [--within MINUTES]

Without arguments: checks, unit tests, tests against real servers, and the end-to-end matrix: what every change should pass, in some minutes.
  --all      as CI runs it, with Kubernetes and the virtual machine
  --release  everything: also what takes long, before a release
  SUITE      check, ${SUITES.join(', ')}: all of these
  --within MINUTES  after these no file of end-to-end tests begins: what is left is skipped, and said`;
/** The end-to-end tests of a run without arguments. */
const SHORT_E2E = ['demo', 'matrix', 'runtime'].map((name) => `test/e2e/${name}.test.ts`);
/** What a run without arguments leaves out of the tests against real servers: half a minute and more each. */
const LONG_INTEGRATION = [
  'cli/apply',
  'cli/commands',
  'cli/node-command',
  'cluster/any-order',
  'cluster/kubernetes',
  'cluster/random-histories',
  'deploy/image',
  'ovsdb/chaos',
  'ovsdb/cluster-crashes',
  'zone/limits',
].map((name) => `test/integration/${name}.test.ts`);
/** The installation on Kubernetes, which has the machine for itself. */
const ALONE = 'test/e2e/kubernetes/install.test.ts';
/** Labs of a run for CI that come after those on Kubernetes and in the virtual machine, so that these and the other labs end at the same time. */
const AFTER_MACHINE = ['connects', 'egress-firewall'].map((name) => `test/e2e/${name}.test.ts`);
/** What a run for a release has on the newest OVN, too: what becomes of rows, and what that costs. Conversions begin with the schemas of an older one. */
const ON_NEWER_OVN = ['topology', 'verify', 'zone'].map((name) => `test/integration/${name}/`);
const ON_OLDER_OVN = 'test/integration/zone/converted-databases.test.ts';
/**
 * What is left to `--release`: minutes each of programs that are ended, restarted and exchanged while every packet is counted, of egress addresses
 * and machines that move, of the whole matrix on an emulated processor, of all cases of policies and services (the installation on Kubernetes runs
 * upstream's), of next hops outside, of many networks on a node, of random packets that are explained and random faults that are found, of floods and random requests of tenants, and of an image that is built twice.
 */
const OF_RELEASE = [
  'e2e/connect-egress',
  'e2e/egress-drain',
  'e2e/egress-failover',
  'e2e/egress-fence',
  'e2e/egress-orders',
  'e2e/egress-reboot',
  'e2e/egress-service',
  'e2e/explained-packets',
  'e2e/external-routes',
  'e2e/faults',
  'e2e/hostile/floods',
  'e2e/hostile/tenant-requests',
  'e2e/kubernetes-faults',
  'e2e/machine-localnet',
  'e2e/machine-node-loss',
  'e2e/many-networks',
  'e2e/matrix-local-gateway',
  'e2e/policy-cases',
  'e2e/random-faults',
  'e2e/service-cases',
  'e2e/switch-restarts',
  'e2e/take-over',
  'e2e/upgrade',
  'e2e/virtual-machines',
  'integration/deploy/image',
].map((name) => `test/${name}.test.ts`);
/** Suites that need the nodes' root file system, which holds the servers that they run. */
const NEED_ROOT_FILE_SYSTEM = ['integration', 'e2e'];

interface Count {
  passed: number;
  failed: number;
  skipped: number;
}

/** What a file of tests took, in seconds: of processors, with the programs that it ran, and by the clock. */
interface FileCost {
  readonly file: string;
  readonly processor: number;
  readonly clock: number;
}

/** The part of vitest's JSON report that is read here. Times are milliseconds since 1970. */
interface Report {
  readonly testResults: readonly {
    readonly name: string;
    readonly startTime: number;
    readonly endTime: number;
    readonly status: 'passed' | 'failed';
    readonly message: string;
    readonly assertionResults: readonly {
      readonly status: string;
      readonly fullName: string;
      readonly failureMessages: readonly string[];
    }[];
  }[];
}

const say = (text: string): void => {
  process.stdout.write(`${text}\n`);
};

/** What is said again at the very end, where a log that is cut still has it. */
const failures: string[] = [];

/** Tests that passed at the second try, with what the first one said. */
const unsteady: string[] = [];

function failed(text: string): void {
  say(`FAIL ${text}`);
  failures.push(text);
}

const costs: FileCost[] = [];

/** What test/e2e/hostile tried, once it has. */
let attacksOfRun: string | undefined;

/** Runs a program to its end; its lines come between those of others that run at the same time. `yields`: to those that wait for packets and timers. */
function run(
  program: string,
  args: readonly string[],
  { yields = false, more = {} }: { yields?: boolean; more?: NodeJS.ProcessEnv } = {},
): Promise<number> {
  return new Promise((resolve, reject) => {
    const child = spawn(program, args, {
      cwd: checkout,
      stdio: ['ignore', 'pipe', 'pipe'],
      env: { ...process.env, npm_config_loglevel: 'error', ...more },
    });
    for (const input of [child.stdout, child.stderr]) createInterface({ input }).on('line', say);
    if (yields && child.pid !== undefined) setPriority(child.pid, 5);
    child.on('error', reject);
    child.on('close', (code) => {
      resolve(code ?? 1);
    });
  });
}

async function check(name: string, count: Count): Promise<void> {
  const code = await run('npm', ['run', '--silent', name], { yields: true });
  if (code === 0) {
    say(`ok   ${name}`);
    count.passed += 1;
  } else {
    failed(name);
    count.failed += 1;
  }
}

/** Runs a suite; `choice` are arguments of vitest. */
async function suite(
  name: string,
  choice: readonly string[],
  count: Count,
  environment: NodeJS.ProcessEnv = {},
): Promise<void> {
  const folder = ownFolder('heddle-test');
  try {
    const file = join(folder, 'report.json');
    const times = join(folder, 'times');
    const code = await run(
      'vitest',
      [
        'run',
        '--project',
        name,
        '--passWithNoTests',
        '--reporter=default',
        '--reporter=json',
        `--outputFile.json=${file}`,
        ...choice,
      ],
      {
        yields: name === 'unit' && isBeside,
        more: { ...environment, HEDDLE_TEST_TIMES: times },
      },
    );
    const report = JSON.parse(readFileSync(file, 'utf8')) as Report;
    const failedBefore = count.failed;
    add(report, count);
    addCosts(report, existsSync(times) ? readFileSync(times, 'utf8') : '');
    // Vitest also fails for what is no test's fault: an unhandled rejection, a file that can't be loaded.
    if (code !== 0 && count.failed === failedBefore) {
      failed(`${name}: vitest ended with exit code ${code}, and no test failed`);
      count.failed += 1;
    }
  } catch (error) {
    failed(`${name}: no report: ${String(error)}`);
    count.failed += 1;
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** `times` has a line for each file: its path and seconds of processors. */
function addCosts(report: Report, times: string): void {
  const processor = new Map(
    times.split('\n').map((line) => {
      const [path = '', seconds] = line.split('\t');
      return [path, Number(seconds)];
    }),
  );
  for (const { name, startTime, endTime } of report.testResults)
    costs.push({
      file: relative(checkout, name),
      processor: processor.get(name) ?? 0,
      clock: (endTime - startTime) / 1000,
    });
}

/** Where time went, so that it is seen when a file of tests becomes dear. Programs of a lab are on nobody's account: they detach themselves. */
function sayCosts(): void {
  const SHOWN = 15;
  const sum = (of: (cost: FileCost) => number): string =>
    costs.reduce((total, cost) => total + of(cost), 0).toFixed(0);
  say(
    `\n${sum((cost) => cost.processor)} s of processors in ${costs.length} files, which took ${sum((cost) => cost.clock)} s one after the other; the dearest, and the longest (processor without labs, clock):`,
  );
  const most = (of: (cost: FileCost) => number, shown: number): readonly FileCost[] =>
    costs.toSorted((a, b) => of(b) - of(a)).slice(0, shown);
  const shown = new Set([
    ...most((cost) => cost.processor, SHOWN),
    ...most((cost) => cost.clock, 3 * SHOWN),
  ]);
  for (const { file, processor, clock } of shown)
    say(`${processor.toFixed(1).padStart(7)} s ${clock.toFixed(1).padStart(7)} s  ${file}`);
}

function add(report: Report, count: Count): void {
  for (const file of report.testResults) {
    if (
      file.status === 'failed' &&
      file.assertionResults.every((test) => test.status !== 'failed')
    ) {
      failed(`${relative(checkout, file.name)}: ${file.message}`);
      count.failed += 1;
    }
    for (const test of file.assertionResults)
      if (test.status === 'passed') {
        count.passed += 1;
        // Tests on real servers, and those that run beside them, get a second try; what the first one said is never silent.
        if (test.failureMessages.length > 0)
          unsteady.push(
            `${relative(checkout, file.name)}: ${test.fullName}\n${test.failureMessages.join('\n')}`,
          );
      } else if (test.status === 'failed') {
        failed(
          `${relative(checkout, file.name)}: ${test.fullName}\n${test.failureMessages.join('\n')}`,
        );
        count.failed += 1;
      } else {
        say(`skipped: ${test.fullName} (${relative(checkout, file.name)})`);
        count.skipped += 1;
      }
  }
}

for (const file of [
  ...SHORT_E2E,
  ...AFTER_MACHINE,
  ...OF_RELEASE,
  ...LONG_INTEGRATION,
  ON_OLDER_OVN,
  ALONE,
])
  if (!existsSync(join(checkout, file))) throw new Error(`test/all.ts names ${file}: no such file`);

const { asked, isAll, isRelease, within } = readArguments();
const isShort = asked.length === 0 && !isAll;
const wanted = (name: string): boolean => asked.length === 0 || asked.includes(name);
/** Files that this run leaves out. */
const left = isAll && !isRelease ? OF_RELEASE : [];
/** Unit tests run beside others, and give way to these. */
const isBeside = wanted('unit') && wanted('integration');

function readArguments(): {
  readonly asked: readonly string[];
  /** Everything, or nearly. */
  readonly isAll: boolean;
  readonly isRelease: boolean;
  /** Minutes. */
  readonly within: number | undefined;
} {
  try {
    const { values, positionals } = parseArgs({
      allowPositionals: true,
      options: {
        all: { type: 'boolean' },
        release: { type: 'boolean' },
        within: { type: 'string' },
        help: { type: 'boolean', short: 'h' },
      },
    });
    if (values.help === true) {
      say(USAGE);
      process.exit(0);
    }
    const unknown = positionals.filter((name) => name !== 'check' && !SUITES.includes(name));
    if (unknown.length > 0) throw new Error(`there is no suite ${unknown.join(', ')}`);
    const isRelease = values.release === true;
    const isAll = isRelease || values.all === true;
    if (isAll && positionals.length > 0)
      throw new Error(`${isRelease ? '--release' : '--all'} has all suites: leave them out`);
    const within = values.within === undefined ? undefined : Number(values.within);
    if (within !== undefined && !(within > 0))
      throw new Error(`--within takes minutes, not ${values.within}`);
    return { asked: positionals, isAll, isRelease, within };
  } catch (error) {
    say(`${error instanceof Error ? error.message : String(error)}\n\n${USAGE}`);
    process.exit(2);
  }
}

/** Arguments of vitest for a suite: which of its files a run without arguments has, and workers that leave room for the suites beside it. */
function choiceOf(name: string): readonly string[] {
  if (name === 'unit' && isBeside)
    return [
      `--maxWorkers=${Math.max(1, Math.floor(availableParallelism() / 2))}`,
      // Beside a whole Kubernetes what is waited for may come too late once.
      '--retry=1',
    ];
  if (isShort) return name === 'integration' ? filesOf(name, LONG_INTEGRATION) : [];
  return left.length > 0 ? filesOf(name, left) : [];
}

/** The files of a suite but some: vitest's own `--exclude` says nothing to a suite with a list of its own. */
const filesOf = (name: string, but: readonly string[]): readonly string[] =>
  globSync(`test/${name}/**/*.test.ts`, { cwd: checkout }).filter((file) => !but.includes(file));

const count: Count = { passed: 0, failed: 0, skipped: 0 };

/** What needs nothing but processors. */
async function checksAndUnit(): Promise<void> {
  if (wanted('check')) for (const name of CHECKS) await check(name, count);
  if (wanted('unit')) await suite('unit', choiceOf('unit'), count);
}

async function onRealServers(): Promise<void> {
  if (NEED_ROOT_FILE_SYSTEM.some(wanted) && process.getuid?.() === 0)
    try {
      await prepare('host', say);
    } catch (error) {
      failed(`servers for the tests: ${String(error)}`);
      count.failed += 1;
    }
  if (wanted('integration')) await suite('integration', choiceOf('integration'), count);
  if (isRelease) await onNewerOvn();
}

async function onNewerOvn(): Promise<void> {
  const more = { HEDDLE_LAB_SUITE: 'sid' };
  const files = filesOf('integration', [ON_OLDER_OVN]).filter((file) =>
    ON_NEWER_OVN.some((folder) => file.startsWith(folder)),
  );
  if ((await run(join(checkout, 'lab/build'), ['host'], { more })) === 0)
    await suite('integration', files, count, more);
  else {
    say(`skipped: ${files.length} files on Debian sid: its OVN could not be fetched; see above`);
    count.skipped += 1;
  }
}

/** What is rolled there under traffic counts every packet, and floods take what there is of processors: no lab is beside it. */
async function aloneOnKubernetes(): Promise<void> {
  await suite('kubernetes', [ALONE], count);
}

/** `later`: labs that come when the virtual machine is over. */
async function onKubernetes(later: readonly string[]): Promise<void> {
  await suite('kubernetes', filesOf('e2e', [ALONE, ...left]), count);
  await inMachine();
  if (later.length > 0) await suite('e2e', later, count);
}

async function inMachine(): Promise<void> {
  if (process.getuid?.() === 0 && process.arch === 'x64')
    try {
      await prepare('vm', say);
    } catch (error) {
      say(`no virtual machine for the tests: ${String(error)}`);
      process.env['HEDDLE_TEST_NO_VM'] = 'a kernel for it could not be built; see above';
    }
  await suite('vm', filesOf('e2e', left), count);
}

async function inLabs(): Promise<void> {
  if (!wanted('e2e')) return;
  const folder = ownFolder('heddle-held');
  try {
    const held = join(folder, 'attacks');
    process.env[HELD_FILE] = held;
    // What needs nothing but processors is over, or gives way, when it counts packets.
    if (!isShort) await Promise.all([aloneOnKubernetes(), ...(isAll ? [checksAndUnit()] : [])]);
    // Never more than two labs beside each other: two processors have enough to do with them.
    const later = left.length > 0 ? AFTER_MACHINE : [];
    await Promise.all([
      suite('e2e', isShort ? SHORT_E2E : filesOf('e2e', [...left, ...later]), count),
      ...(isShort ? [] : [onKubernetes(later)]),
    ]);
    if (existsSync(held)) attacksOfRun = heldOfRun(readFileSync(held, 'utf8'));
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

// On Kubernetes, too, daemons are rolled to the last release and back, and a tenant floods nodes.
if (isRelease) process.env['HEDDLE_TEST_RELEASE'] = 'yes';
const began = Date.now();
const lastBegin = within === undefined ? undefined : began + within * 60_000;
if (lastBegin !== undefined) process.env[LAST_BEGIN] = String(lastBegin);
// Labs come after all others: they have enough to do for two processors, and leases and packets do not wait.
await Promise.all([...(isAll ? [] : [checksAndUnit()]), onRealServers()]);
await inLabs();

if (costs.length > 0) sayCosts();
if (attacksOfRun !== undefined) say(`\nWhat was tried against Heddle:\n${attacksOfRun}`);
if (unsteady.length > 0) say(`\nWhat passed only at the second try:\n${unsteady.join('\n')}`);
if (failures.length > 0) say(`\nWhat failed:\n${failures.join('\n')}`);
if (isShort)
  say(
    `\nLeft to ./dev test --all: ${LONG_INTEGRATION.join(', ')}, and end-to-end tests other than ${SHORT_E2E.join(', ')}`,
  );
if (left.length > 0) say(`\nLeft to ./dev test --release: ${left.join(', ')}`);
if (lastBegin !== undefined && Date.now() > lastBegin)
  say(
    `\nSkipped because more than ${within} minutes had gone: what is skipped above without a reason of its own`,
  );
say(`it took ${((Date.now() - began) / 60_000).toFixed(1)} minutes`);
say(`${count.passed} passed, ${count.failed} failed, ${count.skipped} skipped`);
process.exitCode = count.failed > 0 || count.passed === 0 ? 1 : 0;
