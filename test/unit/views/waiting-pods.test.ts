import { expect, test } from 'vitest';
import type { Pod } from '../../../src/api/types.ts';
import { waitingPods, waitingText } from '../../../src/views/waiting-pods.ts';
import { pod } from '../../support/cluster/cluster.ts';

const entry = (role: string): object => ({
  ip_addresses: ['10.0.0.3/24'],
  mac_address: '0a:58:0a:00:00:03',
  role,
});
const carrying = (key: string, networks: object, asksFor?: string): Pod =>
  pod(key, 'n1', {
    'k8s.ovn.org/pod-networks': JSON.stringify(networks),
    ...(asksFor === undefined ? {} : { 'k8s.v1.cni.cncf.io/networks': asksFor }),
  });
const CLOSED = { default: entry('infrastructure-locked') };
const PLAIN = { default: entry('primary') };

test('a pod on a node waits while it lacks a network that it is to be on', () => {
  const found = waitingPods(
    [
      carrying('blue/full', CLOSED),
      pod('blue/new', 'n1'),
      carrying('blue/mesh', PLAIN, 'mesh, other/lan, mesh'),
      carrying('blue/done', { ...CLOSED, 'blue/net': entry('primary') }),
      carrying('plain/done', PLAIN),
      pod('blue/unscheduled'),
      { ...pod('blue/host', 'n1'), spec: { nodeName: 'n1', hostNetwork: true } },
    ],
    new Set(['blue/mesh', 'blue/net']),
  );
  expect(found).toEqual([
    { pod: 'blue/full', without: ['a primary network'], node: 'n1' },
    { pod: 'blue/mesh', without: ['blue/mesh', 'blue/mesh/1'], node: 'n1' },
    { pod: 'blue/new', without: ['any network'], node: 'n1' },
  ]);
});

test('its cause is told where it is known', () => {
  const waiting = { pod: 'blue/full', without: ['a primary network'], node: 'n1' };
  expect(waitingText(waiting)).toBe(
    'has no addresses yet on a primary network: n1 has not given them yet',
  );
  expect(waitingText({ ...waiting, cause: 'there is no node "n1"' })).toBe(
    'has no addresses yet on a primary network: there is no node "n1"',
  );
});
