import { describe, expect, test } from 'vitest';
import type { ZoneFacts } from '../../../../src/model/zone/zone.ts';
import { externalSwitch } from '../../../../src/topology/parts/external-switch.ts';
import { withGateway } from '../../../support/zone/zone-variants.ts';
import { layer3Network } from '../../../../src/topology/networks/layer3.ts';
import { builtUnits } from '../../../support/zone/built-rows.ts';
import { dualZone, exampleZone, factsOf } from '../../../support/zone/zones.ts';
import { partTexts } from '../part-texts.ts';

/** Of all networks, what is known of neighbours that are no masquerade addresses. */
const nextHopsIn = (facts: ZoneFacts): readonly string[] =>
  builtUnits(facts, [layer3Network])
    .flatMap(({ rows }) => rows)
    .filter(({ rule }) => rule === 'next-hop-neighbours')
    .map(({ key, columns }) => `${key} ${JSON.stringify(columns['mac'])}`);

describe('the switch between a gateway router and the external bridge (reference/topology.md §7.3)', () => {
  test('has the addresses and the MAC of the node, and its own masquerade address beside them', () => {
    expect(partTexts(externalSwitch, exampleZone, 'blue_blue')).toEqual([
      'Logical_Router_Port rtoe-GR_blue_blue_ovn-worker external_ids={X2} mac=0a:58:ac:12:00:03 networks=[172.18.0.3/16, 169.254.0.11/32] < Logical_Router/GR_blue_blue_ovn-worker.ports',
      'Logical_Switch ext_blue_blue_ovn-worker external_ids={X3}',
      'Logical_Switch_Port breth0_blue_blue_ovn-worker addresses=[unknown] external_ids={X2} options={network_name=physnet} type=localnet up=false < Logical_Switch/ext_blue_blue_ovn-worker.ports',
      'Logical_Switch_Port etor-GR_blue_blue_ovn-worker addresses=[0a:58:ac:12:00:03] external_ids={X2} options={router-port=rtoe-GR_blue_blue_ovn-worker} type=router up=true < Logical_Switch/ext_blue_blue_ovn-worker.ports',
      'Static_MAC_Binding rtoe-GR_blue_blue_ovn-worker 169.254.0.2 ip=169.254.0.2 logical_port=rtoe-GR_blue_blue_ovn-worker mac=0a:58:a9:fe:00:02 override_dynamic_mac=true',
      'Static_MAC_Binding rtoe-GR_blue_blue_ovn-worker 169.254.0.4 ip=169.254.0.4 logical_port=rtoe-GR_blue_blue_ovn-worker mac=0a:58:a9:fe:00:04 override_dynamic_mac=true',
    ]);
  });
  test('the default network alone announces itself', () => {
    expect(partTexts(externalSwitch, exampleZone, 'default')).toEqual([
      'Logical_Router_Port rtoe-GR_ovn-worker external_ids={gateway-physical-ip=yes} mac=0a:58:ac:12:00:03 networks=[172.18.0.3/16] < Logical_Router/GR_ovn-worker.ports',
      'Logical_Switch ext_ovn-worker',
      'Logical_Switch_Port breth0_ovn-worker addresses=[unknown] options={network_name=physnet} type=localnet up=false < Logical_Switch/ext_ovn-worker.ports',
      'Logical_Switch_Port etor-GR_ovn-worker addresses=[0a:58:ac:12:00:03] options={exclude-lb-vips-from-garp=true nat-addresses=router router-port=rtoe-GR_ovn-worker} type=router up=true < Logical_Switch/ext_ovn-worker.ports',
      'Static_MAC_Binding rtoe-GR_ovn-worker 169.254.0.4 ip=169.254.0.4 logical_port=rtoe-GR_ovn-worker mac=0a:58:a9:fe:00:04 override_dynamic_mac=true',
    ]);
  });
  test("is in the VLAN of the node's gateway", () => {
    expect(partTexts(externalSwitch, withGateway({ vlan: 7 }), 'blue_blue')).toEqual([
      'Logical_Router_Port rtoe-GR_blue_blue_ovn-worker external_ids={X2} mac=0a:58:ac:12:00:03 networks=[172.18.0.3/16, 169.254.0.11/32] < Logical_Router/GR_blue_blue_ovn-worker.ports',
      'Logical_Switch ext_blue_blue_ovn-worker external_ids={X3}',
      'Logical_Switch_Port breth0_blue_blue_ovn-worker addresses=[unknown] external_ids={X2} options={network_name=physnet} tag_request=7 type=localnet up=false < Logical_Switch/ext_blue_blue_ovn-worker.ports',
      'Logical_Switch_Port etor-GR_blue_blue_ovn-worker addresses=[0a:58:ac:12:00:03] external_ids={X2} options={router-port=rtoe-GR_blue_blue_ovn-worker} type=router up=true < Logical_Switch/ext_blue_blue_ovn-worker.ports',
      'Static_MAC_Binding rtoe-GR_blue_blue_ovn-worker 169.254.0.2 ip=169.254.0.2 logical_port=rtoe-GR_blue_blue_ovn-worker mac=0a:58:a9:fe:00:02 override_dynamic_mac=true',
      'Static_MAC_Binding rtoe-GR_blue_blue_ovn-worker 169.254.0.4 ip=169.254.0.4 logical_port=rtoe-GR_blue_blue_ovn-worker mac=0a:58:a9:fe:00:04 override_dynamic_mac=true',
    ]);
  });

  test('networks of users know the next hops whose MAC addresses the kernel of the host knows on the bridge, and no others', () => {
    const facts = factsOf(dualZone);
    facts.nextHops.put(['eth1', '172.18.0.1'], { mac: '02:00:00:00:00:09' });
    facts.nextHops.put(['breth0', '172.18.0.7'], { mac: '02:00:00:00:00:07' });
    expect(nextHopsIn(facts)).toEqual([]);
    facts.nextHops.put(['breth0', '172.18.0.1'], { mac: '02:00:00:00:00:01' });
    facts.nextHops.put(['breth0', 'fc00:f853::1'], { mac: '02:00:00:00:00:02' });
    expect(nextHopsIn(facts)).toEqual([
      'rtoe-GR_blue_blue_ovn-worker 172.18.0.1 "02:00:00:00:00:01"',
      'rtoe-GR_blue_blue_ovn-worker fc00:f853::1 "02:00:00:00:00:02"',
    ]);
  });
});
