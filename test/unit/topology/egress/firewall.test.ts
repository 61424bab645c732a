import { describe, expect, test } from 'vitest';
import type { EgressFirewall } from '../../../../src/api/types.ts';
import { isSame } from '../../../../src/facts/same.ts';
import { readFirewall } from '../../../../src/model/read/egress-firewalls.ts';
import { egressFirewall } from '../../../../src/topology/egress/firewall.ts';
import { builtUnits } from '../../../support/zone/built-rows.ts';
import { secondaryLayer3, secondaryPod } from '../../../support/zone/zone-variants.ts';
import { bluePod, dualZone, exampleZone, factsOf, type Zone } from '../../../support/zone/zones.ts';
import { featureTexts } from '../part-texts.ts';

const read = (namespace: string, egress: readonly object[]) => {
  const reading = readFirewall({
    apiVersion: 'k8s.ovn.org/v1',
    kind: 'EgressFirewall',
    metadata: { namespace, name: 'default' },
    spec: { egress },
  } as unknown as EgressFirewall);
  if (reading.kind !== 'value') throw new Error(JSON.stringify(reading));
  return reading.value;
};
const zoneWith = (
  egress: readonly object[],
  namespace = 'blue',
  zone: Zone = exampleZone,
): Zone => ({
  ...zone,
  firewalls: [read(namespace, egress)],
});
const to = (cidrSelector: string, more: object = {}): object => ({
  type: 'Allow',
  to: { cidrSelector },
  ...more,
});
const deny = (cidrSelector: string): object => ({ type: 'Deny', to: { cidrSelector } });

/** Rows of the feature that decide, and what it reports. */
function built(zone: Zone): {
  readonly acls: readonly string[];
  readonly problems: readonly string[];
} {
  const facts = factsOf(zone);
  for (const [name, labels] of [
    ['ovn-worker', {}],
    ['ovn-worker2', { role: 'cp' }],
  ] as const)
    facts.nodeLabels.put(name, { name, labels });
  facts.refresh(0);
  const units = builtUnits(facts).filter(({ unit }) => unit.startsWith(`${egressFirewall.name} `));
  return {
    acls: units.flatMap(({ rows }) =>
      rows
        .filter(({ columns }) => columns['action'] !== 'pass')
        .map(({ columns }) =>
          ['priority', 'action', 'match']
            .map((one) => JSON.stringify(columns[one]))
            .join(' ')
            .replaceAll('"', ''),
        ),
    ),
    problems: units.flatMap(({ problems }) => problems),
  };
}

test('a row per rule, in the group of the namespace, on the way out of the pod’s switch', () => {
  const texts = featureTexts([egressFirewall], zoneWith([to('8.8.8.8/32'), deny('0.0.0.0/0')]));
  expect(texts.filter((text) => !text.includes('action=pass'))).toEqual([
    'ACL default-network-controller:EgressFirewall:blue:0 action=allow direction=to-lport external_ids={k/id=default-network-controller:EgressFirewall:blue:0 k/name=blue k/owner-controller=default-network-controller k/owner-type=EgressFirewall rule-index=0} match=(ip4.dst == 8.8.8.8/32) && inport == @a738b3352beeb1cf3c2db1b084d93357e name=EF:blue:0 priority=10000 tier=2 < Port_Group/a738b3352beeb1cf3c2db1b084d93357e.acls',
    'ACL default-network-controller:EgressFirewall:blue:1 action=drop direction=to-lport external_ids={k/id=default-network-controller:EgressFirewall:blue:1 k/name=blue k/owner-controller=default-network-controller k/owner-type=EgressFirewall rule-index=1} match=(ip4.dst == 0.0.0.0/0 && ip4.dst != 103.103.0.0/16) && inport == @a738b3352beeb1cf3c2db1b084d93357e name=EF:blue:1 priority=9999 tier=2 < Port_Group/a738b3352beeb1cf3c2db1b084d93357e.acls',
  ]);
});

test('what earlier tiers do not decide about its pods is passed on to its rules', () => {
  const texts = featureTexts([egressFirewall], zoneWith([deny('0.0.0.0/0')]));
  expect(
    texts
      .filter((text) => text.includes('action=pass'))
      .map((text) => text.replace(/ external_ids=\{[^}]*\}/, '')),
  ).toEqual(
    [0, 1].map(
      (tier) =>
        `ACL default-network-controller:EgressFirewall:blue:pass-${tier} action=pass direction=to-lport match=ct.est && ct_mark.blocked == 1 && inport == @a738b3352beeb1cf3c2db1b084d93357e priority=0 tier=${tier} < Port_Group/a738b3352beeb1cf3c2db1b084d93357e.acls`,
    ),
  );
  expect(featureTexts([egressFirewall], zoneWith([]))).toEqual([]);
});

