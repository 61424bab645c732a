/** What a check of policies or firewalls finds in values. */
import { policedNetwork, type PolicedNetwork } from '../../../src/verify/checks/policed-network.ts';
import { Findings } from '../../../src/verify/findings.ts';
import { datapathsOf } from '../../../src/verify/intent/datapaths.ts';
import { intentOf } from '../../../src/verify/intent/intent.ts';
import { servicesOf } from '../../../src/verify/intent/services.ts';
import { ReadRows } from '../../../src/verify/northbound-rows.ts';
import { rulesOf } from '../../../src/verify/policies/rules.ts';
import { policedObjects } from '../../../src/verify/policies/selected-pods.ts';
import type { Policies, Snapshot } from '../../../src/verify/snapshot.ts';

/** `<object>: <what>`, and what is not decided. */
export function foundBy(
  check: (policed: PolicedNetwork) => Generator<undefined, void>,
  snapshot: Snapshot,
  { namespaced = [], admins = [], firewalls = [] }: Partial<Policies>,
): readonly string[] {
  const findings = new Findings();
  const intent = intentOf(snapshot, findings);
  const at = {
    rows: new ReadRows(snapshot.northbound),
    datapaths: datapathsOf(snapshot.northbound, intent),
    intent,
    services: servicesOf(snapshot.objects, intent),
    objects: policedObjects(intent, snapshot.objects),
    rules: rulesOf({ namespaced, admins, firewalls }),
    settings: snapshot.settings,
  };
  for (const network of intent.networks) {
    const policed = policedNetwork(network, at, findings);
    if (policed !== undefined) Array.from(check(policed));
  }
  return [
    ...findings.violations.map(({ object, what }) => `${object}: ${what}`),
    ...findings.undecided,
  ];
}
