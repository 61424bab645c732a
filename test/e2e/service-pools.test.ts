/**
 * Addresses of load balancers inside of a primary Layer2 network, with packets: who answers for them on the wire, who is behind them on whatever node, who does
 * not reach them, and what is left when the service goes. Those of Layer3 are in service-cases.test.ts.
 */
import { rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { familyOf } from '../../src/allocators/addresses.ts';
import { probe, type Endpoint, type Probe } from '../../src/lab/connectivity.ts';
import { runInside } from '../../src/lab/exec.ts';
import { SERVER_PORT } from '../../src/lab/pods.ts';
import { testLab, whyNoLab, type TestLab } from '../support/lab/lab.ts';
import { manifestsText, podOn } from '../support/lab/network-spaces.ts';
import { Tenants } from '../support/lab/tenants.ts';
import { ownFolder } from '../support/run/left-behind.ts';

const SOON = { timeout: 60_000, interval: 200 };
const SECONDS = 2;
const PORT = 80;
/** Namespaces with networks that have the same subnets and pools. The service is one of the first. */
const SPACES = ['shop', 'other'] as const;
const SUBNETS = ['10.66.0.0/16', 'fd00:10:66::/64'];
const INFRASTRUCTURE = ['10.66.255.0/24', 'fd00:10:66::ff00/120'];
const POOL = '10.66.255.128/28, fd00:10:66::ff80/124';
const ADDRESSES = ['10.66.255.130', 'fd00:10:66::ff82'];
const GATEWAYS = ['10.66.255.1', 'fd00:10:66::ff01'];

const space = (name: string): readonly object[] => [
  {
    apiVersion: 'v1',
    kind: 'Namespace',
    metadata: { name, labels: { 'k8s.ovn.org/primary-user-defined-network': '' } },
  },
  {
    apiVersion: 'k8s.ovn.org/v1',
    kind: 'UserDefinedNetwork',
    metadata: {
      namespace: name,
      name: 'net',
      annotations: { 'k8s.ovn.org/service-pool': POOL },
    },
    spec: {
      topology: 'Layer2',
      layer2: {
        role: 'Primary',
        subnets: SUBNETS,
        infrastructureSubnets: INFRASTRUCTURE,
        defaultGatewayIPs: GATEWAYS,
      },
    },
  },
  podOn('n1', name, 'near'),
  podOn('n2', name, 'far'),
];

const service = {
  apiVersion: 'v1',
  kind: 'Service',
  metadata: {
    namespace: 'shop',
    name: 'web',
    annotations: { 'metallb.io/loadBalancerIPs': ADDRESSES.join(',') },
  },
  spec: {
    type: 'LoadBalancer',
    loadBalancerClass: 'k8s.ovn.org/udn-loadbalancer',
    allocateLoadBalancerNodePorts: false,
    clusterIP: '172.16.1.66',
    clusterIPs: ['172.16.1.66', 'fd00:10:96::66'],
    ipFamilies: ['IPv4', 'IPv6'],
    ipFamilyPolicy: 'RequireDualStack',
    ports: [
      { name: 'tcp', port: PORT, targetPort: SERVER_PORT },
      { name: 'udp', protocol: 'UDP', port: PORT, targetPort: SERVER_PORT },
    ],
  },
};

/** A slice for each family, with what Kubernetes knows of a pod: its addresses on the default network. */
const slices = ({ pod, node, addresses }: Endpoint): readonly object[] => {
  const [namespace, name] = pod.split('/');
  return addresses.map((address) => ({
    apiVersion: 'discovery.k8s.io/v1',
    kind: 'EndpointSlice',
    metadata: {
      namespace,
      name: `web-${familyOf(address)}`,
      labels: {
        'kubernetes.io/service-name': 'web',
        'endpointslice.kubernetes.io/managed-by': 'endpointslice-controller.k8s.io',
      },
    },
    addressType: familyOf(address) === 'v4' ? 'IPv4' : 'IPv6',
    ports: [
      { name: 'tcp', protocol: 'TCP', port: SERVER_PORT },
      { name: 'udp', protocol: 'UDP', port: SERVER_PORT },
    ],
    endpoints: [
      {
        addresses: [address],
        nodeName: node,
        conditions: { ready: true },
        targetRef: { kind: 'Pod', namespace, name },
      },
    ],
  }));
};

describe.skipIf(whyNoLab !== undefined)(
  `addresses of a Layer2 network's pool${whyNoLab === undefined ? '' : ` (${whyNoLab})`}`,
  () => {
    const folder = ownFolder('heddle-service-pools');
    let lab: TestLab;
    let tenants: Tenants;
    let ends: readonly Endpoint[];
    let onDefault: readonly Endpoint[];

    const endIn = (all: readonly Endpoint[], pod: string): Endpoint => {
      const found = all.find((end) => end.pod === pod);
      if (found === undefined) throw new Error(`no pod ${pod}`);
      return found;
    };
    const declare = (behind: string): void =>
      writeFileSync(
        join(tenants.manifests, 'web.yaml'),
        manifestsText([service, ...slices(endIn(onDefault, behind))]),
      );
    /** Who answers a network namespace at the addresses, by each protocol, and whom that saw; undefined: nobody did. */
    async function answers(
      from: string,
      port = PORT,
    ): Promise<readonly ({ readonly server: string; readonly peer: string } | undefined)[]> {
      const probes = ADDRESSES.flatMap((to) =>
        (['tcp', 'udp'] as const).map((protocol): Probe => ({
          from,
          to,
          port,
          protocol,
          ping: false,
        })),
      );
      const results = await probe(lab.record, probes, SECONDS);
      return results.map(({ answer }) =>
        answer === null ? undefined : { server: answer.server, peer: answer.peer },
      );
    }
    const ask = (pod: string, port = PORT): ReturnType<typeof answers> =>
      answers(endIn(ends, pod).namespace, port);
    const answered = (server: string, client: string): readonly object[] =>
      endIn(ends, client).addresses.flatMap((peer) => [
        { server, peer },
        { server, peer },
      ]);
    const NOBODY = ADDRESSES.flatMap(() => [undefined, undefined]);
    /** MAC addresses that a pod is told when it asks anew who has these. */
    async function macsOf(pod: string, addresses: readonly string[]): Promise<readonly string[]> {
      const inside = ['ip', 'netns', 'exec', endIn(ends, pod).namespace];
      const { stdout } = await runInside(lab.record, [
        ...inside,
        'bash',
        '-ec',
        `for to in ${addresses.join(' ')}; do
  ip neigh flush to $to
  ping -c 1 -W 1 $to > /dev/null || true
  echo "$to $(ip neigh show to $to | sed -n 's/.* lladdr \\([^ ]*\\) .*/\\1/p')"
done`,
      ]);
      return stdout
        .trim()
        .split('\n')
        .map((line) => line.split(' ')[1] ?? '');
    }

    beforeAll(async () => {
      writeFileSync(join(folder, 'spaces.yaml'), manifestsText(SPACES.flatMap(space)));
      lab = await testLab('e2e-service-pools', { nodes: 2, families: 'dual' });
      tenants = new Tenants(lab.record, { folder });
      await tenants.start();
      [ends, onDefault] = [await tenants.endpoints(), await tenants.endpoints('default')];
    }, 120_000);
    afterAll(async () => {
      rmSync(folder, { recursive: true });
      await lab[Symbol.asyncDispose]();
    });

    test('are answered for by nobody before a service has them', async () => {
      expect(await macsOf('shop/near', ADDRESSES)).toEqual(['', '']);
      expect(await ask('shop/near')).toEqual(NOBODY);
    });

    test('are answered for by the router on the node of whoever asks, and lead to a pod of another node, which sees who asks', async () => {
      declare('shop/far');
      await expect.poll(() => ask('shop/near'), SOON).toEqual(answered('shop/far', 'shop/near'));
      for (const pod of ['shop/near', 'shop/far']) {
        const ofRouter = await macsOf(pod, GATEWAYS);
        expect(ofRouter).not.toContain('');
        expect(await macsOf(pod, ADDRESSES)).toEqual(ofRouter);
      }
    });

    test('lead to another pod when the endpoint moves, from both nodes', async () => {
      declare('shop/near');
      await expect.poll(() => ask('shop/far'), SOON).toEqual(answered('shop/near', 'shop/far'));
      const servers = (await ask('shop/near')).map((one) => one?.server);
      // Whom a pod sees that asks itself is the address of the service.
      expect(servers).toEqual(NOBODY.map(() => 'shop/near'));
    });

    test('lead nowhere at another port, from another network with the same pool, from nodes, and from outside', async () => {
      expect(await ask('shop/far', PORT + 1)).toEqual(NOBODY);
      expect(await ask('other/near')).toEqual(NOBODY);
      expect(await macsOf('other/near', ADDRESSES)).toEqual(['', '']);
      for (const from of ['n1', 'n2', 'ext']) expect(await answers(from)).toEqual(NOBODY);
    });

    test('are nobody’s again when the service goes', async () => {
      rmSync(join(tenants.manifests, 'web.yaml'));
      await expect
        .poll(async () => [await ask('shop/near'), await ask('shop/far')], SOON)
        .toEqual([NOBODY, NOBODY]);
      await expect
        .poll(
          async () => [
            ...(await macsOf('shop/near', ADDRESSES)),
            ...(await macsOf('shop/far', ADDRESSES)),
          ],
          SOON,
        )
        .toEqual(['', '', '', '']);
    });
  },
);
