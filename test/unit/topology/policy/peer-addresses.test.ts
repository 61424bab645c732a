import { describe, expect, test } from 'vitest';
import { podAddresses, portAddresses } from '../../../../src/topology/policy/peer-addresses.ts';
import {
  namespace,
  networkPolicy,
  ownNetwork,
  PolicedZone,
  policedPod,
} from '../../../support/zone/policed-zone.ts';
import { plain } from '../../../support/zone/row-text.ts';
import { exampleZone } from '../../../support/zone/zones.ts';

const blue = namespace('blue', ownNetwork);
const pod = (name: string, node: string, address: string, number: number) =>
  policedPod(`blue/${name}`, {
    on: 'blue/blue',
    node,
    address,
    labels: { app: 'web' },
    ports: [{ name: 'http', containerPort: number }],
  });
const web = pod('web', 'ovn-worker', '103.103.0.3/16', 8080);
const far = pod('far', 'ovn-worker2', '103.103.1.5/16', 8081);
const policy = (name: string, ports: readonly object[] = []) =>
  networkPolicy(`blue/${name}`, {
    podSelector: {},
    egress: [{ to: [{ podSelector: { matchLabels: { app: 'web' } } }], ports }],
  });
const setsOf = (zone: PolicedZone, { name }: { readonly name: string }): unknown[] =>
  zone.rows(new RegExp(`^${name} `)).map(({ columns }) => plain(columns['addresses']));

describe('pods that a policy selects (reference/topology.md §16.1)', () => {
  test('are in a set by their addresses on the network, whatever node they are on', () => {
    const zone = PolicedZone.of(exampleZone, blue, web, far, policy('p'));
    expect(setsOf(zone, podAddresses)).toEqual([['103.103.0.3', '103.103.1.5']]);
  });

  test('are in one set for all policies that select them', () => {
    const zone = PolicedZone.of(exampleZone, blue, web, far, policy('p'), policy('q'));
    expect(setsOf(zone, podAddresses)).toHaveLength(1);
    zone.remove(policy('p'), policy('q'));
    expect(setsOf(zone, podAddresses)).toEqual([]);
  });

  test('by a port that they name are in a set per number', () => {
    const ports = [{ protocol: 'TCP', port: 'http' }];
    const zone = PolicedZone.of(exampleZone, blue, web, far, policy('p', ports));
    expect(setsOf(zone, portAddresses)).toEqual([['103.103.0.3'], ['103.103.1.5']]);
    expect(setsOf(PolicedZone.of(exampleZone, blue, web, policy('p')), portAddresses)).toEqual([]);
  });
});
