import { describe, expect, test } from 'vitest';
import type { ZoneNetworkStatus, ZoneStatus } from '../../../src/api/zone-status.ts';
import { missing } from '../../../src/lab/objects.ts';
import { pod } from '../../support/zone/pods.ts';

const zone = (
  name: string,
  networks: readonly ZoneNetworkStatus[],
  message?: string,
): ZoneStatus => ({
  apiVersion: 'k8s.ovn.org/v1alpha1',
  kind: 'ZoneStatus',
  metadata: { name },
  status: {
    observedAt: '2026-01-01T00:00:00Z',
    networks,
    problems: [],
    ...(message === undefined ? {} : { message }),
  },
});
const web = pod('blue/web', 'n1', [{ nadKey: 'default', address: '10.0.0.5/24', role: 'primary' }]);

describe('what is missing until the data plane has all', () => {
  test('nothing, when every node reports every network as programmed and pods have addresses', () => {
    const done = zone('n1', [{ name: 'blue_net', state: 'Programmed' }]);
    const agent = {
      ...web,
      metadata: { ...web.metadata, annotations: {} },
      spec: { hostNetwork: true },
    };
    expect(missing(['n1'], ['blue_net'], [done], [web, agent])).toEqual([]);
  });

  test('each network on each node that is not there yet, with what the node says', () => {
    const waiting = zone(
      'n1',
      [{ name: 'blue_net', state: 'Pending', message: 'no subnet' }],
      'no connection',
    );
    const bare = { ...web, metadata: { ...web.metadata, annotations: {} } };
    expect(missing(['n1', 'n2'], ['blue_net'], [waiting], [bare])).toEqual([
      'n1: no connection',
      'network blue_net on n1: Pending (no subnet)',
      'network blue_net on n2: not reported',
      'pod blue/web has no addresses yet',
    ]);
  });
});
