import { expect, test } from 'vitest';
import type { PodFacts } from '../../../../src/model/model.ts';
import type { Qos } from '../../../../src/model/read/qos.ts';
import type { qosCostTables } from '../../../../src/model/zone/qos-costs.ts';
import { blue, bluePod, exampleZone, factsOf, type Zone } from '../../../support/zone/zones.ts';

const selection = { id: 'blue_LS{}', namespace: 'blue', podSelector: {}, isLegacy: false };
const names = ['pod1', 'pod2', 'pod3'];
const far = 'pod9';
const zone: Zone = {
  ...exampleZone,
  settings: {
    ...exampleZone.settings,
    policies: { ...exampleZone.settings.policies, mostQosFlows: 6 },
  },
  attachments: names.map((pod, index) => ({
    ...bluePod,
    pod,
    macAddress: `0a:58:67:67:00:1${index}`,
    addresses: [`103.103.0.1${index}/24`],
  })),
  remoteAttachments: [
    {
      ...bluePod,
      pod: far,
      node: 'ovn-worker2',
      macAddress: '0a:58:67:67:01:09',
      addresses: ['103.103.1.9/24'],
    },
  ],
  pods: [...names, far].map((name): PodFacts => ({
    namespace: 'blue',
    name,
    node: 'ovn-worker',
    labels: {},
    namedPorts: [],
  })),
};
const rule = { pods: selection, dscp: 1, to: [], ports: [] };
const costly = (...rules: Qos['rules']): boolean | undefined => {
  const { qosCosts }: ReturnType<typeof qosCostTables> = factsOf({
    ...zone,
    qoses: [
      { kind: 'NetworkQoS', namespace: 'blue', name: 'gold', created: '', priority: 1, rules },
    ],
  });
  return qosCosts.peek(blue.name, 'NetworkQoS', 'blue', 'gold')?.isTooCostly;
};

test('a rule costs a flow for each pod of this node that it means', () => {
  expect(costly(rule, rule)).toBe(false);
  expect(costly(rule, rule, rule)).toBe(true);
});

test('and for each pod to whom it is about packets, wherever it is', () => {
  const toPods = { ...rule, to: [{ kind: 'pods' as const, selection }] };
  expect(costly(toPods)).toBe(true);
});
