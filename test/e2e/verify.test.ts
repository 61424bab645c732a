/** A proof of a running node: it says apart while all is as it should be, and finds each fault that somebody plants, with the object that it concerns. */
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import { heddleCommand, outputInside, runInside } from '../../src/lab/exec.ts';
import { checkout } from '../../src/lab/paths.ts';
import type { Violation } from '../../src/verify/findings.ts';
import { testLab, whyNoLab, type TestLab } from '../support/lab/lab.ts';
import {
  numbersOf,
  type FaultNumbers,
  type PlantedFault,
} from '../support/lab/planted-faults/fault.ts';
import { FAULT_GROUPS, type FaultGroup } from '../support/lab/planted-faults/groups.ts';
import { LiveConnection } from '../support/lab/live-connection.ts';
import { haltDaemon, proofArguments, proofOf } from '../support/lab/proof.ts';
import { Tenants } from '../support/lab/tenants.ts';

const NODE = 'n1';
const CERTIFICATE = '/tmp/certificate.json';
/** The network `shop_net` lets pods of this namespace to its services. */
const ACCESS = ['--default-network-access=monitoring'];

const isFound = (
  { check, concerns, where, what }: PlantedFault,
  violations: readonly Violation[],
): boolean =>
  violations.some(
    (one) =>
      one.check === check &&
      (where === undefined || where.test(one.where)) &&
      (what === undefined || what.test(one.what)) &&
      concerns.every((name) => [one.object, ...one.networks].includes(name)),
  );

/** Limits of waits for a condition; how long it takes is not what is tested here. */
const SOON = { timeout: 120_000, interval: 300 };

