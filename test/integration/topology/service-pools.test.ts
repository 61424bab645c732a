/** Addresses of a network's pool for services, on ovn-northd: who reaches them, and what becomes of the rest. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { EndpointSlice, Service } from '../../../src/api/types.ts';
import type { Attachment } from '../../../src/model/model.ts';
import { OvnZone } from '../../support/zone/ovn-zone.ts';
import { service, slice } from '../../support/zone/services.ts';
import { withServices } from '../../support/zone/services.ts';
import {
  blue,
  bluePod,
  colored,
  defaultNetwork,
  dualYellow,
  dualZone,
  farYellowPod,
  networkName,
  yellowPod,
  type Zone,
  type ZoneNetwork,
} from '../../support/zone/zones.ts';

const YELLOW = 'cluster_udn_yellow.net_ovn_layer2_switch';
const OUTSIDE = '192.0.2.1';
/** Of a service with one endpoint. */
const ALONE = '192.0.2.3';
const INSIDE = '105.105.255.9';
const INSIDE_V6 = 'fd20:105::ff09';

const pooledBlue: ZoneNetwork = { ...blue, servicePool: '192.0.2.0/28' };
const yellow: ZoneNetwork = {
  ...dualYellow,
  infrastructureSubnets: ['105.105.255.0/24', 'fd20:105::ff00/120'],
  defaultGatewayIPs: ['105.105.255.1', 'fd20:105::ff01'],
  servicePool: '105.105.255.0/25, fd20:105::ff00/121',
};
/** Has the same pool as blue. */
const red: ZoneNetwork = {
  ...pooledBlue,
  name: networkName('red_red'),
  id: 7,
  subnets: [{ cidr: '107.107.0.0/16', hostLength: 24 }],
  nads: ['red/red'],
  namespaces: ['red'],
  masquerade: { v4: { gatewayRouter: '169.254.0.23', managementPort: '169.254.0.24' } },
  object: 'UserDefinedNetwork red/red',
  nodeSubnets: new Map([['ovn-worker', ['107.107.0.0/24']]]),
};
const redPod: Attachment = {
  ...bluePod,
  namespace: 'red',
  network: red.name,
  nadKey: 'red/red',
  macAddress: '0a:58:6b:6b:00:03',
  addresses: ['107.107.0.3/24'],
};
const dualYellowPod: Attachment = {
  ...yellowPod,
  addresses: ['105.105.0.3/16', 'fd20:105::3/64'],
};

const pooled = (
  key: string,
  clusterIPs: readonly string[],
  addresses: readonly string[],
  spec: object = {},
): Service =>
  service(
    key,
    {
      type: 'LoadBalancer',
      loadBalancerClass: 'k8s.ovn.org/udn-loadbalancer',
      clusterIPs,
      ...spec,
    },
    { loadBalancer: { ingress: addresses.map((ip) => ({ ip, ipMode: 'VIP' })) } },
  );
const ofBlue = slice('blue/web', ['103.103.0.3 on ovn-worker', '103.103.1.5 on ovn-worker2'], {
  network: blue.name,
});
const ofYellow = [
  slice('yellow/web', ['105.105.0.4 on ovn-worker2'], { network: yellow.name }),
  slice('yellow/web', ['fd20:105::4 on ovn-worker2'], { network: yellow.name, name: 'v6' }),
];

const zone: Zone = {
  ...dualZone,
  namespaces: [...dualZone.namespaces, 'yellow', 'red'],
  networks: [defaultNetwork, pooledBlue, yellow, red],
  attachments: [bluePod, dualYellowPod, redPod],
  remoteAttachments: [{ ...farYellowPod, addresses: ['105.105.0.4/16', 'fd20:105::4/64'] }],
};
const objects: readonly (Service | EndpointSlice)[] = [
  pooled('blue/web', ['10.96.1.1'], [OUTSIDE]),
  ofBlue,
  pooled('blue/alone', ['10.96.1.4'], [ALONE]),
  slice('blue/alone', ['103.103.0.3 on ovn-worker'], { network: blue.name }),
  pooled('yellow/web', ['10.96.1.2', 'fd00:10:96::1:2'], [INSIDE, INSIDE_V6]),
  ...ofYellow,
];
const served = withServices(zone, ...objects);

