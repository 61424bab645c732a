import { describe, expect, test } from 'vitest';
import type { PodFacts } from '../../../../src/model/model.ts';
import { readPolicy } from '../../../../src/model/read/policies.ts';
import type { SelectionTables } from '../../../../src/model/zone/pod-selections.ts';
import { networkPolicy } from '../../../support/zone/policed-zone.ts';
import {
  blue,
  bluePod,
  colored,
  connectedZone,
  exampleZone,
  factsOf,
  green,
  type Zone,
} from '../../../support/zone/zones.ts';

const reading = readPolicy(
  networkPolicy('blue/from', {
    podSelector: {},
    ingress: [{ from: [{ namespaceSelector: {}, podSelector: { matchLabels: { app: 'web' } } }] }],
  }),
);
if (reading.kind !== 'value') throw new Error(JSON.stringify(reading));

const podOf = (namespace: string, name: string, app: string): PodFacts => ({
  namespace,
  name,
  node: 'ovn-worker',
  labels: { app },
  namedPorts: [],
});
const zone: Zone = {
  ...exampleZone,
  policies: [reading.value],
  attachments: [bluePod],
  pods: [podOf('blue', 'pod1', 'web')],
};
const selectedIn = ({ selectedPods }: SelectionTables): readonly string[] =>
  selectedPods
    .all()
    .flatMap(({ selection: [network], addresses }) =>
      addresses.map((address) => `${network} ${address}`),
    );

describe('the pods of a selection', () => {
  test('have their addresses on its network, without prefix length', () => {
    expect(selectedIn(factsOf(zone))).toEqual([`${blue.name} 103.103.0.3`]);
  });

  test('are those that have its labels now', () => {
    const facts = factsOf(zone);
    facts.pods.put(['blue', 'pod1'], podOf('blue', 'pod1', 'db'));
    facts.refresh(0);
    expect(selectedIn(facts)).toEqual([]);
  });

  test('on another network count where that is reached from this one, and nowhere else', () => {
    const far = {
      ...bluePod,
      namespace: 'green',
      pod: 'far',
      network: green.name,
      nadKey: 'green/green-net',
      macAddress: '0a:58:68:68:00:03',
      addresses: ['104.104.0.3/24'],
    };
    const both: Zone = {
      ...connectedZone,
      ...zone,
      namespaces: [...exampleZone.namespaces, 'green'],
      networks: connectedZone.networks,
      connects: [colored],
      attachments: [far],
      pods: [podOf('green', 'far', 'web')],
    };
    expect(selectedIn(factsOf(both))).toEqual([`${blue.name} 104.104.0.3`]);
    expect(selectedIn(factsOf({ ...both, connects: [] }))).toEqual([]);
  });
});
