/** By which next hops pods leave, with packets: pods of the default network and of primary ones of both layers, of both families. */
import { rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { probe, type Endpoint, type Probe } from '../../src/lab/connectivity.ts';
import { nodeNames } from '../../src/lab/paths.ts';
import { SERVER_PORT } from '../../src/lab/pods.ts';
import { statusText } from '../support/lab/egress-nodes.ts';
import { testLab, whyNoLab, type TestLab } from '../support/lab/lab.ts';
import { nodeAddresses } from '../support/lab/matrix-tenants.ts';
import { addHops, BEYOND, BfdSpeaker, HOPS, type Hop } from '../support/lab/next-hops.ts';
import { answersAt, countAnswers, STREAM_PORT, Streams } from '../support/lab/hop-streams.ts';
import { ownFolder } from '../support/run/left-behind.ts';
import {
  manifestsText,
  podOn,
  SPACES,
  spaceObjects,
  webService,
  webSlice,
  type Space,
} from '../support/lab/network-spaces.ts';
import { Tenants } from '../support/lab/tenants.ts';

const SOON = { timeout: 60_000, interval: 200 };
const SECONDS = 2;
const NODE_PORT = 30_300;
const STREAM_NODE_PORT = 30_310;
/** Of so many connections some go by each of two hops. */
const TRIES = 24;

interface Case {
  readonly mode: 'shared' | 'local';
  readonly spaces: readonly Space[];
}
const CASES: readonly Case[] = [
  { mode: 'shared', spaces: SPACES },
  // In local gateway mode networks of users leave by VRFs, which this kernel need not have.
  { mode: 'local', spaces: ['plain'] },
];

const clusterIp = (space: Space): string => `172.16.1.${211 + SPACES.indexOf(space)}`;

const streamIp = (space: Space): string => `172.16.1.${221 + SPACES.indexOf(space)}`;

const objectsOf = (namespace: Space): readonly object[] => [
  ...spaceObjects(namespace, { leaves: 'by-hops' }),
  podOn('n1', namespace, 'web'),
  webService(namespace, 'web', {
    clusterIp: clusterIp(namespace),
    nodePort: NODE_PORT + SPACES.indexOf(namespace),
  }),
  {
    apiVersion: 'v1',
    kind: 'Service',
    metadata: { namespace, name: 'stream' },
    spec: {
      type: 'NodePort',
      clusterIP: streamIp(namespace),
      clusterIPs: [streamIp(namespace)],
      externalTrafficPolicy: 'Local',
      selector: { app: 'web' },
      ports: [
        {
          name: 'stream',
          protocol: 'UDP',
          port: 80,
          targetPort: STREAM_PORT,
          nodePort: STREAM_NODE_PORT + SPACES.indexOf(namespace),
        },
      ],
    },
  },
];
const streamSlice = (end: Endpoint): object => {
  const slice = webSlice(end) as { metadata: { labels: object } };
  return {
    ...slice,
    metadata: {
      ...slice.metadata,
      name: 'stream',
      labels: { ...slice.metadata.labels, 'kubernetes.io/service-name': 'stream' },
    },
    ports: [{ name: 'stream', protocol: 'UDP', port: STREAM_PORT }],
  };
};

const ALL_HOPS = Object.keys(HOPS) as readonly Hop[];
const ROUTERS = { apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'routers' } };
/** Of another cluster's node, for the lab's: one shares the network of its host, the other is on a network that Multus gave it. */
const gatewayPod = (hop: Hop, isReady: boolean): object => {
  const ips = Object.values(HOPS[hop]);
  const isOnHost = hop === 'hop1';
  const networks = [{ name: 'routers/edge', interface: 'net1', ips }];
  return {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: {
      namespace: 'routers',
      name: hop,
      labels: { app: isOnHost ? 'on-host' : 'on-edge' },
      annotations: isOnHost
        ? {}
        : { 'k8s.v1.cni.cncf.io/network-status': JSON.stringify(networks) },
    },
    spec: {
      nodeName: 'elsewhere',
      hostNetwork: isOnHost,
      containers: [{ name: 'main', image: 'box' }],
    },
    status: {
      phase: 'Running',
      podIPs: isOnHost ? ips.map((ip) => ({ ip })) : [],
      conditions: [{ type: 'Ready', status: isReady ? 'True' : 'False' }],
    },
  };
};
const policyByPods = {
  apiVersion: 'k8s.ovn.org/v1',
  kind: 'AdminPolicyBasedExternalRoute',
  metadata: { name: 'by-hops' },
  spec: {
    from: { namespaceSelector: { matchLabels: { leaves: 'by-hops' } } },
    nextHops: {
      dynamic: [
        { podSelector: { matchLabels: { app: 'on-host' } }, namespaceSelector: {} },
        {
          podSelector: { matchLabels: { app: 'on-edge' } },
          namespaceSelector: {},
          networkAttachmentName: 'edge',
        },
      ],
    },
  },
};

