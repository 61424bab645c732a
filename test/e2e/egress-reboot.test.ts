/** Egress addresses of a node that reboots, of both families, whose programs then start in any order: who answers for them, and as whom pods of another node are seen outside. */
import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { probe, type Endpoint } from '../../src/lab/connectivity.ts';
import { startDaemon } from '../../src/lab/daemons.ts';
import { outputInside } from '../../src/lab/exec.ts';
import { OUTSIDE } from '../../src/lab/node-facts.ts';
import { SERVER_PORT } from '../../src/lab/pods.ts';
import { labelNodes } from '../support/lab/egress-nodes.ts';
import { testLab, whyNoLab, type TestLab } from '../support/lab/lab.ts';
import { whileAskingForOwners, type Ownership } from '../support/lab/neighbour-owners.ts';
import { manifestsText, podOn, spaceObjects, type Space } from '../support/lab/network-spaces.ts';
import { whileSendingOut } from '../support/lab/sources-outside.ts';
import { Tenants } from '../support/lab/tenants.ts';
import { ownFolder } from '../support/run/left-behind.ts';

const SOON = { timeout: 90_000, interval: 200 };
const REBOOTED = 'n2';
const OTHER = 'n3';
const EGRESS = { v4: '172.18.0.60', v6: 'fd00:172:18::60' } as const;
const FAMILIES = ['v4', 'v6'] as const;
type Family = (typeof FAMILIES)[number];
/** On the default network, where OVN translates, and on primary ones of both layers, where the bridge does; each leaves with an address of one family. */
const SPACES: readonly Space[] = ['plain', 'routed', 'flat'];
const SENDERS = SPACES.flatMap((space) =>
  FAMILIES.map((family) => ({ space, family, pod: `${space}/${family}` })),
);
const EXPECTED = SENDERS.map(({ family }) => EGRESS[family]);
/** For so long nothing starts: longer than what writes rows and flows needs. */
const PAUSE_MS = 5000;

type Program = 'vswitchd' | 'nb' | 'sb' | 'northd' | 'controller' | 'daemon' | 'pause';
const ORDERS: readonly { readonly what: string; readonly order: readonly Program[] }[] = [
  {
    what: 'Open vSwitch and OVN long before the daemon',
    order: ['vswitchd', 'nb', 'sb', 'northd', 'controller', 'pause', 'daemon'],
  },
  {
    what: 'the daemon first of all',
    order: ['daemon', 'pause', 'vswitchd', 'nb', 'sb', 'northd', 'controller'],
  },
  {
    what: 'the daemon with its switch, long before OVN',
    order: ['vswitchd', 'daemon', 'pause', 'nb', 'sb', 'controller', 'northd'],
  },
  {
    what: 'ovs-vswitchd long after everything else',
    order: ['nb', 'sb', 'northd', 'controller', 'daemon', 'pause', 'vswitchd'],
  },
];

