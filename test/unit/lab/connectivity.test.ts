import { describe, expect, test } from 'vitest';
import type { OutwardCell } from '../../../src/lab/connectivity.ts';
import { sharedSourceText, unexpectedOutward } from '../../../src/lab/outward.ts';
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

const outward = (
  from: Endpoint,
  to: OutwardCell['to'],
  seenAs: string | undefined,
  ping: number | null = 1,
): OutwardCell => ({
  from: from.pod,
  to,
  address: '172.18.0.100',
  reach: seenAs === undefined ? 'none' : 'reached',
  ...(seenAs === undefined ? {} : { seenAs }),
  ping,
});

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

  test('the outside host and the host of its node are columns', () => {
    const cells = [
      outward(blue, 'outside', '172.18.0.11'),
      outward(blue, 'host', undefined, null),
      outward(red, 'outside', '172.18.0.12', null),
      outward(red, 'host', undefined),
    ];
    expect(matrixText([blue, red], [], cells).split('\n').slice(0, 4)).toEqual([
      'from \\ to    blue/a       red/a        outside       host',
      '             n1 10.1.0.5  n2 10.1.0.5  172.18.0.100  its node',
      'blue/a (n1)  yes          yes          yes           .',
      'red/a (n2)   yes          yes          tcp           ping',
    ]);
  });

  test('who does not reach the outside as its node is named', () => {
    const cells = [
      outward(blue, 'outside', '10.1.0.5'),
      outward(blue, 'host', undefined),
      outward(red, 'outside', undefined),
    ];
    expect(unexpectedOutward([blue, red], cells)).toEqual([
      'blue/a is seen outside as 10.1.0.5, not as its node (172.18.0.11)',
      'red/a does not reach the outside host (172.18.0.100)',
    ]);
  });

  test('pods that share address and port are told apart by what was seen', () => {
    const seenAs = ['172.18.0.11 port 1', null];
    expect(
      sharedSourceText({ pods: ['a/a', 'b/a'], address: '10.1.0.5', port: 40_000, seenAs }),
    ).toBe(
      'a/a and b/a both have the address 10.1.0.5. From port 40000, at the same time, the outside host sees them as 172.18.0.11 port 1 and nobody.',
    );
  });
});
