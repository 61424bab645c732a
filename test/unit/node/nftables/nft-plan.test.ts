import { withoutHeld } from '../../../../src/node/reconcile/host-plan.ts';
import { array, assert, constantFrom, property } from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { Wanted } from '../../../../src/node/reconcile/claims.ts';
import { keptRules } from '../../../../src/node/nftables/kept-rules.ts';
import {
  commentOf,
  objectOfComment,
  ruleComment,
  type NftRow,
} from '../../../../src/node/nftables/nft-rows.ts';
import { planNft } from '../../../../src/node/nftables/nft-plan.ts';
import { foundTable } from '../../../../src/node/nftables/nft-state.ts';
import { elementText, ruleText } from '../../../../src/node/nftables/nft-text.ts';

const wanted = <T extends NftRow['table']>(
  table: T,
  key: string,
  columns: Extract<NftRow, { table: T }>['columns'],
): Wanted<NftRow> => {
  const place = { database: 'nftables', table, key, containers: [] };
  const row = { ...place, columns, rule: 'r', object: 'Pod a/b' } as NftRow;
  return { owner: { id: '["unit"]', order: 0 }, row };
};
/** Of each rule. */
const COMMENT = 'Pod a/b (unit r)';
const chain = wanted('chain', 'c', { name: 'c' });
const rule = (text: string, order: number): Wanted<NftRow> =>
  wanted('rule', `c ${text}`, { chain: 'c', text, order });
const found = (...texts: readonly string[]) =>
  foundTable([
    { chain: { name: 'c', handle: 1 } },
    ...texts.map((name, index) => ({
      rule: { chain: 'c', handle: 10 + index, expr: [{ [name]: null }], comment: COMMENT },
    })),
  ]);
const commands = (
  there: ReturnType<typeof found> | undefined,
  rows: readonly Wanted<NftRow>[],
): string[] =>
  planNft(there, rows, () => undefined, true)
    .changes.flatMap((change) => change.commands)
    .toSorted((a, b) => a.step - b.step)
    .map(({ text }) =>
      text.replace('inet ovn-kubernetes', 'T').replace(` comment "${COMMENT}"`, ''),
    );

describe('rules of a chain', () => {
  test('are added in their order, into a table that is made for them', () => {
    expect(commands(undefined, [rule('drop', 2), rule('accept', 1), chain])).toEqual([
      'add table T',
      'add chain T c',
      'add rule T c accept',
      'add rule T c drop',
    ]);
  });

  test('say for which object they are there, and the rule of which feature they follow', () => {
    const texts = planNft(undefined, [chain, rule('drop', 1)], () => undefined, true)
      .changes.flatMap((change) => change.commands)
      .map(({ text }) => text);
    expect(texts).toContain('add rule inet ovn-kubernetes c drop comment "Pod a/b (unit r)"');
    for (const object of ['Pod a/b', `Pod ${'a'.repeat(110)}`, `Pod ${'a'.repeat(300)}`]) {
      const comment = ruleComment(object, 'nft/services', 'mark');
      expect(comment.length).toBeLessThanOrEqual(120);
      expect(objectOfComment(comment)).toBe(commentOf(object));
    }
  });

  test('that are there stay; others come before them and after them', () => {
    const rows = [chain, rule('return', 1), rule('accept', 2), rule('drop', 3)];
    expect(commands(found('accept'), rows)).toEqual([
      'insert rule T c position 10 return',
      'add rule T c drop',
    ]);
    expect(commands(found('return', 'accept', 'drop'), rows)).toEqual([]);
  });

  test('in the wrong order are made again, as few as possible', () => {
    const rows = [chain, rule('return', 1), rule('accept', 2), rule('drop', 3)];
    expect(commands(found('drop', 'return', 'accept'), rows)).toEqual([
      'delete rule T c handle 10',
      'add rule T c drop',
    ]);
  });

  test('that nobody wants say for whom they were there, in the chain as in their comments', () => {
    const { changes } = planNft(
      foundTable([
        { chain: { name: 'c', handle: 1 } },
        { rule: { chain: 'c', handle: 10, expr: [{ accept: null }], comment: 'Pod blue/a (f r)' } },
        { rule: { chain: 'c', handle: 11, expr: [{ drop: null }] } },
        { chain: { name: 'n', handle: 2 } },
        { rule: { chain: 'n', handle: 12, expr: [{ drop: null }], comment: 'Pod blue/b' } },
        { rule: { chain: 'n', handle: 13, expr: [{ jump: { target: 'c2' } }] } },
        { chain: { name: 'c2', handle: 3 } },
      ]),
      [chain],
      () => undefined,
      true,
    );
    expect(changes.map(({ table, key, marks }) => [table, key, marks])).toEqual([
      ['rule', 'c accept', ['Pod blue/a']],
      ['rule', 'c drop', ['cluster']],
      ['chain', 'n', ['Pod blue/b']],
      ['chain', 'c2', []],
    ]);
    // What is jumped to can't go before what jumps.
    const left = withoutHeld(changes, (marks) => marks.includes('Pod blue/b'));
    expect(left.map(({ key }) => key)).toEqual(['c accept', 'c drop']);
  });

  test('are kept as many as can be, in order, whatever was there', () => {
    const texts = array(constantFrom('a', 'b', 'c', 'd'), { maxLength: 12 });
    assert(
      property(texts, texts, (want, there) => {
        const kept = keptRules(want, there);
        const places = kept.filter((place) => place !== undefined);
        expect(places).toEqual([...new Set(places)].sort((a, b) => a - b));
        for (const [index, place] of kept.entries())
          if (place !== undefined) expect(there[place]).toBe(want[index]);
        expect(keptRules(want, want).every((place) => place !== undefined)).toBe(true);
      }),
    );
  });
});

