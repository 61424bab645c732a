import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { stringify } from 'yaml';
import { nodes as nodeKind } from '../../src/api/kinds.ts';
import { openStore } from '../../src/daemon/object-store.ts';
import { objectsState, startDaemon, stopDaemon } from '../../src/lab/daemons.ts';
import { outputInside } from '../../src/lab/exec.ts';
import { manifestsFolder, nodeManifest } from '../../src/lab/node-facts.ts';
import { testLab, whyNoLab } from '../support/lab.ts';

const SOON = { timeout: 60_000, interval: 500 };

describe.skipIf(whyNoLab !== undefined)(
  `a node of which no manifest says anything${whyNoLab === undefined ? '' : ` (${whyNoLab})`}`,
  () => {
    test('says itself what it is, and has a zone', { timeout: 300_000 }, async () => {
      await using lab = await testLab('e2e-facts', { nodes: 1 });
      const { record } = lab;
      const folder = manifestsFolder(record.name);
      const declared = nodeManifest('n1', 'v4');
      const { annotations, ...metadata } = declared.metadata;
      writeFileSync(join(folder, 'nodes.yaml'), stringify({ ...declared, metadata }));
      const said = async (): Promise<Readonly<Record<string, string>>> => {
        const source = {
          kind: 'manifests',
          manifests: folder,
          state: objectsState(record.name),
        } as const;
        await using store = await openStore(source, { dryRun: true });
        return (await store.objects.get(nodeKind, 'n1'))?.metadata.annotations ?? {};
      };
      await startDaemon(record, 'n1', ['--ovs=unix:/run/openvswitch/db.sock']);
      await expect
        .poll(() => said(), SOON)
        .toMatchObject({
          ...annotations,
          // The manifests of the lab name those of the wanted families alone.
          'k8s.ovn.org/host-cidrs': '["172.18.0.11/24","fd00:172:18::11/64"]',
        });
      await expect
        .poll(() => outputInside(record, ['on', 'n1', 'ovn-nbctl', 'lr-list']), SOON)
        .toContain('GR_n1');
      await stopDaemon(record, 'n1');
    });
  },
);
