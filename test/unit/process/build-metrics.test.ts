import { Registry } from 'prom-client';
import { expect, test } from 'vitest';
import { registerBuild } from '../../../src/process/build-metrics.ts';
import { VERSION } from '../../../src/process/version.ts';

test('the release is a metric', async () => {
  const registry = new Registry();
  registerBuild(registry);
  expect(await registry.metrics()).toContain(
    `heddle_build_info{version="${VERSION}",nodejs_version="${process.versions.node}"} 1`,
  );
});
