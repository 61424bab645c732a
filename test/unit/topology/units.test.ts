import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { Attachment, Network, Zone } from '../../../src/model/model.ts';
import { RowReference, type DesiredRow } from '../../../src/ovsdb/plan/desired.ts';
import { changedUnits, zoneUnits } from '../../../src/topology/units.ts';
import { rowTexts } from '../../support/row-text.ts';
import {
  blue,
  bluePod,
  bluePodDefault,
  defaultNetwork,
  dualZone,
  exampleZone,
  furtherNode,
  inLocalMode,
  ipv6Zone,
  networkName,
  worker2,
} from '../../support/zones.ts';

const allRows = (zone: Zone): DesiredRow[] =>
  [...zoneUnits(zone).values()].flatMap((unit) => unit.build());

const secondary: Network = {
  ...blue,
  name: networkName('cluster_udn_storage'),
  id: 7,
  role: 'secondary',
  namespaces: [],
  nads: ['blue/storage'],
};

const busyZone: Zone = {
  ...exampleZone,
  networks: [defaultNetwork, blue, secondary],
  attachments: [
    bluePod,
    { ...bluePodDefault, openDefaultPorts: [{ protocol: 'tcp', port: 80 }] },
    { ...bluePod, network: secondary.name, nadKey: 'blue/storage', role: 'secondary' },
  ],
};

describe('the rows of a zone', () => {
  test.each([
    ['example', exampleZone],
    ['local gateway mode', inLocalMode(exampleZone)],
    ['both families', dualZone],
    ['IPv6', ipv6Zone],
    ['secondary network and pods', busyZone],
    [
      'multicast',
      {
        ...busyZone,
        settings: {
          ...busyZone.settings,
          features: { egressIp: true, egressFirewall: true, multicast: true },
        },
      },
    ],
  ])('%s: every key is one row, every reference and container is there', (_name, zone) => {
    const rows = allRows(zone);
    const keys = new Set(rows.map((row) => `${row.table} ${row.key}`));
    expect(keys.size).toBe(rows.length);
    const wanted = rows.flatMap((row) => [
      ...row.containers.map(({ table, key }) => `${table} ${key}`),
      ...Object.values(row.columns)
        .flatMap((value): unknown[] => (Array.isArray(value) ? value : [value]))
        .filter((value) => value instanceof RowReference)
        .map(({ table, key }) => `${table} ${key}`),
    ]);
    expect(wanted.filter((key) => !keys.has(key))).toEqual([]);
  });

  test('are 2 routes and 1 port per remote node of a primary network', () => {
    const nodes = Array.from({ length: 10 }, (_, index) => furtherNode(index + 4));
    const network: Network = {
      ...blue,
      nodeSubnets: new Map([
        ...blue.nodeSubnets,
        ...nodes.map(({ name, id }) => [name, [`103.103.${id}.0/24`]] as const),
      ]),
    };
    const zone = { ...exampleZone, remoteNodes: [worker2, ...nodes], networks: [network] };
    const before = allRows({ ...exampleZone, networks: [network] }).length;
    const northbound = [...zoneUnits(zone).values()]
      .filter((unit) => unit.database === 'Northbound')
      .flatMap((unit) => unit.build());
    const southbound = 2; // chassis and tunnel address of ovn-worker2, and the own chassis, are in `before`.
    expect(northbound.length).toBe(before - southbound - 1 + 30);
  });
});

/** Keys of units that a change makes anew, and of those that it ends. */
function changes(before: Zone, after: Zone): { rebuild: string[]; gone: string[] } {
  const { rebuild, gone } = changedUnits(before, after);
  return { rebuild: [...rebuild.keys()].sort(), gone: [...gone].sort() };
}

