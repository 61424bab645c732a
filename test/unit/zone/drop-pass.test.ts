import { Registry } from 'prom-client';
import { expect, test } from 'vitest';
import { createLogger } from '../../../src/process/logger.ts';
import type { Drop } from '../../../src/views/drops.ts';
import { DropMetrics } from '../../../src/zone/drop-metrics.ts';
import { DropPass, type Dropped } from '../../../src/zone/drop-pass.ts';

const drop = (more: Partial<Drop>): Drop => ({
  reason: 'policy/default-deny',
  stage: 'ls_out_acl_eval',
  match: 'ip4',
  key: 'k',
  packets: 1,
  bytes: 100,
  ...more,
});
const networks = (...names: readonly string[]): Dropped['networks'] =>
  names.map((name) => ({ name, object: `UserDefinedNetwork ${name}/net` }));

/** A pass that finds one after the other, and what its metrics say afterwards. */
async function passOver(...looks: readonly (Dropped | Error)[]) {
  const registry = new Registry();
  const rest = [...looks];
  const pass = new DropPass({
    look() {
      const one = rest.shift() ?? expect.unreachable('nothing more');
      return one instanceof Error ? Promise.reject(one) : Promise.resolve(one);
    },
    interval: 60_000,
    metrics: new DropMetrics(registry),
    log: createLogger('silent'),
  });
  for (const _ of looks)
    expect(await pass.run(new AbortController().signal)).toEqual({
      wait: 60_000,
      isBlocked: false,
    });
  return (await registry.metrics()).split('\n').filter((line) => /^heddle\S+ /.test(line));
}

test('what is dropped adds up by network, reason and direction', async () => {
  const look: Dropped = {
    drops: [
      drop({ network: 'blue', direction: 'Ingress', packets: 3, bytes: 300 }),
      drop({ network: 'blue', direction: 'Ingress', key: 'other', packets: 2, bytes: 150 }),
      drop({ reason: 'ovn' }),
    ],
    networks: networks('blue'),
    unread: [],
  };
  expect(await passOver(look, look)).toEqual([
    'heddle_dropped_packets_total{network="blue",reason="policy/default-deny",direction="Ingress"} 10',
    'heddle_dropped_packets_total{network="",reason="ovn",direction=""} 2',
    'heddle_dropped_bytes_total{network="blue",reason="policy/default-deny",direction="Ingress"} 900',
    'heddle_dropped_bytes_total{network="",reason="ovn",direction=""} 200',
    'heddle_drops_failures_total 0',
  ]);
});

test('a network that is gone has no series any more', async () => {
  const first = { drops: [drop({ network: 'blue' })], networks: networks('blue'), unread: [] };
  expect(await passOver(first, { drops: [], networks: networks('red'), unread: [] })).toEqual([
    'heddle_drops_failures_total 0',
  ]);
});

test('a look that fails, or is not complete, is counted and followed by others', async () => {
  const torn = { drops: [], networks: networks('blue'), unread: ['nftables: no program nft'] };
  const good = { drops: [drop({ network: 'blue' })], networks: networks('blue'), unread: [] };
  expect(await passOver(new Error('gone'), torn, good)).toEqual([
    'heddle_dropped_packets_total{network="blue",reason="policy/default-deny",direction=""} 1',
    'heddle_dropped_bytes_total{network="blue",reason="policy/default-deny",direction=""} 100',
    'heddle_drops_failures_total 2',
  ]);
});
