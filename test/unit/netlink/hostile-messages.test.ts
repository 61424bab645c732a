/** Whatever bytes come, they are read, or refused as a whole with MalformedMessage: nothing else is thrown, nothing outside of them is looked at. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import {
  connections,
  MalformedMessage,
  readConnection,
  readRouteEvent,
  type Connection,
} from '../../../src/netlink/index.ts';
import { Attributes, eachAttribute } from '../../../src/netlink/wire/attributes.ts';
import { ByteWriter } from '../../../src/netlink/wire/byte-writer.ts';
import {
  CONTROL,
  readAcknowledgement,
  readMessages,
  writeMessage,
} from '../../../src/netlink/wire/message.ts';
import type { Recording } from '../../support/netlink/record.ts';

const DATAGRAMS = (
  JSON.parse(
    readFileSync(join(import.meta.dirname, 'recorded.json'), 'utf8'),
  ) as readonly Recording[]
).flatMap(({ received }) => received.map((hex) => new Uint8Array(Buffer.from(hex, 'hex'))));

/** How many objects were read; -1 when the datagram was refused. */
function read(datagram: Uint8Array): number {
  try {
    return readMessages(datagram).filter((message) => {
      if (message.type === CONTROL.error || message.type === CONTROL.done)
        return readAcknowledgement(message).errno >= 0;
      return (readRouteEvent(message) ?? readConnection(message)) !== undefined;
    }).length;
  } catch (error) {
    if (error instanceof MalformedMessage) return -1;
    throw error;
  }
}

/** In the middle of other bytes, which must not be read. */
function surrounded(bytes: Uint8Array): Uint8Array {
  const larger = new Uint8Array(bytes.length + 64).fill(0xff);
  larger.set(bytes, 32);
  return larger.subarray(32, 32 + bytes.length);
}

const RUNS = { numRuns: 10_000 };
const recorded = fc.constantFrom(...DATAGRAMS.filter((one) => read(one) > 0));

describe('datagrams', () => {
  test('that were recorded are read', () => {
    expect(DATAGRAMS.map(read).filter((count) => count < 0)).toEqual([]);
    expect(DATAGRAMS.filter((one) => read(one) > 0).length).toBeGreaterThan(30);
  });

  test('that are cut off anywhere are refused, or have fewer objects', () => {
    fc.assert(
      fc.property(recorded, fc.nat(), (datagram, at) => {
        const cut = surrounded(datagram.subarray(0, at % datagram.length));
        expect(read(cut)).toBeLessThan(read(datagram) + 1);
        expect(read(cut) === -1 || cut.length === 0 || cut.length >= 16).toBe(true);
      }),
      RUNS,
    );
  });

  test('with some bytes changed, lengths among them, are read or refused', () => {
    const changes = fc.array(
      fc.tuple(fc.nat(), fc.oneof(fc.constantFrom(0, 1, 3, 4, 0x7f, 0x80, 0xff), fc.nat(255))),
      { minLength: 1, maxLength: 8 },
    );
    let refused = 0;
    fc.assert(
      fc.property(recorded, changes, (datagram, all) => {
        const changed = datagram.slice();
        for (const [at, value] of all) changed[at % changed.length] = value;
        if (read(surrounded(changed)) === -1) refused += 1;
      }),
      RUNS,
    );
    expect(refused).toBeGreaterThan(1000);
  });

  test('of bytes that mean nothing are read or refused', () => {
    const body = fc.uint8Array({ maxLength: 200 });
    const types = fc.constantFrom(2, 3, 16, 17, 20, 21, 24, 25, 28, 32, 80, 0x100, 0x102, 0x7777);
    fc.assert(
      fc.property(types, fc.nat(0xffff), body, (type, flags, bytes) => {
        read(surrounded(writeMessage({ type, flags, sequence: 1, body: bytes })));
        read(surrounded(bytes));
      }),
      RUNS,
    );
  });
});

