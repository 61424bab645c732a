/**
 * Addresses of virtual machines of KubeVirt on a primary Layer2 network: kept by a claim while the machine is stopped, asked for beforehand, and not shared by
 * machines that have one host name. A double of KubeVirt: a namespace behind the pod is the guest.
 */
import { rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { startDaemons } from '../../src/lab/daemons.ts';
import { runInside } from '../../src/lab/exec.ts';
import { attachedPods } from '../../src/lab/pods.ts';
import {
  askByDhcp,
  prepareGuest,
  runGuest,
  startGuest,
  type Launcher,
  type Lease,
} from '../support/lab/guests.ts';
import { namespace } from '../support/lab/host-tenants.ts';
import { stopDaemon } from '../support/lab/lab-daemons.ts';
import { testLab, whyNoLab, type TestLab } from '../support/lab/lab.ts';
import {
  claiming,
  ipamClaim,
  launcherPod,
  persistentNetwork,
  type Launched,
} from '../support/lab/machines.ts';
import { manifestsText, podOn } from '../support/lab/network-spaces.ts';
import { Tenants } from '../support/lab/tenants.ts';
import { ownFolder } from '../support/run/left-behind.ts';

const SOON = { timeout: 30_000 };
const SPACE = 'vms';
const CLAIM = 'db.flat';

type Wanted = Omit<Launched, 'namespace' | 'name'>;
interface Guest extends Launcher {
  readonly addresses: readonly string[];
}

describe.skipIf(whyNoLab !== undefined)(
  `addresses of virtual machines${whyNoLab === undefined ? '' : ` (${whyNoLab})`}`,
  () => {
    const folder = ownFolder('heddle-machine-addresses');
    let lab: TestLab;
    let tenants: Tenants;

    const declare = async (name: string, ...objects: readonly object[]): Promise<void> => {
      writeFileSync(join(tenants.manifests, `${name}.yaml`), manifestsText(objects));
      await tenants.settle();
    };
    const withdraw = async (name: string): Promise<void> => {
      rmSync(join(tenants.manifests, `${name}.yaml`), { force: true });
      await tenants.settle();
    };
    const launch = (name: string, wanted: Wanted): Promise<void> =>
      declare(name, launcherPod({ namespace: SPACE, name, ...wanted }));
    const guestOf = (name: string): Guest => {
      const found = attachedPods(lab.record).find((one) => one.name === `${SPACE}/${name}`);
      const link = found?.interfaces.find(({ nadKey }) => nadKey === `${SPACE}/flat`);
      if (found === undefined || link === undefined) throw new Error(`${name} is not attached`);
      const { device, mac, addresses } = link;
      return { namespace: found.namespace, device, mac, addresses };
    };
    const ipOf = (name: string): string => guestOf(name).addresses[0]?.split('/')[0] ?? '';
    /** The guest of a pod starts anew, and has what DHCP tells it. */
    const boot = async (name: string): Promise<Lease> => {
      const guest = `guest-${name}`;
      await startGuest(lab.record, guest, guestOf(name).mac);
      await prepareGuest(lab.record, guest, guestOf(name));
      await runGuest(lab.record, guest, guestOf(name));
      return askByDhcp(lab.record, guest);
    };
    const reaches = async (name: string, address: string): Promise<boolean> => {
      const inside = ['ip', 'netns', 'exec', `guest-${name}`];
      const { code } = await runInside(lab.record, [
        ...inside,
        'ping',
        '-c',
        '1',
        '-W',
        '2',
        address,
      ]);
      return code === 0;
    };

    beforeAll(async () => {
      writeFileSync(
        join(folder, 'objects.yaml'),
        manifestsText([
          namespace(SPACE),
          persistentNetwork(SPACE, 'flat', ['10.81.0.0/16', 'fd81::/64']),
          ipamClaim(SPACE, CLAIM, `${SPACE}_flat`),
          podOn('n2', SPACE, 'partner'),
        ]),
      );
      lab = await testLab('e2e-machine-addresses', { nodes: 2, families: 'dual' });
      tenants = new Tenants(lab.record, { folder });
      await tenants.start();
    });
    afterAll(async () => {
      rmSync(folder, { recursive: true });
      await lab[Symbol.asyncDispose]();
    });

    test('are kept by the claim while the machine is stopped, over a restart of all daemons, and are there when it starts on another node', async () => {
      for (const name of ['db-1', 'db-2', 'filler']) await withdraw(name);
      await launch('db-1', { machine: 'db', nodeName: 'n1', annotations: claiming(CLAIM) });
      const first = guestOf('db-1');
      expect(await boot('db-1')).toMatchObject({ ip: ipOf('db-1'), hostname: 'db' });
      await expect.poll(() => reaches('db-1', ipOf('partner')), SOON).toBe(true);
      await withdraw('db-1');
      for (const node of ['n1', 'n2']) await stopDaemon(lab.record, node, 'kill');
      await startDaemons(lab.record);
      await declare('filler', ...['n1', 'n2'].map((node) => podOn(node, SPACE, `filler-${node}`)));
      for (const node of ['n1', 'n2'])
        expect(guestOf(`filler-${node}`).addresses).not.toEqual(first.addresses);
      await launch('db-2', { machine: 'db', nodeName: 'n2', annotations: claiming(CLAIM) });
      expect([guestOf('db-2').mac, guestOf('db-2').addresses]).toEqual([
        first.mac,
        first.addresses,
      ]);
      expect(await boot('db-2')).toMatchObject({ ip: ipOf('db-2') });
      await expect.poll(() => reaches('db-2', ipOf('partner')), SOON).toBe(true);
    });

    test('of two machines that have one host name are two, and each is told its own', async () => {
      const machines = { 'web-1': 'n1', 'web-2': 'n2' } as const;
      for (const [machine, nodeName] of Object.entries(machines))
        await launch(machine, { machine, nodeName, hostName: 'web' });
      expect(ipOf('web-1')).not.toBe(ipOf('web-2'));
      for (const name of Object.keys(machines))
        expect(await boot(name)).toMatchObject({ ip: ipOf(name), hostname: name });
      for (const name of Object.keys(machines))
        await expect.poll(() => reaches(name, ipOf('partner')), SOON).toBe(true);
      await expect.poll(() => reaches('web-1', ipOf('web-2')), SOON).toBe(true);
    });

    test('and its MAC address are those that the machine asks for', async () => {
      const wanted = { ips: ['10.81.7.7/16', 'fd81::7:7/64'], mac: '02:03:04:05:06:07' };
      const annotations = {
        'v1.multus-cni.io/default-network': JSON.stringify([
          { name: 'default', namespace: 'ovn-kubernetes', ...wanted },
        ]),
      };
      await launch('fixed', { machine: 'fixed', nodeName: 'n1', annotations });
      expect(guestOf('fixed')).toMatchObject({ mac: wanted.mac, addresses: wanted.ips });
      expect(await boot('fixed')).toMatchObject({ ip: '10.81.7.7', router: '10.81.0.1' });
      await expect.poll(() => reaches('fixed', ipOf('partner')), SOON).toBe(true);
    });
  },
);
