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
      'Port_Group a17f08d58bdf9dc5f3a76d3e7224b8469 external_ids={k/id=default-network-controller:Namespace:blue k/name=blue k/owner-controller=default-network-controller k/owner-type=Namespace}',
      'Port_Group a738b3352beeb1cf3c2db1b084d93357e external_ids={k/id=blue_blue-network-controller:Namespace:blue k/name=blue k/owner-controller=blue_blue-network-controller k/owner-type=Namespace}',
      'Port_Group a9f0b802724b1dd188dedcf40cd9ad8cb external_ids={k/id=default-network-controller:Namespace:kube-system k/name=kube-system k/owner-controller=default-network-controller k/owner-type=Namespace}',
      'Port_Group aec3d32141b870bbe686793a421651a23 external_ids={k/id=default-network-controller:Namespace:default k/name=default k/owner-controller=default-network-controller k/owner-type=Namespace}',
    ]);
  });
});
