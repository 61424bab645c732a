import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { NameHash } from '../../../src/ovsdb/plan/name-hash.ts';
import { rowUuid } from '../../../src/ovsdb/plan/plan-uuid.ts';
import { uuidText } from '../../../src/ovsdb/storage/uuid-pool.ts';
import { uuidFromName, uuidWords } from '../../../src/ovsdb/data/uuid.ts';
import type { Uuid } from '../../../src/ovsdb/data/value.ts';

test('UUIDs of names are those of RFC 9562, version 5', () => {
  const dns = '6ba7b810-9dad-11d1-80b4-00c04fd430c8' as Uuid;
  expect(uuidFromName(dns, 'www.example.com')).toBe('2ed6657d-e927-568b-95e1-2665a8aea6a2');
  expect(uuidFromName(dns, 'ü'.repeat(3000))).toBe(uuidFromName(dns, 'ü'.repeat(3000)));
});

test('a row has another UUID in another database, in another table, under another key, at a second attempt', () => {
  const uuids = [
    rowUuid('OVN_Northbound', 'Logical_Switch', 'blue'),
    rowUuid('OVN_Southbound', 'Logical_Switch', 'blue'),
    rowUuid('OVN_Northbound', 'Logical_Router', 'blue'),
    rowUuid('OVN_Northbound', 'Logical_Switch', 'red'),
    rowUuid('OVN_Northbound', 'Logical_Switch', 'blue', 2),
  ];
  expect(new Set(uuids).size).toBe(5);
});

test('the words made of a name are those of its UUID, whatever its length and letters', () => {
  const namespace = '6ba7b810-9dad-11d1-80b4-00c04fd430c8' as Uuid;
  const hash = new NameHash(namespace, 'Northbound/');
  for (let length = 0; length < 700; length++) {
    for (const name of ['x'.repeat(length), `ü${'x'.repeat(length)}`, `${'x'.repeat(length)}😀`]) {
      const uuid = uuidFromName(namespace, `Northbound/${name}`);
      expect(uuidText(hash.make(name), 0)).toBe(uuid);
      expect(hash.words).toEqual(uuidWords(uuid));
    }
  }
});

test('many names at once have the words of one after the other, whatever their number, lengths and letters', () => {
  const namespace = '6ba7b810-9dad-11d1-80b4-00c04fd430c8' as Uuid;
  const name = fc.oneof(
    fc.string({ maxLength: 700 }),
    fc.string({ unit: 'binary', maxLength: 40 }),
    fc.nat({ max: 700 }).map((length) => 'x'.repeat(length)),
  );
  const hashes = ['', 'N', 'Nb', 'Nbd', 'Northbound/', 'N'.repeat(63), 'N'.repeat(200)].map(
    (beginning) => ({ beginning, hash: new NameHash(namespace, beginning) }),
  );
  fc.assert(
    fc.property(fc.array(name, { maxLength: 9 }), (names) => {
      for (const { beginning, hash } of hashes) {
        const words = new Uint32Array(names.length * 4);
        hash.makeAll(names, names.length, words);
        expect(names.map((_, i) => uuidText(words, i * 4))).toEqual(
          names.map((rest) => uuidFromName(namespace, `${beginning}${rest}`)),
        );
      }
    }),
  );
});
