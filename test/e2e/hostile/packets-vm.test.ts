/** What pods and host processes try with packets where the kernel has VRFs and the datapath, in both gateway modes (docs/security.md). */
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import {
  boundPastOvn,
  boundToDevices,
  outWithOwnAddress,
  pastTheRouter,
  pastTheRouterOfANetwork,
  tunnelsByOtherMeans,
  tunnelsFromHostPods,
  tunnelsFromPods,
  tunnelsFromStrangers,
} from '../../support/lab/hostile-attacks.ts';
import { sayHeld } from '../../support/lab/held-table.ts';
import { HostileLab } from '../../support/lab/hostile-lab.ts';
import { lieToNeighbours } from '../../support/lab/hostile-neighbours.ts';
import { answerAPartner, askAPartner } from '../../support/lab/hostile-partner.ts';
import { sendOfNoConnection, sendWithoutPlaces } from '../../support/lab/hostile-sources.ts';
import { takeWhatIsNotTheirs } from '../../support/lab/hostile-services.ts';
import { whyNoVirtualMachine } from '../../support/lab/lab.ts';

const LIMIT = 2_400_000;

describe.skipIf(whyNoVirtualMachine !== undefined)(
  `packets of attackers, kernel datapath${whyNoVirtualMachine === undefined ? '' : ` (${whyNoVirtualMachine})`}`,
  { timeout: LIMIT },
  () => {
    let lab: HostileLab;
    beforeAll(async () => {
      lab = await HostileLab.start('e2e-hostile-vm', 'vm', 1200);
    }, LIMIT);
    afterAll(async () => {
      sayHeld('packets, kernel datapath', lab.attacks);
      await lab[Symbol.asyncDispose]();
    });

    describe.each(['shared', 'local'] as const)('%s gateway mode', (mode) => {
      beforeAll(async () => {
        await lab.enter(mode);
      }, LIMIT);

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
      test("nor do pods on the host's network, which reach pods on other nodes all the same", async () => {
        await lab.prove("tunnels from pods on the host's network", await tunnelsFromHostPods(lab));
      });
      test("nothing leaves the node with another address than the node's that belongs to no connection", async () => {
        await sendOfNoConnection(lab);
      });
      test('nor does anything while its table of connections is full, and who was connected stays so', async () => {
        await sendWithoutPlaces(lab);
      });
      test('services take no address of nodes, gateway, API server, cluster DNS or other services from pods, nodes and the outside', async () => {
        await takeWhatIsNotTheirs(lab);
      });
      test("what pods say of others' addresses and of next hops comes to nobody, and nobody goes by it", async () => {
        await lieToNeighbours(lab);
      });
      test("the host's port on the default network leads to no pod", async () => {
        await lab.prove("the host's port on the default network", await pastTheRouter(lab));
      });
      test("the host's port on a primary network leads to no service of the default network, to no other network, and not out of the node", async () => {
        await lab.prove("the host's port on a primary network", await pastTheRouterOfANetwork(lab));
      });
      test("a partner outside who answers gets nothing by the host's ports that is not theirs to send", async () => {
        await askAPartner(lab, mode);
      });
      test("nor does one who asks a pod at its own address get that pod's answer by the host's port", async () => {
        await answerAPartner(lab, mode);
      });
      test("pods on the host's network send by the devices of their own networks alone", async () => {
        await lab.prove("devices of others' networks", await boundToDevices(lab));
      });
      test("nor by ends of others' interfaces, or ports of Open vSwitch", async () => {
        await lab.prove("ends of others' interfaces", await boundPastOvn(lab));
      });
      test.runIf(mode === 'shared')('no pod leaves the node with its own address', async () => {
        await lab.prove("out of the node with a pod's own address", await outWithOwnAddress(lab));
      });
    });
  },
);
