import { describe, expect, test } from 'vitest';
import {
  answerTo,
  isHidden,
  reverseAddress,
  TYPE,
  type NameView,
} from '../../../../src/model/rules/network-names.ts';
import { namedFacts, namedZone, viewOf } from '../../../support/zone/named-networks.ts';
import { slice } from '../../../support/zone/services.ts';
import { blue, colored, green } from '../../../support/zone/zones.ts';

const view = viewOf();

/** Data of the records, or what is said instead. */
const told = (
  name: string,
  type: keyof typeof TYPE = 'A',
  of: NameView = view,
): readonly string[] | string => {
  const answer = answerTo(of, name, TYPE[type]);
  return answer.kind === 'known'
    ? answer.records.map((one) =>
        'address' in one
          ? one.address
          : one.type === 'SRV'
            ? `${one.weight} ${one.port} ${one.target}`
            : one.target,
      )
    : answer.kind;
};

describe('of the own network a pod is told', () => {
  test('the addresses that ready pods of a headless service have there', () => {
    expect(told('web.blue.svc.cluster.local')).toEqual(['103.103.0.5', '103.103.1.5']);
    expect(told('web.blue.svc.cluster.local', 'ANY')).toEqual(['103.103.0.5', '103.103.1.5']);
    expect(told('web.blue.svc.cluster.local', 'AAAA')).toEqual([]);
    expect(told('web.blue.svc.cluster.local', 'CNAME')).toEqual([]);
  });

  test('those of pods of a StatefulSet by their names', () => {
    expect(told('web-1.web.blue.svc.cluster.local')).toEqual(['103.103.1.5']);
    expect(told('web-2.web.blue.svc.cluster.local')).toBe('missing');
    expect(told('103-103-0-7.api.blue.svc.cluster.local')).toEqual(['103.103.0.7']);
    expect(told('10-244-0-5.web.blue.svc.cluster.local')).toBe('missing');
    expect(told('a.web-1.web.blue.svc.cluster.local')).toBe('missing');
  });

  test('cluster IPs', () => {
    expect(told('api.blue.svc.cluster.local')).toEqual(['10.96.1.1']);
    expect(told('api.blue.svc.cluster.local', 'AAAA')).toEqual([]);
  });

  test('ports, and by which names they are reached', () => {
    expect(told('_http._tcp.web.blue.svc.cluster.local', 'SRV')).toEqual([
      '50 8080 web-0.web.blue.svc.cluster.local',
      '50 8080 web-1.web.blue.svc.cluster.local',
    ]);
    expect(told('_raft._udp.web.blue.svc.cluster.local')).toEqual(['103.103.0.5', '103.103.1.5']);
    expect(told('_raft._tcp.web.blue.svc.cluster.local', 'SRV')).toBe('missing');
    expect(told('web-0.web.blue.svc.cluster.local', 'SRV')).toEqual([
      '50 8080 web-0.web.blue.svc.cluster.local',
      '50 7000 web-0.web.blue.svc.cluster.local',
    ]);
    expect(told('_http._tcp.api.blue.svc.cluster.local', 'SRV')).toEqual([
      '100 80 api.blue.svc.cluster.local',
    ]);
    expect(told('_no._tcp.api.blue.svc.cluster.local', 'SRV')).toBe('missing');
    expect(told('http.tcp.web.blue.svc.cluster.local', 'SRV')).toBe('missing');
    expect(answerTo(view, 'web.blue.svc.cluster.local', TYPE.SRV)).toMatchObject({
      additional: [
        { name: 'web-0.web.blue.svc.cluster.local', type: 'A', address: '103.103.0.5' },
        { name: 'web-1.web.blue.svc.cluster.local', type: 'A', address: '103.103.1.5' },
      ],
    });
  });

  test('names of pods by their addresses, where these may be theirs', () => {
    expect(told('103-103-0-9.blue.pod.cluster.local')).toEqual(['103.103.0.9']);
    expect(told('103-103-0-9.blue.pod.cluster.local', 'AAAA')).toEqual([]);
    expect(told('172-18-0-4.blue.pod.cluster.local')).toBe('missing');
    expect(told('10-244-0-5.blue.pod.cluster.local')).toBe('missing');
    expect(told('a.103-103-0-9.blue.pod.cluster.local')).toBe('missing');
    expect(told('--1.blue.pod.cluster.local')).toBe('missing');
  });

  test('names of addresses', () => {
    expect(told('5.1.103.103.in-addr.arpa', 'PTR')).toEqual(['web-1.web.blue.svc.cluster.local']);
    expect(told('7.0.103.103.in-addr.arpa', 'PTR')).toEqual([
      '103-103-0-7.api.blue.svc.cluster.local',
    ]);
    expect(told('7.0.103.103.in-addr.arpa', 'A')).toEqual([]);
    expect(told('9.0.103.103.in-addr.arpa', 'PTR')).toBe('missing');
    expect(told('1.1.96.10.in-addr.arpa', 'PTR')).toEqual(['api.blue.svc.cluster.local']);
  });

  test('that there is nothing of a service whose pods have no addresses there', () => {
    expect(told('coming.blue.svc.cluster.local')).toBe('missing');
    expect(told('10-244-0-9.coming.blue.svc.cluster.local')).toBe('missing');
  });

  test('that its namespace is there', () => {
    expect(told('blue.svc.cluster.local')).toEqual([]);
    expect(told('blue.pod.cluster.local')).toEqual([]);
  });
});

