/** Faults that are drawn from what a node has, one at a time: its proof finds each by its name, and nothing without one. */
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { addManifests } from '../../src/lab/objects.ts';
import { checkout } from '../../src/lab/paths.ts';
import { labelNodes } from '../support/lab/egress-nodes.ts';
import { testLab, whyNoLab } from '../support/lab/lab.ts';
import { haltDaemon } from '../support/lab/proof.ts';
import { drawn, misjudged } from '../support/lab/random-faults/draw.ts';
import { Prover } from '../support/lab/random-faults/prover.ts';
import { FaultWorld, NODE } from '../support/lab/random-faults/world.ts';
import { Tenants } from '../support/lab/tenants.ts';
import { SeededRandom } from '../support/run/seeded-random.ts';

const CHANGES = Number(process.env['HEDDLE_CHANGES'] ?? 10);
const ACCESS = ['--default-network-access=monitoring'];
const FIXTURES = join(checkout, 'test/e2e/fixtures');

describe.skipIf(whyNoLab !== undefined)(
  `random faults${whyNoLab === undefined ? '' : ` (${whyNoLab})`}`,
  () => {
    test(
      'are found, each by its name, and nothing is found without one',
      { timeout: 300_000 + CHANGES * 60_000 },
      async () => {
        const random = new SeededRandom();
        await using lab = await testLab('e2e-random-faults', { nodes: 3 });
        labelNodes(lab.record, { 'k8s.ovn.org/egress-assignable': '' }, [NODE]);
        const tenants = new Tenants(lab.record, {
          folder: join(FIXTURES, 'verify'),
          daemonArguments: ACCESS,
          seconds: 120,
        });
        addManifests(lab.record.name, join(FIXTURES, 'random-faults'));
        await tenants.start();
        using prover = new Prover(lab.record, NODE, ACCESS);
        await expect
          .poll(() => prover.prove(), { timeout: 120_000, interval: 500 })
          .toEqual({ violations: [], undecided: [] });
        await haltDaemon(lab.record, NODE);
        const wrong: string[] = [];
        for (let change = 0; change < CHANGES; change += 1) {
          const fault = drawn(await FaultWorld.read(lab.record, random));
          const what = await misjudged(lab.record, prover, fault);
          if (what !== '') wrong.push(what);
          if (process.env['HEDDLE_SHOW'] !== undefined) console.log(fault.name, what);
        }
        expect(wrong.join('\n'), `seed ${random.seed}`).toBe('');
      },
    );
  },
);
