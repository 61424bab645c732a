import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { sharing } from '../../support/zone/overlapping.ts';
import { OvnZone } from '../../support/zone/ovn-zone.ts';
import { service, slice, withServices } from '../../support/zone/services.ts';
import {
  blue,
  bluePod,
  colored,
  defaultNetwork,
  exampleZone,
  farYellowPod,
  networkName,
  yellow,
  yellowPod,
  type Zone,
  type ZoneNetwork,
} from '../../support/zone/zones.ts';

const SWITCH = 'cluster_udn_yellow.net_ovn_layer2_switch';

/** A network that no connection names. */
const red: ZoneNetwork = {
  ...blue,
  name: networkName('red_red'),
  id: 7,
  subnets: [{ cidr: '107.107.0.0/16', hostLength: 24 }],
  nads: ['red/red'],
  namespaces: ['red'],
  masquerade: { v4: { gatewayRouter: '169.254.0.23', managementPort: '169.254.0.24' } },
  object: 'UserDefinedNetwork red/red',
  nodeSubnets: new Map([['ovn-worker', ['107.107.0.0/24']]]),
};

/** A Layer3 and a Layer2 network, connected. */
const mixed = {
  ...colored,
  members: [
    { networkId: blue.id, topology: 'layer3' as const, subnets: ['192.168.0.0/24'] },
    { networkId: yellow.id, topology: 'layer2' as const, subnets: ['192.168.1.0/31'] },
  ],
};
const connected: Zone = {
  ...exampleZone,
  namespaces: [...exampleZone.namespaces, 'yellow', 'red'],
  networks: [defaultNetwork, blue, yellow, red],
  attachments: [bluePod, yellowPod],
  remoteAttachments: [farYellowPod],
  connects: [mixed],
};

const fromBlue = (to: string): string =>
  `inport=="blue.blue_blue_pod1" && eth.src==0a:58:67:67:00:03 && eth.dst==0a:58:67:67:00:01 && ip4.src==103.103.0.3 && ip.ttl==64 && ip4.dst==${to} && icmp4`;
const fromYellow = (to: string): string =>
  `inport=="yellow.yellow.net_yellow_pod2" && eth.src==0a:58:69:69:00:03 && eth.dst==0a:58:69:69:00:01 && ip4.src==105.105.0.3 && ip.ttl==64 && ip4.dst==${to} && icmp4`;

