/** The object source that a configuration names, opened. */
import { ManifestStore } from '../store/manifest-store.ts';
import { formatProblem } from '../store/manifest-rules.ts';
import { objectRules } from '../store/object-rules.ts';
import type { Store } from '../store/store.ts';

export interface OpenObjects extends AsyncDisposable {
  readonly objects: Store;
  /** What is wrong with manifests and state at the moment, one line each. */
  problems(): readonly string[];
  /** Calls `handler` with the problems now and whenever they change. */
  onProblems(handler: (problems: readonly string[]) => void): void;
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
    problems: () => store.problems.map(formatProblem),
    onProblems(handler) {
      store.onProblems((problems) => handler(problems.map(formatProblem)));
    },
    async [Symbol.asyncDispose]() {
      await store.close();
    },
  };
}
