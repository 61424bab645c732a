import { describe, expect, test } from 'vitest';
import { matrixText, unexpected, type Cell, type Endpoint } from '../../../src/lab/connectivity.ts';

const end = (pod: string, node: string): Endpoint => ({
  pod,
  node,
  namespace: pod.replace('/', '_'),
  nadKey: `${pod.split('/')[0]}/net`,
  addresses: ['10.1.0.5'],
});
const [blue, red] = [end('blue/a', 'n1'), end('red/a', 'n2')];
const cell = (
  from: Endpoint,
  to: Endpoint,
  answeredBy: string | undefined,
  ping: number | null = 1,
): Cell => ({
  from: from.pod,
  to: to.pod,
  address: '10.1.0.5',
  reach: answeredBy === undefined ? 'none' : answeredBy === to.pod ? 'reached' : 'other',
  ...(answeredBy === undefined ? {} : { answeredBy }),
  ping,
});
const sameTenant = (from: string, to: string): boolean => from.split('/')[0] === to.split('/')[0];

describe('matrix of who reaches whom', () => {
  test('an answer of another pod with the same address is not reaching', () => {
    const cells = [
      cell(blue, blue, 'blue/a'),
      cell(blue, red, 'blue/a'),
      cell(red, blue, undefined, null),
      cell(red, red, 'red/a'),
    ];
    expect(matrixText([blue, red], cells).split('\n')).toEqual([
      'from \\ to    blue/a       red/a',
      '             n1 10.1.0.5  n2 10.1.0.5',
      'blue/a (n1)  yes          -',
      'red/a (n2)   .            yes',
      expect.stringContaining('yes: ping and TCP'),
    ]);
    expect(unexpected(cells, sameTenant)).toEqual([]);
  });

  test('a leak and a gap are unexpected, each is named', () => {
    const cells = [
      cell(blue, blue, undefined),
      cell(blue, red, 'red/a'),
      cell(red, blue, 'red/a'),
      cell(red, red, 'red/a', null),
    ];
    expect(unexpected(cells, sameTenant)).toEqual([
      'blue/a does not reach blue/a (10.1.0.5)',
      'blue/a reaches red/a (10.1.0.5), which is in another network',
      'red/a gets no ping reply from red/a (10.1.0.5)',
    ]);
  });
});
