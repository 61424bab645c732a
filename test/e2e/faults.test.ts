/** What breaks on a node while pods talk: they keep what they had, or get it again, and nobody gets what another one had. */
import { rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { setTimeout as sleep } from 'node:timers/promises';
import { stringify } from 'yaml';
import { startDaemon } from '../../src/lab/daemons.ts';
import { stopDaemon } from '../support/lab/lab-daemons.ts';
import { heddleCommand, outputInside, runInside } from '../../src/lab/exec.ts';
import { OUTSIDE } from '../../src/lab/node-facts.ts';
import { settingsFile } from '../../src/lab/objects.ts';
import { testLab, whyNoLab, type TestLab } from '../support/lab/lab.ts';
import { whileStreaming, type Stream, type Streamed } from '../support/host/streams.ts';
import { Tenants } from '../support/lab/tenants.ts';

/** Limits of waits for a condition; how long it takes is not what is tested here. */
const SOON = { timeout: 60_000, interval: 200 };
const NODE = 'n1';
/** A change for every node. */
const CLOSED = {
  apiVersion: 'networking.k8s.io/v1',
  kind: 'NetworkPolicy',
  metadata: { name: 'closed', namespace: 'blue' },
  spec: { podSelector: {}, policyTypes: ['Ingress'] },
};
/** Traffic before and after a fault. */
const MOMENT_MS = 1000;

describe.skipIf(whyNoLab !== undefined)(
  `faults of a node under traffic${whyNoLab === undefined ? '' : ` (${whyNoLab})`}`,
  () => {
    let lab: TestLab;
    let tenants: Tenants;
    let streams: readonly Stream[];
    let before: readonly string[];
    const service = (action: string, name: string): Promise<string> =>
      outputInside(lab.record, ['service', NODE, action, name]);
    /** Kills a service of OVN or Open vSwitch, and starts it again. */
    const revive = async (name: string): Promise<void> => {
      await service('kill', name);
      await sleep(MOMENT_MS);
      await service('start', name);
    };
    const reviveDaemon = async (): Promise<void> => {
      const locks = await tenants.logged(NODE, 'zone lock');
      await stopDaemon(lab.record, NODE, 'kill');
      await startDaemon(lab.record, NODE);
      await expect.poll(() => tenants.logged(NODE, 'zone lock'), SOON).toBeGreaterThan(locks);
    };
    /** What the streams were while `fault` happened, and until everything is as before it. */
    const during = (fault: () => Promise<unknown>): Promise<Streamed[]> =>
      whileStreaming(lab.record, streams, async () => {
        await sleep(MOMENT_MS);
        await fault();
        await expect.poll(() => tenants.intent(NODE), SOON).toEqual(before);
        await expect.poll(() => tenants.unexpected(3), SOON).toEqual([]);
        await sleep(MOMENT_MS);
      });

    beforeAll(async () => {
      lab = await testLab('e2e-faults');
      tenants = new Tenants(lab.record);
      await tenants.start();
      before = await tenants.intent(NODE);
      const ends = await tenants.endpoints();
      const to = (pod: string): string => ends.find((end) => end.pod === pod)?.addresses[0] ?? '';
      // On the node, to another node and from it, and to the outside.
      streams = [
        { from: 'blue/web-1', to: 'blue/web-2', address: to('blue/web-2') },
        { from: 'green/web-3', to: 'green/web-1', address: to('green/web-1') },
        { from: 'blue/web-1', to: 'ext', address: OUTSIDE.v4 },
      ];
    });
    afterAll(async () => {
      await lab[Symbol.asyncDispose]();
    });

    test.each<[string, () => Promise<void>]>([
      ['heddle node is killed', reviveDaemon],
      ['ovn-northd is killed', () => revive('northd')],
      ['the Northbound server is killed', () => revive('nb')],
      ['the Southbound server is killed', () => revive('sb')],
    ])('no packet is lost and no connection breaks when %s and starts again', async (_, fault) => {
      for (const { answers, broken, lostDatagrams, echoes, lost } of await during(fault)) {
        expect({ broken, lostDatagrams, lost }).toEqual({ broken: 0, lostDatagrams: 0, lost: 0 });
        expect(Math.min(answers, echoes)).toBeGreaterThan(20);
      }
    });

    test.each<[string, () => Promise<unknown>]>([
      ['ovn-controller is killed', () => revive('controller')],
      ["Open vSwitch's database server is killed", () => revive('ovsdb')],
      ['ovs-vswitchd is killed', () => revive('vswitchd')],
      ['the Northbound database is replaced by an empty one', () => service('wipe', 'nb')],
      ['the Southbound database is replaced by an empty one', () => service('wipe', 'sb')],
    ])('pods have what they had, and connections go on, after %s', async (what, fault) => {
      // The userspace datapath gives a connection to the outside another port of the node where its entry is gone: with the datapath itself, or when
      // ovn-controller clears the zone of a gateway router that was gone with the Northbound database.
      const isForgotten = /vswitchd|Northbound/.test(what) && lab.record.datapath === 'netdev';
      for (const [n, { answers, broken }] of (await during(fault)).entries()) {
        if (isForgotten && streams[n]?.to === 'ext') continue;
        expect(broken, streams[n]?.from).toBe(0);
        expect(answers).toBeGreaterThan(20);
      }
    });

    test('a program of OVN that hangs is named with the time since when, until it goes on', async () => {
      const hang = (node: string, program: string, signal: 'STOP' | 'CONT'): Promise<string> =>
        outputInside(lab.record, ['sh', '-c', `kill -${signal} $(cat /run/ovn/${program}.pid)`], {
          node,
        });
      const silent = async (): Promise<readonly string[]> => {
        const config = settingsFile(lab.record.name);
        const argv = heddleCommand(lab.record, ['status', '--config', config]);
        const { stdout } = await runInside(lab.record, argv);
        return [
          ...new Set(
            stdout.match(
              /ovn-northd has not answered since|ovn-controller (?:has not answered since|of chassis \S+ has not confirmed since)/g,
            ),
          ),
        ].toSorted();
      };
      // While nothing changes, and while something does.
      await hang('n2', 'ovn-controller', 'STOP');
      try {
        await expect
          .poll(silent, { timeout: 120_000, interval: 2000 })
          .toEqual([expect.stringMatching(/^ovn-controller /)]);
      } finally {
        await hang('n2', 'ovn-controller', 'CONT');
      }
      await expect.poll(silent, { timeout: 60_000, interval: 2000 }).toEqual([]);
      const file = join(tenants.manifests, 'policy.yaml');
      await hang('n1', 'ovn-northd', 'STOP');
      await hang('n2', 'ovn-controller', 'STOP');
      try {
        writeFileSync(file, stringify(CLOSED));
        await expect
          .poll(silent, { timeout: 120_000, interval: 2000 })
          .toEqual([
            expect.stringMatching(/^ovn-controller /),
            'ovn-northd has not answered since',
          ]);
      } finally {
        await hang('n1', 'ovn-northd', 'CONT');
        await hang('n2', 'ovn-controller', 'CONT');
        rmSync(file);
      }
      await expect.poll(silent, { timeout: 60_000, interval: 2000 }).toEqual([]);
      await expect.poll(() => tenants.unexpected(3), SOON).toEqual([]);
    });
  },
);
