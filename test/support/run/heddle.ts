import { spawn, type ChildProcess } from 'node:child_process';
import { mkdirSync, rmSync, writeFileSync, cpSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { vi } from 'vitest';
import { nodeArguments } from '../../../src/lab/paths.ts';
import { bound, ownFolder } from './left-behind.ts';

/** Commands that have a control socket or ask on it. */
const ASKING = ['node', 'status', 'plan', 'diff', 'explain'];

export interface CommandResult {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

/** A directory of manifests and a state directory of their own, and the `heddle` command on them. */
export class Installation implements Disposable {
  readonly folder = ownFolder('heddle');
  readonly manifests = join(this.folder, 'manifests');
  readonly state = join(this.folder, 'state');
  readonly #flags: readonly string[];

  constructor(flags: readonly string[] = []) {
    mkdirSync(this.manifests);
    mkdirSync(this.state);
    this.#flags = flags;
  }

  /** Copies a file or folder into the manifests. */
  copy(path: string): void {
    cpSync(path, this.manifests, { recursive: true });
  }

  write(name: string, text: string): void {
    const path = join(this.manifests, name);
    mkdirSync(dirname(path), { recursive: true });
    writeFileSync(path, text);
  }

  remove(name: string): void {
    rmSync(join(this.manifests, name));
  }

  /** Runs a command to its end. */
  run(command: string, ...args: readonly string[]): Promise<CommandResult> {
    return finished(this.#spawn(command, args));
  }

  /** Starts `heddle node`; ends it with the returned object. */
  daemon(...args: readonly string[]): RunningCommand {
    return new RunningCommand(
      this.#spawn('node', ['--metrics-bind-address', '127.0.0.1:0', ...args]),
    );
  }

  /** The control socket of a daemon, which commands ask. */
  get socket(): string {
    return join(this.folder, 'control.sock');
  }

  /** The same in this process: without the start of another one, and one at a time. Rejects where the command would end with an error. */
  runHere(command: string, ...args: readonly string[]): Promise<CommandResult> {
    return here(this.#argumentsOf(command, args));
  }

  #argumentsOf(command: string, args: readonly string[]): readonly string[] {
    const control = ASKING.includes(command) ? ['--socket', this.socket] : [];
    const where = ['--manifests', this.manifests, '--state', this.state, ...control];
    return [command, ...where, ...this.#flags, ...args];
  }

  #spawn(command: string, args: readonly string[]): ChildProcess {
    return spawnHeddle(this.#argumentsOf(command, args));
  }

  [Symbol.dispose](): void {
    rmSync(this.folder, { recursive: true, force: true });
  }
}

const spawnHeddle = (args: readonly string[]): ChildProcess =>
  spawn(...bound(process.execPath, nodeArguments(args)), {
    stdio: ['ignore', 'pipe', 'pipe'],
    env: { ...process.env, NO_COLOR: '1' },
  });

async function here(args: readonly string[]): Promise<CommandResult> {
  const [stdout, stderr]: [string[], string[]] = [[], []];
  const kept =
    (lines: string[]) =>
    (text: string | Uint8Array): boolean => {
      lines.push(typeof text === 'string' ? text : Buffer.from(text).toString());
      return true;
    };
  // Its modules are no matter of those who start processes.
  const { commandFor } = await import('../../../src/cli/program.ts');
  const before = process.exitCode;
  using _out = vi.spyOn(process.stdout, 'write').mockImplementation(kept(stdout));
  using _err = vi.spyOn(process.stderr, 'write').mockImplementation(kept(stderr));
  try {
    process.exitCode = 0;
    await (await commandFor(args[0] ?? '')).parseAsync(args, { from: 'user' });
    return { code: process.exitCode, stdout: stdout.join(''), stderr: stderr.join('') };
  } finally {
    process.exitCode = before;
  }
}

async function finished(child: ChildProcess): Promise<CommandResult> {
  const [stdout, stderr] = [collect(child.stdout), collect(child.stderr)];
  const code = await new Promise<number | null>((done) => child.once('close', done));
  return { code, stdout: stdout(), stderr: stderr() };
}

/** Runs a command to its end. */
export const heddle = (...args: readonly string[]): Promise<CommandResult> =>
  finished(spawnHeddle(args));

/** Starts a command that runs on; `await using` it. */
export const command = (...args: readonly string[]): RunningCommand =>
  new RunningCommand(spawnHeddle(args));

/** A command of `heddle` that runs until it is ended. */
export class RunningCommand implements AsyncDisposable {
  readonly #child: ChildProcess;
  readonly #ended: Promise<number | null>;
  readonly #log: () => string;
  readonly #printed: () => string;

  constructor(child: ChildProcess) {
    this.#child = child;
    this.#ended = new Promise((done) => child.once('close', done));
    this.#printed = collect(child.stdout);
    this.#log = collect(child.stderr);
  }

  get log(): string {
    return this.#log();
  }

  /** What it wrote to standard output. */
  get printed(): string {
    return this.#printed();
  }

  get pid(): number {
    return this.#child.pid ?? 0;
  }

  /** Sends a signal without waiting for what it does. */
  send(signal: NodeJS.Signals): void {
    this.#child.kill(signal);
  }

  /** Resolves with the exit code when the command has ended; null when a signal ended it. */
  get ended(): Promise<number | null> {
    return this.#ended;
  }

  async end(signal: NodeJS.Signals): Promise<number | null> {
    this.#child.kill(signal);
    return this.#ended;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.end('SIGKILL');
  }
}

function collect(stream: NodeJS.ReadableStream | null): () => string {
  let text = '';
  stream?.setEncoding('utf8').on('data', (chunk: string) => {
    text += chunk;
  });
  return () => text;
}
