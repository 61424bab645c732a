import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { parseAddress, parsePrefix, type Address } from '../../../src/allocators/addresses.ts';
import {
  assignEgressAddresses,
  balancingMove,
  nodesToMoveFrom,
  type AddressFacts,
  type EgressAssignment,
  type EgressItem,
  type EgressNode,
  type EgressRequest,
} from '../../../src/allocators/egress-addresses.ts';

const FREE: AddressFacts = {
  ownerOf: () => undefined,
  answeredBy: () => [],
  movesTo: () => undefined,
};
const ANY_NODE = { has: () => true } as unknown as ReadonlySet<string>;
const node = (name: string, ...networks: readonly string[]): EgressNode => ({
  name,
  networks: (networks.length === 0 ? ['172.18.0.0/16'] : networks).flatMap(
    (network) => parsePrefix(network) ?? [],
  ),
  takesMore: true,
});
const request = (
  name: string,
  addresses: readonly string[],
  held: readonly EgressItem[] = [],
  nodes: ReadonlySet<string> = ANY_NODE,
): EgressRequest => ({
  name,
  nodes,
  addresses: new Map(addresses.map((text) => [text, parseAddress(text) as Address])),
  held,
});
const shown = (assignments: ReadonlyMap<string, EgressAssignment>): readonly string[] =>
  [...assignments].flatMap(([name, { items, unassigned }]) => [
    ...items.map((item) => `${name} ${item.address} ${item.node}`),
    ...[...unassigned].map(([address, why]) => `${name} ${address} ${JSON.stringify(why)}`),
  ]);

