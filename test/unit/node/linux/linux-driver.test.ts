import { expect, test } from 'vitest';
import { NetworkMonitor } from '../../../../src/node/linux/network-monitor.ts';
import { LinuxDriver } from '../../../../src/node/linux/linux-driver.ts';
import { LINUX } from '../../../../src/node/linux/linux-rows.ts';
import type { DesiredRow } from '../../../../src/desired/rows.ts';

const sysctl = (key: string): DesiredRow => ({
  database: LINUX,
  table: 'sysctl',
  key,
  columns: { value: '1' },
  containers: [],
  rule: '',
  object: 'cluster',
});

test('a setting that can’t be read, as when its device goes meanwhile, is written, and a problem of its unit alone when that fails', async () => {
  const gone = 'net/ipv4/conf/gone/forwarding';
  const written: string[] = [];
  const sysctls = {
    read(path: string): string {
      if (path === gone) throw new Error('ENODEV: no such device, read');
      return '0';
    },
    write(path: string): string | undefined {
      if (path === gone) return 'ENOENT: no such file or directory';
      written.push(path);
      return undefined;
    },
  };
  using driver = new LinuxDriver({ monitor: new NetworkMonitor(), sysctls });
  for (const [order, key] of [gone, 'net/ipv4/conf/lo/forwarding'].entries())
    driver.set({ id: key, rank: 0, order, rowsIn: () => [] }, [sysctl(key)]);
  const plan = driver.plan(0, () => true);
  expect(plan.changes.map(({ key, before }) => [key, before])).toEqual([
    [gone, 'unreadable (ENODEV: no such device, read)'],
    ['net/ipv4/conf/lo/forwarding', '0'],
  ]);
  const { refused } = await driver.apply(plan, 0);
  expect(written).toEqual(['net/ipv4/conf/lo/forwarding']);
  expect(refused.map(({ unit }) => unit)).toEqual([gone]);
});
