/**
 * A virtual machine of KubeVirt on a primary Layer2 network whose move ends with a node: that which it leaves, or that which it was to get to. With
 * packets between its guest and a pod of a third node.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { runInside } from '../../src/lab/exec.ts';
import { whileStreaming, type Streamed } from '../support/host/streams.ts';
import {
  announceGuest,
  askByDhcp,
  prepareGuest,
  runGuest,
  startGuest,
} from '../support/lab/guests.ts';
import { namespace } from '../support/lab/host-tenants.ts';
import { whyNoLab } from '../support/lab/lab.ts';
import { loseNode, regainNode } from '../support/lab/lost-nodes.ts';
import { MachineLab } from '../support/lab/machine-lab.ts';
import { claiming, ipamClaim, launcherPod, persistentNetwork } from '../support/lab/machines.ts';
import { podOn } from '../support/lab/network-spaces.ts';

/** Limits of waits for a condition; how long it takes is not what is tested here. */
const SOON = { timeout: 60_000 };
/** Milliseconds for which packets are counted behind what happens. */
const MOMENT_MS = 2000;
const SPACE = 'vms';
const GUEST = 'guest-loss';
const CLAIM = 'vm.flat';
const ARRIVED = { 'kubevirt.io/migration-target-ready-timestamp': '2026-01-01T00:00:00Z' };

/** Pods of the machine, in the order in which they are made. */
const launcher = (name: string, nodeName: string, annotations: object = {}): object =>
  launcherPod({
    namespace: SPACE,
    name,
    nodeName,
    machine: 'vm',
    day: 'abcdef'.indexOf(name) + 1,
    annotations: { ...claiming(CLAIM), ...annotations },
  });

