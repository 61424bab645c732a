import { describe, expect, test } from 'vitest';
import { NETWORKS } from '../../../src/api/annotations/network-selection.ts';
import type { ZoneNetworkStatus, ZoneStatus } from '../../../src/api/zone-status.ts';
import { missing } from '../../../src/lab/objects.ts';
import { nad, pod, type PodNetwork } from '../../support/zone/pods.ts';

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
    expect(missing(['n1'], ['blue_net'], [done], [web, agent], [])).toEqual([]);
  });

  test('each network on each node that is not there yet, with what the node says', () => {
    const waiting = zone(
      'n1',
      [{ name: 'blue_net', state: 'Pending', message: 'no subnet' }],
      'no connection',
    );
    const bare = { ...web, metadata: { ...web.metadata, annotations: {} } };
    expect(missing(['n1', 'n2'], ['blue_net'], [waiting], [bare], [])).toEqual([
      'n1: no connection',
      'network blue_net on n1: Pending (no subnet)',
      'network blue_net on n2: not reported',
      'pod blue/web has no addresses yet on any network',
    ]);
  });

  test('pods that have the addresses of one writer, and not yet those of the other', () => {
    const locked: PodNetwork = {
      nadKey: 'default',
      address: '10.0.0.5/24',
      role: 'infrastructure-locked',
    };
    const own: PodNetwork = { nadKey: 'blue/flat', address: '10.80.0.3/16', role: 'primary' };
    const lacks = (networks: readonly PodNetwork[], asked?: string): readonly string[] => {
      const made = pod('blue/vm', 'n1', networks);
      const annotations = { ...made.metadata.annotations, ...(asked && { [NETWORKS]: asked }) };
      const one = { ...made, metadata: { ...made.metadata, annotations } };
      return missing([], [], [], [one], [nad('blue/extra', 'blue_extra')]);
    };
    expect(lacks([locked])).toEqual(['pod blue/vm has no addresses yet on a primary network']);
    expect(lacks([own])).toEqual(['pod blue/vm has no addresses yet on any network']);
    expect(lacks([locked, own])).toEqual([]);
    expect(lacks([locked, own], 'extra')).toEqual([
      'pod blue/vm has no addresses yet on blue/extra',
    ]);
    expect(lacks([locked, own], 'of-others')).toEqual([]);
  });
});