test("the cluster's DNS says what nobody knows here: aliases, endpoints by hand, services of the default network that are open, and the world", () => {
  for (const name of [
    'alias.blue.svc.cluster.local',
    'by-hand.blue.svc.cluster.local',
    'kubernetes.default.svc.cluster.local',
    '10-244-0-8.kube-dns.kube-system.svc.cluster.local',
    'kube-system.svc.cluster.local',
    'svc.cluster.local',
    'cluster.local',
    'dns-version.cluster.local',
    'example.org',
    'web.red.svc.cluster.local.example.org',
    '',
    '10.0.96.10.in-addr.arpa',
    '9.2.0.192.in-addr.arpa',
    '103.in-addr.arpa',
  ])
    expect(told(name), name).toBe('cluster');
});

test('of other tenants, and of what the network does not reach, there is nothing', () => {
  for (const name of [
    'web.red.svc.cluster.local',
    'web-0.web.red.svc.cluster.local',
    'api.red.svc.cluster.local',
    '_http._tcp.web.red.svc.cluster.local',
    'red.svc.cluster.local',
    'red.pod.cluster.local',
    '103-103-0-5.red.pod.cluster.local',
    'web.plain.svc.cluster.local',
    'plain.svc.cluster.local',
    '10-244-0-5.plain.pod.cluster.local',
    'other.kube-system.svc.cluster.local',
    '10-244-0-8.kube-system.pod.cluster.local',
    'x.nowhere.svc.cluster.local',
    '*.red.svc.cluster.local',
    'web.red\\046svc.cluster.local',
    'web\\046red.svc.cluster.local',
    'web.red.svc\\046cluster.local',
    'web.red.svc\\046cluster\\046local',
  ])
    for (const type of ['A', 'AAAA', 'SRV', 'ANY', 'PTR', 'CNAME'] as const)
      expect(told(name, type), `${name} ${type}`).toBe('missing');
  for (const name of ['1.2.96.10.in-addr.arpa', '1.4.96.10.in-addr.arpa'])
    expect(told(name, 'PTR'), name).toBe('missing');
});

test('two tenants with one subnet are each told their own', () => {
  const ofRed = viewOf(namedFacts(), 2);
  expect(told('web-0.web.red.svc.cluster.local', 'A', ofRed)).toEqual(['103.103.0.5']);
  expect(told('5.0.103.103.in-addr.arpa', 'PTR', ofRed)).toEqual([
    'web-0.web.red.svc.cluster.local',
  ]);
  expect(told('web-0.web.blue.svc.cluster.local', 'A', ofRed)).toBe('missing');
});

test('addresses of both families are told, each to who asks for it', () => {
  const of = viewOf(
    namedFacts(
      namedZone,
      ['blue/blue'],
      [
        slice('blue/web', [{ addresses: ['fd00:103::5'], hostname: 'web-0' }], {
          network: 'blue_blue',
          name: 'v6',
        }),
      ],
    ),
  );
  const name = 'web-0.web.blue.svc.cluster.local';
  expect(told(name, 'AAAA', of)).toEqual(['fd00:103::5']);
  expect(told(name, 'A', of)).toEqual(['103.103.0.5']);
  expect(told(name, 'ANY', of)).toEqual(['103.103.0.5', 'fd00:103::5']);
});

