import { readFileSync } from 'node:fs';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';

/** What a benchmark is, and what it answers. Every file of this folder that exports `benchmarks` takes part. */

export interface Figure {
  readonly name: string;
  readonly value: number;
  readonly unit:
    | 'ms'
    | 's'
    | 'us'
    | 'rows'
    | 'addresses'
    | 'connections'
    | 'questions'
    | 'transactions'
    | 'MB'
    | 'B/row'
    | 'ratio'
    | 'operations'
    | 'writes'
    | 'kB';
  /** The least that it could be, measured in the same run. */
  readonly floor?: number;
  /** What it should not exceed. */
  readonly goal?: number;
}

export interface Benchmark {
  /** Name for `--only`; benchmarks whose names start with it are run too. */
  readonly name: string;
  /** One line that says what is measured. */
  readonly title: string;
  /** Left out unless `--only` begins with this: it needs downloads. */
  readonly onlyAs?: string;
  /** Runs in a process of its own. `progress` goes to standard error. */
  run(progress: (text: string) => void): Promise<readonly Figure[]>;
}

export interface BenchmarkModule {
  readonly benchmarks: readonly Benchmark[];
}

/** Milliseconds that something takes, and its result. */
export async function timed<T>(action: () => T | Promise<T>): Promise<readonly [T, number]> {
  const start = performance.now();
  const result = await action();
  return [result, performance.now() - start];
}

/** Milliseconds of processor time that this process has used, its garbage collector included. */
export function processorTime(): number {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1000;
}

/** Milliseconds of processor time that another process has used, as Linux counts them for its first thread. */
export const processorTimeOf = (pid: number): number =>
  Number(readFileSync(`/proc/${pid}/schedstat`, 'utf8').split(' ')[0]) / 1e6;

export const median = (values: readonly number[]): number =>
  values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] ?? 0;

/** Most memory that this process had, in megabytes. */
export const peakMemory = (): number => process.resourceUsage().maxRSS / 1024;

/** Bytes of the heap that are in use, what is garbage left out. */
export function heapInUse(): number {
  setFlagsFromString('--expose-gc');
  (runInNewContext('gc') as () => void)();
  return process.memoryUsage().heapUsed;
}
