import { isAllKnown } from '../../../support/zone/zones.ts';
import { describe, expect, test } from 'vitest';
import { RULES_SKIPPED } from '../../../../src/api/validation/validate.ts';
import type { KubeObject } from '../../../../src/api/objects.ts';
import { podPort } from '../../../../src/model/rules/names.ts';
import { adminPolicy as feature } from '../../../../src/topology/policy/admin-policy.ts';
import { AclPipeline } from '../../../support/zone/acl-packets.ts';
import {
  adminPolicy,
  namespace,
  networkPolicy,
  ownNetwork,
  PolicedZone,
  policedPod,
} from '../../../support/zone/policed-zone.ts';
import { plain, rowTexts } from '../../../support/zone/row-text.ts';
import { dualZone, exampleZone } from '../../../support/zone/zones.ts';
import { problemsOf } from '../../api/objects.ts';
import { short } from '../unit-texts.ts';

const POLICY = new RegExp(`^${feature.name} `);
const ON_DEFAULT = new RegExp(`^${feature.name} default `);
const blue = namespace('blue', ownNetwork);
const space = namespace('default', { team: 'red' });
const all = { namespaces: {} };
const team = { namespaces: { matchLabels: { team: 'red' } } };

const ADDRESSES = { a: '10.244.0.5', b: '10.244.0.6', c: '10.244.0.7' } as const;
type Name = keyof typeof ADDRESSES;
const pods = Object.entries(ADDRESSES).map(([name, address]) =>
  policedPod(`default/${name}`, {
    address: `${address}/24`,
    labels: { name },
    ports: [{ name: 'web', containerPort: 8080 }],
  }),
);
const named = (name: Name): object => ({
  pods: { namespaceSelector: {}, podSelector: { matchLabels: { name } } },
});

test('a policy has a group, a row per rule and protocol and a set per rule, before the policies of namespaces', () => {
  const zone = PolicedZone.of(
    exampleZone,
    space,
    ...pods,
    adminPolicy(
      'guard',
      {
        priority: 5,
        subject: team,
        ingress: [
          { action: 'Deny', from: [named('b')], ports: [{ portNumber: { port: 80 } }] },
          { action: 'Pass', from: [all] },
        ],
        egress: [
          {
            action: 'Allow',
            to: [{ networks: ['192.0.2.9/24'] }],
            ports: [{ portRange: { protocol: 'UDP', start: 5, end: 9 } }],
          },
        ],
      },
      { 'k8s.ovn.org/acl-logging': '{"deny": "alert", "pass": "info"}' },
    ),
  );
  const ids = (more: string): string =>
    `k/id=default-network-controller:AdminNetworkPolicy:guard${more}`;
  const owner =
    'k/name=guard k/owner-controller=default-network-controller k/owner-type=AdminNetworkPolicy';
  const rows = rowTexts(zone.rows(/^policy\/admin/)).map(short);
  const isPassed = (text: string): boolean => text.includes(':pass-');
  expect(rows.filter(isPassed)).toEqual([
    expect.stringMatching(/:guard:Ingress:pass-0:None action=pass .* priority=0 tier=0 /),
  ]);
  const texts = rows.filter((text) => !isPassed(text));
  expect(texts.map((text) => text.replaceAll(/a[\da-f]{32}/g, 'a…')).toSorted()).toEqual(
    [
      `ACL default-network-controller:AdminNetworkPolicy:guard:Egress:0:udp action=allow-related direction=from-lport external_ids={direction=Egress gress-index=0 ${ids(':Egress:0:udp')} ${owner} port-policy-protocol=udp} match=inport == @a… && ((ip4.dst == $a…)) && udp && 5<=udp.dst<=9 name=ANP:guard:Egress:0 options={apply-after-lb=true} priority=29500 tier=1 < Port_Group/a….acls`,
      `ACL default-network-controller:AdminNetworkPolicy:guard:Ingress:0:tcp action=drop direction=to-lport external_ids={direction=Ingress gress-index=0 ${ids(':Ingress:0:tcp')} ${owner} port-policy-protocol=tcp} log=true match=outport == @a… && ((ip4.src == $a…)) && tcp && tcp.dst==80 meter=acl-logging name=ANP:guard:Ingress:0 priority=29500 severity=alert tier=1 < Port_Group/a….acls`,
      `ACL default-network-controller:AdminNetworkPolicy:guard:Ingress:1:None action=pass direction=to-lport external_ids={direction=Ingress gress-index=1 ${ids(':Ingress:1:None')} ${owner} port-policy-protocol=None} log=true match=outport == @a… && ((ip4.src == $a…)) meter=acl-logging name=ANP:guard:Ingress:1 priority=29499 severity=info tier=1 < Port_Group/a….acls`,
      ...[
        [':Egress:0', '192.0.2.0/24', 'direction=Egress gress-index=0'],
        [':Ingress:0', '10.244.0.6', 'direction=Ingress gress-index=0'],
        [':Ingress:1', '10.244.0.5, 10.244.0.6, 10.244.0.7', 'direction=Ingress gress-index=1'],
      ].map(
        ([rule = '', addresses, keys]) =>
          `Address_Set a… addresses=[${addresses}] external_ids={${keys} ip-family=v4 ${ids(`${rule}:v4`)} ${owner}}`,
      ),
      `Port_Group a… external_ids={${ids('')} ${owner}}`,
    ].toSorted(),
  );
});

