import { describe, expect, test } from 'vitest';
import type { EgressFirewall } from '../../../../src/api/types.ts';
import { DEFAULT_SETTINGS } from '../../../../src/model/settings.ts';
import {
  CLOSED,
  egressFirewallKind,
  readFirewall,
} from '../../../../src/model/read/egress-firewalls.ts';

const firewall = (...egress: object[]): EgressFirewall =>
  ({
    apiVersion: 'k8s.ovn.org/v1',
    kind: 'EgressFirewall',
    metadata: { namespace: 'blue', name: 'default' },
    spec: { egress },
  }) as unknown as EgressFirewall;
const rule = (to: object, more: object = {}): object => ({ type: 'Allow', to, ...more });
const problemOf = (...egress: object[]): string => {
  const reading = readFirewall(firewall(...egress));
  return reading.kind === 'problem' ? reading.message : reading.kind;
};

test('rules in their order, blocks in canonical form', () => {
  expect(
    readFirewall(
      firewall(
        rule({ cidrSelector: '8.8.8.8/16' }, { ports: [{ protocol: 'TCP', port: 443 }] }),
        rule({ nodeSelector: { matchLabels: { role: 'cp' } } }),
        { type: 'Deny', to: { cidrSelector: '2001:DB8::/32' } },
      ),
    ),
  ).toEqual({
    kind: 'value',
    value: {
      namespace: 'blue',
      name: 'default',
      rules: [
        {
          isAllowed: true,
          destination: { kind: 'cidr', cidr: '8.8.0.0/16' },
          ports: [{ protocol: 'tcp', port: 443 }],
        },
        {
          isAllowed: true,
          destination: { kind: 'nodes', selector: { matchLabels: { role: 'cp' } } },
          ports: [],
        },
        { isAllowed: false, destination: { kind: 'cidr', cidr: '2001:db8::/32' }, ports: [] },
      ],
    },
  });
});

test('a name is read in lower case, without the dot at its end', () => {
  const names = ['WWW.Example.org.', '_sip._tcp.example.org', 'localhost'];
  const reading = readFirewall(firewall(...names.map((dnsName) => rule({ dnsName }))));
  const read = ['www.example.org', '_sip._tcp.example.org', 'localhost'];
  expect(reading).toMatchObject({
    value: { rules: read.map((name) => ({ destination: { kind: 'name', name } })) },
  });
});

describe('what nothing can be made of is a problem, with field, value and what holds until it is corrected', () => {
  const anywhere = { cidrSelector: '0.0.0.0/0' };
  test.each([
    [
      [{ type: 'Allowed', to: anywhere }],
      'spec.egress[0].type: Invalid value: "Allowed": must be Allow or Deny',
    ],
    [
      [rule(anywhere), rule({ cidrSelector: '8.8.8/8' })],
      'spec.egress[1].to.cidrSelector: Invalid value: "8.8.8/8"',
    ],
    [
      [rule({ dnsName: 'a.*.example.org' })],
      'spec.egress[0].to.dnsName: Invalid value: "a.*.example.org": must be a DNS name',
    ],
    [
      [rule({ dnsName: '*.org' })],
      'spec.egress[0].to.dnsName: Invalid value: "*.org": must be a DNS name',
    ],
    [
      [rule({ dnsName: 'a..example' })],
      'spec.egress[0].to.dnsName: Invalid value: "a..example": must be a DNS name',
    ],
    [[rule({ dnsName: `${'a'.repeat(64)}.example` })], 'must be a DNS name of at most 253 letters'],
    [[rule({})], 'must have cidrSelector, dnsName or nodeSelector'],
    [
      [rule({ nodeSelector: { matchExpressions: [{ key: 'a', operator: 'Near' }] } })],
      'spec.egress[0].to.nodeSelector',
    ],
    [
      [rule(anywhere, { ports: [{ protocol: 'TCPx', port: 1 }] })],
      'spec.egress[0].ports[0].protocol: Invalid value: "TCPx"',
    ],
    [
      [rule(anywhere, { ports: [{ protocol: 'TCP', port: 0 }] })],
      'spec.egress[0].ports[0].port: Invalid value: 0: must be a number from 1 to 65535',
    ],
    [Array.from({ length: 10_001 }, () => rule(anywhere)), 'has 10001 rules: write at most 10000'],
  ])('%#', (egress, message) => {
    const problem = problemOf(...egress);
    expect(problem).toContain(message);
    expect(problem).toContain('the pods of its namespace send nothing out of their network');
  });
});

test('where EgressFirewalls are off it is told', () => {
  const object = firewall(rule({ cidrSelector: '0.0.0.0/0' }));
  const read = (egressFirewall: boolean): unknown => {
    const features = { ...DEFAULT_SETTINGS.features, egressFirewall };
    return egressFirewallKind.read(object, {
      nodeName: 'n1',
      settings: { ...DEFAULT_SETTINGS, features },
      isOwn: true,
      round: 1,
      before: undefined,
    });
  };
  expect(read(false)).toMatchObject({ warning: expect.stringContaining('are off') as string });
  expect(read(true)).not.toHaveProperty('warning');
});

test('one that could never be read denies everything outside, of both families', () => {
  const closed = egressFirewallKind.closed(firewall(rule({ dnsName: '*.*.example' })));
  expect(closed).toEqual({
    kind: 'value',
    value: { namespace: 'blue', name: 'default', rules: CLOSED },
  });
  expect(CLOSED.map(({ isAllowed, destination }) => [isAllowed, destination])).toEqual([
    [false, { kind: 'cidr', cidr: '0.0.0.0/0' }],
    [false, { kind: 'cidr', cidr: '::/0' }],
  ]);
});

test.each<[string, object]>([
  ['spec.egress[1].to.appSelector', rule({ cidrSelector: '10.0.0.0/8', appSelector: {} })],
  ['spec.egress[1].when', rule({ cidrSelector: '10.0.0.0/8' }, { when: 'night' })],
  [
    'spec.egress[1].ports[0].host',
    rule({ dnsName: 'a.example' }, { ports: [{ protocol: 'TCP', port: 443, host: 'a' }] }),
  ],
])(
  'a rule with a field of a newer release (%s) is not read as if it were not there',
  (field, newer) => {
    expect(problemOf(rule({ cidrSelector: '10.0.0.0/8' }), newer)).toContain(
      `${field}: Forbidden: this release does not know the field`,
    );
  },
);
