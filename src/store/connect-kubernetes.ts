import { access } from 'node:fs/promises';
import { join } from 'node:path';
import { systemClock, type Clock } from './clock.ts';
import { kubeconfigConnection } from './kubeconfig.ts';
import { inClusterConnection, type KubernetesConnection } from './kubernetes-connection.ts';
import { StoreError } from './store.ts';

export interface KubernetesChoice {
  /** kubeconfig files, separated by colons as in `$KUBECONFIG`. Default: the pod's service account, else what kubectl uses. */
  readonly kubeconfig?: string;
  readonly context?: string;
  readonly environment: Readonly<Record<string, string | undefined>>;
  readonly clock?: Clock;
}

/** The API server that a command means: the one named, else the one that its pod lives in, else kubectl's. */
export async function connectKubernetes(choice: KubernetesChoice): Promise<KubernetesConnection> {
  const { environment, context, clock = systemClock } = choice;
  const fromFiles = (list: string): Promise<KubernetesConnection> =>
    kubeconfigConnection({
      files: list.split(':').filter((file) => file !== ''),
      clock,
      environment,
      ...(context === undefined ? {} : { context }),
    });
  if (choice.kubeconfig !== undefined) return fromFiles(choice.kubeconfig);
  if (context === undefined && environment['KUBERNETES_SERVICE_HOST'] !== undefined)
    return inClusterConnection(environment);
  const { KUBECONFIG: listed = '', HOME: home } = environment;
  if (listed !== '') return fromFiles(listed);
  const usual = home === undefined ? undefined : join(home, '.kube/config');
  if (usual !== undefined && (await exists(usual))) return fromFiles(usual);
  throw new StoreError(
    'unavailable',
    'no source of objects: name a directory with --manifests, or a cluster with a kubeconfig file ($KUBECONFIG or ~/.kube/config)',
  );
}

const exists = (path: string): Promise<boolean> =>
  access(path).then(
    () => true,
    () => false,
  );
