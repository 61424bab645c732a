import { describe, expect, test } from 'vitest';
import { ReadRecorder } from '../../../../src/facts/reads.ts';
import { DerivationGraph } from '../../../../src/facts/derivation-graph.ts';
import { NetworkUsage } from '../../../../src/model/zone/usage.ts';

const graph = new DerivationGraph(new ReadRecorder());
const usage = (): NetworkUsage => new NetworkUsage(graph, 60);
const refresh = (networks: NetworkUsage, now: number, mayEnter = true): void => {
  networks.begin(now, mayEnter);
  graph.refresh();
};
const inUse = ({ table }: NetworkUsage): string[] => [...table.entries()].map(([name]) => name);

describe('networks in use', () => {
  test('are those that somebody uses, until the last user is gone for the grace period', () => {
    const networks = usage();
    networks.use('blue', 'pods');
    networks.use('blue', 'egress');
    networks.release('blue', 'pods');
    refresh(networks, 1000);
    expect(networks.nextExpiry).toBeUndefined();
    networks.release('blue', 'egress');
    refresh(networks, 1000);
    expect(networks.table.peek('blue')).toEqual({ network: 'blue', unusedSince: 1000 });
    expect(networks.nextExpiry).toBe(1060);
    refresh(networks, 1059);
    expect(inUse(networks)).toEqual(['blue']);
    refresh(networks, 1060);
    expect(inUse(networks)).toEqual([]);
    expect(networks.nextExpiry).toBeUndefined();
  });

  test('stay when they are used again in time', () => {
    const networks = usage();
    networks.use('blue', 'pods');
    networks.release('blue', 'pods');
    refresh(networks, 1000);
    networks.use('blue', 'pods');
    refresh(networks, 5000);
    expect(networks.table.peek('blue')).toEqual({ network: 'blue' });
  });

  test('end in the order in which they were used last', () => {
    const networks = usage();
    for (const name of ['a', 'b', 'c']) networks.use(name, 'pods');
    networks.release('b', 'pods');
    refresh(networks, 10);
    networks.release('a', 'pods');
    refresh(networks, 20);
    expect(networks.nextExpiry).toBe(70);
    refresh(networks, 75);
    expect(inUse(networks)).toEqual(['a', 'c']);
    expect(networks.nextExpiry).toBe(80);
  });

  test('that nobody uses are not ended by somebody else', () => {
    const networks = usage();
    networks.use('blue', 'pods');
    networks.release('blue', 'egress');
    networks.release('red', 'pods');
    refresh(networks, 1000);
    expect(networks.table.peek('blue')).toEqual({ network: 'blue' });
    expect(networks.nextExpiry).toBeUndefined();
  });

  test('that are new wait while none may come, and what is there stays', () => {
    const networks = usage();
    networks.use('blue', 'pods');
    refresh(networks, 0);
    refresh(networks, 10, false);
    networks.use('red', 'pods');
    networks.use('pink', 'pods');
    networks.release('pink', 'pods');
    networks.release('blue', 'pods');
    refresh(networks, 20, false);
    networks.use('blue', 'pods');
    expect(inUse(networks)).toEqual(['blue']);
    expect([...networks.entering]).toEqual(['red']);
    refresh(networks, 30);
    expect(inUse(networks)).toEqual(['blue', 'red']);
    expect(networks.table.peek('blue')).toEqual({ network: 'blue' });
    expect(networks.entering.size).toBe(0);
    expect(networks.nextExpiry).toBeUndefined();
  });
});
