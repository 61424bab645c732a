/** What deploy/request-priority/ ranks: the accounts and the lease that there are. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { parseAllDocuments } from 'yaml';
import { manifests, ROOT } from '../../support/cluster/deploy-manifests.ts';

interface FlowSchema {
  readonly metadata: { readonly name: string };
  readonly spec: {
    readonly priorityLevelConfiguration: { readonly name: string };
    readonly matchingPrecedence: number;
    readonly rules: readonly {
      readonly subjects: readonly { readonly serviceAccount: object }[];
      readonly resourceRules: readonly { readonly verbs: readonly string[] }[];
    }[];
  };
}
interface Role {
  readonly kind: string;
  readonly metadata: { readonly name: string; readonly namespace?: string };
  readonly rules: readonly {
    readonly resources: readonly string[];
    readonly verbs: readonly string[];
    readonly resourceNames?: readonly string[];
  }[];
}

const schemas = parseAllDocuments(
  readFileSync(join(ROOT, 'deploy/request-priority/flow-schemas.yaml'), 'utf8'),
).map((document) => document.toJS() as FlowSchema);
const [election, rest] = schemas as [FlowSchema, FlowSchema];

test('all accounts of ours are ranked', () => {
  const accounts = manifests
    .filter(({ kind }) => kind === 'ServiceAccount')
    .map(({ metadata: { name, namespace } }) => ({ name, namespace }));
  expect(rest.spec.rules[0]?.subjects.map(({ serviceAccount }) => serviceAccount)).toEqual(
    accounts,
  );
});

test('leader election comes first, by what the role allows of its own lease', () => {
  const rules = (manifests as Role[])
    .filter(({ kind, metadata }) => kind === 'Role' && metadata.name === 'heddle-cluster-own')
    .flatMap((role) => role.rules)
    .filter(({ resources }) => resources.includes('leases'));
  const own = rules.find(({ resourceNames }) => resourceNames !== undefined)?.verbs ?? [];
  expect(election.spec.rules[0]?.resourceRules[0]?.verbs.toSorted()).toEqual(
    [...own, 'create'].sort(),
  );
  // Before Kubernetes' own for all service accounts, 9000.
  expect(election.spec.matchingPrecedence).toBeLessThan(rest.spec.matchingPrecedence);
  expect(rest.spec.matchingPrecedence).toBeLessThan(9000);
});
