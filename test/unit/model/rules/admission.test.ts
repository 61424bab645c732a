import { describe, expect, test } from 'vitest';
import {
  admitNetwork,
  admitNode,
  comesBefore,
  keyedNetworkComesBefore,
  nameProblem,
  nodeComesBefore,
  transitRouterKey,
  switchKey,
  tunnelKeysOf,
  type AdmissionContext,
} from '../../../../src/model/rules/admission.ts';
import {
  blue,
  ipv4Settings,
  layer2Secondary,
  networkName,
  worker2,
  yellow,
  type ZoneNetwork,
} from '../../../support/zone/zones.ts';

const context: AdmissionContext = {
  settings: ipv4Settings,
  node: { name: 'n1', id: 2 },
  nodeSubnets: ['103.103.0.0/24'],
  ownerOf: () => undefined,
  takenKey: undefined,
};
const messageOf = (network: ZoneNetwork, more: Partial<AdmissionContext> = {}): string => {
  const found = admitNetwork(network, { ...context, ...more });
  if (found.kind === 'problem') return found.message;
  return found.kind === 'pending' ? `waits: ${found.waitsFor}` : 'admitted';
};

test('a name that would end a string in a match is refused', () => {
  expect(nameProblem('blue', 'a.b_c-d/e')).toBeUndefined();
  expect(nameProblem('blue', 'a"b')).toBe(
    'the name "a\\"b" may only hold letters, digits and "." "_" "-" "/"; rename it',
  );
});

describe('of two that clash', () => {
  test('the lower id comes first, and of one id the name', () => {
    expect(comesBefore({ id: 1, name: 'b' }, { id: 2, name: 'a' })).toBe(true);
    expect(comesBefore({ id: 1, name: 'a' }, { id: 1, name: 'b' })).toBe(true);
  });

  test('a node keeps what it had before the other one said that it has it', () => {
    const late = { ...worker2, name: 'late', id: 1, since: 2 };
    expect(nodeComesBefore({ ...worker2, since: 1 }, late)).toBe(true);
    expect(nodeComesBefore({ ...worker2, since: 2 }, late)).toBe(false);
  });

  test('and so does a network; of those of a start the older one', () => {
    const key = { name: 'a', id: 5, tunnelKeys: [], since: 0, created: '2026-01-01' };
    expect(keyedNetworkComesBefore(key, { ...key, id: 1, created: '2026-01-02' })).toBe(true);
    expect(keyedNetworkComesBefore({ ...key, since: 1 }, { ...key, id: 9 })).toBe(false);
  });
});

describe('another node', () => {
  test('has its id, its chassis and its tunnel addresses to itself', () => {
    expect(admitNode(worker2, () => undefined)).toMatchObject({ kind: 'value' });
    for (const [identity, remedy] of [
      ['node id 3', 'correct the annotations of the wrong one'],
      [
        'tunnel address 172.18.0.4',
        'if one of them is the name that the machine had before, delete that Node; else correct --encap-ip, or the address, of the wrong one',
      ],
      [
        `chassis id ${worker2.chassisId}`,
        'if one of them is the name that the machine had before, delete that Node; else give the wrong one, a cloned machine perhaps, another system-id (external_ids of its Open_vSwitch database)',
      ],
    ])
      expect(admitNode(worker2, (one) => (one === identity ? 'other' : undefined))).toEqual({
        kind: 'problem',
        message: `node "ovn-worker2": ${identity} is that of node "other" too; ${remedy}`,
      });
  });
});

describe('a network', () => {
  test('has rows where nothing stands against it', () => {
    expect(messageOf(blue)).toBe('admitted');
    expect(messageOf(yellow)).toBe('admitted');
  });

  test('waits for tunnel keys, where zones must agree on them', () => {
    expect(messageOf({ ...yellow, tunnelKeys: [] })).toMatch(/^waits: .*tunnel keys/);
    expect(messageOf(layer2Secondary)).toBe('admitted');
    expect(transitRouterKey(yellow)).toBe(16715780);
    expect(transitRouterKey(blue)).toBeUndefined();
  });

  test('is refused with a key that is none of a router, or that another network had before', () => {
    expect(messageOf({ ...yellow, tunnelKeys: [16711686, 16711687] })).toContain(
      'none that routers have',
    );
    expect(messageOf(yellow, { takenKey: { key: '16715780', owner: 'red' } })).toContain(
      'of its router is that of network "red" too',
    );
    expect(messageOf(yellow, { takenKey: { key: '16711686', owner: 'red' } })).toContain(
      '(network id 3) is that of network "red" too',
    );
    expect(tunnelKeysOf({ ...yellow, since: 0, created: '' })).toEqual(['16715780', '16711686']);
  });

  test('of a larger id than keys follow from has a key of its own, and no other', () => {
    const far = { ...blue, id: 5000, masqueradeNumber: 4096, tunnelKeys: [16715790] };
    expect(messageOf(far)).toBe('admitted');
    expect([switchKey(far), switchKey(blue)]).toEqual([16715790, 16711684]);
    expect(tunnelKeysOf({ ...far, since: 0, created: '' })).toEqual(['16715790']);
    expect(messageOf({ ...far, tunnelKeys: [] })).toMatch(/^waits: .*tunnel keys/);
    expect(messageOf({ ...far, tunnelKeys: [16711686] })).toContain(
      'the tunnel key 16711686 of its switch is none that networks of its id have',
    );
  });

  test('is refused with the name of something that another one has', () => {
    expect(
      messageOf(blue, { ownerOf: (id) => (id === 'prefix blue_blue_' ? 'red' : undefined) }),
    ).toContain('would have the prefix "blue_blue_"');
    expect(messageOf({ ...blue, name: networkName('a"b') })).toContain('rename it');
  });

  test('is refused where subnets are too small for this node, and what is there of it stays', () => {
    const small = { ...context, nodeSubnets: ['103.103.0.0/31'] };
    expect(admitNetwork(blue, small)).toMatchObject({ kind: 'problem', keepsRows: true });
    expect(messageOf(blue, small)).toContain('103.103.0.0/31');
    expect(messageOf(blue, { node: { name: 'n1', id: 70_000 } })).toContain('join subnet');
    expect(messageOf(yellow, { node: { name: 'n1', id: 40_000 } })).toContain('transit subnet');
    const settings = { ...ipv4Settings, masqueradeSubnets: { v4: '169.254.0.0/29' } };
    expect(messageOf({ ...blue, masqueradeNumber: 1 }, { settings })).toContain(
      'masquerade subnet 169.254.0.0/29',
    );
  });
});
