/** Runs programs, one after the other, and keeps what they say as files. */
import { spawn } from 'node:child_process';
import { mkdir, open, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { errorText } from '../api/error-text.ts';
import type { Wanted } from './contents.ts';
import { databaseWithoutSecrets } from './secrets.ts';

/** What became of one thing that was to be gathered. */
export interface Gathered {
  readonly file: string;
  /** As somebody would type it. */
  readonly command: string;
  readonly seconds: number;
  readonly bytes: number;
  readonly exitCode?: number;
  /** Why it is not there, or not whole. */
  readonly missing?: string;
}

export interface GatherOptions {
  readonly folder: string;
  readonly signal: AbortSignal;
  readonly environment?: NodeJS.ProcessEnv;
  /** Exit codes that say that it did what it was asked for. */
  readonly isDone?: (code: number) => boolean;
}

/** After that a program is killed: what hangs is part of what is wrong. Milliseconds. */
const TIMEOUT = 120_000;
/** Characters of an error that is told. */
const LONGEST_ERROR = 2000;

interface Ended {
  readonly code?: number;
  readonly missing?: string;
  readonly isAbsent?: true;
}

/** Its output is the file, also where it failed; nothing of an optional program that is not installed. */
export async function gather(
  { file, argv, as, isOptional }: Wanted,
  { folder, signal, environment = process.env, isDone = (code) => code === 0 }: GatherOptions,
): Promise<Gathered | undefined> {
  const path = join(folder, file);
  await mkdir(dirname(path), { recursive: true });
  const began = performance.now();
  const ended = await runInto(path, argv, environment, isDone, signal);
  if (ended.isAbsent === true && isOptional === true) {
    await rm(path, { force: true });
    return undefined;
  }
  const torn = as === undefined ? undefined : await keepNoSecrets(path);
  const missing = ended.missing ?? torn;
  return {
    file,
    command: argv.join(' '),
    seconds: Math.round(performance.now() - began) / 1000,
    bytes: (await stat(path)).size,
    ...(ended.code === undefined ? {} : { exitCode: ended.code }),
    ...(missing === undefined ? {} : { missing }),
  };
}

async function runInto(
  path: string,
  [program, ...args]: Wanted['argv'],
  environment: NodeJS.ProcessEnv,
  isDone: (code: number) => boolean,
  signal: AbortSignal,
): Promise<Ended> {
  await using file = await open(path, 'w', 0o600);
  return await new Promise((resolve) => {
    const late = AbortSignal.timeout(TIMEOUT);
    const child = spawn(program, args, {
      stdio: ['ignore', file.fd, 'pipe'],
      env: { ...environment, LC_ALL: 'C' },
      signal: AbortSignal.any([signal, late]),
      killSignal: 'SIGKILL',
    });
    let complaint = '';
    child.stderr?.setEncoding('utf8').on('data', (text: string) => {
      complaint = (complaint + text).slice(0, LONGEST_ERROR);
    });
    child.on('error', (error: NodeJS.ErrnoException) => {
      if (error.code === 'ENOENT')
        resolve({ missing: `${program} is not installed`, isAbsent: true });
      else if (late.aborted) resolve({ missing: `it did not end within ${TIMEOUT / 1000} s` });
      else resolve({ missing: errorText(error) });
    });
    child.on('close', (code, killed) => {
      const because = complaint.trim().replaceAll(/\s*\n\s*/g, '; ');
      if (code !== null && isDone(code)) resolve({ code });
      else
        resolve({
          ...(code === null ? {} : { code }),
          missing:
            because === ''
              ? `it ended with ${code === null ? killed : `exit code ${code}`}`
              : because,
        });
    });
  });
}

/** What can't be read as tables is not kept: nobody can say what it holds. */
async function keepNoSecrets(path: string): Promise<string | undefined> {
  try {
    await writeFile(path, databaseWithoutSecrets(await readFile(path, 'utf8')));
    return undefined;
  } catch (error) {
    await writeFile(path, '');
    return `its tables can't be read: ${errorText(error)}`;
  }
}

/** Logs of a folder, the files that end with `.log`; none of a folder that is not there. */
export async function logsOf(folder: string): Promise<readonly string[]> {
  const names = await readdir(folder).catch((error: unknown) => {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return [];
    throw error;
  });
  return names.filter((name) => name.endsWith('.log')).map((name) => join(folder, name));
}
