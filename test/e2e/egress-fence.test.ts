/** Egress addresses of a node whose daemon alone is gone, while its host goes on: with packets, and with who answers for them. */
import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { parseAllDocuments } from 'yaml';
import { probe, type Endpoint } from '../../src/lab/connectivity.ts';
import { outputInside } from '../../src/lab/exec.ts';
import { manifestsFolder, OUTSIDE } from '../../src/lab/node-facts.ts';
import { serveOutward } from '../../src/lab/outward.ts';
import { SERVER_PORT } from '../../src/lab/pods.ts';
import { whileSendingDatagrams } from '../support/lab/datagram-streams.ts';
import { addCards, ON_CARD } from '../support/lab/egress-nodes.ts';
import { stopDaemon } from '../support/lab/lab-daemons.ts';
import { testLab, whyNoLab, type TestLab } from '../support/lab/lab.ts';
import { whileAskingForOwners, type Ownership } from '../support/lab/neighbour-owners.ts';
import { nodeAddresses } from '../support/lab/matrix-tenants.ts';
import { manifestsText, podOn, spaceObjects } from '../support/lab/network-spaces.ts';
import { proofOf } from '../support/lab/proof.ts';
import { Tenants } from '../support/lab/tenants.ts';
import { ownFolder } from '../support/run/left-behind.ts';

const SOON = { timeout: 60_000, interval: 200 };
const EGRESS = { v4: '172.18.0.60', v6: 'fd00:172:18::60' } as const;
const NODES = ['n1', 'n2'] as const;
type NodeName = (typeof NODES)[number];
/** Seconds after which the data plane lets go by itself (docs/decisions/egress-health.md). */
const FENCE = 30;
/** On the default network, and on a primary one; they leave with IPv4. */
const LEAVING = ['plain', 'flat'] as const;

/** By another network card: the default network and a primary one with IPv4, the default one with IPv6; the first two also from the node that has the address. */
const BY_CARD = ['carded', 'routed', 'carded6'] as const;

/** As long as it is open. */
const OPEN = /priority=100 actions=/;

/** Both modes have the same fence: `HEDDLE_TEST_GATEWAY_MODE=local` is the other one. */
const mode = process.env['HEDDLE_TEST_GATEWAY_MODE'] ?? 'shared';