describe('ovn-northd and a connection of a Layer3 with a Layer2 network', () => {
  let ovn: OvnZone;
  const last = async (logicalSwitch: string, packet: string): Promise<string | undefined> =>
    (await ovn.trace(logicalSwitch, packet)).at(-1);

  beforeAll(async () => {
    ovn = await OvnZone.start();
    expect(await ovn.apply(connected)).toEqual([]);
  });

  afterAll(async () => {
    await ovn[Symbol.asyncDispose]();
  });

  test('what northd writes causes no change of ours', () => {
    expect(ovn.planOf(connected, 'Northbound')).toMatchObject({ isEmpty: true, problems: [] });
  });

  test('pods of both reach each other, on this node and on another one', async () => {
    expect(await last('blue_blue_ovn-worker', fromBlue('105.105.0.3'))).toBe(
      'output("yellow.yellow.net_yellow_pod2");',
    );
    expect(await last('blue_blue_ovn-worker', fromBlue('105.105.0.4'))).toBe(
      'output("yellow.yellow.net_yellow_far");',
    );
    expect(await last(SWITCH, fromYellow('103.103.0.3'))).toBe('output("blue.blue_blue_pod1");');
    expect(await last(SWITCH, fromYellow('103.103.1.9'))).toBe(
      'output("crtor-colored-net_blue_blue_ovn-worker2");',
    );
  });

  test('pods of another network are not among what is reached: it leaves the node as to the world', async () => {
    expect(await last('blue_blue_ovn-worker', fromBlue('107.107.0.3'))).toBe(
      'output("breth0_blue_blue_ovn-worker");',
    );
  });

  test('with services alone connected, packets to pods are dropped, and those of the same network pass', async () => {
    const servicesOnly: Zone = {
      ...connected,
      connects: [{ ...mixed, hasPods: false, hasServices: true }],
    };
    expect(await ovn.apply(servicesOnly)).toEqual([]);
    const begins = ['--ct=new', '--ct=new', '--ct=new'];
    const toYellow = fromBlue('105.105.0.3');
    expect(await ovn.trace('blue_blue_ovn-worker', toYellow, ...begins)).toEqual([]);
    expect(await ovn.trace(SWITCH, fromYellow('103.103.0.3'), ...begins)).toEqual([]);
    expect(
      await last(
        SWITCH,
        fromYellow('105.105.0.4').replace('0a:58:69:69:00:01', '0a:58:69:69:00:04'),
      ),
    ).toBe('output("yellow.yellow.net_yellow_far");');
  });

  test('a service of one is reached from the other where services are connected, and only there', async () => {
    const web: Zone = {
      ...connected,
      services: [
        {
          key: 'blue/web',
          namespace: 'blue',
          name: 'web',
          clusterIps: ['10.96.1.1'],
          externalIps: [],
          poolIps: [],
          ports: [{ name: '', protocol: 'TCP', port: 80 }],
          isExternallyLocal: false,
          isInternallyLocal: false,
          takesUnready: false,
          isLoadBalancer: false,
          isExposed: false,
        },
      ],
      endpointSlices: [
        {
          name: 'blue/web-1',
          age: 'web-1',
          network: 'blue_blue',
          service: 'blue/web',
          ports: [{ name: '', protocol: 'TCP', port: 8080 }],
          endpoints: [{ addresses: ['103.103.0.3'], node: 'ovn-worker', state: 'ready' }],
        },
      ],
    };
    const begins = ['--ct=new', '--ct=new', '--ct=new', '--ct=new'];
    const toService = fromYellow('10.96.1.1').replace('icmp4', 'tcp && tcp.dst==80');
    const output = async (zone: Zone): Promise<string | undefined> => {
      expect(await ovn.apply(zone)).toEqual([]);
      return (await ovn.trace(SWITCH, toService, ...begins)).at(-1);
    };
    const reached = 'output("blue.blue_blue_pod1");';
    const services = { ...mixed, hasServices: true };
    expect(await output({ ...web, connects: [services] })).toBe(reached);
    expect(await output({ ...web, connects: [{ ...services, hasPods: false }] })).toBe(reached);
    expect(await output(web)).not.toBe(reached);
    // Traffic policies change which endpoints there are, not whether the service is shared.
    for (const policy of [{ isInternallyLocal: true }, { isExternallyLocal: true }]) {
      const local = { ...web, services: web.services?.map((one) => ({ ...one, ...policy })) ?? [] };
      const connects = [{ ...services, hasPods: false }];
      expect(await output({ ...local, connects }), JSON.stringify(policy)).toBe(reached);
    }
  });

  test('networks with the same subnets share services over the external bridge: between the same two addresses, and nothing else', async () => {
    const twin: ZoneNetwork = {
      ...red,
      subnets: blue.subnets,
      nodeSubnets: new Map([['ovn-worker', ['103.103.0.0/24']]]),
    };
    const twinPod = { ...bluePod, namespace: 'red', network: twin.name, nadKey: 'red/red' };
    const twins: Zone = withServices(
      {
        ...connected,
        networks: [defaultNetwork, blue, twin],
        attachments: [bluePod, twinPod],
        remoteAttachments: [],
        connects: [{ ...sharing, bridged: [blue.id, twin.id] }],
      },
      service('red/web', { clusterIPs: ['10.96.2.2'] }),
      slice('red/web', ['103.103.0.3 on ovn-worker'], { network: 'red_red' }),
    );
    expect(await ovn.apply(twins)).toEqual([]);
    const begins = ['--ct=new', '--ct=new', '--ct=new', '--ct=new'];
    const asked = fromBlue('10.96.2.2').replace('icmp4', 'tcp && tcp.dst==80');
    const leaves = async (): Promise<string | undefined> =>
      (await ovn.trace('blue_blue_ovn-worker', asked, ...begins)).at(-1);
    expect(await leaves()).toBe('output("breth0_blue_blue_ovn-worker");');
    // What the bridge hands over there comes with the address of blue's gateway router.
    const handed = (to: string): string =>
      `inport=="breth0_red_red_ovn-worker" && eth.src==0a:58:ac:12:00:03 && eth.dst==0a:58:ac:12:00:03 && ip4.src==169.254.0.11 && ip.ttl==60 && ip4.dst==${to} && tcp && tcp.dst==80`;
    const arrives = async (to: string): Promise<string | undefined> =>
      (await ovn.trace('ext_red_red_ovn-worker', handed(to), ...begins)).at(-1);
    expect(await arrives('10.96.2.2')).toBe('output("red.red_red_pod1");');
    expect(await ovn.nbctl('lr-list')).not.toContain('connect_router_');
    const policies = 'priority=9000';
    expect(
      await ovn.nbctl('--bare', '--columns=nexthops', 'find', 'Logical_Router_Policy', policies),
    ).toBe('100.65.0.2\n');
    expect(await ovn.apply({ ...twins, connects: [] })).toEqual([]);
    expect(
      await ovn.nbctl('--bare', '--columns=_uuid', 'find', 'Logical_Router_Policy', policies),
    ).toBe('');
    expect(await ovn.apply(connected)).toEqual([]);
  });

  test('after its end nothing of it is left, and the networks are apart', async () => {
    expect(await ovn.apply({ ...connected, connects: [] })).toEqual([]);
    const ids = 'external_ids:k8s.ovn.org/owner-type=ClusterNetworkConnect';
    for (const table of [
      'Logical_Router',
      'Logical_Router_Port',
      'Logical_Router_Policy',
      'Logical_Router_Static_Route',
      'ACL',
      'Address_Set',
    ])
      expect(await ovn.nbctl('--bare', '--columns=_uuid', 'find', table, ids), table).toBe('');
    expect(await last('blue_blue_ovn-worker', fromBlue('105.105.0.3'))).toBe(
      'output("breth0_blue_blue_ovn-worker");',
    );
  });
});
