import { describe, expect, test } from 'vitest';
import type { AttachmentTables } from '../../../../src/model/zone/attachments.ts';
import { bluePod, exampleZone, factsOf, type Zone } from '../../../support/zone/zones.ts';
import type { Attachment } from '../../../../src/model/model.ts';

const attached = ({ attachments }: AttachmentTables): readonly string[] =>
  attachments.all().map(({ pod }) => pod);
const zoneOf = (...attachments: readonly Attachment[]): Zone => ({ ...exampleZone, attachments });
const other: Attachment = {
  ...bluePod,
  pod: 'other',
  podUid: 'b7a2d6c0-0000-4000-8000-000000000002',
  created: '2026-02-01T00:00:00Z',
};

describe('an interface of a pod', () => {
  test('is there as soon as its namespace has the network, and goes with it', () => {
    const facts = factsOf(zoneOf(bluePod));
    expect(attached(facts)).toEqual(['pod1']);
    facts.definitions.delete('blue/blue');
    facts.refresh(0);
    expect(attached(facts)).toEqual([]);
  });

  test('with the address of another pod is not there: the older pod has it, until it goes', () => {
    const facts = factsOf(zoneOf(other, bluePod));
    expect(attached(facts)).toEqual(['pod1']);
    expect([...facts.attachmentProblems()].map(({ object }) => object)).toEqual(['Pod blue/other']);
    facts.interfaces.delete(['blue', 'pod1', 'blue/blue']);
    facts.refresh(0);
    expect(attached(facts)).toEqual(['other']);
    expect([...facts.attachmentProblems()]).toEqual([]);
  });

  test('outside of the subnet of its node is not there', () => {
    expect(attached(factsOf(zoneOf({ ...bluePod, addresses: ['103.103.9.3/24'] })))).toEqual([]);
  });
});