const mixed = {
  ...colored,
  hasPods: false,
  hasServices: true,
  members: [
    { networkId: blue.id, topology: 'layer3' as const, subnets: ['192.168.0.0/24'] },
    { networkId: yellow.id, topology: 'layer2' as const, subnets: ['192.168.1.0/31'] },
  ],
};

const tcp = (to: string, port: number): string => `ip4.dst==${to} && tcp && tcp.dst==${port}`;
const PODS = {
  blue: {
    at: 'blue_blue_ovn-worker',
    packet:
      'inport=="blue.blue_blue_pod1" && eth.src==0a:58:67:67:00:03 && eth.dst==0a:58:67:67:00:01 && ip4.src==103.103.0.3 && ip.ttl==64',
  },
  red: {
    at: 'red_red_ovn-worker',
    packet:
      'inport=="red.red_red_pod1" && eth.src==0a:58:6b:6b:00:03 && eth.dst==0a:58:6b:6b:00:01 && ip4.src==107.107.0.3 && ip.ttl==64',
  },
  yellow: {
    at: YELLOW,
    packet:
      'inport=="yellow.yellow.net_yellow_pod2" && eth.src==0a:58:69:69:00:03 && eth.dst==0a:58:69:69:ff:01 && ip4.src==105.105.0.3 && ip.ttl==64',
  },
};
const NEW = ['--ct=new', '--ct=new', '--ct=new', '--ct=new'];
const FAR_YELLOW = 'output("yellow.yellow.net_yellow_far");';

