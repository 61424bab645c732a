import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { AdminRule } from '../../../../src/model/read/admin-policies.ts';
import {
  adminPolicyFlows,
  FLOWS_PER_TERM,
  termsOfPorts,
} from '../../../../src/model/rules/policy-cost.ts';

describe('terms that OVN makes of ports', () => {
  test('are one of each port of the protocol, and one where all ports are meant', () => {
    const ports = [
      { protocol: 'tcp' as const, port: 80 },
      { protocol: 'tcp' as const, port: 443 },
      { protocol: 'udp' as const, port: 53 },
    ];
    expect(termsOfPorts(ports, 'tcp')).toBe(2);
    expect(termsOfPorts([...ports, { protocol: 'tcp' }], 'tcp')).toBe(1);
    expect(termsOfPorts(ports, 'sctp')).toBe(0);
  });

  test('of a range are the fewest blocks of powers of two that make it up', () => {
    const blocks = (first: number, last: number): number => {
      // The other way round: a block ends where the next bit of either end says so.
      let count = 0;
      let [low, high] = [first, last + 1];
      while (low < high) {
        if (low & 1) {
          low += 1;
          count += 1;
        }
        if (high & 1) {
          high -= 1;
          count += 1;
        }
        low >>= 1;
        high >>= 1;
      }
      return count;
    };
    const port = fc.integer({ min: 1, max: 65_535 });
    fc.assert(
      fc.property(port, port, (a, b) => {
        const [first, last] = [Math.min(a, b), Math.max(a, b)];
        expect(termsOfPorts([{ protocol: 'tcp', port: first, endPort: last }], 'tcp')).toBe(
          blocks(first, last),
        );
      }),
    );
  });
});

describe('what a policy of administrators costs a node', () => {
  const rule = (more: Partial<AdminRule>): AdminRule =>
    ({ networks: [], names: [], ports: [], peers: [], nodes: [], ...more }) as unknown as AdminRule;
  const flows = (...rules: readonly AdminRule[]): number => adminPolicyFlows({ rules });

  test('is the sum of peers and ports of each rule, whoever is behind its selectors', () => {
    expect(flows(rule({}))).toBe(FLOWS_PER_TERM * 2);
    expect(flows(rule({ networks: ['10.0.0.0/8', '11.0.0.0/8'] }))).toBe(FLOWS_PER_TERM * 4);
    expect(flows(rule({ ports: [{ protocol: 'tcp', port: 80 }] }))).toBe(FLOWS_PER_TERM * 4);
    expect(flows(rule({ names: ['example.org'] }))).toBe(FLOWS_PER_TERM * 4);
    expect(flows(rule({}), rule({}))).toBe(2 * flows(rule({})));
  });

  test('of a port by its name does not grow with the numbers that pods give it', () => {
    expect(flows(rule({ ports: [{ protocol: 'tcp', name: 'http' }] }))).toBe(FLOWS_PER_TERM * 3);
  });
});
