/** Who uses which networks, beside a plain count of all pods and reports. */
import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { NetworkUses } from '../../../src/cluster/nodes/network-uses.ts';

const NODES = ['n1', 'n2', 'n3'];
const NETWORKS = ['blue', 'red', 'green'];
const node = fc.constantFrom(...NODES);
const networks = fc.uniqueArray(fc.constantFrom(...NETWORKS));
const step = fc.oneof(
  fc.record({
    pod: fc.constantFrom('a', 'b', 'c', 'd'),
    node: fc.option(node, { nil: undefined }),
    networks,
  }),
  fc.record({ reporter: node, networks: fc.option(networks, { nil: undefined }) }),
);

interface Model {
  readonly pods: Map<string, { readonly node: string; readonly networks: readonly string[] }>;
  readonly reports: Map<string, readonly string[]>;
}

const usesIn = ({ pods, reports }: Model, on: string, network: string): boolean =>
  [...pods.values()].some((pod) => pod.node === on && pod.networks.includes(network)) ||
  reports.get(on)?.includes(network) === true;

describe('uses of networks', () => {
  test('are what pods and reports say, and every change of them is told', () => {
    fc.assert(
      fc.property(fc.array(step, { maxLength: 40 }), (steps) => {
        const uses = new NetworkUses();
        uses.podsKnown();
        const model: Model = { pods: new Map(), reports: new Map() };
        const all = NODES.flatMap((on) => NETWORKS.map((network) => [on, network] as const));
        for (const one of steps) {
          const before = new Map(all.map((place) => [place.join(), usesIn(model, ...place)]));
          let told: readonly (readonly [string, string])[];
          if ('pod' in one) {
            if (one.node === undefined) model.pods.delete(one.pod);
            else model.pods.set(one.pod, { node: one.node, networks: one.networks });
            told = uses.setPod(one.pod, one.node, one.networks);
          } else {
            if (one.networks === undefined) model.reports.delete(one.reporter);
            else model.reports.set(one.reporter, one.networks);
            told = uses.setReport(one.reporter, one.networks);
          }
          for (const [on, network] of all) {
            const isUsed = usesIn(model, on, network);
            expect(uses.has(on, network)).toBe(isUsed);
            expect(uses.isUnused(on, network)).toBe(!isUsed && model.reports.has(on));
            expect(uses.nodesOf(network).has(on)).toBe(isUsed);
            expect(uses.networksOf(on).has(network)).toBe(isUsed);
            if (before.get([on, network].join()) !== isUsed)
              expect(told).toContainEqual([on, network]);
          }
        }
      }),
    );
  });

  test('of a node are none for certain before all pods have been looked at, and its report is there', () => {
    const uses = new NetworkUses();
    uses.setReport('n1', []);
    expect(uses.isUnused('n1', 'blue')).toBe(false);
    uses.podsKnown();
    expect([uses.isUnused('n1', 'blue'), uses.isUnused('n2', 'blue')]).toEqual([true, false]);
  });
});