describe('who reaches whom', () => {
  const passes = (from: Name, to: Name, port: number, ...objects: KubeObject[]): boolean => {
    const rows = PolicedZone.of(exampleZone, space, ...pods, ...objects).rows(
      /^(policy|pods\/port)/,
    );
    return new AclPipeline(rows).passes({
      inport: podPort('default', 'default', from),
      outport: podPort('default', 'default', to),
      src: ADDRESSES[from],
      dst: ADDRESSES[to],
      protocol: 'tcp',
      port,
    });
  };
  const ingress = (action: string, from: object, ports?: object[]): object => ({
    action,
    from: [from],
    ...(ports === undefined ? {} : { ports }),
  });
  const closed = networkPolicy('default/closed', { podSelector: {} });
  const open = networkPolicy('default/open', { ingress: [{}] });
  const guard = (...rules: object[]) =>
    adminPolicy('guard', { priority: 1, subject: named('a'), ingress: rules });
  const baseline = (...rules: object[]) =>
    adminPolicy('default', { subject: named('a'), ingress: rules });

  test('what an administrator denies no policy of a namespace lets through, and the other way round', () => {
    expect(passes('b', 'a', 80, guard(ingress('Deny', all)), open)).toBe(false);
    expect(passes('b', 'a', 80, guard(ingress('Allow', all)), closed)).toBe(true);
    expect(passes('b', 'c', 80, guard(ingress('Deny', all)), open)).toBe(true);
  });

  test('the first rule that matches counts, and the policy of the lower priority number', () => {
    const rules = [ingress('Allow', named('b')), ingress('Deny', all)];
    expect(passes('b', 'a', 80, guard(...rules))).toBe(true);
    expect(passes('c', 'a', 80, guard(...rules))).toBe(false);
    const first = adminPolicy('first', {
      priority: 0,
      subject: named('a'),
      ingress: [ingress('Deny', all)],
    });
    expect(passes('b', 'a', 80, guard(...rules), first)).toBe(false);
  });

  test('what is passed on is decided by policies of namespaces, and by the baseline where there is none', () => {
    const rules = [ingress('Pass', named('b')), ingress('Deny', all)];
    expect(passes('b', 'a', 80, guard(...rules), closed)).toBe(false);
    expect(passes('b', 'a', 80, guard(...rules), open)).toBe(true);
    expect(passes('b', 'a', 80, guard(...rules))).toBe(true);
    expect(passes('b', 'a', 80, guard(...rules), baseline(ingress('Deny', all)))).toBe(false);
    expect(passes('b', 'a', 80, guard(...rules), baseline(ingress('Deny', all)), open)).toBe(true);
    expect(passes('c', 'a', 80, guard(...rules), open)).toBe(false);
  });

  test('a port by its name is that of the pods that it reaches', () => {
    const rule = ingress('Deny', all, [{ namedPort: 'web' }]);
    expect(passes('b', 'a', 8080, guard(rule))).toBe(false);
    expect(passes('b', 'a', 80, guard(rule))).toBe(true);
  });
});

