import { existsSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { installPlugin } from '../../../../src/cni/install/plugin-files.ts';
import { ConfigurationError } from '../../../../src/process/configuration-error.ts';
import { ownFolder } from '../../../support/run/left-behind.ts';

test('folders on the way are made', () => {
  const folder = ownFolder('heddle-plugin-files');
  onTestFinished(() => rmSync(folder, { recursive: true }));
  installPlugin(join(folder, 'opt/cni/bin'), '/run/heddle/cni.sock');
  expect(existsSync(join(folder, 'opt/cni/bin/heddle-cni'))).toBe(true);
});

test('where no folder can be made the installation ends, and says so', () => {
  expect(() => installPlugin('/proc/x', '/run/heddle/cni.sock')).toThrow(ConfigurationError);
});
