import { isIP } from 'node:net';
import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import {
  ipText,
  macText,
  parseIp,
  parseMac,
  parsePrefix,
} from '../../../src/netlink/wire/ip-text.ts';
import { MalformedMessage } from '../../../src/netlink/wire/malformed.ts';

describe('addresses', () => {
  test.each([
    '0.0.0.0',
    '255.1.20.3',
    '::',
    '::1',
    'fe80::1',
    '1::',
    '1:0:0:2::3',
    '1:2:3:4:5:6:7:8',
    '1:2:3:0:5:6:7:8',
    '::ffff:10.0.0.1',
    'fd69::e',
  ])('%s is read and shown', (text) => {
    expect(ipText(parseIp(text))).toBe(text);
  });

  test('any bytes are shown as an address that gives them again', () => {
    const v6 = fc.array(fc.oneof(fc.constant(0), fc.nat(255)), { minLength: 16, maxLength: 16 });
    fc.assert(
      fc.property(v6, (bytes) => {
        const text = ipText(Uint8Array.from(bytes));
        expect(isIP(text)).toBe(6);
        expect([...parseIp(text)]).toEqual(bytes);
        expect(text).toBe(
          new URL(`http://[${text}]`).hostname.slice(1, -1).replace(/^::ffff:.*/, text),
        );
      }),
    );
  });

  test('any text is an address here exactly when it is one for Node.js', () => {
    const pieces = fc.constantFrom(
      '0',
      '1',
      '10',
      '255',
      '256',
      '01',
      '.',
      ':',
      '::',
      'ffff',
      'g',
      ' ',
    );
    fc.assert(
      fc.property(fc.array(pieces, { maxLength: 14 }), (all) => {
        const text = all.join('');
        let isRead = true;
        try {
          parseIp(text);
        } catch (error) {
          expect(error).toBeInstanceOf(RangeError);
          isRead = false;
        }
        expect([text, isRead]).toEqual([text, isIP(text) !== 0]);
      }),
      { numRuns: 20_000 },
    );
  });

  test('prefixes', () => {
    expect(parsePrefix('10.0.0.0/8')).toMatchObject({ family: 'v4', length: 8 });
    expect(parsePrefix('fd00::1')).toMatchObject({ family: 'v6', length: 128 });
    for (const text of ['10.0.0.0/33', '10.0.0.0/', '10.0.0.0/08', '::/129', '::/1/2', 'default'])
      expect(() => parsePrefix(text)).toThrow(RangeError);
  });

  test('of another length are refused', () => {
    expect(() => ipText(new Uint8Array(5))).toThrow(MalformedMessage);
  });

  test('MAC addresses', () => {
    expect(macText(parseMac('0A:58:00:ff:01:02'))).toBe('0a:58:00:ff:01:02');
    expect(() => parseMac('0a:58:00:ff:01')).toThrow(RangeError);
  });
});
