import { spawn } from 'node:child_process';
import { readdirSync } from 'node:fs';
import { cpus, loadavg, release } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import compileCommand from '../support/run/compiled-command.ts';
import { bound } from '../support/run/left-behind.ts';
import { ovsProgram } from '../support/host/ovs-programs.ts';
import { runOvs } from '../support/ovsdb/ovsdb-server.ts';
import type { Benchmark, BenchmarkModule, Figure } from './benchmark.ts';

/**
 * `npm run bench -- [--json] [--only NAME] [--list]`: each benchmark in a process of its own, so that its memory is
 * its own; progress on standard error, figures on standard output.
 */

interface Result {
  readonly name: string;
  readonly title: string;
  readonly figures: readonly Figure[];
}

async function allBenchmarks(): Promise<readonly Benchmark[]> {
  const files = readdirSync(import.meta.dirname).filter(
    (file) => file.endsWith('.ts') && file !== 'main.ts',
  );
  const result: Benchmark[] = [];
  for (const file of files.toSorted()) {
    const module = (await import(join(import.meta.dirname, file))) as Partial<BenchmarkModule>;
    result.push(...(module.benchmarks ?? []));
  }
  return result;
}

/** What the figures were measured on. */
async function machine(): Promise<Readonly<Record<string, string>>> {
  const [first] = cpus();
  const server = await runOvs('ovsdb-server', ['--version']);
  return {
    processor: `${cpus().length} × ${first?.model ?? 'unknown'}`,
    kernel: release(),
    node: process.version,
    server: server.split('\n')[0] ?? '',
    program: ovsProgram('ovsdb-server').command,
    load: loadavg()
      .map((load) => load.toFixed(1))
      .join(' '),
  };
}

/** Runs one benchmark in a child process. */
function runApart(name: string): Promise<readonly Figure[]> {
  return new Promise((resolve, reject) => {
    const child = spawn(
      ...bound(process.execPath, [
        '--max-old-space-size=8192',
        import.meta.filename,
        '--run',
        name,
      ]),
      { stdio: ['ignore', 'pipe', 'inherit'] },
    );
    let output = '';
    child.stdout.setEncoding('utf8').on('data', (text: string) => {
      output += text;
    });
    child.on('error', reject);
    child.on('exit', (code) => {
      if (code === 0) resolve(JSON.parse(output) as readonly Figure[]);
      else reject(new Error(`benchmark ${name} ended with exit code ${code}`));
    });
  });
}

const show = (value: number): string =>
  value >= 100 ? value.toFixed(0) : value >= 10 ? value.toFixed(1) : value.toFixed(2);

function line({ name, value, unit, floor, goal }: Figure): string {
  const parts = [`  ${name.padEnd(58)} ${show(value).padStart(9)} ${unit}`];
  if (floor !== undefined) {
    parts.push(`floor ${show(floor)} (${floor > 0 ? `${show(value / floor)}×` : '-'})`);
  }
  if (goal !== undefined) parts.push(`goal ${show(goal)}: ${value <= goal ? 'reached' : 'missed'}`);
  return parts.join('   ');
}

async function main(): Promise<void> {
  const { values } = parseArgs({
    options: {
      json: { type: 'boolean', default: false },
      only: { type: 'string' },
      list: { type: 'boolean', default: false },
      run: { type: 'string' },
    },
  });
  const progress = (text: string): void => {
    process.stderr.write(`${text}\n`);
  };
  const benchmarks = await allBenchmarks();
  if (values.run !== undefined) {
    const benchmark = benchmarks.find(({ name }) => name === values.run);
    if (benchmark === undefined) throw new Error(`there is no benchmark ${values.run}`);
    const figures = await benchmark.run((text) => progress(`  ${text}`));
    process.stdout.write(JSON.stringify(figures));
    return;
  }
  const { only } = values;
  const chosen = benchmarks.filter(
    ({ name, onlyAs }) =>
      (only === undefined || name.startsWith(only)) &&
      (values.list || onlyAs === undefined || only?.startsWith(onlyAs) === true),
  );
  if (chosen.length === 0) {
    throw new Error(
      `no benchmark is called ${only}: there are ${benchmarks.map((b) => b.name).join(', ')}`,
    );
  }
  if (values.list) {
    for (const { name, title } of chosen) process.stdout.write(`${name.padEnd(24)} ${title}\n`);
    return;
  }
  // What runs `heddle` measures what is installed, and not how long it takes to take types out of sources.
  await compileCommand();
  const on = await machine();
  const results: Result[] = [];
  for (const { name, title } of chosen) {
    progress(`${name}: ${title}`);
    const figures = await runApart(name);
    results.push({ name, title, figures });
    if (!values.json) process.stdout.write(`${name}: ${title}\n${figures.map(line).join('\n')}\n`);
  }
  if (values.json) process.stdout.write(`${JSON.stringify({ machine: on, results }, null, 2)}\n`);
  else
    process.stdout.write(
      `${Object.entries(on)
        .map(([key, value]) => `${key}: ${value}`)
        .join('\n')}\n`,
    );
}

try {
  await main();
} catch (error) {
  process.stderr.write(`bench: ${error instanceof Error ? error.message : String(error)}\n`);
  process.exitCode = 1;
}
