/** helm and kubectl, for tests of deploy/. */
import { execFile } from 'node:child_process';
import { join, resolve } from 'node:path';
import { promisify } from 'node:util';

export interface KubeTools {
  readonly helm: string;
  readonly kubectl: string;
}

/** Their paths, or why they can't be had here. */
export async function kubeTools(): Promise<KubeTools | string> {
  try {
    const script = resolve(import.meta.dirname, 'kube-tools.sh');
    const { stdout } = await promisify(execFile)(script, { timeout: 300_000 });
    const folder = stdout.trim();
    return { helm: join(folder, 'helm'), kubectl: join(folder, 'kubectl') };
  } catch (error) {
    const { stderr } = error as { stderr?: string };
    return stderr?.trim().split('\n').at(-1) ?? String(error);
  }
}
