import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import type { Firewall } from '../../../../src/model/read/egress-firewalls.ts';
import type { ZoneFacts } from '../../../../src/model/zone/zone.ts';
import type { Ask } from '../../../../src/node/dns/dns-query.ts';
import { NameSource } from '../../../../src/node/dns/name-source.ts';
import { ManualClock } from '../../../support/run/manual-clock.ts';
import { silent } from '../../../support/cluster/cluster.ts';
import { dualZone, factsOf } from '../../../support/zone/zones.ts';

const firewall = (namespace: string, ...names: string[]): Firewall => ({
  namespace,
  name: 'default',
  rules: names.map((name) => ({
    isAllowed: true,
    destination: { kind: 'name', name },
    ports: [],
  })),
});

let facts: ZoneFacts;
let clock: ManualClock;
let stop: AbortController;
let source: NameSource;
let running: Promise<void>;
let changes: number;
/** What is answered, by name and family. */
let answers: Record<string, readonly { address: string; ttl: number }[] | Error>;
let asked: string[];
/** What the database has of each name in each family. */
let before: readonly string[] | undefined;

const ask: Ask = (name, family, servers) => {
  asked.push(`${name} ${family} ${servers.join(',')}`);
  const answer = answers[`${name} ${family}`] ?? [];
  return answer instanceof Error ? Promise.reject(answer) : Promise.resolve(answer);
};
const known = (name: string): unknown => facts.resolvedNames.peek(name);

beforeEach(async () => {
  facts = factsOf({
    ...dualZone,
    settings: { ...dualZone.settings, dnsServers: ['192.0.2.53'] },
    firewalls: [firewall('blue', 'a.example')],
  });
  clock = new ManualClock();
  stop = new AbortController();
  changes = 0;
  asked = [];
  before = [];
  answers = { 'a.example v4': [{ address: '192.0.2.1', ttl: 30 }] };
  source = new NameSource({
    ask,
    hostServers: () => ['192.0.2.99'],
    log: silent,
    onChange: () => (changes += 1),
    heldBefore: () => before,
  });
  running = source.start(facts, clock, stop.signal);
  await clock.advance(0);
});
afterEach(async () => {
  stop.abort();
  await running;
});

test('a name of a rule is asked for in both families, again when its TTL has passed', async () => {
  expect(asked).toEqual(['a.example v4 192.0.2.53', 'a.example v6 192.0.2.53']);
  expect(known('a.example')).toEqual({ addresses: { v4: ['192.0.2.1'], v6: [] } });
  expect(changes).toBe(1);
  await clock.advance(29_000);
  expect(asked).toHaveLength(2);
  answers['a.example v4'] = [{ address: '192.0.2.2', ttl: 30 }];
  await clock.advance(1_000);
  expect(known('a.example')).toEqual({ addresses: { v4: ['192.0.2.1', '192.0.2.2'], v6: [] } });
  expect(changes).toBe(2);
});

test('one that no rule has any more is forgotten, one that comes is asked for', async () => {
  facts.firewalls.put(['blue', 'default'], firewall('blue', 'b.example'));
  await clock.advance(0);
  expect(known('a.example')).toBe(undefined);
  expect(known('b.example')).toMatchObject({ addresses: { v4: [], v6: [] } });
  asked = [];
  await clock.advance(60_000);
  expect(asked.filter((one) => one.startsWith('a.example'))).toEqual([]);
});

test('without an answer what was known stays, and that is said; before the first one nothing is known', async () => {
  answers = { 'a.example v4': new Error('timed out'), 'a.example v6': new Error('timed out') };
  facts.firewalls.put(['red', 'default'], firewall('red', 'b.example'));
  answers['b.example v4'] = new Error('timed out');
  await clock.advance(30_000);
  expect(known('a.example')).toEqual({
    addresses: { v4: ['192.0.2.1'], v6: [] },
    problem:
      'no answer of DNS (dns-servers) for name a.example, which a rule has: it is what it was until there is one: timed out',
  });
  expect(known('b.example')).toMatchObject({
    addresses: { v6: [] },
    problem: expect.stringContaining('nobody, or what it was before the start') as string,
  });
  await clock.advance(3_600_000);
  expect(known('a.example')).toMatchObject({ addresses: { v4: ['192.0.2.1'] } });
  answers = { 'a.example v4': [{ address: '192.0.2.3', ttl: 30 }] };
  await clock.advance(120_000);
  expect(known('a.example')).toEqual({ addresses: { v4: ['192.0.2.3'], v6: [] } });
});

