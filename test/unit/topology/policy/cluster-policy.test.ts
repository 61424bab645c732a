import { describe, expect, test } from 'vitest';
import { RULES_SKIPPED } from '../../../../src/api/validation/validate.ts';
import type { KubeObject } from '../../../../src/api/objects.ts';
import { podPort } from '../../../../src/model/rules/names.ts';
import { AclPipeline } from '../../../support/zone/acl-packets.ts';
import {
  adminPolicy,
  namespace,
  networkPolicy,
  ownNetwork,
  PolicedZone,
  policedPod,
} from '../../../support/zone/policed-zone.ts';
import { exampleZone } from '../../../support/zone/zones.ts';
import { problemsOf } from '../../api/objects.ts';

const ADDRESSES = { a: '10.244.0.5', b: '10.244.0.6', c: '10.244.0.7' } as const;
type Name = keyof typeof ADDRESSES;
const space = namespace('default', { team: 'red' });
const pods = Object.entries(ADDRESSES).map(([name, address]) =>
  policedPod(`default/${name}`, {
    address: `${address}/24`,
    labels: { name },
    ports: [{ name: 'web', containerPort: 8080 }],
  }),
);
const all = { namespaces: {} };
const named = (name: Name): object => ({
  pods: { namespaceSelector: {}, podSelector: { matchLabels: { name } } },
});
const ingress = (action: string, from: object, ...protocols: object[]): object => ({
  action,
  from: [from],
  ...(protocols.length === 0 ? {} : { protocols }),
});
const egress = (action: string, ...to: object[]): object => ({ action, to });
const policy = (spec: object, name = 'guard'): KubeObject =>
  adminPolicy(name, { tier: 'Admin', priority: 10, subject: named('a'), ...spec });

const zoneOf = (...objects: KubeObject[]): PolicedZone =>
  PolicedZone.of(exampleZone, space, ...pods, ...objects);
const aclsOf = (zone: PolicedZone) =>
  zone
    .rows(/^policy\/admin-policy default /)
    .filter(({ table, key }) => table === 'ACL' && !key.includes(':pass-'))
    .map(({ columns }) => columns);

function passes(zone: PolicedZone, from: Name, to: string, port = 80): boolean {
  const inside = ADDRESSES[to as Name] as string | undefined;
  return new AclPipeline(zone.rows(/^(policy|pods\/port|egress\/firewall-names)/)).passes({
    inport: podPort('default', 'default', from),
    outport: inside === undefined ? 'out' : podPort('default', 'default', to),
    src: ADDRESSES[from],
    dst: inside ?? to,
    protocol: 'tcp',
    port,
  });
}
const open = networkPolicy('default/open', { ingress: [{}] });
const closed = networkPolicy('default/closed', { podSelector: {} });

