import { describe, expect, test } from 'vitest';
import { podPorts } from '../../../../src/topology/pods/port.ts';
import { withPods, yellowZone } from '../../../support/zone/zone-variants.ts';
import { bluePod, bluePodDefault, yellowPod } from '../../../support/zone/zones.ts';
import { featureTexts } from '../part-texts.ts';

describe('a port of a pod of this node (reference/topology.md §14)', () => {
  test('has the addresses of the pod alone, and is bound to the chassis of the node', () => {
    expect(featureTexts([podPorts], withPods(bluePod))).toEqual([
      'Logical_Switch_Port blue.blue_blue_pod1 addresses=[0a:58:67:67:00:03 103.103.0.3] external_ids={k/nad=blue/blue X2 namespace=blue pod=true} options={iface-id-ver=b7a2d6c0-0000-4000-8000-000000000001 requested-chassis=C1} port_security=[0a:58:67:67:00:03 103.103.0.3] < Logical_Switch/blue_blue_ovn-worker.ports < Port_Group/a738b3352beeb1cf3c2db1b084d93357e.ports',
    ]);
  });
  test('on the default network it is in the group of isolated pods', () => {
    expect(featureTexts([podPorts], withPods(bluePodDefault))).toEqual([
      'Logical_Switch_Port blue_pod1 addresses=[0a:58:0a:f4:00:03 10.244.0.3] external_ids={namespace=blue pod=true} options={iface-id-ver=b7a2d6c0-0000-4000-8000-000000000001 requested-chassis=C1} port_security=[0a:58:0a:f4:00:03 10.244.0.3] < Logical_Switch/ovn-worker.ports < Port_Group/a17f08d58bdf9dc5f3a76d3e7224b8469.ports < Port_Group/a3a4889fb3a1fe0b23514b7ae1188b05c.ports',
    ]);
  });
  test('it has as many connections as the setting says', () => {
    const facts = withPods(bluePod);
    const settings = { ...facts.settings, podConnections: 500 };
    expect(featureTexts([podPorts], { ...facts, settings })).toEqual([
      expect.stringContaining(
        'options={ct-zone-limit=500 iface-id-ver=b7a2d6c0-0000-4000-8000-000000000001 requested-chassis=C1}',
      ),
    ]);
  });
  test("on a Layer2 network it has the pod's key in every zone", () => {
    expect(featureTexts([podPorts], { ...yellowZone, attachments: [yellowPod] })).toEqual([
      'Logical_Switch_Port yellow.yellow.net_yellow_pod2 addresses=[0a:58:69:69:00:03 105.105.0.3] external_ids={k/nad=yellow/yellow-net k/network=cluster_udn_yellow-net k/topology=layer2 namespace=yellow pod=true} options={iface-id-ver=b7a2d6c0-0000-4000-8000-000000000001 requested-chassis=C1 requested-tnl-key=10} port_security=[0a:58:69:69:00:03 105.105.0.3] < Logical_Switch/cluster_udn_yellow.net_ovn_layer2_switch.ports < Port_Group/abdf33ae1446939b6c51bf7c39abf21fb.ports',
    ]);
  });
});
