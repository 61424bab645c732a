import { describe, expect, test } from 'vitest';
import { zoneName } from '../../../../src/topology/database/global.ts';
import { exampleZone } from '../../../support/zone/zones.ts';
import { featureTexts } from '../part-texts.ts';

describe('the row of the database itself (reference/topology.md §5)', () => {
  test('says which zone it is, beside what others say there', () => {
    expect(featureTexts([zoneName], exampleZone)).toEqual([
      'NB_Global NB_Global name=ovn-worker options={name=ovn-worker} (partial)',
    ]);
  });
});
