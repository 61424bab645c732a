import { describe, expect, test } from 'vitest';
import type { PodFacts } from '../../../../src/model/model.ts';
import { readPolicy, type Policy } from '../../../../src/model/read/policies.ts';
import type { policedPortTables } from '../../../../src/model/zone/policed-ports.ts';
import { networkPolicy } from '../../../support/zone/policed-zone.ts';
import {
  bluePod,
  bluePodDefault,
  defaultNetwork,
  exampleZone,
  factsOf,
  type Zone,
} from '../../../support/zone/zones.ts';

const read = (key: string, spec: object): Policy => {
  const reading = readPolicy(networkPolicy(key, spec));
  if (reading.kind !== 'value') throw new Error(JSON.stringify(reading));
  return reading.value;
};
const pod: PodFacts = {
  namespace: 'blue',
  name: 'pod1',
  node: 'ovn-worker',
  labels: { app: 'web' },
  namedPorts: [],
};
const zone: Zone = { ...exampleZone, attachments: [bluePod, bluePodDefault], pods: [pod] };
const policed = (policies: readonly Policy[], nad = 'blue/blue') => {
  const { policedPorts }: ReturnType<typeof policedPortTables> = factsOf({ ...zone, policies });
  return policedPorts.peek('blue', 'pod1', nad);
};

describe('a port', () => {
  test('is under the policies of its namespace that select its pod, and closed in the directions that they name', () => {
    const both = [
      read('blue/in', { podSelector: { matchLabels: { app: 'web' } } }),
      read('blue/out', { podSelector: {}, policyTypes: ['Egress'] }),
      read('blue/other', { podSelector: { matchLabels: { app: 'db' } } }),
      read('default/far', { podSelector: {} }),
    ];
    expect(policed(both)).toEqual({
      admins: [],
      policies: [
        { namespace: 'blue', name: 'in' },
        { namespace: 'blue', name: 'out' },
      ],
      directions: ['Ingress', 'Egress'],
    });
    expect(policed(both.slice(0, 1))?.directions).toEqual(['Ingress']);
  });

  test('is under none where none selects it', () => {
    expect(policed([])).toBeUndefined();
  });

  test('on the default network is closed anyway where its namespace asks for a primary network', () => {
    const policies = [read('blue/in', { podSelector: {} })];
    const networks = [defaultNetwork];
    const facts = factsOf({ ...zone, networks, attachments: [bluePodDefault], policies });
    const policedHere = (isLabelled: boolean): boolean => {
      const namespace = facts.namespaces.peek('blue');
      if (namespace === undefined) throw new Error('no namespace blue');
      facts.namespaces.put('blue', { ...namespace, isLabelled });
      facts.refresh(0);
      return facts.policedPorts.peek('blue', 'pod1', 'default') !== undefined;
    };
    expect([policedHere(false), policedHere(true)]).toEqual([true, false]);
  });
});
