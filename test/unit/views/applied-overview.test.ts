/** Objects that are not in force on all nodes yet. */
import { expect, test } from 'vitest';
import type { ZoneStatus, ZoneStatusContent } from '../../../src/api/zone-status.ts';
import { notInForce } from '../../../src/views/applied-overview.ts';

const firewall = (namespace: string, generation: number) => ({
  apiVersion: 'k8s.ovn.org/v1',
  kind: 'EgressFirewall',
  metadata: { namespace, name: 'default', generation, uid: namespace },
});
const zone = (name: string, status: Partial<ZoneStatusContent>): ZoneStatus => ({
  apiVersion: 'k8s.ovn.org/v1alpha1',
  kind: 'ZoneStatus',
  metadata: { name },
  status: { observedAt: '', networks: [], problems: [], ...status },
});
const BLUE = { object: 'EgressFirewall blue/default', generation: 1, uid: 'blue' };
const RED = { object: 'EgressFirewall red/default', generation: 1, uid: 'red' };
const all = (...applied: readonly (typeof BLUE)[]) => ({ applied, appliedCount: applied.length });

test('are those that a node says nothing of, or that it has as they were', () => {
  const objects = [firewall('red', 2), firewall('blue', 1)];
  const zones = [zone('n2', all(BLUE)), zone('n1', all(BLUE, RED))];
  expect(notInForce(objects, zones, () => false)).toEqual([
    { object: RED.object, nodes: ['n1', 'n2'] },
  ]);
  expect(notInForce(objects, zones, (node) => node === 'n1')).toEqual([
    { object: RED.object, nodes: ['n2'] },
  ]);
});

test('are not those of which a node says what is wrong, and nothing is known of a node of an earlier release or with a full list', () => {
  const objects = [firewall('red', 1)];
  const told: readonly Partial<ZoneStatusContent>[] = [
    { ...all(), problems: [{ object: RED.object, message: 'too much' }] },
    { ...all(), objects: [{ object: RED.object, state: 'Pending' }] },
    {},
    { applied: [BLUE], appliedCount: 2 },
  ];
  for (const status of told)
    expect(notInForce(objects, [zone('n1', status)], () => false)).toEqual([]);
  expect(notInForce(objects, [zone('n1', all(BLUE))], () => false)).toHaveLength(1);
});