test("a slice that names another tenant's network gives its addresses no names", () => {
  const forged = slice('red/forged', ['103.103.0.9', '103.103.0.5'], { network: 'blue_blue' });
  const of = viewOf(namedFacts(namedZone, ['blue/blue'], [forged]));
  expect(told('9.0.103.103.in-addr.arpa', 'PTR', of)).toBe('missing');
  expect(told('5.0.103.103.in-addr.arpa', 'PTR', of)).toEqual(['web-0.web.blue.svc.cluster.local']);
});

describe('connected networks', () => {
  const joined = (connect: object, from = blue.id): NameView =>
    viewOf(namedFacts({ ...namedZone, connects: [{ ...colored, ...connect }] }), from);

  test('with pods tell of pods, not of cluster IPs', () => {
    const of = joined({ hasPods: true, hasServices: false });
    expect(told('web-0.web.green.svc.cluster.local', 'A', of)).toEqual(['104.104.0.5']);
    expect(told('5.0.104.104.in-addr.arpa', 'PTR', of)).toEqual([
      'web-0.web.green.svc.cluster.local',
    ]);
    expect(told('api.green.svc.cluster.local', 'A', of)).toEqual([]);
    expect(told('1.3.96.10.in-addr.arpa', 'PTR', of)).toBe('missing');
    expect(told('104-104-0-9.green.pod.cluster.local', 'A', of)).toEqual(['104.104.0.9']);
  });

  test('with services tell of cluster IPs, not of pods', () => {
    const of = joined({ hasPods: false, hasServices: true });
    expect(told('api.green.svc.cluster.local', 'A', of)).toEqual(['10.96.3.1']);
    expect(told('web.green.svc.cluster.local', 'A', of)).toBe('missing');
    expect(told('104-104-0-9.green.pod.cluster.local', 'A', of)).toBe('missing');
    expect(told('5.0.104.104.in-addr.arpa', 'PTR', of)).toBe('missing');
  });

  test('tell nothing of others that they are connected with', () => {
    expect(told('web.red.svc.cluster.local', 'A', joined({}, green.id))).toBe('missing');
  });
});

test('names that tell of others are known as such, wherever they stand', () => {
  expect(isHidden(view, 'web.red.svc.cluster.local')).toBe(true);
  expect(isHidden(view, '103-103-0-5.red.pod.cluster.local')).toBe(true);
  expect(isHidden(view, 'web.kube-system.svc.cluster.local')).toBe(true);
  for (const name of [
    'web.blue.svc.cluster.local',
    'kube-dns.kube-system.svc.cluster.local',
    'a.b',
  ])
    expect(isHidden(view, name), name).toBe(false);
});

test('names of addresses are whole ones, written as addresses are', () => {
  expect(reverseAddress('5.0.103.103.in-addr.arpa')?.address).toBe('103.103.0.5');
  expect(reverseAddress(`${'0.'.repeat(28)}d.f.0.0.ip6.arpa`)).toBeDefined();
  expect(reverseAddress(`a.${'0.'.repeat(27)}8.d.f.f.ip6.arpa`)?.address).toBe('ffd8::a');
  const mapped = `5.0.0.0.7.6.7.6.f.f.f.f.${'0.'.repeat(20)}ip6.arpa`;
  expect(reverseAddress(mapped)).toEqual({ address: '103.103.0.5', zone: 'ip6.arpa' });
  expect(told(mapped, 'PTR')).toEqual(['web-0.web.blue.svc.cluster.local']);
  for (const name of [
    '0.103.103.in-addr.arpa',
    '05.0.103.103.in-addr.arpa',
    '256.0.103.103.in-addr.arpa',
    'x.5.0.103.103.in-addr.arpa',
    '5.0.103.103.in-addr.arpa.example.org',
    '1.0.ip6.arpa',
  ])
    expect(reverseAddress(name), name).toBeUndefined();
});
