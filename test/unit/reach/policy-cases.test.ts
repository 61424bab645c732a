/** The cases of Kubernetes and of ClusterNetworkPolicies, which test/e2e/policy-cases.test.ts sends packets for: what objects alone say is what those show. */
import { expect, test } from 'vitest';
import { POLICY_CASES } from '../../support/lab/policy-cases.ts';
import { reachOfStep } from '../../support/lab/table-reach.ts';
import { NETWORKS, PLACES, viasOf, type Step } from '../../support/lab/truth-table.ts';

const askedBy = (step: Pick<Step, 'hasSctp'>) =>
  NETWORKS.flatMap((network) =>
    PLACES.flatMap((from) =>
      PLACES.filter((to) => to !== from).flatMap((to) =>
        viasOf(step).map((via) => ({ network, from, to, via })),
      ),
    ),
  );

test.each(POLICY_CASES)('%s', (_, ...steps) => {
  for (const { open, ...step } of steps) {
    const isOpen = reachOfStep(step);
    const asked = askedBy(step);
    const line = ({ network, from, to, via }: (typeof asked)[number], is: boolean): string =>
      `${network}: ${from.key} to ${to.key} ${via}: ${is ? 'open' : 'closed'}`;
    expect(asked.map((one) => line(one, isOpen(one.network, one.from, one.to, one.via)))).toEqual(
      asked.map((one) => line(one, open(one.from, one.to, one.via))),
    );
  }
});
