import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { IdAllocator } from '../../../src/allocators/ids.ts';
import { TunnelKeyAllocator, switchTunnelKey } from '../../../src/allocators/tunnel-keys.ts';

describe('ids', () => {
  test('are handed out in turn; a released one rests until the scan comes round', () => {
    const ids = new IdAllocator(2, 4);
    expect([ids.allocate('a'), ids.allocate('b')]).toEqual([2, 3]);
    expect(ids.release('a')).toBe(2);
    expect(ids.allocate('c')).toBe(4);
    expect(ids.allocate('d')).toBe(2);
    expect(() => ids.allocate('e')).toThrow('failed to allocate the id for the resource e');
  });

  test('an owner keeps its id', () => {
    const ids = new IdAllocator(1, 9);
    ids.reserve('a', 7);
    ids.reserve('a', 7);
    expect(ids.allocate('a')).toBe(7);
  });

  test('a reservation says what is in its way', () => {
    const ids = new IdAllocator(1, 9);
    ids.reserve('a', 7);
    expect(() => ids.reserve('a', 8)).toThrow(
      "can't reserve id 8 for the resource a. It is already allocated with a different id 7",
    );
    expect(() => ids.reserve('b', 7)).toThrow('id 7 is already reserved by another resource');
    expect(() => ids.reserve('b', 10)).toThrow('out of range');
    expect(ids.release('b')).toBeUndefined();
  });

  test('no two owners ever share one, and every owner gets one while there is room', () => {
    const owner = fc.constantFrom('a', 'b', 'c', 'd', 'e', 'f');
    const step = fc.oneof(
      fc.record({ kind: fc.constant('allocate' as const), owner }),
      fc.record({ kind: fc.constant('release' as const), owner }),
      fc.record({
        kind: fc.constant('reserve' as const),
        owner,
        id: fc.integer({ min: 0, max: 6 }),
      }),
    );
    fc.assert(
      fc.property(fc.array(step, { maxLength: 60 }), (steps) => {
        const ids = new IdAllocator(1, 5);
        const model = new Map<string, number>();
        for (const one of steps) {
          if (one.kind === 'release') {
            expect(ids.release(one.owner)).toBe(model.get(one.owner));
            model.delete(one.owner);
          } else if (one.kind === 'reserve') {
            const free = ![...model.values()].includes(one.id) && one.id >= 1 && one.id <= 5;
            const same = model.get(one.owner) === one.id;
            if (same || (free && !model.has(one.owner))) {
              ids.reserve(one.owner, one.id);
              model.set(one.owner, one.id);
            } else expect(() => ids.reserve(one.owner, one.id)).toThrow();
          } else if (model.size < 5 || model.has(one.owner)) {
            const id = ids.allocate(one.owner);
            if (model.has(one.owner)) expect(id).toBe(model.get(one.owner));
            else expect([...model.values()]).not.toContain(id);
            model.set(one.owner, id);
          } else expect(() => ids.allocate(one.owner)).toThrow();
        }
        expect(new Map([...ids.owners()].map((name) => [name, ids.idOf(name)]))).toEqual(model);
      }),
    );
  });
});

describe('tunnel keys', () => {
  test('the first key of a network follows from its id, the second is dynamic', () => {
    const keys = new TunnelKeyAllocator();
    expect(switchTunnelKey(1)).toBe(16_711_684);
    expect(keys.allocateForNetwork('blue', 2, 2)).toEqual([16_711_685, 16_715_779]);
    expect(keys.allocateForNetwork('blue', 2, 2)).toEqual([16_711_685, 16_715_779]);
    expect(keys.allocateForNetwork('red', 3, 0)).toEqual([]);
    expect(keys.allocateDynamic('connect', 1)).toEqual([16_715_780]);
  });

  test('all keys of a network of a larger id than keys follow from are dynamic', () => {
    const keys = new TunnelKeyAllocator();
    expect(keys.allocateForNetwork('far', 4096, 2)).toEqual([16_715_779, 16_715_780]);
    expect(keys.allocateForNetwork('far', 4096, 2)).toEqual([16_715_779, 16_715_780]);
    expect(keys.allocateForNetwork('last', 4095, 2)).toEqual([16_715_778, 16_715_781]);
    expect(() => switchTunnelKey(4096)).toThrow('network id 4096 has no switch tunnel key');
  });

  test('there are 61437 dynamic keys', () => {
    const keys = new TunnelKeyAllocator();
    expect(keys.allocateDynamic('all', 61_437).at(-1)).toBe(16_777_215);
    expect(() => keys.allocateDynamic('one more', 1)).toThrow('all 61437 are in use');
    keys.release('all');
    expect(keys.allocateDynamic('one more', 1)).toEqual([16_715_779]);
  });

  test('stored keys are adopted, foreign and surplus ones refused', () => {
    const keys = new TunnelKeyAllocator();
    keys.reserve('blue', [16_711_685, 16_715_790]);
    expect(() => keys.reserve('red', [16_711_686, 16_715_790])).toThrow('is already reserved');
    expect(() => keys.reserve('red', [12])).toThrow('out of range');
    expect(() => keys.allocateForNetwork('blue', 2, 1)).toThrow(
      'the resource blue already has more ids allocated [16711685 16715790] than requested 1',
    );
    expect(() => keys.allocateForNetwork('blue', 5, 2)).toThrow('network id 5 has 16711688');
    expect(keys.allocateForNetwork('blue', 2, 2)).toEqual([16_711_685, 16_715_790]);
  });
});
