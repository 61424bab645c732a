import { describe, expect, test } from 'vitest';
import { hashedName } from '../../../../src/topology/rows/object-ids.ts';
import { namedPortMatches } from '../../../../src/topology/policy/named-ports.ts';
import type { NetworkName } from '../../../../src/model/model.ts';
import { portQueries } from '../../../../src/model/read/policies.ts';
import {
  namespace,
  networkPolicy,
  ownNetwork,
  PolicedZone,
  policedPod,
} from '../../../support/zone/policed-zone.ts';
import { exampleZone } from '../../../support/zone/zones.ts';

const pod = (name: string, address: string, containerPort: number) =>
  policedPod(`blue/${name}`, {
    on: 'blue/blue',
    address,
    labels: { app: 'web' },
    ports: [{ name: 'http', containerPort }],
  });
const policy = networkPolicy('blue/p', {
  podSelector: {},
  ingress: [{ ports: [{ protocol: 'TCP', port: 'http' }] }],
});

/** Matches of the policy's rule by protocol, with the sets of pods by their numbers. */
function matchesOf(...pods: readonly ReturnType<typeof pod>[]) {
  const zone = PolicedZone.of(exampleZone, namespace('blue', ownNetwork), ...pods, policy);
  zone.facts.refresh(0);
  const [read] = zone.facts.policies.all();
  const [rule] = read?.rules ?? [];
  if (read === undefined || rule === undefined) throw new Error('no rule');
  return namedPortMatches(
    zone.facts,
    'blue_blue' as NetworkName,
    'c',
    ['v4'],
    portQueries(read, rule),
  );
}

describe('a port that a rule means by a name', () => {
  test('is one match however many pods there are, with a set of pods per number', () => {
    const found = matchesOf(
      pod('a', '103.103.0.3/16', 80),
      pod('b', '103.103.0.4/16', 80),
      pod('c', '103.103.0.5/16', 8080),
    ).get('tcp');
    expect(found?.numbers).toBe(2);
    const [first = '', second = ''] = found?.sets ?? [];
    expect(found?.match.get('v4')).toBe(
      `tcp && ((ip4.dst == {$${first}} && tcp.dst==80) || (ip4.dst == {$${second}} && tcp.dst==8080))`,
    );
    expect(first).not.toBe(second);
    expect(first).toMatch(/^a[\da-f]+$/);
    expect(first.length).toBeLessThanOrEqual(hashedName('x').length + 1);
  });

  test('lets nothing through while no pod calls a port so', () => {
    expect(matchesOf().size).toBe(0);
  });
});
