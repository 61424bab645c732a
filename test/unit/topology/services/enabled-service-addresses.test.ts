import { describe, expect, test } from 'vitest';
import { enabledServiceAddresses } from '../../../../src/topology/services/enabled-service-addresses.ts';
import { dualZone, exampleZone } from '../../../support/zone/zones.ts';
import { featureTexts } from '../part-texts.ts';

describe('services that every primary network may use (reference/topology.md §5)', () => {
  test('their cluster IPs are in one set per family', () => {
    expect(featureTexts([enabledServiceAddresses], dualZone)).toEqual([
      'Address_Set a94829b0385c8d9db1114a965bf046fd4 addresses=[fd00:10:96::1, fd00:10:96::a] external_ids={ip-family=v6 k/id=udn-enabled-svc:UDNEnabledService:udn-enabled-svc-cluster-ips:v6 k/name=udn-enabled-svc-cluster-ips k/owner-controller=udn-enabled-svc k/owner-type=UDNEnabledService}',
      'Address_Set ad29e219e8c033e3b3094bc506a4db05c addresses=[10.96.0.1, 10.96.0.10] external_ids={ip-family=v4 k/id=udn-enabled-svc:UDNEnabledService:udn-enabled-svc-cluster-ips:v4 k/name=udn-enabled-svc-cluster-ips k/owner-controller=udn-enabled-svc k/owner-type=UDNEnabledService}',
    ]);
  });
  test('without any the set is there, and empty', () => {
    expect(
      featureTexts([enabledServiceAddresses], { ...exampleZone, allowedDefaultServices: [] }),
    ).toEqual([
      'Address_Set ad29e219e8c033e3b3094bc506a4db05c external_ids={ip-family=v4 k/id=udn-enabled-svc:UDNEnabledService:udn-enabled-svc-cluster-ips:v4 k/name=udn-enabled-svc-cluster-ips k/owner-controller=udn-enabled-svc k/owner-type=UDNEnabledService}',
    ]);
  });
});