describe('assignment', () => {
  test('gives one address of an object per node, on the nodes that have the fewest', () => {
    const nodes = [node('a'), node('b')];
    const requests = [
      request('first', ['172.18.0.10']),
      request('second', ['172.18.0.11', '172.18.0.12', '172.18.0.13']),
    ];
    expect(shown(assignEgressAddresses(requests, nodes, FREE))).toEqual([
      'first 172.18.0.10 a',
      'second 172.18.0.11 b',
      'second 172.18.0.12 a',
      'second 172.18.0.13 {"kind":"no-node"}',
    ]);
  });

  test('leaves a node where nothing leaves for whichever other one, and one that is drained for one that is not', () => {
    const held = [request('out', ['172.18.0.10'], [{ node: 'a', address: '172.18.0.10' }])];
    const placed = (...nodes: readonly EgressNode[]): readonly string[] =>
      shown(assignEgressAddresses(held, nodes, FREE));
    const [well, drained] = [node('b'), { ...node('b'), isDraining: true }];
    const down = (name: string): EgressNode => ({ ...node(name), isDownFor: () => true });
    expect(placed({ ...node('a'), isDownFor: () => false }, well)).toEqual(['out 172.18.0.10 a']);
    expect(placed(down('a'), well)).toEqual(['out 172.18.0.10 b']);
    expect(placed(down('a'), drained)).toEqual(['out 172.18.0.10 b']);
    expect(placed(down('a'), down('b'))).toEqual(['out 172.18.0.10 a']);
    expect(placed(down('a'), down('b'), { ...well, name: 'c' })).toEqual(['out 172.18.0.10 c']);
    expect(placed(down('a'), { ...well, takesMore: false })).toEqual(['out 172.18.0.10 a']);
    expect(placed({ ...node('a'), isDraining: true }, down('b'))).toEqual(['out 172.18.0.10 a']);
    // What has no node yet has a bad one rather than none.
    const fresh = [request('out', ['172.18.0.10'])];
    expect(shown(assignEgressAddresses(fresh, [down('a'), well], FREE))).toEqual([
      'out 172.18.0.10 b',
    ]);
    expect(shown(assignEgressAddresses(fresh, [down('a')], FREE))).toEqual(['out 172.18.0.10 a']);
  });

  test('goes by the networks of nodes, of both families', () => {
    const nodes = [node('a', '172.18.0.0/16'), node('b', '10.9.0.0/16', 'fd00::/64')];
    const requests = [request('out', ['fd00::5', '172.18.0.10', '192.0.2.1'])];
    expect(shown(assignEgressAddresses(requests, nodes, FREE))).toEqual([
      'out fd00::5 b',
      'out 172.18.0.10 a',
      'out 192.0.2.1 {"kind":"no-node"}',
    ]);
  });

  test('goes by the nodes that an object may have, and moves what is elsewhere', () => {
    const nodes = [node('a'), node('b'), node('c')];
    const held = [
      { node: 'a', address: '172.18.0.10' },
      { node: 'b', address: '172.18.0.11' },
    ];
    const requests = [
      request('out', ['172.18.0.10', '172.18.0.11', '172.18.0.12'], held, new Set(['b', 'c'])),
    ];
    expect(shown(assignEgressAddresses(requests, nodes, FREE))).toEqual([
      'out 172.18.0.10 c',
      'out 172.18.0.11 b',
      'out 172.18.0.12 {"kind":"no-node"}',
    ]);
  });

  test('gives an address to one object alone, and to the one that has it before the older one', () => {
    const nodes = [node('a'), node('b')];
    const held = [{ node: 'b', address: '172.18.0.10' }];
    const requests = [request('old', ['172.18.0.10']), request('young', ['172.18.0.10'], held)];
    expect(shown(assignEgressAddresses(requests, nodes, FREE))).toEqual([
      'old 172.18.0.10 {"kind":"requested","by":"young","node":"b"}',
      'young 172.18.0.10 b',
    ]);
    expect(shown(assignEgressAddresses(requests.slice(0, 1), nodes, FREE))).toEqual([
      'old 172.18.0.10 a',
    ]);
  });

  test("gives nobody what is somebody's already, also if it was given before", () => {
    const held = [{ node: 'a', address: '172.18.0.2' }];
    const facts = { ...FREE, ownerOf: () => 'a host (a) IP address' };
    expect(
      shown(assignEgressAddresses([request('out', ['172.18.0.2'], held)], [node('a')], facts)),
    ).toEqual(['out 172.18.0.2 {"kind":"owned","by":"a host (a) IP address"}']);
  });

  test('waits until the node that had an address answers for it no more', () => {
    const requests = [request('out', ['172.18.0.10'], [{ node: 'gone', address: '172.18.0.10' }])];
    const leaving = { ...FREE, answeredBy: () => ['gone'] };
    expect(shown(assignEgressAddresses(requests, [node('a')], leaving))).toEqual([
      'out 172.18.0.10 {"kind":"leaving","from":"gone","to":"a"}',
    ]);
    // A node that may have it, and answers already, keeps it.
    expect(shown(assignEgressAddresses(requests, [node('a'), node('gone')], leaving))).toEqual([
      'out 172.18.0.10 gone',
    ]);
  });
});

describe('a move', () => {
  const held = [{ node: 'a', address: '172.18.0.10' }];
  const requests = [request('out', ['172.18.0.10'], held)];
  const toB = { ...FREE, movesTo: () => 'b' };

  test('goes to the node that is said, once the other one has let go', () => {
    const nodes = [node('a'), node('b'), node('c')];
    expect(
      shown(assignEgressAddresses(requests, nodes, { ...toB, answeredBy: () => ['a'] })),
    ).toEqual(['out 172.18.0.10 {"kind":"leaving","from":"a","to":"b"}']);
    const left = [request('out', ['172.18.0.10'])];
    expect(shown(assignEgressAddresses(left, nodes, toB))).toEqual(['out 172.18.0.10 b']);
  });

  test('is not begun to a node that may not have the address, and ends where it began when that one goes', () => {
    const answering = { ...toB, answeredBy: () => ['a'] };
    for (const other of [[], [node('b', '10.9.0.0/16')], [{ ...node('b'), takesMore: false }]]) {
      const nodes = [node('a'), ...other];
      expect(shown(assignEgressAddresses(requests, nodes, toB))).toEqual(['out 172.18.0.10 a']);
      const left = [request('out', ['172.18.0.10'])];
      expect(shown(assignEgressAddresses(left, nodes, answering))).toEqual(['out 172.18.0.10 a']);
    }
  });
});

