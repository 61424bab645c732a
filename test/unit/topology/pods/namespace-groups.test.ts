import { describe, expect, test } from 'vitest';
import {
  defaultNamespaceGroups,
  namespaceGroups,
} from '../../../../src/topology/pods/namespace-groups.ts';
import { exampleZone } from '../../../support/zone/zones.ts';
import { featureTexts } from '../part-texts.ts';

describe('groups of the pods of a namespace (reference/topology.md §5)', () => {
  test('are there on the default network, and on a primary one for the namespaces that it serves', () => {
    expect(featureTexts([defaultNamespaceGroups, namespaceGroups], exampleZone)).toEqual([
      'Port_Group a3611962815694738969 external_ids={k/id=blue_blue-network-controller:Namespace:blue k/name=blue k/owner-controller=blue_blue-network-controller k/owner-type=Namespace}',
      'Port_Group a5290398105912930473 external_ids={k/id=default-network-controller:Namespace:blue k/name=blue k/owner-controller=default-network-controller k/owner-type=Namespace}',
      'Port_Group a5680351521869907322 external_ids={k/id=default-network-controller:Namespace:default k/name=default k/owner-controller=default-network-controller k/owner-type=Namespace}',
      'Port_Group a7532440305922190058 external_ids={k/id=default-network-controller:Namespace:kube-system k/name=kube-system k/owner-controller=default-network-controller k/owner-type=Namespace}',
    ]);
  });
});
