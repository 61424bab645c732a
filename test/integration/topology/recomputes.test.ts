/**
 * What a change of ours makes OVN's programs work out from nothing: their engines are to take it in as it comes. With `HEDDLE_LAB_SUITE=sid`, and
 * `lab/build host` before, on the OVN of that Debian release.
 */
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { withoutPrefix } from '../../../src/allocators/addresses.ts';
import type { Attachment } from '../../../src/model/model.ts';
import { podPort } from '../../../src/model/rules/names.ts';
import { readPolicy, type Policy } from '../../../src/model/read/policies.ts';
import { networkPolicy } from '../../support/zone/policed-zone.ts';
import { macOf } from '../../support/zone/layer3-by-hand.ts';
import { OvnController } from '../../support/zone/ovn-controller.ts';
import { OvnZone } from '../../support/zone/ovn-zone.ts';
import { reasonsIn, since } from '../../support/zone/recomputes.ts';
import { runOvs } from '../../support/ovsdb/ovsdb-server.ts';
import { service, slice, withServices } from '../../support/zone/services.ts';
import {
  blue,
  bluePod,
  bluePodDefault,
  CHASSIS_1,
  colored,
  exampleZone,
  farYellowPod,
  furtherNode,
  layer2Secondary,
  networkName,
  overlay,
  overlayPod,
  underlay,
  yellow,
  yellowPod,
  type Zone,
  type ZoneNetwork,
} from '../../support/zone/zones.ts';

const podsOn = (like: Attachment, prefix: string, length: number): readonly Attachment[] =>
  Array.from({ length: 4 }, (_, i) => {
    const address = `${prefix}${prefix.includes(':') ? (10 + i).toString(16) : 10 + i}`;
    return {
      ...like,
      pod: `${like.network.replaceAll('_', '-')}-${i}`,
      ...(like.tunnelId === undefined ? {} : { tunnelId: like.tunnelId + i }),
      macAddress: prefix.includes(':') ? `0a:58:3e:11:22:3${i}` : macOf(address),
      addresses: [`${address}/${length}`],
    };
  });
const yellowPods = podsOn(yellowPod, '105.105.0.', 16);
const bluePods = podsOn(bluePod, '103.103.0.', 24);
const secondary = { ...bluePod, role: 'secondary' as const };
const layer3Secondary: ZoneNetwork = {
  ...blue,
  name: networkName('blue_l3'),
  id: 8,
  role: 'secondary',
  subnets: [{ cidr: '108.108.0.0/16', hostLength: 24 }],
  masquerade: {},
  nads: ['blue/l3'],
  namespaces: [],
  nodeSubnets: new Map([['ovn-worker', ['108.108.0.0/24']]]),
  object: 'UserDefinedNetwork blue/l3',
};

/** A network of each kind, with what its pods look like. */
const kinds: readonly (readonly [kind: string, pods: readonly Attachment[]])[] = [
  ['Layer2', yellowPods],
  ['Layer3', bluePods],
  [
    'secondary Layer3',
    podsOn({ ...secondary, network: layer3Secondary.name, nadKey: 'blue/l3' }, '108.108.0.', 24),
  ],
  [
    'secondary Layer2',
    podsOn(
      { ...secondary, network: layer2Secondary.name, nadKey: 'blue/l2', tunnelId: 1 },
      '10.40.0.',
      16,
    ),
  ],
  ['secondary Layer2 with IPv6', podsOn(overlayPod, 'fd20:60::', 64)],
  [
    'localnet',
    podsOn({ ...secondary, network: underlay.name, nadKey: 'blue/underlay' }, '10.70.0.', 16),
  ],
  [
    'default',
    podsOn({ ...bluePodDefault, namespace: 'default', role: 'primary' }, '10.244.0.', 24),
  ],
];
const portOf = ({ nadKey, namespace, pod }: Attachment): string => podPort(nadKey, namespace, pod);

const zone: Zone = {
  ...exampleZone,
  namespaces: [...exampleZone.namespaces, 'yellow'],
  networks: [...exampleZone.networks, yellow, layer3Secondary, layer2Secondary, overlay, underlay],
  attachments: [],
};

/** Both primary networks joined by a ClusterNetworkConnect. */
const connected: Zone = {
  ...zone,
  connects: [
    {
      ...colored,
      hasServices: true,
      members: [
        { networkId: blue.id, topology: 'layer3', subnets: ['192.168.0.0/24'] },
        { networkId: yellow.id, topology: 'layer2', subnets: ['192.168.1.0/31'] },
      ],
    },
  ],
};

