import { expect, test } from 'vitest';
import { EGRESS_ASSIGNABLE_LABEL } from '../../../src/api/annotations/network-annotations.ts';
import type { Node } from '../../../src/api/types.ts';
import type { EgressLeaseState } from '../../../src/model/zone/egress-lease.ts';
import { createLogger } from '../../../src/process/logger.ts';
import {
  NodeEgressLease,
  type NodeEgressLeaseOptions,
} from '../../../src/zone/node-egress-lease.ts';
import { exampleZone, factsOf } from '../../support/zone/zones.ts';

const HERE = 'ovn-worker';

/** Of a daemon that no manager has heard since it started; nothing of it runs. */
function leaseOf(state: EgressLeaseState, egressNodes: readonly string[]): NodeEgressLease {
  const facts = factsOf(exampleZone);
  facts.egressLease.put([], { state });
  const nodes = egressNodes.map((name): Node => ({
    apiVersion: 'v1',
    kind: 'Node',
    metadata: { name, labels: { [EGRESS_ASSIGNABLE_LABEL]: '' } },
  }));
  const informers = {
    of: ({ kind }: { readonly kind: string }) => ({
      list: () => (kind === 'Node' ? nodes : []),
      get: (name: string) => nodes.find(({ metadata }) => metadata.name === name),
    }),
  };
  return new NodeEgressLease({
    node: HERE,
    settings: facts.settings,
    informers: informers as unknown as NodeEgressLeaseOptions['informers'],
    facts,
    host: {} as NodeEgressLeaseOptions['host'],
    log: createLogger('silent'),
    onFence: () => undefined,
    onChange: () => undefined,
  });
}

const ALONE = [HERE];
const AMONG_OTHERS = [HERE, 'ovn-worker2', 'ovn-worker3'];

test.for([
  ['the only egress node', ALONE],
  ['one of three', AMONG_OTHERS],
] as const)(
  'before a manager is heard what leaves without a fence goes on, and a fence that is there is not opened: %s',
  ([, egressNodes]) => {
    const lease = leaseOf('unknown', egressNodes);
    expect(lease.mayOpenFence(true)).toBe(true);
    expect(lease.mayOpenFence(false)).toBe(false);
  },
);

test('a node that has let its addresses go opens no fence, were it a new one', () => {
  const lease = leaseOf('lost', ALONE);
  expect(lease.mayOpenFence(true)).toBe(false);
});
