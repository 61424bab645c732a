import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import {
  formatInterfaceAddress,
  formatPrefix,
  overlaps,
  parsePrefix,
  type Prefix,
} from '../../../src/allocators/addresses.ts';
import {
  ConnectSubnetAllocator,
  layer2ConnectLink,
  layer2ConnectPortKey,
  layer3ConnectLink,
  layer3ConnectPortKey,
  type ConnectRange,
} from '../../../src/allocators/connect-subnets.ts';

const prefix = (text: string): Prefix => {
  const parsed = parsePrefix(text);
  if (parsed === undefined) throw new Error(`no prefix: ${text}`);
  return parsed;
};
const range = (cidr: string, networkPrefix: number): ConnectRange => ({
  cidr: prefix(cidr),
  networkPrefix,
});
const allocate = (subnets: ConnectSubnetAllocator, owner: string): string =>
  (owner.startsWith('layer3') ? subnets.allocateLayer3(owner) : subnets.allocateLayer2(owner))
    .map(formatPrefix)
    .join(' ');

const DUAL = [range('192.168.0.0/16', 24), range('fd01::/112', 120)];

test('blocks for Layer3, slices of shared blocks for Layer2 (reference/api.md §14)', () => {
  const subnets = new ConnectSubnetAllocator(DUAL);
  const expected = {
    layer3_1: '192.168.0.0/24 fd01::/120',
    layer3_2: '192.168.1.0/24 fd01::100/120',
    layer3_5: '192.168.2.0/24 fd01::200/120',
    layer3_12: '192.168.3.0/24 fd01::300/120',
    layer2_40: '192.168.4.0/31 fd01::400/127',
    layer2_103: '192.168.4.2/31 fd01::402/127',
    layer3_15: '192.168.5.0/24 fd01::500/120',
    layer2_2000: '192.168.4.4/31 fd01::404/127',
  };
  const owners = Object.keys(expected);
  expect(Object.fromEntries(owners.map((owner) => [owner, allocate(subnets, owner)]))).toEqual(
    expected,
  );
  expect(Object.fromEntries(owners.map((owner) => [owner, allocate(subnets, owner)]))).toEqual(
    expected,
  );
});

test('IPv6 with 16 subnet bits or more skips number 0, in blocks and in slices', () => {
  const subnets = new ConnectSubnetAllocator([range('fd01::/64', 96)]);
  expect(allocate(subnets, 'layer3_1')).toBe('fd01::1:0:0/96');
  expect(allocate(subnets, 'layer3_2')).toBe('fd01::2:0:0/96');
  expect(allocate(subnets, 'layer2_3')).toBe('fd01::3:0:2/127');
});

test('the ninth Layer2 network opens a block', () => {
  const subnets = new ConnectSubnetAllocator([range('192.168.0.0/24', 28)]);
  const slices = Array.from({ length: 9 }, (_, index) => allocate(subnets, `layer2_${index}`));
  expect([slices[0], slices[7], slices[8]]).toEqual([
    '192.168.0.0/31',
    '192.168.0.14/31',
    '192.168.0.16/31',
  ]);
  expect(allocate(subnets, 'layer3_1')).toBe('192.168.0.32/28');
});

test('an empty Layer2 block goes back to the Layer3 networks', () => {
  const subnets = new ConnectSubnetAllocator([range('192.168.0.0/24', 25)]);
  allocate(subnets, 'layer2_1');
  allocate(subnets, 'layer3_2');
  expect(() => subnets.allocateLayer3('layer3_3')).toThrow('no subnets available');
  subnets.release('layer2_1');
  expect(allocate(subnets, 'layer3_3')).toBe('192.168.0.0/25');
});

test('the stored state is adopted', () => {
  const before = new ConnectSubnetAllocator(DUAL);
  const owners = ['layer3_1', 'layer2_4', 'layer3_3', 'layer2_9'];
  const stored = owners.map((owner) => [owner, allocate(before, owner)] as const);
  const after = new ConnectSubnetAllocator(DUAL);
  for (const [owner, text] of stored.toReversed()) {
    const subnets = text.split(' ').map(prefix);
    if (owner.startsWith('layer3')) after.reserveLayer3(owner, subnets);
    else after.reserveLayer2(owner, subnets);
  }
  for (const [owner, text] of stored) expect(allocate(after, owner)).toBe(text);
  expect(allocate(after, 'layer2_10')).toBe(allocate(before, 'layer2_10'));
  expect(after.owners().toSorted()).toEqual([...owners, 'layer2_10'].toSorted());
});

