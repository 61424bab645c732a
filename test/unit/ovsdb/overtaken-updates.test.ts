import * as fc from 'fast-check';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { describe, expect, test } from 'vitest';
import {
  stringify,
  type JsonValue,
  type OvsdbClient,
  type Replica,
} from '../../../src/ovsdb/index.ts';
import {
  carriedOut,
  connected,
  FIRST,
  inserted,
  large,
  MANY,
  reply,
  update,
  uuidOf,
} from '../../support/overtaken-updates.ts';

const received = (client: OvsdbClient): number => client.traffic?.messagesReceived ?? 0;

describe('a reply overtakes a large update in front of it', () => {
  test('that nobody hears of: it is read in another turn of the event loop', async () => {
    await using client = await connected(large);
    const before = received(client);
    await carriedOut(client);
    expect(received(client)).toBe(before + 1);
    await nextTurn();
    await nextTurn();
    expect(received(client)).toBe(before + 2);
    expect(client.replica.size('T')).toBe(MANY + 1);
  });

  const looks: { readonly [what: string]: (replica: Replica) => unknown } = {
    size: (replica) => replica.size('T') === MANY + 1,
    rows: (replica) => [...replica.rows('T')].length === MANY + 1,
    row: (replica) => replica.row('T', uuidOf(MANY))?.exists,
    find: (replica) => replica.find('T', ['name'], ['changed']).length === 1,
    ordered: (replica) => replica.ordered('T', ['name']).rows().length === MANY + 1,
    comparer: (replica) => replica.comparer('T', ['name'], []).top > MANY,
    referrers: (replica) => replica.referrers('T', uuidOf(1)).length === 1,
    sequence: (replica) => replica.sequence === 2,
    statistics: (replica) => replica.statistics.rows === MANY + 1,
  };
  for (const [what, isThere] of Object.entries(looks)) {
    test(`whoever asks for ${what} finds what was written`, async () => {
      await using client = await connected(large);
      const before = received(client);
      await carriedOut(client);
      expect(received(client)).toBe(before + 1);
      expect(isThere(client.replica)).toBe(true);
      expect(received(client)).toBe(before + 2);
    });
  }

  test('a row that was found before shows the new values, an order the new rows', async () => {
    await using client = await connected(large);
    const row = client.replica.row('T', FIRST);
    const order = client.replica.ordered('T', ['name']);
    await carriedOut(client);
    expect(row?.column('name')).toBe('changed');
    expect(order.rows()).toHaveLength(MANY + 1);
  });

  test('a row that was found before is gone when the transaction deleted it', async () => {
    await using client = await connected((id, peer) => {
      peer.send(update({ ...inserted(MANY), [FIRST]: { delete: null } }), reply(id));
    });
    const row = client.replica.row('T', FIRST);
    await carriedOut(client);
    expect(row?.exists).toBe(false);
  });

  test('every monitor shows it', async () => {
    await using client = await connected((id, peer) => {
      peer.send(update(inserted(MANY)), update(inserted(MANY), 2), reply(id));
    });
    using monitor = client.monitor({ T: { columns: ['name'] } });
    await monitor.ready();
    const before = received(client);
    await carriedOut(client);
    expect(received(client)).toBe(before + 1);
    expect(monitor.replica.size('T')).toBe(MANY + 1);
    expect(client.replica.size('T')).toBe(MANY + 1);
  });

  test('a monitor that is closed keeps it', async () => {
    await using client = await connected((id, peer) => {
      peer.send(update(inserted(MANY)), update(inserted(MANY), 2), reply(id));
    });
    const monitor = client.monitor({ T: { columns: ['name'] } });
    await monitor.ready();
    await carriedOut(client);
    monitor.close();
    expect(monitor.replica.size('T')).toBe(MANY + 1);
  });

  test('who subscribes afterwards is not told of it', async () => {
    await using client = await connected(large);
    await carriedOut(client);
    const heard: number[] = [];
    client.replica.subscribe(({ sequence }) => heard.push(sequence));
    expect(client.replica.size('T')).toBe(MANY + 1);
    expect(heard).toEqual([]);
  });

  test('updates keep their order, before and behind the reply', async () => {
    await using client = await connected((id, peer) => {
      peer.send(
        update(inserted(MANY)),
        update({ [uuidOf(1)]: { modify: { name: 'second' } } }),
        reply(id),
        update({ [uuidOf(1)]: { delete: null }, [uuidOf(2)]: { modify: { name: 'third' } } }),
        update(inserted(MANY, MANY + 1)),
      );
    });
    await carriedOut(client);
    // What is behind the reply may come in another turn.
    await expect.poll(() => client.replica.size('T')).toBe(2 * MANY);
    expect(client.replica.row('T', uuidOf(1))).toBeUndefined();
    expect(client.replica.row('T', uuidOf(2))?.column('name')).toBe('third');
  });

  test('more than is put off at once is read at once', async () => {
    await using client = await connected((id, peer) => {
      const parts = Array.from({ length: 20 }, (_, n) => update(inserted(MANY, 1 + n * MANY)));
      peer.send(...parts, reply(id));
    });
    await carriedOut(client);
    expect(client.replica.size('T')).toBe(20 * MANY + 1);
  });

  test('what was written is there when the connection ends behind the reply', async () => {
    const sizes: number[] = [];
    await using client = await connected(
      (id, peer) => {
        large(id, peer);
        peer.hangUp();
      },
      {
        onEvent: ({ kind }) => {
          if (kind === 'disconnected') sizes.push(client.replica.size('T'));
        },
      },
    );
    await carriedOut(client);
    await expect.poll(() => sizes).toEqual([MANY + 1]);
  });

  for (const end of ['close', 'reconnect'] as const) {
    test(`and when whoever waited for it calls ${end}`, async () => {
      await using client = await connected(large);
      await carriedOut(client);
      client[end]();
      expect(client.replica.size('T')).toBe(MANY + 1);
    });
  }

  const useless: { readonly [what: string]: JsonValue } = {
    'does not fit the rows': { ...inserted(MANY), [uuidOf(500)]: { delete: null } },
    'has a row that is none': { ...inserted(MANY), [uuidOf(500)]: { insert: { name: 7 } } },
  };
  for (const [what, rows] of Object.entries(useless)) {
    test(`an update that ${what} has everything loaded anew; whoever looks is not troubled`, async () => {
      const warnings: string[] = [];
      await using client = await connected(
        (id, peer) => {
          peer.send(update(rows), reply(id));
        },
        {
          onEvent: (event) => {
            if (event.kind === 'warning') warnings.push(event.text);
          },
        },
      );
      await carriedOut(client);
      expect(client.replica.size('T')).toBe(1);
      await client.ready();
      expect(client.replica.size('T')).toBe(1);
      expect(warnings.join()).toMatch('the contents are loaded anew');
    });
  }

  test('bytes that can not be understood end the connection', async () => {
    await using client = await connected((id, peer) => {
      const bytes = stringify(update(inserted(MANY)));
      peer.sendBytes(`${bytes.slice(0, -1)},"more":1}${stringify(reply(id))}`);
    });
    await carriedOut(client);
    expect(client.replica.size('T')).toBe(1);
    expect(client.status).not.toBe('ready');
    await client.ready();
    expect(client.replica.size('T')).toBe(1);
  });
});

