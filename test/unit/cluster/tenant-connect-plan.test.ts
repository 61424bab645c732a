/** Whatever tenants ask for: only what both sides named is agreed on, and no network has one range twice. */
import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { overlaps, parsePrefix, type Prefix } from '../../../src/allocators/addresses.ts';
import { objectKey } from '../../../src/api/objects.ts';
import type { NetworkConnect } from '../../../src/api/types.ts';
import {
  ownNetwork,
  pairKey,
  pairOfKey,
  peerNetwork,
  planTenantConnects,
  requestedPair,
  type TenantConnectContext,
  type TenantConnectPlan,
} from '../../../src/cluster/connect/tenant-connect-plan.ts';
import { networkConnect } from '../../support/cluster/cluster.ts';

const prefix = (text: string): Prefix => parsePrefix(text) ?? expect.unreachable(text);
const NAMESPACES = ['a', 'b', 'c', 'd'];
const NETWORKS = ['net', 'other'];
const POOL = [
  { cidr: prefix('172.30.0.0/20'), networkPrefix: 24 },
  { cidr: prefix('fd05::/64'), networkPrefix: 120 },
];
const IN_THE_WAY = [prefix('172.30.2.0/24'), prefix('fd05::/119'), prefix('fd05::1:0/112')];

const requests = fc
  .array(
    fc.record({
      namespace: fc.constantFrom(...NAMESPACES),
      network: fc.constantFrom(...NETWORKS),
      peer: fc.record({
        namespace: fc.constantFrom(...NAMESPACES),
        network: fc.constantFrom(...NETWORKS),
      }),
      types: fc.constantFrom(
        ['PodNetwork'] as const,
        ['ServiceNetwork'] as const,
        ['PodNetwork', 'ServiceNetwork'] as const,
      ),
      isDeleted: fc.boolean(),
    }),
    { maxLength: 30 },
  )
  .map((list) =>
    list.map(({ namespace, network, peer, types, isDeleted }, index): NetworkConnect => {
      const key = `${namespace}/r${index}`;
      const one = networkConnect(key, network, `${peer.namespace}/${peer.network}`, types);
      const deletionTimestamp = '2026-01-01T00:00:00Z';
      return isDeleted ? { ...one, metadata: { ...one.metadata, deletionTimestamp } } : one;
    }),
  );

const context = (
  list: readonly NetworkConnect[],
  held: TenantConnectContext['held'] = new Map(),
): TenantConnectContext => ({
  requests: list,
  settings: { pool: POOL, types: ['PodNetwork', 'ServiceNetwork'], perNamespace: 6 },
  labelsOf: (namespace) => (namespace === 'd' ? undefined : {}),
  isDeclared: (network) => network !== 'c/other',
  rangesInTheWay: () => IN_THE_WAY,
  held,
});

const agreedOf = ({ pairs }: TenantConnectPlan) =>
  [...pairs].flatMap(([key, outcome]) => (outcome.kind === 'agreed' ? [{ key, ...outcome }] : []));

test('agreed is what two living requests name, each of its own namespace, and nothing more', () => {
  fc.assert(
    fc.property(requests, (list) => {
      const plan = planTenantConnects(context(list));
      for (const { key, types } of agreedOf(plan)) {
        const pair = pairOfKey(key);
        for (const [own, peer] of [pair, pair.toReversed()] as [string, string][])
          expect(
            list.some(
              (one) =>
                ownNetwork(one) === own &&
                peerNetwork(one) === peer &&
                one.metadata.deletionTimestamp === undefined &&
                !plan.refusals.has(objectKey(one.metadata)) &&
                types.every((type) => one.spec.connectivity.includes(type)),
            ),
          ).toBe(true);
        expect(types.length).toBeGreaterThan(0);
        expect(pair.some((network) => network === 'c/other' || network.startsWith('d/'))).toBe(
          false,
        );
      }
    }),
  );
});

test('no two connections of a network have a range in common, and none has what is in the way', () => {
  fc.assert(
    fc.property(requests, (list) => {
      const agreed = agreedOf(planTenantConnects(context(list)));
      for (const [index, one] of agreed.entries())
        for (const { cidr } of one.ranges) {
          expect(IN_THE_WAY.some((other) => overlaps(other, cidr))).toBe(false);
          expect(POOL.some((range) => overlaps(range.cidr, cidr))).toBe(true);
          for (const other of agreed.slice(index + 1)) {
            const isShared = pairOfKey(one.key).some((network) =>
              pairOfKey(other.key).includes(network),
            );
            if (isShared)
              expect(other.ranges.some((range) => overlaps(range.cidr, cidr))).toBe(false);
          }
        }
    }),
  );
});

test('what is in force stays as it is, whoever else asks for what', () => {
  fc.assert(
    fc.property(requests, requests, (before, more) => {
      const first = agreedOf(planTenantConnects(context(before)));
      const held = new Map(first.map(({ key, ranges }) => [key, ranges]));
      const later = more.map((one, index) => ({
        ...one,
        metadata: {
          ...one.metadata,
          name: `later-${index}`,
          creationTimestamp: '2026-02-01T00:00:00Z',
        },
      }));
      const next = new Map(
        agreedOf(planTenantConnects(context([...before, ...later], held))).map((one) => [
          one.key,
          one,
        ]),
      );
      for (const one of first) expect(next.get(one.key)).toEqual(one);
    }),
  );
});

test('what one side is told does not depend on requests of others, but for the one that names it', () => {
  fc.assert(
    fc.property(requests, requests, (mine, others) => {
      const own = mine.filter(({ metadata }) => metadata.namespace === 'a');
      const foreign = others.filter(
        (one) =>
          one.metadata.namespace !== 'a' &&
          !own.some((request) => pairKey(requestedPair(request)) === pairKey(requestedPair(one))),
      );
      const alone = planTenantConnects(context(own));
      const beside = planTenantConnects(context([...own, ...foreign]));
      for (const request of own) {
        const key = objectKey(request.metadata);
        const pair = pairKey(requestedPair(request));
        expect(beside.refusals.get(key)).toEqual(alone.refusals.get(key));
        expect(beside.pairs.get(pair)).toEqual(alone.pairs.get(pair));
      }
    }),
  );
});