describe('a ClusterNetworkPolicy', () => {
  test('has room for 1,001 priorities of 25 rules in each tier', () => {
    const many = Array.from({ length: 25 }, () => ingress('Deny', all));
    const last = { priority: 1000, ingress: many };
    const priorities = (tier: string) =>
      aclsOf(zoneOf(policy({ ...last, tier }))).map(({ priority, tier: inOvn }) => [
        priority,
        inOvn,
      ]);
    expect(priorities('Admin').at(-1)).toEqual([4976, 1]);
    expect(priorities('Baseline').at(-1)).toEqual([4976, 3]);
    const [first] = aclsOf(zoneOf(policy({ priority: 0, ingress: [ingress('Deny', all)] })));
    expect(first).toMatchObject({ priority: 30_000, action: 'drop', name: 'CNP:guard:Ingress:0' });
  });

  test('of the Admin tier decides before policies of namespaces, and passes on to them', () => {
    const guard = (action: string) => policy({ ingress: [ingress(action, all)] });
    expect(passes(zoneOf(guard('Deny'), open), 'b', 'a')).toBe(false);
    expect(passes(zoneOf(guard('Accept'), closed), 'b', 'a')).toBe(true);
    expect(passes(zoneOf(guard('Pass'), closed), 'b', 'a')).toBe(false);
    expect(passes(zoneOf(guard('Deny'), open), 'b', 'c')).toBe(true);
  });

  test('of the Baseline tier decides where no policy of a namespace does, and what it passes on goes through', () => {
    const base = (action: string, more: object = {}, name = 'base') =>
      policy({ tier: 'Baseline', ingress: [ingress(action, all)], ...more }, name);
    expect(passes(zoneOf(base('Deny')), 'b', 'a')).toBe(false);
    expect(passes(zoneOf(base('Deny'), open), 'b', 'a')).toBe(true);
    expect(passes(zoneOf(base('Accept'), closed), 'b', 'a')).toBe(false);
    const later = base('Deny', { priority: 11 }, 'later');
    expect(passes(zoneOf(base('Pass'), later), 'b', 'a')).toBe(true);
    expect(passes(zoneOf(base('Accept'), later), 'b', 'a')).toBe(true);
    // A connection that was cut before is taken up again by being allowed alone.
    const [last] = aclsOf(zoneOf(base('Pass')));
    expect(last).toMatchObject({ action: 'allow-related', tier: 3 });
    // Whatever passed in the Admin tier gets there.
    const passed = policy({ ingress: [ingress('Pass', all)] });
    expect(passes(zoneOf(passed, later), 'b', 'a')).toBe(false);
  });

  test('of priority 4p has the place of an AdminNetworkPolicy of priority p, and the baseline is behind all', () => {
    const admin = (priority: number, action: string) =>
      adminPolicy('other', {
        priority,
        subject: named('a'),
        ingress: [ingress(action, all)],
      });
    const guard = (priority: number) => policy({ priority, ingress: [ingress('Accept', all)] });
    expect(passes(zoneOf(guard(39), admin(10, 'Deny')), 'b', 'a')).toBe(true);
    expect(passes(zoneOf(guard(41), admin(10, 'Deny')), 'b', 'a')).toBe(false);
    const last = policy({ tier: 'Baseline', priority: 1000, ingress: [ingress('Accept', all)] });
    const baseline = adminPolicy('default', {
      subject: named('a'),
      ingress: [ingress('Deny', all)],
    });
    expect(passes(zoneOf(baseline), 'b', 'a')).toBe(false);
    expect(passes(zoneOf(baseline, last), 'b', 'a')).toBe(true);
  });

  test('means ports by number, by range and by name', () => {
    const deny = (...protocols: object[]) =>
      zoneOf(policy({ ingress: [ingress('Deny', all, ...protocols)] }));
    const number = deny({ tcp: { destinationPort: { number: 80 } } });
    expect([passes(number, 'b', 'a', 80), passes(number, 'b', 'a', 81)]).toEqual([false, true]);
    const range = deny({ tcp: { destinationPort: { range: { start: 79, end: 81 } } } });
    expect([passes(range, 'b', 'a', 81), passes(range, 'b', 'a', 82)]).toEqual([false, true]);
    const other = deny({ udp: { destinationPort: { number: 80 } } });
    expect(passes(other, 'b', 'a', 80)).toBe(true);
    const byName = deny({ destinationNamedPort: 'web' });
    expect([passes(byName, 'b', 'a', 8080), passes(byName, 'b', 'a', 80)]).toEqual([false, true]);
  });

  test('means ranges, also of pods, whatever the protocol', () => {
    const guard = policy({ egress: [egress('Deny', { networks: [`${ADDRESSES.b}/32`] })] });
    expect(passes(zoneOf(guard), 'a', 'b')).toBe(false);
    expect(passes(zoneOf(guard), 'a', 'c')).toBe(true);
    expect(aclsOf(zoneOf(guard))[0]?.['match']).not.toContain('tcp');
  });

  // OVN sends it back before ACLs on its way out.
  test('is about a pod that reaches itself by a service, where it receives', () => {
    const denied = (spec: object): boolean =>
      !new AclPipeline(zoneOf(policy(spec)).rows(/^(policy|pods\/port)/)).passes({
        outport: podPort('default', 'default', 'a'),
        src: '169.254.0.5',
        dst: ADDRESSES.a,
        protocol: 'tcp',
        port: 80,
      });
    expect(denied({ ingress: [ingress('Deny', named('a'))] })).toBe(true);
    expect(denied({ ingress: [ingress('Deny', named('b'))] })).toBe(false);
  });

  test('has rows on the primary networks of its subject, with the network’s controller', () => {
    const web = policedPod('blue/web', { on: 'blue/blue', address: '103.103.0.3/24' });
    const zone = zoneOf(
      namespace('blue', ownNetwork),
      web,
      policy({ subject: all, ingress: [ingress('Deny', all)] }),
    );
    const ids = zone
      .rows(/^policy\/admin-policy blue_blue /)
      .map(({ columns }) => JSON.stringify(columns['external_ids']));
    expect(ids).toHaveLength(3);
    for (const id of ids) expect(id).toContain('blue_blue-network-controller:ClusterNetworkPolicy');
  });
});