describe('what a change makes anew', () => {
  test('nothing, when all values are the same, even as copies', () => {
    expect(changes(busyZone, structuredClone(busyZone))).toEqual({ rebuild: [], gone: [] });
  });

  test('a pod: itself', () => {
    const pod: Attachment = { ...bluePod, pod: 'pod2', addresses: ['103.103.0.4/24'] };
    const after = { ...busyZone, attachments: [...busyZone.attachments, pod] };
    expect(changes(busyZone, after)).toEqual({ rebuild: ['pod/blue/pod2/blue/blue'], gone: [] });
    expect(changes(after, busyZone)).toEqual({ rebuild: [], gone: ['pod/blue/pod2/blue/blue'] });
  });

  test('a node: its part of each network, its chassis, and the set of node addresses', () => {
    const node = furtherNode(4);
    const networks = busyZone.networks.map((network) => ({
      ...network,
      nodeSubnets: new Map([...network.nodeSubnets, [node.name, ['103.103.4.0/24']]]),
    }));
    const after = { ...busyZone, networks, remoteNodes: [worker2, node] };
    expect(changes(busyZone, after)).toEqual({
      rebuild: [
        'network/blue_blue/node/node-4',
        'network/cluster_udn_storage/node/node-4',
        'network/default/node/node-4',
        'node/node-4',
        'nodes',
      ],
      gone: [],
    });
    expect(changes(after, busyZone)).toEqual({
      rebuild: ['nodes'],
      gone: [
        'network/blue_blue/node/node-4',
        'network/cluster_udn_storage/node/node-4',
        'network/default/node/node-4',
        'node/node-4',
      ],
    });
  });

  test("another node's subnet of one network: its part of that network", () => {
    const network = {
      ...blue,
      nodeSubnets: new Map([...blue.nodeSubnets, ['ovn-worker2', ['103.103.9.0/24']]]),
    };
    const after = { ...exampleZone, networks: [defaultNetwork, network] };
    expect(changes(exampleZone, after)).toEqual({
      rebuild: ['network/blue_blue/node/ovn-worker2'],
      gone: [],
    });
  });

  test('a network: its own units', () => {
    const before = { ...busyZone, networks: [defaultNetwork, blue] };
    expect(changes(before, busyZone)).toEqual({
      rebuild: [
        'network/cluster_udn_storage',
        'network/cluster_udn_storage/node/ovn-worker2',
        'pod/blue/pod1/blue/storage',
      ],
      gone: [],
    });
    expect(changes(busyZone, before)).toEqual({
      rebuild: [],
      gone: [
        'network/cluster_udn_storage',
        'network/cluster_udn_storage/node/ovn-worker2',
        'pod/blue/pod1/blue/storage',
      ],
    });
  });

  test('a namespace: its group on the default network', () => {
    const after = { ...busyZone, namespaces: [...busyZone.namespaces, 'red'] };
    expect(changes(busyZone, after).rebuild).toEqual(['network/default/namespace/red']);
    expect(changes(after, busyZone).gone).toEqual(['network/default/namespace/red']);
  });

  test('a service open to all: its address set, and the routes of primary networks', () => {
    const after = {
      ...exampleZone,
      allowedDefaultServices: [{ key: 'default/kubernetes', clusterIps: ['10.96.0.2'] }],
    };
    expect(changes(exampleZone, after).rebuild).toEqual([
      'network/blue_blue',
      'network/default',
      'services',
    ]);
  });

  test('another zone altogether: everything', () => {
    const after = { ...exampleZone, node: { ...exampleZone.node, name: 'ovn-control-plane' } };
    const { rebuild, gone } = changes(exampleZone, after);
    expect(rebuild).toEqual([...zoneUnits(after).keys()].sort());
    expect(gone).toEqual(['node/ovn-worker']);
  });
});

describe('rebuilding what changed', () => {
  const networks = [
    defaultNetwork,
    blue,
    secondary,
    { ...blue, name: networkName('red_red'), id: 9, namespaces: ['red'], nads: ['red/red'] },
    { ...blue, id: 1, namespaces: ['blue', 'green'] },
    { ...blue, nodeSubnets: new Map([['ovn-worker', ['103.103.7.0/24']]]) },
  ];
  const node = fc.integer({ min: 4, max: 8 }).map(furtherNode);
  const attachment = fc.record({
    pod: fc.constantFrom('pod1', 'pod2', 'pod3'),
    network: fc.constantFrom('blue_blue', 'default', 'red_red', 'gone').map(networkName),
    role: fc.constantFrom('primary' as const, 'infrastructure-locked' as const),
    node: fc.constantFrom('ovn-worker', 'ovn-worker2'),
  });
  const zone: fc.Arbitrary<Zone> = fc
    .record({
      networks: fc.uniqueArray(fc.constantFrom(...networks), { selector: ({ name }) => name }),
      remoteNodes: fc.uniqueArray(node, { selector: ({ name }) => name }),
      namespaces: fc.subarray(['blue', 'default', 'green', 'red']),
      attachments: fc.uniqueArray(attachment, {
        selector: (pod) => `${pod.pod} ${pod.network}`,
        maxLength: 6,
      }),
      egressFirewall: fc.boolean(),
      isLocal: fc.boolean(),
    })
    .map(({ egressFirewall, isLocal, attachments, ...rest }) => {
      const settings = {
        ...exampleZone.settings,
        features: { ...exampleZone.settings.features, egressFirewall },
      };
      const pods = attachments.map((pod) => ({
        ...bluePod,
        ...pod,
        nadKey: pod.network === 'default' ? 'default' : pod.network.replace('_', '/'),
      }));
      const built = { ...exampleZone, ...rest, settings, attachments: pods };
      return isLocal ? inLocalMode(built) : built;
    });

  test('gives the rows that building everything gives, through any history', () => {
    fc.assert(
      fc.property(fc.array(zone, { minLength: 2, maxLength: 6 }), (history) => {
        const kept = new Map<string, readonly DesiredRow[]>();
        let before: Zone | undefined;
        for (const after of history) {
          const { rebuild, gone } = changedUnits(before, after);
          for (const key of gone) kept.delete(key);
          for (const [key, unit] of rebuild) kept.set(key, unit.build());
          before = after;
          expect([...kept.keys()].sort()).toEqual([...zoneUnits(after).keys()].sort());
          expect(rowTexts([...kept.values()].flat())).toEqual(rowTexts(allRows(after)));
        }
      }),
      { numRuns: 60 },
    );
  });
});