test('stored subnets that clash are refused without a trace', () => {
  const subnets = new ConnectSubnetAllocator(DUAL);
  subnets.reserveLayer3('layer3_1', [prefix('192.168.1.0/24')]);
  expect(() =>
    subnets.reserveLayer2('layer2_2', [prefix('192.168.2.0/31'), prefix('192.168.1.0/31')]),
  ).toThrow('already owned by layer3_1');
  expect(() => subnets.reserveLayer2('layer2_2', [prefix('192.168.3.0/30')])).toThrow(
    'does not belong',
  );
  expect(subnets.owners()).toEqual(['layer3_1']);
  expect(allocate(subnets, 'layer3_4')).toBe('192.168.0.0/24 fd01::/120');
  expect(allocate(subnets, 'layer3_5')).toBe('192.168.2.0/24 fd01::100/120');
});

test.each([
  [range('192.168.0.0/24', 24), 'networkPrefix 24 must be larger than base CIDR prefix 24'],
  [range('192.168.0.0/24', 32), 'networkPrefix 32 must be smaller than address length 32'],
])('impossible ranges are refused', (wrong, message) => {
  expect(() => new ConnectSubnetAllocator([wrong])).toThrow(message);
});

describe('links and port keys in 192.168.0.0/16, blocks of /24', () => {
  const [v4 = range('192.168.0.0/16', 24)] = DUAL;
  const ends = (block: string, node: number): string[] => {
    const { connectRouter, networkRouter } = layer3ConnectLink(prefix(block), node);
    return [connectRouter, networkRouter].map(formatInterfaceAddress);
  };

  test('a node’s pair lies at twice its id', () => {
    expect(ends('192.168.1.0/24', 2)).toEqual(['192.168.1.4/31', '192.168.1.5/31']);
    expect(ends('192.168.1.0/24', 127)).toEqual(['192.168.1.254/31', '192.168.1.255/31']);
    expect(() => ends('192.168.1.0/24', 128)).toThrow(
      'node id 128 does not fit into connect subnet 192.168.1.0/24: its largest node id is 127',
    );
  });

  test('a Layer2 network has one pair', () => {
    const { connectRouter, networkRouter } = layer2ConnectLink(prefix('192.168.4.2/31'));
    expect([connectRouter, networkRouter].map(formatInterfaceAddress)).toEqual([
      '192.168.4.2/31',
      '192.168.4.3/31',
    ]);
  });

  test('port keys follow from block and node', () => {
    expect(layer3ConnectPortKey(v4, prefix('192.168.0.0/24'), 2)).toBe(3);
    expect(layer3ConnectPortKey(v4, prefix('192.168.5.0/24'), 2)).toBe(1283);
    expect(layer2ConnectPortKey(v4, prefix('192.168.4.0/31'))).toBe(1025);
    expect(layer2ConnectPortKey(v4, prefix('192.168.4.2/31'))).toBe(1026);
    expect(() => layer3ConnectPortKey(v4, prefix('192.168.255.0/24'), 127)).toThrow(
      'port tunnel key 65408',
    );
  });
});

test('what is in use never overlaps', () => {
  const step = fc.record({
    release: fc.boolean(),
    owner: fc.constantFrom(
      'layer3_1',
      'layer3_2',
      'layer3_3',
      'layer2_4',
      'layer2_5',
      'layer2_6',
      'layer2_7',
    ),
  });
  fc.assert(
    fc.property(fc.array(step, { maxLength: 60 }), (steps) => {
      const subnets = new ConnectSubnetAllocator([
        range('10.0.0.0/27', 30),
        range('fd00::/123', 126),
      ]);
      for (const { release, owner } of steps)
        if (release) subnets.release(owner);
        else allocate(subnets, owner);
      const all = subnets.owners().flatMap((owner) => subnets.subnetsOf(owner));
      for (const a of all) for (const b of all) expect(a !== b && overlaps(a, b)).toBe(false);
      for (const owner of subnets.owners()) expect(subnets.subnetsOf(owner)).toHaveLength(2);
    }),
  );
});
