import { expect, test } from 'vitest';
import { faultStack } from '../../../src/api/error-text.ts';

/** What a statement throws. */
function thrownBy(statement: () => unknown): unknown {
  try {
    statement();
  } catch (error) {
    return error;
  }
  throw new Error('nothing was thrown');
}

test('where it was thrown is known of an error that only a fault of ours makes, also when it is the cause of another', () => {
  const fault = thrownBy(() => (undefined as unknown as { name: string }).name);
  expect(faultStack(fault)).toMatch(/^TypeError: Cannot read .*\n {4}at .*error-text\.test\.ts:/s);
  const told = new Error('inside the pod', { cause: new Error('a port', { cause: fault }) });
  expect(faultStack(told)).toBe((fault as Error).stack);
});

test('and of none that says what is wrong outside', () => {
  // Node.js and the system give theirs a code.
  const refused = thrownBy(() => new URL('nowhere'));
  expect(refused).toBeInstanceOf(TypeError);
  for (const error of [refused, new Error('nft did not end'), 'a text', undefined])
    expect(faultStack(error)).toBeUndefined();
});
