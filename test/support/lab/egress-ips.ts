/** With which address pods of an EgressIP leave, with packets: on the default network and on primary ones of both layers, of both families, while addresses move. */
import { rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { probe, type Endpoint } from '../../../src/lab/connectivity.ts';
import { outputInside } from '../../../src/lab/exec.ts';
import { OUTSIDE } from '../../../src/lab/node-facts.ts';
import { serveOutward } from '../../../src/lab/outward.ts';
import { SERVER_PORT } from '../../../src/lab/pods.ts';
import { sendEnds } from './forgotten-connections.ts';
import { addCards, labelNodes, ON_CARD, statusText } from './egress-nodes.ts';
import { KeptStreams } from './kept-streams.ts';
import { stopDaemon } from './lab-daemons.ts';
import { testLab, whyNoLab, whyNoVirtualMachine, type TestLab } from './lab.ts';
import { nodeAddresses } from './matrix-tenants.ts';
import { ownFolder } from '../run/left-behind.ts';
import {
  manifestsText,
  pairObjects,
  podOn,
  podOnSecond,
  secondNetwork,
  spaceObjects,
  type Space,
} from './network-spaces.ts';
import { Tenants } from './tenants.ts';

const SOON = { timeout: 60_000, interval: 200 };
const SECONDS = 2;

export interface EgressIpCase {
  readonly mode: 'shared' | 'local';
  readonly spaces: readonly Space[];
  readonly kind: 'host' | 'vm';
}

const NODES = ['n1', 'n2'] as const;
type NodeName = (typeof NODES)[number];

const EGRESS = { v4: '172.18.0.50', v6: 'fd00:172:18::50' } as const;
type Family = keyof typeof EGRESS;

/** `label`: with which nothing selects the third one. */
const objectsOf = (namespace: Space, label = 'free'): readonly object[] => [
  ...spaceObjects(namespace, { leaves: 'fixed' }),
  podOn('n1', namespace, 'near'),
  podOn('n2', namespace, 'far'),
  podOn('n2', namespace, 'free', {}, label),
  // It has another network than they, and another namespace has addresses of both.
  ...(namespace === 'routed'
    ? [secondNetwork, podOnSecond('n2', 'far'), ...pairObjects({ leaves: 'fixed' })]
    : []),
];

const egressIp = (...egressIPs: readonly string[]): object => ({
  apiVersion: 'k8s.ovn.org/v1',
  kind: 'EgressIP',
  metadata: { name: 'fixed' },
  spec: {
    egressIPs,
    namespaceSelector: { matchLabels: { leaves: 'fixed' } },
    podSelector: { matchExpressions: [{ key: 'app', operator: 'NotIn', values: ['free'] }] },
  },
});

export function describeEgressIps({ mode, spaces, kind }: EgressIpCase): void {
  const reason = kind === 'vm' ? whyNoVirtualMachine : whyNoLab;
  const missing = reason === undefined ? '' : ` (${reason})`;
  describe.skipIf(reason !== undefined)(`egress IPs in ${mode} gateway mode${missing}`, () => {
    const folder = ownFolder(`heddle-egress-ips-${kind}-${mode}`);
    let lab: TestLab;
    let tenants: Tenants;
    let ends: readonly Endpoint[];

    const file = (): string => join(tenants.manifests, 'egress-ip.yaml');
    const label = (...labelled: readonly NodeName[]): void =>
      labelNodes(lab.record, { 'k8s.ovn.org/egress-assignable': '' }, labelled);

    /** As whom the host outside sees each pod: `plain/near 172.18.0.50`; `nobody` where nothing comes. */
    const seen = async (families: readonly Family[] = ['v4']): Promise<readonly string[]> => {
      const asked = ends.flatMap((end) => families.map((family) => ({ end, family })));
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
    const expected = (address: string, families: readonly Family[] = ['v4']): readonly string[] =>
      ends.flatMap(({ pod: key, node }) =>
        families.map((family) => {
          const ofNode = nodeAddresses(node as NodeName)[family === 'v4' ? 0 : 1];
          const own = address === 'egress' ? EGRESS[family] : address;
          return `${key} ${key.endsWith('/free') || address === 'node' ? ofNode : own}`;
        }),
      );

    const inOutside = (...words: readonly string[]): Promise<string> =>
      outputInside(lab.record, ['ip', 'netns', 'exec', 'ext', ...words]);
    /** Packets of pods that came to the host outside with another address than those. */
    const wrong = async (): Promise<readonly string[]> => {
      const listed = await inOutside('nft', 'list', 'set', 'inet', 'seen', 'others');
      return [...listed.matchAll(/([\d.]+) counter packets \d+/g)].map(([text]) => text);
    };
    /** Connections that were forgotten as an address moved end later. */
    const sendEndsOf = (pods: readonly Endpoint[], family: Family): Promise<void> =>
      sendEnds(
        lab.record,
        pods.map(({ namespace }) => namespace),
        [OUTSIDE[family]],
        SERVER_PORT,
      );
    const status = (): Promise<string> => statusText(lab.record);

    beforeAll(async () => {
      writeFileSync(
        join(folder, 'objects.yaml'),
        manifestsText(spaces.flatMap((space) => objectsOf(space))),
      );
      lab = await testLab(`e2e-egress-ips-${kind === 'vm' ? 'vm' : mode}`, {
        kind,
        nodes: 2,
        families: 'dual',
      });
      tenants = new Tenants(lab.record, {
        folder,
        daemonArguments: [`--gateway-mode=${mode}`],
      });
      await tenants.start();
      await serveOutward(lab.record);
      ends = await tenants.endpoints();
    }, 120_000);
    afterAll(async () => {
      rmSync(folder, { recursive: true });
      await lab[Symbol.asyncDispose]();
    });

    test('without one pods leave as their nodes', async () => {
      await expect.poll(() => seen(['v4', 'v6']), SOON).toEqual(expected('node', ['v4', 'v6']));
    });

    test('while no node may have its address nothing leaves, and its owner is told', async () => {
      writeFileSync(file(), manifestsText([egressIp(EGRESS.v4)]));
      await expect.poll(() => seen(), SOON).toEqual(expected('nobody'));
      await expect.poll(status, SOON).toContain('no assignable nodes for EgressIP: fixed');
      // It asks for no address of the other family.
      await expect.poll(() => seen(['v6']), SOON).toEqual(expected('node', ['v6']));
    });

    test('pods of the node that has it, and of others, leave with it, on every network', async () => {
      label('n1');
      await expect.poll(() => seen(), SOON).toEqual(expected('egress'));
    });

    test.runIf(spaces.includes('routed'))(
      'pods of two networks of a namespace, and of another one with the same addresses, leave with it at once, from one port, and get their own answers',
      async () => {
        const addressOf = (key: string): string | undefined =>
          ends.find((end) => end.pod === key)?.addresses[0];
        const pair = ends.filter(({ pod: key }) => key.startsWith('pair/'));
        const ofPair = pair.map(({ addresses: [one] }) => one);
        expect(new Set(ofPair).size).toBe(4);
        for (const key of ['routed/near', 'routed/far-second'])
          expect(ofPair).toContain(addressOf(key));
        const both = ends.filter(({ pod: key }) => /^(pair|routed)\/(?!free)/.test(key));
        for (const [node, sourcePort] of [
          ['n1', 40_001],
          ['n2', 40_002],
        ] as const) {
          label(node);
          await expect.poll(() => seen(), SOON).toEqual(expected('egress'));
          const results = await probe(
            lab.record,
            both.map(({ namespace }) => ({
              from: namespace,
              to: OUTSIDE.v4,
              port: SERVER_PORT,
              sourcePort,
              ping: true,
            })),
            SECONDS,
          );
          expect(
            both.map(({ pod: key }, index) => {
              const { answer = null, ping = null } = results[index] ?? {};
              return `${key} ${answer?.peer} ${ping === null ? 'no echo' : 'echo'}`;
            }),
          ).toEqual(both.map(({ pod: key }) => `${key} ${EGRESS.v4} echo`));
          // Outside they are one address: each has a port of its own there.
          expect(new Set(results.map(({ answer }) => answer?.peerPort)).size).toBe(both.length);
        }
      },
    );

    test('connections from before a pod came under it, or went from it, leave with no source but the one that is in force', async () => {
      label('n2');
      await expect.poll(() => seen(), SOON).toEqual(expected('egress'));
      const free = ends.filter(({ pod: key }) => key.endsWith('/free'));
      const pods = free.map(({ namespace }) => namespace);
      await using streams = await KeptStreams.start(lab.record, pods, OUTSIDE.v4);
      for (const [app, source] of [
        ['free', nodeAddresses('n2')[0]],
        ['taken', EGRESS.v4],
        ['free', nodeAddresses('n2')[0]],
      ] as const) {
        const objects = spaces.flatMap((space) => objectsOf(space, app));
        writeFileSync(join(tenants.manifests, 'objects.yaml'), manifestsText(objects));
        const only = pods.flatMap((_pod, index) =>
          ['tcp', 'udp'].map((protocol) => `${index} ${protocol} ${source}`),
        );
        await expect.poll(() => streams.sources(), SOON).toEqual(only);
        // And so it stays.
        for (let look = 0; look < 2; look += 1) expect(await streams.sources()).toEqual(only);
      }
    });

    test('while it moves, and daemons are killed, no packet leaves with another address, and it is at one place alone', async () => {
      const sources = [EGRESS.v4, nodeAddresses('n1')[0], nodeAddresses('n2')[0]];
      await inOutside('nft', 'add', 'table', 'inet', 'seen');
      await inOutside('nft', 'add chain inet seen input { type filter hook input priority 0; }');
      // Those of the pods that nothing selects are not sent meanwhile.
      const served = ends.filter(({ pod: key }) => !key.endsWith('/free'));
      await inOutside(
        'nft',
        'add set inet seen others { type ipv4_addr; flags dynamic; counter; }',
      );
      await inOutside(
        'nft',
        `add rule inet seen input tcp dport ${SERVER_PORT} ip saddr != ${sources[0]} update @others { ip saddr }`,
      );
      const ask = async (): Promise<readonly (string | null)[]> =>
        (
          await probe(
            lab.record,
            served.map(({ namespace }) => ({
              from: namespace,
              to: OUTSIDE.v4,
              port: SERVER_PORT,
              ping: false,
            })),
            1,
          )
        ).map(({ answer }) => answer?.peer ?? null);
      for (const [node, killed] of [['n2'], ['n1'], ['n2', 'n1'], ['n1', 'n1'], ['n2']] as const) {
        label(node);
        if (killed !== undefined) {
          await stopDaemon(lab.record, killed, 'kill');
          // Who has the address keeps it meanwhile, and nobody else gets it.
          await ask();
          await tenants.start();
        }
        // Packets go all the time until each pod is answered at its new place.
        const at = async (): Promise<string> => {
          await ask();
          const addresses = await Promise.all(
            NODES.map(async (name) => {
              const shown = await outputInside(lab.record, ['on', name, 'ip', '-o', 'addr']);
              return shown.includes(`${EGRESS.v4}/32`) ? name : '';
            }),
          );
          expect(addresses.filter((name) => name !== '').length).toBeLessThanOrEqual(1);
          return addresses.join('');
        };
        await expect.poll(at, SOON).toBe(node);
        await expect.poll(ask, SOON).toEqual(served.map(() => EGRESS.v4));
        await sendEndsOf(served, 'v4');
      }
      expect(await wrong()).toEqual([]);
    });

    test('one address of each family leaves by a node of its own', async () => {
      label('n1', 'n2');
      writeFileSync(file(), manifestsText([egressIp(EGRESS.v4, EGRESS.v6)]));
      await expect.poll(() => seen(['v4', 'v6']), SOON).toEqual(expected('egress', ['v4', 'v6']));
    });

    test('nodes that get another network card go on as they were', async () => {
      await addCards(lab.record, NODES);
      await inOutside('nft', 'add', 'table', 'inet', 'card');
      await inOutside('nft', 'add chain inet card input { type filter hook input priority 0; }');
      for (const [family, address] of Object.entries(ON_CARD)) {
        const ip = family === 'v4' ? 'ip' : 'ip6';
        await inOutside(
          'nft',
          `add set inet card ${ip}-others { type ip${family}_addr; flags dynamic; }`,
        );
        await inOutside(
          'nft',
          `add rule inet card input iifname cards tcp dport ${SERVER_PORT} ${ip} saddr != ${address} update @${ip}-others { ${ip} saddr }`,
        );
      }
      await expect.poll(() => seen(['v4', 'v6']), SOON).toEqual(expected('egress', ['v4', 'v6']));
    });

    test('by another network card pods of every network leave with an address of its network, also when it moves, and no other packet comes by that card', async () => {
      const wrongByCard = async (family: 'ip' | 'ip6'): Promise<readonly string[]> => {
        const listed = await inOutside('nft', 'list', 'set', 'inet', 'card', `${family}-others`);
        return (/elements = \{([^}]*)\}/.exec(listed)?.[1] ?? '')
          .split(',')
          .map((one) => one.trim())
          .filter((one) => one !== '');
      };
      for (const family of ['ip', 'ip6'])
        await inOutside('nft', 'flush', 'set', 'inet', 'card', `${family}-others`);
      label('n2');
      writeFileSync(file(), manifestsText([egressIp(ON_CARD.v4)]));
      const byCard = (family: Family): readonly string[] =>
        ends.map(({ pod: key, node }) => {
          const address = ON_CARD[family];
          const ofNode = nodeAddresses(node as NodeName)[family === 'v4' ? 0 : 1];
          return `${key} ${key.endsWith('/free') ? ofNode : address}`;
        });
      await expect.poll(() => seen(), SOON).toEqual(byCard('v4'));
      // The card of the node that has it goes: the other one gets it.
      label('n1', 'n2');
      await outputInside(lab.record, ['on', 'n2', 'ip', 'link', 'set', 'card', 'down']);
      await outputInside(lab.record, ['on', 'n2', 'ip', 'address', 'flush', 'dev', 'card']);
      const holders = async (): Promise<string> => {
        const shown = await Promise.all(
          NODES.map((name) => outputInside(lab.record, ['on', name, 'ip', '-o', 'addr'])),
        );
        return NODES.filter((_name, index) => shown[index]?.includes(`${ON_CARD.v4}/32`)).join();
      };
      await expect.poll(holders, SOON).toBe('n1');
      await expect.poll(() => seen(), SOON).toEqual(byCard('v4'));
      await sendEndsOf(ends, 'v4');
      // Afterwards nothing has an address of this family, and pods leave as their nodes.
      expect(await wrongByCard('ip')).toEqual([]);
      writeFileSync(file(), manifestsText([egressIp(ON_CARD.v6)]));
      await expect.poll(() => seen(['v6']), SOON).toEqual(byCard('v6'));
      await sendEndsOf(ends, 'v6');
      expect(await wrongByCard('ip6')).toEqual([]);
    });

    test('when it goes pods leave as their nodes, and nothing is left', async () => {
      rmSync(file(), { force: true });
      await expect.poll(() => seen(['v4', 'v6']), SOON).toEqual(expected('node', ['v4', 'v6']));
      // What was counted while it moved could have been seen.
      expect(await wrong()).not.toEqual([]);
      for (const node of NODES) {
        const shown = await outputInside(lab.record, ['on', node, 'ip', '-o', 'addr']);
        expect(shown).not.toContain(EGRESS.v4);
        expect(shown).not.toContain(EGRESS.v6);
        for (const address of Object.values(ON_CARD)) expect(shown).not.toContain(address);
        const rules = await outputInside(lab.record, ['on', node, 'ip', 'rule']);
        expect(rules).not.toMatch(/^(5999|6000):/m);
        for (const table of ['Logical_Router_Policy', 'NAT']) {
          const rows = await tenants.rows(node, 'OVN_Northbound', [table]);
          expect(rows.filter((row) => row.includes('fixed_'))).toEqual([]);
        }
      }
    });
  });
}
