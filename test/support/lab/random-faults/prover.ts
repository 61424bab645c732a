/** `heddle verify` on a node of a lab again and again, without the start of a process and with one reading: what it finds, and what it can't decide. */
import { spawn, type ChildProcessWithoutNullStreams } from 'node:child_process';
import { join } from 'node:path';
import { createInterface, type Interface } from 'node:readline';
import { environmentArguments } from '../../../../src/lab/exec.ts';
import type { LabRecord } from '../../../../src/lab/state-file.ts';
import type { Verdict } from '../../../../src/verify/verify.ts';
import { proofArguments } from '../proof.ts';

export type Found = Pick<Verdict, 'violations' | 'undecided'>;

export class Prover implements Disposable {
  readonly #process: ChildProcessWithoutNullStreams;
  readonly #lines: AsyncIterator<string, undefined>;
  readonly #errors: Buffer[] = [];

  constructor(lab: LabRecord, node: string, more: readonly string[]) {
    const [program = '', , , ...args] = proofArguments(lab, node, more);
    const looping = join(import.meta.dirname, 'proving.ts');
    this.#process = spawn('nsenter', [
      `--target=${lab.init?.pid}`,
      '--mount',
      '--net',
      '--pid',
      '--uts',
      '--ipc',
      '--cgroup',
      '--',
      ...environmentArguments([program, looping, ...args], { node }, process.env),
    ]);
    this.#process.stderr.on('data', (data: Buffer) => this.#errors.push(data));
    const lines: Interface = createInterface(this.#process.stdout);
    this.#lines = lines[Symbol.asyncIterator]();
  }

  async prove(): Promise<Found> {
    this.#process.stdin.write('prove\n');
    const line: IteratorResult<string, undefined> = await this.#lines.next();
    if (line.done === true)
      throw new Error(`the proof ended: ${Buffer.concat(this.#errors).toString()}`);
    return JSON.parse(line.value) as Found;
  }

  [Symbol.dispose](): void {
    this.#process.stdin.end();
  }
}