describe.skipIf(whyNoLab !== undefined).each(['shared', 'local'])(
  `egress addresses of a node that reboots, in %s gateway mode${whyNoLab === undefined ? '' : ` (${whyNoLab})`}`,
  { timeout: 300_000 },
  (mode) => {
    const folder = ownFolder(`heddle-egress-reboot-${mode}`);
    const daemonArguments = [`--gateway-mode=${mode}`, '--egressip-reachability-total-timeout=3'];
    let lab: TestLab;
    let tenants: Tenants;
    let ends: ReadonlyMap<string, Endpoint>;
    let macs: Readonly<Record<string, string>>;

    const on = (node: string, ...words: readonly string[]): Promise<string> =>
      outputInside(lab.record, ['on', node, ...words]);
    const namespaceOf = (pod: string): string => ends.get(pod)?.namespace ?? '';
    /** As whom the host outside sees each sender. */
    const seen = async (): Promise<readonly (string | undefined)[]> => {
      const results = await probe(
        lab.record,
        SENDERS.map(({ pod, family }) => ({
          from: namespaceOf(pod),
          to: OUTSIDE[family],
          port: SERVER_PORT,
          ping: false,
        })),
        1,
      );
      return results.map(({ answer }) => answer?.peer);
    };
    const has = async (node: string): Promise<boolean> => {
      const addresses = await on(node, 'ip', '-o', 'addr');
      return FAMILIES.every((family) => addresses.includes(` ${EGRESS[family]}/`));
    };
    const label = (...nodes: readonly string[]): void =>
      labelNodes(lab.record, { 'k8s.ovn.org/egress-assignable': '' }, nodes);
    const switchOff = (): Promise<string> =>
      outputInside(lab.record, ['lab-reboot', REBOOTED, 'bare']);
    const start = async (order: readonly Program[]): Promise<void> => {
      for (const program of order)
        if (program === 'pause') await pause(PAUSE_MS);
        else if (program === 'daemon') await startDaemon(lab.record, REBOOTED, daemonArguments);
        else await outputInside(lab.record, ['service', REBOOTED, 'start', program]);
    };
    const reboot = async (order: readonly Program[]): Promise<void> => {
      await switchOff();
      await start(order);
    };
    /** Who answered for the addresses meanwhile; nobody was seen as anybody else. */
    const during = async (
      what: string,
      happens: () => Promise<void>,
    ): Promise<ReadonlyMap<string, readonly Ownership[]>> => {
      const sendings = SENDERS.map(({ pod, family }) => ({
        from: namespaceOf(pod),
        to: OUTSIDE[family],
      }));
      let owners: ReadonlyMap<string, readonly Ownership[]> = new Map();
      const sources = await whileSendingOut(lab.record, sendings, async () => {
        owners = await whileAskingForOwners(
          lab.record,
          Object.values(EGRESS),
          `${mode}-${what.replaceAll(' ', '-')}`,
          happens,
        );
      });
      expect(sources.map((one) => Object.keys(one))).toEqual(EXPECTED.map((source) => [source]));
      return owners;
    };

    beforeAll(async () => {
      writeFileSync(
        join(folder, 'objects.yaml'),
        manifestsText(
          SPACES.flatMap((space) => [
            ...spaceObjects(space, { leaves: 'by-egress' }),
            ...FAMILIES.map((family) => podOn('n1', space, family)),
          ]),
        ),
      );
      writeFileSync(
        join(folder, 'egress-ips.yaml'),
        manifestsText(
          FAMILIES.map((family: Family) => ({
            apiVersion: 'k8s.ovn.org/v1',
            kind: 'EgressIP',
            metadata: { name: family },
            spec: {
              egressIPs: [EGRESS[family]],
              namespaceSelector: { matchLabels: { leaves: 'by-egress' } },
              podSelector: { matchLabels: { app: family } },
            },
          })),
        ),
      );
      lab = await testLab(`e2e-egress-reboot-${mode}`, { nodes: 3, families: 'dual' });
      tenants = new Tenants(lab.record, { folder, daemonArguments });
      // Who starts first manages the cluster.
      await startDaemon(lab.record, 'n1', daemonArguments);
      await tenants.start();
      // Alone: a server on a node would outlive its boot.
      const servers = [{ namespace: 'ext', name: 'outside' }];
      await outputInside(lab.record, ['lab-serve'], {
        input: JSON.stringify({ servers, port: SERVER_PORT }),
      });
      ends = new Map((await tenants.endpoints()).map((end) => [end.pod, end]));
      const macOf = async (node: string): Promise<string> =>
        (await on(node, 'cat', '/sys/class/net/breth0/address')).trim();
      macs = { [REBOOTED]: await macOf(REBOOTED), [OTHER]: await macOf(OTHER) };
    }, 180_000);
    afterAll(async () => {
      rmSync(folder, { recursive: true });
      await lab[Symbol.asyncDispose]();
    });

    beforeEach(async () => {
      label(REBOOTED);
      await expect.poll(() => has(REBOOTED), SOON).toBe(true);
      await expect.poll(seen, SOON).toEqual(EXPECTED);
    });

    test.each(ORDERS)('another node has them from then on: $what', async ({ what, order }) => {
      label(REBOOTED, OTHER);
      const owners = await during(what, async () => {
        await reboot(order);
        await expect.poll(() => has(OTHER), SOON).toBe(true);
        await expect.poll(seen, SOON).toEqual(EXPECTED);
        await expect.poll(() => has(REBOOTED), SOON).toBe(false);
        // What its programs still write is written.
        await tenants.settle();
        await pause(PAUSE_MS);
      });
      for (const [address, found] of owners)
        expect([address, ...found.map(({ mac }) => mac)]).toEqual([
          address,
          macs[REBOOTED],
          macs[OTHER],
        ]);
    });

    test.each(ORDERS.slice(0, 1))(
      'where no other node may have them, it has them again: $what',
      async ({ what, order }) => {
        const owners = await during(`alone ${what}`, async () => {
          await reboot(order);
          await expect.poll(() => has(REBOOTED), SOON).toBe(true);
          await expect.poll(seen, SOON).toEqual(EXPECTED);
        });
        for (const [address, found] of owners)
          expect([address, ...found.map(({ mac }) => mac)]).toEqual([address, macs[REBOOTED]]);
      },
    );

    test.each(ORDERS.slice(0, 2))(
      'where their EgressIPs are deleted while it is off, nobody answers for them: $what',
      async ({ what, order }) => {
        const path = join(tenants.manifests, 'egress-ips.yaml');
        const before = readFileSync(path, 'utf8');
        await switchOff();
        rmSync(path);
        try {
          const owners = await whileAskingForOwners(
            lab.record,
            Object.values(EGRESS),
            `${mode}-deleted-${what.replaceAll(' ', '-')}`,
            async () => {
              await start(order);
              await tenants.settle();
              await pause(PAUSE_MS);
            },
          );
          for (const [address, found] of owners) expect([address, ...found]).toEqual([address]);
        } finally {
          writeFileSync(path, before);
        }
      },
    );
  },
);
