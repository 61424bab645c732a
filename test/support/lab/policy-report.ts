/** What cases of network-policy-api's conformance suite came to, as its own report says it (NPEP-137). Pure. */
import { stringify } from 'yaml';

export interface CaseResult {
  /** Its short name. */
  readonly name: string;
  readonly isPassed: boolean;
}

export function policyReport(
  results: readonly CaseResult[],
  { version, date }: { readonly version: string; readonly date: string },
): string {
  const names = [...new Set(results.map(({ name }) => name))].sort();
  const failed = names.filter((name) => results.some((one) => one.name === name && !one.isPassed));
  return stringify({
    apiVersion: 'policy.networking.k8s.io/v1alpha1',
    kind: 'ConformanceReport',
    date,
    implementation: { organization: 'heddle', project: 'Heddle', version },
    networkPolicyV2APIVersion: 'v0.2.0',
    profiles: [
      {
        name: 'ClusterNetworkPolicy',
        standard: {
          result: failed.length > 0 ? 'failure' : 'success',
          summary: '',
          statistics: { Passed: names.length - failed.length, Failed: failed.length, Skipped: 0 },
          ...(failed.length === 0 ? {} : { failedTests: failed }),
        },
      },
    ],
  });
}