const names = (prefix: string, count: number): readonly string[] =>
  Array.from({ length: count }, (_, n) => `${prefix}${n}`);
const itemsOf = (found: ReadonlyMap<string, EgressAssignment>): readonly EgressItem[] =>
  [...found.values()].flatMap(({ items }) => items);
const loads = (found: readonly EgressItem[], nodes: readonly EgressNode[]): readonly number[] =>
  nodes.map(({ name }) => found.filter((item) => item.node === name).length);

/** Objects of some addresses each, of which two objects may want one. */
const objects = fc
  .array(fc.uniqueArray(fc.integer({ min: 1, max: 60 }), { minLength: 1, maxLength: 4 }), {
    maxLength: 20,
  })
  .map((all) =>
    all.map((numbers, n) =>
      request(
        `eip${n}`,
        numbers.map((number) => `172.18.1.${number}`),
      ),
    ),
  );
const nodesOf = fc
  .integer({ min: 1, max: 8 })
  .map((count) => names('n', count).map((n) => node(n)));

describe('whatever is asked for', () => {
  test('an address has one owner and one node, an object one address per node, and loads differ by one at most', () => {
    fc.assert(
      fc.property(objects, nodesOf, (requests, nodes) => {
        const found = assignEgressAddresses(requests, nodes, FREE);
        const items = itemsOf(found);
        expect(new Set(items.map(({ address }) => address)).size).toBe(items.length);
        for (const { items: own } of found.values())
          expect(new Set(own.map((item) => item.node)).size).toBe(own.length);
        const counts = loads(items, nodes);
        expect(Math.max(...counts) - Math.min(...counts)).toBeLessThanOrEqual(1);
      }),
    );
  });

  test('what is assigned stays: asked again, when nodes come, and on the nodes that are left when one goes', () => {
    fc.assert(
      fc.property(objects, nodesOf, (requests, nodes) => {
        const first = assignEgressAddresses(requests, nodes, FREE);
        const held = requests.map((one) => ({ ...one, held: first.get(one.name)?.items ?? [] }));
        expect(assignEgressAddresses(held, nodes, FREE)).toEqual(first);
        const more = itemsOf(assignEgressAddresses(held, [...nodes, node('new')], FREE));
        expect(more).toEqual(expect.arrayContaining([...itemsOf(first)]));
        const left = itemsOf(assignEgressAddresses(held, nodes.slice(1), FREE));
        expect(left).toEqual(
          expect.arrayContaining(itemsOf(first).filter((item) => item.node !== nodes[0]?.name)),
        );
      }),
    );
  });
});