describe.skipIf(whyNoLab !== undefined)(
  `egress addresses of a node without its daemon, in ${mode} gateway mode${whyNoLab === undefined ? '' : ` (${whyNoLab})`}`,
  { timeout: 240_000 },
  () => {
    const folder = ownFolder(`heddle-egress-fence-${mode}`);
    let lab: TestLab;
    let tenants: Tenants;
    let ends: readonly Endpoint[];
    let macs: Readonly<Record<NodeName, string>>;

    const on = (node: NodeName, ...words: readonly string[]): Promise<string> =>
      outputInside(lab.record, ['on', node, ...words]);
    const label = (...labelled: readonly NodeName[]): void => {
      const path = join(manifestsFolder(lab.record.name), 'nodes.yaml');
      const nodes = parseAllDocuments(readFileSync(path, 'utf8')).map(
        (document) => document.toJS() as { metadata: { name: NodeName; labels?: object } },
      );
      for (const { metadata } of nodes)
        metadata.labels = {
          'kubernetes.io/hostname': metadata.name,
          ...(labelled.includes(metadata.name) ? { 'k8s.ovn.org/egress-assignable': '' } : {}),
        };
      writeFileSync(path, manifestsText(nodes));
    };
    const egressIp = (name: string, address: string, leaves: string): object => ({
      apiVersion: 'k8s.ovn.org/v1',
      kind: 'EgressIP',
      metadata: { name },
      spec: { egressIPs: [address], namespaceSelector: { matchLabels: { leaves } } },
    });
    const near = (...namespaces: readonly string[]): readonly Endpoint[] =>
      ends.filter(
        ({ node, pod }) => node === 'n1' && namespaces.includes(pod.split('/', 1)[0] ?? ''),
      );
    /** As whom the host outside sees the pods of the first node. */
    const seen = async (): Promise<readonly (string | undefined)[]> => {
      const results = await probe(
        lab.record,
        [...near(...LEAVING), ...near('six')].map(({ namespace }, index) => ({
          from: namespace,
          to: index < LEAVING.length ? OUTSIDE.v4 : OUTSIDE.v6,
          port: SERVER_PORT,
          ping: false,
        })),
        1,
      );
      return results.map(({ answer }) => answer?.peer);
    };
    const ALL_SEEN = [EGRESS.v4, EGRESS.v4, EGRESS.v6];
    const has = async (node: NodeName): Promise<boolean> => {
      const addresses = await on(node, 'ip', '-o', 'addr');
      return addresses.includes(`${EGRESS.v4}/32`) && addresses.includes(`${EGRESS.v6}/128`);
    };
    /** What lets egress addresses of the second node pass. */
    const fence = async (): Promise<string> =>
      (await on('n2', 'ovs-ofctl', 'dump-flows', 'breth0', 'table=12'))
        .split('\n')
        .find((line) => OPEN.test(line)) ?? '';
    /** Streams of pods with egress addresses at the first node, and of one without at the second; who answers for the addresses meanwhile. */
    const during = async (what: string, run: () => Promise<void>) => {
      const others = ends.filter(({ node, pod }) => node === 'n2' && pod.startsWith('free/'));
      return sending(what, [EGRESS.v4, EGRESS.v6], run, [
        ...near(...LEAVING).map(({ namespace }) => ({ from: namespace, to: OUTSIDE.v4 })),
        ...near('six').map(({ namespace }) => ({ from: namespace, to: OUTSIDE.v6 })),
        ...others.map(({ namespace }) => ({ from: namespace, to: OUTSIDE.v4 })),
      ]);
    };
    const sending = async (
      what: string,
      addresses: readonly string[],
      run: () => Promise<void>,
      asked: readonly { readonly from: string; readonly to: string }[],
    ) => {
      let sent: Awaited<ReturnType<typeof whileSendingDatagrams>> | undefined;
      const owners = await whileAskingForOwners(
        lab.record,
        addresses,
        `${mode}-${what}`,
        async () => {
          sent = await whileSendingDatagrams(lab.record, asked, 5, run);
        },
      );
      if (sent === undefined) throw new Error('nothing was sent');
      return { ...sent, owners };
    };
    const sourcesExpected = (sources: Readonly<Record<string, number>>): void =>
      expect(Object.keys(sources).toSorted()).toEqual(
        [EGRESS.v4, EGRESS.v6, nodeAddresses('n2')[0] ?? ''].toSorted(),
      );
    /** Of one node first, and then of the other: never both, and never back. */
    const expectMoved = (owners: ReadonlyMap<string, readonly Ownership[]>): void => {
      for (const [address, found] of owners) {
        expect([address, ...found.map(({ mac }) => mac)]).toEqual([address, macs.n2, macs.n1]);
        const [before, after] = found;
        expect((after?.from ?? 0) - (before?.to ?? 0)).toBeGreaterThan(0);
      }
    };

    beforeAll(async () => {
      writeFileSync(
        join(folder, 'objects.yaml'),
        manifestsText([
          ...LEAVING.flatMap((namespace) => [
            ...spaceObjects(namespace, { leaves: 'v4' }),
            podOn('n1', namespace, 'near'),
          ]),
          {
            apiVersion: 'v1',
            kind: 'Namespace',
            metadata: { name: 'six', labels: { leaves: 'v6' } },
          },
          podOn('n1', 'six', 'near'),
          { apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'free' } },
          podOn('n2', 'free', 'far'),
          ...spaceObjects('routed', { leaves: 'card' }),
          ...['carded', 'carded6'].map((name) => ({
            apiVersion: 'v1',
            kind: 'Namespace',
            metadata: { name, labels: { leaves: name.replace('carded', 'card') } },
          })),
          ...BY_CARD.flatMap((namespace) => [
            podOn('n1', namespace, 'near'),
            podOn('n2', namespace, 'own'),
          ]),
          ...(['v4', 'v6'] as const).map((family) => egressIp(family, EGRESS[family], family)),
        ]),
      );
      lab = await testLab(`e2e-egress-fence-${mode}`, { nodes: 2, families: 'dual' });
      tenants = new Tenants(lab.record, {
        folder,
        daemonArguments: [`--gateway-mode=${mode}`, '--egressip-reachability-total-timeout=3'],
      });
      await tenants.start();
      // Who started first manages the cluster, and goes on.
      await stopDaemon(lab.record, 'n2');
      await tenants.start();
      await serveOutward(lab.record);
      ends = await tenants.endpoints();
      const macOf = async (node: NodeName): Promise<string> =>
        (await on(node, 'cat', '/sys/class/net/breth0/address')).trim();
      macs = { n1: await macOf('n1'), n2: await macOf('n2') };
    }, 120_000);
    afterAll(async () => {
      rmSync(folder, { recursive: true });
      await lab[Symbol.asyncDispose]();
    });

    test('where no other node could have its addresses what lets them pass does not end', async () => {
      label('n2');
      await expect.poll(() => has('n2'), SOON).toBe(true);
      await expect.poll(fence, SOON).toMatch(OPEN);
      await expect.poll(fence, SOON).not.toContain('hard_timeout');
      label('n1', 'n2');
      await expect.poll(fence, SOON).toContain(`hard_timeout=${FENCE}`);
      await expect.poll(seen, SOON).toEqual(ALL_SEEN);
      // Networks are as far apart as without it.
      await expect
        .poll(async () => (await proofOf(lab.record, 'n2')).verdict.violations, SOON)
        .toEqual([]);
    });

    test('a daemon that is killed and starts again loses no packet', async () => {
      const { streams, sources, owners } = await during('restart', async () => {
        await stopDaemon(lab.record, 'n2', 'kill');
        await tenants.start();
        const began = performance.now();
        // It has opened the fence itself.
        await expect
          .poll(async () => Number(/ duration=([\d.]+)s/.exec(await fence())?.[1]), SOON)
          .toSatisfy((age: number) => 1000 * age < performance.now() - began);
      });
      expect(streams.map(({ lost }) => lost)).toEqual(streams.map(() => []));
      sourcesExpected(sources);
      for (const found of owners.values()) expect(found.map(({ mac }) => mac)).toEqual([macs.n2]);
    });

    test('a daemon that is killed, and does not come back, keeps no address', async () => {
      let took = 0;
      const { streams, sources, owners } = await during('killed', async () => {
        const began = performance.now();
        await stopDaemon(lab.record, 'n2', 'kill');
        await expect.poll(() => has('n1'), { timeout: 90_000, interval: 100 }).toBe(true);
        took = performance.now() - began;
        await expect.poll(seen, SOON).toEqual(ALL_SEEN);
      });
      expect(took).toBeGreaterThan(1000 * (FENCE - FENCE / 3));
      expectMoved(owners);
      sourcesExpected(sources);
      // Who has no egress address loses nothing.
      expect(streams.at(-1)?.lost).toEqual([]);
      for (const { sent } of streams) expect(sent).toBeGreaterThan(100);
      // It comes back, and takes nothing.
      const back = await during('back', async () => {
        await tenants.start();
        await expect.poll(() => has('n2'), SOON).toBe(false);
      });
      expect(back.streams.map(({ lost }) => lost)).toEqual(back.streams.map(() => []));
      sourcesExpected(back.sources);
      for (const found of back.owners.values())
        expect(found.map(({ mac }) => mac)).toEqual([macs.n1]);
    });

    describe('at another network card', () => {
      const addresses = Object.values(ON_CARD);
      /** The host outside has these in the network of the cards. */
      const to = { carded: '10.9.0.100', routed: '10.9.0.100', carded6: 'fd00:10:9::100' } as const;
      const streamsOf = (node: NodeName) =>
        BY_CARD.flatMap((space) =>
          ends
            .filter((end) => end.node === node && end.pod.startsWith(`${space}/`))
            .map(({ namespace }) => ({ from: namespace, to: to[space] })),
        );
      const onCard = (node: NodeName): Promise<string> =>
        on(node, 'ip', 'address', 'show', 'dev', 'card');
      const hasAll = async (node: NodeName): Promise<boolean> => {
        const shown = await onCard(node);
        return addresses.every((address) => shown.includes(` ${address}/`));
      };
      /** Of each egress address there, how long it is there for yet. */
      const lifetimes = async (): Promise<readonly (string | undefined)[]> => {
        const shown = await onCard('n2');
        return addresses.map(
          (address) => new RegExp(` ${address}/.*\\n\\s+valid_lft (forever|\\d+)`).exec(shown)?.[1],
        );
      };
      /** The daemon that is there has renewed them, and all that it is for is on the host. */
      const renewed = async (): Promise<void> => {
        await tenants.settle();
        for (const isRight of [(left: number) => left < 25, (left: number) => left > 26])
          await expect
            .poll(lifetimes, { timeout: 60_000, interval: 200 })
            .toSatisfy((found: readonly (string | undefined)[]) =>
              found.every((seconds) => isRight(Number(seconds))),
            );
      };
      const cardMac = async (node: NodeName): Promise<string> =>
        (await on(node, 'cat', '/sys/class/net/card/address')).trim();
      const outside = (...words: readonly string[]): Promise<string> =>
        outputInside(lab.record, ['ip', 'netns', 'exec', 'ext', ...words]);

      beforeAll(async () => {
        await addCards(lab.record, NODES);
        macs = { n1: await cardMac('n1'), n2: await cardMac('n2') };
        label('n2');
        writeFileSync(
          join(tenants.manifests, 'by-card.yaml'),
          manifestsText([
            egressIp('card', ON_CARD.v4, 'card'),
            egressIp('card6', ON_CARD.v6, 'card6'),
          ]),
        );
      });

      test('the kernel has them for good where no other node could have them, and for so long where one could', async () => {
        await expect.poll(lifetimes, SOON).toEqual(['forever', 'forever']);
        label('n1', 'n2');
        await expect
          .poll(lifetimes, SOON)
          .toSatisfy((found: readonly (string | undefined)[]) =>
            found.every((seconds) => Number(seconds) > 0 && Number(seconds) <= FENCE),
          );
        await renewed();
      });

      test('a daemon that is killed and starts again loses no packet, and moves none', async () => {
        const { streams, sources, owners } = await sending(
          'card-restart',
          addresses,
          async () => {
            await stopDaemon(lab.record, 'n2', 'kill');
            await tenants.start();
            await renewed();
          },
          [...streamsOf('n1'), ...streamsOf('n2')],
        );
        expect(streams.map(({ lost }) => lost)).toEqual(streams.map(() => []));
        expect(Object.keys(sources).toSorted()).toEqual(addresses.toSorted());
        for (const found of owners.values()) expect(found.map(({ mac }) => mac)).toEqual([macs.n2]);
      });

      test('a daemon that is killed, and does not come back, keeps none: the kernel takes them away, and nothing leaves with them there', async () => {
        await outside('nft', 'add', 'table', 'inet', 'late');
        await outside('nft', 'add chain inet late in { type filter hook input priority 0; }');
        const { streams, sources, owners } = await sending(
          'card-killed',
          addresses,
          async () => {
            await stopDaemon(lab.record, 'n2', 'kill');
            await expect.poll(() => hasAll('n2'), { timeout: 60_000, interval: 100 }).toBe(false);
            await expect.poll(lifetimes, SOON).toEqual([undefined, undefined]);
            // From now on another node may have them at any moment.
            for (const ip of ['ip', 'ip6'])
              await outside(
                'nft',
                `add rule inet late in ether saddr ${macs.n2} ${ip} saddr ${ip === 'ip' ? ON_CARD.v4 : ON_CARD.v6} counter`,
              );
            await expect.poll(() => hasAll('n1'), { timeout: 90_000, interval: 100 }).toBe(true);
            await expect.poll(seenByCard, SOON).toEqual([ON_CARD.v4, ON_CARD.v4, ON_CARD.v6]);
          },
          [...streamsOf('n1'), ...streamsOf('n2')],
        );
        expectMoved(owners);
        expect(Object.keys(sources).toSorted()).toEqual(addresses.toSorted());
        for (const { sent } of streams) expect(sent).toBeGreaterThan(100);
        expect(await outside('nft', 'list', 'table', 'inet', 'late')).not.toMatch(/packets [1-9]/);
      });

      test('one that comes back takes none, and its pods leave by the other node', async () => {
        await tenants.start();
        const { sources, owners } = await sending(
          'card-back',
          addresses,
          async () => {
            await expect.poll(() => hasAll('n1'), SOON).toBe(true);
            expect(await lifetimes()).toEqual([undefined, undefined]);
          },
          [...streamsOf('n1'), ...streamsOf('n2')],
        );
        expect(Object.keys(sources).toSorted()).toEqual(addresses.toSorted());
        for (const found of owners.values()) expect(found.map(({ mac }) => mac)).toEqual([macs.n1]);
      });

      async function seenByCard(): Promise<readonly (string | undefined)[]> {
        const results = await probe(
          lab.record,
          streamsOf('n1').map((one) => ({ ...one, port: SERVER_PORT, ping: false })),
          1,
        );
        return results.map(({ answer }) => answer?.peer);
      }
    });
  },
);
