import { expect, test } from 'vitest';
import { ClaimedTable } from '../../../src/desired/ovsdb/claimed-table.ts';
import { uuidFromName, type Uuid } from 'ovsdb-client-ts';
import { MemoryDatabase } from '../../support/ovsdb/memory-database.ts';
import { CLAIMS, northboundSchema } from './northbound.ts';

const schema = northboundSchema();

const rowUuid = (table: string, key: string, attempt = 1, database = 'OVN_Northbound'): string => {
  const claim = CLAIMS.get(table);
  if (claim === undefined) throw new Error(`no claim of ${table}`);
  const replica = new MemoryDatabase({ ...schema, name: database });
  return new ClaimedTable(claim, replica).rowUuid(key, attempt);
};

test('UUIDs of names are those of RFC 9562, version 5', () => {
  const dns = '6ba7b810-9dad-11d1-80b4-00c04fd430c8' as Uuid;
  expect(uuidFromName(dns, 'www.example.com')).toBe('2ed6657d-e927-568b-95e1-2665a8aea6a2');
});

test('a row has another UUID in another database, in another table, under another key, at a second attempt', () => {
  const uuids = [
    rowUuid('Logical_Switch', 'blue'),
    rowUuid('Logical_Switch', 'blue', 1, 'OVN_Southbound'),
    rowUuid('Logical_Router', 'blue'),
    rowUuid('Logical_Switch', 'red'),
    rowUuid('Logical_Switch', 'blue', 2),
  ];
  expect(new Set(uuids).size).toBe(5);
  expect(rowUuid('Logical_Switch', 'blue')).toBe(uuids[0]);
});