test('addresses of the cluster and of hosts themselves are nobody’s, whatever the owner of a name says', async () => {
  answers['a.example v4'] = [
    '10.244.1.5',
    '10.96.0.1',
    '169.254.0.3',
    '127.0.0.1',
    '0.0.0.0',
    '224.0.0.1',
    '100.64.0.2',
    '100.88.0.2',
    '192.0.2.4',
  ].map((address) => ({ address, ttl: 30 }));
  answers['a.example v6'] = ['::1', 'fe80::1', 'ff02::1', '2001:db8::4'].map((address) => ({
    address,
    ttl: 30,
  }));
  await clock.advance(30_000);
  expect(known('a.example')).toEqual({
    addresses: { v4: ['192.0.2.1', '192.0.2.4'], v6: ['2001:db8::4'] },
  });
});

test('the servers are those of the service, or of the host where there is none', async () => {
  const withService = factsOf({ ...dualZone, firewalls: [firewall('blue', 'c.example')] });
  withService.declaredServices.put('kube-system/kube-dns', {
    facts: { clusterIps: ['10.96.0.10'], externalIps: [], poolIps: [], ports: [] },
    ingress: [],
    created: '',
  } as never);
  const source = new NameSource({
    ask,
    hostServers: () => ['192.0.2.99'],
    log: silent,
    onChange: () => undefined,
    heldBefore: () => [],
  });
  const ends = source.start(withService, clock, stop.signal);
  await clock.advance(0);
  expect(asked).toContain('c.example v4 10.96.0.10');
  withService.declaredServices.put('kube-system/kube-dns', undefined);
  await clock.advance(30_000);
  expect(asked).toContain('c.example v4 192.0.2.99');
  stop.abort();
  await ends;
});

describe('what pods are told', () => {
  const told = (rule: string, ...addresses: string[]): number =>
    source.told({
      rule,
      answers: { v4: addresses.map((address) => ({ address, ttl: 10 })), v6: [] },
    });

  beforeEach(async () => {
    facts.firewalls.put(['red', 'default'], firewall('red', '*.apps.example'));
    await clock.advance(0);
  });

  test('counts beside what the daemon is, and has to be in the data plane only when it is new', () => {
    expect(source.rulesAbout('a.example')).toEqual(['a.example']);
    const change = told('a.example', '192.0.2.7');
    expect(change).toBe(source.installations.change);
    expect(told('a.example', '192.0.2.7')).toBe(change);
    expect(told('a.example', '192.0.2.1')).toBeLessThan(change);
    expect(known('a.example')).toMatchObject({ addresses: { v4: ['192.0.2.1', '192.0.2.7'] } });
    expect(told('a.example', '10.244.1.5')).toBe(0);
  });

  test('is all that is known of a wildcard, which is about one label, until its time is over', async () => {
    expect(asked.some((one) => one.startsWith('*'))).toBe(false);
    expect(source.rulesAbout('x.apps.example')).toEqual(['*.apps.example']);
    expect(source.rulesAbout('x.y.apps.example')).toEqual([]);
    expect(source.rulesAbout('apps.example')).toEqual([]);
    told('*.apps.example', '192.0.2.8');
    expect(known('*.apps.example')).toEqual({ addresses: { v4: ['192.0.2.8'] } });
    await clock.advance(309_000);
    expect(known('*.apps.example')).toEqual({ addresses: { v4: ['192.0.2.8'] } });
    await clock.advance(2_000);
    expect(known('*.apps.example')).toEqual({ addresses: { v4: [] } });
  });

  test('of a name that no rule has is nothing', () => {
    expect(told('b.example', '192.0.2.9')).toBe(0);
    expect(known('b.example')).toBe(undefined);
  });
});

test('what the database has of a name since before the start counts for its time, and nothing is known before it is read', async () => {
  before = undefined;
  facts.firewalls.put(['red', 'default'], firewall('red', 'b.example', '*.b.example'));
  await clock.advance(1_000);
  expect(known('b.example')).toBe(undefined);
  before = ['192.0.2.20'];
  answers['b.example v4'] = [{ address: '192.0.2.21', ttl: 30 }];
  await clock.advance(1_000);
  expect(known('b.example')).toMatchObject({ addresses: { v4: ['192.0.2.20', '192.0.2.21'] } });
  expect(known('*.b.example')).toMatchObject({ addresses: { v4: ['192.0.2.20'] } });
  await clock.advance(301_000);
  expect(known('b.example')).toMatchObject({ addresses: { v4: ['192.0.2.21'] } });
  expect(known('*.b.example')).toMatchObject({ addresses: { v4: [] } });
});
