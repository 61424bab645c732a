import { rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { stringify } from 'yaml';
import { probe, type Endpoint } from '../../src/lab/connectivity.ts';
import { startDaemons } from '../../src/lab/daemons.ts';
import { SERVER_PORT } from '../../src/lab/pods.ts';
import { stopDaemon } from '../support/lab/lab-daemons.ts';
import { testLab, whyNoLab, type TestLab } from '../support/lab/lab.ts';
import { said } from '../support/lab/explained-packets.ts';
import { ownFolder } from '../support/run/left-behind.ts';
import { Tenants } from '../support/lab/tenants.ts';

/** Limits of waits for a condition; how long it takes is not what is tested here. */
const SOON = { timeout: 60_000, interval: 300 };

interface Tenant {
  /** Of the namespace, the network, and its label. */
  readonly name: string;
  readonly topology: 'Layer2' | 'Layer3';
  /** Last byte of its cluster IPs. */
  readonly number: number;
  /** Second byte of its ranges, and where its pods are; its number and place among the tenants where it is nobody's twin. */
  readonly twinOf?: string;
}
/** Two of each topology that are connected, and one that is not. */
const MEMBERS: readonly Tenant[] = [
  { name: 'routed', topology: 'Layer3', number: 31 },
  { name: 'ways', topology: 'Layer3', number: 32 },
  { name: 'flat', topology: 'Layer2', number: 33 },
  { name: 'plain', topology: 'Layer2', number: 34 },
];
const APART: Tenant = { name: 'apart', topology: 'Layer3', number: 35 };
/** With the ranges of a member of each topology, and pods on the same nodes: with one and the same address. */
const TWINS: readonly Tenant[] = [
  { name: 'rerouted', topology: 'Layer3', number: 36, twinOf: 'routed' },
  { name: 'flattened', topology: 'Layer2', number: 37, twinOf: 'flat' },
];
/** Members that nobody overlaps. */
const LINKED = MEMBERS.map(({ name }) => name).filter((name) =>
  TWINS.every(({ twinOf }) => twinOf !== name),
);
const TENANTS = [...MEMBERS, APART, ...TWINS];

const originalOf = (tenant: Tenant): Tenant =>
  TENANTS.find(({ name }) => name === tenant.twinOf) ?? tenant;

const subnets = (tenant: Tenant): unknown[] => {
  const { topology, number } = originalOf(tenant);
  return topology === 'Layer2'
    ? [`10.${number}.0.0/16`, `fd${number}::/64`]
    : [
        { cidr: `10.${number}.0.0/16`, hostSubnet: 24 },
        { cidr: `fd${number}::/48`, hostSubnet: 64 },
      ];
};
const clusterIps = ({ number }: Tenant): [string, string] => [
  `172.16.1.${number}`,
  `fd00:10:96::${number}`,
];

/** A namespace with its network, a pod on each of two nodes, and a service in front of the second one. */
const objectsOf = (tenant: Tenant): object[] => {
  const { name, topology } = tenant;
  const index = TENANTS.indexOf(originalOf(tenant));
  const nodes = [`n${(index % 3) + 1}`, `n${((index + 1) % 3) + 1}`];
  const spec = { role: 'Primary', subnets: subnets(tenant) };
  const metadata = { name: 'web', namespace: name };
  return [
    {
      apiVersion: 'v1',
      kind: 'Namespace',
      metadata: { name, labels: { 'k8s.ovn.org/primary-user-defined-network': '', tenant: name } },
    },
    {
      apiVersion: 'k8s.ovn.org/v1',
      kind: 'ClusterUserDefinedNetwork',
      metadata: {
        name,
        labels: { meets: String(MEMBERS.includes(tenant)), shares: String(tenant !== APART) },
      },
      spec: {
        namespaceSelector: { matchLabels: { tenant: name } },
        network: { topology, [topology.toLowerCase()]: spec },
      },
    },
    ...nodes.map((nodeName, n) => ({
      apiVersion: 'v1',
      kind: 'Pod',
      metadata: { name: n === 0 ? 'client' : 'server', namespace: name },
      spec: { nodeName, containers: [{ name: 'web', image: 'web' }] },
    })),
    {
      apiVersion: 'v1',
      kind: 'Service',
      metadata,
      spec: {
        clusterIP: clusterIps(tenant)[0],
        clusterIPs: clusterIps(tenant),
        ipFamilies: ['IPv4', 'IPv6'],
        ipFamilyPolicy: 'RequireDualStack',
        ports: [{ port: 80, targetPort: SERVER_PORT, protocol: 'TCP' }],
      },
    },
    // As Kubernetes writes them: with addresses on the default network.
    ...(['IPv4', 'IPv6'] as const).map((addressType) => ({
      apiVersion: 'discovery.k8s.io/v1',
      kind: 'EndpointSlice',
      metadata: {
        name: `web-${addressType.toLowerCase()}`,
        namespace: name,
        labels: {
          'kubernetes.io/service-name': 'web',
          'endpointslice.kubernetes.io/managed-by': 'endpointslice-controller.k8s.io',
        },
      },
      addressType,
      ports: [{ name: '', port: SERVER_PORT, protocol: 'TCP' }],
      endpoints: [
        {
          addresses: [
            addressType === 'IPv4' ? `10.128.0.${tenant.number}` : `fd01::${tenant.number}`,
          ],
          nodeName: nodes[1],
          conditions: { ready: true },
          targetRef: { kind: 'Pod', namespace: name, name: 'server' },
        },
      ],
    })),
  ];
};

const connect = (
  connectivity: readonly string[],
  selected: Readonly<Record<string, string>> = { meets: 'true' },
): object => ({
  apiVersion: 'k8s.ovn.org/v1',
  kind: 'ClusterNetworkConnect',
  metadata: { name: 'meeting' },
  spec: {
    connectSubnets: [
      { cidr: '192.168.0.0/16', networkPrefix: 24 },
      { cidr: 'fd68::/112', networkPrefix: 120 },
    ],
    connectivity,
    networkSelectors: [
      {
        networkSelectionType: 'ClusterUserDefinedNetworks',
        clusterUserDefinedNetworkSelector: { networkSelector: { matchLabels: selected } },
      },
    ],
  },
});

/** Lets nobody in but from two of the connected networks, one of each topology. */
const POLICY = {
  apiVersion: 'networking.k8s.io/v1',
  kind: 'NetworkPolicy',
  metadata: { name: 'some', namespace: 'flat' },
  spec: {
    podSelector: {},
    policyTypes: ['Ingress'],
    ingress: [
      {
        from: ['routed', 'plain'].map((tenant) => ({
          namespaceSelector: { matchLabels: { tenant } },
        })),
      },
    ],
  },
};

/** Lets pods of a network send nothing but to the service of the network that has its ranges, too. */
const TO_TWIN = {
  apiVersion: 'networking.k8s.io/v1',
  kind: 'NetworkPolicy',
  metadata: { name: 'out', namespace: 'routed' },
  spec: {
    podSelector: {},
    policyTypes: ['Egress'],
    egress: TWINS.filter(({ twinOf }) => twinOf === 'routed').flatMap((twin) =>
      clusterIps(twin).map((address) => ({
        to: [{ ipBlock: { cidr: `${address}/${address.includes(':') ? 128 : 32}` } }],
      })),
    ),
  },
};

describe.skipIf(whyNoLab !== undefined)(
  `connections of Layer3 and Layer2 networks, with IPv4 and IPv6${whyNoLab === undefined ? '' : ` (${whyNoLab})`}`,
  () => {
    const folder = ownFolder('heddle-kinds');
    let lab: TestLab;
    let tenants: Tenants;
    let ends: readonly Endpoint[];
    const tenantOf = (pod: string): string => pod.split('/')[0] ?? '';
    const isMember = (name: string): boolean => MEMBERS.some((member) => member.name === name);
    const declare = (file: string, object: object): void =>
      writeFileSync(join(tenants.manifests, file), stringify(object));
    const withdraw = (file: string): void => rmSync(join(tenants.manifests, file), { force: true });

    /** Who is reached at the services' addresses, from every pod: `routed/client ways v6: ways/server`. */
    const atServices = async (): Promise<string[]> => {
      const ways = ends.flatMap((from) =>
        TENANTS.flatMap((to) =>
          clusterIps(to).map((address, n) => ({
            from,
            to: to.name,
            address,
            family: `v${n * 2 + 4}`,
          })),
        ),
      );
      const probes = ways.map(({ from, address }) => ({
        from: from.namespace,
        to: address,
        port: 80,
      }));
      const results = await probe(lab.record, probes, 5);
      return ways.map(
        ({ from, to, family }, n) =>
          `${from.pod} ${to} ${family}: ${results[n]?.answer?.server ?? 'nobody'}`,
      );
    };
    /** The same as it should be. */
    const expectedAtServices = (isOpen: (from: string, to: string) => boolean): string[] =>
      ends.flatMap(({ pod }) =>
        TENANTS.flatMap(({ name }) =>
          ['v4', 'v6'].map(
            (family) =>
              `${pod} ${name} ${family}: ${isOpen(tenantOf(pod), name) ? `${name}/server` : 'nobody'}`,
          ),
        ),
      );
    const isTwin = (name: string): boolean => TWINS.some((twin) => twin.name === name);
    const isOwn = (from: string, to: string): boolean => from === to;
    const isShared = (from: string, to: string): boolean =>
      from === to || (from !== APART.name && to !== APART.name);
    const isConnected = (from: string, to: string): boolean =>
      isOwn(from, to) || (isMember(from) && isMember(to));
    const podsAre = async (isOpen: (from: string, to: string) => boolean): Promise<string[]> =>
      tenants.unexpectedBy((from, to) => from === to || isOpen(tenantOf(from), tenantOf(to)), 5);

    beforeAll(async () => {
      writeFileSync(
        join(folder, 'tenants.yaml'),
        TENANTS.flatMap(objectsOf)
          .map((object) => stringify(object))
          .join('---\n'),
      );
      lab = await testLab('e2e-kinds', { families: 'dual' });
      tenants = new Tenants(lab.record, { folder });
      await tenants.start();
      ends = await tenants.endpoints();
    });
    afterAll(async () => {
      rmSync(folder, { recursive: true });
      await lab[Symbol.asyncDispose]();
    });

    afterEach(() => withdraw('policy.yaml'));

    test('before, each network is alone with its pods and its service', async () => {
      expect(ends).toHaveLength(14);
      expect(ends.every(({ addresses }) => addresses[1]?.includes(':'))).toBe(true);
      await expect.poll(() => podsAre(isOwn), SOON).toEqual([]);
      await expect.poll(atServices, SOON).toEqual(expectedAtServices(isOwn));
    });

    test('pods and services: every pair meets in both families, and nobody else', async () => {
      declare('connect.yaml', connect(['PodNetwork', 'ClusterIPServiceNetwork']));
      await expect.poll(() => podsAre(isConnected), SOON).toEqual([]);
      await expect.poll(atServices, SOON).toEqual(expectedAtServices(isConnected));
    });

    test('heddle explain follows it over the connection, from node to node, and the answer', async () => {
      // One of each topology sends.
      const clients = ends.filter(({ pod }) => ['routed/client', 'flat/client'].includes(pod));
      const rest = clients.flatMap((from) =>
        ends
          // Of two pods with one address it can't be told from outside which one is meant.
          .filter((to) => to !== from && !isTwin(tenantOf(to.pod)))
          .map((to) => ({ from, to })),
      );
      const wrong: string[] = [];
      const ask = async (): Promise<void> => {
        for (let one = rest.pop(); one !== undefined; one = rest.pop()) {
          const { from, to } = one;
          const asking = { from, destination: to.pod, port: SERVER_PORT, protocol: 'tcp' } as const;
          const { verdict, report } = await said(lab.record, asking);
          const isOpen = isConnected(tenantOf(from.pod), tenantOf(to.pod));
          if (verdict !== (isOpen ? 'reaches' : 'does not reach'))
            wrong.push(`${from.pod} → ${to.pod}: ${verdict}: ${report.why}`);
        }
      };
      await Promise.all([ask(), ask()]);
      expect(wrong).toEqual([]);
    });

    test('a policy lets in the connected networks that it names, in both families', async () => {
      declare('policy.yaml', POLICY);
      const isLetIn = (from: string, to: string): boolean =>
        to === 'flat' ? ['routed', 'plain'].includes(from) : isConnected(from, to);
      await expect.poll(() => podsAre(isLetIn), SOON).toEqual([]);
      withdraw('policy.yaml');
      await expect.poll(() => podsAre(isConnected), SOON).toEqual([]);
    });

    test('pods alone: services stay in their networks', async () => {
      declare('connect.yaml', connect(['PodNetwork']));
      await expect.poll(atServices, SOON).toEqual(expectedAtServices(isOwn));
      expect(await podsAre(isConnected)).toEqual([]);
    });

    test('services alone: pods stay in their networks', async () => {
      declare('connect.yaml', connect(['ClusterIPServiceNetwork']));
      await expect.poll(() => podsAre(isOwn), SOON).toEqual([]);
      await expect.poll(atServices, SOON).toEqual(expectedAtServices(isConnected));
    });

    test('networks that overlap share services, also between pods of one address, and pods stay apart', async () => {
      const at = (pod: string): readonly string[] =>
        ends.find((end) => end.pod === pod)?.addresses ?? [];
      for (const { name, twinOf } of TWINS)
        for (const pod of ['client', 'server'])
          expect(at(`${name}/${pod}`)).toEqual(at(`${twinOf}/${pod}`));
      declare('connect.yaml', connect(['ClusterIPServiceNetwork'], { shares: 'true' }));
      await expect.poll(atServices, SOON).toEqual(expectedAtServices(isShared));
      expect(await podsAre(isOwn)).toEqual([]);
    });

    test('heddle explain follows such a way by the host, and the answer, and to another node as far as the tunnel', async () => {
      const clients = ends.filter(({ pod }) => ['routed/client', 'flattened/client'].includes(pod));
      const asked = clients.flatMap((from) =>
        TENANTS.filter(({ name }) => name !== tenantOf(from.pod)).map(({ name }) => ({
          from,
          name,
        })),
      );
      const wrong: string[] = [];
      for (const { from, name } of asked) {
        const asking = { from, destination: `svc/${name}/web`, port: 80, protocol: 'tcp' } as const;
        const { verdict, report } = await said(lab.record, asking);
        const server = ends.find(({ pod }) => pod === `${name}/server`);
        const isLinked = [tenantOf(from.pod), name].every((one) => LINKED.includes(one));
        const isWhole = server?.node === from.node || isLinked;
        const isRight = isShared(tenantOf(from.pod), name)
          ? report.passesHere === true && verdict === (isWhole ? 'reaches' : 'undecided')
          : verdict !== 'reaches';
        if (!isRight) wrong.push(`${from.pod} → ${name}: ${verdict}: ${report.why}`);
      }
      expect(wrong).toEqual([]);
    });

    test('policies of the client see the cluster IP of such a service', async () => {
      declare('policy.yaml', TO_TWIN);
      const isLetOut = (from: string, to: string): boolean =>
        from === 'routed' ? to === 'rerouted' : isShared(from, to);
      // Behind its own service a pod reaches itself, whatever policies say.
      const ofOthers = (ways: readonly string[]): string[] =>
        ways.filter((way) => !way.startsWith('routed/server routed '));
      await expect
        .poll(async () => ofOthers(await atServices()), SOON)
        .toEqual(ofOthers(expectedAtServices(isLetOut)));
      withdraw('policy.yaml');
      await expect.poll(atServices, SOON).toEqual(expectedAtServices(isShared));
    });

    test('so they do in local gateway mode', async () => {
      for (const node of ['n1', 'n2', 'n3']) await stopDaemon(lab.record, node);
      await startDaemons(lab.record, ['--gateway-mode=local']);
      await tenants.settle();
      await expect.poll(atServices, SOON).toEqual(expectedAtServices(isShared));
      expect(await podsAre(isOwn)).toEqual([]);
    });

    test('after its end each network is alone again, and nothing is left', async () => {
      withdraw('connect.yaml');
      await expect.poll(() => podsAre(isOwn), SOON).toEqual([]);
      await expect.poll(atServices, SOON).toEqual(expectedAtServices(isOwn));
      expect(await tenants.mentions('connect_router')).toEqual([]);
    });
  },
);
