import { createHash } from 'node:crypto';
import { expect, test } from 'vitest';
import type { EgressFirewall } from '../../../../src/api/types.ts';
import { checkFirewalls } from '../../../../src/verify/checks/firewalls.ts';
import type { Snapshot } from '../../../../src/verify/snapshot.ts';
import { foundBy } from '../../../support/verify/policed.ts';
import { acl, joinedSnapshot } from '../../../support/verify/joined-zone.ts';
import { NODE } from '../../../support/verify/small-zone.ts';

type Rules = EgressFirewall['spec']['egress'];

const firewall = (egress: Rules, name = 'default'): EgressFirewall => ({
  apiVersion: 'k8s.ovn.org/v1',
  kind: 'EgressFirewall',
  metadata: { namespace: 'blue', name },
  spec: { egress },
});
const found = (snapshot: Snapshot, ...firewalls: readonly EgressFirewall[]): readonly string[] =>
  foundBy(checkFirewalls, snapshot, { firewalls });

const ALLOWED = '192.0.2.0/24';
const WEB: Rules = [
  { type: 'Allow', to: { cidrSelector: ALLOWED }, ports: [{ protocol: 'TCP', port: 443 }] },
  { type: 'Deny', to: { cidrSelector: '0.0.0.0/0' } },
];
const OWNER = { external_ids: ['map', [['heddle', 'EgressFirewall blue/default']]] };
/** A row of a rule: of pods in the group, on the way out of their switch. */
const rule = (index: number, action: 'allow' | 'drop', match: string) =>
  acl('pods', 'to-lport', `${match} && inport == @pods`, {
    action,
    priority: 10_000 - index,
    ...OWNER,
  });
const ALLOW = rule(0, 'allow', `(ip4.dst == ${ALLOWED}) && ((tcp && ( tcp.dst == 443 )))`);
const DENY = rule(1, 'drop', '(ip4.dst == 0.0.0.0/0 && ip4.dst != 10.20.0.0/16)');
const PODS = ['blue.net_blue_a', 'blue.net_blue_b'];
const zone = (
  acls: readonly ReturnType<typeof rule>[],
  pods: readonly string[] = PODS,
  more: Parameters<typeof joinedSnapshot>[0] = {},
): Snapshot => joinedSnapshot({ groups: { pods }, acls, ...more });

test('rows that are what a firewall says are found so, and a namespace without one sends everywhere', () => {
  expect(found(zone([ALLOW, DENY]), firewall(WEB))).toEqual([]);
  expect(found(zone([]))).toEqual([]);
});

test('a rule without its row is named with the firewall, a pod and a packet', () => {
  expect(found(zone([ALLOW]), firewall(WEB))).toEqual([
    'EgressFirewall blue/default: has no ACL that drops what Pod blue/a sends to Pod green/a on network blue_net, as 10.20.0.3 > 10.30.0.3 tcp 1: no EgressFirewall allows that, and EgressFirewall blue/default shuts it',
  ]);
  expect(found(zone([DENY]), firewall(WEB))).toEqual([
    'EgressFirewall blue/default: drops what Pod blue/a sends on network blue_net, as 10.20.0.3 > 192.0.2.0 tcp 443, though EgressFirewall blue/default allows that',
  ]);
});

test('a row that is about more than its rule is named, and one that is before a rule which comes first', () => {
  const wide = rule(0, 'allow', `(ip4.dst == ${ALLOWED})`);
  expect(found(zone([wide, DENY]), firewall(WEB))).toEqual([
    expect.stringContaining(
      'lets pass what Pod blue/a sends on network blue_net, as 10.20.0.3',
    ) as string,
  ]);
  const early = { ...DENY, priority: 10_001 };
  expect(found(zone([ALLOW, early]), firewall(WEB))).toEqual([
    expect.stringMatching(
      /: drops what .*, though EgressFirewall blue\/default allows that$/,
    ) as string,
  ]);
});

