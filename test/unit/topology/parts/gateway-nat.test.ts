import { describe, expect, test } from 'vitest';
import { gatewayNat } from '../../../../src/topology/parts/gateway-nat.ts';
import { withoutGateway } from '../../../support/zone/zone-variants.ts';
import { exampleZone, dualZone } from '../../../support/zone/zones.ts';
import { partTexts } from '../part-texts.ts';

describe('address translation of a gateway router (reference/topology.md §7.6)', () => {
  test('pods and the join address of a primary network leave with its own masquerade address', () => {
    expect(partTexts(gatewayNat, exampleZone, 'blue_blue')).toEqual([
      'NAT GR_blue_blue_ovn-worker snat 100.65.0.2 - external_ids={X2} external_ip=169.254.0.11 external_port_range=32768-60999 logical_ip=100.65.0.2 options={stateless=false} type=snat < Logical_Router/GR_blue_blue_ovn-worker.nat',
      'NAT GR_blue_blue_ovn-worker snat 103.103.0.0/16 - external_ids={X2} external_ip=169.254.0.11 external_port_range=32768-60999 logical_ip=103.103.0.0/16 options={stateless=false} type=snat < Logical_Router/GR_blue_blue_ovn-worker.nat',
    ]);
  });
  test("those of the default network leave with the node's address", () => {
    expect(partTexts(gatewayNat, exampleZone, 'default')).toEqual([
      'NAT GR_ovn-worker snat 10.244.0.0/16 - external_ip=172.18.0.3 external_port_range=32768-60999 logical_ip=10.244.0.0/16 options={stateless=false} type=snat < Logical_Router/GR_ovn-worker.nat',
      'NAT GR_ovn-worker snat 100.64.0.2 - external_ip=172.18.0.3 external_port_range=32768-60999 logical_ip=100.64.0.2 options={stateless=false} type=snat < Logical_Router/GR_ovn-worker.nat',
    ]);
  });
  test('each family has its own address', () => {
    expect(partTexts(gatewayNat, dualZone, 'blue_blue')).toEqual([
      'NAT GR_blue_blue_ovn-worker snat 100.65.0.2 - external_ids={X2} external_ip=169.254.0.11 external_port_range=32768-60999 logical_ip=100.65.0.2 options={stateless=false} type=snat < Logical_Router/GR_blue_blue_ovn-worker.nat',
      'NAT GR_blue_blue_ovn-worker snat 103.103.0.0/16 - external_ids={X2} external_ip=169.254.0.11 external_port_range=32768-60999 logical_ip=103.103.0.0/16 options={stateless=false} type=snat < Logical_Router/GR_blue_blue_ovn-worker.nat',
      'NAT GR_blue_blue_ovn-worker snat fd20:103::/48 - external_ids={X2} external_ip=fd69::b external_port_range=32768-60999 logical_ip=fd20:103::/48 options={stateless=false} type=snat < Logical_Router/GR_blue_blue_ovn-worker.nat',
      'NAT GR_blue_blue_ovn-worker snat fd99::2 - external_ids={X2} external_ip=fd69::b external_port_range=32768-60999 logical_ip=fd99::2 options={stateless=false} type=snat < Logical_Router/GR_blue_blue_ovn-worker.nat',
    ]);
  });
  test('a node without addresses for the outside translates nothing', () => {
    expect(partTexts(gatewayNat, withoutGateway(exampleZone), 'blue_blue')).toEqual([]);
  });
});
