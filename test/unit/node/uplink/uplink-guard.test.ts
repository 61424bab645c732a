import { expect, test } from 'vitest';
import { foundGuard, guardCommands, guardOf } from '../../../../src/node/uplink/uplink-guard.ts';

const RANGES = { v4: '169.254.0.0/17', v6: 'fd69::/112' };
const V4 = ['ip saddr 169.254.0.0/17', '@ll,96,16 0x8100 @ll,128,16 0x0800 @ll,240,17 0x153fc'];

test('each range is matched with and without a tag, at all cards, in one transaction', () => {
  expect(guardOf(['eth1', 'eth0'], { v4: RANGES.v4 })).toEqual({
    devices: ['eth0', 'eth1'],
    matches: V4,
  });
  expect(guardOf(['eth0'], RANGES).matches.slice(2)).toEqual([
    'ip6 saddr fd69::/112',
    '@ll,96,16 0x8100 @ll,128,16 0x86dd @ll,208,112 0xfd69000000000000000000000000',
  ]);
  expect(guardCommands(guardOf(['eth0', 'eth1'], { v4: RANGES.v4 }))).toEqual([
    'table netdev heddle-uplink',
    'delete table netdev heddle-uplink',
    'table netdev heddle-uplink { chain uplink { type filter hook egress devices = { "eth0", "eth1" } priority 0; policy accept; }; }',
    ...V4.map(
      (match) => `add rule netdev heddle-uplink uplink ${match} counter drop comment "${match}"`,
    ),
  ]);
});

test.each([
  ['no card', [], RANGES],
  ['no range', ['eth0'], {}],
])('with %s the table goes', (_, devices, ranges) => {
  expect(guardCommands(guardOf(devices, ranges))).toEqual([
    'table netdev heddle-uplink',
    'delete table netdev heddle-uplink',
  ]);
});

test('what nft lists is found again, of one card or several; a rule of somebody else is none of ours', () => {
  const rules = V4.map((comment) => ({ rule: { comment } }));
  expect(foundGuard([{ chain: { dev: 'eth0' } }, ...rules])).toEqual(
    guardOf(['eth0'], { v4: RANGES.v4 }),
  );
  expect(foundGuard([{ table: {} }, { chain: { dev: ['eth1', 'eth0'] } }, ...rules])).toEqual(
    guardOf(['eth0', 'eth1'], { v4: RANGES.v4 }),
  );
  expect(foundGuard([{ chain: {} }, ...rules, { rule: {} }])).toEqual({
    devices: [],
    matches: [...V4, ''],
  });
});
