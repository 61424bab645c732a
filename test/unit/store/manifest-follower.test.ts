import { expect, test } from 'vitest';
import { pauseAfterScan } from '../../../src/store/manifests/manifest-follower.ts';

test.each([
  ['every five seconds while that costs little', 100, 5000],
  ['less often when it takes longer', 1000, 20_000],
  [
    'twice a minute, however long it took: maybe the process was busy with something else',
    60_000,
    30_000,
  ],
])('everything is looked at %s', (_, took, pause) => {
  expect(pauseAfterScan(took, 5000)).toBe(pause);
});
