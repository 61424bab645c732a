/** Egress objects of namespaces whose networks have one subnet and share services over the external bridge, with packets: what goes to the services is none of theirs, what goes outside is, and answers of both come back. */
import { rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { probe, type Endpoint } from '../../src/lab/connectivity.ts';
import { outputInside } from '../../src/lab/exec.ts';
import { SERVER_PORT } from '../../src/lab/pods.ts';
import {
  clusterIps,
  connect,
  DATAGRAM_PORT,
  MEMBERS,
  objectsOf,
  serviceOf,
  TWINS,
} from '../support/lab/connected-tenants.ts';
import { labelNodes } from '../support/lab/egress-nodes.ts';
import { testLab, whyNoLab, type TestLab } from '../support/lab/lab.ts';
import { marksOf, type MarkedWay } from '../support/lab/marked-packets.ts';
import { nodeAddresses } from '../support/lab/matrix-tenants.ts';
import { manifestsText } from '../support/lab/network-spaces.ts';
import { addHops, BEYOND, HOPS } from '../support/lab/next-hops.ts';
import { Tenants } from '../support/lab/tenants.ts';
import { ownFolder } from '../support/run/left-behind.ts';

const SOON = { timeout: 60_000, interval: 300 };
const SECONDS = 3;
const FAMILIES = ['v4', 'v6'] as const;
type Family = (typeof FAMILIES)[number];

/** A network of each topology, and its twin: both with their pods on the same nodes, with the same addresses. */
const SHARING = [
  ...MEMBERS.filter(({ name }) => TWINS.some(({ twinOf }) => twinOf === name)),
  ...TWINS,
];
const NAMES = SHARING.map(({ name }) => name);
const NODES = ['n1', 'n2', 'n3'] as const;
/** Client and server of a service are on two of three nodes: these have egress addresses. */
const EGRESS_NODES = ['n2', 'n3'];
const EGRESS = { v4: '172.18.0.60', v6: 'fd00:172:18::60' } as const;
const inNamespaces = {
  matchExpressions: [{ key: 'tenant', operator: 'In', values: NAMES }],
};
const egressIp = {
  apiVersion: 'k8s.ovn.org/v1',
  kind: 'EgressIP',
  metadata: { name: 'overlapping' },
  spec: { egressIPs: Object.values(EGRESS), namespaceSelector: inNamespaces },
};
const externalRoute = {
  apiVersion: 'k8s.ovn.org/v1',
  kind: 'AdminPolicyBasedExternalRoute',
  metadata: { name: 'overlapping' },
  spec: {
    from: { namespaceSelector: inNamespaces },
    nextHops: { static: Object.values(HOPS.hop1).map((ip) => ({ ip })) },
  },
};

const LEAVES_BY = 'n2';
const loadBalancer = (name: string, family: Family): string => {
  const { number = 0 } = SHARING.find((tenant) => tenant.name === name) ?? {};
  return `${family === 'v4' ? '172.18.0.1' : 'fd00:172:18::1'}${number}`;
};
const egressServices = NAMES.map((namespace) => ({
  apiVersion: 'k8s.ovn.org/v1',
  kind: 'EgressService',
  metadata: { namespace, name: 'web' },
  spec: {
    sourceIPBy: 'LoadBalancerIP',
    nodeSelector: { matchLabels: { 'kubernetes.io/hostname': LEAVES_BY } },
  },
}));
const loadBalanced = SHARING.flatMap((tenant) =>
  objectsOf(
    tenant,
    serviceOf(
      tenant,
      { type: 'LoadBalancer', externalTrafficPolicy: 'Cluster', selector: { app: 'web' } },
      FAMILIES.map((family) => loadBalancer(tenant.name, family)),
    ),
  ),
);
/** Without load balancers. */
const plain = SHARING.flatMap((tenant) => objectsOf(tenant));

const EVERYTHING = ['0.0.0.0/0', '::/0'];
const SERVICES = ['172.16.1.0/24', 'fd00:10:96::/112'];
const rules = (type: 'Allow' | 'Deny', ranges: readonly string[]): readonly object[] =>
  ranges.map((cidrSelector) => ({ type, to: { cidrSelector } }));
const firewalls = (names: readonly string[], egress: readonly object[]): readonly object[] =>
  names.map((namespace) => ({
    apiVersion: 'k8s.ovn.org/v1',
    kind: 'EgressFirewall',
    metadata: { namespace, name: 'default' },
    spec: { egress },
  }));

const MARKS = { outside: 20, services: 30 } as const;
const egressQos = NAMES.map((namespace) => ({
  apiVersion: 'k8s.ovn.org/v1',
  kind: 'EgressQoS',
  metadata: { namespace, name: 'default' },
  spec: {
    egress: [
      ...Object.values(BEYOND).map((address) => ({
        dscp: MARKS.outside,
        dstCIDR: `${address}/${address.includes(':') ? 128 : 32}`,
      })),
      ...SERVICES.map((dstCIDR) => ({ dscp: MARKS.services, dstCIDR })),
    ],
  },
}));
const networkQos = NAMES.map((namespace) => ({
  apiVersion: 'k8s.ovn.org/v1alpha1',
  kind: 'NetworkQoS',
  metadata: { namespace, name: 'gold' },
  spec: {
    priority: 5,
    egress: [
      {
        dscp: MARKS.outside,
        classifier: {
          to: Object.values(BEYOND).map((address) => ({
            ipBlock: { cidr: `${address}/${address.includes(':') ? 128 : 32}` },
          })),
        },
      },
      { dscp: MARKS.services, classifier: { to: SERVICES.map((cidr) => ({ ipBlock: { cidr } })) } },
    ],
  },
}));

describe.skipIf(whyNoLab !== undefined).each(['shared', 'local'])(
  `egress of networks that overlap and share services, in %s gateway mode${whyNoLab === undefined ? '' : ` (${whyNoLab})`}`,
  (mode) => {
    const folder = ownFolder(`heddle-connect-egress-${mode}`);
    let lab: TestLab;
    let tenants: Tenants;
    let ends: readonly Endpoint[];
    const tenantOf = (pod: string): string => pod.split('/')[0] ?? '';
    const write = (file: string, ...objects: readonly object[]): void =>
      writeFileSync(join(tenants.manifests, file), manifestsText(objects));
    const inOutside = (...words: readonly string[]): Promise<string> =>
      outputInside(lab.record, ['ip', 'netns', 'exec', 'ext', ...words]);

    /** Who is reached at the services' addresses, from every pod: `routed/client rerouted v6: rerouted/server`. */
    const atServices = async (): Promise<readonly string[]> => {
      const ways = ends.flatMap((from) =>
        SHARING.flatMap((to) =>
          clusterIps(to).map((address, n) => ({ from, to: to.name, address, n })),
        ),
      );
      const results = await probe(
        lab.record,
        ways.map(({ from, address }) => ({
          from: from.namespace,
          to: address,
          port: 80,
          ping: false,
        })),
        SECONDS,
      );
      return ways.map(
        ({ from, to, n }, index) =>
          `${from.pod} ${to} ${FAMILIES[n] ?? ''}: ${results[index]?.answer?.server ?? 'nobody'}`,
      );
    };
    const expectedAtServices = (isOpen: (from: string, to: string) => boolean): readonly string[] =>
      ends.flatMap(({ pod }) =>
        NAMES.flatMap((name) =>
          FAMILIES.map(
            (family) =>
              `${pod} ${name} ${family}: ${isOpen(tenantOf(pod), name) ? `${name}/server` : 'nobody'}`,
          ),
        ),
      );
    const allShared = (): readonly string[] => expectedAtServices(() => true);

    /** Who answers beyond, and as whom it saw the pod: `routed/client v4: ext 172.18.0.60`. */
    const beyond = async (): Promise<readonly string[]> => {
      const ways = ends.flatMap((from) => FAMILIES.map((family) => ({ from, family })));
      const results = await probe(
        lab.record,
        ways.map(({ from, family }) => ({
          from: from.namespace,
          to: BEYOND[family],
          port: SERVER_PORT,
          ping: false,
        })),
        SECONDS,
      );
      return ways.map(({ from, family }, index) => {
        const { server, peer } = results[index]?.answer ?? {};
        return `${from.pod} ${family}: ${server === undefined ? 'nobody' : `${server} ${peer}`}`;
      });
    };
    const expectedBeyond = (seen: (end: Endpoint, family: Family) => string): readonly string[] =>
      ends.flatMap((end) => FAMILIES.map((family) => `${end.pod} ${family}: ${seen(end, family)}`));
    const nobodyBeyond = (): readonly string[] => expectedBeyond(() => 'nobody');

    /** Marks with which datagrams of clients arrive: beyond, and at servers of the others by their services. */
    const marks = async (): Promise<readonly (number | null)[]> => {
      const clients = ends.filter(({ pod }) => pod.endsWith('/client'));
      const outside = clients.flatMap(({ namespace }) =>
        FAMILIES.map((family): MarkedWay => ({
          from: namespace,
          at: 'ext',
          to: BEYOND[family],
          port: DATAGRAM_PORT,
        })),
      );
      const toServices = clients.flatMap((client) =>
        SHARING.filter(({ name }) => name !== tenantOf(client.pod)).flatMap((tenant) =>
          clusterIps(tenant).map((to): MarkedWay => ({
            from: client.namespace,
            at: ends.find(({ pod }) => pod === `${tenant.name}/server`)?.namespace ?? '',
            to,
            port: DATAGRAM_PORT,
          })),
        ),
      );
      return marksOf(lab.record, [...outside, ...toServices], SECONDS);
    };
    const expectedMarks = (outside: number, services: number): readonly number[] => [
      ...NAMES.flatMap(() => FAMILIES.map(() => outside)),
      ...NAMES.flatMap(() => NAMES.slice(1).flatMap(() => FAMILIES.map(() => services))),
    ];

    beforeAll(async () => {
      writeFileSync(join(folder, 'tenants.yaml'), manifestsText(plain));
      lab = await testLab(`e2e-connect-egress-${mode}`, { families: 'dual' });
      tenants = new Tenants(lab.record, {
        folder,
        // A node of a busy machine is silent for longer than the default of a second, and would lose its addresses.
        daemonArguments: [`--gateway-mode=${mode}`, '--egressip-reachability-total-timeout=5'],
      });
      await tenants.start();
      await addHops(lab.record, []);
      labelNodes(lab.record, { 'k8s.ovn.org/egress-assignable': '' }, EGRESS_NODES);
      ends = await tenants.endpoints();
      write('connect.yaml', connect(['ClusterIPServiceNetwork'], { shares: 'true' }));
    }, 180_000);
    afterAll(async () => {
      rmSync(folder, { recursive: true });
      await lab[Symbol.asyncDispose]();
    });
    afterEach(() => {
      for (const file of ['egress.yaml', 'more.yaml'])
        rmSync(join(tenants.manifests, file), { force: true });
    });

    test('without any, pods reach each other by services, also those of one address', async () => {
      expect(ends).toHaveLength(8);
      await expect.poll(atServices, SOON).toEqual(allShared());
    });

    test('EgressIP', async () => {
      write('egress.yaml', egressIp);
      await expect
        .poll(beyond, SOON)
        .toEqual(expectedBeyond((_end, family) => `ext ${EGRESS[family]}`));
      await expect.poll(atServices, SOON).toEqual(allShared());
    });

    test('EgressService', async () => {
      // As who announces the addresses from there.
      for (const { name } of SHARING)
        for (const [index, family] of FAMILIES.entries())
          await inOutside(
            'ip',
            'route',
            'replace',
            loadBalancer(name, family),
            'via',
            nodeAddresses(LEAVES_BY)[index] ?? '',
            'dev',
            'eth0',
          );
      write('tenants.yaml', ...loadBalanced);
      write('egress.yaml', ...egressServices);
      await expect
        .poll(beyond, SOON)
        .toEqual(expectedBeyond(({ pod }, family) => `ext ${loadBalancer(tenantOf(pod), family)}`));
      await expect.poll(atServices, SOON).toEqual(allShared());
      write('tenants.yaml', ...plain);
    });

    test('AdminPolicyBasedExternalRoute', async () => {
      write('egress.yaml', externalRoute);
      await expect
        .poll(beyond, SOON)
        .toEqual(
          expectedBeyond(
            ({ node }, family) =>
              `hop1 ${nodeAddresses(node as (typeof NODES)[number])[FAMILIES.indexOf(family)] ?? ''}`,
          ),
        );
      await expect.poll(atServices, SOON).toEqual(allShared());
    });

    test('EgressFirewall: services of others are outside for who sends, and answers are not asked', async () => {
      write('more.yaml', egressIp);
      const denied = TWINS.map(({ name }) => name);
      write('egress.yaml', ...firewalls(denied, rules('Deny', EVERYTHING)));
      await expect
        .poll(beyond, SOON)
        .toEqual(
          expectedBeyond(({ pod }, family) =>
            denied.includes(tenantOf(pod)) ? 'nobody' : `ext ${EGRESS[family]}`,
          ),
        );
      await expect
        .poll(atServices, SOON)
        .toEqual(expectedAtServices((from, to) => from === to || !denied.includes(from)));

      const allowing = [...rules('Allow', SERVICES), ...rules('Deny', EVERYTHING)];
      write('egress.yaml', ...firewalls(NAMES, allowing));
      await expect.poll(beyond, SOON).toEqual(nobodyBeyond());
      await expect.poll(atServices, SOON).toEqual(allShared());
    });

    test.each([
      ['EgressQoS', egressQos],
      ['NetworkQoS', networkQos],
    ])(
      '%s: a rule is about what it names, the cluster IP of a service, too',
      async (_kind, qos) => {
        write('more.yaml', egressIp);
        await expect.poll(marks, SOON).toEqual(expectedMarks(0, 0));
        write('egress.yaml', ...qos);
        await expect.poll(marks, SOON).toEqual(expectedMarks(MARKS.outside, MARKS.services));
        await expect.poll(atServices, SOON).toEqual(allShared());
      },
    );

    test('a firewall that allows everything opens no service of a network that is connected no more', async () => {
      write('egress.yaml', ...firewalls(NAMES, rules('Allow', EVERYTHING)));
      rmSync(join(tenants.manifests, 'connect.yaml'));
      await expect.poll(atServices, SOON).toEqual(expectedAtServices((from, to) => from === to));
    });
  },
);