describe('the networks of such a policy', () => {
  const web = policedPod('blue/web', { on: 'blue/blue', address: '103.103.0.3/24' });
  const objects = [blue, space, web, ...pods];
  const policy = adminPolicy('guard', {
    priority: 0,
    subject: all,
    ingress: [{ action: 'Deny', from: [all] }],
  });

  test('are the default one and the primary ones of the namespaces that it is about', () => {
    const units = (...subject: KubeObject[]): string[] =>
      PolicedZone.of(exampleZone, ...objects, ...subject)
        .units(POLICY)
        .map(({ unit }) => unit.split(' ')[1] ?? '');
    expect(units(policy)).toEqual(['blue_blue', 'default']);
    const about = { priority: 0, subject: team, ingress: [] };
    expect(units(adminPolicy('guard', about))).toEqual(['default']);
  });

  test('on each of them peers are its own pods', () => {
    const zone = PolicedZone.of(exampleZone, ...objects, policy);
    const sets = zone
      .units(/^policy\/admin-addresses /)
      .map(({ unit, rows }) => [unit.split(' ')[1], plain(rows[0]?.columns['addresses'])]);
    expect(sets).toEqual([
      ['blue_blue', ['103.103.0.3']],
      ['default', Object.values(ADDRESSES)],
    ]);
    const port = zone.rows(/^pods\/port blue /)[0];
    // The group of the namespace and that of the policy.
    expect(port?.containers.filter(({ table }) => table === 'Port_Group')).toHaveLength(2);
  });
});

test('nodes are peers by their labels, with all addresses at which pods reach them', () => {
  const zone = PolicedZone.of(
    dualZone,
    space,
    adminPolicy('guard', {
      priority: 0,
      subject: all,
      egress: [{ action: 'Deny', to: [{ nodes: { matchLabels: { role: 'gate' } } }] }],
    }),
  );
  zone.facts.nodeLabels.put('ovn-worker2', {
    name: 'ovn-worker2',
    labels: { role: 'gate' },
  });
  zone.facts.nodeLabels.put('ovn-worker', { name: 'ovn-worker', labels: {} });
  expect(
    zone.rows(/^policy\/admin-addresses default /).map(({ columns }) => columns['addresses']),
  ).toEqual([
    ['10.244.1.2', '172.18.0.4'],
    ['fc00:f853::4', 'fd00:10:244:1::2'],
  ]);
  expect(zone.rows(ON_DEFAULT)[1]?.columns['match']).toMatch(
    /^\(inport == @a[\da-f]+ && ip4\.dst == \$a[\da-f]+\) \|\| \(inport == @a[\da-f]+ && ip6\.dst == \$a[\da-f]+\)$/,
  );
});

describe('a policy that can’t be had', () => {
  const good = adminPolicy('guard', { priority: 0, subject: all, ingress: [] });
  test.each([
    [{ priority: 100, subject: all }, 'OVN has room for priorities 0 to 99'],
    [{ priority: 0, subject: {} }, 'spec.subject: Invalid value: []: exactly one of its fields'],
    [
      {
        priority: 0,
        subject: all,
        egress: [{ action: 'Deny', to: [{ domainNames: ['example.com'] }] }],
      },
      'only rules that let through may have names',
    ],
  ])('%j is reported, and what was read before stays in force', (spec, problem) => {
    const zone = PolicedZone.of(exampleZone, space, good);
    zone.put(adminPolicy('guard', spec));
    expect([...zone.facts.modelProblems()]).toEqual([
      { object: 'AdminNetworkPolicy guard', message: expect.stringContaining(problem) as string },
    ]);
    expect(zone.units(POLICY).length).toBeGreaterThan(0);
    zone.remove(good);
    expect(zone.units(POLICY)).toEqual([]);
  });
});