describe('connections of some addresses', () => {
  const MESSAGES = DATAGRAMS.filter((one) => read(one) > 0).flatMap((one) => readMessages(one));
  const tracked = MESSAGES.flatMap((message) => {
    const found = readConnection(message);
    return found === undefined ? [] : { message, found };
  });
  const addressesOf = ({ original, reply }: Connection): readonly string[] =>
    [original, reply].flatMap(({ source, destination }) => [source, destination]);
  const all = [...new Set(tracked.flatMap(({ found }) => addressesOf(found)))];

  test('are those that a full reading finds, also where bytes are changed', () => {
    const changes = fc.array(fc.tuple(fc.nat(), fc.nat(255)), { maxLength: 3 });
    let shown = 0;
    fc.assert(
      fc.property(
        fc.constantFrom(...tracked),
        fc.subarray([...all, '10.99.0.1', 'fd99::1'], { minLength: 1 }),
        changes,
        ({ message }, among, changed) => {
          const body = surrounded(message.body);
          for (const [at, value] of changed) body[at % body.length] = value;
          const full = outcome(() => readConnection({ ...message, body }));
          const chosen = outcome(() => connections({ among }).read({ ...message, body }));
          const isMeant =
            full instanceof Object &&
            !(full instanceof MalformedMessage) &&
            addressesOf(full).some((address) => among.includes(address));
          if (isMeant) shown += 1;
          // What is wrong with a message of others may go unseen.
          if (isMeant || chosen !== undefined) expect(chosen).toEqual(full);
          expect(isMeant || chosen === undefined || chosen instanceof MalformedMessage).toBe(true);
        },
      ),
      RUNS,
    );
    expect(shown).toBeGreaterThan(1000);
  });
});

function outcome(work: () => Connection | undefined): Connection | MalformedMessage | undefined {
  try {
    return work();
  } catch (error) {
    if (error instanceof MalformedMessage) return error;
    throw error;
  }
}

type Tree = readonly (readonly [number, Uint8Array | Tree])[];

const trees = fc.letrec<{ tree: Tree; value: Uint8Array | Tree }>((tie) => ({
  tree: fc.array(fc.tuple(fc.integer({ min: 1, max: 0x3fff }), tie('value')), { maxLength: 5 }),
  value: fc.oneof({ depthSize: 'small' }, fc.uint8Array({ maxLength: 40 }), tie('tree')),
})).tree;

function write(writer: ByteWriter, tree: Tree): void {
  for (const [type, value] of tree)
    if (value instanceof Uint8Array) writer.attribute(type, (w) => w.put(value));
    else writer.nested(type, (w) => write(w, value));
}

function expectToRead(bytes: Uint8Array, tree: Tree): void {
  const list: (readonly [number, Uint8Array])[] = [];
  eachAttribute(bytes, 0, 'tree', (type, value) => list.push([type, value]));
  expect(list.map(([type]) => type)).toEqual(tree.map(([type]) => type));
  for (const [index, [, value]] of tree.entries()) {
    const [, found = new Uint8Array()] = list[index] ?? [];
    if (value instanceof Uint8Array) expect([...found]).toEqual([...value]);
    else expectToRead(found, value);
  }
}

describe('attributes', () => {
  test('of any type, nested in each other, are read as they were written', () => {
    fc.assert(
      fc.property(trees, (tree) => {
        const writer = new ByteWriter();
        write(writer, tree);
        expectToRead(surrounded(writer.bytes), tree);
      }),
      { numRuns: 2000 },
    );
  });

  test.each([
    ['shorter than its header', [3, 0, 1, 0]],
    ['of length 0', [0, 0, 1, 0, 4, 0, 2, 0]],
    ['longer than what there is', [9, 0, 1, 0, 1, 2, 3, 4]],
    ['without a header', [4, 0, 1, 0, 4, 0]],
  ])('one %s is refused', (_, bytes) => {
    expect(() => new Attributes(Uint8Array.from(bytes), 0, 'link 7')).toThrow(MalformedMessage);
    expect(() => new Attributes(Uint8Array.from(bytes), 0, 'link 7')).toThrow(/^link 7: /);
  });

  test('a number of another size is refused, and named', () => {
    const all = new Attributes(new ByteWriter().attribute(4, (w) => w.u16(7)).bytes, 0, 'link 7');
    expect(all.u16(4)).toBe(7);
    expect(() => all.u32(4)).toThrow('link 7: attribute 4 has 2 bytes instead of 4');
    expect(all.u32(5)).toBeUndefined();
  });

  test('of what is written, a number that does not fit is refused', () => {
    for (const value of [-1, 1.5, 256, Number.NaN])
      expect(() => new ByteWriter().u8(value)).toThrow(RangeError);
    expect(() => new ByteWriter().u32(2 ** 32)).toThrow(RangeError);
    expect(() => new ByteWriter().text(1, 'a\0b')).toThrow(RangeError);
    expect(() => new ByteWriter().word(1, 'x'.repeat(0x10000))).toThrow(RangeError);
  });
});