describe('peers by names', () => {
  const guard = (...domainNames: string[]) =>
    policy({
      egress: [
        egress('Accept', { domainNames }),
        egress('Deny', { networks: ['0.0.0.0/0', '::/0'] }),
      ],
    });

  test('are what DNS knows the name by, and nobody before', () => {
    const zone = zoneOf(guard('Example.org.'));
    expect(passes(zone, 'a', '192.0.2.7')).toBe(false);
    zone.facts.resolvedNames.put('example.org', { addresses: { v4: ['192.0.2.7'] } });
    expect(passes(zone, 'a', '192.0.2.7')).toBe(true);
    expect(passes(zone, 'a', '192.0.2.8')).toBe(false);
    expect(zone.facts.objectsNaming('example.org')).toEqual(['ClusterNetworkPolicy guard']);
    expect(zone.facts.hasRuleNames()).toBe(true);
  });

  test('may begin with a wildcard for one label or more', () => {
    const zone = zoneOf(guard('*.example.org'));
    expect([...zone.facts.ruleNames.keys()]).toEqual([['**.example.org']]);
    zone.facts.resolvedNames.put('**.example.org', { addresses: { v4: ['192.0.2.7'] } });
    expect(passes(zone, 'a', '192.0.2.7')).toBe(true);
  });

  test('by a wildcard are nobody where nobody sees what pods are told, and that is said', () => {
    const blind = {
      ...exampleZone,
      settings: { ...exampleZone.settings, forwardsDns: false },
    };
    const zone = PolicedZone.of(blind, space, ...pods, guard('*.example.org', 'example.org'));
    zone.facts.resolvedNames.put('**.example.org', { addresses: { v4: ['192.0.2.7'] } });
    expect(passes(zone, 'a', '192.0.2.7')).toBe(false);
    expect(
      zone.units(/^policy\/admin-policy default /).flatMap(({ problems }) => problems),
    ).toEqual([expect.stringContaining('rule about *.example.org')]);
  });

  test('are for rules that accept: any other denies everybody', () => {
    const zone = zoneOf(policy({ egress: [egress('Deny', { domainNames: ['example.org'] })] }));
    expect(passes(zone, 'a', 'b')).toBe(false);
    expect([...zone.facts.modelProblems()].map(({ message }) => message)).toEqual([
      expect.stringMatching(/only rules that let through may have names.*denies everybody/),
    ]);
  });
});

