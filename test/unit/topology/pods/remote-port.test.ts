import { describe, expect, test } from 'vitest';
import { remotePodPorts } from '../../../../src/topology/pods/remote-port.ts';
import { yellowZone } from '../../../support/zone/zone-variants.ts';
import { farYellowPod, bluePod, exampleZone } from '../../../support/zone/zones.ts';
import { featureTexts } from '../part-texts.ts';

describe("a port of another node's pod (reference/topology.md §9.4, §14)", () => {
  test("on a Layer2 network has the key that it has there, and is bound to that node's chassis", () => {
    expect(
      featureTexts([remotePodPorts], { ...yellowZone, remoteAttachments: [farYellowPod] }),
    ).toEqual([
      'Logical_Switch_Port yellow.yellow.net_yellow_far addresses=[0a:58:69:69:00:04 105.105.0.4] external_ids={k/nad=yellow/yellow-net k/network=cluster_udn_yellow-net k/topology=layer2 namespace=yellow pod=true} options={iface-id-ver=b7a2d6c0-0000-4000-8000-000000000001 requested-chassis=C2 requested-tnl-key=11} port_security=[0a:58:69:69:00:04 105.105.0.4] type=remote up=true < Logical_Switch/cluster_udn_yellow.net_ovn_layer2_switch.ports',
    ]);
  });
  test('whose node has no chassis yet has none', () => {
    expect(
      featureTexts([remotePodPorts], {
        ...yellowZone,
        remoteNodes: [],
        remoteAttachments: [farYellowPod],
      }),
    ).toEqual([]);
  });
  test('on a Layer3 network there is none', () => {
    expect(
      featureTexts([remotePodPorts], {
        ...exampleZone,
        remoteAttachments: [{ ...bluePod, node: 'ovn-worker2' }],
      }),
    ).toEqual([]);
  });
});