test('addresses of the own network are not meant by blocks', () => {
  const inside = rule(1, 'drop', '(ip4.dst == 0.0.0.0/0)');
  expect(found(zone([ALLOW, inside]), firewall(WEB))).toEqual([
    expect.stringMatching(
      /: drops what Pod blue\/a sends to Pod blue\/\w on network blue_net, .*, though no EgressFirewall denies that$/,
    ) as string,
  ]);
});

test('a pod that is in no group is not closed, and one that no firewall is about is not', () => {
  expect(found(zone([ALLOW, DENY], PODS.slice(1)), firewall(WEB))).toEqual([
    expect.stringContaining('has no ACL that drops what Pod blue/a sends') as string,
  ]);
  expect(found(zone([ALLOW, DENY]))).toEqual([
    expect.stringMatching(
      /^EgressFirewall blue\/default: drops what Pod blue\/a .*, though no EgressFirewall denies that$/,
    ) as string,
  ]);
});

test('where firewalls are off none denies anything', () => {
  const off = (snapshot: Snapshot): Snapshot => ({
    ...snapshot,
    settings: { ...snapshot.settings, features: { egressFirewall: false } },
  });
  expect(found(off(zone([])), firewall(WEB))).toEqual([]);
  expect(found(off(zone([ALLOW, DENY])), firewall(WEB))).not.toEqual([]);
});

test('nodes are meant by every address that they have, also by that of their port on the network', () => {
  const node = {
    ...NODE,
    metadata: {
      ...NODE.metadata,
      labels: { edge: 'yes' },
      annotations: {
        ...NODE.metadata.annotations,
        'k8s.ovn.org/host-cidrs': '["172.18.0.2/16"]',
        'k8s.ovn.org/node-subnets': '{"blue_net":["10.20.0.0/24"]}',
      },
    },
  };
  const nodes: Rules = [{ type: 'Deny', to: { nodeSelector: { matchLabels: { edge: 'yes' } } } }];
  const of = (...addresses: readonly string[]): readonly string[] =>
    found(
      zone(
        [rule(0, 'drop', `(${addresses.map((one) => `ip4.dst == ${one}`).join(' || ')})`)],
        PODS,
        {
          objects: { nodes: [node] },
        },
      ),
      firewall(nodes),
    );
  const all = ['172.18.0.2', '10.20.0.2', '169.254.0.2'];
  expect(of(...all)).toEqual([]);
  for (const missing of all)
    expect(of(...all.filter((one) => one !== missing))).toEqual([
      expect.stringContaining(`> ${missing} tcp 1: no EgressFirewall allows that`) as string,
    ]);
});

const setOf = (name: string, family = 'v4'): string =>
  `a${createHash('sha256').update(`default-network-controller:EgressFirewallDNS:${name}:${family}`).digest('hex').slice(0, 32)}`;

test('of a name is proved what its rows know it by: single addresses, of whoever has them', () => {
  const named: Rules = [
    { type: 'Allow', to: { dnsName: 'WWW.example.org.' } },
    { type: 'Deny', to: { cidrSelector: '0.0.0.0/0' } },
  ];
  const set = setOf('www.example.org');
  const row = rule(0, 'allow', `(ip4.dst == $${set})`);
  const of = (addresses: readonly string[]): readonly string[] =>
    found(zone([row, DENY], PODS, { sets: { [set]: addresses } }), firewall(named));
  expect(of(['198.51.100.7'])).toEqual([]);
  expect(of(['198.51.100.7', '203.0.113.0/24'])).toEqual([
    expect.stringContaining('> 203.0.113.0 tcp 1: no EgressFirewall allows that') as string,
  ]);
  expect(found(zone([DENY], PODS, { sets: { [set]: ['198.51.100.7'] } }), firewall(named))).toEqual(
    [expect.stringContaining('> 198.51.100.7 tcp 1, though EgressFirewall') as string],
  );
  expect(found(zone([DENY]), firewall(named))).toEqual([
    'EgressFirewall blue/default: no row of Address_Set has what DNS knows www.example.org by: whether its rules on network blue_net are in force is not known',
  ]);
});

