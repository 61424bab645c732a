/**
 * A pod that reaches itself by a service, beside policies, with packets of both families: on the default network, and on primary ones of both layers. And who else tries
 * the address that such packets have as their source.
 */
import { rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { familyOf, macOf } from '../../src/allocators/addresses.ts';
import { probe, type Endpoint } from '../../src/lab/connectivity.ts';
import { outputInside } from '../../src/lab/exec.ts';
import { SERVER_PORT } from '../../src/lab/pods.ts';
import { datagram, ethertypeOf } from '../support/lab/frame-bytes.ts';
import { marker, sendFrames, type Send } from '../support/lab/frames.ts';
import { testLab, whyNoLab, type TestLab } from '../support/lab/lab.ts';
import { PORTS, service, sliceObjects } from '../support/lab/matrix-tenants.ts';
import { manifestsText, spaceObjects, SPACES, type Space } from '../support/lab/network-spaces.ts';
import { Tenants } from '../support/lab/tenants.ts';
import { ownFolder } from '../support/run/left-behind.ts';

/** Limits of waits for a condition; how long it takes is not what is tested here. */
const SOON = { timeout: 60_000, interval: 500 };
const SECONDS = 2;
const PODS = { self: 'n1', beside: 'n1', far: 'n2' } as const;
type Pod = keyof typeof PODS;
const SOURCES = ['169.254.0.5', 'fd69::5'] as const;
const ALL = { namespaces: {} };
const PORT = 7777;

const pod = (namespace: string, name: string, nodeName: string): object => ({
  apiVersion: 'v1',
  kind: 'Pod',
  metadata: { namespace, name, labels: { app: name } },
  spec: { nodeName, containers: [{ name: 'main', image: 'box' }] },
});
const clusterIps = (space: Space): readonly [string, string] => {
  const last = 70 + SPACES.indexOf(space);
  return [`172.16.1.${last}`, `fd00:10:96::${last}`];
};

const ofNamespace = (namespace: Space): object => ({
  apiVersion: 'networking.k8s.io/v1',
  kind: 'NetworkPolicy',
  metadata: { namespace, name: 'nobody' },
  spec: { podSelector: {}, policyTypes: ['Ingress', 'Egress'] },
});
const closedNamespaces = SPACES.map(ofNamespace);
const ofAdmin = (kind: string, name: string, spec: object): object => ({
  apiVersion: 'policy.networking.k8s.io/v1alpha1',
  kind,
  metadata: { name },
  spec: {
    ...spec,
    subject: ALL,
    ingress: [{ action: 'Deny', from: [ALL] }],
    egress: [{ action: 'Deny', to: [ALL] }],
  },
});
const ofCluster = (peers: object): object => ({
  apiVersion: 'policy.networking.k8s.io/v1alpha2',
  kind: 'ClusterNetworkPolicy',
  metadata: { name: 'rules' },
  spec: { tier: 'Admin', priority: 15, subject: ALL, ingress: [{ action: 'Deny', from: [peers] }] },
});
const podsOf = (name: string): object => ({
  pods: { namespaceSelector: {}, podSelector: { matchLabels: { app: name } } },
});
const gatewayMac = ({ addresses: [address = ''] }: Endpoint): string =>
  macOf(address.replace(/\d+$/, '1'));

describe.skipIf(whyNoLab !== undefined)(
  `a pod reaches itself by a service${whyNoLab === undefined ? '' : ` (${whyNoLab})`}`,
  () => {
    const folder = ownFolder('heddle-hairpin');
    let lab: TestLab;
    let tenants: Tenants;
    let ends: ReadonlyMap<string, Endpoint>;

    const end = (space: Space, name: Pod): Endpoint =>
      ends.get(`${space}/${name}`) ?? expect.unreachable(`${space}/${name} has no address`);
    const write = (name: string, objects: readonly object[]): void => {
      writeFileSync(join(tenants.manifests, `${name}.yaml`), manifestsText(objects));
    };

    const onNode = (node: string, ...argv: string[]): Promise<string> =>
      outputInside(lab.record, ['on', node, ...argv]);
    const bridgeMac = async (node: string): Promise<string> =>
      (await onNode(node, 'cat', '/sys/class/net/breth0/address')).trim();

    /** Who gets an answer of `self`: itself by the service of its namespace, and another pod of its node at its address. */
    const reached = async (): Promise<readonly string[]> => {
      const ways = SPACES.flatMap((space) =>
        (['tcp', 'udp'] as const).flatMap((protocol) =>
          [0, 1].flatMap(
            (family) =>
              [
                { space, who: 'self', to: clusterIps(space)[family] ?? '', port: 80, protocol },
                {
                  space,
                  who: 'beside',
                  to: end(space, 'self').addresses[family] ?? '',
                  port: SERVER_PORT,
                  protocol,
                },
              ] as const,
          ),
        ),
      );
      const results = await probe(
        lab.record,
        ways.map(({ space, who, ...way }) => ({
          ...way,
          from: end(space, who).namespace,
          ping: false,
        })),
        SECONDS,
      );
      return ways.flatMap(({ space, who, to, protocol }, n) => {
        const { answer } = results[n] ?? {};
        if (answer?.server !== `${space}/self`) return [];
        // What hairpins has no other source.
        const source = familyOf(to) === 'v4' ? SOURCES[0] : SOURCES[1];
        if (who === 'self') expect(answer.peer).toBe(source);
        return [`${space} ${protocol} ${familyOf(to)}: ${who}`];
      });
    };
    const expected = (...who: readonly string[]): readonly string[] =>
      SPACES.flatMap((space) =>
        ['tcp', 'udp'].flatMap((protocol) =>
          ['v4', 'v6'].flatMap((family) =>
            ['self', 'beside']
              .filter((one) => who.includes(one))
              .map((one) => `${space} ${protocol} ${family}: ${one}`),
          ),
        ),
      );

    beforeAll(async () => {
      writeFileSync(
        join(folder, 'spaces.yaml'),
        manifestsText(
          SPACES.flatMap((space) => [
            ...spaceObjects(space),
            ...Object.entries(PODS).map(([name, node]) => pod(space, name, node)),
          ]),
        ),
      );
      lab = await testLab('e2e-hairpin', { nodes: 2, families: 'dual' });
      tenants = new Tenants(lab.record, { folder });
      await tenants.start();
      ends = new Map((await tenants.endpoints()).map((one) => [one.pod, one]));
      const onDefault = new Map((await tenants.endpoints('default')).map((one) => [one.pod, one]));
      write(
        'services',
        SPACES.flatMap((space) => [
          service(`${space}/own`, clusterIps(space), { ports: PORTS }),
          ...sliceObjects(`${space}/own`, [
            {
              pod: `${space}/self`,
              node: PODS.self,
              addresses: onDefault.get(`${space}/self`)?.addresses ?? [],
            },
          ]),
        ]),
      );
    }, 120_000);
    afterAll(async () => {
      rmSync(folder, { recursive: true });
      await lab[Symbol.asyncDispose]();
    });

    test.each([
      ['without policies', [], ['self', 'beside']],
      ['whatever a NetworkPolicy closes', closedNamespaces, ['self']],
      ['an AdminNetworkPolicy', [ofAdmin('AdminNetworkPolicy', 'all', { priority: 10 })], ['self']],
      [
        'the BaselineAdminNetworkPolicy',
        [ofAdmin('BaselineAdminNetworkPolicy', 'default', {})],
        ['self'],
      ],
      ['but a ClusterNetworkPolicy of tier Admin that denies it ingress', [ofCluster(ALL)], []],
      ['and not one that denies others alone', [ofCluster(podsOf('beside'))], ['self']],
    ] as const)('%s', async (_, policies, who) => {
      write('policies', policies);
      await expect.poll(reached, SOON).toEqual(expected(...who));
    });

    test('nobody else passes a policy with the address that it has then: no pod, no node, nobody outside', async () => {
      write('policies', closedNamespaces);
      await expect.poll(reached, SOON).toEqual(expected('self'));
      const sends: Send[] = [];
      const add = (who: string, from: string, device: string, mac: string, to: string): void => {
        const id = `${sends.length} ${who} by ${mac} to ${to}`;
        const source = familyOf(to) === 'v4' ? SOURCES[0] : SOURCES[1];
        const payload = marker(id);
        const packet = datagram({ from: source, to, port: PORT, payload }).toString('hex');
        sends.push({ id, from, frame: { device, to: mac, type: ethertypeOf(to), packet } });
      };
      for (const space of SPACES) {
        const self = end(space, 'self');
        const device = space === 'plain' ? 'eth0' : 'ovn-udn1';
        for (const to of self.addresses) {
          for (const name of ['beside', 'far'] as const) {
            const other = end(space, name);
            for (const mac of [macOf(self.addresses[0] ?? ''), gatewayMac(other)])
              add(other.pod, other.namespace, device, mac, to);
          }
          for (const node of ['n1', 'n2']) add('outside', 'ext', 'eth0', await bridgeMac(node), to);
        }
      }
      // The host's port on the default network: on primary networks no host has one here.
      for (const name of ['beside', 'far'] as const)
        for (const to of end('plain', 'self').addresses)
          add('a node', PODS[name], 'ovn-k8s-mp0', gatewayMac(end('plain', name)), to);
      // What a pod may send, and what the pod's own node may, arrives.
      const own = (await onNode('n1', 'ip', '-br', '-4', 'addr', 'show', 'ovn-k8s-mp0')).split(
        /\s+/,
      );
      const wanted = end('plain', 'self').namespace;
      const [to = ''] = end('plain', 'self').addresses;
      const payload = marker('wanted');
      const from = (own[2] ?? '').replace(/\/.*$/, '');
      const packet = datagram({ from, to, port: PORT, payload }).toString('hex');
      const mac = gatewayMac(end('plain', 'beside'));
      const frame = { device: 'ovn-k8s-mp0', to: mac, type: ethertypeOf(to), packet };
      sends.push({ id: 'wanted', from: 'n1', wanted, frame });
      const watch = SPACES.map((space) => end(space, 'self').namespace);
      const { seen, errors } = await sendFrames(lab.record, sends, watch, 60);
      expect({ seen, errors }).toEqual({ seen: { wanted: [wanted] }, errors: {} });
    });
  },
);