test('on the default network for a namespace without a network of its own', () => {
  expect(built(zoneWith([deny('0.0.0.0/0')], 'default')).acls).toEqual([
    expect.stringContaining('ip4.dst != 10.244.0.0/16'),
  ]);
});

test('on a secondary network with a gateway too, where no other subnet is spared than its own', () => {
  const zone: Zone = {
    ...exampleZone,
    networks: [...exampleZone.networks, { ...secondaryLayer3, secondaryGateway: '{}' }],
    attachments: [bluePod, secondaryPod],
  };
  const rules = [deny('0.0.0.0/0'), { type: 'Deny', to: { dnsName: 'example.com' } }];
  const { acls, problems } = built(zoneWith(rules, 'blue', zone));
  expect(problems).toEqual([]);
  const about = (what: string): readonly string[] => acls.filter((acl) => acl.includes(what));
  expect(about('0.0.0.0/0')).toEqual([
    expect.stringContaining('(ip4.dst == 0.0.0.0/0 && ip4.dst != 103.103.0.0/16) && inport'),
    expect.stringContaining('(ip4.dst == 0.0.0.0/0 && ip4.dst != 10.80.0.0/16) && inport'),
  ]);
  // What a name stands for is one set; the rules about it are of each network.
  expect(about('drop (ip4.dst == $')).toHaveLength(2);
  const closed = built(
    zoneWith(rules, 'blue', { ...zone, networks: [...exampleZone.networks, secondaryLayer3] }),
  );
  expect(closed.acls.filter((acl) => acl.includes('drop'))).toHaveLength(2);
});

test('ports by protocol, as ovn-kubernetes writes them', () => {
  const ports = [
    { protocol: 'TCP', port: 443 },
    { protocol: 'UDP', port: 53 },
    { protocol: 'TCP', port: 80 },
    { protocol: 'TCP', port: 80 },
  ];
  expect(built(zoneWith([to('103.0.0.0/8', { ports })])).acls).toEqual([
    '10000 allow (ip4.dst == 103.0.0.0/8 && ip4.dst != 103.103.0.0/16) && inport == @a738b3352beeb1cf3c2db1b084d93357e && ((udp && ( udp.dst == 53 )) || (tcp && ( tcp.dst == 443 || tcp.dst == 80 )))',
  ]);
});

describe('nodes by their labels', () => {
  const nodes = (type: string, role: string): object => ({
    type,
    to: { nodeSelector: { matchLabels: { role } } },
  });
  test('are every address of their hosts', () => {
    expect(built(zoneWith([nodes('Allow', 'cp')])).acls).toEqual([
      '10000 allow (ip4.dst == 103.103.1.2 || ip4.dst == 172.18.0.4) && inport == @a738b3352beeb1cf3c2db1b084d93357e',
    ]);
  });
  test('none has no row, and the others keep their places', () => {
    expect(built(zoneWith([nodes('Deny', 'gone'), deny('9.9.9.9/32')])).acls).toEqual([
      expect.stringMatching(/^9999 drop/),
    ]);
  });
});

test('a name is the set of what it is known by, in each family of the cluster', () => {
  const name = { type: 'Deny', to: { dnsName: 'WWW.example.com.' } };
  expect(built(zoneWith([name])).acls).toEqual([
    // Whoever has names in rules asks DNS.
    '10001 allow ip4.dst == $a1a8785b163c99c737ffc07acd4d9ca92 && inport == @a738b3352beeb1cf3c2db1b084d93357e && (udp.dst == 53 || tcp.dst == 53)',
    '10000 drop (ip4.dst == $a89dd6dbaeb419660a09334629fe19d0b) && inport == @a738b3352beeb1cf3c2db1b084d93357e',
  ]);
  expect(built(zoneWith([name], 'blue', dualZone)).acls).toEqual([
    expect.stringContaining('10001 allow '),
    expect.stringContaining(
      '((ip4.dst == $a89dd6dbaeb419660a09334629fe19d0b) && inport == @a738b3352beeb1cf3c2db1b084d93357e) || ((ip6.dst == $a1b03f69c104bda62300c575b22097f71) && inport == @',
    ),
  ]);
});

test('of several subnets in a block what is left is listed', () => {
  const { acls } = built(zoneWith([deny('0.0.0.0/0'), deny('::/0')], 'blue', dualZone));
  expect(acls).toHaveLength(2);
  const inside = zoneWith([deny('103.103.7.0/24'), to('103.103.0.0/16'), to('9.0.0.0/8')]);
  expect(built(inside).acls).toEqual([
    '9998 allow (ip4.dst == 9.0.0.0/8) && inport == @a738b3352beeb1cf3c2db1b084d93357e',
  ]);
});

