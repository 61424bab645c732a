import { describe, expect, test } from 'vitest';
import {
  blue,
  bluePod,
  defaultNetwork,
  exampleZone,
  farYellowPod,
  worker2,
  yellow,
  yellowPod,
  type Zone,
} from '../../../support/zone/zones.ts';
import { added, textsOf } from '../unit-texts.ts';

const there: Zone = {
  ...exampleZone,
  namespaces: [...exampleZone.namespaces, 'yellow'],
  networks: [defaultNetwork, blue, yellow],
  attachments: [bluePod, yellowPod],
  remoteAttachments: [farYellowPod],
};
const alone: Zone = { ...there, remoteNodes: [] };

const texts = (zone: Zone): string[] => textsOf(zone, /./);
const changed = (before: Zone, after: Zone): { gone: string[]; come: string[] } => {
  const [old, now] = [texts(before), texts(after)];
  return { gone: added(now, old), come: added(old, now) };
};
/** Table and key of each. */
const heads = (rows: readonly string[]): string[] =>
  rows.map((text) => text.split(/ \w+=/)[0] ?? '').toSorted();
const values = (rows: readonly string[], pattern: RegExp): string[] =>
  rows.flatMap((text) => pattern.exec(text)?.[0] ?? []);

describe('another node', () => {
  test('that joins: its chassis, and per network the ways to its pods and its gateway router, and its pods on Layer2', () => {
    const { gone, come } = changed(alone, there);
    expect(heads(come)).toEqual([
      'Address_Set a731532d7e5758ff700869a4c09b850fb',
      'Chassis C2',
      'Encap geneve 172.18.0.4',
      'Logical_Router_Port trtor-GR_cluster_udn_yellow.net_ovn-worker2',
      'Logical_Router_Static_Route blue_blue_ovn_cluster_router 100.65.0.3/32 any -',
      'Logical_Router_Static_Route blue_blue_ovn_cluster_router 103.103.1.0/24 any -',
      'Logical_Router_Static_Route cluster_udn_yellow.net_transit_router 100.65.0.3 any -',
      'Logical_Router_Static_Route ovn_cluster_router 10.244.1.0/24 any -',
      'Logical_Router_Static_Route ovn_cluster_router 100.64.0.3/32 any -',
      'Logical_Switch_Port blue_blue_tstor-ovn-worker2',
      'Logical_Switch_Port tstor-ovn-worker2',
      'Logical_Switch_Port yellow.yellow.net_yellow_far',
    ]);
    // The set of node addresses has one member more.
    expect(heads(gone)).toEqual(['Address_Set a731532d7e5758ff700869a4c09b850fb']);
  });

  test('that leaves takes with it what came with it, and nothing else', () => {
    const { gone, come } = changed(there, alone);
    expect({ gone: come, come: gone }).toEqual(changed(alone, there));
  });

  test('with another chassis: its chassis and all that is bound to it', () => {
    const { gone, come } = changed(there, {
      ...there,
      remoteNodes: [{ ...worker2, chassisId: 'c3' }],
    });
    expect(heads(come)).toEqual([
      'Chassis c3',
      'Encap geneve 172.18.0.4',
      'Logical_Router_Port trtor-GR_cluster_udn_yellow.net_ovn-worker2',
      'Logical_Switch_Port blue_blue_tstor-ovn-worker2',
      'Logical_Switch_Port tstor-ovn-worker2',
      'Logical_Switch_Port yellow.yellow.net_yellow_far',
    ]);
    expect(gone.filter((text) => !text.includes('C2'))).toEqual([]);
  });

  test('with another tunnel address: the end of its tunnel', () => {
    const { gone, come } = changed(there, {
      ...there,
      remoteNodes: [{ ...worker2, encapIps: ['172.18.0.40'] }],
    });
    expect(heads(gone)).toEqual(['Encap geneve 172.18.0.4']);
    expect(heads(come)).toEqual(['Encap geneve 172.18.0.40']);
  });

  test('with another subnet of a Layer3 network: the route to it', () => {
    const moved = {
      ...blue,
      nodeSubnets: new Map(blue.nodeSubnets).set('ovn-worker2', ['103.103.7.0/24']),
    };
    const after = { ...there, networks: [defaultNetwork, moved, yellow] };
    const { gone, come } = changed(there, after);
    expect(values(gone, /ip_prefix=\S+/)).toEqual(['ip_prefix=103.103.1.0/24']);
    expect(values(come, /ip_prefix=\S+/)).toEqual(['ip_prefix=103.103.7.0/24']);
    expect([gone.length, come.length]).toEqual([1, 1]);
  });

  test('with another id: on Layer2 its links and keys, on Layer3 its join address', () => {
    const { gone, come } = changed(there, {
      ...there,
      remoteNodes: [{ ...worker2, id: 7, transitAddresses: { v4: '100.88.0.7/16' } }],
    });
    expect(gone).toHaveLength(come.length);
    expect(heads(come)).toEqual([
      'Logical_Router_Port trtor-GR_cluster_udn_yellow.net_ovn-worker2',
      'Logical_Router_Static_Route blue_blue_ovn_cluster_router 100.65.0.7/32 any -',
      'Logical_Router_Static_Route blue_blue_ovn_cluster_router 103.103.1.0/24 any -',
      'Logical_Router_Static_Route cluster_udn_yellow.net_transit_router 100.65.0.7 any -',
      'Logical_Router_Static_Route ovn_cluster_router 10.244.1.0/24 any -',
      'Logical_Router_Static_Route ovn_cluster_router 100.64.0.7/32 any -',
      'Logical_Switch_Port blue_blue_tstor-ovn-worker2',
      'Logical_Switch_Port tstor-ovn-worker2',
    ]);
  });
});
