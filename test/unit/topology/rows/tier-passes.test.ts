import { expect, test } from 'vitest';
import { objectIds } from '../../../../src/topology/rows/object-ids.ts';
import { addTierPasses } from '../../../../src/topology/rows/tier-passes.ts';
import { holds } from '../../../../src/topology/rows/unit-rows.ts';
import { builtTexts } from '../part-texts.ts';

const texts = (tier: number): readonly string[] =>
  builtTexts((rows) => {
    const ids = (type: string) => objectIds('c', 'T', { name: 'n', type });
    addTierPasses(rows, tier, 'outport == @g', ids, holds('Port_Group', 'g', 'acls'));
  }).map((text) => text.replace(/ external_ids=\{[^}]*\}/, ''));

test('each tier before the one that decides passes on what has been cut, behind whatever else it has', () => {
  expect(texts(3)).toEqual(
    [0, 1, 2].map(
      (below) =>
        `ACL c:T:n:pass-${below} action=pass direction=to-lport match=ct.est && ct_mark.blocked == 1 && outport == @g priority=0 tier=${below} < Port_Group/g.acls`,
    ),
  );
});

test('before the first tier there is none', () => {
  expect(texts(0)).toEqual([]);
});
