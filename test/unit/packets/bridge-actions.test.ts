/** What actions of flows, as Open vSwitch prints them, say of a packet. */
import { expect, test } from 'vitest';
import { sourceIn } from '../../../src/packets/bridge-actions.ts';
import type { BridgeStep } from '../../../src/packets/bridge-trace.ts';

const step = (...actions: readonly string[]): BridgeStep => ({
  kind: 'flow',
  bridge: 'br-ex',
  table: 7,
  priority: 100,
  cookie: '0x1',
  match: '',
  actions,
});

test.each([
  [
    'ct(commit,table=8,zone=64000,nat(src=172.18.0.11),exec(set_field:0x4->ct_mark))',
    '172.18.0.11',
  ],
  ['ct(commit,table=8,zone=64000,nat(src=[fd00:172:18::11]))', 'fd00:172:18::11'],
  ['ct(commit,zone=NXM_NX_REG12[0..15],nat(src=169.254.0.11:32768-60999,random))', '169.254.0.11'],
  ['ct(commit,zone=NXM_NX_REG12[0..15],nat(src=[fd69::b]:32768-60999,random))', 'fd69::b'],
  ['ct(commit,zone=64000,nat(src))', undefined],
  ['output:1', undefined],
])('the source that %s gives is an address alone', (action, source) => {
  expect(sourceIn(step(action, 'resubmit(,8)'))).toBe(source);
});
