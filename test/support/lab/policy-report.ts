/** What cases of network-policy-api's conformance suite came to, as its own report says it (NPEP-137). Pure. */
import { stringify } from 'yaml';

export interface CaseResult {
  /** Its short name. */
  readonly name: string;
  readonly isPassed: boolean;
}

/** Cases that are not run here, and why. */
export const NOT_RUN: Readonly<Record<string, string>> = {
  CNPAdminTierHairpin:
    'it is about a feature of its own, ClusterNetworkPolicyHairpin: what a pod sends to itself by a service comes back from an address of OVN that no policy names',
};

export function policyReport(
  results: readonly CaseResult[],
  { version, date }: { readonly version: string; readonly date: string },
): string {
  const names = [...new Set(results.map(({ name }) => name))].sort();
  const failed = names.filter((name) => results.some((one) => one.name === name && !one.isPassed));
  const skipped = Object.keys(NOT_RUN).sort();
  const result = failed.length > 0 ? 'failure' : skipped.length > 0 ? 'partial' : 'success';
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
          result,
          summary: Object.entries(NOT_RUN)
            .map(([name, why]) => `${name} was not run: ${why}`)
            .join('. '),
          statistics: {
            Passed: names.length - failed.length,
            Failed: failed.length,
            Skipped: skipped.length,
          },
          skippedTests: skipped,
          ...(failed.length === 0 ? {} : { failedTests: failed }),
        },
      },
    ],
  });
}
