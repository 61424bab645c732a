/** Processes of this machine, distinguished from later ones with the same number. */
import { spawn } from 'node:child_process';
import { readdirSync, readFileSync, readlinkSync } from 'node:fs';
import { LabError } from './paths.ts';

/** A process: its number is reused one day, the pair of number, start time and boot is not. */
export interface ProcessIdentity {
  readonly pid: number;
  /** Clock ticks since boot (proc(5), stat field 22). */
  readonly started: string;
  readonly boot: string;
}

const bootId = (): string => readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim();

/** Fields of /proc/PID/stat after the command name, which may hold spaces and brackets. */
function statFields(pid: number): string[] | undefined {
  try {
    const text = readFileSync(`/proc/${pid}/stat`, 'utf8');
    return text.slice(text.lastIndexOf(')') + 2).split(' ');
  } catch {
    return undefined; // it is gone
  }
}

/** Identity of a running process; undefined when there is none (zombies are none). */
export function identify(pid: number): ProcessIdentity | undefined {
  const fields = statFields(pid);
  const started = fields?.[19];
  if (fields === undefined || started === undefined || fields[0] === 'Z') return undefined;
  return { pid, started, boot: bootId() };
}

export function isAlive(process: ProcessIdentity): boolean {
  const now = identify(process.pid);
  return now !== undefined && now.started === process.started && now.boot === process.boot;
}

/** First child of a process, by number; undefined while it has none. */
export function firstChild(pid: number): number | undefined {
  for (const name of readdirSync('/proc')) {
    if (!/^\d+$/.test(name)) continue;
    if (statFields(Number(name))?.[1] === String(pid)) return Number(name);
  }
  return undefined;
}

/** Processes in the PID namespace of `pid`, seen from here; none when that is our own namespace. */
export function processesInNamespaceOf(pid: number): number[] {
  const namespaceOf = (id: number): string | undefined => {
    try {
      return readlinkSync(`/proc/${id}/ns/pid`);
    } catch {
      return undefined;
    }
  };
  const wanted = namespaceOf(pid);
  if (wanted === undefined || wanted === namespaceOf(process.pid)) return [];
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .map(Number)
    .filter((id) => namespaceOf(id) === wanted);
}

/** Polls until `condition` returns something, at most `limit` milliseconds; undefined when time ran out. */
export async function waitFor<T>(
  condition: () => T | undefined,
  limit: number,
  interval = 40,
): Promise<T | undefined> {
  const end = performance.now() + limit;
  for (;;) {
    const value = condition();
    if (value !== undefined) return value;
    if (performance.now() >= end) return undefined;
    await new Promise((resolve) => setTimeout(resolve, interval));
  }
}

export interface CommandResult {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

export interface CommandOptions {
  readonly input?: string;
  readonly environment?: Readonly<Record<string, string>>;
  readonly signal?: AbortSignal;
  /** Called with each piece of standard output as it comes. */
  readonly onStdout?: (text: string) => void;
  /** Likewise of standard error. */
  readonly onStderr?: (text: string) => void;
}

/** Runs a program to its end and keeps what it wrote. Rejects only when it can't be started. */
export function command(
  program: string,
  args: readonly string[],
  options: CommandOptions = {},
): Promise<CommandResult> {
  return new Promise((resolve, reject) => {
    const child = spawn(program, args, {
      stdio: ['pipe', 'pipe', 'pipe'],
      ...(options.environment === undefined
        ? {}
        : { env: { ...process.env, ...options.environment } }),
      ...(options.signal === undefined ? {} : { signal: options.signal }),
    });
    let [stdout, stderr] = ['', ''];
    child.stdout.setEncoding('utf8').on('data', (text: string) => {
      stdout += text;
      options.onStdout?.(text);
    });
    child.stderr.setEncoding('utf8').on('data', (text: string) => {
      stderr += text;
      options.onStderr?.(text);
    });
    child.on('error', (cause: NodeJS.ErrnoException) => {
      reject(
        cause.code === 'ENOENT'
          ? new LabError(`the program '${program}' is missing on this machine`, { cause })
          : cause,
      );
    });
    child.on('close', (code, signal) => {
      resolve({ code: code ?? (signal === null ? 1 : 128), stdout, stderr });
    });
    child.stdin.on('error', () => {}); // a program that reads less than it is given says so by its exit code
    child.stdin.end(options.input ?? '');
  });
}
