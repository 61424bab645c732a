/** With which address pods of an EgressService leave, with packets: on the default network and on primary ones of both layers, of both families, while the node moves. */
import { rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { probe, type Endpoint } from '../../src/lab/connectivity.ts';
import { outputInside } from '../../src/lab/exec.ts';
import { OUTSIDE } from '../../src/lab/node-facts.ts';
import { serveOutward } from '../../src/lab/outward.ts';
import { SERVER_PORT } from '../../src/lab/pods.ts';
import { sendEnds } from '../support/lab/forgotten-connections.ts';
import {
  addCards,
  cutHealth,
  healHealth,
  labelNodes,
  statusText,
} from '../support/lab/egress-nodes.ts';
import { testLab, whyNoLab, type TestLab } from '../support/lab/lab.ts';
import { nodeAddresses } from '../support/lab/matrix-tenants.ts';
import { ownFolder } from '../support/run/left-behind.ts';
import {
  manifestsText,
  podOn,
  SPACES,
  spaceObjects,
  webSlice,
  type Space,
} from '../support/lab/network-spaces.ts';
import { Tenants } from '../support/lab/tenants.ts';

const SOON = { timeout: 60_000, interval: 200 };
const SECONDS = 2;

interface Case {
  readonly mode: 'shared' | 'local';
  readonly spaces: readonly Space[];
}
const CASES: readonly Case[] = [
  { mode: 'shared', spaces: SPACES },
  // In local gateway mode networks of users leave by VRFs, which this kernel need not have.
  { mode: 'local', spaces: ['plain'] },
];

type NodeName = 'n1' | 'n2';
const FAMILIES = ['v4', 'v6'] as const;
type Family = (typeof FAMILIES)[number];

/** Last part of the addresses of each namespace's service. */
const LAST = { plain: 61, routed: 62, flat: 63 } as const;
const PREFIXES = { v4: '172.18.0.', v6: 'fd00:172:18::' } as const;
const addressOf = (space: Space, family: Family): string => `${PREFIXES[family]}${LAST[space]}`;

const podsOf = (namespace: Space): readonly object[] =>
  (
    [
      ['n1', 'near', 'web'],
      ['n2', 'far', 'web'],
      // Not behind the service.
      ['n2', 'free', 'none'],
    ] as const
  ).map(([node, name, tier]) => {
    const pod = podOn(node, namespace, name) as { metadata: { labels: object } };
    return {
      ...pod,
      metadata: { ...pod.metadata, labels: { ...pod.metadata.labels, tier } },
    };
  });

/** That the administrator of the nodes keeps. */
const TABLE = '1200';

const serviceObjects = (
  namespace: Space,
  externalTrafficPolicy = 'Cluster',
  spec: object = {},
): readonly object[] => {
  const last = LAST[namespace];
  const clusterIPs = [`172.16.1.${last}`, `fd00:10:96::${last}`];
  return [
    {
      apiVersion: 'v1',
      kind: 'Service',
      metadata: { namespace, name: 'web' },
      spec: {
        type: 'LoadBalancer',
        externalTrafficPolicy,
        clusterIP: clusterIPs[0],
        clusterIPs,
        selector: { tier: 'web' },
        ports: [{ name: 'web', port: 80, targetPort: SERVER_PORT }],
      },
      status: {
        loadBalancer: { ingress: FAMILIES.map((family) => ({ ip: addressOf(namespace, family) })) },
      },
    },
    {
      apiVersion: 'k8s.ovn.org/v1',
      kind: 'EgressService',
      metadata: { namespace, name: 'web' },
      spec: {
        sourceIPBy: 'LoadBalancerIP',
        nodeSelector: { matchLabels: { leaves: 'here' } },
        ...spec,
      },
    },
  ];
};

describe.skipIf(whyNoLab !== undefined).each(CASES)(
  `egress services in $mode gateway mode${whyNoLab === undefined ? '' : ` (${whyNoLab})`}`,
  ({ mode, spaces }) => {
    const folder = ownFolder(`heddle-egress-services-${mode}`);
    let lab: TestLab;
    let tenants: Tenants;
    let ends: readonly Endpoint[];

    const file = (): string => join(tenants.manifests, 'egress-service.yaml');
    /** Where pods may leave. */
    const label = (...labelled: readonly NodeName[]): void =>
      labelNodes(lab.record, { leaves: 'here' }, labelled);
    const inOutside = (...words: readonly string[]): Promise<string> =>
      outputInside(lab.record, ['ip', 'netns', 'exec', 'ext', ...words]);
    /** As who announces the addresses from there, by whichever card of the node. */
    const announce = async (
      node: NodeName,
      dev = 'eth0',
      via: readonly string[] = nodeAddresses(node),
    ): Promise<void> => {
      for (const space of spaces)
        for (const [index, family] of FAMILIES.entries())
          await inOutside(
            'ip',
            'route',
            'replace',
            addressOf(space, family),
            'via',
            via[index] ?? '',
            'dev',
            dev,
            // Whatever network they are asked by.
            'src',
            OUTSIDE[family],
          );
    };

    /** As whom the host outside sees each pod: `plain/near 172.18.0.61`; `nobody` where nothing comes. */
    const seen = async (
      families: readonly Family[] = FAMILIES,
      of: readonly Endpoint[] = ends,
    ): Promise<readonly string[]> => {
      const asked = of.flatMap((end) => families.map((family) => ({ end, family })));
      const results = await probe(
        lab.record,
        asked.map(({ end, family }) => ({
          from: end.namespace,
          to: OUTSIDE[family],
          port: SERVER_PORT,
          ping: false,
        })),
        SECONDS,
      );
      return asked.map(
        ({ end }, index) => `${end.pod} ${results[index]?.answer?.peer ?? 'nobody'}`,
      );
    };
    const expected = (
      what: 'node' | 'nobody' | 'service',
      families: readonly Family[] = FAMILIES,
      of: readonly Endpoint[] = ends,
    ): readonly string[] =>
      of.flatMap(({ pod: key, node }) =>
        families.map((family) => {
          const ofNode = nodeAddresses(node as NodeName)[family === 'v4' ? 0 : 1];
          const own = what === 'nobody' ? what : addressOf(key.split('/')[0] as Space, family);
          return `${key} ${key.endsWith('/free') || what === 'node' ? ofNode : own}`;
        }),
      );
    /** Packets that a table of the host outside has counted. */
    const counted = async (table: string): Promise<number> => {
      const counters = await inOutside('nft', 'list', 'table', 'inet', table);
      return [...counters.matchAll(/packets (\d+)/g)].reduce(
        (sum, [, count]) => sum + Number(count),
        0,
      );
    };
    /** Those that came with another address than those of services. */
    const wrong = (): Promise<number> => counted('seen');
    /** Connections that were forgotten as the node moved end later. */
    const sendEndsOf = (pods: readonly Endpoint[]): Promise<void> =>
      sendEnds(
        lab.record,
        pods.map(({ namespace }) => namespace),
        Object.values(OUTSIDE),
        SERVER_PORT,
      );
    const status = (): Promise<string> => statusText(lab.record);

    beforeAll(async () => {
      writeFileSync(
        join(folder, 'objects.yaml'),
        manifestsText(spaces.flatMap((space) => [...spaceObjects(space), ...podsOf(space)])),
      );
      lab = await testLab(`e2e-egress-services-${mode}`, { nodes: 2, families: 'dual' });
      tenants = new Tenants(lab.record, {
        folder,
        // A node of a busy machine is silent for longer than the default of a second, and would lose its services.
        daemonArguments: [`--gateway-mode=${mode}`, '--egressip-reachability-total-timeout=5'],
      });
      await tenants.start();
      await serveOutward(lab.record);
      // Where a rule asks for connections they are followed, from the first one on.
      await inOutside('nft', 'add', 'table', 'inet', 'known');
      await inOutside('nft', 'add chain inet known input { type filter hook input priority 0; }');
      await inOutside('nft', 'add rule inet known input ct state established counter');
      ends = await tenants.endpoints();
    }, 120_000);
    afterAll(async () => {
      rmSync(folder, { recursive: true });
      await lab[Symbol.asyncDispose]();
    });

    test('without one pods leave as their nodes', async () => {
      await expect.poll(() => seen(), SOON).toEqual(expected('node'));
    });

    test('while no node was chosen nothing leaves, and its owner is told', async () => {
      writeFileSync(file(), manifestsText(spaces.flatMap((space) => serviceObjects(space))));
      await expect.poll(() => seen(), SOON).toEqual(expected('nobody'));
      await expect.poll(status, SOON).toContain('no suitable node for selector: leaves=here');
    });

    test('pods of the chosen node, and of others, leave with the address of their load balancer', async () => {
      await announce('n1');
      label('n1');
      await expect.poll(() => seen(), SOON).toEqual(expected('service'));
    });

    test('while the node moves no packet leaves with another address', async () => {
      // Those of the pods that no service has are not sent meanwhile: what was on its way of them has come by then.
      const served = ends.filter(({ pod: key }) => !key.endsWith('/free'));
      await seen(FAMILIES, served);
      await inOutside('nft', 'add', 'table', 'inet', 'seen');
      // A second try counts anew.
      await inOutside('nft', 'flush', 'table', 'inet', 'seen');
      await inOutside('nft', 'add chain inet seen input { type filter hook input priority 0; }');
      for (const [ip, family] of [
        ['ip', 'v4'],
        ['ip6', 'v6'],
      ] as const) {
        const sources = spaces.map((space) => addressOf(space, family)).join(', ');
        await inOutside(
          'nft',
          // What is sent again of a connection that was known before, as of pods that no service has, is none of it.
          `add rule inet seen input tcp dport ${SERVER_PORT} ${ip} saddr != { ${sources} } ct state != established counter`,
        );
      }
      for (const node of ['n2', 'n1', 'n2'] as const) {
        await announce(node);
        label(node);
        // Packets go all the time until each pod is answered at its new place.
        await expect
          .poll(() => seen(FAMILIES, served), SOON)
          .toEqual(expected('service', FAMILIES, served));
        await sendEndsOf(served);
      }
      expect(await wrong()).toBe(0);
    });

    test('with a local traffic policy they leave where endpoints are: by another node when the last one of a node goes, and when a node is not heard', async () => {
      const served = ends.filter(({ pod: key }) => !key.endsWith('/free'));
      const onDefault = await tenants.endpoints('default');
      const endpoints = (...nodes: readonly NodeName[]): void => {
        const slices = spaces.map((space) => {
          const all = onDefault
            .filter(({ pod: key }) => served.some((end) => end.pod === key))
            .filter(({ pod: key, node }) => {
              return key.startsWith(`${space}/`) && nodes.includes(node as NodeName);
            })
            .map((end) => webSlice(end) as { readonly endpoints: readonly object[] });
          return { ...all[0], endpoints: all.flatMap((slice) => slice.endpoints) };
        });
        writeFileSync(join(tenants.manifests, 'slices.yaml'), manifestsText(slices));
      };
      const leaveBy = async (node: NodeName): Promise<void> => {
        await announce(node);
        await expect
          .poll(() => seen(FAMILIES, served), SOON)
          .toEqual(expected('service', FAMILIES, served));
      };
      label('n1', 'n2');
      endpoints('n1');
      writeFileSync(
        file(),
        manifestsText(spaces.flatMap((space) => serviceObjects(space, 'Local'))),
      );
      await leaveBy('n1');
      endpoints('n2');
      await leaveBy('n2');
      // Both fit, and which is kept; only one is ready, and not heard.
      endpoints('n1', 'n2');
      await cutHealth(lab.record, 'n2');
      await leaveBy('n1');
      await healHealth(lab.record, 'n2');
      expect(await wrong()).toBe(0);
      rmSync(join(tenants.manifests, 'slices.yaml'));
    });

    describe('with a routing table', () => {
      const onCard = (node: string): readonly string[] => [
        `10.9.0.${node.slice(1)}`,
        `fd00:10:9::${node.slice(1)}`,
      ];
      const write = (spec: object): void =>
        writeFileSync(
          file(),
          manifestsText(spaces.flatMap((space) => serviceObjects(space, 'Cluster', spec))),
        );
      /** What services' pods sent to the host outside by another network than the table's. */
      const byOthers = (): Promise<number> => counted('ways');
      const countOthers = async (): Promise<void> => {
        await inOutside('nft', 'add', 'table', 'inet', 'ways');
        await inOutside('nft', 'flush', 'table', 'inet', 'ways');
        await inOutside('nft', 'add chain inet ways input { type filter hook input priority 0; }');
        for (const sent of [`dport ${SERVER_PORT}`, 'sport 80'])
          await inOutside('nft', `add rule inet ways input iifname != cards tcp ${sent} counter`);
      };

      beforeAll(async () => {
        await addCards(lab.record, ['n1', 'n2']);
        for (const node of ['n1', 'n2'])
          for (const words of [
            'ip route add default via 10.9.0.100 dev card table 1200',
            'ip -6 route add default via fd00:10:9::100 dev card table 1200',
            'sysctl -qw net.ipv4.conf.card.forwarding=1 net.ipv4.conf.card.rp_filter=2',
          ])
            await outputInside(lab.record, ['on', node, ...words.split(' ')]);
      });

      test('pods of every network leave by it with the address of their load balancer, also while the node moves', async () => {
        const served = ends.filter(({ pod: key }) => !key.endsWith('/free'));
        write({ network: TABLE });
        for (const node of ['n1', 'n2'] as const) {
          await announce(node, 'cards', onCard(node));
          label(node);
          await expect
            .poll(() => seen(FAMILIES, served), SOON)
            .toEqual(expected('service', FAMILIES, served));
          // From the moment when it is in force.
          if (node === 'n1') await countOthers();
          await sendEndsOf(served);
        }
        expect(await wrong()).toBe(0);
        expect(await byOthers()).toBe(0);
      });

      test('who asks the load balancer by its network is answered by it', async () => {
        const onDefault = await tenants.endpoints('default');
        const slices = spaces.map((space) =>
          webSlice(onDefault.find(({ pod: key }) => key === `${space}/far`) as Endpoint),
        );
        writeFileSync(join(tenants.manifests, 'slices.yaml'), manifestsText(slices));
        const answers = async (): Promise<readonly string[]> => {
          const results = await probe(
            lab.record,
            spaces.map((space) => ({
              from: 'ext',
              to: addressOf(space, 'v4'),
              port: 80,
              ping: false,
            })),
            SECONDS,
          );
          return results.map(({ answer }) => answer?.server ?? 'nobody');
        };
        await expect.poll(answers, SOON).toEqual(spaces.map((space) => `${space}/far`));
        expect(await byOthers()).toBe(0);
        rmSync(join(tenants.manifests, 'slices.yaml'));
      });

      test('by its network they leave by their own nodes, with the address that these have there', async () => {
        write({ network: TABLE, sourceIPBy: 'Network' });
        await expect
          .poll(() => seen(), SOON)
          .toEqual(
            ends.flatMap(({ pod: key, node }) =>
              FAMILIES.map((family) => {
                const free = key.endsWith('/free');
                const own = free ? nodeAddresses(node as NodeName) : onCard(node);
                return `${key} ${own[family === 'v4' ? 0 : 1]}`;
              }),
            ),
          );
      });
    });

    test('by its network they leave by their own nodes', async () => {
      const objects = spaces.flatMap((space) =>
        serviceObjects(space, 'Cluster', { sourceIPBy: 'Network', nodeSelector: {} }),
      );
      writeFileSync(file(), manifestsText(objects));
      await expect.poll(() => seen(), SOON).toEqual(expected('node'));
    });

    test('when it goes pods leave as their nodes, and nothing is left', async () => {
      rmSync(file(), { force: true });
      await expect.poll(() => seen(), SOON).toEqual(expected('node'));
      // What was counted while it moved could have been seen.
      expect(await wrong()).toBeGreaterThan(0);
      const left = async (node: string): Promise<string[]> => {
        const policies = await tenants.rows(node, 'OVN_Northbound', ['Logical_Router_Policy']);
        const list = ['on', node, 'nft', 'list', 'table', 'inet', 'ovn-kubernetes'];
        const table = await outputInside(lab.record, list);
        return [
          ...policies.filter((row) => row.includes('EgressSVC')),
          ...spaces.map((space) => addressOf(space, 'v4')).filter((one) => table.includes(one)),
        ];
      };
      // By their network they left as their nodes before it went.
      for (const node of ['n1', 'n2']) await expect.poll(() => left(node), SOON).toEqual([]);
    });
  },
);
