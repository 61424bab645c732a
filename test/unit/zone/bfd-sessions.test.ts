/** Next hops that BFD does not reach, as owners of policies and Prometheus are told. */
import { Registry } from 'prom-client';
import { expect, test } from 'vitest';
import type { ReplicaRow } from 'ovsdb-client-ts';
import { DEFAULT_NETWORK } from '../../../src/model/read/networks.ts';
import { registerBfdSessions } from '../../../src/zone/bfd-metrics.ts';
import { BfdSessions } from '../../../src/zone/bfd-sessions.ts';
import { ManualClock } from '../../support/run/manual-clock.ts';
import { bluePod, exampleZone, factsOf, type Zone } from '../../support/zone/zones.ts';

const HOPS = ['172.18.0.10', '172.18.0.11'] as const;
const zone: Zone = {
  ...exampleZone,
  namespaces: [...exampleZone.namespaces, 'web'],
  attachments: [
    {
      ...bluePod,
      namespace: 'web',
      network: DEFAULT_NETWORK,
      nadKey: 'default',
      addresses: ['10.244.0.5/24'],
    },
  ],
  externalRoutes: [
    {
      name: 'gw1',
      created: '',
      namespaceSelector: {},
      hops: HOPS.map((address) => ({ address, isWatched: true })),
      pods: [],
    },
  ],
};

test('those that are not up for some seconds are dead, and problems of their policies, until they are up for as long', async () => {
  const statuses = new Map<string, string>([
    [HOPS[0], 'up'],
    [HOPS[1], 'down'],
    // Of nobody's here.
    ['172.18.0.99', 'down'],
  ]);
  const row = (hop: string, status: string): ReplicaRow =>
    ({
      column: (name: string) => ({ dst_ip: hop, status })[name],
    }) as unknown as ReplicaRow;
  let changes = 0;
  const sessions = new BfdSessions({
    node: 'ovn-worker',
    northbound: () => ({
      hasColumn: () => true,
      rows: () => [...statuses].map(([hop, status]) => row(hop, status)),
    }),
    onChange: () => (changes += 1),
  });
  const registry = new Registry();
  registerBfdSessions(registry, () => sessions.all);
  const ups = async (): Promise<readonly string[]> =>
    (await registry.metrics()).split('\n').filter((line) => line.startsWith('heddle_next_hop_up'));
  const clock = new ManualClock();
  const ended = new AbortController();
  const facts = factsOf(zone);
  const dead = (): readonly string[] => [...facts.deadHops.keys()].flat();
  const running = sessions.start(facts, clock, ended.signal);
  await clock.advance(4000);
  expect(sessions.problems()).toEqual([]);
  expect(dead()).toEqual([]);
  expect(await ups()).toEqual([
    `heddle_next_hop_up{hop="${HOPS[0]}"} 1`,
    `heddle_next_hop_up{hop="${HOPS[1]}"} 0`,
  ]);
  await clock.advance(2000);
  expect(sessions.problems()).toEqual([
    {
      object: 'AdminPolicyBasedExternalRoute gw1',
      message: expect.stringMatching(
        /^next hop 172\.18\.0\.11 is not reached from node ovn-worker by BFD: .*UDP 3784/,
      ) as unknown,
    },
  ]);
  expect(dead()).toEqual([HOPS[1]]);
  statuses.set(HOPS[1], 'up');
  await clock.advance(4000);
  expect(dead()).toEqual([HOPS[1]]);
  await clock.advance(2000);
  expect(dead()).toEqual([]);
  expect(sessions.problems()).toEqual([]);
  expect(changes).toBe(2);
  // One that goes up and down stays what it was.
  for (let flap = 0; flap < 10; flap += 1) {
    statuses.set(HOPS[1], flap % 2 === 0 ? 'down' : 'up');
    await clock.advance(3000);
  }
  expect(dead()).toEqual([]);
  expect(changes).toBe(2);
  statuses.delete(HOPS[0]);
  statuses.set(HOPS[1], 'down');
  await clock.advance(6000);
  expect(dead()).toEqual([HOPS[1]]);
  statuses.clear();
  await clock.advance(1000);
  expect(dead()).toEqual([]);
  ended.abort();
  await running;
});
