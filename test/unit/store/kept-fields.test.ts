import { expect, test } from 'vitest';
import { pods, zoneStatuses } from '../../../src/api/kinds.ts';
import type { Pod } from '../../../src/api/types.ts';
import type { ZoneStatus } from '../../../src/api/zone-status.ts';
import { keptFields } from '../../../src/store/kept-fields.ts';

test('of the conditions of a pod it is kept whether it is ready', () => {
  const conditions = [
    { type: 'PodScheduled', status: 'True' },
    { type: 'Ready', status: 'False', lastProbeTime: null, message: 'containers with unready …' },
  ];
  const pod: Pod = {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { namespace: 'edge', name: 'router' },
    spec: { nodeName: 'n1' },
    status: { phase: 'Running', conditions },
  };
  const kept = keptFields(pods);
  expect(kept(pod).status).toEqual({
    phase: 'Running',
    conditions: [{ type: 'Ready', status: 'False' }],
  });
  expect(kept({ ...pod, status: { phase: 'Pending' } }).status).toEqual({ phase: 'Pending' });
});

test('what many nodes report alike is kept once, and nothing else of it', () => {
  const kept = keptFields(zoneStatuses);
  const zone = (name: string, message: string): ZoneStatus => ({
    apiVersion: 'k8s.ovn.org/v1alpha1',
    kind: 'ZoneStatus',
    metadata: { name },
    status: {
      observedAt: '2026-01-01T00:00:00Z',
      networks: [
        { name: 'blue_net', state: 'Programmed' },
        { name: 'red_net', state: 'Failed', message },
      ],
      applied: [{ object: 'EgressFirewall blue/default', generation: 1, uid: 'u' }],
      problems: [],
    },
  });
  const [one, other] = [kept(zone('n1', 'no room')), kept(zone('n2', 'no row'))];
  expect([one, other]).toEqual([zone('n1', 'no room'), zone('n2', 'no row')]);
  expect(one.status?.networks[0]).toBe(other.status?.networks[0]);
  expect(one.status?.applied?.[0]).toBe(other.status?.applied?.[0]);
  expect(one.status?.networks[1]?.message).toBe('no room');
  const { status: _none, ...silent } = zone('n3', '');
  expect(kept(silent)).toEqual(silent);
});
