import { describe, expect, test } from 'vitest';
import { nodes as nodeKind } from '../../src/api/kinds.ts';
import { openStore } from '../../src/settings/object-store.ts';
import { objectsState, startDaemon } from '../../src/lab/daemons.ts';
import { stopDaemon } from '../support/lab/lab-daemons.ts';
import { heddleCommand, outputInside } from '../../src/lab/exec.ts';
import { manifestsFolder } from '../../src/lab/node-facts.ts';
import { chassisId } from '../support/lab/chassis-id.ts';
import { nodePrerequisites } from '../support/lab/node-prerequisites.ts';
import { testLab, whyNoLab } from '../support/lab/lab.ts';

const EXTERNAL_IDS = ['get', 'Open_vSwitch', '.', 'external_ids'];
const SOON = { timeout: 60_000, interval: 500 };

describe.skipIf(whyNoLab !== undefined)(
  `a node of which no manifest says anything${whyNoLab === undefined ? '' : ` (${whyNoLab})`}`,
  () => {
    test('says itself what it is, and has a zone', { timeout: 300_000 }, async () => {
      await using lab = await testLab('e2e-facts', { nodes: 1 });
      const { record } = lab;
      const folder = manifestsFolder(record.name);
      const said = async (): Promise<Readonly<Record<string, string>>> => {
        const source = {
          kind: 'manifests',
          manifests: folder,
          state: objectsState(record.name),
        } as const;
        await using store = await openStore(source, { dryRun: true });
        return (await store.objects.get(nodeKind, 'n1'))?.metadata.annotations ?? {};
      };
      const settings = async (): Promise<readonly string[]> => {
        const ids = await outputInside(record, ['on', 'n1', 'ovs-vsctl', ...EXTERNAL_IDS]);
        return [...ids.matchAll(/([\w-]+)=/g)].map(([, key = '']) => key).toSorted();
      };
      // What docs/install.md asks for, and nothing more.
      const before = await settings();
      expect(nodePrerequisites).toEqual(expect.arrayContaining([...before]));
      expect(before).toContain('system-id');
      await startDaemon(record, 'n1');
      await expect
        .poll(() => said(), SOON)
        .toMatchObject({
          'k8s.ovn.org/node-chassis-id': chassisId('n1'),
          'k8s.ovn.org/node-primary-ifaddr': '{"ipv4":"172.18.0.11/24"}',
          'k8s.ovn.org/host-cidrs': '["172.18.0.11/24","fd00:172:18::11/64"]',
          'k8s.ovn.org/node-encap-ips': '["172.18.0.11"]',
          'k8s.ovn.org/l3-gateway-config': expect.stringContaining(
            '"bridge-id":"breth0","interface-id":"breth0_n1","mac-address":"0a:58:ac:12:00:0b","ip-addresses":["172.18.0.11/24"],"ip-address":"172.18.0.11/24","next-hops":["172.18.0.100"]',
          ) as unknown,
        });
      await expect
        .poll(() => outputInside(record, ['on', 'n1', 'ovn-nbctl', 'lr-list']), SOON)
        .toContain('GR_n1');
      // Once the data plane has confirmed something, flows are to outlive a restart of ovn-controller.
      await expect.poll(settings, SOON).toContain('ovn-ofctrl-wait-before-clear');
      await stopDaemon(record, 'n1');
      const cleanup = heddleCommand(record, ['cleanup', '--ovs=unix:/run/openvswitch/db.sock']);
      expect(await outputInside(record, ['on', 'n1', ...cleanup])).toContain(
        'remove external_ids:ovn-is-interconn',
      );
      expect(await settings()).toEqual(before);
    });
  },
);
