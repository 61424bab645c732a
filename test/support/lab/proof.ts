/** `heddle verify` on a node of a lab, where it sees that node's databases and host. */
import { heddleCommand, outputInside, runInside } from '../../../src/lab/exec.ts';
import { settingsFile } from '../../../src/lab/objects.ts';
import type { LabRecord } from '../../../src/lab/state-file.ts';
import type { WitnessSums } from '../../../src/verify/certificate/certificate.ts';
import type { Verdict } from '../../../src/verify/verify.ts';

export interface Proof {
  readonly code: number;
  readonly verdict: Verdict & { readonly witnesses?: WitnessSums };
}

const OVS = 'unix:/run/openvswitch/db.sock';

/** Arguments by which a command proves the node that it runs on. */
export const proofArguments = (lab: LabRecord, node: string, more: readonly string[]): string[] =>
  heddleCommand(lab, [
    'verify',
    '--config',
    settingsFile(lab.name),
    '--node',
    node,
    '--ovs',
    OVS,
    ...more,
  ]);

/** What the proof of a node says. Throws with what it printed when it is no JSON. */
export async function proofOf(
  lab: LabRecord,
  node: string,
  more: readonly string[] = [],
): Promise<Proof> {
  const argv = proofArguments(lab, node, ['--json', ...more]);
  const { code, stdout, stderr } = await runInside(lab, argv, { node });
  try {
    return { code: code ?? -1, verdict: JSON.parse(stdout) as Proof['verdict'] };
  } catch {
    throw new Error(`heddle verify ended with ${code}: ${stderr}${stdout}`);
  }
}

/** Has a daemon stand still, so that it repairs nothing, until the answer is called. */
export async function haltDaemon(lab: LabRecord, node: string): Promise<() => Promise<void>> {
  const pid = (await outputInside(lab, ['lab-daemon', node, 'heddle-node', 'pid'])).trim();
  await outputInside(lab, ['kill', '-STOP', pid]);
  return async () => {
    await outputInside(lab, ['kill', '-CONT', pid]);
  };
}
