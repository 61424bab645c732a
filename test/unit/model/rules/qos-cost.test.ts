import { expect, test } from 'vitest';
import type { QosRule } from '../../../../src/model/read/qos.ts';
import { prefixesOf, ruleFlows } from '../../../../src/model/rules/qos-cost.ts';

test('what exceptions leave of a block, not more of it than somebody asks for', () => {
  expect(prefixesOf({ cidr: '10.0.0.0/30', except: [] }, 5)).toEqual(['10.0.0.0/30']);
  const block = { cidr: '10.0.0.0/30', except: ['10.0.0.0/32', '10.0.0.3/32'] };
  expect(prefixesOf(block, 5)).toEqual(['10.0.0.1/32', '10.0.0.2/32']);
  expect(prefixesOf({ cidr: '0.0.0.0/0', except: ['10.0.0.1/32'] }, 5)).toHaveLength(6);
});

const block = (...except: string[]): QosRule['to'][number] => ({
  kind: 'block',
  block: { cidr: '10.0.0.0/30', except },
});
const pods = { sources: 10, destinations: 100 };
const none = { sources: 10, destinations: 0 };
test.each([
  ['pods that send', { to: [], ports: [] }, none, 10],
  ['pods that are sent to', { to: [], ports: [] }, pods, 110],
  [
    'what is left of blocks',
    { to: [block(), block('10.0.0.0/32', '10.0.0.3/32')], ports: [] },
    none,
    13,
  ],
  [
    'all of it for each protocol',
    {
      to: [block()],
      ports: [{ protocol: 'tcp', port: 80 }, { protocol: 'tcp', port: 81 }, { protocol: 'udp' }],
    },
    none,
    28,
  ],
] as const)('%s count', (_what, rule, found, flows) => {
  expect(ruleFlows(rule, found, 10_000)).toBe(flows);
});
