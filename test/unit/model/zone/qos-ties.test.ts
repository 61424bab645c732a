import { describe, expect, test } from 'vitest';
import type { Qos, QosRule } from '../../../../src/model/read/qos.ts';
import { selectionOf } from '../../../../src/model/read/policies.ts';
import { QOS_RULES_OF_PRIORITY } from '../../../../src/model/zone/qos-ties.ts';
import { bluePod, exampleZone, factsOf, type Zone } from '../../../support/zone/zones.ts';

interface Written {
  /** Labels of the pods that it means. */
  readonly pods?: Readonly<Record<string, string>>;
  readonly to?: string;
  readonly rules?: number;
  readonly priority?: number;
}
function qos(
  name: string,
  created: string,
  { pods = {}, to, rules = 1, priority = 5 }: Written = {},
): Qos {
  const rule: QosRule = {
    pods: selectionOf({ podSelector: { matchLabels: pods } }, 'blue'),
    dscp: 1,
    to: to === undefined ? [] : [{ kind: 'block', block: { cidr: to, except: [] } }],
    ports: [],
  };
  return {
    kind: 'NetworkQoS',
    namespace: 'blue',
    name,
    created,
    priority,
    rules: Array.from({ length: rules }, () => rule),
  };
}
const zoneWith = (...qoses: readonly Qos[]): Zone => ({
  ...exampleZone,
  attachments: [bluePod],
  pods: [
    {
      namespace: 'blue',
      name: bluePod.pod,
      node: exampleZone.node.name,
      labels: { app: 'web', tier: 'front' },
      namedPorts: [],
    },
  ],
  qoses,
});
/** What is added to priorities of each, and what is told. */
function tied(...qoses: readonly Qos[]) {
  const facts = factsOf(zoneWith(...qoses));
  return {
    offsets: qoses.map((one) => facts.qosOffsetOf(bluePod.network, one)),
    told: [...facts.qosProblems()].map(({ object, message }) => `${object}: ${message}`),
  };
}

describe('of two NetworkQoSes with one priority', () => {
  test('that mean one pod rules of the older come first, and the younger is told', () => {
    const found = tied(
      qos('new', '2026-02-01', { pods: { app: 'web' }, rules: 2 }),
      qos('old', '2026-01-01', { pods: { tier: 'front' } }),
    );
    expect(found).toEqual({
      offsets: [0, 2],
      told: [
        `NetworkQoS blue/new: spec.priority: NetworkQoS blue/old has priority 5, too, and is older; both mean pod address 103.103.0.3 on network ${bluePod.network}: of a packet that both mean that one's rules decide; give each a priority of its own`,
      ],
    });
  });

  test('made at one time the name decides', () => {
    expect(tied(qos('a', ''), qos('b', '')).offsets).toEqual([1, 0]);
  });

  test.each([
    ['of other pods', { pods: { app: 'db' } }],
    ['of other destinations', { to: '11.0.0.0/8' }],
    ['of another priority', { priority: 6 }],
    ['without rules', { rules: 0 }],
  ])('one %s is left alone', (_what, other) => {
    const found = tied(qos('old', '2026-01-01', { to: '10.0.0.0/8' }), qos('new', '', other));
    expect(found).toEqual({ offsets: [0, 0], told: [] });
  });

  test('with no place for the rules of both either may decide, which is told', () => {
    const found = tied(
      qos('new', '2026-02-01', { rules: 6 }),
      qos('old', '2026-01-01', { rules: 5 }),
    );
    expect(found.offsets).toEqual([0, 0]);
    expect(found.told.join()).toContain(
      `either may decide, as they have more than ${QOS_RULES_OF_PRIORITY} rules`,
    );
  });
});

test('of three each is before those that are younger', () => {
  const found = tied(qos('b', '2', { rules: 2 }), qos('a', '1'), qos('c', '3', { rules: 3 }));
  expect(found.offsets).toEqual([3, 5, 0]);
  expect(found.told).toHaveLength(2);
});
