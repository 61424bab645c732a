/** A cluster of IPv6 alone, with packets: the default network and primary ones of both layers, two of which have one subnet. */
import { rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { probe, type Endpoint, type Probe } from '../../src/lab/connectivity.ts';
import { OUTSIDE } from '../../src/lab/node-facts.ts';
import { serveOutward } from '../../src/lab/outward.ts';
import { SERVER_PORT } from '../../src/lab/pods.ts';
import { testLab, whyNoLab, type TestLab } from '../support/lab/lab.ts';
import { nodeAddresses, type NodeName } from '../support/lab/matrix-tenants.ts';
import { manifestsText } from '../support/lab/network-spaces.ts';
import { Tenants } from '../support/lab/tenants.ts';
import { ownFolder } from '../support/run/left-behind.ts';

/** Limits of waits for a condition; how long it takes is not what is tested here. */
const SOON = { timeout: 60_000, interval: 200 };
const SECONDS = 2;
const NOBODY = 'nobody';

const layer3 = {
  topology: 'Layer3',
  layer3: { role: 'Primary', subnets: [{ cidr: 'fd00:60::/48', hostSubnet: 64 }] },
};
const NETWORKS = {
  plain: undefined,
  routed: layer3,
  twin: layer3,
  flat: { topology: 'Layer2', layer2: { role: 'Primary', subnets: ['fd00:61::/64'] } },
} as const;
type Space = keyof typeof NETWORKS;
const SPACES = Object.keys(NETWORKS) as readonly Space[];
const NODES: Readonly<Record<'near' | 'far', NodeName>> = { near: 'n1', far: 'n2' };
type Pod = keyof typeof NODES;

const clusterIp = (space: Space): string => `fd00:10:96::${60 + SPACES.indexOf(space)}`;
const nodePort = (space: Space): number => 31_060 + SPACES.indexOf(space);

const spaceObjects = (name: Space): readonly object[] => {
  const spec = NETWORKS[name];
  const labels = spec === undefined ? {} : { 'k8s.ovn.org/primary-user-defined-network': '' };
  return [
    { apiVersion: 'v1', kind: 'Namespace', metadata: { name, labels } },
    ...(spec === undefined
      ? []
      : [
          {
            apiVersion: 'k8s.ovn.org/v1',
            kind: 'UserDefinedNetwork',
            metadata: { namespace: name, name: 'net' },
            spec,
          },
        ]),
    ...Object.entries(NODES).map(([pod, nodeName]) => ({
      apiVersion: 'v1',
      kind: 'Pod',
      metadata: { namespace: name, name: pod, labels: { app: pod } },
      spec: { nodeName, containers: [{ name: 'main', image: 'box' }] },
    })),
  ];
};
/** Of `far`, whose address on the default network slices have. */
const serviceObjects = (namespace: Space, onDefault: Endpoint): readonly object[] => [
  {
    apiVersion: 'v1',
    kind: 'Service',
    metadata: { namespace, name: 'web' },
    spec: {
      type: 'NodePort',
      ipFamilies: ['IPv6'],
      clusterIP: clusterIp(namespace),
      clusterIPs: [clusterIp(namespace)],
      ports: [{ port: 80, targetPort: SERVER_PORT, nodePort: nodePort(namespace) }],
    },
  },
  {
    apiVersion: 'discovery.k8s.io/v1',
    kind: 'EndpointSlice',
    metadata: { namespace, name: 'web', labels: { 'kubernetes.io/service-name': 'web' } },
    addressType: 'IPv6',
    ports: [{ name: '', port: SERVER_PORT }],
    endpoints: [
      {
        addresses: onDefault.addresses.slice(0, 1),
        nodeName: NODES.far,
        conditions: { ready: true },
        targetRef: { kind: 'Pod', namespace, name: 'far' },
      },
    ],
  },
];
const policy = (namespace: Space): object => ({
  apiVersion: 'networking.k8s.io/v1',
  kind: 'NetworkPolicy',
  metadata: { namespace, name: 'nobody-to-far' },
  spec: { podSelector: { matchLabels: { app: 'far' } }, policyTypes: ['Ingress'] },
});

describe.skipIf(whyNoLab !== undefined)(
  `IPv6 alone${whyNoLab === undefined ? '' : ` (${whyNoLab})`}`,
  () => {
    const folder = ownFolder('heddle-ipv6');
    let lab: TestLab;
    let tenants: Tenants;
    let ends: ReadonlyMap<string, Endpoint>;

    const end = (space: Space, pod: Pod): Endpoint =>
      ends.get(`${space}/${pod}`) ?? expect.unreachable(`${space}/${pod} has no address`);
    const file = (name: string): string => join(tenants.manifests, name);
    /** Who answers, and as whom it sees who asks: `outside saw fd00:172:18::11`. */
    const answers = async (ways: readonly Probe[]): Promise<readonly string[]> =>
      (await probe(lab.record, ways, SECONDS)).map(({ answer }) => answer?.server ?? NOBODY);
    const fromNear = (to: (space: Space) => string, port = SERVER_PORT): readonly Probe[] =>
      SPACES.map((space) => ({ from: end(space, 'near').namespace, to: to(space), port }));
    const all = (what: (space: Space) => string): readonly string[] => SPACES.map(what);

    beforeAll(async () => {
      writeFileSync(join(folder, 'spaces.yaml'), manifestsText(SPACES.flatMap(spaceObjects)));
      lab = await testLab('e2e-ipv6', { nodes: 2, families: 'v6' });
      tenants = new Tenants(lab.record, { folder });
      await tenants.start();
      ends = new Map((await tenants.endpoints()).map((one) => [one.pod, one]));
      const onDefault = new Map(
        (await tenants.endpoints('default')).map((one) => [one.pod, one] as const),
      );
      const services = SPACES.flatMap((space) =>
        serviceObjects(space, onDefault.get(`${space}/far`) ?? end(space, 'far')),
      );
      writeFileSync(file('services.yaml'), manifestsText(services));
      await serveOutward(lab.record);
    }, 120_000);
    afterAll(async () => {
      rmSync(folder, { recursive: true });
      await lab[Symbol.asyncDispose]();
    });

    test('pods have IPv6 addresses alone, reach their own network on two nodes, and no other', async () => {
      for (const { addresses } of ends.values())
        expect(addresses.filter((address) => !address.includes(':'))).toEqual([]);
      expect(
        await tenants.unexpectedBy((from, to) => from.split('/')[0] === to.split('/')[0]),
      ).toEqual([]);
    });

    test('a host outside is reached and sees the node', async () => {
      const results = await probe(
        lab.record,
        fromNear(() => OUTSIDE.v6),
        SECONDS,
      );
      expect(results.map(({ answer }) => answer?.peer)).toEqual(
        all(() => nodeAddresses(NODES.near)[1]),
      );
    });

    test('cluster IPs are answered in their network, node ports from outside', async () => {
      await expect
        .poll(() => answers(fromNear(clusterIp, 80)), SOON)
        .toEqual(all((space) => `${space}/far`));
      const outside = SPACES.flatMap((space) =>
        Object.values(NODES).map((node): Probe => ({
          from: 'ext',
          to: nodeAddresses(node)[1],
          port: nodePort(space),
        })),
      );
      await expect
        .poll(() => answers(outside), SOON)
        .toEqual(SPACES.flatMap((space) => [`${space}/far`, `${space}/far`]));
    });

    test('a policy closes a pod, also behind its service, and opens it when it goes', async () => {
      const ways = [
        ...fromNear((space) => end(space, 'far').addresses[0] ?? ''),
        ...fromNear(clusterIp, 80),
      ];
      writeFileSync(file('policies.yaml'), manifestsText(SPACES.map(policy)));
      await expect.poll(() => answers(ways), SOON).toEqual(ways.map(() => NOBODY));
      rmSync(file('policies.yaml'));
      const open = all((space) => `${space}/far`);
      await expect.poll(() => answers(ways), SOON).toEqual([...open, ...open]);
    });
  },
);
