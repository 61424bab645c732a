import { expect, test } from 'vitest';
import { elementsOf, nftTables } from '../../../src/verify/nft-table.ts';
import { parseFlows } from '../../../src/verify/read/host.ts';
import { list, member, pairs, text } from '../../../src/verify/rows.ts';

test('columns are read as sets, optional values and maps, whichever the server sends', () => {
  const row = {
    ports: [
      'set',
      [
        ['uuid', 'a'],
        ['uuid', 'b'],
      ],
    ],
    one: ['uuid', 'a'],
    none: ['set', []],
    key: 7,
    options: [
      'map',
      [
        ['peer', 'x'],
        ['n', 3],
      ],
    ],
  };
  expect(list(row, 'ports')).toEqual(['a', 'b']);
  expect(list(row, 'one')).toEqual(['a']);
  expect([text(row, 'none'), text(row, 'key'), text(row, 'absent')]).toEqual(['', '7', '']);
  expect(pairs(row, 'options')).toEqual({ peer: 'x', n: '3' });
  expect([member(row, 'options', 'peer'), member(row, 'one', 'peer')]).toEqual(['x', undefined]);
});

test('flows of ovs-ofctl are taken apart; lines that are none are left out', () => {
  const lines = [
    'OFPST_FLOW reply (OF1.3) (xid=0x2):',
    ' cookie=0x1f, table=42, priority=100,reg15=0x3,metadata=0xff0003 actions=output:1',
    ' priority=0 actions=NORMAL',
    ' cookie=0xdeff105, table=3, actions=LOCAL',
    ' cookie=0xdeff10500000001, table=20, hard_timeout=3, priority=100,arp,arp_op=2 actions=output:4',
  ];
  expect(parseFlows(lines.join('\n'))).toEqual([
    {
      cookie: '0x1f',
      table: 42,
      priority: 100,
      match: 'reg15=0x3,metadata=0xff0003',
      actions: 'output:1',
    },
    { cookie: '0x0', table: 0, priority: 0, match: '', actions: 'NORMAL' },
    { cookie: '0xdeff105', table: 3, priority: 32_768, match: '', actions: 'LOCAL' },
    {
      cookie: '0xdeff10500000001',
      table: 20,
      priority: 100,
      match: 'arp,arp_op=2',
      actions: 'output:4',
    },
  ]);
});

test('rules of nftables give their verdict and marks, maps where they lead', () => {
  const of = { family: 'inet', table: 'ovn-kubernetes' };
  const tables = nftTables([
    {
      rule: {
        ...of,
        chain: 'c',
        handle: 1,
        expr: [{ mangle: { key: { meta: { key: 'mark' } }, value: 4097 } }],
      },
    },
    { rule: { ...of, chain: 'c', handle: 2, comment: 'x', expr: [{ drop: null }] } },
    {
      map: {
        ...of,
        name: 'm',
        elem: [
          [
            { elem: { val: { concat: ['tcp', 80] }, comment: 'x' } },
            { jump: { target: 'udn-mark-0x1001' } },
          ],
        ],
      },
    },
    { set: { ...of, name: 's', elem: ['10.0.0.1', { prefix: { addr: '10.1.0.0', len: 16 } }] } },
  ]);
  const table = tables.get('inet ovn-kubernetes');
  expect(table?.rules.map(({ marks, drops, accepts }) => ({ marks, drops, accepts }))).toEqual([
    { marks: [4097], drops: false, accepts: false },
    { marks: [], drops: true, accepts: false },
  ]);
  expect(elementsOf(table?.sets.get('m'))).toEqual([
    { key: ['tcp', '80'], value: 'udn-mark-0x1001' },
  ]);
  expect(elementsOf(table?.sets.get('s')).map(({ key }) => key)).toEqual([
    ['10.0.0.1'],
    ['10.1.0.0/16'],
  ]);
});