describe.skipIf(whyNoLab !== undefined)(
  `a virtual machine that moves when a node is lost${whyNoLab === undefined ? '' : ` (${whyNoLab})`}`,
  { timeout: 240_000 },
  () => {
    let lab: MachineLab;
    let address: string;

    /** The guest talks to the partner all the time; it is never answered twice, and its connection lasts. */
    async function streaming(
      during: (answered: () => Promise<void>) => Promise<void>,
    ): Promise<Streamed> {
      const [streamed] = await whileStreaming(
        lab.record,
        [{ from: GUEST, to: 'partner', address: lab.end('partner').address }],
        during,
        (who) => (who === GUEST ? ['ip', 'netns', 'exec', who] : ['pod', `${SPACE}/${who}`]),
      );
      if (streamed === undefined) throw new Error('nothing was streamed');
      expect(streamed).toMatchObject({ broken: 0, twice: 0 });
      return streamed;
    }
    /** How often the partner is answered by the machine when it asks five times. */
    const answersToPartner = async (): Promise<number> => {
      const ping = ['ping', '-n', '-c', '5', '-i', '0.2', '-W', '1', address];
      const { stdout } = await runInside(lab.record, ['pod', `${SPACE}/partner`, ...ping]);
      return [...stdout.matchAll(/bytes from/g)].length;
    };
    /** The guest starts in a pod that has nothing of it. */
    const boot = async (name: string): Promise<void> => {
      const end = lab.end(name);
      await startGuest(lab.record, GUEST, end.mac);
      await prepareGuest(lab.record, GUEST, end);
      await runGuest(lab.record, GUEST, end);
      expect(await askByDhcp(lab.record, GUEST)).toMatchObject({ ip: end.address });
    };
    /** A pod to which the machine is to move. */
    const prepare = async (name: string, node: string): Promise<void> => {
      lab.declare(name, launcher(name, node));
      await lab.tenants.settle();
      await prepareGuest(lab.record, GUEST, lab.end(name));
    };
    /** It starts again; what it has of pods that are gone goes, and nobody hears of it meanwhile. */
    const comesBack = async (node: string, gone: readonly string[]): Promise<void> => {
      await regainNode(lab.record, node);
      await lab.startDaemons();
      await lab.tenants.settle();
      for (const pod of gone) {
        await expect.poll(() => lab.knowing(pod), SOON).toEqual([]);
        await expect.poll(() => lab.tenants.mentions(`flat_${SPACE}_${pod}`), SOON).toEqual([]);
      }
    };

    beforeAll(async () => {
      lab = await MachineLab.start({
        name: 'e2e-machine-loss',
        nodes: 3,
        nad: `${SPACE}/flat`,
        objects: [
          namespace(SPACE),
          persistentNetwork(SPACE, 'flat', ['10.82.0.0/16', 'fd82::/64']),
          ipamClaim(SPACE, CLAIM, `${SPACE}_flat`),
          podOn('n3', SPACE, 'partner'),
        ],
      });
      lab.declare('a', launcher('a', 'n1'));
      await lab.tenants.settle();
      address = lab.end('a').address;
      await boot('a');
    });
    afterAll(async () => {
      await lab[Symbol.asyncDispose]();
    });

    test('has arrived when the node that it leaves is lost: it goes on where it is, with its connections', async () => {
      await prepare('b', 'n2');
      const streamed = await streaming(async (answered) => {
        await runGuest(lab.record, GUEST, lab.end('b'), lab.end('a'));
        await loseNode(lab.record, 'n1');
        lab.declare('b', launcher('b', 'n2', ARRIVED));
        await announceGuest(lab.record, GUEST, address);
        for (const node of ['n2', 'n3'])
          await expect
            .poll(() => lab.enabled(node, 'a', 'b'), SOON)
            .toEqual({ a: 'false', b: 'true' });
        await answered();
        lab.withdraw('a');
        for (const node of ['n2', 'n3'])
          await expect.poll(() => lab.enabled(node, 'a', 'b'), SOON).toEqual({ b: '[]' });
        await sleep(MOMENT_MS);
      });
      process.stderr.write(`a move whose source was lost: ${lossOf(streamed)}\n`);
      const after = await streaming(() => comesBack('n1', ['a']));
      expect(after.lostDatagrams).toBe(0);
    });

    test('has not arrived: nobody answers for it, and it starts anew elsewhere with its addresses', async () => {
      await prepare('c', 'n1');
      expect(await answersToPartner()).toBe(5);
      await loseNode(lab.record, 'n2');
      await expect.poll(() => lab.enabled('n3', 'b', 'c'), SOON).toEqual({ b: '[]', c: 'false' });
      expect(await answersToPartner()).toBe(0);
      // The cluster gives up the move, and takes the node's pods away.
      lab.withdraw('c', 'b');
      for (const node of ['n1', 'n3'])
        await expect.poll(() => lab.enabled(node, 'b', 'c'), SOON).toEqual({});
      lab.declare('d', launcher('d', 'n1'));
      await lab.tenants.settle();
      expect(lab.end('d').address).toBe(address);
      await boot('d');
      await expect.poll(answersToPartner, SOON).toBe(5);
      const streamed = await streaming(() => comesBack('n2', ['b', 'c']));
      expect(streamed.lostDatagrams).toBe(0);
    });

    test('was to get to a node that is lost: it goes on where it is, and loses nothing', async () => {
      await prepare('e', 'n2');
      const streamed = await streaming(async () => {
        await loseNode(lab.record, 'n2');
        await sleep(MOMENT_MS);
        expect(await lab.enabled('n1', 'd', 'e')).toEqual({ d: '[]', e: 'false' });
        lab.withdraw('e');
        for (const node of ['n1', 'n3'])
          await expect.poll(() => lab.enabled(node, 'd', 'e'), SOON).toEqual({ d: '[]' });
        await sleep(MOMENT_MS);
      });
      expect(streamed.lostDatagrams).toBe(0);
      const after = await streaming(() => comesBack('n2', ['e']));
      expect(after.lostDatagrams).toBe(0);
      // The next attempt gets there.
      await prepare('f', 'n2');
      await streaming(async (answered) => {
        await runGuest(lab.record, GUEST, lab.end('f'), lab.end('d'));
        lab.declare('f', launcher('f', 'n2', ARRIVED));
        await announceGuest(lab.record, GUEST, address);
        await expect
          .poll(() => lab.enabled('n1', 'd', 'f'), SOON)
          .toEqual({ d: 'false', f: 'true' });
        await answered();
      });
    });
  },
);

const lossOf = ({ lost, echoes, lostDatagrams }: Streamed): string =>
  `${lost} of ${echoes + lost} echoes, one every 20 ms, ${lostDatagrams} datagrams, one every 50 ms, lost`;
