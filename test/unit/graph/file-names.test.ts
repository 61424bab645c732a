import { expect, test } from 'vitest';
import { fileNames } from '../../../src/graph/file-names.ts';

test('networks have files of their own, whatever they are called', () => {
  const names = [
    'blue_net',
    'Blue_net',
    'index',
    '../../etc/x',
    '..',
    'connection all',
    'é',
    'x'.repeat(300),
  ];
  const files = [...fileNames(names).values()];
  expect(files).toEqual([
    'blue_net',
    'Blue_net-2',
    'index-2',
    '__.._etc_x',
    '_',
    'connection_all',
    '_-2',
    'x'.repeat(80),
  ]);
});
