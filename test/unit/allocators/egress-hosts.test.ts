import { expect, test } from 'vitest';
import { chooseHosts, type HostRequest } from '../../../src/allocators/egress-hosts.ts';

const anywhere = (key: string, held = ''): HostRequest => ({
  key,
  held,
  mayStay: () => true,
  mayCome: () => true,
});
const on = (key: string, nodes: readonly string[], held = ''): HostRequest => ({
  key,
  held,
  mayStay: (node) => nodes.includes(node),
  mayCome: (node) => nodes.includes(node),
});
const chosen = (requests: readonly HostRequest[], nodes: readonly string[]): readonly string[] =>
  [...chooseHosts(requests, nodes)].map(([key, node]) => `${key} ${node}`);

test('services are balanced over the nodes, whatever order these come in', () => {
  const requests = ['a/1', 'a/2', 'a/3', 'a/4', 'a/5'].map((key) => anywhere(key));
  const expected = ['a/1 n1', 'a/2 n2', 'a/3 n3', 'a/4 n1', 'a/5 n2'];
  expect(chosen(requests, ['n3', 'n1', 'n2'])).toEqual(expected);
  expect(chosen(requests, ['n1', 'n2', 'n3'])).toEqual(expected);
});

test('a node that fits is kept, however loaded it is, and counts for those that choose', () => {
  expect(
    chosen(
      [anywhere('a/1', 'n1'), anywhere('a/2'), anywhere('a/3', 'n1'), anywhere('a/4')],
      ['n1', 'n2'],
    ),
  ).toEqual(['a/1 n1', 'a/3 n1', 'a/2 n2', 'a/4 n2']);
});

test('one that does not fit any more, or is gone, is left', () => {
  expect(chosen([on('a/1', ['n2'], 'n1'), anywhere('a/2', 'n9')], ['n1', 'n2'])).toEqual([
    'a/1 n2',
    'a/2 n1',
  ]);
});

test('where none fits none is chosen; where one may stay, and not come, it stays', () => {
  expect(chosen([on('a/1', [])], ['n1'])).toEqual([]);
  const staying = (held: string): HostRequest => ({
    ...anywhere('a/1', held),
    mayCome: () => false,
  });
  expect(chosen([staying('n1')], ['n1'])).toEqual(['a/1 n1']);
  expect(chosen([staying('')], ['n1'])).toEqual([]);
});

test('one that nothing leaves is left where another fits, and has what no other can have', () => {
  const down = (nodes: readonly string[], request: HostRequest): HostRequest => ({
    ...request,
    isDown: (node) => nodes.includes(node),
  });
  const nodes = ['n1', 'n2', 'n3'];
  expect(chosen([down(['n1'], anywhere('a/1', 'n1')), anywhere('a/2', 'n2')], nodes)).toEqual([
    'a/2 n2',
    'a/1 n3',
  ]);
  expect(chosen([down(['n1'], anywhere('a/1'))], nodes)).toEqual(['a/1 n2']);
  expect(chosen([down(nodes, anywhere('a/1', 'n3'))], nodes)).toEqual(['a/1 n3']);
  expect(chosen([down(nodes, anywhere('a/1'))], nodes)).toEqual(['a/1 n1']);
  expect(chosen([down(['n1'], on('a/1', ['n1'], 'n1'))], nodes)).toEqual(['a/1 n1']);
});
