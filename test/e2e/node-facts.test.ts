import { describe, expect, test } from 'vitest';
import { nodes as nodeKind } from '../../src/api/kinds.ts';
import { openStore } from '../../src/daemon/object-store.ts';
import { objectsState, startDaemon, stopDaemon } from '../../src/lab/daemons.ts';
import { outputInside } from '../../src/lab/exec.ts';
import { chassisId, manifestsFolder } from '../../src/lab/node-facts.ts';
import { testLab, whyNoLab } from '../support/lab.ts';

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
      await startDaemon(record, 'n1');
      await expect
        .poll(() => said(), SOON)
        .toMatchObject({
          'k8s.ovn.org/node-chassis-id': chassisId('n1'),
          'k8s.ovn.org/node-primary-ifaddr': '{"ipv4":"172.18.0.11/24"}',
          'k8s.ovn.org/host-cidrs': '["172.18.0.11/24","fd00:172:18::11/64"]',
          'k8s.ovn.org/node-encap-ips': '["172.18.0.11"]',
          'k8s.ovn.org/l3-gateway-config': expect.stringContaining(
            '"bridge-id":"br-ex","interface-id":"br-ex_n1","mac-address":"0a:58:ac:12:00:0b","ip-addresses":["172.18.0.11/24"],"ip-address":"172.18.0.11/24","next-hops":["172.18.0.100"]',
          ) as unknown,
        });
      await expect
        .poll(() => outputInside(record, ['on', 'n1', 'ovn-nbctl', 'lr-list']), SOON)
        .toContain('GR_n1');
      await stopDaemon(record, 'n1');
    });
  },
);