describe('a rule that can’t be read', () => {
  const later = { somebodyElse: {} };

  test('matches nobody if it accepts; other rules are as they are', () => {
    const zone = zoneOf(
      policy({
        ingress: [ingress('Accept', later), ingress('Accept', named('b')), ingress('Deny', all)],
      }),
    );
    expect([passes(zone, 'b', 'a'), passes(zone, 'c', 'a')]).toEqual([true, false]);
  });

  test.each(['Deny', 'Pass'])('denies everybody in its place if its action is %s', (action) => {
    const zone = zoneOf(
      policy({ ingress: [ingress('Accept', named('b')), ingress(action, later)] }),
      open,
    );
    expect([passes(zone, 'b', 'a'), passes(zone, 'c', 'a')]).toEqual([true, false]);
  });

  test('holds at once, whatever was read of the policy before, and is said', () => {
    const zone = zoneOf(policy({ ingress: [ingress('Accept', all)] }));
    expect(passes(zone, 'b', 'a')).toBe(true);
    zone.put(policy({ ingress: [ingress('Deny', all, { icmp: {} })] }));
    expect(passes(zone, 'b', 'a')).toBe(false);
    expect([...zone.facts.modelProblems()].map(({ message }) => message)).toEqual([
      expect.stringMatching(/exactly one of its fields.*correct it; until then that rule/),
    ]);
  });
});

test('a policy whose tier or priority can’t be read denies whom it denies, and accepts nobody', () => {
  for (const torn of [{ tier: 'Middle' }, { priority: '5' }]) {
    const zone = zoneOf(
      policy({ ...torn, ingress: [ingress('Accept', named('b')), ingress('Deny', named('c'))] }),
      closed,
    );
    expect([passes(zone, 'b', 'a'), passes(zone, 'c', 'a')]).toEqual([false, false]);
    expect(
      passes(zoneOf(policy({ ...torn, ingress: [ingress('Deny', named('c'))] })), 'b', 'a'),
    ).toBe(true);
  }
});

describe('an API server refuses', () => {
  const rule = (more: object): object => ({ action: 'Accept', to: [all], ...more });
  test.each([
    [{ tier: 'Middle' }, 'spec.tier: Unsupported value: "Middle"'],
    [{ priority: 1001 }, 'spec.priority: Invalid value: 1001: must be between 0 and 1000'],
    [{ egress: [rule({ action: 'Allow' })] }, 'supported values: "Accept", "Deny", "Pass"'],
    [{ egress: Array.from({ length: 26 }, () => rule({})) }, 'spec.egress: Invalid value: 26'],
    [{ egress: [rule({ protocols: [] })] }, 'must have 1 to 25 items'],
    [{ egress: [rule({ protocols: [{}] })] }, 'exactly one of its fields must be set'],
    [{ egress: [rule({ protocols: [{ tcp: {} }] })] }, 'exactly one of its fields must be set'],
    [
      {
        egress: [
          rule({ protocols: [{ tcp: { destinationPort: { range: { start: 5, end: 5 } } } }] }),
        ],
      },
      'Start port must be less than End port',
    ],
    [
      { egress: [rule({ protocols: [{ udp: { destinationPort: { number: 0 } } }] })] },
      'must be between 1 and 65535',
    ],
    [
      { egress: [rule({ to: [{ nodes: {} }], protocols: [{ destinationNamedPort: 'web' }] })] },
      'spec.egress[0]: Invalid value: "object": networks/nodes/domainNames peer cannot be set with namedPorts',
    ],
    [{ egress: [rule({ to: [{ networks: ['10.0.0.0/99'] }] })] }, 'must be a valid CIDR value'],
    [{ egress: [rule({ to: [{ networks: [] }] })] }, 'must have 1 to 25 items'],
    [
      { egress: [rule({ to: [{ networks: ['10.0.0.0/8', '10.0.0.0/8'] }] })] },
      'spec.egress[0].to[0].networks[1]: Duplicate value: "10.0.0.0/8"',
    ],
    [{ egress: [rule({ to: [{ domainNames: ['a.*.org'] }] })] }, 'must be a DNS name'],
    [{ egress: [rule({ name: 'x'.repeat(101) })] }, 'may not be more than 100 letters'],
    [{ subject: {} }, 'spec.subject: Invalid value: []: exactly one'],
  ])('%j', (spec, problem) => {
    expect(problemsOf(policy(spec)).filter((one) => !one.endsWith(RULES_SKIPPED))).toEqual([
      expect.stringContaining(problem),
    ]);
  });
});
