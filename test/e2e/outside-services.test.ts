import { rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { stringify } from 'yaml';
import { probe } from '../../src/lab/connectivity.ts';
import { outputInside } from '../../src/lab/exec.ts';
import { OUTSIDE } from '../../src/lab/node-facts.ts';
import { SERVER_PORT } from '../../src/lab/pods.ts';
import { testLab, whyNoLab, type TestLab } from '../support/lab.ts';
import { ownFolder } from '../support/left-behind.ts';
import { Tenants } from '../support/tenants.ts';

/** Limits of waits for a condition; how long it takes is not what is tested here. */
const SOON = { timeout: 60_000, interval: 300 };

/** A namespace with a primary network of a topology, or on the cluster default network. */
interface Tenant {
  readonly name: string;
  readonly topology?: 'Layer2' | 'Layer3';
  /** Last number of its ports and addresses. */
  readonly number: number;
}
const TENANTS: readonly Tenant[] = [
  { name: 'open', number: 1 },
  { name: 'routed', topology: 'Layer3', number: 2 },
  { name: 'flat', topology: 'Layer2', number: 3 },
];
const NODES = ['n1', 'n2', 'n3'] as const;
type Node = (typeof NODES)[number];

const addressesOf = (node: Node): [string, string] => {
  const last = 10 + Number(node.slice(1));
  return [`172.18.0.${last}`, `fd00:172:18::${last}`];
};
const clusterIps = (number: number): string[] => [`172.16.1.${number}`, `fd00:10:96::${number}`];
const nodePort = ({ number }: Tenant): number => 30_080 + number;
const localPort = ({ number }: Tenant): number => 30_180 + number;
const healthPort = ({ number }: Tenant): number => 32_080 + number;
/** Of the load balancer; the outside host has a route to it by one node. */
const balanced = ({ number }: Tenant): string => `203.0.113.${number}`;

const network = ({ name, topology }: Tenant): object[] => {
  if (topology === undefined) return [];
  const subnets =
    topology === 'Layer2'
      ? ['10.20.0.0/16', 'fd20::/64']
      : [
          { cidr: '10.20.0.0/16', hostSubnet: 24 },
          { cidr: 'fd20::/48', hostSubnet: 64 },
        ];
  return [
    {
      apiVersion: 'k8s.ovn.org/v1',
      kind: 'UserDefinedNetwork',
      metadata: { name: 'net', namespace: name },
      spec: { topology, [topology.toLowerCase()]: { role: 'Primary', subnets } },
    },
  ];
};

/** Services in front of the pods: all of them at every node, and those of a node at that node. */
const services = (tenant: Tenant): object[] => {
  const spec = {
    ipFamilies: ['IPv4', 'IPv6'],
    ipFamilyPolicy: 'RequireDualStack',
  };
  const [all, local] = [clusterIps(tenant.number), clusterIps(tenant.number + 100)];
  const port = { port: 80, targetPort: SERVER_PORT, protocol: 'TCP' };
  return [
    {
      apiVersion: 'v1',
      kind: 'Service',
      metadata: { name: 'all', namespace: tenant.name },
      spec: {
        ...spec,
        type: 'NodePort',
        clusterIP: all[0],
        clusterIPs: all,
        ports: [{ ...port, nodePort: nodePort(tenant) }],
      },
    },
    {
      apiVersion: 'v1',
      kind: 'Service',
      metadata: { name: 'local', namespace: tenant.name },
      spec: {
        ...spec,
        type: 'LoadBalancer',
        externalTrafficPolicy: 'Local',
        healthCheckNodePort: healthPort(tenant),
        clusterIP: local[0],
        clusterIPs: local,
        ports: [{ ...port, nodePort: localPort(tenant) }],
      },
      status: { loadBalancer: { ingress: [{ ip: balanced(tenant) }] } },
    },
  ];
};

/** As Kubernetes writes them: with addresses on the default network. */
const slices = (tenant: Tenant, node: Node, addresses: readonly string[]): object[] =>
  ['all', 'local'].flatMap((service) =>
    (['IPv4', 'IPv6'] as const).map((addressType, n) => ({
      apiVersion: 'discovery.k8s.io/v1',
      kind: 'EndpointSlice',
      metadata: {
        name: `${service}-${addressType.toLowerCase()}`,
        namespace: tenant.name,
        labels: {
          'kubernetes.io/service-name': service,
          'endpointslice.kubernetes.io/managed-by': 'endpointslice-controller.k8s.io',
        },
      },
      addressType,
      ports: [{ name: '', port: SERVER_PORT, protocol: 'TCP' }],
      endpoints: [
        {
          addresses: [addresses[n]],
          nodeName: node,
          conditions: { ready: true },
          targetRef: { kind: 'Pod', namespace: tenant.name, name: `on-${node}` },
        },
      ],
    })),
  );

const manifest = (objects: readonly object[]): string =>
  objects.map((object) => stringify(object)).join('---\n');

describe.skipIf(whyNoLab !== undefined)(
  `services from outside, with IPv4 and IPv6${whyNoLab === undefined ? '' : ` (${whyNoLab})`}`,
  () => {
    const folder = ownFolder('heddle-outside');
    let lab: TestLab;
    let tenants: Tenants;

    /** Endpoints of every tenant's services are on this node. */
    const serveFrom = async (node: Node): Promise<void> => {
      const ends = await tenants.endpoints('default');
      const objects = TENANTS.flatMap((tenant) => {
        const pod = ends.find((end) => end.pod === `${tenant.name}/on-${node}`);
        if (pod === undefined) throw new Error(`${tenant.name} has no pod on ${node}`);
        return slices(tenant, node, pod.addresses);
      });
      writeFileSync(join(tenants.manifests, 'slices.yaml'), manifest(objects));
    };
    /** What the outside host gets: `routed 172.18.0.11: routed/on-n2`, and whom the server saw if that is asked for. */
    const fromOutside = async (
      port: (tenant: Tenant) => number,
      nodes: readonly Node[],
      { withPeer = false } = {},
    ): Promise<string[]> => {
      const ways = TENANTS.flatMap((tenant) =>
        nodes.flatMap((node) => addressesOf(node).map((address) => ({ tenant, address }))),
      );
      const results = await probe(
        lab.record,
        ways.map(({ tenant, address }) => ({ from: 'ext', to: address, port: port(tenant) })),
        4,
      );
      return ways.map(({ tenant, address }, n) => {
        const tcp = results[n]?.tcp;
        const peer = withPeer && tcp ? ` saw ${tcp.peer}` : '';
        return `${tenant.name} ${address}: ${tcp?.server ?? 'nobody'}${peer}`;
      });
    };
    const expected = (
      nodes: readonly Node[],
      server: string,
      peers?: readonly string[],
    ): string[] =>
      TENANTS.flatMap(({ name }) =>
        nodes.flatMap((node) =>
          addressesOf(node).map((address, n) => {
            const who = server === 'nobody' ? server : `${name}/${server}`;
            return `${name} ${address}: ${who}${peers === undefined ? '' : ` saw ${peers[n]}`}`;
          }),
        ),
      );
    /** Status and body that a load balancer gets from a node for each tenant. */
    const health = async (node: Node): Promise<string[]> => {
      const program = `
import json, sys, urllib.error, urllib.request
for port in sys.argv[2:]:
    try:
        with urllib.request.urlopen(f'http://{sys.argv[1]}:{port}/', timeout=3) as answer:
            print(answer.status, json.load(answer)['localEndpoints'])
    except urllib.error.HTTPError as error:
        print(error.code, json.load(error)['localEndpoints'])
    except OSError:
        print('nobody')
`;
      const ports = TENANTS.map((tenant) => String(healthPort(tenant)));
      const argv = ['ip', 'netns', 'exec', 'ext', 'python3', '-c', program];
      const text = await outputInside(lab.record, [...argv, addressesOf(node)[0], ...ports]);
      return text.trim().split('\n');
    };

    beforeAll(async () => {
      const namespaces = TENANTS.flatMap((tenant) => [
        {
          apiVersion: 'v1',
          kind: 'Namespace',
          metadata: {
            name: tenant.name,
            labels:
              tenant.topology === undefined
                ? {}
                : { 'k8s.ovn.org/primary-user-defined-network': '' },
          },
        },
        ...network(tenant),
        ...NODES.map((nodeName) => ({
          apiVersion: 'v1',
          kind: 'Pod',
          metadata: { name: `on-${nodeName}`, namespace: tenant.name },
          spec: { nodeName, containers: [{ name: 'web', image: 'web' }] },
        })),
      ]);
      writeFileSync(join(folder, 'tenants.yaml'), manifest(namespaces));
      lab = await testLab('e2e-outside', { families: 'dual' });
      tenants = new Tenants(lab.record, { folder });
      await tenants.start();
      const file = join(tenants.manifests, 'services.yaml');
      writeFileSync(file, manifest(TENANTS.flatMap(services)));
      await serveFrom('n2');
    });
    afterAll(async () => {
      rmSync(folder, { recursive: true });
      await lab[Symbol.asyncDispose]();
    });

    test('a node port is answered at every node, by a pod of its own network', async () => {
      await serveFrom('n2');
      await expect.poll(() => fromOutside(nodePort, NODES), SOON).toEqual(expected(NODES, 'on-n2'));
    });

    test('with a local policy only where the endpoint is, and the pod sees who asks', async () => {
      await serveFrom('n2');
      const outside = [OUTSIDE.v4, OUTSIDE.v6];
      await expect
        .poll(() => fromOutside(localPort, ['n2'], { withPeer: true }), SOON)
        .toEqual(expected(['n2'], 'on-n2', outside));
      expect(await fromOutside(localPort, ['n1', 'n3'])).toEqual(expected(['n1', 'n3'], 'nobody'));
    });

    test('load balancers learn on each node whether it has endpoints, also after they moved', async () => {
      await serveFrom('n2');
      const none = TENANTS.map(() => '503 0');
      const one = TENANTS.map(() => '200 1');
      await expect.poll(() => health('n2'), SOON).toEqual(one);
      expect(await health('n1')).toEqual(none);
      await serveFrom('n1');
      await expect.poll(() => health('n1'), SOON).toEqual(one);
      await expect.poll(() => health('n2'), SOON).toEqual(none);
      await expect
        .poll(() => fromOutside(localPort, ['n1']), SOON)
        .toEqual(expected(['n1'], 'on-n1'));
    });

    test('the address of a load balancer is answered by way of the node to which it leads', async () => {
      await serveFrom('n2');
      for (const tenant of TENANTS) {
        const route = [`${balanced(tenant)}/32`, 'via', addressesOf('n2')[0]];
        await outputInside(lab.record, ['ip', '-n', 'ext', 'route', 'replace', ...route]);
      }
      const atBalancers = async (): Promise<string[]> => {
        const probes = TENANTS.map((tenant) => ({ from: 'ext', to: balanced(tenant), port: 80 }));
        const results = await probe(lab.record, probes, 4);
        return results.map(({ tcp }) => `${tcp?.server ?? 'nobody'} saw ${tcp?.peer ?? 'nobody'}`);
      };
      await expect
        .poll(atBalancers, SOON)
        .toEqual(TENANTS.map(({ name }) => `${name}/on-n2 saw ${OUTSIDE.v4}`));
    });

    test('after they are gone nobody answers', async () => {
      rmSync(join(tenants.manifests, 'services.yaml'), { force: true });
      await expect.poll(() => health('n2'), SOON).toEqual(TENANTS.map(() => 'nobody'));
      await expect
        .poll(() => fromOutside(nodePort, NODES), SOON)
        .toEqual(expected(NODES, 'nobody'));
      expect(await fromOutside(localPort, ['n2'])).toEqual(expected(['n2'], 'nobody'));
    });
  },
);
