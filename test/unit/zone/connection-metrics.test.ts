import { Registry } from 'prom-client';
import { expect, test } from 'vitest';
import type { TableUsage } from '../../../src/node/conntrack/connection-limits.ts';
import { registerConnections } from '../../../src/zone/connection-metrics.ts';

test('a table has its figures while it can be read, and a limit where it has one', async () => {
  const registry = new Registry();
  let usages: readonly TableUsage[] = [
    { table: 'kernel', entries: 7, limit: Infinity },
    { table: 'userspace', entries: 5, limit: 300 },
  ];
  registerConnections(registry, () => usages);
  const samples = async (): Promise<readonly string[]> =>
    (await registry.metrics()).split('\n').filter((line) => line.startsWith('heddle_'));
  expect(await samples()).toEqual([
    'heddle_host_connections{table="kernel"} 7',
    'heddle_host_connections{table="userspace"} 5',
    'heddle_host_connections_limit{table="userspace"} 300',
  ]);
  usages = [];
  expect(await samples()).toEqual([]);
});
