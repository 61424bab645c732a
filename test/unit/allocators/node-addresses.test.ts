import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import {
  formatAddress,
  formatInterfaceAddress,
  parseInterfaceAddress,
  parsePrefix,
  type Prefix,
} from '../../../src/allocators/addresses.ts';
import {
  EGRESS_SERVICE_SLOTS,
  egressMasquerade,
  egressServiceMasquerade,
  gatewayAddress,
  managementAddress,
  masqueradeAddresses,
  LAST_NODE_MASQUERADE,
  maxMasqueradeNetworkId,
  siblingLink,
  nodeAddress,
  nodeIdOfAddress,
} from '../../../src/allocators/node-addresses.ts';

const prefix = (text: string): Prefix => {
  const parsed = parsePrefix(text);
  if (parsed === undefined) throw new Error(`no prefix: ${text}`);
  return parsed;
};

test.each([
  ['100.65.0.0/16', 2, '100.65.0.2/16'],
  ['fd99::/64', 2, 'fd99::2/64'],
  ['100.88.0.0/16', 2, '100.88.0.2/16'],
  ['fd97::/64', 2, 'fd97::2/64'],
])('in %s node %i has %s', (subnet, node, address) => {
  expect(formatInterfaceAddress(nodeAddress(prefix(subnet), node))).toBe(address);
});

test.each([
  ['100.88.0.0/16', '100.88.0.2/16', 2],
  ['100.88.0.0/16', '100.88.19.136/16', 5000],
  ['fd97::/64', 'fd97::2/64', 2],
  ['100.88.0.0/16', '100.88.0.2/24', undefined],
  ['100.88.0.0/16', '100.89.0.2/16', undefined],
  ['100.88.0.0/16', '100.87.255.255/16', undefined],
  ['100.88.0.0/16', 'fd97::2/16', undefined],
])('in %s the address %s is of node %s', (subnet, text, node) => {
  const address = parseInterfaceAddress(text);
  if (address === undefined) throw new Error(`no address: ${text}`);
  expect(nodeIdOfAddress(prefix(subnet), address)).toBe(node);
});

test('an id beyond the subnet is an error with numbers', () => {
  expect(() => nodeAddress(prefix('100.88.0.0/29'), 9)).toThrow(
    'generated ip 100.88.0.9 from the idx 9 is out of range in the network 100.88.0.0/29',
  );
});

test('a node subnet begins with gateway and management port', () => {
  const subnet = prefix('10.20.2.0/24');
  expect([gatewayAddress(subnet), managementAddress(subnet)].map(formatInterfaceAddress)).toEqual([
    '10.20.2.1/24',
    '10.20.2.2/24',
  ]);
});

describe('masquerade addresses', () => {
  test.each([
    ['169.254.0.0/17', '169.254.58.152', '169.254.122.151'],
    ['fd69::/112', 'fd69::3a98', 'fd69::7a97'],
  ])(
    'in %s those of EgressServices with a routing table are %s to %s, none of an EgressIP',
    (subnet, ...ends) => {
      const of = [0, EGRESS_SERVICE_SLOTS - 1].map((slot) =>
        egressServiceMasquerade(prefix(subnet), slot),
      );
      expect(of.map((one) => one && formatAddress(one))).toEqual(ends);
      expect(egressMasquerade(prefix(subnet), 4999)?.value).toBe((of[0]?.value ?? 0n) - 1n);
    },
  );

  test('there are all of these, or none', () => {
    expect(egressServiceMasquerade(prefix('169.254.0.0/18'), 0)).toBeUndefined();
    expect(egressServiceMasquerade(prefix('fd69::/113'), 0)).toBeDefined();
  });

  test.each([
    ['169.254.0.0/17', 1, '169.254.0.11', '169.254.0.12'],
    ['fd69::/112', 1, 'fd69::b', 'fd69::c'],
    ['169.254.0.0/17', 2, '169.254.0.13', '169.254.0.14'],
    ['169.254.0.0/17', 3, '169.254.0.15', '169.254.0.16'],
    ['169.254.0.0/17', 4095, '169.254.32.7', '169.254.32.8'],
  ])('in %s network %i has %s and %s', (subnet, id, gateway, management) => {
    const pair = masqueradeAddresses(prefix(subnet), id);
    expect([pair.gatewayRouter, pair.managementPort].map(formatAddress)).toEqual([
      gateway,
      management,
    ]);
  });

  test('a subnet that is too small says which address is missing', () => {
    expect(() => masqueradeAddresses(prefix('169.254.169.0/29'), 9)).toThrow(
      "failed generating network id '9' v4-masquerade-ips gateway router ip: generated ip 169.254.169.27 from the idx 27 is out of range in the network 169.254.169.0/29",
    );
    expect(() => masqueradeAddresses(prefix('169.254.0.0/17'), 0)).toThrow(
      'invalid argument: network ID should be bigger that 0',
    );
  });

  test.each([
    ['169.254.169.0/29', 0],
    ['169.254.169.0/28', 2],
    ['169.254.0.0/17', 16_378],
    ['fd69::/125', 0],
  ])('%s has room up to network %i', (subnet, id) => {
    expect(maxMasqueradeNetworkId(prefix(subnet))).toBe(id);
    if (id > 0) expect(() => masqueradeAddresses(prefix(subnet), id)).not.toThrow();
    expect(() => masqueradeAddresses(prefix(subnet), id + 1)).toThrow('out of range');
  });
});

describe('links between networks of a node', () => {
  const numbers = fc.integer({ min: 1, max: LAST_NODE_MASQUERADE });

  test('of one router have different addresses, whatever numbers the networks have, in a subnet of /17', () => {
    fc.assert(
      fc.property(numbers, numbers, numbers, (own, one, other) => {
        fc.pre(one !== other);
        const [first, second] = [one, other].map((number) =>
          siblingLink(prefix('169.254.0.0/17'), own, number),
        );
        expect(first).toBeDefined();
        expect(first?.first).not.toEqual(second?.first);
      }),
    );
  });

  test('are the same from both sides', () => {
    expect(siblingLink(prefix('169.254.0.0/17'), 7, 4990)).toEqual(
      siblingLink(prefix('169.254.0.0/17'), 4990, 7),
    );
  });
});
