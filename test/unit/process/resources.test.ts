import { describe, expect, test } from 'vitest';
import { Resources } from '../../../src/process/resources.ts';

const noted = (ended: string[], name: string): Disposable => ({
  [Symbol.dispose]: () => void ended.push(name),
});

describe('resources', () => {
  test('end in reverse order, once, and wait for each other', async () => {
    const ended: string[] = [];
    const resources = new Resources();
    resources.use(noted(ended, 'first'));
    resources.use({
      [Symbol.asyncDispose]: async () => {
        await Promise.resolve();
        ended.push('second');
      },
    });
    resources.defer(() => ended.push('third'));
    await resources[Symbol.asyncDispose]();
    await resources[Symbol.asyncDispose]();
    expect(ended).toEqual(['third', 'second', 'first']);
  });

  test('end all when one of them fails', async () => {
    const ended: string[] = [];
    const resources = new Resources();
    resources.use(noted(ended, 'first'));
    resources.defer(() => {
      throw new Error('stuck');
    });
    await expect(resources[Symbol.asyncDispose]()).rejects.toThrow('stuck');
    expect(ended).toEqual(['first']);
  });

  test('that were moved are left alone by who had them', async () => {
    const ended: string[] = [];
    const resources = new Resources();
    resources.use(noted(ended, 'first'));
    const moved = resources.move();
    await resources[Symbol.asyncDispose]();
    expect(ended).toEqual([]);
    await moved[Symbol.asyncDispose]();
    expect(ended).toEqual(['first']);
  });
});
