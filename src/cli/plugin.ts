/** This command as a plugin of kubectl: `kubectl heddle`. */
import { homedir } from 'node:os';
import { basename, join } from 'node:path';

export const isPlugin = (): boolean => basename(process.argv[1] ?? '') === 'kubectl-heddle';

/** As `kubectl heddle` it asks the API server that kubectl asks. */
export function asPlugin(): void {
  if (isPlugin()) process.env['KUBECONFIG'] ||= join(homedir(), '.kube/config');
}