describe.skipIf(whyNoLab !== undefined)(
  `a proof of a node${whyNoLab === undefined ? '' : ` (${whyNoLab})`}`,
  () => {
    let lab: TestLab;
    let goOn: (() => Promise<void>) | undefined;
    let numbers: FaultNumbers;
    const shell = (line: string): Promise<string> =>
      outputInside(lab.record, ['sh', '-exc', line], { node: NODE });
    const northd = (signal: 'STOP' | 'CONT'): Promise<string> =>
      shell(`kill -${signal} $(cat /run/ovn/ovn-northd.pid)`);
    const violations = async (): Promise<readonly string[]> => {
      const { verdict } = await proofOf(lab.record, NODE, ACCESS);
      return verdict.violations.map(({ check, where, what }) => `${check}: ${where} ${what}`);
    };

    beforeAll(async () => {
      lab = await testLab('e2e-verify', { nodes: 2 });
      const tenants = new Tenants(lab.record, {
        folder: join(checkout, 'test/e2e/fixtures/verify'),
        daemonArguments: ACCESS,
      });
      await tenants.start();
      await vi.waitFor(async () => {
        expect(await violations()).toEqual([]);
      }, SOON);
      const { networks } = (await proofOf(lab.record, NODE, ACCESS)).verdict;
      const ofNetwork = (name: string): FaultNumbers['blue'] =>
        numbersOf(networks.find((network) => network.name === name)?.id ?? 0);
      numbers = { blue: ofNetwork('blue_l3'), green: ofNetwork('green_l3') };
      goOn = await haltDaemon(lab.record, NODE);
    });
    afterAll(async () => {
      await goOn?.();
      await lab[Symbol.asyncDispose]();
    });

    test('finds every pair of networks apart, and those that objects join', async () => {
      const { code, verdict } = await proofOf(lab.record, NODE, [
        ...ACCESS,
        '--witnesses',
        '24',
        '--seed',
        '1',
        '--packets',
        '--certify',
        CERTIFICATE,
      ]);
      expect(verdict.undecided).toEqual([]);
      expect(verdict.violations).toEqual([]);
      expect(code).toBe(0);
      expect(verdict.pairs).toEqual({ all: 21, apart: 20, connected: 1 });
      expect(verdict.edges.map(({ from, to, object }) => `${from} ${to} ${object}`)).toEqual(
        expect.arrayContaining([
          'yellow_l3 ClusterNetworkConnect yellow-purple ClusterNetworkConnect yellow-purple',
          'purple_l2 ClusterNetworkConnect yellow-purple ClusterNetworkConnect yellow-purple',
          'outside shop_net Service shop/web',
          'default shop_net UserDefinedNetwork shop/net',
          'default Pod green/a Pod green/a',
          'blue_l3 outside UserDefinedNetwork blue/l3',
        ]),
      );
      const passing = (to: string): unknown =>
        verdict.edges.find((edge) => edge.from === 'default' && edge.to === to && edge.passes)
          ?.passes;
      expect(passing('Pod green/a')).toContainEqual({
        destinations: [expect.stringMatching(/^10\.128\.0\.\d+$/) as unknown],
        protocol: 'tcp',
        ports: [8080],
      });
      expect(passing('shop_net')).toEqual([
        {
          sources: [expect.stringMatching(/^10\.128\.0\.\d+$/) as unknown],
          destinations: ['172.16.1.80'],
          protocol: 'tcp',
          ports: [80],
        },
      ]);
      const between = verdict.edges.find(
        ({ from, kind }) => from === 'yellow_l3' && kind === 'connection',
      );
      // All but offers of addresses, which no pod makes.
      const destinations = [expect.stringMatching(/^10\.\d+\.0\.0\/\d+$/) as unknown];
      expect(between?.passes).toEqual([
        { destinations, protocol: 'ip but udp' },
        { destinations, protocol: 'udp', portRanges: ['0-67', '69-545', '547-65535'] },
      ]);
      expect(between?.enters).toEqual([expect.objectContaining({ protocol: 'ip' })]);
      const { witnesses } = verdict;
      expect(witnesses).toMatchObject({ seed: 1, packets: 24, logicalTraces: 24 });
      expect(witnesses?.physicalTraces).toBeGreaterThan(0);
      expect(witnesses?.apart).toBeGreaterThan(0);
      const { real } = witnesses ?? {};
      expect(real).toMatchObject({ sent: witnesses?.physicalTraces, differing: 0 });
      expect(real?.nowhere).toBeGreaterThan(0);
      expect(real?.outside).toBeGreaterThan(0);
      expect(verdict.notProved.at(-1)).toContain(real?.nonce ?? 'a nonce');
      const check = heddleCommand(lab.record, ['verify', '--check', CERTIFICATE, '--json']);
      const held = await runInside(lab.record, check, { node: NODE });
      expect(JSON.parse(held.stdout)).toMatchObject({
        holds: true,
        node: NODE,
        verdict: 'apart',
        pairs: { all: 21, apart: 20, connected: 1 },
        versions: { ovn: expect.stringMatching(/^\d+\.\d+/) as unknown },
      });
      expect(held.code).toBe(0);
    });

    test('packets of pods leave connections of pods alone, and nothing of a proof that is killed', async () => {
      const [address = ''] =
        /10\.20\.\d+\.\d+/.exec(
          await shell('nsenter --net=/run/netns/blue_b ip -4 -br address show ovn-udn1'),
        ) ?? [];
      const connection = await LiveConnection.open(lab.record, 'blue_a', 'blue_b', address);
      // The last line is of sockets that get all that passes any device; Open vSwitch has some, each on one device.
      const listeners = `awk '$4 == "0003" && $5 == 0' /proc/net/packet | wc -l`;
      const inPods =
        'for one in /run/netns/*_a; do nsenter --net=$one tail -n +2 /proc/net/packet; done | wc -l';
      const before = await shell(inPods);
      const argv = proofArguments(lab.record, NODE, [
        ...ACCESS,
        '--witnesses',
        '40',
        '--seed',
        '3',
        '--packets',
      ]);
      const killed = await outputInside(
        lab.record,
        [
          'sh',
          '-ec',
          `"$@" > /dev/null 2>&1 & for turn in $(seq 600); do seen=$(${listeners}); [ "$seen" = 0 ] || break; sleep 0.1; done; sleep 0.5; kill -9 $!; wait $! || echo "saw $seen, ended with $?"; ${listeners}`,
          'sh',
          ...argv,
        ],
        { node: NODE },
      );
      expect(killed).toBe('saw 1, ended with 137\n0\n');
      expect(await shell(inPods)).toBe(before);
      const { verdict } = await proofOf(lab.record, NODE, [
        ...ACCESS,
        '--witnesses',
        '40',
        '--seed',
        '3',
        '--packets',
      ]);
      expect(verdict.violations).toEqual([]);
      expect(verdict.undecided).toEqual([]);
      expect(verdict.witnesses?.real?.sent).toBe(verdict.witnesses?.physicalTraces);
      expect(await connection.end()).toBeGreaterThan(100);
    });

    test.each([
      {
        by: /^ofproto\/trace from blue\.l3_blue_a to /,
        fault: "a flow that takes what a pod sends for another network's",
        asked: ['--witnesses', '12', '--seed', '2'],
      },
      {
        by: /^(?:ofproto\/trace|packet) from blue\.l3_blue_a to /,
        fault: "a flow that lets out by another network's port",
        asked: ['--witnesses', '12', '--seed', '2', '--packets'],
        seen: /^what network blue_l3 sends to \S+ of \S+ comes out at green\.l3_green_a of network green_l3, by device \S+ of Pod green\/a, where packet \d+ from blue\.l3_blue_a \(.+, sequence number 0x[0-9a-f]{8}\) was seen: no object wants that$/,
      },
    ])('witnesses tell of $fault', async ({ by, fault: name, asked, seen }) => {
      const fault = FAULT_GROUPS.flatMap(({ faultsOf }) => faultsOf(numbers)).find(
        (one) => one.name === name,
      );
      if (fault === undefined) throw new Error(`there is no fault called ${name}`);
      await shell(fault.plant);
      try {
        const { code, verdict } = await proofOf(lab.record, NODE, [...ACCESS, ...asked]);
        const told = verdict.violations.filter(({ check }) => check === 'witnesses');
        expect(told).not.toEqual([]);
        for (const { where, networks } of told) {
          expect(where).toMatch(by);
          expect(networks).toEqual(['blue_l3', 'green_l3']);
        }
        const packets = told.filter(({ where }) => where.startsWith('packet'));
        expect(packets.length > 0).toBe(seen !== undefined);
        for (const { what } of packets) expect(what).toMatch(seen ?? /^$/);
        expect(code).toBe(1);
      } finally {
        await shell(fault.undo);
      }
    });

    test.each<[string, FaultGroup]>(FAULT_GROUPS.map((group) => [group.name, group]))(
      'finds what is planted in %s, each with its object',
      async (_, { faultsOf, halts }) => {
        const faults = faultsOf(numbers);
        if (halts === 'northd') await northd('STOP');
        try {
          await shell(faults.map(({ plant }) => plant).join('\n'));
          await expect
            .poll(async () => {
              const { code, verdict } = await proofOf(lab.record, NODE, ACCESS);
              const missing = faults.filter((fault) => !isFound(fault, verdict.violations));
              return { code, missing: missing.map(({ name }) => name) };
            }, SOON)
            .toEqual({ code: 1, missing: [] });
        } finally {
          // Where one could not be planted others have to go all the same; what stays is found below.
          const undo = faults.toReversed().map((fault) => fault.undo);
          await runInside(lab.record, ['sh', '-c', undo.join('\n')], { node: NODE });
          if (halts === 'northd') await northd('CONT');
        }
        await expect.poll(violations, SOON).toEqual([]);
      },
    );

    test('finds what lets the default network in where no administrator names who may', async () => {
      const { code, verdict } = await proofOf(lab.record, NODE);
      expect(code).toBe(1);
      expect(verdict.violations.map(({ where }) => where.replace(/^10\S+/, 'POD'))).toEqual([
        'POD of default-access-pods-v4',
        '172.16.1.80 . tcp . 80 of default-access-services-v4',
      ]);
    });

    test('does not decide what it could not read', async () => {
      const { code, verdict } = await proofOf(lab.record, NODE, [
        ...ACCESS,
        '--sb',
        'unix:/nowhere',
      ]);
      expect(code).toBe(2);
      expect(verdict.undecided).toEqual([expect.stringContaining('OVN_Southbound')]);
    });
  },
);
