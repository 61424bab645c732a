import { describe, expect, test } from 'vitest';
import { readMasqueradeNumbers } from '../../../../src/model/read/masquerade-numbers.ts';
import { node } from '../../../support/cluster/cluster.ts';

const NUMBERS = 'k8s.ovn.org/masquerade-numbers';
const before = { byNetwork: new Map([['blue_net', 4096]]) };
const read = (text: string) => readMasqueradeNumbers(node('n1', { [NUMBERS]: text }), before);

describe('masquerade numbers of a node', () => {
  test('are those of its annotation', () => {
    expect(read('{"red_net":4990}')).toEqual({ byNetwork: new Map([['red_net', 4990]]) });
    expect(read('{}').byNetwork.size).toBe(0);
  });

  test('stay as they were while the annotation is gone', () => {
    expect(readMasqueradeNumbers(node('n1'), before)).toEqual(before);
    expect(readMasqueradeNumbers(node('n1')).byNetwork.size).toBe(0);
  });

  test.each([
    ['{', 'is not valid JSON'],
    ['{"red_net":"4096"}', 'must be a number from 4096 to 4990'],
    ['{"red_net":4095}', 'must be a whole number from 4096 to 4990'],
    ['{"red_net":4991}', 'must be a whole number from 4096 to 4990'],
    ['{"red_net":4100,"green_net":4100}', '4100 is the number of "red_net", too'],
  ])('%s is told, and they stay as they were', (text, why) => {
    const { byNetwork, problem } = read(text);
    expect(byNetwork).toEqual(before.byNetwork);
    expect(problem).toContain(`annotation ${NUMBERS}`);
    expect(problem).toContain(why);
  });
});