describe('a policy that would cost each node more flows than it may', () => {
  const networks = (count: number): string[] =>
    Array.from({ length: count }, (_, i) => `10.${i >> 8}.${i & 255}.0/24`);
  const guard = (count: number) =>
    adminPolicy('guard', {
      priority: 0,
      subject: named('a'),
      egress: [
        { action: 'Pass', to: [all] },
        { action: 'Deny', to: [{ networks: networks(count) }] },
      ],
    });
  const SAID = {
    object: 'AdminNetworkPolicy guard',
    message: `its rules would cost each node more than 10000 flows (max-flows-per-policy): until it costs less the pods that it is about get nothing if it has rules for ingress, and send nothing if it has rules for egress; write fewer networks, ports and rules, or several policies`,
  };
  const zoneWith = (...objects: KubeObject[]): PolicedZone =>
    PolicedZone.of(exampleZone, space, ...pods, ...objects);
  const passes = (zone: PolicedZone, from: Name, to: Name): boolean =>
    new AclPipeline(zone.rows(/^(policy|pods\/port)/)).passes({
      inport: podPort('default', 'default', from),
      outport: podPort('default', 'default', to),
      src: ADDRESSES[from],
      dst: ADDRESSES[to],
      protocol: 'tcp',
      port: 80,
    });

  test('closes its pods in the directions that it has rules for, and no others, until it costs less', () => {
    const zone = zoneWith(guard(5000));
    expect([...zone.facts.modelProblems()]).toEqual([SAID]);
    expect(zone.rows(/^policy\/admin.* default /)).toHaveLength(3);
    expect([passes(zone, 'a', 'b'), passes(zone, 'b', 'a'), passes(zone, 'b', 'c')]).toEqual([
      false,
      true,
      true,
    ]);
    zone.put(guard(4900));
    expect([...zone.facts.modelProblems()]).toEqual([]);
    expect(passes(zone, 'a', 'b')).toBe(true);
    zone.put(guard(5000));
    zone.remove(guard(5000));
    expect([...zone.facts.modelProblems()]).toEqual([]);
  });

  test('can’t be had refused by tenants’ pods, however they name their ports', () => {
    const byName = adminPolicy('guard', {
      priority: 0,
      subject: all,
      ingress: [{ action: 'Deny', from: [all], ports: [{ namedPort: 'web' }] }],
    });
    // 18 flows by what the policy says: a tenant's pods make of its port as many numbers as there are pods.
    const tight = {
      ...exampleZone,
      settings: {
        ...exampleZone.settings,
        policies: { ...exampleZone.settings.policies, mostFlows: 20 },
      },
    };
    const many = Array.from({ length: 30 }, (_, i) =>
      policedPod(`default/p${i}`, {
        address: `10.244.0.${100 + i}/24`,
        ports: [{ name: 'web', containerPort: i + 1 }],
      }),
    );
    const zone = PolicedZone.of(tight, space, ...many, byName);
    expect([...zone.facts.modelProblems()]).toEqual([]);
    expect(zone.rows(ON_DEFAULT).filter(({ table }) => table === 'ACL')).toHaveLength(2);
  });
});

describe('a policy that can’t be read, of which nothing was read before, as after a restart,', () => {
  /** Who reaches port 80 of pod a: of b and c. */
  const reaching = (...objects: KubeObject[]): string[] => {
    const rows = PolicedZone.of(exampleZone, space, ...pods, ...objects).rows(
      /^(policy|pods\/port)/,
    );
    const pipeline = new AclPipeline(rows);
    return (['b', 'c'] as const).filter((from) =>
      pipeline.passes({
        inport: podPort('default', 'default', from),
        outport: podPort('default', 'default', 'a'),
        src: ADDRESSES[from],
        dst: ADDRESSES.a,
        protocol: 'tcp',
        port: 80,
      }),
    );
  };
  const open = networkPolicy('default/open', { ingress: [{}] });
  const subject = named('a');
  const from = (action: string, name: Name): object => ({ action, from: [named(name)] });
  const torn = { action: 'Allow', to: [{ networks: ['10.0.0.0/99'] }] };
  const later = adminPolicy('later', {
    priority: 50,
    subject,
    ingress: [{ action: 'Allow', from: [all] }],
  });

  test.each([
    ['a network that is none', { priority: 5, subject, egress: [torn] }],
    ['a priority for which OVN has no room', { priority: 500, subject }],
    ['a priority that none may have', { priority: 5000, subject }],
    ['no priority that is a number', { priority: '5', subject }],
    [
      'a port that is none',
      {
        priority: 5,
        subject,
        egress: [{ action: 'Allow', to: [all], ports: [{ portNumber: { port: 0 } }] }],
      },
    ],
  ])('%s: what it denies is denied, and it allows nothing', (_what, spec) => {
    const guard = (...ingress: object[]) => adminPolicy('guard', { ...spec, ingress });
    expect(reaching(guard(from('Deny', 'b')), open)).toEqual(['c']);
    // Which policies it came before is not known.
    expect(reaching(guard(from('Deny', 'b')), later)).toEqual(['c']);
    const closed = networkPolicy('default/closed', { podSelector: {} });
    expect(reaching(guard(from('Allow', 'b')), closed)).toEqual([]);
    // Who was passed on may have been denied behind it.
    expect(reaching(guard(from('Pass', 'b')), later, closed)).toEqual(['c']);
  });

  test.each([
    ['a network that is none', { action: 'Deny', to: [{ networks: ['10.0.0.0/99'] }] }],
    ['a peer by names', { action: 'Deny', to: [{ domainNames: ['example.com'] }] }],
    ['an action that is none', { action: 'Drop', to: [all] }],
    ['no action', { to: [all] }],
    ['no rule', 'deny'],
  ])('%s in a rule: the rule denies everybody', (_what, rule) => {
    const guard = adminPolicy('guard', { priority: 5, subject: named('b'), egress: [rule] });
    expect(reaching(guard, open)).toEqual(['c']);
  });

  test('rules that are no list deny everybody in their direction', () => {
    const guard = adminPolicy('guard', { priority: 5, subject, ingress: 'deny' });
    expect(reaching(guard, open)).toEqual([]);
  });

  test('a baseline denies what it denies, behind the policies of namespaces as ever', () => {
    const baseline = adminPolicy('default', {
      subject,
      ingress: [from('Deny', 'b'), from('Allow', 'c')],
      egress: [torn],
    });
    expect(reaching(baseline)).toEqual(['c']);
    expect(reaching(baseline, open)).toEqual(['b', 'c']);
  });

  test('its message says what holds, and corrected it is as it says', () => {
    const zone = PolicedZone.of(
      exampleZone,
      space,
      ...pods,
      adminPolicy('guard', { priority: 500, subject, ingress: [from('Allow', 'b')] }),
    );
    expect([...zone.facts.modelProblems()].map(({ message }) => message)).toEqual([
      'spec.priority: Invalid value: 500: OVN has room for priorities 0 to 99; correct it; until then what was read of it before stays in force, and where that is nothing it allows nothing, denies whom it denies or passes on, and everybody by a rule that can not be read, before all other policies of its kind',
    ]);
    zone.put(adminPolicy('guard', { priority: 5, subject, ingress: [from('Allow', 'b')] }));
    expect([...zone.facts.modelProblems()]).toEqual([]);
    expect(zone.rows(ON_DEFAULT).map(({ columns }) => columns['action'])).toEqual([
      undefined,
      'allow-related',
      'pass',
    ]);
  });

  test.each([
    [{ priority: 5, subject: {}, ingress: [from('Deny', 'b')] }],
    [{ priority: 5, ingress: [from('Deny', 'b')] }],
    [null],
  ])('%j: no pod is known to be meant', (spec) => {
    const guard = { ...adminPolicy('guard', { priority: 5 }), spec } as KubeObject;
    const zone = PolicedZone.of(exampleZone, space, ...pods, guard);
    expect([...zone.facts.modelProblems()].map(({ message }) => message)).toEqual([
      expect.stringContaining('the rows that it has stay, but no more pods come under it'),
    ]);
    expect(zone.units(/^policy\/admin/)).toEqual([]);
    // What it has in the database stays, as nobody knows what of it is not wanted.
    expect(isAllKnown(zone.facts)).toBe(false);
    zone.remove(guard);
    expect(isAllKnown(zone.facts)).toBe(true);
  });
});

