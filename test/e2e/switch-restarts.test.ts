/** As whom pods are seen outside while the flows of the external bridge are gone: ovs-vswitchd and the daemon start in any order, somebody makes the bridge anew. */
import { rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { probe, type Endpoint } from '../../src/lab/connectivity.ts';
import { startDaemon } from '../../src/lab/daemons.ts';
import { outputInside } from '../../src/lab/exec.ts';
import { OUTSIDE } from '../../src/lab/node-facts.ts';
import { serveOutward } from '../../src/lab/outward.ts';
import { SERVER_PORT } from '../../src/lab/pods.ts';
import { labelNodes, statusText } from '../support/lab/egress-nodes.ts';
import { stopDaemon } from '../support/lab/lab-daemons.ts';
import { testLab, whyNoLab, type TestLab } from '../support/lab/lab.ts';
import { nodeAddresses } from '../support/lab/matrix-tenants.ts';
import {
  manifestsText,
  podOn,
  SPACES,
  spaceObjects,
  type Space,
} from '../support/lab/network-spaces.ts';
import { longestGap, whileSendingOut } from '../support/lab/sources-outside.ts';
import { Tenants } from '../support/lab/tenants.ts';
import { ownFolder } from '../support/run/left-behind.ts';

const SOON = { timeout: 60_000, interval: 200 };
const NODE = 'n1';
const EGRESS = { v4: '172.18.0.60', v6: 'fd00:172:18::60' } as const;
const FAMILIES = ['v4', 'v6'] as const;
/** For so long the bridge is without flows, where nobody writes any. */
const WITHOUT_MS = 4000;

interface Way {
  /** Namespace of pod `near`. */
  readonly from: Space | 'six';
  readonly family: (typeof FAMILIES)[number];
  /** As whom it is seen. */
  readonly source: string;
}
/** On the default network, and on a primary one; an EgressIP has one address on a node. */
const LEAVING: readonly Way[] = [
  { from: 'plain', family: 'v4', source: EGRESS.v4 },
  { from: 'flat', family: 'v4', source: EGRESS.v4 },
  { from: 'six', family: 'v6', source: EGRESS.v6 },
];
const CASES: readonly { readonly mode: 'shared' | 'local'; readonly ways: readonly Way[] }[] = [
  {
    mode: 'shared',
    ways: [
      ...LEAVING,
      { from: 'routed', family: 'v4', source: nodeAddresses(NODE)[0] },
      { from: 'routed', family: 'v6', source: nodeAddresses(NODE)[1] },
    ],
  },
  // Primary networks without an EgressIP leave by VRFs there, which this kernel need not have.
  { mode: 'local', ways: LEAVING },
];

describe.skipIf(whyNoLab !== undefined).each(CASES)(
  `an external bridge without flows in $mode gateway mode${whyNoLab === undefined ? '' : ` (${whyNoLab})`}`,
  { timeout: 240_000 },
  ({ mode, ways }) => {
    const folder = ownFolder(`heddle-switch-restarts-${mode}`);
    const daemonArguments = [`--gateway-mode=${mode}`];
    let lab: TestLab;
    let tenants: Tenants;
    let ends: ReadonlyMap<string, Endpoint>;

    const namespaceOf = ({ from }: Way): string => ends.get(`${from}/near`)?.namespace ?? '';
    const expected = ways.map(({ source }) => source);
    const seen = async (): Promise<readonly (string | undefined)[]> => {
      const asked = ways.map((way) => ({
        from: namespaceOf(way),
        to: OUTSIDE[way.family],
        port: SERVER_PORT,
        ping: false,
      }));
      return (await probe(lab.record, asked, 1)).map(({ answer }) => answer?.peer);
    };
    const service = (action: string, name: string): Promise<string> =>
      outputInside(lab.record, ['service', NODE, action, name]);
    const on = (...words: readonly string[]): Promise<string> =>
      outputInside(lab.record, ['on', NODE, ...words]);
    /** What happens, and that each pod is then seen as before; nobody was seen as anybody else meanwhile. */
    const during = async (what: string, happens: () => Promise<void>): Promise<void> => {
      const sendings = ways.map((way) => ({
        from: namespaceOf(way),
        to: OUTSIDE[way.family],
      }));
      const all = await whileSendingOut(lab.record, sendings, async () => {
        await happens();
        await expect.poll(seen, SOON).toEqual(expected);
      });
      expect(all.map((sources) => Object.keys(sources))).toEqual(
        expected.map((source) => [source]),
      );
      const gaps = all.map((sources, index) => longestGap(sources, expected[index] ?? ''));
      process.stdout.write(`${mode}, ${what}: ${JSON.stringify(gaps)} ms without\n`);
    };

    beforeAll(async () => {
      writeFileSync(
        join(folder, 'objects.yaml'),
        manifestsText([
          ...SPACES.flatMap((space) =>
            spaceObjects(space, space === 'routed' ? {} : { leaves: 'v4' }),
          ),
          {
            apiVersion: 'v1',
            kind: 'Namespace',
            metadata: { name: 'six', labels: { leaves: 'v6' } },
          },
          ...[...SPACES, 'six'].map((namespace) => podOn(NODE, namespace, 'near')),
          ...FAMILIES.map((family) => ({
            apiVersion: 'k8s.ovn.org/v1',
            kind: 'EgressIP',
            metadata: { name: family },
            spec: {
              egressIPs: [EGRESS[family]],
              namespaceSelector: { matchLabels: { leaves: family } },
            },
          })),
        ]),
      );
      lab = await testLab(`e2e-switch-restarts-${mode}`, { nodes: 2, families: 'dual' });
      tenants = new Tenants(lab.record, { folder, daemonArguments });
      await tenants.start();
      // Who started first manages the cluster, and goes on.
      await stopDaemon(lab.record, NODE);
      await tenants.start();
      await serveOutward(lab.record);
      ends = new Map((await tenants.endpoints()).map((end) => [end.pod, end]));
      labelNodes(lab.record, { 'k8s.ovn.org/egress-assignable': '' }, [NODE, 'n2']);
      labelNodes(lab.record, { 'k8s.ovn.org/egress-assignable': '' }, [NODE]);
    }, 120_000);
    beforeEach(async () => {
      await expect.poll(seen, SOON).toEqual(expected);
    });
    afterAll(async () => {
      rmSync(folder, { recursive: true });
      await lab[Symbol.asyncDispose]();
    });

    test.each(['kill', 'stop'])(
      'ovs-vswitchd that ends (%s) and starts again beside the daemon',
      async (how) => {
        await during(`ovs-vswitchd: ${how}, start`, async () => {
          await service(how, 'vswitchd');
          await service('start', 'vswitchd');
        });
      },
    );

    test('ovs-vswitchd that starts before the daemon does', async () => {
      await during('daemon and ovs-vswitchd: kill; ovs-vswitchd first', async () => {
        await stopDaemon(lab.record, NODE, 'kill');
        await service('kill', 'vswitchd');
        await service('start', 'vswitchd');
        await pause(WITHOUT_MS);
        await startDaemon(lab.record, NODE, daemonArguments);
      });
    });

    test('a daemon that starts before ovs-vswitchd does', async () => {
      await during('daemon and ovs-vswitchd: kill; daemon first', async () => {
        await stopDaemon(lab.record, NODE, 'kill');
        await service('kill', 'vswitchd');
        await startDaemon(lab.record, NODE, daemonArguments);
        await pause(WITHOUT_MS);
        await service('start', 'vswitchd');
      });
    });

    test('somebody deletes the external bridge: it comes back with what the host had there', async () => {
      const before = await on('ip', '-o', 'address', 'show', 'dev', 'breth0', 'scope', 'global');
      await during('bridge deleted', async () => {
        await on('ovs-vsctl', 'del-br', 'breth0');
        await expect
          .poll(() => on('ovs-vsctl', 'list-ports', 'breth0').catch(() => ''), SOON)
          .toContain('eth0');
      });
      const words = (text: string): readonly string[] =>
        [...text.matchAll(/inet6? (\S+)/g)].map(([, address]) => address ?? '').toSorted();
      await expect
        .poll(
          async () =>
            words(await on('ip', '-o', 'address', 'show', 'dev', 'breth0', 'scope', 'global')),
          SOON,
        )
        .toEqual(words(before));
    });

    test('somebody deletes the external bridge while it can’t be made again: that is told until it is back', async () => {
      // Once it was tried in vain, why.
      const told = async (): Promise<boolean> =>
        /external bridge breth0 was deleted|Open vSwitch has not taken eth0 into breth0/.test(
          await statusText(lab.record),
        );
      await expect.poll(told, SOON).toBe(false);
      await during('bridge deleted beside an ovs-vswitchd that is away', async () => {
        await service('kill', 'vswitchd');
        await on('ovs-vsctl', '--no-wait', 'del-br', 'breth0');
        await expect.poll(told, SOON).toBe(true);
        await service('start', 'vswitchd');
      });
      await expect.poll(told, SOON).toBe(false);
    });

    test('somebody deletes the external bridge while there is no daemon, and makes it again', async () => {
      await during('bridge made again without daemon', async () => {
        await stopDaemon(lab.record, NODE, 'kill');
        const type = (await on('ovs-vsctl', 'get', 'Bridge', 'breth0', 'datapath_type')).trim();
        await on('ovs-vsctl', 'del-br', 'breth0');
        await on(
          'sh',
          '-ec',
          `mac=$(cat /sys/class/net/eth0/address)
           ovs-vsctl add-br breth0 -- set Bridge breth0 datapath_type=${type} other_config:hwaddr="$mac" -- br-set-external-id breth0 bridge-uplink eth0 -- add-port breth0 eth0
           ip link set breth0 up
           ip address add ${nodeAddresses(NODE)[0]}/24 dev breth0
           ip address add ${nodeAddresses(NODE)[1]}/64 dev breth0 nodad
           ip route replace default via ${OUTSIDE.v4} dev breth0
           ip -6 route replace default via ${OUTSIDE.v6} dev breth0`,
        );
        await pause(WITHOUT_MS);
        await startDaemon(lab.record, NODE, daemonArguments);
      });
    });
  },
);
