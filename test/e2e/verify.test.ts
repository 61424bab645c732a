/** A proof of a running node: it says apart while all is as it should be, and finds each fault that somebody plants, with the object that it concerns. */
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import { heddleCommand, outputInside, runInside } from '../../src/lab/exec.ts';
import { checkout } from '../../src/lab/paths.ts';
import type { Violation } from '../../src/verify/findings.ts';
import { testLab, whyNoLab, type TestLab } from '../support/lab/lab.ts';
import {
  FAULT_GROUPS,
  numbersOf,
  type FaultGroup,
  type FaultNumbers,
  type PlantedFault,
} from '../support/lab/planted-faults.ts';
import { haltDaemon, proofOf } from '../support/lab/proof.ts';
import { Tenants } from '../support/lab/tenants.ts';

const NODE = 'n1';
const CERTIFICATE = '/tmp/certificate.json';
/** The network `shop_net` lets pods of this namespace to its services. */
const ACCESS = ['--default-network-access=monitoring'];

const isFound = (
  { check, concerns, where }: PlantedFault,
  violations: readonly Violation[],
): boolean =>
  violations.some(
    (one) =>
      one.check === check &&
      (where === undefined || where.test(one.where)) &&
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
      const { witnesses } = verdict;
      expect(witnesses).toMatchObject({ seed: 1, packets: 24, logicalTraces: 24 });
      expect(witnesses?.physicalTraces).toBeGreaterThan(0);
      expect(witnesses?.apart).toBeGreaterThan(0);
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

    test('witnesses tell of a flow that leads what a pod sends into another network', async () => {
      const name = "a flow that takes what a pod sends for another network's";
      const fault = FAULT_GROUPS.flatMap(({ faultsOf }) => faultsOf(numbers)).find(
        (one) => one.name === name,
      );
      if (fault === undefined) throw new Error(`there is no fault called ${name}`);
      await shell(fault.plant);
      try {
        const asked = [...ACCESS, '--witnesses', '12', '--seed', '2'];
        const { code, verdict } = await proofOf(lab.record, NODE, asked);
        const told = verdict.violations.filter(({ check }) => check === 'witnesses');
        expect(told).not.toEqual([]);
        for (const { where, networks } of told) {
          expect(where).toContain('ofproto/trace from blue.l3_blue_a to ');
          expect(networks).toEqual(['blue_l3', 'green_l3']);
        }
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
