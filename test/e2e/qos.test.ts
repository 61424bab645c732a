/** Marks and rates of EgressQoS and NetworkQoS, read from packets where they arrive: on the default network, on primary ones of both layers, on both of a namespace, and on a localnet one. */
import { rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { Endpoint } from '../../src/lab/connectivity.ts';
import { heddleCommand, outputInside, runInside } from '../../src/lab/exec.ts';
import { OUTSIDE } from '../../src/lab/node-facts.ts';
import { settingsFile } from '../../src/lab/objects.ts';
import { nodeNames } from '../../src/lab/paths.ts';
import { attachedPods } from '../../src/lab/pods.ts';
import { testLab, whyNoLab, type TestLab } from '../support/lab/lab.ts';
import { arrivalsOf, marksOf, type MarkedWay } from '../support/lab/marked-packets.ts';
import {
  manifestsText,
  PLACES as places,
  podAt,
  podOn,
  podOnSecond,
  secondNetwork,
  SPACES as spaces,
  spaceObjects,
  type Place,
  type Space,
} from '../support/lab/network-spaces.ts';
import { Tenants } from '../support/lab/tenants.ts';
import { ownFolder } from '../support/run/left-behind.ts';
import { until } from '../support/run/until.ts';

const SOON = { timeout: 60_000, interval: 200 };
const SECONDS = 3;
const PORT = 5001;
/** Of the outside host, on the subnet of the localnet network. */
const OUTSIDE_ON_LAN = '10.71.0.250';

const onLan = (namespace: Space): Readonly<Record<string, string>> =>
  namespace === 'plain' ? { 'k8s.v1.cni.cncf.io/networks': 'lan' } : {};
const objects = [
  ...spaces.flatMap((namespace) => [
    ...spaceObjects(namespace),
    podOn('n1', namespace, 'near', onLan(namespace)),
    podOn('n2', namespace, 'far', onLan(namespace)),
  ]),
  secondNetwork,
  podOnSecond('n1', 'near'),
  podOnSecond('n2', 'far'),
  {
    apiVersion: 'k8s.ovn.org/v1alpha1',
    kind: 'OVNSecondaryNetwork',
    metadata: { namespace: 'plain', name: 'lan', labels: { tier: 'lan' } },
    spec: { subnet: '10.71.0.0/24', hasExternalConnectivity: true },
  },
];

const egressQos = (...egress: readonly object[]): readonly object[] =>
  spaces.map((namespace) => ({
    apiVersion: 'k8s.ovn.org/v1',
    kind: 'EgressQoS',
    metadata: { namespace, name: 'default' },
    spec: { egress },
  }));
const networkQos = (spec: object, name = 'gold', where = spaces): readonly object[] =>
  where.map((namespace) => ({
    apiVersion: 'k8s.ovn.org/v1alpha1',
    kind: 'NetworkQoS',
    metadata: { namespace, name },
    spec: { priority: 5, ...spec },
  }));
const to = (cidr: string, ...except: readonly string[]): object => ({ ipBlock: { cidr, except } });

/** Whom a pod sends to. */
type Target = 'outside4' | 'outside6' | 'pod4' | 'pod6';
const NEAR: readonly Target[] = ['outside4', 'outside6', 'pod4', 'pod6'];

describe.skipIf(whyNoLab !== undefined)(
  `quality of service${whyNoLab === undefined ? '' : ` (${whyNoLab})`}`,
  () => {
    const folder = ownFolder('heddle-qos');
    let lab: TestLab;
    let tenants: Tenants;
    let ends: ReadonlyMap<string, Endpoint>;

    const end = (place: Place, name: string): Endpoint =>
      ends.get(podAt(place, name)) ?? expect.unreachable(`${podAt(place, name)} has no address`);
    const way = (place: Place, from: 'near' | 'far', target: Target, port = PORT): MarkedWay => {
      const other = end(place, from === 'near' ? 'far' : 'near');
      const [v4 = '', v6 = ''] = other.addresses;
      const targets: Readonly<Record<Target, readonly [at: string, address: string]>> = {
        outside4: ['ext', OUTSIDE.v4],
        outside6: ['ext', OUTSIDE.v6],
        pod4: [other.namespace, v4],
        pod6: [other.namespace, v6],
      };
      const [at, address] = targets[target];
      return { from: end(place, from).namespace, at, to: address, port };
    };
    /** Marks of what `near` sends to each target, and then of what `far` sends outside, by where they are. */
    const marks = async (port = PORT): Promise<Readonly<Record<string, unknown>>> => {
      const ways = places.flatMap((place) => [
        ...NEAR.map((target) => way(place, 'near', target, port)),
        way(place, 'far', 'outside4', port),
      ]);
      const found = await marksOf(lab.record, ways, SECONDS);
      const each = NEAR.length + 1;
      return Object.fromEntries(
        places.map((place, index) => [place, found.slice(each * index, each * (index + 1))]),
      );
    };
    /** On a Layer2 network what goes to another node's pod leaves the switch there, where its sender is not known. */
    const everywhere = (
      ...[outside4, outside6, pod4, pod6, far]: readonly [number, number, number, number, number]
    ): Readonly<Record<string, unknown>> => ({
      plain: [outside4, outside6, pod4, pod6, far],
      routed: [outside4, outside6, pod4, pod6, far],
      flat: [outside4, outside6, 0, 0, far],
      second: [outside4, outside6, 0, 0, far],
    });
    const file = (name: string): string => join(tenants.manifests, `${name}.yaml`);
    const write = (name: string, all: readonly object[]): void =>
      writeFileSync(file(name), manifestsText(all));
    const rows = async (node: string): Promise<string[]> => {
      const tables = ['QoS', 'Address_Set'].map((table) =>
        tenants.rows(node, 'OVN_Northbound', [table]),
      );
      return (await Promise.all(tables)).flat().filter((row) => /(Egress|Network)QoS/.test(row));
    };

    beforeAll(async () => {
      writeFileSync(join(folder, 'objects.yaml'), manifestsText(objects));
      lab = await testLab('e2e-qos', { nodes: 2, families: 'dual' });
      const address = ['address', 'add', `${OUTSIDE_ON_LAN}/24`, 'dev', 'eth0'];
      await outputInside(lab.record, ['ip', '-n', 'ext', ...address]);
      tenants = new Tenants(lab.record, { folder });
      await tenants.start();
      await until(
        'pods to have the networks that they ask for',
        async () => {
          await tenants.settle();
          const pods = attachedPods(lab.record);
          return (
            pods.length === 2 * places.length &&
            pods.every(({ interfaces }) => interfaces.length === 2)
          );
        },
        SOON.timeout,
      );
      ends = new Map((await tenants.endpoints()).map((one) => [one.pod, one]));
    }, 120_000);
    afterAll(async () => {
      rmSync(folder, { recursive: true });
      await lab[Symbol.asyncDispose]();
    });

    test('without one packets have no mark', async () => {
      await expect.poll(() => marks(), SOON).toEqual(everywhere(0, 0, 0, 0, 0));
    });

    test('the first rule of an EgressQoS that means a packet marks it, whoever it goes to', async () => {
      write(
        'egress',
        egressQos(
          { dscp: 46, dstCIDR: `${OUTSIDE.v4}/32` },
          { dscp: 10, podSelector: { matchLabels: { app: 'near' } } },
        ),
      );
      await expect.poll(() => marks(), SOON).toEqual(everywhere(46, 10, 10, 10, 46));
    });

    test('a NetworkQoS comes first: by ports and blocks but for exceptions, and by pods; of its rules the last counts', async () => {
      write(
        'network',
        networkQos({
          egress: [
            { dscp: 20, classifier: { ports: [{ protocol: 'UDP', port: PORT }] } },
            {
              dscp: 30,
              classifier: {
                to: [{ podSelector: { matchLabels: { app: 'far' } } }],
                ports: [{ protocol: 'UDP' }],
              },
            },
          ],
        }),
      );
      await expect.poll(() => marks(), SOON).toEqual(everywhere(20, 20, 30, 30, 20));
      // Another port is left to what comes behind.
      expect(await marks(PORT + 1)).toEqual(everywhere(46, 10, 30, 30, 46));
      const all = [
        to('0.0.0.0/0', `${OUTSIDE.v4}/32`, '10.60.0.0/16'),
        to('::/0', `${OUTSIDE.v6}/128`),
      ];
      write('network', networkQos({ egress: [{ dscp: 20, classifier: { to: all } }] }));
      await expect
        .poll(() => marks(), SOON)
        // One exception is the network of the pods of `routed`.
        .toEqual({ ...everywhere(46, 10, 20, 20, 46), routed: [46, 10, 10, 20, 46] });
    });

    test('on a network that it selects, and on no other', async () => {
      write(
        'network',
        networkQos(
          {
            egress: [{ dscp: 40 }],
            networkSelectors: [
              {
                networkSelectionType: 'NetworkAttachmentDefinitions',
                networkAttachmentDefinitionSelector: {
                  namespaceSelector: {},
                  networkSelector: { matchLabels: { tier: 'lan' } },
                },
              },
            ],
          },
          'lan',
          ['plain'],
        ),
      );
      const from = end('plain', 'near').namespace;
      const onLan = async (): Promise<unknown> =>
        marksOf(lab.record, [{ from, at: 'ext', to: OUTSIDE_ON_LAN, port: PORT }], SECONDS);
      await expect.poll(onLan, SOON).toEqual([40]);
      await expect.poll(() => marks(), SOON).toEqual(everywhere(46, 10, 10, 10, 46));
    });

    test('no more passes than the rate', async () => {
      const limited = [{ protocol: 'UDP', port: PORT }];
      write(
        'network',
        networkQos({
          egress: [
            { dscp: 20, bandwidth: { rate: 1000, burst: 100 }, classifier: { ports: limited } },
          ],
        }),
      );
      await expect.poll(() => marks(), SOON).toEqual(everywhere(20, 20, 20, 20, 20));
      const ways = spaces.flatMap((space) => [
        way(space, 'near', 'outside4'),
        way(space, 'near', 'outside4', PORT + 1),
      ]);
      // 4 Mbit/s for 3 s: a quarter of it may pass, and the burst.
      const load = { packets: 1500, size: 1000, seconds: 3 };
      const counts = await arrivalsOf(lab.record, ways, load);
      for (const [index, space] of spaces.entries()) {
        const [passed = 0, free = 0] = counts.slice(2 * index, 2 * index + 2);
        expect(passed, space).toBeGreaterThan(0);
        expect(passed, space).toBeLessThan(free / 2);
      }
    });

    test('one that can not be read leaves in force what there was, and is named', async () => {
      write('network', networkQos({ egress: [{ dscp: 21 }] }));
      await expect.poll(() => marks(), SOON).toEqual(everywhere(21, 21, 21, 21, 21));
      write('network', networkQos({ egress: [{ dscp: 22, classifier: { to: [{}] } }] }));
      const status = async (): Promise<string> => {
        const config = ['--config', settingsFile(lab.record.name)];
        // For people, objects with the same words are one line.
        const words = heddleCommand(lab.record, ['status', '--json', ...config]);
        return (await runInside(lab.record, words)).stdout;
      };
      for (const space of spaces)
        await expect.poll(status, SOON).toContain(`NetworkQoS ${space}/gold`);
      expect(await marks()).toEqual(everywhere(21, 21, 21, 21, 21));
    });

    test('when they go their rows go, and packets have no mark', async () => {
      expect(await rows('n1')).not.toEqual([]);
      for (const name of ['egress', 'network']) rmSync(file(name));
      await expect.poll(() => marks(), SOON).toEqual(everywhere(0, 0, 0, 0, 0));
      for (const node of nodeNames(lab.record.nodes)) expect(await rows(node)).toEqual([]);
    });
  },
);
