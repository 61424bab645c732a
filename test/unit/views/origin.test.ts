/** Origins as people read them. */
import { expect, test } from 'vitest';
import { originText, type Origin } from '../../../src/views/origin.ts';

const acl: Origin = {
  place: 'OVN_Northbound',
  table: 'ACL',
  name: 'default-network-controller:x',
  uuid: 'd5247743-75cb-5540-8340-f19a0ea44e38',
  text: 'to-lport: 1 → drop',
  owner: {
    kind: 'wanted',
    unit: '["isolation/secondary-pods"]',
    feature: 'isolation/secondary-pods',
    rule: { name: 'deny', text: 'Nothing gets in.', source: 'reference/topology.md §17.1' },
    object: 'UserDefinedNetwork blue/l3net',
    network: 'blue_l3net',
  },
  madeOf: [],
};

test('a row of Southbound leads to the row that it was made of, and whose that is', () => {
  const flow: Origin = {
    place: 'OVN_Southbound',
    table: 'Logical_Flow',
    name: '',
    uuid: '402b88a2-8bdf-4b2b-a91f-19107e743119',
    text: 'ls_out_acl_eval, priority 2000: 1 → drop;',
    owner: { kind: 'made', by: 'ovn-northd' },
    madeOf: [acl],
  };
  expect(originText(flow)).toBe(
    [
      'Logical_Flow 402b88a2 (OVN_Southbound)',
      '  is       ls_out_acl_eval, priority 2000: 1 → drop;',
      '  made of  ACL d5247743 default-network-controller:x (OVN_Northbound)',
      '  is       to-lport: 1 → drop',
      '  for      UserDefinedNetwork blue/l3net',
      '  network  blue_l3net',
      '  unit     isolation/secondary-pods',
      '  rule     deny: Nothing gets in. (reference/topology.md §17.1)',
    ].join('\n'),
  );
});

test('what others wrote can neither begin a line of its own nor act on a terminal', () => {
  const text = originText({
    ...acl,
    name: 'x\n  for      Pod a/b',
    owner: { kind: 'foreign', by: 'ids \u{1b}[2J' },
  });
  expect(text.split('\n')).toHaveLength(3);
  expect(text).not.toContain('\u{1b}');
});
