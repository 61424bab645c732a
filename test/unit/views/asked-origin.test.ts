/** What `heddle explain` takes: rows, flows and rules as programs name or print them. */
import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { ConfigurationError } from '../../../src/process/configuration-error.ts';
import { askedOrigin, LONGEST_QUESTION, type Asked } from '../../../src/views/asked-origin.ts';

describe('a row', () => {
  test.each<readonly [string, Asked]>([
    ['9b73ada8', { kind: 'uuid', prefix: '9b73ada8' }],
    ['9B73', { kind: 'uuid', prefix: '9b73' }],
    ['9b73ada8-a517-5c9b-ba02', { kind: 'uuid', prefix: '9b73ada8-a517-5c9b-ba02' }],
    ['ACL/9b73ada8', { kind: 'row', table: 'ACL', name: '9b73ada8' }],
    [
      'Logical_Switch_Port/blue/web one',
      { kind: 'row', table: 'Logical_Switch_Port', name: 'blue/web one' },
    ],
    ['blue_l3net_n1', { kind: 'name', name: 'blue_l3net_n1' }],
  ])('%s', (written, asked) => {
    expect(askedOrigin(written)).toEqual(asked);
  });
});

describe('a flow', () => {
  test.each<readonly [string, string]>([
    ['0x402B88a2', '0x402b88a2'],
    ['cookie=0x05d6c465/-1', '0x5d6c465'],
    ['0x43296f30deff105', '0x43296f30deff105'],
  ])('by its cookie %s', (written, cookie) => {
    expect(askedOrigin(written)).toEqual({ kind: 'cookie', cookie });
  });

  test('as dump-flows prints it: what counts is no part of it', () => {
    const line =
      ' cookie=0x05d6c465, duration=5.880s, table=73, n_packets=5, n_bytes=446, idle_age=3, priority=80,reg14=0x1,metadata=0x7 actions=load:0x1->NXM_NX_REG10[12]';
    expect(askedOrigin(line)).toEqual({
      kind: 'flow',
      flow: {
        cookie: '0x5d6c465',
        table: 73,
        priority: 80,
        match: 'metadata=0x7,reg14=0x1',
        actions: 'load:0x1->NXM_NX_REG10[12]',
        isSpecial: false,
      },
    });
  });

  test('not by cookie 0, which most programs leave', () => {
    expect(() => askedOrigin('0x0')).toThrow('give the whole line of ovs-ofctl dump-flows');
  });
});

describe('a rule of nftables', () => {
  test.each<readonly [string, Asked]>([
    ['handle 42', { kind: 'nft', handle: 42, text: '' }],
    ['ip daddr @a drop # handle 42', { kind: 'nft', handle: 42, text: 'ip daddr @a drop' }],
    ['\t\tip daddr @a drop', { kind: 'nft', text: 'ip daddr @a drop' }],
  ])('%s', (written, asked) => {
    expect(askedOrigin(written)).toEqual(asked);
  });
});

describe('a rule of the host', () => {
  test('of both families where it does not say which', () => {
    const rule = { priority: 2000, fwmark: '0x1001', table: 10_001 };
    expect(askedOrigin('2000:\tfrom all fwmark 0x1001 lookup 10001 proto 85')).toEqual({
      kind: 'rule',
      protocol: '85',
      rules: [
        { family: 'v4', ...rule },
        { family: 'v6', ...rule },
      ],
    });
  });

  test('of the table of a VRF', () => {
    expect(askedOrigin('1000: from all lookup [l3mdev-table]')).toMatchObject({
      rules: [{ priority: 1000, l3mdev: true }, { family: 'v6' }],
    });
  });

  test('with an address', () => {
    expect(askedOrigin('6000: from 10.20.0.3 lookup 1007 proto kernel')).toEqual({
      kind: 'rule',
      protocol: 'kernel',
      rules: [{ family: 'v4', priority: 6000, from: '10.20.0.3', table: 1007 }],
    });
  });

  test('with more to it than ours have is none of ours', () => {
    expect(askedOrigin('5: from all iif eth0 lookup 7')).toMatchObject({ rules: [] });
  });

  test('whose table has a name: its number is asked for', () => {
    expect(() => askedOrigin('5: from all lookup blue')).toThrow('as "ip -N rule" prints it');
  });
});

describe('a route', () => {
  test.each<readonly [string, object]>([
    [
      'default via 172.18.0.1 dev breth0 table 10001 proto 85',
      { family: 'v4', dst: 'default', via: '172.18.0.1', dev: 'breth0', table: '10001' },
    ],
    [
      '169.254.0.1 dev breth0 scope link src 172.18.0.11',
      { family: 'v4', dst: '169.254.0.1/32', dev: 'breth0' },
    ],
    [
      'unreachable default table 10001 metric 4278198272',
      { dst: 'default', type: 'unreachable', metric: 4_278_198_272, table: '10001' },
    ],
    ['fd00::/64 via fe80::1 dev eth0', { family: 'v6', dst: 'fd00::/64' }],
    ['10.0.0.0/8 via 10.1.1.1 table main', { table: '254' }],
  ])('%s', (written, route) => {
    const asked = askedOrigin(written);
    expect(asked.kind).toBe('route');
    expect(asked.kind === 'route' ? asked.routes[0] : undefined).toMatchObject(route);
  });
});

test.each<readonly [string, string]>([
  ['', 'is empty'],
  ['8b', 'write at least 4 digits'],
  ['x'.repeat(LONGEST_QUESTION + 1), `write at most ${LONGEST_QUESTION}`],
])('what can not be asked is told what to write', (written, told) => {
  expect(() => askedOrigin(written)).toThrow(told);
});

test('no text ends otherwise than with an answer or such an error', () => {
  const word = fc.constantFrom(
    'from',
    'all',
    'via',
    '10.0.0.1',
    'default',
    '0x1',
    ':',
    'handle',
    '/',
  );
  const text = fc.oneof(
    fc.string(),
    fc.array(word).map((words) => words.join(' ')),
  );
  fc.assert(
    fc.property(text, (written) => {
      try {
        askedOrigin(written);
      } catch (error) {
        expect(error).toBeInstanceOf(ConfigurationError);
      }
    }),
  );
});