test('an element that leads to a chain that nobody makes waits for it', () => {
  const set = wanted('set', 'm', { name: 'm', type: 'inet_service', value: 'verdict' });
  const element = wanted('element', 'm 1', { set: 'm', element: '1', value: 'jump gone' });
  const { changes, problems } = planNft(undefined, [set, element], () => undefined, true);
  expect(changes.map(({ table }) => table)).toEqual(['table', 'set']);
  expect(problems.map(({ kind, message }) => `${kind}: ${message}`)).toEqual([
    'awaited: element m 1 waits for chain gone',
  ]);
});

describe('what versions of nft list in different words is the same', () => {
  test.each([
    ['meta l4proto icmp', { op: '==', left: { meta: { key: 'l4proto' } }, right: 1 }],
    [
      'icmp code 4',
      {
        op: '==',
        left: { payload: { protocol: 'icmp', field: 'code' } },
        right: 'frag-needed',
      },
    ],
    [
      'fib daddr type local',
      { op: '==', left: { fib: { result: 'type', flags: 'daddr' } }, right: 'local' },
    ],
    ['', { op: '==', left: { meta: { key: 'nfproto' } }, right: 'ipv4' }],
  ])('%s', (text, match) => {
    expect(ruleText([{ match }])).toBe(text);
  });

  test('names of devices in elements, which may be words of nft', () => {
    expect(elementText({ concat: ['10.0.0.1', 'all'] }, ['ipv4_addr', 'ifname'])).toEqual({
      element: '10.0.0.1 . "all"',
    });
  });

  test('what a connection began with', () => {
    const left = {
      concat: [{ ct: { key: 'ip saddr', dir: 'original' } }, { meta: { key: 'oifname' } }],
    };
    expect(ruleText([{ match: { op: '==', left, right: '@a' } }])).toBe(
      'ct original ip saddr . oifname @a',
    );
  });

  test('an element with a comment, and a protocol without a name', () => {
    const types = ['inet_proto', 'inet_service'];
    expect(
      elementText([{ elem: { val: { concat: [6, 80] }, comment: 'x' } }, { drop: null }], types),
    ).toEqual({ element: 'tcp . 80', value: 'drop', comment: 'x' });
  });

  test('a counter, whatever it has counted', () => {
    expect(ruleText([{ counter: { packets: 7, bytes: 900 } }, { drop: null }])).toBe(
      'counter drop',
    );
  });

  test('what has no words of ours equals none of ours', () => {
    expect(ruleText([{ log: { prefix: 'drop' } }])).toBe('[{"log":{"prefix":"drop"}}]');
    expect(ruleText([{ counter: 'named' }])).toBe('[{"counter":"named"}]');
    expect(ruleText({})).toBe('{}');
  });
});