test('one that costs too much denies everything outside, and says so', () => {
  const { settings } = exampleZone;
  const zone = {
    ...exampleZone,
    settings: { ...settings, policies: { ...settings.policies, mostFirewallFlows: 20 } },
  };
  const ports = (count: number): object => ({
    ports: Array.from({ length: count }, (_, index) => ({ protocol: 'TCP', port: index + 1 })),
  });
  const just = zoneWith([to('9.9.9.9/32', ports(10))], 'blue', zone);
  expect(built(just).problems).toEqual([]);
  const { acls, problems } = built(zoneWith([to('9.9.9.9/32', ports(11))], 'blue', zone));
  expect(acls).toEqual([
    expect.stringMatching(/^10000 drop \(ip4.dst == 0.0.0.0\/0 /),
    expect.stringMatching(/^9999 drop \(ip6.dst == ::\/0\)/),
  ]);
  expect(problems).toEqual([expect.stringContaining('max-flows-per-firewall')]);
  // Six rules for two pods are 24 flows.
  const attachments = [4, 5].map((host) => ({
    ...bluePod,
    pod: `pod${host}`,
    macAddress: `0a:58:67:67:00:0${host}`,
    addresses: [`103.103.0.${host}/24`],
  }));
  const hosts = Array.from({ length: 5 }, (_, index) => to(`9.9.9.${index}/32`));
  expect(built(zoneWith(hosts, 'blue', zone)).problems).toEqual([]);
  expect(built(zoneWith(hosts, 'blue', { ...zone, attachments })).problems).toEqual([]);
  const more = [...hosts, to('8.8.8.8/32')];
  expect(built(zoneWith(more, 'blue', zone)).acls).toHaveLength(6);
  expect(built(zoneWith(more, 'blue', { ...zone, attachments })).acls).toEqual([
    expect.stringMatching(/^10000 drop/),
    expect.stringMatching(/^9999 drop/),
  ]);
});

describe('many rules that differ in their blocks alone', () => {
  const many = (count: number, more: object = {}): object[] =>
    Array.from({ length: count }, (_, index) => to(`9.9.${index}.0/24`, more));
  const rowsOf = (egress: readonly object[], zone: Zone = dualZone) =>
    builtUnits(factsOf(zoneWith(egress, 'blue', zone)), [egressFirewall]).flatMap(({ rows }) =>
      rows.filter(({ columns }) => columns['action'] !== 'pass'),
    );

  test('are one row, with a set of what they leave of each family', () => {
    const egress = [...many(40), deny('9.9.99.0/24'), deny('0.0.0.0/0')];
    egress.splice(7, 0, to('2001:db8::/32'));
    const built = rowsOf(egress);
    const acls = built.filter(({ table }) => table === 'ACL');
    expect(acls.map(({ columns }) => Number(columns['priority']))).toEqual([10000, 9959, 9958]);
    const sets = built.filter(({ table }) => table === 'Address_Set');
    expect(sets.map(({ columns }) => (columns['addresses'] as string[]).length)).toEqual([40, 1]);
    for (const { key } of sets) expect(acls[0]?.columns['match']).toContain(`$${key}`);
  });

  test('one more, wherever it stands among them, is one row that changes', () => {
    const before = rowsOf(many(40));
    const after = rowsOf(many(40).toSpliced(20, 0, to('8.8.8.8/32')));
    const changed = after.filter(
      (row) => !before.some(({ key, columns }) => key === row.key && isSame(columns, row.columns)),
    );
    expect(changed.map(({ table }) => table)).toEqual(['Address_Set']);
  });

  test('without what the network has of them', () => {
    const [set] = rowsOf([...many(40), to('103.0.0.0/8')], exampleZone).filter(
      ({ table }) => table === 'Address_Set',
    );
    const addresses = set?.columns['addresses'] as string[];
    expect(addresses).toContain('103.102.0.0/16');
    expect(addresses).not.toContain('103.103.0.0/16');
    expect(addresses).not.toContain('103.0.0.0/8');
  });

  test('stay a row each where another rule, other ports, or few of them are between', () => {
    const ports = [{ protocol: 'TCP', port: 443 }];
    for (const egress of [
      many(31),
      [...many(20), deny('9.8.0.0/16'), ...many(20)],
      [...many(20), ...many(20, { ports })],
    ])
      expect(rowsOf(egress).map(({ table }) => table)).toEqual(egress.map(() => 'ACL'));
  });
});
