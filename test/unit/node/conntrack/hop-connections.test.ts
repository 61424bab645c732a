/** By which next hops connections of pods may be answered. */
import { expect, test } from 'vitest';
import { DEFAULT_NETWORK } from '../../../../src/model/read/networks.ts';
import { hopConnections } from '../../../../src/node/conntrack/hop-connections.ts';
import { builtUnits } from '../../../support/zone/built-rows.ts';
import { bluePod, exampleZone, factsOf } from '../../../support/zone/zones.ts';

const [WATCHED, UNWATCHED] = ['172.18.0.10', '172.18.0.11'];

test('those that a policy names, without ones that BFD does not reach where it asks for BFD', () => {
  const facts = factsOf({
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
        hops: [
          { address: WATCHED, isWatched: true },
          { address: UNWATCHED, isWatched: false },
        ],
        pods: [],
      },
    ],
  });
  const keys = (): readonly string[] =>
    builtUnits(facts, [hopConnections]).flatMap(({ rows }) => rows.map(({ key }) => key));
  expect(keys()).toEqual([`10.244.0.5 ${WATCHED}`, `10.244.0.5 ${UNWATCHED}`]);
  for (const hop of [WATCHED, UNWATCHED]) facts.deadHops.put(hop, { hop });
  expect(keys()).toEqual([`10.244.0.5 ${UNWATCHED}`]);
  facts.deadHops.delete(WATCHED);
  expect(keys()).toHaveLength(2);
});
