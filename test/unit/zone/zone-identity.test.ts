import { describe, expect, test } from 'vitest';
import { foreignDatabase } from '../../../src/zone/zone-identity.ts';

describe('databases of another node', () => {
  const own = { name: 'n1', ownChassis: ['c1'] };
  test.each([
    ['its own, by name and chassis', own, 'c1', 'c1'],
    ['new ones', { name: '', ownChassis: [] }, 'c1', undefined],
    [
      'its own, whose former chassis is still registered',
      { ...own, ownChassis: ['c0', 'c1'] },
      'c1',
      'c1',
    ],
    ['its own, before the node has said which chassis it is', own, undefined, 'c9'],
  ])('%s are not', (_name, found, chassis, systemId) => {
    expect(foreignDatabase('n1', chassis, found, systemId)).toBeUndefined();
  });

  test.each([
    ['--nb', { name: 'n2', ownChassis: ['c1'] }, 'c1', 'c1'],
    ['--nb', { name: 'n2', ownChassis: [] }, undefined, undefined],
    ['--sb', { name: '', ownChassis: ['c2'] }, 'c1', undefined],
    ['--ovs', own, 'c1', 'c2'],
  ])('%s is named', (flag, found, chassis, systemId) => {
    expect(foreignDatabase('n1', chassis, found, systemId)?.flag).toBe(flag);
  });
});