describe('an API server refuses', () => {
  test.each([
    [
      adminPolicy('x', { subject: all }),
      'metadata.name: Invalid value: "x": must be "default": there is one in a cluster',
    ],
    [
      adminPolicy('x', { priority: 1001, subject: all }),
      'spec.priority: Invalid value: 1001: must be between 0 and 1000, inclusive',
    ],
    [
      adminPolicy('x', { priority: 1, subject: all, ingress: [{ action: 'Drop', from: [all] }] }),
      'spec.ingress[0].action: Unsupported value: "Drop": supported values: "Allow", "Deny", "Pass"',
    ],
    [
      adminPolicy('default', { subject: all, ingress: [{ action: 'Pass', from: [all] }] }),
      'spec.ingress[0].action: Unsupported value: "Pass": supported values: "Allow", "Deny"',
    ],
    [
      adminPolicy('x', { priority: 1, subject: all, ingress: [{ action: 'Deny', from: [] }] }),
      'spec.ingress[0].from: Invalid value: 0: must have 1 to 100 items',
    ],
    [
      adminPolicy('x', {
        priority: 1,
        subject: all,
        egress: [{ action: 'Deny', to: [{ networks: ['10.0.0.0/99'] }] }],
      }),
      'spec.egress[0].to[0].networks[0]: Invalid value: "10.0.0.0/99": must be a valid CIDR value',
    ],
    [
      adminPolicy('x', {
        priority: 1,
        subject: all,
        ingress: [{ action: 'Deny', from: [all], ports: [{ portRange: { start: 9, end: 5 } }] }],
      }),
      'spec.ingress[0].ports[0].portRange: Invalid value: {"start":9,"end":5}: must end behind its start',
    ],
  ])('%j', (object, problem) => {
    expect(problemsOf(object).filter((one) => !one.endsWith(RULES_SKIPPED))).toEqual([problem]);
  });
});