test('DNS may be asked whatever rules say', () => {
  const service = {
    apiVersion: 'v1',
    kind: 'Service',
    metadata: { namespace: 'kube-system', name: 'kube-dns' },
    spec: { clusterIP: '172.16.1.10', clusterIPs: ['172.16.1.10'], ports: [] },
  } as const;
  const dns = (port: number): ReturnType<typeof acl> =>
    acl('pods', 'to-lport', `(ip4.dst == 172.16.1.10) && (udp.dst == ${port}) && inport == @pods`, {
      action: 'allow',
      priority: 10_001,
      ...OWNER,
    });
  const of = (port: number): readonly string[] =>
    found(
      zone([dns(port), ALLOW, DENY], PODS, { objects: { services: [service] } }),
      firewall(WEB),
    );
  expect(of(53)).toEqual([]);
  expect(of(54)).toEqual([
    expect.stringContaining('> 172.16.1.10 udp 54: no EgressFirewall allows that') as string,
  ]);
});

test.each<[string, Rules]>([
  [
    'a field that is not known',
    [{ type: 'Deny', to: { cidrSelector: '0.0.0.0/0', more: 1 } as never }],
  ],
  ['no type that there is', [{ type: 'Reject', to: { cidrSelector: '0.0.0.0/0' } }]],
  ['no block', [{ type: 'Deny', to: { cidrSelector: 'everywhere' } }]],
  [
    'no port',
    [{ type: 'Deny', to: { cidrSelector: '0.0.0.0/0' }, ports: [{ protocol: 'TCP', port: 0 }] }],
  ],
  [
    'no protocol that there is',
    [
      {
        type: 'Deny',
        to: { cidrSelector: '0.0.0.0/0' },
        ports: [{ protocol: 'toString', port: 1 }],
      },
    ],
  ],
  ['nobody', [{ type: 'Deny', to: {} }]],
  [
    'a selector that is none',
    [{ type: 'Deny', to: { nodeSelector: { matchExpressions: [{ key: 'a', operator: 'Is' }] } } }],
  ],
])('a rule of %s: all is shut, or it is not decided', (_, egress) => {
  const shut = rule(0, 'drop', '(ip4.dst == 0.0.0.0/0 && ip4.dst != 10.20.0.0/16)');
  expect(found(zone([shut]), firewall(egress))).toEqual([]);
  expect(found(zone([]), firewall(egress))).toEqual([
    expect.stringMatching(
      /^EgressFirewall blue\/default: .*: whether what was read of it before is in force is not known, /,
    ) as string,
  ]);
});

test('of two firewalls of a namespace neither is judged', () => {
  expect(found(zone([]), firewall(WEB), firewall(WEB, 'other'))).toEqual([
    expect.stringContaining('namespace blue has more than one') as string,
  ]);
});

test('many rules are judged, and too many sets are not, which is told', () => {
  const blocks = Array.from({ length: 3000 }, (_, i): Rules[number] => ({
    type: 'Allow',
    to: { cidrSelector: `198.18.${i >> 8}.${i & 255}/32` },
  }));
  const set = blocks.map(({ to }) => to.cidrSelector ?? '');
  const row = rule(0, 'allow', '(ip4.dst == $blocks)');
  const deny: Rules[number] = { type: 'Deny', to: { cidrSelector: '0.0.0.0/0' } };
  const last = rule(3000, 'drop', '(ip4.dst == 0.0.0.0/0 && ip4.dst != 10.20.0.0/16)');
  const all = zone([row, last], PODS, { sets: { blocks: set } });
  expect(found(all, firewall([...blocks, deny]))).toEqual([]);
  expect(found(all, firewall([...blocks.slice(1), deny]))).toEqual([
    expect.stringContaining('> 198.18.0.0 tcp 1: no EgressFirewall allows that') as string,
  ]);
  const ports = blocks.map((one, i) => ({ ...one, ports: [{ protocol: 'TCP', port: i + 1 }] }));
  expect(found(all, firewall([...ports, deny]))).toEqual([
    expect.stringMatching(
      /^network blue_net: EgressFirewalls of Pod blue\/a.* are not judged: /,
    ) as string,
  ]);
});
