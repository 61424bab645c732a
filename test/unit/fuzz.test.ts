/** 10,000 inputs that are nearly right, over all readers of what comes from outside; `npm run fuzz` gives them a million. */
import { describe, expect, test } from 'vitest';
import { fuzz, FuzzFinding } from '../fuzz/fuzz.ts';
import { mutated } from '../fuzz/mutation.ts';
import { TARGETS, type FuzzTarget } from '../fuzz/targets.ts';
import { SEED } from '../support/run/seed.ts';

const EACH = Math.ceil(10_000 / TARGETS.length);

describe('reads whatever comes: no error but its own, in time, in few words, without a trace', () => {
  test.each(TARGETS.map((target) => [target.name, target] as const))('%s', async (_, target) => {
    await fuzz(target, SEED, { count: EACH });
  });

  test('and the good inputs are read without a complaint', async () => {
    for (const { name, corpus, run } of TARGETS.filter(({ name: of }) =>
      of.startsWith('annotation'),
    ))
      for (const input of corpus) expect(await run(input), `${name}: ${input}`).toEqual([]);
  });
});

describe('a reader is found that', () => {
  const corpus = ['{"a":[1,{"b":"c"}],"d":"10.0.0.0/8"}'];
  const found = (run: FuzzTarget['run']): Promise<void> =>
    fuzz({ name: 'x', corpus, run }, SEED, { count: 500 });

  test('throws', async () => {
    await expect(
      found((input) => {
        JSON.parse(input);
        return [];
      }),
    ).rejects.toThrow(FuzzFinding);
  });

  test('takes long', async () => {
    const slow: FuzzTarget['run'] = (input) => {
      const began = process.cpuUsage();
      while (input.includes('__proto__') && process.cpuUsage(began).user < 400_000);
      return [];
    };
    await expect(found(slow)).rejects.toThrow(/took \d+ ms/);
  });

  test('repeats what it was given', async () => {
    await expect(found((input) => [input.repeat(200)])).rejects.toThrow(/a text of \d+ characters/);
  });

  test('lets an input change prototypes', async () => {
    const merge = (to: Record<string, unknown>, from: object): void => {
      for (const [key, value] of Object.entries(from))
        if (typeof value === 'object' && value !== null)
          merge((to[key] ??= {}) as Record<string, unknown>, value as object);
        else to[key] = value as unknown;
    };
    const careless: FuzzTarget['run'] = (input) => {
      try {
        merge({}, JSON.parse(input) as object);
      } catch {
        // not JSON, or nothing to merge
      }
      return [];
    };
    try {
      await expect(found(careless)).rejects.toThrow('a prototype was changed');
    } finally {
      for (const key of Object.keys(Object.prototype))
        Reflect.deleteProperty(Object.prototype, key);
    }
  });

  test('is found again by seed and number', () => {
    for (const index of [0, 17, 9999])
      expect(mutated(corpus, 5, index)).toBe(mutated(corpus, 5, index));
    expect(mutated(corpus, 5, 1)).not.toBe(mutated(corpus, 6, 1));
  });
});
