import { describe, expect, test } from 'vitest';
import { readSlice, slicesWithin } from '../../../../src/model/read/endpoint-slices.ts';
import { slice } from '../../../support/zone/services.ts';

const stateOf = (conditions: object): string | undefined =>
  readSlice(slice('blue/web', [{ addresses: ['10.0.0.3'], conditions }]))?.endpoints[0]?.state;

describe('a slice', () => {
  test('is of a service on a network: the default one, or the one that it is a mirror for', () => {
    expect(readSlice(slice('blue/web', ['10.0.0.3 on n1']))).toMatchObject({
      network: 'default',
      service: 'blue/web',
      ports: [{ name: '', protocol: 'TCP', port: 8080 }],
      endpoints: [{ addresses: ['10.0.0.3'], node: 'n1', state: 'ready' }],
    });
    expect(readSlice(slice('blue/web', ['10.0.0.3'], { network: 'blue_net' }))?.network).toBe(
      'blue_net',
    );
  });

  test('of no service, or of names, is none', () => {
    const made = slice('blue/web', ['10.0.0.3']);
    const { labels: _labels, ...metadata } = made.metadata;
    expect(readSlice({ ...made, metadata })).toBeUndefined();
    expect(readSlice({ ...made, addressType: 'FQDN' })).toBeUndefined();
  });

  test('leaves out ports without a number', () => {
    expect(readSlice(slice('blue/web', ['10.0.0.3'], { ports: [{ name: 'x' }] }))?.ports).toEqual(
      [],
    );
  });
});

describe('an endpoint', () => {
  test('is ready unless it says otherwise', () => {
    expect([stateOf({}), stateOf({ ready: true })]).toEqual(['ready', 'ready']);
    expect(stateOf({ ready: false })).toBe('unready');
  });

  test('that ends and still serves counts while nobody is ready', () => {
    expect(stateOf({ ready: false, serving: true, terminating: true })).toBe('ending');
    expect(stateOf({ ready: false, serving: false, terminating: true })).toBe('unready');
  });
});

describe('hints', () => {
  test('are the names of zones and nodes that an endpoint is for', () => {
    const endpoint = (hints: unknown): object | undefined =>
      readSlice(slice('blue/web', [{ addresses: ['10.0.0.3'], hints }]))?.endpoints[0];
    expect(
      endpoint({ forZones: [{ name: 'a' }, { name: 'b' }], forNodes: [{ name: 'n1' }] }),
    ).toMatchObject({ forZones: ['a', 'b'], forNodes: ['n1'] });
    for (const none of [undefined, null, {}, { forZones: [], forNodes: null }])
      expect(endpoint(none)).toEqual({ addresses: ['10.0.0.3'], state: 'ready' });
    expect(() => endpoint({ forZones: [{ name: 1 }] })).toThrow('forZones');
    expect(() => endpoint({ forZones: 'a' })).toThrow('forZones');
  });
});

describe('of too many slices', () => {
  const slices = ['c', 'a', 'b'].map((name) => ({
    network: 'default',
    service: 'blue/web',
    ports: [],
    endpoints: [{ addresses: ['10.0.0.3'], state: 'ready' as const }],
    age: name,
  }));

  test('the oldest count, and the others are counted', () => {
    const { taken, left } = slicesWithin(slices, { slices: 2, targets: 100 });
    expect([taken.map(({ age }) => age), left]).toEqual([['a', 'b'], 1]);
  });

  test('so do those within the number of endpoints', () => {
    expect(slicesWithin(slices, { slices: 9, targets: 1 }).taken.map(({ age }) => age)).toEqual([
      'a',
      'b',
    ]);
    expect(slicesWithin(slices, { slices: 3, targets: 2 })).toEqual({ taken: slices, left: 0 });
  });
});
