import { expect, test } from 'vitest';
import type { namedPortTables } from '../../../../src/model/zone/named-ports.ts';
import type { PodFacts } from '../../../../src/model/model.ts';
import { readPolicy } from '../../../../src/model/read/policies.ts';
import { bluePod, exampleZone, factsOf, type Zone } from '../../../support/zone/zones.ts';
import { networkPolicy } from '../../../support/zone/policed-zone.ts';

const reading = readPolicy(
  networkPolicy('blue/web', {
    podSelector: {},
    ingress: [{ ports: [{ port: 'web', protocol: 'TCP' }] }],
  }),
);
if (reading.kind !== 'value') throw new Error('the policy can not be read');

const podWith = (name: string, ...numbers: readonly number[]): PodFacts => ({
  namespace: 'blue',
  name,
  node: 'ovn-worker',
  labels: {},
  namedPorts: numbers.map((port) => ({ protocol: 'TCP', name: 'web', port })),
});
const zone: Zone = {
  ...exampleZone,
  policies: [reading.value],
  attachments: [
    bluePod,
    { ...bluePod, pod: 'pod2', macAddress: '0a:58:67:67:00:04', addresses: ['103.103.0.4/24'] },
  ],
};
const tables: (zone: Zone) => ReturnType<typeof namedPortTables> = factsOf;
const numbersIn = (pods: readonly PodFacts[]): readonly number[] =>
  tables({ ...zone, pods })
    .namedNumbers.all()
    .map(({ port }) => port)
    .toSorted((a, b) => a - b);

test('a name stands for each number that pods of the selection give it, once', () => {
  expect(numbersIn([podWith('pod1', 80), podWith('pod2', 8080)])).toEqual([80, 8080]);
  expect(numbersIn([podWith('pod1', 80), podWith('pod2', 80)])).toEqual([80]);
});

test('a name that no pod has stands for no number', () => {
  expect(numbersIn([podWith('pod1'), podWith('pod2')])).toEqual([]);
});

test('a port of another protocol is another port', () => {
  const udp = podWith('pod1');
  expect(numbersIn([{ ...udp, namedPorts: [{ protocol: 'UDP', name: 'web', port: 53 }] }])).toEqual(
    [],
  );
});
