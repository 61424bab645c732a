import { describe, expect, test } from 'vitest';
import { defaultDeny } from '../../../../src/topology/policy/default-deny.ts';
import {
  namespace,
  networkPolicy,
  ownNetwork,
  PolicedZone,
} from '../../../support/zone/policed-zone.ts';
import { rowTexts } from '../../../support/zone/row-text.ts';
import { exampleZone, ipv4Settings, type Zone } from '../../../support/zone/zones.ts';
import { short } from '../unit-texts.ts';

const policy = networkPolicy('blue/p', { podSelector: {} });
const closed = (
  zone: Zone = exampleZone,
  annotations: Readonly<Record<string, string>> = ownNetwork,
): readonly string[] =>
  rowTexts(
    PolicedZone.of(zone, namespace('blue', ownNetwork, annotations), policy).rows(
      new RegExp(`^${defaultDeny.name} blue_blue `),
    ),
  ).map((text) => short(text).replace(/ external_ids=\{[^}]*\}/, ''));
const actions = (texts: readonly string[]): readonly string[] =>
  texts.flatMap((text) => /^ACL .*(action=\S+).*/.exec(text)?.[1] ?? []);

describe('a namespace with a policy (reference/topology.md §16.1)', () => {
  test('has a group per direction, in which all is dropped but what finds neighbours; on the way to a pod earlier tiers pass on what they do not decide', () => {
    expect(closed()).toEqual([
      'ACL blue_blue-network-controller:NetpolNamespace:blue:Egress:arpAllow action=allow direction=from-lport match=inport == @a7fba1dcb5d118fe2ecc1f352db692deb && (arp || nd) name=NP:blue:Egress options={apply-after-lb=true} priority=1001 tier=2 < Port_Group/a7fba1dcb5d118fe2ecc1f352db692deb.acls',
      'ACL blue_blue-network-controller:NetpolNamespace:blue:Egress:defaultDeny action=drop direction=from-lport match=inport == @a7fba1dcb5d118fe2ecc1f352db692deb name=NP:blue:Egress options={apply-after-lb=true} priority=1000 tier=2 < Port_Group/a7fba1dcb5d118fe2ecc1f352db692deb.acls',
      'ACL blue_blue-network-controller:NetpolNamespace:blue:Ingress:arpAllow action=allow direction=to-lport match=outport == @af7fa97dc1fcd6fd2d085121facfeafe2 && (arp || nd) name=NP:blue:Ingress priority=1001 tier=2 < Port_Group/af7fa97dc1fcd6fd2d085121facfeafe2.acls',
      'ACL blue_blue-network-controller:NetpolNamespace:blue:Ingress:defaultDeny action=drop direction=to-lport match=outport == @af7fa97dc1fcd6fd2d085121facfeafe2 name=NP:blue:Ingress priority=1000 tier=2 < Port_Group/af7fa97dc1fcd6fd2d085121facfeafe2.acls',
      'ACL blue_blue-network-controller:NetpolNamespace:blue:Ingress:pass-0 action=pass direction=to-lport match=ct.est && ct_mark.blocked == 1 && outport == @af7fa97dc1fcd6fd2d085121facfeafe2 priority=0 tier=0 < Port_Group/af7fa97dc1fcd6fd2d085121facfeafe2.acls',
      'ACL blue_blue-network-controller:NetpolNamespace:blue:Ingress:pass-1 action=pass direction=to-lport match=ct.est && ct_mark.blocked == 1 && outport == @af7fa97dc1fcd6fd2d085121facfeafe2 priority=0 tier=1 < Port_Group/af7fa97dc1fcd6fd2d085121facfeafe2.acls',
      'Port_Group a7fba1dcb5d118fe2ecc1f352db692deb',
      'Port_Group af7fa97dc1fcd6fd2d085121facfeafe2',
    ]);
  });

  test('lets ICMP through where the cluster is set so', () => {
    const settings = {
      ...ipv4Settings,
      policies: { ...ipv4Settings.policies, passesIcmp: true },
    };
    expect(closed({ ...exampleZone, settings }).join('\n')).toContain('(icmp || icmp6)');
    expect(actions(closed({ ...exampleZone, settings }))).toHaveLength(8);
  });

  test('logs what it drops where the namespace asks for it', () => {
    const asked = closed(exampleZone, { 'k8s.ovn.org/acl-logging': '{"deny":"alert"}' });
    expect(asked.filter((text) => text.includes('severity=alert'))).toHaveLength(2);
    expect(closed().join('\n')).not.toContain('severity');
  });
});