describe("ovn-northd and addresses of networks' pools", () => {
  let ovn: OvnZone;
  const from = async (
    pod: keyof typeof PODS,
    to: string,
    port = 80,
    ...options: readonly string[]
  ): Promise<string | undefined> =>
    (
      await ovn.trace(PODS[pod].at, `${PODS[pod].packet} && ${tcp(to, port)}`, ...NEW, ...options)
    ).findLast((line) => line.startsWith('output'));
  const asked = async (packet: string): Promise<readonly string[]> =>
    (
      await ovn.trace(
        YELLOW,
        `inport=="yellow.yellow.net_yellow_pod2" && eth.src==0a:58:69:69:00:03 && ${packet}`,
      )
    ).filter((line) => line.includes('yellow.net_yellow_pod2'));

  beforeAll(async () => {
    ovn = await OvnZone.start();
    expect(await ovn.apply(served)).toEqual([]);
  });
  afterAll(async () => {
    await ovn[Symbol.asyncDispose]();
  });

  test('what northd writes causes no change of ours', () => {
    expect(ovn.planOf(served, 'Northbound')).toMatchObject({ isEmpty: true, problems: [] });
  });

  test('a pod of the network reaches an endpoint by it, a pod of a network with the same pool does not', async () => {
    expect(await from('blue', OUTSIDE, 80, '--lb-dst=103.103.1.5:8080')).toBe(
      'output("blue_blue_tstor-ovn-worker2");',
    );
    // To the world, as for any address that nobody has.
    expect(await from('red', OUTSIDE)).toBe('output("breth0_red_red_ovn-worker");');
    expect(await from('yellow', INSIDE)).toBe(FAR_YELLOW);
    expect(await from('blue', INSIDE)).toBe('output("breth0_blue_blue_ovn-worker");');
    const own = withServices(
      zone,
      ...objects,
      pooled('red/web', ['10.96.1.3'], [OUTSIDE]),
      slice('red/web', ['107.107.0.3 on ovn-worker'], { network: red.name }),
    );
    expect(await ovn.apply(own)).toEqual([]);
    expect(await from('red', OUTSIDE)).toBe('output("red.red_red_pod1");');
    expect(await from('blue', OUTSIDE, 80, '--lb-dst=103.103.0.3:8080')).toBe(
      'output("blue.blue_blue_pod1");',
    );
    expect(await ovn.apply(served)).toEqual([]);
  });

  test('what is sent to a port that the service does not have stays in the network', async () => {
    expect(await from('blue', OUTSIDE, 81)).toBeUndefined();
    expect(await from('yellow', INSIDE, 81)).toBeUndefined();
    // An address of the pool that no service has is as any other.
    expect(await from('blue', '192.0.2.2')).toBe('output("breth0_blue_blue_ovn-worker");');
  });

  test('neighbours that ask for an address in the subnet are answered, by ARP and ND, and for no other address', async () => {
    const arp = (to: string): string =>
      `eth.dst==ff:ff:ff:ff:ff:ff && arp.op==1 && arp.sha==0a:58:69:69:00:03 && arp.spa==105.105.0.3 && arp.tpa==${to}`;
    expect(await asked(arp(INSIDE))).toEqual(['output("yellow.yellow.net_yellow_pod2");']);
    expect(await asked(arp('105.105.255.10'))).toEqual([]);
    // With the address of the router, to which what comes then is sent; ovn-trace can't follow an answer to ND.
    const flows = (await ovn.sbctl('lflow-list', YELLOW)).split('\n');
    const answers = (asked: string, reply: string): readonly string[] =>
      flows.filter(
        (flow) => flow.includes('ls_in_arp_rsp') && flow.includes(asked) && flow.includes(reply),
      );
    expect(answers(INSIDE, 'eth.src = 0a:58:69:69:ff:01; arp.op = 2')).toHaveLength(1);
    expect(answers(INSIDE_V6, 'nd_na_router { eth.src = 0a:58:69:69:ff:01')).toHaveLength(1);
    expect(answers('fd20:105::ff0a', 'nd_na')).toEqual([]);
  });

  test('connected networks reach it where services are connected, and only there; other ports stay closed', async () => {
    expect(await ovn.apply({ ...served, connects: [mixed] })).toEqual([]);
    expect(await from('blue', INSIDE)).toBe(FAR_YELLOW);
    expect(await from('yellow', ALONE)).toBe('output("blue.blue_blue_pod1");');
    expect(await from('red', INSIDE)).toBe('output("breth0_red_red_ovn-worker");');
    expect(await from('blue', INSIDE, 81)).toBeUndefined();
    // Pods of the other network, and addresses of its pool that no service has, are no services.
    expect(await from('blue', '105.105.0.4')).toBeUndefined();
    expect(await from('blue', '105.105.255.10')).toBeUndefined();
    expect(
      await ovn.apply({ ...served, connects: [{ ...mixed, hasPods: true, hasServices: false }] }),
    ).toEqual([]);
    expect(await from('blue', INSIDE)).toBeUndefined();
    expect(await ovn.apply(served)).toEqual([]);
  });

  test('policies of the service for traffic from inside and outside are not about it', async () => {
    for (const policy of [{ internalTrafficPolicy: 'Local' }, { externalTrafficPolicy: 'Local' }]) {
      const local = withServices(
        zone,
        pooled('yellow/web', ['10.96.1.2', 'fd00:10:96::1:2'], [INSIDE, INSIDE_V6], policy),
        ...ofYellow,
      );
      expect(await ovn.apply({ ...local, connects: [mixed] })).toEqual([]);
      expect(await from('yellow', INSIDE), JSON.stringify(policy)).toBe(FAR_YELLOW);
      expect(await from('blue', INSIDE), JSON.stringify(policy)).toBe(FAR_YELLOW);
    }
  });

  test('clients stay with an endpoint where the service says so', async () => {
    const affine = withServices(
      zone,
      pooled('blue/web', ['10.96.1.1'], [OUTSIDE], {
        sessionAffinity: 'ClientIP',
        sessionAffinityConfig: { clientIP: { timeoutSeconds: 60 } },
      }),
      ofBlue,
    );
    expect(await ovn.apply(affine)).toEqual([]);
    const learnt = (await ovn.sbctl('lflow-list', 'blue_blue_ovn-worker'))
      .split('\n')
      .filter((flow) => flow.includes('commit_lb_aff') && flow.includes(`reg4 == ${OUTSIDE} `));
    expect(learnt).toHaveLength(2);
    for (const flow of learnt) expect(flow).toContain('timeout = 60');
  });

  test('nothing of it remains when the services are gone', async () => {
    expect(await ovn.apply(zone)).toEqual([]);
    expect(await ovn.nbctl('--bare', '--columns=name', 'list', 'Load_Balancer')).not.toContain(
      'pool',
    );
    expect(
      await ovn.nbctl('--bare', 'find', 'Logical_Router_Static_Route', 'nexthop=discard'),
    ).toBe('');
    expect(
      await ovn.nbctl('--bare', '--columns=options', 'list', 'Logical_Switch_Port'),
    ).not.toContain(INSIDE);
  });
});
