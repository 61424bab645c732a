import { cpSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { stringify } from 'yaml';
import { pods } from '../../../src/api/kinds.ts';
import { isAttachable } from '../../../src/cni/links/pod-interfaces.ts';
import { resolveConfiguration } from '../../../src/settings/configuration.ts';
import { freshDatabase } from '../../../src/databases/fresh-database.ts';
import { createLogger } from '../../../src/process/logger.ts';
import { ZoneRuntime } from '../../../src/zone/zone-runtime.ts';
import { nodeManifest } from '../../../src/lab/node-facts.ts';
import { checkout } from '../../../src/lab/paths.ts';
import { ownFolder } from '../../support/run/left-behind.ts';
import { until } from '../../support/run/until.ts';

test('pods get their addresses also where the cluster manager takes longer than what a command waits for', async () => {
  const folder = ownFolder('heddle-zone-runtime');
  try {
    const [manifests, state] = [join(folder, 'manifests'), join(folder, 'state')];
    cpSync(join(checkout, 'examples/two-tenants'), manifests, { recursive: true });
    writeFileSync(join(manifests, 'nodes.yaml'), stringify(nodeManifest('n1')));
    const configuration = resolveConfiguration({
      flags: { manifests, state, node: 'n1' },
      environment: {},
    });
    await using runtime = await ZoneRuntime.open({
      configuration: { ...configuration, node: 'n1', nb: 'a fresh database', timeout: 1 },
      log: createLogger('silent'),
      mode: 'dry-run',
      openDatabase: freshDatabase,
    });
    const ofNode = (): boolean[] =>
      runtime.informers
        .of(pods)
        .list()
        .filter(({ spec }) => spec?.nodeName === 'n1')
        .map(isAttachable);
    await until('addresses of pods', () => {
      runtime.throwFailure();
      return ofNode().length > 0 && ofNode().every(Boolean);
    });
    expect(ofNode().length).toBeGreaterThan(1);
  } finally {
    rmSync(folder, { recursive: true });
  }
});
