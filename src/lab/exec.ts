/** Running commands inside a lab. */
import { spawn } from 'node:child_process';
import { join } from 'node:path';
import { command, type CommandOptions, type CommandResult } from './processes.ts';
import { startSession } from './channel.ts';
import { LabError, nodeArguments, stateFolder } from './paths.ts';
import type { LabRecord } from './state-file.ts';

/** Programs of the lab come before those of the nodes' root file system. */
const PATH = '/lab/bin:/usr/sbin:/usr/bin:/sbin:/bin';

/** Variables that a command inside gets from outside: the terminal's, and those meant for it. */
const passed = (name: string): boolean => /^(TERM|COLORTERM|NO_COLOR|HEDDLE_.*)$/.test(name);

/** A `heddle` command of this checkout, as a program inside. */
export const heddleCommand = (lab: LabRecord, args: readonly string[]): string[] => [
  join(lab.checkout, 'node_modules/.bin/node'),
  ...nodeArguments(args),
];

export interface InsideOptions {
  /** Node in whose namespaces the command runs; else it runs beside the nodes. */
  readonly node?: string;
  /** In this machine's network instead of the lab's; host kind. */
  readonly isOnHostNetwork?: boolean;
  /** Folder to run in, as seen inside; `/` if left out. */
  readonly folder?: string;
}

/** `env` with its arguments: a clean environment, the folder, and the command (in a node if one is named). */
export function environmentArguments(
  args: readonly string[],
  options: InsideOptions,
  environment: Readonly<Record<string, string | undefined>>,
): string[] {
  const variables = {
    PATH,
    HOME: '/root',
    LANG: 'C.UTF-8',
    TERM: 'dumb',
    NODE_COMPILE_CACHE: '/tmp/node',
  };
  for (const [name, value] of Object.entries(environment))
    if (passed(name) && value !== undefined) Object.assign(variables, { [name]: value });
  return [
    'env',
    '-i',
    ...(options.folder === undefined ? [] : ['-C', options.folder]),
    ...Object.entries(variables).map(([name, value]) => `${name}=${value}`),
    ...(options.node === undefined ? [] : ['on', options.node]),
    ...args,
  ];
}

const enter = (init: number, isOnHostNetwork: boolean): string[] => [
  `--target=${init}`,
  '--mount',
  ...(isOnHostNetwork ? [] : ['--net']),
  '--pid',
  '--uts',
  '--ipc',
  '--cgroup',
  '--',
];

/** Arguments of nsenter that run `argv` in a lab on the host's kernel. */
function entering(
  record: LabRecord,
  argv: readonly string[],
  { isOnHostNetwork = false }: InsideOptions = {},
): string[] {
  if (record.init === undefined)
    throw new LabError(`lab '${record.name}' has no process that commands could enter`);
  return [...enter(record.init.pid, isOnHostNetwork), ...argv];
}

/** Runs a command inside to its end and keeps what it wrote. */
export async function runInside(
  record: LabRecord,
  args: readonly string[],
  options: InsideOptions & CommandOptions = {},
): Promise<CommandResult> {
  const argv = environmentArguments(args, options, process.env);
  if (record.kind === 'host') return command('nsenter', entering(record, argv, options), options);
  const output: Buffer[] = [];
  const errors: Buffer[] = [];
  await using session = startSession(stateFolder(record.name), argv, {
    onOutput(data) {
      output.push(data);
      options.onStdout?.(data.toString());
    },
    onErrorOutput: (data) => errors.push(data),
  });
  session.input(options.input ?? '');
  session.endInput();
  const code = await session.ended;
  return {
    code,
    stdout: Buffer.concat(output).toString(),
    stderr: Buffer.concat(errors).toString(),
  };
}

/** As `runInside`, for commands that must succeed: gives standard output, rejects with what went wrong otherwise. */
export async function outputInside(
  record: LabRecord,
  args: readonly string[],
  options: InsideOptions & CommandOptions = {},
): Promise<string> {
  const result = await runInside(record, args, options);
  if (result.code !== 0) {
    const output = (result.stderr || result.stdout).trim();
    throw new LabError(
      `in lab '${record.name}', ${args.slice(0, 6).join(' ')} failed with exit code ${result.code}${output === '' ? '' : `: ${output}`}`,
    );
  }
  return result.stdout;
}

/** Runs a command inside with our own terminal or pipes; resolves with its exit code. */
export function attachInside(
  record: LabRecord,
  args: readonly string[],
  options: InsideOptions = {},
): Promise<number> {
  const argv = environmentArguments(args, options, process.env);
  return record.kind === 'host'
    ? attachToProcess(entering(record, argv))
    : attachToMachine(record, argv);
}

function attachToProcess(args: readonly string[]): Promise<number> {
  return new Promise((resolve, reject) => {
    const child = spawn('nsenter', args, { stdio: 'inherit' });
    // Ctrl-C reaches the command by itself, being in the same process group; we wait for what it makes of it.
    const ignore = (): void => {};
    process.on('SIGINT', ignore);
    child.on('error', reject);
    child.on('close', (code) => {
      process.off('SIGINT', ignore);
      resolve(code ?? 1);
    });
  });
}

async function attachToMachine(record: LabRecord, argv: readonly string[]): Promise<number> {
  const { stdin, stdout, stderr } = process;
  const interactive = stdin.isTTY && stdout.isTTY;
  await using session = startSession(
    stateFolder(record.name),
    argv,
    { onOutput: (data) => stdout.write(data), onErrorOutput: (data) => stderr.write(data) },
    interactive ? { terminal: [stdout.rows, stdout.columns] } : {},
  );
  const resize = (): void => {
    session.resize(stdout.rows, stdout.columns);
  };
  const input = (data: Buffer): void => {
    session.input(data);
  };
  const end = (): void => {
    session.endInput();
  };
  if (interactive) {
    stdin.setRawMode(true);
    stdout.on('resize', resize);
  }
  stdin.on('data', input);
  stdin.on('end', end);
  try {
    return await session.ended;
  } finally {
    stdin.off('data', input);
    stdin.off('end', end);
    stdin.pause();
    if (interactive) {
      stdin.setRawMode(false);
      stdout.off('resize', resize);
    }
  }
}
