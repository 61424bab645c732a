import { describe, expect, test } from 'vitest';
import { ChangeRecord, type WrittenRow } from '../../../src/zone/change-record.ts';

const clock = () => {
  let now = Date.parse('2026-01-01T00:00:00Z');
  return () => new Date((now += 1000));
};
const row = (action: WrittenRow['action'], object?: string): WrittenRow => ({ action, object });
const drifted = (text: string) => ({ table: 'ACL', object: undefined, text });

describe('the record of changes', () => {
  test('has what was written and what was put right, the newest first, with counts and objects', () => {
    const record = new ChangeRecord(clock());
    record.wrote('Northbound', [
      row('insert', 'UserDefinedNetwork blue/net'),
      row('insert', 'UserDefinedNetwork red/net'),
      row('update', 'UserDefinedNetwork red/net'),
      row('delete'),
    ]);
    record.repaired(
      {
        database: 'nftables',
        rows: [drifted('chain a was removed')],
        by: ['nft (process 7)'],
      },
      [row('add', 'Pod blue/web')],
    );
    expect(record.report('n1')).toEqual({
      node: 'n1',
      since: '2026-01-01T00:00:01.000Z',
      count: 2,
      changes: [
        {
          at: '2026-01-01T00:00:03.000Z',
          kind: 'drift',
          database: 'nftables',
          added: 1,
          changed: 0,
          removed: 0,
          objects: [{ object: 'Pod blue/web', rows: 1 }],
          more: 0,
          rows: ['chain a was removed'],
          by: ['nft (process 7)'],
        },
        {
          at: '2026-01-01T00:00:02.000Z',
          kind: 'wrote',
          database: 'Northbound',
          added: 2,
          changed: 1,
          removed: 1,
          objects: [
            { object: 'UserDefinedNetwork red/net', rows: 2 },
            { object: 'UserDefinedNetwork blue/net', rows: 1 },
          ],
          more: 0,
        },
      ],
    });
  });

  test('notes nothing where nothing was changed', () => {
    const record = new ChangeRecord(clock());
    record.wrote('Northbound', []);
    record.repaired({ database: 'Northbound', rows: [] }, []);
    expect(record.report('n1')).toMatchObject({ count: 0, changes: [] });
  });

  test('names eight objects of a change, and counts the others', () => {
    const record = new ChangeRecord(clock());
    record.wrote(
      'Northbound',
      Array.from({ length: 11 }, (_, index) => row('insert', `Pod blue/web-${index}`)),
    );
    const [change] = record.report('n1').changes;
    expect(change?.objects).toHaveLength(8);
    expect(change).toMatchObject({ added: 11, more: 3 });
  });

  test('keeps 200 of either kind: what is written again and again does not push out what somebody else did', () => {
    const record = new ChangeRecord(clock());
    record.repaired({ database: 'Southbound', rows: [drifted('x was changed')] }, [row('update')]);
    for (let index = 0; index < 300; index += 1)
      record.wrote('Northbound', [row('insert', `Pod blue/web-${index}`)]);
    const { count, changes } = record.report('n1');
    expect(count).toBe(301);
    expect(changes).toHaveLength(201);
    expect(changes[0]?.objects).toEqual([{ object: 'Pod blue/web-299', rows: 1 }]);
    expect(changes.at(-1)).toMatchObject({ kind: 'drift', database: 'Southbound' });
  });
});