describe('a reply does not overtake', () => {
  test('an update that somebody hears of: he is told first', async () => {
    await using client = await connected(large);
    const heard: string[] = [];
    client.replica.subscribe(({ tables }) => heard.push(`${tables.get('T')?.rows.length}`));
    await carriedOut(client);
    expect(heard).toEqual([`${MANY + 1}`]);
  });

  test('a small update', async () => {
    await using client = await connected((id, peer) => {
      peer.send(update(inserted(1)), reply(id));
    });
    const before = received(client);
    await carriedOut(client);
    expect(received(client)).toBe(before + 2);
  });

  test('when other transactions are under way', async () => {
    const ids: JsonValue[] = [];
    await using client = await connected((id, peer) => {
      ids.push(id);
      if (ids.length === 2) peer.send(update(inserted(MANY)), ...ids.map(reply));
    });
    const before = received(client);
    await Promise.all([carriedOut(client), carriedOut(client)]);
    expect(received(client)).toBe(before + 3);
  });
});

/** A transaction of a random history: how many rows come, and how the bytes of its answer are cut. */
const step = fc.record({
  rows: fc.constantFrom(1, 3, 90, 200, 900),
  removes: fc.boolean(),
  behind: fc.boolean(),
  cuts: fc.array(fc.nat(), { maxLength: 4 }),
  looks: fc.boolean(),
  waits: fc.boolean(),
});

describe('whatever is written, and however it arrives', () => {
  test('the replica shows all of it when the outcome is known', async () => {
    const history = fc.asyncProperty(
      fc.array(step, { minLength: 1, maxLength: 12 }),
      async (steps) => {
        let n = 0;
        let next = 1;
        const rows = new Map([[FIRST, 'first']]);
        await using client = await connected((id, peer) => {
          const { rows: count, removes, behind, cuts } = steps[n++] as (typeof steps)[number];
          const changes: { [uuid: string]: JsonValue } = inserted(count, next);
          for (const uuid of Object.keys(changes)) rows.set(uuid, uuid);
          next += count;
          const gone = [...rows.keys()].find((uuid) => !(uuid in changes));
          if (removes && gone !== undefined) {
            changes[gone] = { delete: null };
            rows.delete(gone);
          }
          const messages = [update(changes), reply(id)];
          if (behind) {
            messages.splice(1, 0, update(inserted(1, next)));
            rows.set(uuidOf(next), '');
            next++;
          }
          const bytes = Buffer.from(messages.map(stringify).join(''));
          const places = [0, ...cuts.map((cut) => cut % bytes.length), bytes.length];
          places.sort((a, b) => a - b);
          for (let i = 1; i < places.length; i++)
            peer.sendBytes(bytes.subarray(places[i - 1], places[i]));
        });
        for (const { looks, waits } of steps) {
          await carriedOut(client);
          if (looks) {
            const there = [...client.replica.rows('T')].map(({ uuid }) => uuid as string);
            expect(there.toSorted()).toEqual([...rows.keys()].toSorted());
          }
          if (waits) await nextTurn();
        }
        expect(client.replica.size('T')).toBe(rows.size);
      },
    );
    await fc.assert(history, { numRuns: 60 });
  });
});
