/** kubectl on this machine, for the API server of a lab. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { LabError } from '../paths.ts';
import type { LabRecord } from '../state-file.ts';
import { hasKubernetes, kubeconfigFile } from './files.ts';
import { programPath } from './programs.ts';

/** Runs it with our own terminal or pipes; resolves with its exit code. */
export async function kubectl(
  { name }: LabRecord,
  args: readonly string[],
  progress: (line: string) => void,
): Promise<number> {
  if (!hasKubernetes(name))
    throw new LabError(
      `lab '${name}' has no Kubernetes API server: 'heddle lab up --kubernetes --name ${name}' gives it one`,
    );
  const child = spawn(await programPath('kubectl', progress), args, {
    stdio: 'inherit',
    env: { ...process.env, KUBECONFIG: kubeconfigFile(name) },
  });
  // Ctrl-C reaches it by itself, being in the same process group; we wait for what it makes of it.
  const ignore = (): void => {};
  process.on('SIGINT', ignore);
  try {
    const [code] = (await once(child, 'close')) as [number | null];
    return code ?? 1;
  } finally {
    process.off('SIGINT', ignore);
  }
}
