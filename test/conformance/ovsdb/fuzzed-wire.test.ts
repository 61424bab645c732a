import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import {
  OvsdbClient,
  stringify,
  type JsonObject,
  type JsonValue,
  type OpenSocket,
} from 'ovsdb-client-ts';
import { scriptedTransport, type ScriptedPeer } from 'ovsdb-client-ts/testing';
import { settle } from '../../support/run/manual-clock.ts';
import {
  DATABASE_ID,
  databaseRow,
  SMALL_SCHEMA,
} from '../../support/ovsdb/scripted-ovsdb-server.ts';

const soon = (): AbortSignal => AbortSignal.timeout(15_000);
const uuid = (n: number): string => `00000000-0000-4000-8000-${String(n).padStart(12, '0')}`;

const PIECE = 60_000;

/** Two rows that every transaction changes alike, and one that comes and goes. */
const [A, B, C] = [uuid(1), uuid(2), uuid(3)];

/** What happens to a message on its way. */
interface Damage {
  /** How many messages arrive whole before it. */
  readonly after: number;
  readonly kind: 'flip' | 'lose' | 'double' | 'cut' | 'skip' | 'repeat' | 'swap';
  /** Where in the message: 0 ≤ position < 1. */
  readonly position: number;
  /** The bit that is flipped. */
  readonly bit: number;
  /** How many bytes are lost or doubled. */
  readonly length: number;
}

interface Row {
  readonly name: string;
  readonly count: number;
  readonly members: readonly string[];
}

type Rows = ReadonlyMap<string, Row>;

const set = (members: readonly string[]): JsonValue => ['set', members];
const toJson = ({ name, count, members }: Row): JsonObject => ({
  name,
  count,
  members: set(members),
});

/** What `update3` says of two states. */
function changes(before: Rows, after: Rows): JsonObject {
  const rows: { [uuid: string]: JsonValue } = {};
  for (const id of new Set([...before.keys(), ...after.keys()])) {
    const [old, now] = [before.get(id), after.get(id)];
    if (now === undefined) rows[id] = { delete: null };
    else if (old === undefined) rows[id] = { insert: toJson(now) };
    else if (stringify(toJson(old)) !== stringify(toJson(now))) {
      const members = [...new Set(old.members).symmetricDifference(new Set(now.members))];
      rows[id] = {
        modify: {
          ...(old.count === now.count ? {} : { count: now.count }),
          ...(members.length === 0 ? {} : { members: set(members) }),
        },
      };
    }
  }
  return { T: rows };
}

/** A server of a small database whose messages are damaged on their way. */
class DamagedServer {
  readonly openSocket: OpenSocket;
  rows: Rows = new Map(
    [A, B].map((id) => [id, { name: `row ${id}`, count: 0, members: [] as string[] }]),
  );
  /** Bytes that were changed still made a message: what it says is wrong, and nobody can tell. */
  isDeceiving = false;
  #damages: readonly Damage[];
  readonly #others: Rows;
  #sent = 0;
  #step = 0;
  #held: Buffer | undefined;
  #peer: ScriptedPeer | undefined;
  #monitor: JsonValue = null;
  readonly #states = new Map<string, Rows>();

