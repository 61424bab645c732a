/** Secondary networks with a gateway, of both layers and families, with packets: who leaves by them, as whom, and services on them. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { probe, type Probe } from '../../src/lab/connectivity.ts';
import { outputInside } from '../../src/lab/exec.ts';
import { OUTSIDE } from '../../src/lab/node-facts.ts';
import { SERVER_PORT } from '../../src/lab/pods.ts';
import { labelNodes } from '../support/lab/egress-nodes.ts';
import { whyNoLab } from '../support/lab/lab.ts';
import { addHops, BEYOND, HOPS } from '../support/lab/next-hops.ts';
import { PORTS, service, sliceObjects } from '../support/lab/matrix-tenants.ts';
import {
  flatSecondary,
  NODE,
  SecondaryLab,
  secondaryPod,
  SOON,
} from '../support/lab/secondary-lab.ts';
import { describeSecondaryServices } from '../support/lab/secondary-services.ts';

const ROUTED = {
  apiVersion: 'k8s.ovn.org/v1',
  kind: 'UserDefinedNetwork',
  metadata: { namespace: 'alpha', name: 'routed' },
  spec: {
    topology: 'Layer3',
    layer3: { role: 'Secondary', subnets: [{ cidr: '10.73.0.0/16', hostSubnet: 24 }] },
  },
};
const GATEWAY = 'k8s.ovn.org/secondary-gateway';
/** Of addresses for services in the networks that have a gateway, and the range to which their pods have routes there. */
const POOLS = { out: '198.18.7.0/28', flat: '198.18.7.16/28', all: '198.18.7.0/27' };
const asks = (gateway: string | undefined, pool: string): object =>
  gateway === undefined
    ? {}
    : { annotations: { [GATEWAY]: gateway, 'k8s.ovn.org/service-pool': pool } };
/** A network with a way out: to the outside host, and to nobody else. `gateway`: its annotation. */
const wayOut = (gateway?: string): object => ({
  apiVersion: 'k8s.ovn.org/v1',
  kind: 'UserDefinedNetwork',
  metadata: {
    namespace: 'alpha',
    name: 'out',
    ...asks(gateway, POOLS.out),
  },
  spec: {
    topology: 'Layer3',
    layer3: {
      role: 'Secondary',
      subnets: [
        { cidr: '10.74.0.0/16', hostSubnet: 24 },
        { cidr: 'fd00:74::/48', hostSubnet: 64 },
      ],
    },
  },
});
/** The same on one switch over all nodes. */
const flatOut = (gateway?: string): object => ({
  apiVersion: 'k8s.ovn.org/v1',
  kind: 'UserDefinedNetwork',
  metadata: {
    namespace: 'alpha',
    name: 'flat',
    ...asks(gateway, POOLS.flat),
  },
  spec: {
    topology: 'Layer2',
    layer2: { role: 'Secondary', subnets: ['10.75.0.0/16', 'fd00:75::/64'] },
  },
});
const TO_OUTSIDE = JSON.stringify({
  routes: [
    ...[OUTSIDE.v4, BEYOND.v4].map((address) => `${address}/32`),
    ...[OUTSIDE.v6, BEYOND.v6].map((address) => `${address}/128`),
    POOLS.all,
  ],
});
const NODE_PORT = 30_180;
const EGRESS_ADDRESS = '172.18.0.70';
/** A namespace with a primary network beside one with a gateway, both with the join subnets of the cluster, and a pod on them. */
const BESIDE = [
  {
    apiVersion: 'v1',
    kind: 'Namespace',
    metadata: { name: 'gamma', labels: { 'k8s.ovn.org/primary-user-defined-network': '' } },
  },
  ...[
    { name: 'own', role: 'Primary', number: 76 },
    { name: 'side', role: 'Secondary', number: 77 },
  ].map(({ name, role, number }) => ({
    apiVersion: 'k8s.ovn.org/v1',
    kind: 'UserDefinedNetwork',
    metadata: {
      namespace: 'gamma',
      name,
      ...(role === 'Primary' ? {} : { annotations: { [GATEWAY]: '{}' } }),
    },
    spec: {
      topology: 'Layer3',
      layer3: {
        role,
        subnets: [
          { cidr: `10.${number}.0.0/16`, hostSubnet: 24 },
          { cidr: `fd00:${number}::/48`, hostSubnet: 64 },
        ],
      },
    },
  })),
  secondaryPod('gamma/web', 'n2', 'side'),
];
const FILES = {
  'networks.yaml': ['alpha', 'beta'].flatMap((name) => [
    { apiVersion: 'v1', kind: 'Namespace', metadata: { name, labels: { leaves: name } } },
    flatSecondary(`${name}/mesh`, { subnet: '10.70.0.0/24' }),
  ]),
  'routed.yaml': [ROUTED],
  'out.yaml': [wayOut(TO_OUTSIDE), flatOut(TO_OUTSIDE)],
  'beside.yaml': BESIDE,
  'pods.yaml': [
    secondaryPod('alpha/one', 'n1', 'mesh, out'),
    secondaryPod('alpha/two', 'n2', 'mesh, routed, out'),
    secondaryPod('alpha/three', 'n3', 'mesh, flat'),
    secondaryPod('alpha/four', 'n1', 'flat'),
    secondaryPod('beta/one', 'n1', 'mesh'),
    secondaryPod('beta/two', 'n2', 'mesh'),
  ],
};