describe.skipIf(whyNoLab !== undefined).each(CASES)(
  `external routes in $mode gateway mode${whyNoLab === undefined ? '' : ` (${whyNoLab})`}`,
  ({ mode, spaces }) => {
    const folder = ownFolder(`heddle-external-routes-${mode}`);
    let lab: TestLab;
    let tenants: Tenants;
    let ends: ReadonlyMap<string, Endpoint>;

    /** Who answers beyond to the pod of each namespace, over each family. */
    const answered = async (): Promise<Readonly<Record<string, readonly string[]>>> => {
      const families = ['v4', 'v6'] as const;
      const asked = spaces.flatMap((space) =>
        families.flatMap((family) =>
          Array.from({ length: TRIES }, (_, index): [string, Probe] => [
            `${space} ${family}`,
            {
              from: ends.get(`${space}/web`)?.namespace ?? '',
              to: BEYOND[family],
              port: SERVER_PORT,
              sourcePort: 41_000 + Math.trunc(Math.random() * 20_000) + index,
              ping: false,
            },
          ]),
        ),
      );
      const results = await probe(
        lab.record,
        asked.map(([, one]) => one),
        SECONDS,
      );
      const found: Record<string, Set<string>> = {};
      for (const [index, [who]] of asked.entries())
        (found[who] ??= new Set()).add(results[index]?.answer?.server ?? 'nobody');
      return Object.fromEntries(Object.entries(found).map(([who, by]) => [who, [...by].sort()]));
    };
    const everywhere = (...by: string[]): Readonly<Record<string, readonly string[]>> =>
      Object.fromEntries(
        spaces.flatMap((space) => ['v4', 'v6'].map((family) => [`${space} ${family}`, by])),
      );

    const file = (): string => join(tenants.manifests, 'external-routes.yaml');
    const write = (hops: readonly Hop[], bfdEnabled = false): void => {
      writeFileSync(
        file(),
        manifestsText([
          {
            apiVersion: 'k8s.ovn.org/v1',
            kind: 'AdminPolicyBasedExternalRoute',
            metadata: { name: 'by-hops' },
            spec: {
              from: { namespaceSelector: { matchLabels: { leaves: 'by-hops' } } },
              nextHops: {
                static: hops.flatMap((hop) =>
                  Object.values(HOPS[hop]).map((ip) => ({ ip, bfdEnabled })),
                ),
              },
            },
          },
        ]),
      );
    };
    const gateways = (): string => join(tenants.manifests, 'gateways.yaml');
    const rows = async (node: string): Promise<string[]> => [
      ...(await tenants.rows(node, 'OVN_Northbound', ['Logical_Router_Static_Route'])).filter(
        (row) => row.includes('ecmp_symmetric_reply'),
      ),
      ...(await tenants.rows(node, 'OVN_Northbound', ['BFD'])).filter((row) =>
        row.includes('rtoe-'),
      ),
    ];

    beforeAll(async () => {
      writeFileSync(join(folder, 'objects.yaml'), manifestsText(spaces.flatMap(objectsOf)));
      lab = await testLab(`e2e-external-routes-${mode}`, { nodes: 2, families: 'dual' });
      tenants = new Tenants(lab.record, {
        folder,
        daemonArguments: [`--gateway-mode=${mode}`],
      });
      await tenants.start();
      await addHops(lab.record, [nodeAddresses('n1')[0]]);
      writeFileSync(
        join(tenants.manifests, 'slices.yaml'),
        manifestsText(
          (await tenants.endpoints('default')).flatMap((end) => [webSlice(end), streamSlice(end)]),
        ),
      );
      ends = new Map((await tenants.endpoints()).map((one) => [one.pod, one]));
    }, 120_000);
    afterAll(async () => {
      rmSync(folder, { recursive: true });
      await lab[Symbol.asyncDispose]();
    });

    test('without one pods leave by the gateway of their node', async () => {
      await expect.poll(answered, SOON).toEqual(everywhere('ext'));
    });

    test('with one hop they leave by it alone', async () => {
      write(['hop1']);
      await expect.poll(answered, SOON).toEqual(everywhere('hop1'));
    });

    test('with two they leave by both', async () => {
      write(['hop1', 'hop2']);
      await expect.poll(answered, SOON).toEqual(everywhere('hop1', 'hop2'));
    });

    // In local gateway mode node ports are the host's, which answers by its own routes.
    test.skipIf(mode === 'local')(
      'who asks from behind a hop is answered by that hop',
      async () => {
        const asked = Object.keys(HOPS).flatMap((hop) =>
          spaces.flatMap((_, index) =>
            Array.from({ length: 6 }, () => ({
              from: hop,
              to: nodeAddresses('n1')[0],
              port: NODE_PORT + index,
              ping: false,
            })),
          ),
        );
        const answers = async (): Promise<readonly boolean[]> =>
          (await probe(lab.record, asked, SECONDS)).map(({ answer }) => answer !== null);
        await expect.poll(answers, SOON).toEqual(asked.map(() => true));
      },
    );

    test.skipIf(mode === 'local')(
      'when one of two goes what its clients are still told goes by the other, and those of the other notice nothing',
      async () => {
        const namespaces = spaces.map((space) => ends.get(`${space}/web`)?.namespace ?? '');
        const ports = spaces.map((_, index) => STREAM_NODE_PORT + index);
        const [first, second] = [41, 42].map((from) => ports.map((_, index) => from * 100 + index));
        if (first === undefined || second === undefined) return;
        await countAnswers(
          lab.record,
          [first, second].flatMap((all) =>
            all.map((from, index) => ({ from, nodePort: ports[index] ?? 0 })),
          ),
        );
        write(['hop1', 'hop2']);
        await using streams = new Streams(lab.record, namespaces);
        const node = nodeAddresses('n1')[0];
        const told = async (): Promise<Readonly<Record<Hop, readonly string[]>>> => ({
          hop1: await answersAt(lab.record, 'hop1'),
          hop2: await answersAt(lab.record, 'hop2'),
        });
        await expect
          .poll(async () => {
            for (const [index, port] of ports.entries()) {
              await streams.ask('hop1', first[index] ?? 0, node, port);
              await streams.ask('hop2', second[index] ?? 0, node, port);
            }
            return await told();
          }, SOON)
          .toEqual({
            hop1: first.map((from) => `same${from}`),
            hop2: second.map((from) => `same${from}`),
          });
        write(['hop2']);
        const other = first.map((from) => `other${from}`);
        const seen = new Set<string>();
        await expect
          .poll(async () => {
            const now = await told();
            for (const name of now.hop2) seen.add(name);
            return now;
          }, SOON)
          .toEqual({
            hop1: [],
            hop2: [...other, ...second.map((from) => `same${from}`)].toSorted(),
          });
        expect([...seen].toSorted()).toEqual(
          [...other, ...second.map((from) => `same${from}`)].toSorted(),
        );
      },
    );

    test('a hop that BFD does not reach is left to the other one, until it is there again', async () => {
      const one = new BfdSpeaker(lab.record, 'hop1');
      await using two = new BfdSpeaker(lab.record, 'hop2');
      await expect.poll(() => one.isSpeaking && two.isSpeaking, SOON).toBe(true);
      write(['hop1', 'hop2'], true);
      await expect.poll(answered, SOON).toEqual(everywhere('hop1', 'hop2'));
      const status = async (): Promise<number> =>
        (await tenants.rows('n1', 'OVN_Northbound', ['BFD'])).filter((row) =>
          row.split(',').includes('up'),
        ).length;
      await expect.poll(status, SOON).toBe(4);
      const asked = mode === 'local' ? [] : spaces.map((_, index) => 4300 + index);
      const pairs = asked.map((from, index) => ({ from, nodePort: STREAM_NODE_PORT + index }));
      const told = async (): Promise<Readonly<Record<Hop, readonly string[]>>> => ({
        hop1: await answersAt(lab.record, 'hop1'),
        hop2: await answersAt(lab.record, 'hop2'),
      });
      await countAnswers(lab.record, pairs);
      await using streams = new Streams(
        lab.record,
        asked.map((_, index) => ends.get(`${spaces[index]}/web`)?.namespace ?? ''),
      );
      await expect
        .poll(async () => {
          for (const { from, nodePort } of pairs)
            await streams.ask('hop1', from, nodeAddresses('n1')[0], nodePort);
          return await told();
        }, SOON)
        .toEqual({ hop1: asked.map((from) => `same${from}`), hop2: [] });
      await one[Symbol.asyncDispose]();
      await expect.poll(answered, SOON).toEqual(everywhere('hop2'));
      // What came by it is answered by the other one, too.
      await expect
        .poll(told, SOON)
        .toEqual({ hop1: [], hop2: asked.map((from) => `other${from}`) });
      const text = `next hop ${HOPS.hop1.v4} is not reached from node n1 by BFD`;
      await expect.poll(() => statusText(lab.record), SOON).toContain(text);
      expect(await statusText(lab.record)).not.toContain(HOPS.hop2.v4);
      await using again = new BfdSpeaker(lab.record, 'hop1');
      await expect.poll(() => again.isSpeaking, SOON).toBe(true);
      await expect.poll(() => statusText(lab.record), SOON).not.toContain(text);
      await expect.poll(answered, SOON).toEqual(everywhere('hop1', 'hop2'));
    });

    test('hops that are pods are used while they are ready: by the address of their host, and on a network of theirs', async () => {
      const pods = (...ready: readonly Hop[]): void => {
        writeFileSync(
          gateways(),
          manifestsText([ROUTERS, ...ALL_HOPS.map((hop) => gatewayPod(hop, ready.includes(hop)))]),
        );
      };
      pods('hop1', 'hop2');
      writeFileSync(file(), manifestsText([policyByPods]));
      await expect.poll(answered, SOON).toEqual(everywhere('hop1', 'hop2'));
      pods('hop2');
      await expect.poll(answered, SOON).toEqual(everywhere('hop2'));
      pods('hop1');
      await expect.poll(answered, SOON).toEqual(everywhere('hop1'));
      rmSync(gateways());
      await expect.poll(answered, SOON).toEqual(everywhere('ext'));
      write(['hop1']);
      await expect.poll(answered, SOON).toEqual(everywhere('hop1'));
    });

    test('when it goes its rows go, and pods leave by the gateway of their node', async () => {
      expect(await rows('n1')).not.toEqual([]);
      rmSync(file());
      await expect.poll(answered, SOON).toEqual(everywhere('ext'));
      for (const node of nodeNames(lab.record.nodes)) expect(await rows(node)).toEqual([]);
    });
  },
);
