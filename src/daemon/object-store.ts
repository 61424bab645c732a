/** The object source that a configuration names, opened. */
import { ManifestStore } from '../store/manifest-store.ts';
import { formatProblem, type Problem } from '../store/manifest-rules.ts';
import { objectRules } from '../store/object-rules.ts';
import type { Store } from '../store/store.ts';

export interface OpenObjects extends AsyncDisposable {
  readonly objects: Store;
  /** What is wrong with manifests and state at the moment. */
  complaints(): readonly Complaint[];
  /** Calls `handler` with the complaints now and whenever they change. */
  onComplaints(handler: (complaints: readonly Complaint[]) => void): void;
}

/** One line about a manifest or a file of the state. A warning keeps nothing from working. */
export interface Complaint {
  readonly severity: 'error' | 'warning';
  readonly text: string;
}

export interface StoreLocation {
  readonly manifests: string;
  readonly state: string;
}

/** Opens the manifests and their state; with `dryRun` nothing is written. */
export async function openStore(
  { manifests, state }: StoreLocation,
  { dryRun }: { readonly dryRun: boolean },
): Promise<OpenObjects> {
  const store = await ManifestStore.open({ manifests, state, dryRun, rules: objectRules });
  return {
    objects: store,
    complaints: () => store.problems.map(complaint),
    onComplaints(handler) {
      store.onProblems((problems) => handler(problems.map(complaint)));
    },
    async [Symbol.asyncDispose]() {
      await store.close();
    },
  };
}

const complaint = (problem: Problem): Complaint => ({
  severity: problem.severity,
  text: formatProblem(problem),
});
