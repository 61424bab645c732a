/** Counters of flows, and what two readings differ by. */
import { expect, test } from 'vitest';
import { countedBetween, flowCounter, type FlowCounter } from '../../../src/views/flow-counters.ts';

const flow = (packets: number, match = 'priority=80,reg14=0x3'): FlowCounter => ({
  cookie: '0x1',
  table: 73,
  match,
  actions: 'drop',
  packets,
  bytes: packets * 100,
});

test.each([
  ' cookie=0x1, duration=5.984s, table=73, n_packets=5, n_bytes=500, idle_age=4, priority=80,reg14=0x3 actions=drop',
  ' cookie=0x1, duration=5.984s, table=73, n_packets=5, n_bytes=500, priority=80,reg14=0x3 actions=drop',
])('a line of dump-flows: %s', (line) => {
  expect(flowCounter(line)).toEqual(flow(5));
});

test('a flow without a match', () => {
  const line = ' cookie=0x1, duration=1s, table=73, n_packets=5, n_bytes=500, actions=drop';
  expect(flowCounter(line)).toEqual(flow(5, ''));
});

test.each(['', 'OFPST_FLOW reply (OF1.3) (xid=0x2):', 'cookie=0x1 actions=drop'])(
  'what is no flow: %s',
  (line) => {
    expect(flowCounter(line)).toBeUndefined();
  },
);

test('what counted between two readings, and nothing of what did not', () => {
  expect(countedBetween([flow(5), flow(7, 'arp')], [flow(8), flow(7, 'arp')])).toEqual([flow(3)]);
});

test('a flow that was made meanwhile counted from 0, as did one that was made anew', () => {
  expect(countedBetween([], [flow(2)])).toEqual([flow(2)]);
  expect(countedBetween([flow(9)], [flow(2)])).toEqual([flow(2)]);
});
