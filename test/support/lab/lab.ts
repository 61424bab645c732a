/** Labs for end-to-end tests: one per test file, gone when it ends. */
import { spawn } from 'node:child_process';
import type { Socket } from 'node:net';
import { outputInside } from '../../../src/lab/exec.ts';
import { down, up } from '../../../src/lab/lifecycle.ts';
import type { Families } from '../../../src/lab/node-facts.ts';
import type { LabKind } from '../../../src/lab/paths.ts';
import type { LabRecord } from '../../../src/lab/state-file.ts';

/** Why no lab can run here, for the reason of a skipped test; undefined where one can. */
export const whyNoLab: string | undefined =
  process.platform !== 'linux'
    ? 'a lab needs Linux'
    : process.getuid?.() !== 0
      ? 'a lab needs root: run the tests as root'
      : undefined;

/** Why no virtual machine can run here. HEDDLE_TEST_NO_VM is set by test/all.ts when what it needs can't be had. */
export const whyNoVirtualMachine: string | undefined =
  whyNoLab ??
  (process.arch === 'x64'
    ? process.env['HEDDLE_TEST_NO_VM']
    : `the virtual machine is for x64 processors, this one is ${process.arch}`);

export interface TestLab extends AsyncDisposable {
  readonly record: LabRecord;
}

/** Kills a process, told apart from later ones with its number by its start, when our end of standard input closes. */
const KEEPER =
  'read -r _; [ "$(cut -d " " -f 22 "/proc/$1/stat" 2> /dev/null)" = "$2" ] && kill -9 "$1"';

/** Has a lab end with this process, even when that is killed: a lab detaches itself from who starts it. */
export function endsWithUs({ holder }: LabRecord): void {
  const { pid, started } = holder;
  const keeper = spawn('sh', ['-c', KEEPER, 'lab-keeper', String(pid), started], {
    stdio: ['pipe', 'ignore', 'ignore'],
    detached: true, // Ctrl-C is for us: it goes on until we end
  });
  keeper.unref();
  (keeper.stdin as Socket).unref();
}

/** A lab of its own for the caller, with progress kept for the case that it does not come up. `hasBridges`: with br-ex, where no daemon makes it. */
export async function testLab(
  name: string,
  {
    kind = 'host',
    nodes = 3,
    families = 'v4',
    hasBridges = false,
  }: { kind?: LabKind; nodes?: number; families?: Families; hasBridges?: boolean } = {},
): Promise<TestLab> {
  const lines: string[] = [];
  const keep = (line: string): void => {
    lines.push(line);
  };
  await down(name, keep); // what a killed run of the same test left
  const record = await up({ name, kind, nodes, families, progress: keep });
  endsWithUs(record);
  if (hasBridges) await outputInside(record, ['lab-bridge']);
  return {
    record,
    async [Symbol.asyncDispose]() {
      await down(name, keep);
    },
  };
}
