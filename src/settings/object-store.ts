/** The object source that a configuration names, opened. What the other source needs (the rules of our CRDs, or TLS) is not loaded. */
import { statSync } from 'node:fs';
import { systemClock } from '../store/clock.ts';
import type { KubernetesConnection } from '../store/kubernetes/kubernetes-connection.ts';
import type { LeaseTiming } from '../store/kubernetes/kubernetes-lease.ts';
import type { Store } from '../store/store.ts';
import { ConfigurationError } from '../process/configuration-error.ts';
import type { Configuration } from './configuration.ts';

/** Where objects come from: exactly one of the two. */
export type ObjectSource =
  | { readonly kind: 'manifests'; readonly manifests: string; readonly state: string }
  | { readonly kind: 'kubernetes'; readonly files: readonly string[]; readonly context?: string };

export interface OpenObjects extends AsyncDisposable {
  readonly objects: Store;
  /** True when every process of the installation may be the cluster manager as well. */
  readonly isEmbedded: boolean;
  /** What is wrong with manifests and state at the moment. */
  complaints(): readonly Complaint[];
  /** `FILE:LINE` of an object (`Kind namespace/name`), where a file declares it. */
  placeOf(object: string): string | undefined;
  /** Calls `handler` with the complaints now and whenever they change. */
  onComplaints(handler: (complaints: readonly Complaint[]) => void): void;
}

/** One line about a manifest or a file of the state. A warning keeps nothing from working. */
export interface Complaint {
  readonly severity: 'error' | 'warning';
  readonly text: string;
}

/**
 * The source that the settings name: `--manifests` with `--state`; else `--kubeconfig`, KUBECONFIG or the service account of the
 * pod. Throws ConfigurationError when there is none or half of one.
 */
export function objectSource(
  { manifests, state, kubeconfig, context }: Configuration,
  environment: Readonly<Record<string, string | undefined>>,
): ObjectSource {
  if (manifests !== undefined) {
    if (kubeconfig !== undefined)
      throw new ConfigurationError('--manifests', 'and --kubeconfig exclude each other');
    if (state === undefined)
      throw new ConfigurationError(
        '--state',
        'is required with --manifests: allocations are kept there',
      );
    return { kind: 'manifests', manifests, state };
  }
  const files = kubeconfig ?? environment['KUBECONFIG'] ?? '';
  const isInCluster = (environment['KUBERNETES_SERVICE_HOST'] ?? '') !== '';
  if (files === '' && !isInCluster)
    throw new ConfigurationError(
      '--manifests',
      'is required (a directory of manifests), or --kubeconfig for a Kubernetes API server',
    );
  return {
    kind: 'kubernetes',
    files: files.split(':').filter((file) => file !== ''),
    ...(context === undefined ? {} : { context }),
  };
}

/** Opens the source; with `dryRun` nothing is written, which only manifests can promise. */
export async function openStore(
  source: ObjectSource,
  { dryRun, leaseTiming }: { readonly dryRun: boolean; readonly leaseTiming?: LeaseTiming },
): Promise<OpenObjects> {
  return source.kind === 'manifests'
    ? openManifests(source, dryRun)
    : openKubernetes(source, leaseTiming);
}

async function openManifests(
  { manifests, state }: Extract<ObjectSource, { kind: 'manifests' }>,
  dryRun: boolean,
): Promise<OpenObjects> {
  assertFolder('--state', state);
  // A daemon's manifests may come; who asks once has named what is not there.
  if (dryRun && statSync(manifests, { throwIfNoEntry: false }) === undefined)
    throw new ConfigurationError('--manifests', `there is no file or directory ${manifests}`);
  const [{ ManifestStore }, { formatProblem }, { objectRules }] = await Promise.all([
    import('../store/manifests/manifest-store.ts'),
    import('../store/manifests/manifest-rules.ts'),
    import('../store/object-rules.ts'),
  ]);
  const store = await ManifestStore.open({ manifests, state, dryRun, rules: objectRules });
  const complaint = (problem: (typeof store.problems)[number]): Complaint => ({
    severity: problem.severity,
    text: formatProblem(problem),
  });
  return {
    objects: store,
    isEmbedded: true,
    complaints: () => store.problems.map(complaint),
    placeOf(object) {
      const place = store.placeOf(object);
      return place === undefined ? undefined : `${place.file}:${place.line}`;
    },
    onComplaints(handler) {
      store.onProblems((problems) => handler(problems.map(complaint)));
    },
    async [Symbol.asyncDispose]() {
      await store.close();
    },
  };
}

/** One that is not there is made. Throws ConfigurationError. */
function assertFolder(flag: string, path: string): void {
  if (statSync(path, { throwIfNoEntry: false })?.isDirectory() === false)
    throw new ConfigurationError(flag, `${path} is not a directory`);
}

async function openKubernetes(
  { files, context }: Extract<ObjectSource, { kind: 'kubernetes' }>,
  leaseTiming: LeaseTiming | undefined,
): Promise<OpenObjects> {
  const { KubernetesStore } = await import('../store/kubernetes/kubernetes-store.ts');
  const connection = await kubernetesConnection(files, context);
  const store = new KubernetesStore({
    connection,
    ...(leaseTiming === undefined ? {} : { leaseTiming }),
  });
  return {
    objects: store,
    isEmbedded: false,
    complaints: () => [],
    placeOf: () => undefined,
    onComplaints(handler) {
      handler([]);
    },
    async [Symbol.asyncDispose]() {
      await store.close();
    },
  };
}

/** By files, or by the service account of the pod when there are none. */
async function kubernetesConnection(
  files: readonly string[],
  context: string | undefined,
): Promise<KubernetesConnection> {
  if (files.length === 0) {
    const { inClusterConnection } = await import('../store/kubernetes/kubernetes-connection.ts');
    return inClusterConnection(process.env);
  }
  const { kubeconfigConnection } = await import('../store/kubernetes/kubeconfig.ts');
  return kubeconfigConnection({
    files,
    clock: systemClock,
    environment: process.env,
    ...(context === undefined ? {} : { context }),
  });
}
