import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { connectivity } from '../../src/lab/connectivity.ts';
import { outputInside } from '../../src/lab/exec.ts';
import { OUTSIDE } from '../../src/lab/node-facts.ts';
import { outwardConnectivity, sharedSource, unexpectedOutward } from '../../src/lab/outward.ts';
import { pluggedPorts } from '../../src/lab/pods.ts';
import { testLab, whyNoLab, type TestLab } from '../support/lab/lab.ts';
import { Tenants } from '../support/lab/tenants.ts';

/** Limits of waits for a condition; how long it takes is not what is tested here. */
const SOON = { timeout: 30_000, interval: 200 };

describe.skipIf(whyNoLab !== undefined)(
  `two tenants with the same subnet${whyNoLab === undefined ? '' : ` (${whyNoLab})`}`,
  () => {
    let lab: TestLab;
    let tenants: Tenants;
    const nb = (node: string, ...args: string[]): Promise<string> =>
      outputInside(lab.record, ['on', node, 'ovn-nbctl', '--timeout=20', ...args]);

    /** Of connections to the outside host, in hexadecimal. */
    const marks = async (node: string): Promise<string[]> => {
      const text = await outputInside(
        lab.record,
        `on ${node} ovs-appctl dpctl/dump-conntrack zone=64000`.split(' '),
      );
      return text
        .split('\n')
        .filter((line) => line.includes(`dst=${OUTSIDE.v4}`))
        .flatMap((line) => /mark=(\d+)/.exec(line)?.[1] ?? [])
        .map((mark) => `0x${Number(mark).toString(16)}`);
    };

    beforeAll(async () => {
      lab = await testLab('e2e-tenants');
      tenants = new Tenants(lab.record);
      await tenants.start();
    });
    afterAll(async () => {
      await lab[Symbol.asyncDispose]();
    });

    test('pods reach the pods of their network on all nodes, and never those of the other', async () => {
      const ends = await tenants.endpoints();
      expect(ends.map(({ pod, node }) => `${pod} ${node}`).sort()).toEqual([
        'blue/web-1 n1',
        'blue/web-2 n2',
        'blue/web-3 n3',
        'green/web-1 n1',
        'green/web-2 n2',
        'green/web-3 n3',
      ]);
      // The point of it all: both tenants have pods with the same addresses.
      const of = (tenant: string): string[] =>
        ends.filter((end) => end.nadKey.startsWith(tenant)).flatMap((end) => end.addresses);
      expect(of('blue/')).toEqual(of('green/'));
      expect(await tenants.unexpected()).toEqual([]);
    });

    test("pods with a network of their own don't reach each other on the default network", async () => {
      const cells = await connectivity(lab.record, await tenants.endpoints('default'), 3);
      const others = cells.filter((cell) => cell.from !== cell.to);
      expect(others).toHaveLength(30);
      expect(others.filter((cell) => cell.reach !== 'none' || cell.ping !== null)).toEqual([]);
    });

    test('every pod reaches the outside host, which sees its node', async () => {
      const ends = await tenants.endpoints();
      const cells = await outwardConnectivity(lab.record, ends, 8);
      expect(unexpectedOutward(ends, cells)).toEqual([]);
      expect(cells.filter(({ to }) => to === 'outside')).toHaveLength(6);
    });

    test('two pods with one address reach it from one port at the same time, each with a mark of its network', async () => {
      const shared = await sharedSource(lab.record, await tenants.endpoints());
      expect(shared?.pods).toEqual(['blue/web-1', 'green/web-1']);
      expect(shared?.seenAs).toEqual([
        expect.stringMatching(/^172\.18\.0\.11 port \d+$/),
        expect.stringMatching(/^172\.18\.0\.11 port \d+$/),
      ]);
      expect(new Set(shared?.seenAs).size).toBe(2);
      expect(await marks('n1')).toEqual(expect.arrayContaining(['0x4', '0x5']));
    });

    test('rows that are deleted or changed by hand come back; those of others are left alone', async () => {
      const before = await tenants.intent('n2');
      await nb('n2', 'ls-add', 'made-by-hand', '--', 'lr-add', 'router-by-hand');
      await nb('n2', 'ls-del', 'blue_l3net_n2');
      await expect.poll(() => nb('n2', 'ls-list'), SOON).toContain('(blue_l3net_n2)');
      await nb('n2', 'lr-del', 'blue_l3net_ovn_cluster_router');
      await nb('n2', 'clear', 'Logical_Switch_Port', 'green.l3net_green_web-2', 'addresses');
      const ours = (rows: readonly string[]): string[] =>
        rows.filter((row) => !row.includes('by-hand') && !row.includes('made-by-hand'));
      await expect.poll(async () => ours(await tenants.intent('n2')), SOON).toEqual(before);
      expect(await nb('n2', 'ls-list')).toContain('(made-by-hand)');
      expect(await nb('n2', 'lr-list')).toContain('(router-by-hand)');
      await nb('n2', 'ls-del', 'made-by-hand', '--', 'lr-del', 'router-by-hand');
      expect(await tenants.unexpected()).toEqual([]);
    });

    test('after one network is deleted nothing of it remains, and the other works', async () => {
      expect(await tenants.mentions('green')).not.toEqual([]);
      for (const file of ['green.yaml', 'green-pods.yaml']) rmSync(join(tenants.manifests, file));
      await expect
        .poll(async () => (await tenants.intent('n1')).filter((row) => row.includes('green')), SOON)
        .toEqual([]);
      await tenants.settle();
      await expect.poll(() => tenants.mentions('green'), SOON).toEqual([]);
      expect((await pluggedPorts(lab.record)).map((port) => port['iface-id']).sort()).toEqual(
        [1, 2, 3].flatMap((i) => [`blue.l3net_blue_web-${i}`, `blue_web-${i}`]).sort(),
      );
      expect((await tenants.endpoints()).map((end) => end.pod)).toEqual([
        'blue/web-1',
        'blue/web-2',
        'blue/web-3',
      ]);
      expect(await tenants.unexpected()).toEqual([]);
    });
  },
);
