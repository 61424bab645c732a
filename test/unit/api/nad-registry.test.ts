import { describe, expect, test } from 'vitest';
import { NadRegistry } from '../../../src/api/nad/nad-registry.ts';
import { readNad, type RegisteredNad } from '../../../src/api/nad/registered-nad.ts';
import { parseNad } from '../../../src/api/nad/nad.ts';
import type { OwnerReference } from '../../../src/api/objects.ts';
import { rawNad, testSettings } from '../../support/cluster/cluster.ts';

const config = (key: string, name: string, changes: object = {}): object => ({
  cniVersion: '1.1.0',
  type: 'ovn-k8s-cni-overlay',
  name,
  netAttachDefName: key,
  topology: 'layer3',
  subnets: '10.1.0.0/16',
  ...changes,
});

function nad(
  key: string,
  created: number,
  changes: object = {},
  { name = 'n', id }: { readonly name?: string; readonly id?: number } = {},
): RegisteredNad {
  const annotations: Record<string, string> =
    id === undefined ? {} : { 'k8s.ovn.org/network-id': String(id) };
  const raw = rawNad(key, config(key, name, changes), annotations);
  const creationTimestamp = `2026-01-01T00:00:${String(created).padStart(2, '0')}Z`;
  const read = readNad(
    { ...raw, metadata: { ...raw.metadata, creationTimestamp } },
    testSettings.cluster,
  );
  if (read.kind !== 'network') throw new Error(`no network: ${JSON.stringify(read)}`);
  return read.nad;
}

const registryOf = (nads: readonly RegisteredNad[]): NadRegistry => {
  const registry = new NadRegistry();
  for (const one of nads) registry.set(one.key, one);
  return registry;
};
const permutations = <T>(all: readonly T[]): readonly (readonly T[])[] =>
  all.length === 0
    ? [[]]
    : all.flatMap((one, at) => permutations(all.toSpliced(at, 1)).map((rest) => [one, ...rest]));

describe('which NAD a network is', () => {
  const late = nad('a/n', 20, { subnets: '10.1.0.0/16' }, { id: 5 });
  const early = nad('b/n', 10, { subnets: '10.2.0.0/16' }, { id: 5 });
  const unserved = nad('c/n', 1, { subnets: '10.3.0.0/16' });

  test.each(permutations([late, early, unserved]))(
    'is the same for whoever sees %j, %j and %j, and for a node that sees those with an id alone',
    (...nads) => {
      const manager = registryOf(nads);
      const onNode = registryOf(nads.filter(({ networkId }) => networkId !== undefined));
      for (const registry of [manager, onNode]) {
        const network = registry.network('n');
        expect(network?.nads.map(({ key }) => key)).toEqual(['b/n']);
        expect(network?.config.subnets.map(({ cidr }) => cidr)).toEqual(['10.2.0.0/16']);
        expect(network?.id).toBe(5);
        expect(registry.refusedNads('n').get('a/n')).toBe(
          'NAD a/n CNI config does not match that of network n: subnets, which NAD b/n has otherwise: make it equal, or give the network another name',
        );
      }
      expect([...manager.refusedNads('n').keys()]).toEqual(['a/n', 'c/n']);
    },
  );

  test('is the one that has grown by subnets, while others have yet to', () => {
    const grown = nad('b/n', 20, { subnets: '10.2.0.0/16,10.1.0.0/16' });
    const registry = registryOf([nad('a/n', 10), grown]);
    expect(registry.network('n')?.nads.map(({ key }) => key)).toEqual(['a/n', 'b/n']);
    expect(registry.network('n')?.config).toBe(grown.config);
  });

  test('is decided anew when the first one goes', () => {
    const registry = registryOf([late, early]);
    expect(registry.counts(late)).toBe(false);
    expect(registry.set('b/n', undefined)).toEqual(['n']);
    expect(registry.network('n')?.nads.map(({ key }) => key)).toEqual(['a/n']);
    expect(registry.counts(late)).toBe(true);
    registry.set('a/n', undefined);
    expect(registry.network('n')).toBeUndefined();
    expect(registry.networkNames()).toEqual([]);
  });

  test('one that competes for a namespace is decided anew with it', () => {
    const primary = { role: 'primary' };
    const first = nad('a/one', 1, primary, { name: 'one', id: 1 });
    const second = nad('a/two', 2, primary, { name: 'two', id: 2 });
    const registry = registryOf([first, second]);
    expect(registry.primariesOf('a').map(({ key }) => key)).toEqual(['a/one']);
    expect(registry.network('two')).toBeUndefined();
    expect([...registry.set('a/one', undefined)].toSorted()).toEqual(['one', 'two']);
    expect(registry.network('two')?.nads).toEqual([second]);
  });
});

test.each([5, { name: 'n' }, ['x'], true])('a NAD whose configuration is %j says so', (odd) => {
  const raw = rawNad('a/x', '');
  const parsed = parseNad(
    { ...raw, spec: { config: odd as unknown as string } },
    testSettings.cluster,
  );
  expect(parsed).toEqual({
    kind: 'invalid',
    error: `spec.config: must be a string that holds JSON, is ${JSON.stringify(odd)}`,
  });
});

describe('a NAD that calls its network', () => {
  const outcome = (key: string, name: string, owner?: Partial<OwnerReference>): string => {
    const raw = rawNad(key, config(key, name));
    const ownerReferences = [
      { apiVersion: 'k8s.ovn.org/v1', name: '', uid: 'u', kind: '', controller: true, ...owner },
    ];
    const metadata = { ...raw.metadata, ...(owner === undefined ? {} : { ownerReferences }) };
    const parsed = parseNad({ ...raw, metadata }, testSettings.cluster);
    return parsed.kind === 'invalid' ? parsed.error : parsed.kind;
  };

  test.each([
    ['mallory/x', 'blue_blue', 'UserDefinedNetwork blue/blue'],
    ['blue/other', 'blue_blue', 'UserDefinedNetwork blue/blue'],
    ['mallory/x', 'cluster_udn_x', 'ClusterUserDefinedNetwork x'],
    ['mallory/x', 'secondary_blue_overlay', 'OVNSecondaryNetwork blue/overlay'],
  ])('%s: %s is refused: that is the network of somebody else', (key, name, object) => {
    expect(outcome(key, name)).toBe(
      `name: "${name}" is the network of ${object}, not of NAD ${key}: choose a name without "_"`,
    );
  });

  test.each(['blue_blue/node/ovn-worker2', 'a"b', 'a b', '-a', '', 'default'])(
    '%j is refused: no name',
    (name) => {
      expect(outcome('mallory/x', name)).toContain('invalid name');
    },
  );

  test('as its own object does, or as no object can, is taken', () => {
    expect(outcome('blue/blue', 'blue_blue')).toBe('network');
    expect(outcome('blue/overlay', 'secondary_blue_overlay')).toBe('network');
    const owner = { kind: 'ClusterUserDefinedNetwork', name: 'x' };
    expect(outcome('red/x', 'cluster_udn_x', owner)).toBe('network');
    for (const name of ['tenant', 'tenant.blue', 'Tenant_Blue', 'a_b_c', 'a__b'])
      expect(outcome('mallory/x', name)).toBe('network');
  });
});