const read = (name: string, spec: object): Policy => {
  const reading = readPolicy(networkPolicy(`blue/${name}`, spec));
  if (reading.kind !== 'value') throw new Error(JSON.stringify(reading));
  return reading.value;
};

/** True for OVN 26.03, which takes in more than 25.03 does. */
const isNewer = Number(/\d+\.\d+/.exec(await runOvs('ovn-northd', ['--version']))?.[0]) > 25.03;

let ovn: OvnZone;
let controller: OvnController;

const settle = async (wanted: Zone): Promise<void> => {
  expect(await ovn.apply(wanted)).toEqual([]);
  await ovn.nbctl('--wait=hv', 'sync');
};

beforeAll(async () => {
  ovn = await OvnZone.start();
  controller = await OvnController.start(ovn, {
    chassis: CHASSIS_1,
    address: '172.18.0.3',
    mappings: { physnet: 'breth0' },
    ports: Object.fromEntries(
      kinds.flatMap(([, pods]) => pods.map((pod) => [portOf(pod), pod.podUid])),
    ),
  });
  await settle(zone);
}, 60_000);

afterAll(async () => {
  await controller[Symbol.asyncDispose]();
  await ovn[Symbol.asyncDispose]();
});

const keyOf = async (port: string): Promise<number> =>
  Number(
    await ovn.sbctl(
      '--bare',
      '--columns=tunnel_key',
      'find',
      'Port_Binding',
      `logical_port="${port}"`,
    ),
  );

type Options = readonly ['map', readonly (readonly [string, string])[]];
type Reference = readonly ['uuid', string];

/** Columns of all rows of a table. */
async function listed<Row>(
  run: (...command: readonly string[]) => Promise<string>,
  table: string,
  columns: string,
): Promise<readonly Row[]> {
  const text = await run('--format=json', `--columns=${columns}`, 'list', table);
  return (JSON.parse(text) as { readonly data: readonly Row[] }).data;
}

/** What both programs worked out from nothing for a change. */
async function causedBy(
  change: () => Promise<void>,
): Promise<Readonly<Record<'northd' | 'controller', Readonly<Record<string, number>>>>> {
  const before = [await ovn.recomputes(), await controller.recomputes()] as const;
  await change();
  const after = [await ovn.recomputes(), await controller.recomputes()] as const;
  return { northd: since(before[0], after[0]), controller: since(before[1], after[1]) };
}

describe.each([
  ['by themselves', zone],
  ['joined by a ClusterNetworkConnect', connected],
])('networks %s', (_how, around) => {
  test.each(kinds)(
    'a pod of this node on a %s network is taken in as it comes',
    async (_, pods) => {
      const [first, ...rest] = pods;
      const attachments = first === undefined ? [] : [first];
      // With the first one ovn-controller learns of the switch.
      await settle({ ...around, attachments });
      for (const pod of rest) {
        attachments.push(pod);
        const caused = await causedBy(() => settle({ ...around, attachments }));
        expect(caused, pod.pod).toEqual({ northd: {}, controller: {} });
        const key = await keyOf(portOf(pod));
        expect(key).toBeGreaterThan(0);
        if (pod.tunnelId !== undefined) expect(key).toBe(pod.tunnelId);
      }
    },
  );
});

test('a port has the key that it asks for, and where pods ask for theirs others do, too, or are not among them', async () => {
  await settle({ ...connected, attachments: kinds.flatMap(([, pods]) => pods) });
  const asked = new Map<string, string>();
  for (const table of ['Logical_Switch_Port', 'Logical_Router_Port'])
    for (const [name, [, options]] of await listed<readonly [string, Options]>(
      (...command) => ovn.nbctl(...command),
      table,
      'name,options',
    )) {
      const key = new Map(options).get('requested-tnl-key');
      if (key !== undefined) asked.set(name, key);
    }
  const ports = await listed<readonly [string, string, number, Reference]>(
    (...command) => ovn.sbctl(...command),
    'Port_Binding',
    'logical_port,type,tunnel_key,datapath',
  );
  const isAsking = ([name]: readonly [string, ...unknown[]]): boolean => asked.has(name);
  const asking = ports.filter(isAsking);
  expect(asking.length).toBeGreaterThan(15);
  for (const [name, , key] of asking) expect(`${name} ${key}`).toBe(`${name} ${asked.get(name)}`);
  // The chassis' own copy of the port to the router can't be asked for: pods of such a network begin at 10.
  const podNames = new Set(kinds.flatMap(([, pods]) => pods.map(portOf)));
  const switches = new Set(
    asking.filter(([name]) => podNames.has(name)).map(([, , , [, datapath]]) => datapath),
  );
  expect(switches.size).toBe(3);
  const others = ports.filter((port) => !isAsking(port) && switches.has(port[3][1]));
  expect(others.map(([name, type]) => `${name} ${type}`)).toEqual([
    'cr-stotr-cluster_udn_yellow.net_ovn_layer2_switch chassisredirect',
  ]);
  expect(others[0]?.[2]).toBeLessThan(10);
});