describe.skipIf(whyNoLab !== undefined)(
  `secondary networks with a gateway${whyNoLab === undefined ? '' : ` (${whyNoLab})`}`,
  () => {
    let lab: SecondaryLab;

    beforeAll(async () => {
      lab = await SecondaryLab.start({
        name: 'e2e-secondary-gateways',
        files: FILES,
        daemonArguments: ['--render-grace-period=2', '--secondary-gateways=true'],
        networksOfPods: [1, 1, 1, 2, 2, 2, 3],
      });
      await addHops(lab.record, []);
    });
    afterAll(async () => {
      await lab[Symbol.asyncDispose]();
    });

    /** As whom the outside host sees a pod, by both families: its node, an egress address, or nobody. */
    const seenAs = async (pod: string): Promise<string[]> => {
      const probes = [OUTSIDE.v4, OUTSIDE.v6].map((to): Probe => ({
        from: lab.networkNamespace(pod),
        to,
        port: SERVER_PORT,
        ping: false,
      }));
      return (await probe(lab.record, probes, 3)).map(({ answer }) => answer?.peer ?? 'nobody');
    };
    const deviceTo = async (pod: string, to: string): Promise<string> =>
      / dev (\S+)/.exec(await lab.inPod(pod, `ip route get ${to}`))?.[1] ?? '';

    test('a secondary network with a gateway leads out, with the address of the node, and nobody in', async () => {
      const { device, address } = lab.end('alpha/one', 'alpha/out');
      expect(await deviceTo('alpha/one', OUTSIDE.v4)).toBe(device);
      expect(await deviceTo('alpha/one', OUTSIDE.v6)).toBe(device);
      expect(await deviceTo('alpha/one', '172.18.0.12')).toBe('eth0');
      await expect.poll(() => seenAs('alpha/one'), SOON).toEqual(NODE);
      const two = lab.end('alpha/two', 'alpha/out').address;
      const route = `-n ext route replace ${address}/32 via ${NODE[0]}`;
      await outputInside(lab.record, ['ip', ...route.split(' ')]);
      expect(
        await lab.answers(
          ['alpha/one', two],
          ['alpha/three', two],
          ['beta/one', two],
          ['beta/one', address],
          ['ext', address],
        ),
      ).toEqual(['alpha/two', 'nobody', 'nobody', 'nobody', 'nobody']);
    });

    test('a flat one leads out of each node, by one gateway that no pod has the address of', async () => {
      const { device, address } = lab.end('alpha/three', 'alpha/flat');
      expect(await deviceTo('alpha/three', OUTSIDE.v4)).toBe(device);
      await expect
        .poll(() => seenAs('alpha/three'), SOON)
        .toEqual(['172.18.0.13', 'fd00:172:18::13']);
      await expect.poll(() => seenAs('alpha/four'), SOON).toEqual(NODE);
      const four = lab.end('alpha/four', 'alpha/flat').address;
      expect(['10.75.0.1', '10.75.0.2']).not.toContain(four);
      expect(
        await lab.answers(['alpha/three', four], ['alpha/four', address], ['beta/one', four]),
      ).toEqual(['alpha/four', 'alpha/three', 'nobody']);
    });

    test('what a pod answers on its default network to a host that its routes lead to goes back there', async () => {
      const own = lab.end('alpha/one', 'default').addresses;
      lab.declare(
        'service.yaml',
        service('alpha/web', ['172.16.1.40', 'fd00:10:96::40'], {
          type: 'NodePort',
          externalTrafficPolicy: 'Local',
          ports: PORTS.map((port) => ({ ...port, nodePort: NODE_PORT })),
        }),
        ...sliceObjects('alpha/web', [{ pod: 'alpha/one', node: 'n1', addresses: own }]),
      );
      const fromOutside = async (): Promise<string[]> => {
        const probes = NODE.map((to): Probe => ({ from: 'ext', to, port: NODE_PORT, ping: false }));
        return (await probe(lab.record, probes, 3)).map(({ answer }) =>
          answer === null ? 'nobody' : `${answer.server} sees ${answer.peer}`,
        );
      };
      await expect
        .poll(fromOutside, SOON)
        .toEqual([`alpha/one sees ${OUTSIDE.v4}`, `alpha/one sees ${OUTSIDE.v6}`]);
      lab.withdraw('service.yaml');
    });

    test('an EgressFirewall of the namespace is in force on it', async () => {
      lab.declare('firewall.yaml', {
        apiVersion: 'k8s.ovn.org/v1',
        kind: 'EgressFirewall',
        metadata: { namespace: 'alpha', name: 'default' },
        spec: { egress: [{ type: 'Deny', to: { cidrSelector: `${OUTSIDE.v4}/32` } }] },
      });
      for (const pod of ['alpha/one', 'alpha/four'])
        await expect.poll(() => seenAs(pod), SOON).toEqual(['nobody', NODE[1]]);
      lab.withdraw('firewall.yaml');
      await expect.poll(() => seenAs('alpha/one'), SOON).toEqual(NODE);
    });

    test('pods of two nodes leave it with an EgressIP, by the node that has it', async () => {
      labelNodes(lab.record, { 'k8s.ovn.org/egress-assignable': '' }, ['n2']);
      lab.declare('egress-ip.yaml', {
        apiVersion: 'k8s.ovn.org/v1',
        kind: 'EgressIP',
        metadata: { name: 'alpha' },
        spec: {
          egressIPs: [EGRESS_ADDRESS],
          namespaceSelector: { matchLabels: { leaves: 'alpha' } },
        },
      });
      const seen = async (): Promise<string[]> => [
        ...(await seenAs('alpha/one')),
        ...(await seenAs('alpha/two')),
        ...(await seenAs('alpha/four')),
      ];
      await expect
        .poll(seen, SOON)
        .toEqual([
          EGRESS_ADDRESS,
          NODE[1],
          EGRESS_ADDRESS,
          'fd00:172:18::12',
          EGRESS_ADDRESS,
          NODE[1],
        ]);
      lab.withdraw('egress-ip.yaml');
      await expect.poll(() => seenAs('alpha/one'), SOON).toEqual(NODE);
    });

    test('with an EgressIP for some destinations what is for these leaves it with its address', async () => {
      lab.declare(
        'egress-ip.yaml',
        {
          apiVersion: 'k8s.ovn.org/v1',
          kind: 'EgressTrafficClass',
          metadata: { name: 'outside', labels: { group: 'outside' } },
          spec: { destinations: [{ cidr: `${OUTSIDE.v4}/32` }] },
        },
        {
          apiVersion: 'k8s.ovn.org/v1',
          kind: 'EgressIP',
          metadata: { name: 'to-outside' },
          spec: {
            egressIPs: [EGRESS_ADDRESS],
            namespaceSelector: { matchLabels: { leaves: 'alpha' } },
            trafficSelector: { matchLabels: { group: 'outside' } },
          },
        },
      );
      for (const pod of ['alpha/one', 'alpha/four'])
        await expect.poll(() => seenAs(pod), SOON).toEqual([EGRESS_ADDRESS, NODE[1]]);
      lab.withdraw('egress-ip.yaml');
      for (const pod of ['alpha/one', 'alpha/four'])
        await expect.poll(() => seenAs(pod), SOON).toEqual(NODE);
    });

    test('an AdminPolicyBasedExternalRoute leads what leaves by it to its next hops, by both layers and families', async () => {
      const hopsOf = (pod: string): Promise<string[]> =>
        lab.answersTo(
          [BEYOND.v4, BEYOND.v6].map((to): Probe => ({
            from: lab.networkNamespace(pod),
            to,
            port: SERVER_PORT,
            ping: false,
          })),
        );
      const pods = ['alpha/one', 'alpha/three'];
      for (const pod of pods) {
        expect(await deviceTo(pod, BEYOND.v4)).not.toBe('eth0');
        await expect.poll(() => hopsOf(pod), SOON).toEqual(['outside', 'outside']);
      }
      lab.declare('route.yaml', {
        apiVersion: 'k8s.ovn.org/v1',
        kind: 'AdminPolicyBasedExternalRoute',
        metadata: { name: 'alpha' },
        spec: {
          from: { namespaceSelector: { matchLabels: { leaves: 'alpha' } } },
          nextHops: { static: Object.values(HOPS.hop1).map((ip) => ({ ip })) },
        },
      });
      for (const pod of pods) await expect.poll(() => hopsOf(pod), SOON).toEqual(['hop1', 'hop1']);
      lab.withdraw('route.yaml');
      for (const pod of pods)
        await expect.poll(() => hopsOf(pod), SOON).toEqual(['outside', 'outside']);
    });

    describeSecondaryServices(() => lab);

    test('without the annotation nothing of its gateway is left, and pods stay on it', async () => {
      const gateways = async (): Promise<readonly string[]> => [
        ...(await lab.tenants.mentions('GR_alpha_out')),
        ...(await lab.tenants.mentions('GR_alpha_flat')),
      ];
      expect(await gateways()).not.toEqual([]);
      lab.declare('out.yaml', wayOut(), flatOut());
      await expect.poll(gateways, SOON).toEqual([]);
      for (const pod of ['alpha/one', 'alpha/three'])
        expect(await seenAs(pod)).toEqual(['nobody', 'nobody']);
      const two = lab.end('alpha/two', 'alpha/out').address;
      const four = lab.end('alpha/four', 'alpha/flat').address;
      expect(await lab.answers(['alpha/one', two], ['alpha/three', four])).toEqual([
        'alpha/two',
        'alpha/four',
      ]);
      lab.declare('out.yaml', wayOut(TO_OUTSIDE), flatOut(TO_OUTSIDE));
      for (const pod of ['alpha/one', 'alpha/four'])
        await expect.poll(() => seenAs(pod), SOON).toEqual(NODE);
    });

    test('a network that is deleted with its pods leaves nothing of its gateway', async () => {
      for (const file of ['pods.yaml', 'out.yaml']) lab.withdraw(file);
      await lab.tenants.settle();
      for (const network of ['alpha_out', 'alpha_flat'])
        await expect.poll(() => lab.tenants.mentions(network), SOON).toEqual([]);
    });
  },
);
