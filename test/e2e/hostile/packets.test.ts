/** What pods try with packets on Open vSwitch's userspace datapath, in both gateway modes (docs/security.md). */
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import {
  byOwnHostEnd,
  outWithOwnAddress,
  pastTheRouter,
  tunnelsByOtherMeans,
  tunnelsFromPods,
  tunnelsFromStrangers,
} from '../../support/lab/hostile-attacks.ts';
import { sayHeld } from '../../support/lab/held-table.ts';
import { HostileLab } from '../../support/lab/hostile-lab.ts';
import { askDeniedNodes } from '../../support/lab/hostile-nodes.ts';
import { lieToNeighbours } from '../../support/lab/hostile-neighbours.ts';
import { sendOfNoConnection, sendWithoutPlaces } from '../../support/lab/hostile-sources.ts';
import { whyNoLab } from '../../support/lab/lab.ts';

describe.skipIf(whyNoLab !== undefined)(
  `packets of attackers${whyNoLab === undefined ? '' : ` (${whyNoLab})`}`,
  () => {
    let lab: HostileLab;
    beforeAll(async () => {
      lab = await HostileLab.start('e2e-hostile', 'host', 60);
    });
    afterAll(async () => {
      sayHeld('packets, userspace datapath', lab.attacks);
      await lab[Symbol.asyncDispose]();
    });

    describe.each(['shared', 'local'] as const)('%s gateway mode', (mode) => {
      beforeAll(async () => {
        await lab.enter(mode);
      });

      test("pods do not send to the tunnels' port of another node, whole or in pieces, nor by a service", async () => {
        await lab.prove('tunnels from pods', await tunnelsFromPods(lab));
      });
      test('nor by pieces, headers and encapsulations that a filter by ports does not see through', async () => {
        await lab.prove('tunnels by other means', await tunnelsByOtherMeans(lab));
      });
      test('machines that are no nodes do not get into tunnels, and are counted', async () => {
        const before = await lab.strangersSeen('n2');
        const sends = await tunnelsFromStrangers(lab);
        await lab.prove('tunnels from strangers', [...sends, ...(await tunnelsFromPods(lab))]);
        expect(await lab.strangersSeen('n2')).toBeGreaterThanOrEqual(before + sends.length / 2);
      });
      test("what pods say of others' addresses and of next hops comes to nobody, and nobody goes by it", async () => {
        await lieToNeighbours(lab);
      });
      test('nodes that an administrator denies are denied at every address by which pods get there', async () => {
        await askDeniedNodes(lab);
      });
      test("nor does the host's end of a pod's own interface lead anywhere", async () => {
        await lab.prove("the host's end of a pod's interface", await byOwnHostEnd(lab));
      });
      test("the host's port on the default network leads to no pod", async () => {
        await lab.prove("the host's port on the default network", await pastTheRouter(lab));
      });
      test.runIf(mode === 'shared')('no pod leaves the node with its own address', async () => {
        await lab.prove("out of the node with a pod's own address", await outWithOwnAddress(lab));
      });
      test("nothing leaves the node with another address than the node's that belongs to no connection", async () => {
        await sendOfNoConnection(lab);
      });
      test('nor does anything while its table of connections is full, and who was connected stays so', async () => {
        await sendWithoutPlaces(lab);
      });
    });
  },
);