describe('balance', () => {
  const everywhere = (): boolean => true;

  test('takes from the fullest node, of the youngest object, for one that may have the address and is a target', () => {
    const held = (address: string, name: string) => [{ node: name, address }];
    const requests = [
      request('old', ['172.18.0.10'], held('172.18.0.10', 'a')),
      request('young', ['172.18.0.11'], held('172.18.0.11', 'a')),
      request('far', ['10.9.0.5'], held('10.9.0.5', 'a')),
    ];
    const nodes = [node('a', '172.18.0.0/16', '10.9.0.0/16'), node('b'), node('c')];
    const found = assignEgressAddresses(requests, nodes, FREE);
    expect(balancingMove(requests, nodes, found, everywhere)).toEqual({
      request: 'young',
      address: '172.18.0.11',
      from: 'a',
      to: 'b',
    });
    expect(balancingMove(requests, nodes, found, (name) => name === 'c')?.to).toBe('c');
    expect(balancingMove(requests, nodes, found, () => false)).toBeUndefined();
    const pinned = requests.map((one) => ({ ...one, nodes: new Set(['a']) }));
    expect(balancingMove(pinned, nodes, found, everywhere)).toBeUndefined();
    const still = nodes.map((one) => (one.name === 'a' ? { ...one, takesMore: false } : one));
    expect(balancingMove(requests, still, found, everywhere)).toBeUndefined();
  });

  test('comes by one move after the other, each of which is needed, and then nothing moves', () => {
    fc.assert(
      fc.property(objects, nodesOf, nodesOf, (requests, before, more) => {
        const nodes = [...before, ...more.map(({ name }) => node(`more-${name}`))];
        let found = assignEgressAddresses(requests, before, FREE);
        for (let moves = 0; ; moves += 1) {
          const held = requests.map((one) => ({ ...one, held: found.get(one.name)?.items ?? [] }));
          // What no node had yet comes to those that are new.
          if (moves === 0) {
            found = assignEgressAddresses(held, nodes, FREE);
            continue;
          }
          const move = balancingMove(held, nodes, found, everywhere);
          if (move === undefined) break;
          expect(moves).toBeLessThanOrEqual(itemsOf(found).length);
          const last = itemsOf(found);
          found = assignEgressAddresses(held, nodes, {
            ...FREE,
            movesTo: (address) => (address === move.address ? move.to : undefined),
          });
          const changed = itemsOf(found).filter(
            ({ address, node: now }) => last.find((item) => item.address === address)?.node !== now,
          );
          expect(changed).toEqual([{ address: move.address, node: move.to }]);
        }
        const counts = loads(itemsOf(found), nodes);
        expect(Math.max(...counts) - Math.min(...counts)).toBeLessThanOrEqual(1);
      }),
    );
  });
});

describe('another node could have an address of a node', () => {
  const moveFrom = (
    requests: readonly EgressRequest[],
    nodes: readonly EgressNode[],
    facts: Partial<AddressFacts> = {},
  ): readonly string[] =>
    [
      ...nodesToMoveFrom(
        requests,
        nodes,
        assignEgressAddresses(requests, nodes, { ...FREE, ...facts }),
      ),
    ].toSorted();
  const heldBy = (name: string, last: number, nodes = ANY_NODE): EgressRequest => {
    const address = `172.18.0.${last}`;
    return request(`eip${last}`, [address], [{ node: name, address }], nodes);
  };

  test('that is there, takes more, is selected, and is in its network', () => {
    const held = [heldBy('a', 10)];
    expect(moveFrom(held, [node('a'), node('b')])).toEqual(['a']);
    expect(moveFrom(held, [node('a')])).toEqual([]);
    expect(moveFrom(held, [node('a'), { ...node('b'), takesMore: false }])).toEqual([]);
    expect(moveFrom(held, [node('a'), node('b', '10.9.0.0/24')])).toEqual([]);
    expect(moveFrom([heldBy('a', 10, new Set(['a']))], [node('a'), node('b')])).toEqual([]);
  });

  test('one of them is enough; where each node has one of an object none could', () => {
    const nodes = [node('a'), node('b')];
    expect(moveFrom([heldBy('a', 10, new Set(['a'])), heldBy('a', 11)], nodes)).toEqual(['a']);
    const both = request('both', ['172.18.0.10', '172.18.0.11']);
    expect(moveFrom([both], nodes)).toEqual([]);
    expect(moveFrom([both], [...nodes, node('c')])).toEqual(['a', 'b']);
  });

  test('that waits for it', () => {
    const taken = [heldBy('a', 10, new Set(['b']))];
    const answeredBy = (): readonly string[] => ['a'];
    expect(moveFrom(taken, [node('a'), node('b')], { answeredBy })).toEqual(['a']);
  });
});

test('1,000 objects are spread over 100 nodes', () => {
  const nodes = names('n', 100).map((name) => node(name));
  const requests = names('eip', 1000).map((name, n) =>
    request(name, [`172.18.${n >> 7}.${(n & 127) + 1}`]),
  );
  expect(new Set(loads(itemsOf(assignEgressAddresses(requests, nodes, FREE)), nodes))).toEqual(
    new Set([10]),
  );
});
