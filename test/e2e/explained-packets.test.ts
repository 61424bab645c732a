/** Random packets among random tenants' policies, firewalls, connections and egress addresses, services of every kind beside: what `heddle explain` says of them is what they show. */
import { describe, expect, test } from 'vitest';
import { packetReportText } from '../../src/packets/packet-report.ts';
import { labelNodes } from '../support/lab/egress-nodes.ts';
import { said, shown, type Asking, type Said } from '../support/lab/explained-packets.ts';
import { randomAsking, randomObjects } from '../support/lab/explained-world.ts';
import { whyNoLab } from '../support/lab/lab.ts';
import { MatrixLab } from '../support/lab/matrix-lab.ts';
import { SeededRandom } from '../support/run/seeded-random.ts';

/** Worlds, and packets in each. */
const CHANGES = Number(process.env['HEDDLE_CHANGES'] ?? 2);
const ASKED = Number(process.env['HEDDLE_PACKETS'] ?? 40);
const AT_ONCE = 3;
/** What is on its way to the data plane is asked about again. */
const SETTLED = { timeout: 300_000, interval: 5000 };

async function explained(matrix: MatrixLab, asked: readonly Asking[]): Promise<readonly Said[]> {
  const all: Said[] = [];
  const rest = [...asked];
  const ask = async (): Promise<void> => {
    for (let one = rest.pop(); one !== undefined; one = rest.pop())
      all.push(await said(matrix.record, one));
  };
  await Promise.all(Array.from({ length: AT_ONCE }, ask));
  return all;
}

describe.skipIf(whyNoLab !== undefined)(
  `explained packets${whyNoLab === undefined ? '' : ` (${whyNoLab})`}`,
  () => {
    test.each(['shared', 'local'] as const)(
      'show what was told of them, in %s gateway mode',
      { timeout: 180_000 + CHANGES * 600_000 },
      async (gatewayMode) => {
        const random = new SeededRandom();
        const mode = { kind: 'host', seconds: 3, limit: 60, senders: [] } as const;
        await using matrix = await MatrixLab.start({ gatewayMode, ...mode });
        labelNodes(matrix.record, { 'k8s.ovn.org/egress-assignable': '' }, ['n1', 'n2']);
        for (let change = 0; change < CHANGES; change += 1) {
          matrix.write('random', randomObjects(random));
          const asked = Array.from({ length: ASKED }, () => randomAsking(random, matrix));
          let all: readonly Said[] = [];
          const wrong = async (): Promise<string> => {
            all = await explained(matrix, asked);
            const decided = all.filter(({ verdict }) => verdict !== 'undecided');
            const answers = await shown(matrix.record, decided);
            return decided
              .filter(({ verdict }, n) => (verdict === 'reaches') !== answers[n])
              .map(({ verdict, report }) => `${verdict}: ${packetReportText(report)}`)
              .join('\n\n');
          };
          await expect.poll(wrong, { ...SETTLED, message: `seed ${random.seed}` }).toBe('');
          const open = all.filter(({ verdict }) => verdict === 'undecided');
          const why = open.map(({ report: { packet, why: text } }) => `${packet}: ${text}`);
          if (process.env['HEDDLE_SHOW'] !== undefined) console.log(why.join('\n'));
          // What leaves a node, or asks for a neighbour first, is known to nobody.
          expect(all.length - open.length, why.join('\n')).toBeGreaterThan(ASKED / 3);
        }
      },
    );
  },
);
