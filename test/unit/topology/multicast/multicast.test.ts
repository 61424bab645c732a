import { describe, expect, test } from 'vitest';
import type { Namespace } from '../../../../src/api/types.ts';
import { hashedName } from '../../../../src/topology/rows/object-ids.ts';
import {
  namespace,
  ownNetwork,
  PolicedZone,
  policedPod,
} from '../../../support/zone/policed-zone.ts';
import { rowTexts } from '../../../support/zone/row-text.ts';
import { dualZone, exampleZone, ipv6Zone, type Zone } from '../../../support/zone/zones.ts';
import { short } from '../unit-texts.ts';

const withMulticast = (zone: Zone): Zone => ({
  ...zone,
  settings: {
    ...zone.settings,
    features: {
      egressIp: false,
      egressFirewall: false,
      egressService: false,
      externalRoutes: false,
      multicast: true,
    },
  },
});

const asking = (name: string, labels: Record<string, string> = {}): Namespace =>
  namespace(name, labels, { 'k8s.ovn.org/multicast-enabled': 'true' });

const blue = asking('blue', ownNetwork);
const pods = [
  policedPod('blue/web', { on: 'blue/blue', address: '103.103.0.3/16' }),
  policedPod('blue/far', { on: 'blue/blue', node: 'ovn-worker2', address: '103.103.1.5/16' }),
];

/** Matches of the ACLs of namespaces, by controller, namespace and direction. */
const matchesOf = (zone: PolicedZone): Record<string, string> =>
  Object.fromEntries(
    zone
      .rows(/^multicast\/namespaces /)
      .map(({ key, columns }) => [
        key.replace(':MulticastNS', '').replace('-network-controller', ''),
        columns['match'] as string,
      ]),
  );

const SENDERS = hashedName('blue_blue-network-controller:PodSelector:blue_LS{}_LNM:v4');

describe('a namespace that asks for multicast', () => {
  test('has the rows of reference/topology.md §16.4 on its primary network', () => {
    const zone = PolicedZone.of(withMulticast(exampleZone), blue, ...pods);
    expect(
      rowTexts(
        zone.rows(/^(multicast\/namespaces|policy\/pod-addresses|pods\/.*groups) blue_blue/),
      ).map(short),
    ).toEqual(
      [
        'ACL blue_blue-network-controller:MulticastNS:blue:Egress action=allow direction=from-lport external_ids={direction=Egress k/id=blue_blue-network-controller:MulticastNS:blue:Egress k/name=blue k/owner-controller=blue_blue-network-controller k/owner-type=MulticastNS} match=inport == @a738b3352beeb1cf3c2db1b084d93357e && ip4.mcast options={apply-after-lb=true} priority=1012 tier=2 < Port_Group/a738b3352beeb1cf3c2db1b084d93357e.acls',
        'ACL blue_blue-network-controller:MulticastNS:blue:Ingress action=allow direction=to-lport external_ids={direction=Ingress k/id=blue_blue-network-controller:MulticastNS:blue:Ingress k/name=blue k/owner-controller=blue_blue-network-controller k/owner-type=MulticastNS} match=outport == @a738b3352beeb1cf3c2db1b084d93357e && (igmp || (ip4.src == $SENDERS && ip4.mcast)) priority=1012 tier=2 < Port_Group/a738b3352beeb1cf3c2db1b084d93357e.acls',
        'Address_Set SENDERS addresses=[103.103.0.3, 103.103.1.5] external_ids={ip-family=v4 k/id=blue_blue-network-controller:PodSelector:blue_LS{}_LNM:v4 k/name=blue_LS{}_LNM k/owner-controller=blue_blue-network-controller k/owner-type=PodSelector}',
        'Port_Group a738b3352beeb1cf3c2db1b084d93357e external_ids={k/id=blue_blue-network-controller:Namespace:blue k/name=blue k/owner-controller=blue_blue-network-controller k/owner-type=Namespace}',
      ].map((text) => text.replaceAll('SENDERS', SENDERS)),
    );
  });

  test('has them on the default network too, and on no network of others', () => {
    const zone = PolicedZone.of(
      withMulticast(exampleZone),
      blue,
      asking('red'),
      namespace('green'),
    );
    expect(Object.keys(matchesOf(zone)).sort()).toEqual([
      'blue_blue:blue:Egress',
      'blue_blue:blue:Ingress',
      'default:blue:Egress',
      'default:blue:Ingress',
      'default:red:Egress',
      'default:red:Ingress',
    ]);
  });

  test('has one ACL per direction for all families of the network', () => {
    const groups = String.raw`\(ip6\.dst\[120\.\.127\] == 0xff && ip6\.dst\[116\] == 1\)`;
    const both = matchesOf(PolicedZone.of(withMulticast(dualZone), blue));
    expect(both['blue_blue:blue:Egress']).toMatch(
      new RegExp(
        String.raw`^inport == @a[\da-f]+ && \(ip4\.mcast \|\| \(mldv1 \|\| mldv2 \|\| ${groups}\)\)$`,
      ),
    );
    expect(both['blue_blue:blue:Ingress']).toMatch(
      new RegExp(
        String.raw`^outport == @a[\da-f]+ && \(\(igmp \|\| \(ip4\.src == \$a[\da-f]+ && ip4\.mcast\)\) \|\| \(mldv1 \|\| mldv2 \|\| \(ip6\.src == \$a[\da-f]+ && ${groups}\)\)\)$`,
      ),
    );
    const v6 = matchesOf(PolicedZone.of(withMulticast(ipv6Zone), blue));
    expect(v6['blue_blue:blue:Egress']).toMatch(
      new RegExp(String.raw`&& \(mldv1 \|\| mldv2 \|\| ${groups}\)$`),
    );
  });

  test('asks for nothing where multicast is not denied', () => {
    const zone = PolicedZone.of(exampleZone, blue, ...pods);
    expect(zone.rows(/^(multicast|policy)\//)).toEqual([]);
  });

  test('has nothing left when it asks no more', () => {
    const zone = PolicedZone.of(withMulticast(exampleZone), blue, ...pods);
    zone.put(namespace('blue', ownNetwork));
    expect(zone.rows(/^(multicast\/namespaces|policy)/)).toEqual([]);
  });

  test('waits for the pods of other nodes before it has a set of senders', () => {
    const zone = PolicedZone.withoutOtherPods(withMulticast(exampleZone), blue);
    expect(zone.units(/^policy\/pod-addresses default/).map(({ failure }) => failure)).toEqual([
      'the pods of other nodes are not read yet',
    ]);
  });
});