test('a zone’s own ports on a Layer2 switch have keys that no pod has', async () => {
  await settle({ ...zone, attachments: yellowPods });
  const own = 'cluster_udn_yellow.net_ovn_layer2_switch';
  expect(await keyOf(`stotr-${own}`)).toBe(32767);
  expect(await keyOf('k8s-cluster_udn_yellow.net_ovn-worker')).toBe(1);
  // The chassis' own copy of the port to the router can't be asked for: pods begin at 10.
  expect(await keyOf(`cr-stotr-${own}`)).toBeLessThan(10);
  for (const pod of yellowPods) expect(await keyOf(portOf(pod))).toBe(pod.tunnelId);
});

test('a policy costs ovn-controller nothing but its own rows, and ovn-northd at most its flows', async () => {
  const policies: Policy[] = [];
  await settle({ ...zone, attachments: bluePods });
  for (const name of ['a', 'b', 'c']) {
    policies.push(read(name, { podSelector: {}, ingress: [{ ports: [{ port: 80 }] }] }));
    const caused = await causedBy(() => settle({ ...zone, attachments: bluePods, policies }));
    // Northd 25.03 makes all flows anew for each ACL; 26.03 does not, unless the ACL names a meter.
    expect(caused, name).toEqual({ northd: isNewer ? {} : { lflow: 1 }, controller: {} });
  }
});

