import { describe, expect, test } from 'vitest';
import { bandwidth } from '../../../src/api/annotations/bandwidth-annotations.ts';

const read = (ingress: string): number | string | undefined => {
  const { value, errors } = bandwidth({
    kind: 'Pod',
    metadata: {
      namespace: 'blue',
      name: 'web',
      annotations: { 'kubernetes.io/ingress-bandwidth': ingress },
    },
  });
  return errors[0]?.message ?? value?.ingress;
};

describe('bandwidth of a pod', () => {
  test.each([
    ['1k', 1000],
    ['10M', 10_000_000],
    ['1.5M', 1_500_000],
    ['1Mi', 1_048_576],
    ['2Ki', 2048],
    ['1e6', 1_000_000],
    ['12E3', 12_000],
    ['8000', 8000],
    ['1P', 1e15],
    ['1500000m', 1500],
    ['.5G', 500_000_000],
  ])('%s', (text, bits) => {
    expect(read(text)).toBe(bits);
  });

  test.each(['', '10 M', '10Mb', '-1M', '1K', '999', '1.1P', '1E', '1Ei', 'NaN', '9'.repeat(400)])(
    '%j is an error that says what to write',
    (text) => {
      expect(read(text)).toMatch(
        /^Pod blue\/web: annotation kubernetes.io\/ingress-bandwidth: must be .*; write bits per second from 1k to 1P/,
      );
    },
  );

  test('is not limited without annotations', () => {
    expect(bandwidth({ kind: 'Pod', metadata: { name: 'web' } })).toEqual({
      value: {},
      errors: [],
    });
  });
});
