/**
 * Namespaces that are deleted with all that is in them, under traffic: what a policy denied comes through at no moment as long as the pods live (CVE-2024-7598).
 * On the default network and on primary networks of both layers, by IPv4 and IPv6, from the node of the pod that is selected and from another.
 */
import { rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { namespaces, pods } from '../../src/api/kinds.ts';
import { objectKey, type KubeObject } from '../../src/api/objects.ts';
import { endpoints } from '../../src/lab/connectivity.ts';
import { objectsState, startDaemons } from '../../src/lab/daemons.ts';
import { outputInside } from '../../src/lab/exec.ts';
import { manifestsFolder } from '../../src/lab/node-facts.ts';
import { readObjects } from '../../src/lab/objects.ts';
import { nodeNames } from '../../src/lab/paths.ts';
import { attachedPods, attachPods } from '../../src/lab/pods.ts';
import { openStore, type OpenObjects } from '../../src/settings/object-store.ts';
import {
  ALLOWED,
  DENIED,
  ENDING,
  endingObjects,
  FLOWS,
  ORDERS,
  OTHER_LABELS,
  POD_NAMES,
  policy,
  SHARED,
  type Part,
} from '../support/lab/ending-objects.ts';
import { stopDaemon } from '../support/lab/lab-daemons.ts';
import { testLab, whyNoLab, type TestLab } from '../support/lab/lab.ts';
import { manifestsText, podOn } from '../support/lab/network-spaces.ts';
import { whileSending, type Flow, type FlowCount } from '../support/lab/policed-datagrams.ts';
import { Tenants } from '../support/lab/tenants.ts';
import { ownFolder } from '../support/run/left-behind.ts';
import { SeededRandom } from '../support/run/seeded-random.ts';

/** How many namespaces are deleted: `HEDDLE_CHANGES` is another number. */
const DELETIONS = Number(process.env['HEDDLE_CHANGES'] ?? 40);
const ROUNDS = Math.ceil(DELETIONS / ENDING.length);
const RANDOM = new SeededRandom();
const SOON = { timeout: 60_000, interval: 50 };
const MARKS = 'marks';
type Kind = typeof namespaces | typeof pods;

describe.skipIf(whyNoLab !== undefined)(
  `namespaces that are deleted under traffic${whyNoLab === undefined ? '' : ` (${whyNoLab})`}`,
  () => {
    const folder = ownFolder('heddle-ending-namespaces');
    let lab: TestLab;
    let tenants: Tenants;
    let store: OpenObjects;
    let turns = 0;
    let marks = 0;

    const fileOf = (part: string): string => join(tenants.manifests, `${part}.yaml`);
    const remove = (parts: readonly Part[]): void => {
      for (const part of parts) rmSync(fileOf(part), { force: true });
    };

    /** Waits until the daemons of both nodes have taken up all policies as they are: a daemon takes up objects of a kind one after the other. */
    const seen = async (): Promise<void> => {
      marks += 1;
      const mark = `203.${marks >> 16}.${(marks >> 8) & 255}.${marks & 255}`;
      const ingress = [{ from: [{ ipBlock: { cidr: `${mark}/32` } }] }];
      const objects = [
        { apiVersion: 'v1', kind: 'Namespace', metadata: { name: MARKS } },
        ...nodeNames(lab.record.nodes).map((node) => podOn(node, MARKS, node)),
        policy(MARKS, 'mark', { podSelector: {}, ingress }),
      ];
      writeFileSync(fileOf('marks'), manifestsText(objects));
      const wait = `for node in "\${@:2}"; do
        until on $node ovn-nbctl --bare --columns=match list ACL | grep -qF "$1"; do sleep 0.05; done
      done`;
      const words = ['timeout', '60', 'bash', '-c', wait, 'bash', mark];
      await outputInside(lab.record, [...words, ...nodeNames(lab.record.nodes)]);
    };

    /** Everything is there, and in force. */
    const begin = async (): Promise<readonly Flow[]> => {
      const objects = endingObjects(turns);
      for (const [part, text] of Object.entries(objects)) writeFileSync(fileOf(part), text);
      turns += 1;
      await seen();
      await tenants.settle();
      const ends = endpoints(attachedPods(lab.record));
      const end = (namespace: string, name: string) =>
        ends.find(({ pod }) => pod === `${namespace}/${name}`) ?? expect.unreachable(name);
      return ENDING.flatMap((namespace) =>
        FLOWS.flatMap(([from, to]) =>
          end(namespace, to).addresses.flatMap((address) =>
            [DENIED, ALLOWED].map((port) => ({
              from: end(namespace, from).namespace,
              at: end(namespace, to).namespace,
              to: address,
              port,
            })),
          ),
        ),
      );
    };

    /** Keys of all that are to be deleted and are there; of those that are being deleted alone, if asked for. */
    const present = async (kind: Kind, which: 'all' | 'ending'): Promise<readonly string[]> =>
      (await store.objects.list<KubeObject>(kind))
        .filter(
          ({ metadata: { name, namespace = name, deletionTimestamp } }) =>
            ENDING.includes(namespace) && (which === 'all' || deletionTimestamp !== undefined),
        )
        .map(({ metadata }) => objectKey(metadata));
    const patchAll = async (kind: Kind, metadata: object): Promise<void> => {
      for (const key of await present(kind, 'ending'))
        await store.objects.patch<KubeObject>(kind, key, { metadata }, { fieldManager: 'test' });
    };
    const areEnding = (kind: Kind, count: number): Promise<void> =>
      expect.poll(async () => (await present(kind, 'ending')).length, SOON).toBe(count);
    const unplug = async (): Promise<void> => {
      const { pods: all, nads } = await readObjects(lab.record.name);
      const others = all.filter(({ metadata }) => metadata.namespace === MARKS);
      await attachPods(lab.record, others, nads);
    };

    /** Deletes the namespaces and what is in them, in the order that is said, while the pods live; `after` before these end. */
    const endNamespaces = async (
      order: (typeof ORDERS)[string],
      after: () => Promise<void> = () => pause(RANDOM.below(300)),
    ): Promise<void> => {
      for (const step of order) {
        remove(step.filter((part) => part !== 'labels'));
        if (step.includes('labels')) await patchAll(namespaces, { labels: OTHER_LABELS });
        if (step.includes('namespaces')) await areEnding(namespaces, ENDING.length);
        // A policy whose end is heard of first is one that goes while its pods stay (docs/engine.md).
        if (step.includes('pods')) {
          await areEnding(pods, ENDING.length * POD_NAMES.length);
          await seen();
        }
        await pause(RANDOM.below(100));
      }
      await seen();
      await after();
    };
    /** Then the pods: their interfaces go first, or they are deleted by force. */
    const endPods = async (isForced: boolean): Promise<void> => {
      remove(['namespaces', 'policies', 'networks', 'pods']);
      await areEnding(pods, ENDING.length * POD_NAMES.length);
      if (!isForced) await unplug();
      await patchAll(pods, { finalizers: null });
      await unplug();
      await areEnding(namespaces, ENDING.length);
      await patchAll(namespaces, { finalizers: null });
      for (const kind of [pods, namespaces])
        await expect.poll(() => present(kind, 'all'), SOON).toEqual([]);
    };

    /** Flows that came though they were denied, and flows of which nothing came though they were allowed. */
    const wrong = (flows: readonly Flow[], counts: readonly FlowCount[]): readonly string[] =>
      flows.flatMap(({ from, to, port }, index) => {
        const { sent = 0, got = 0, times = [] } = counts[index] ?? {};
        return sent > 0 && got > 0 === (port === ALLOWED)
          ? []
          : [`${from} to ${to} port ${port}: ${got} of ${sent}, at ${times.join()}`];
      });

    beforeAll(async () => {
      writeFileSync(join(folder, 'shared.yaml'), SHARED);
      lab = await testLab('e2e-ending-namespaces', { nodes: 2, families: 'dual' });
      tenants = new Tenants(lab.record, { folder });
      await tenants.start();
      const { name } = lab.record;
      store = await openStore(
        { kind: 'manifests', manifests: manifestsFolder(name), state: objectsState(name) },
        { dryRun: false },
      );
    }, 180_000);
    afterAll(async () => {
      rmSync(folder, { recursive: true });
      await store[Symbol.asyncDispose]();
      await lab[Symbol.asyncDispose]();
    });

    test(
      `what a policy denied does not come through while its namespace is deleted, ${DELETIONS} times`,
      // What came through once came through.
      { retry: 0, timeout: 120_000 + ROUNDS * 60_000 },
      async () => {
        const orders = Object.entries(ORDERS);
        let denied = 0;
        for (let round = 0; round < ROUNDS; round += 1) {
          const [name, order] = orders[round % orders.length] ?? expect.unreachable();
          const isForced = RANDOM.is(0.5);
          const flows = await begin();
          const steps = [`${name}${isForced ? ', by force' : ''}, seed ${RANDOM.seed}`];
          const counts = await whileSending(lab.record, flows, async () => {
            await pause(200);
            steps.push(`${Date.now()} namespaces`);
            await endNamespaces(order);
            steps.push(`${Date.now()} pods`);
            await endPods(isForced);
            steps.push(`${Date.now()} gone`);
          });
          expect(wrong(flows, counts), steps.join(', ')).toEqual([]);
          const closed = counts.filter((_, index) => flows[index]?.port === DENIED);
          denied += closed.reduce((sum, { sent }) => sum + sent, 0);
          if (process.env['HEDDLE_SHOW'] !== undefined)
            process.stderr.write(
              `round ${round}: ${denied} datagrams so far; ${steps.join(', ')}\n`,
            );
        }
        expect(denied).toBeGreaterThan(1000 * ROUNDS);
      },
    );

    test('nor where daemons begin in between', { retry: 0, timeout: 180_000 }, async () => {
      const flows = await begin();
      const counts = await whileSending(lab.record, flows, async () => {
        await endNamespaces([['namespaces', 'policies', 'networks']], async () => {
          for (const node of nodeNames(lab.record.nodes))
            await stopDaemon(lab.record, node, 'kill');
          await startDaemons(lab.record);
          await seen();
        });
        await endPods(false);
      });
      expect(wrong(flows, counts)).toEqual([]);
    });

    test('and it comes once the policies alone are deleted', { timeout: 180_000 }, async () => {
      const flows = await begin();
      const counts = await whileSending(lab.record, flows, async () => {
        remove(['policies']);
        await seen();
        await pause(1000);
      });
      for (const { got } of counts) expect(got).toBeGreaterThan(0);
    });
  },
);