describe('a change makes OVN work out everything anew at most so often', () => {
  const [webPod, ...bluesLeft] = bluePods;
  const base: Zone = {
    ...zone,
    attachments: [...(webPod === undefined ? [] : [webPod]), ...yellowPods],
    pods: bluePods.map(({ namespace, pod, node }) => ({
      namespace,
      name: pod,
      node,
      labels: {},
      namedPorts: [],
    })),
    policies: [
      read('web', {
        podSelector: {},
        ingress: [{ from: [{ podSelector: { matchLabels: { app: 'web' } } }] }],
      }),
    ],
  };
  const [first = '', second = ''] = bluePods.map(({ addresses }) =>
    withoutPrefix(addresses[0] ?? ''),
  );
  const web = (name: string, ...endpoints: readonly string[]) => [
    service(`blue/${name}`, { clusterIPs: [name === 'web' ? '10.96.1.1' : '10.96.1.2'] }),
    slice(
      `blue/${name}`,
      endpoints.map((one) => `${one} on ovn-worker`),
      { network: blue.name },
    ),
  ];
  const far = (pod: string, last: number): Attachment => ({
    ...farYellowPod,
    pod,
    macAddress: macOf(`105.105.0.${last}`),
    addresses: [`105.105.0.${last}/16`],
    tunnelId: last,
  });
  const more = (like: ZoneNetwork, octet: number): Zone => {
    const name = `red_n${octet}`;
    const network: ZoneNetwork = {
      ...like,
      name: networkName(name),
      id: octet,
      subnets: like.subnets.map((subnet) => ({ ...subnet, cidr: `${octet}.0.0.0/16` })),
      masquerade: {
        v4: { gatewayRouter: `169.254.1.${octet}`, managementPort: `169.254.2.${octet}` },
      },
      nads: [`red/n${octet}`],
      ...(like.topology === 'layer2' ? { tunnelKeys: [16711680 + octet, 16715776 + octet] } : {}),
      namespaces: ['red'],
      nodeSubnets:
        like.topology === 'layer2' ? new Map() : new Map([['ovn-worker', [`${octet}.0.0.0/24`]]]),
      object: `UserDefinedNetwork red/n${octet}`,
    };
    return { ...base, networks: [...base.networks, network] };
  };
  const together: Zone = {
    ...base,
    networks: [
      ...base.networks,
      ...[more(blue, 130), more(blue, 131), more(yellow, 140), more(yellow, 141)].flatMap(
        ({ networks }) => networks.slice(-1),
      ),
    ],
  };
  const without = (network: ZoneNetwork): Zone => ({
    ...base,
    networks: base.networks.filter((one) => one !== network),
  });
  const egress: Zone = {
    ...base,
    egressIps: [
      {
        name: 'out',
        created: '2026-01-01T00:00:00Z',
        namespaceSelector: {},
        podSelector: {},
        mark: 50_000,
        families: ['v4'],
        items: [{ node: 'ovn-worker', address: '172.18.0.200' }],
        isHere: true,
      },
    ],
  };
  const [labelled, ...others] = base.pods ?? [];

  test.each<
    readonly [change: string, before: Zone, after: Zone, northd: number, controller: number]
  >([
    [
      'a pod on a Layer3 network',
      base,
      { ...base, attachments: [...base.attachments, ...bluesLeft] },
      0,
      0,
    ],
    [
      'a label that a policy selects',
      base,
      {
        ...base,
        pods: labelled === undefined ? [] : [{ ...labelled, labels: { app: 'web' } }, ...others],
      },
      0,
      0,
    ],
    [
      'a service',
      withServices(base, ...web('db', first)),
      withServices(base, ...web('db', first), ...web('web', first)),
      0,
      0,
    ],
    [
      'an endpoint',
      withServices(base, ...web('web', first)),
      withServices(base, ...web('web', first, second)),
      0,
      0,
    ],
    // Northd takes in ports of the type of other zones' by working out all; ovn-controller 25.03 makes what goes between chassis anew.
    [
      'a pod of another node on a Layer2 network',
      { ...base, remoteAttachments: [far('a', 40)] },
      { ...base, remoteAttachments: [far('a', 40), far('b', 41)] },
      1,
      1,
    ],
    // Its switches and routers; on 25.03 once more as northd reads datapaths back that it wrote; at last, up to 25.03.3 and 26.03.1, the status of the
    // router's port to the switch. ovn-controller reads its patch ports back in one go or in two, and gives up what it began.
    ['a Layer3 network', base, more(blue, 120), isNewer ? 2 : 3, 3],
    ['a Layer2 network', base, more(yellow, 121), isNewer ? 2 : 3, 3],
    ['four networks at once', base, together, isNewer ? 2 : 3, 3],
    ['a Layer3 network that ends', more(blue, 122), base, isNewer ? 1 : 2, 3],
    ['a Layer2 network that ends', more(yellow, 123), base, isNewer ? 1 : 2, 3],
    ['four networks that end', together, base, isNewer ? 1 : 2, 3],
    // No router of theirs translates: no port has a status.
    ['a secondary Layer3 network', without(layer3Secondary), base, isNewer ? 1 : 2, 1],
    ['a secondary Layer3 network that ends', base, without(layer3Secondary), isNewer ? 1 : 2, 1],
    ['a secondary Layer2 network', without(layer2Secondary), base, isNewer ? 1 : 2, 1],
    ['a secondary Layer2 network that ends', base, without(layer2Secondary), isNewer ? 1 : 2, 1],
    ['a localnet network', without(underlay), base, isNewer ? 1 : 2, 2],
    ['a localnet network that ends', base, without(underlay), isNewer ? 1 : 2, 2],
    // Chassis, and then what leads to it; its tunnel is a port that ovn-controller makes and reads back.
    ['a node', base, { ...base, remoteNodes: [...base.remoteNodes, furtherNode(9)] }, 2, 4],
    // Policies and NAT of routers.
    ['an egress address', base, egress, 1, 0],
  ])('%s', async (change, before, after, northd, controlled) => {
    await settle(before);
    await Promise.all([ovn.logRecomputes(), controller.logRecomputes()]);
    const begun = [ovn.log.length, controller.log.length] as const;
    const caused = await causedBy(() => settle(after));
    const reasons = {
      northd: reasonsIn(ovn.log.slice(begun[0])),
      controller: reasonsIn(controller.log.slice(begun[1])),
    };
    console.info(`${change}: ${JSON.stringify(reasons)}`);
    const most = (counts: Readonly<Record<string, number>>): number =>
      Math.max(0, ...Object.values(counts));
    expect(
      most({ northd: caused.northd['northd'] ?? 0 }),
      JSON.stringify(reasons),
    ).toBeLessThanOrEqual(northd);
    expect(most(caused.controller), JSON.stringify(reasons)).toBeLessThanOrEqual(controlled);
  });
});