  /** `others`: how many rows there are that never change. */
  constructor(damages: readonly Damage[], others = 0) {
    this.#damages = damages;
    this.#others = new Map(
      Array.from({ length: others }, (_, n) => [
        uuid(10_000 + n),
        { name: `other row ${n}`, count: n, members: ['x', 'y', 'z'] },
      ]),
    );
    this.rows = new Map([...this.rows, ...this.#others]);
    this.openSocket = scriptedTransport({
      connected: (peer) => {
        this.#peer = peer;
        this.#monitor = null;
        this.#held = undefined;
      },
      message: (message, peer) => {
        this.#answer(message, peer);
      },
    });
  }

  get #lastId(): string {
    return uuid(1000 + this.#step);
  }

  /** From now on everything arrives whole. */
  heal(): void {
    this.#damages = [];
  }

  /** One transaction: both rows change alike, the third comes or goes. */
  change(): void {
    this.#states.set(this.#lastId, this.rows);
    const before = this.rows;
    const count = 111_111 * ++this.#step;
    const changed = [A, B].map((id): [string, Row] => {
      const row = before.get(id) as Row;
      const members = new Set(row.members).symmetricDifference(new Set([`m${this.#step % 3}`]));
      return [id, { ...row, count, members: [...members] }];
    });
    const third: [string, Row][] =
      this.#step % 2 === 1 ? [[C, { name: 'third', count, members: [] }]] : [];
    this.rows = new Map([...changed, ...third, ...this.#others]);
    if (this.#peer === undefined || this.#monitor === null) return;
    const params = [this.#monitor, this.#lastId, changes(before, this.rows)];
    this.#send(this.#peer, { id: null, method: 'update3', params }, true);
  }

  /** Asks the client for a sign of life, as servers do. */
  probe(): void {
    if (this.#peer !== undefined)
      this.#send(this.#peer, { id: 'probe', method: 'echo', params: [] });
  }

  #answer({ id, method, params }: JsonObject, peer: ScriptedPeer): void {
    if (typeof method !== 'string' || id === undefined || id === null) return;
    const given = params as readonly JsonValue[];
    if (method === 'echo') this.#send(peer, { id, result: given, error: null });
    else if (method === 'get_schema') this.#send(peer, { id, result: SMALL_SCHEMA, error: null });
    else if (method === 'monitor_cond') {
      const result = { Database: { [DATABASE_ID]: { initial: databaseRow() } } };
      this.#send(peer, { id, result, error: null });
    } else if (method === 'monitor_cond_since') {
      this.#monitor = given[1] ?? null;
      this.#send(peer, { id, result: this.#contents(given[3] as string), error: null }, true);
    } else this.#send(peer, { id, result: {}, error: null });
  }

  #contents(since: string): JsonValue {
    const known = since === this.#lastId ? this.rows : this.#states.get(since);
    if (known !== undefined) return [true, this.#lastId, changes(known, this.rows)];
    const rows = [...this.rows].map(([id, row]) => [id, { initial: toJson(row) }]);
    return [false, this.#lastId, { T: Object.fromEntries(rows) as JsonObject }];
  }

  /** `hasRows`: a damage that the client can't see may change what is said. */
  #send(peer: ScriptedPeer, message: JsonObject, hasRows = false): void {
    const bytes = Buffer.from(stringify(message));
    const damage = this.#damages.find(({ after }) => after === this.#sent);
    this.#sent++;
    if (damage !== undefined) {
      this.#damage(peer, bytes, damage, hasRows, hasRows && 'method' in message);
      return;
    }
    sendInPieces(peer, bytes);
    if (this.#held !== undefined) peer.sendBytes(this.#held);
    this.#held = undefined;
  }

  #damage(
    peer: ScriptedPeer,
    bytes: Buffer,
    damage: Damage,
    hasRows: boolean,
    isUpdate: boolean,
  ): void {
    const at = Math.floor(damage.position * bytes.length);
    const [head, tail] = [bytes.subarray(0, at), bytes.subarray(at + damage.length)];
    switch (damage.kind) {
      case 'flip': {
        const flipped = Buffer.from(bytes);
        flipped[at] = (flipped[at] as number) ^ (1 << damage.bit);
        this.#sendChanged(peer, bytes, flipped, hasRows);
        break;
      }
      case 'lose':
        this.#sendChanged(peer, bytes, Buffer.concat([head, tail]), hasRows);
        break;
      case 'double': {
        const doubled = Buffer.concat([bytes.subarray(0, at + damage.length), bytes.subarray(at)]);
        this.#sendChanged(peer, bytes, doubled, hasRows);
        break;
      }
      case 'cut':
        sendInPieces(peer, head);
        peer.hangUp();
        break;
      case 'repeat':
        sendInPieces(peer, Buffer.concat([bytes, bytes]));
        break;
      // A reply that never comes is waited for.
      case 'skip':
        if (!isUpdate) sendInPieces(peer, bytes);
        break;
      case 'swap':
        if (isUpdate) this.#held = Buffer.from(bytes);
        else sendInPieces(peer, bytes);
        break;
    }
  }

  #sendChanged(peer: ScriptedPeer, bytes: Buffer, changed: Buffer, hasRows: boolean): void {
    const isMessage = isJson(changed);
    if (isMessage && hasRows) this.isDeceiving = true;
    sendInPieces(peer, isMessage && !hasRows ? bytes : changed);
  }
}

/** As a socket brings it: large messages are read while they arrive. */
function sendInPieces(peer: ScriptedPeer, bytes: Buffer): void {
  for (let at = 0; at < bytes.length; at += PIECE) peer.sendBytes(bytes.subarray(at, at + PIECE));
}

function isJson(bytes: Buffer): boolean {
  try {
    JSON.parse(bytes.toString());
    return true;
  } catch {
    return false;
  }
}

const KINDS = ['flip', 'lose', 'double', 'cut', 'skip', 'repeat', 'swap'] as const;

const damageOf = (first: number, count = 16): fc.Arbitrary<Damage> =>
  fc.record({
    after: fc.integer({ min: first, max: first + count - 1 }),
    kind: fc.constantFrom(...KINDS),
    position: fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true }),
    bit: fc.integer({ min: 0, max: 7 }),
    length: fc.integer({ min: 1, max: 8 }),
  });

/** What the client shows. */
const shown = ({ replica }: OvsdbClient): JsonObject =>
  Object.fromEntries(
    [...replica.rows('T')].map((row) => [
      row.uuid,
      ['name', 'count', 'members'].map((column) => row.column(column) as JsonValue),
    ]),
  );

const truth = (rows: Rows): JsonObject =>
  Object.fromEntries(
    [...rows].map(([id, { name, count, members }]) => [id, [name, count, members.toSorted()]]),
  );

/** Follows a damaged session to its end, and then everything must be right. */
async function follow(damages: readonly Damage[], others = 0): Promise<void> {
  const server = new DamagedServer(damages, others);
  const halves: JsonObject[] = [];
  const thrown: unknown[] = [];
  let isSubscribed = false;
  const subscribe = (): void => {
    if (isSubscribed) return;
    isSubscribed = true;
    client.replica.subscribe(() => {
      const [a, b] = [A, B].map((id) => client.replica.row('T', id)?.column('count'));
      if (a !== b && !server.isDeceiving) halves.push(shown(client));
    });
  };
  await using client = new OvsdbClient({
    remotes: 'tcp:damaged:1',
    database: 'Small',
    openSocket: server.openSocket,
    timing: { minBackoff: 1, maxBackoff: 1 },
    onListenerError: (error) => thrown.push(error),
    onEvent: ({ kind }) => {
      if (kind === 'loaded') subscribe();
    },
  }).start();
  // The damage may hit the first load or what follows.
  for (let i = 0; i < 12; i++) {
    if (i === 8) server.heal();
    server.change();
    if (i >= 8) server.probe();
    for (let turns = 0; turns < 4; turns++) await settle();
  }
  await client.ready(soon());
  // What says something else than the server did can't be told from the truth: it is right again when it is read anew.
  await client.reload(soon());
  server.change();
  await expect.poll(() => shown(client), { interval: 1 }).toEqual(truth(server.rows));
  expect(halves).toEqual([]);
  expect(thrown).toEqual([]);
}

describe('a session that is damaged on its way', () => {
  test('ends with what the server has, and never shows half a transaction', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(damageOf(0), { minLength: 1, maxLength: 4 }), (damages) =>
        follow(damages),
      ),
      { numRuns: 300 },
    );
  });

  test('ends so also when the contents are read while they arrive', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(damageOf(2, 4), { minLength: 1, maxLength: 2 }), (damages) =>
        follow(damages, 1500),
      ),
      { numRuns: 40 },
    );
  });

  test('each single byte of an update lost: the stream is declared broken, or the contents are right when read anew', async () => {
    const length = 200;
    for (let i = 0; i < length; i += 3) {
      await follow([{ after: 6, kind: 'lose', position: i / length, bit: 0, length: 1 }]);
    }
  });
});
