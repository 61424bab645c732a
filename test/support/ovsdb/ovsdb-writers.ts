import { setTimeout as delay } from 'node:timers/promises';
import { type JsonValue, type OvsdbClient, type Outcome } from 'ovsdb-client-ts';
import { Transaction, transactWithRetry } from 'ovsdb-client-ts/extras';
import type { SeededRandom } from '../run/seeded-random.ts';

const many = (key: JsonValue): JsonValue => ({ type: { key, min: 0, max: 'unlimited' } });
const schemaWith = (more: { readonly [column: string]: JsonValue }): JsonValue => ({
  name: 'Written',
  version: '1.0.0',
  tables: {
    // All members of a group have its generation.
    Group: {
      isRoot: true,
      columns: {
        name: { type: 'string' },
        gen: { type: 'integer' },
        members: many({ type: 'uuid', refTable: 'Member' }),
      },
    },
    Member: {
      columns: {
        gen: { type: 'integer' },
        text: { type: { key: 'string', min: 0 } },
        real: { type: 'real' },
        bigs: many('integer'),
        tags: { type: { key: 'string', value: 'string', min: 0, max: 'unlimited' } },
      },
    },
    // One row of each transaction that was tried.
    Log: {
      isRoot: true,
      columns: { name: { type: 'string' }, value: { type: 'integer' }, ...more },
    },
    Counter: { isRoot: true, columns: { name: { type: 'string' }, n: { type: 'integer' } } },
    // Has no index: only the writers see to it that a name is there once.
    Named: { isRoot: true, columns: { name: { type: 'string' } } },
  },
});

/** A database whose contents show by themselves when something went wrong. */
export const WRITTEN_SCHEMA = schemaWith({});
/** The same with one more column. */
export const WIDER_SCHEMA = schemaWith({ more: { type: 'string' } });

const soon = (): AbortSignal => AbortSignal.timeout(30_000);

/** Writers of such a database, who remember what they tried and what they were told of it. */
export class Writers {
  readonly random: SeededRandom;
  readonly complaints: string[] = [];
  readonly tried = new Map<string, { readonly by: number; outcome: Outcome['kind'] | 'aborted' }>();
  goesOn = true;
  #count = 0;

  constructor(random: SeededRandom) {
    this.random = random;
  }

  word(): string {
    const { random } = this;
    return random.pick(['', 'a', 'é', '😀', '"\\', 'x'.repeat(random.below(3000))]);
  }

  big(): bigint {
    return BigInt.asIntN(64, (1n << BigInt(this.random.below(64))) - BigInt(this.random.below(3)));
  }

  /** Does something until the run is over; what it may end with under faults is no complaint. */
  async again(pause: number, act: () => Promise<void>): Promise<void> {
    while (this.goesOn) {
      await delay(this.random.number() * pause);
      try {
        await act();
      } catch (error) {
        this.complaints.push(String(error));
      }
    }
  }

  /** One row of the log and one step of a counter, in one transaction. */
  async count(client: OvsdbClient): Promise<void> {
    const [counter] = client.replica.rows('Counter');
    if (counter === undefined) return;
    const [name, by] = [`t${this.#count++}`, 1 + this.random.below(3)];
    const tried = { by, outcome: 'unknown' as Outcome['kind'] | 'aborted' };
    this.tried.set(name, tried);
    const transaction = new Transaction(client.replica);
    transaction.insert('Log', { name, value: this.random.below(10) });
    transaction.increment('Counter', counter.uuid, 'n', by);
    const isHasty = this.random.is(0.1);
    const signal = isHasty ? AbortSignal.timeout(this.random.below(10)) : soon();
    try {
      const outcome = await transaction.commit(client, { signal });
      tried.outcome = outcome.kind;
      if (outcome.kind === 'error') this.complaints.push(`${name}: ${outcome.details}`);
    } catch (error) {
      if (!signal.aborted || !isHasty) throw error;
      tried.outcome = 'aborted';
    }
  }

  /** Some of these at once. */
  async countSome(client: OvsdbClient): Promise<void> {
    await Promise.all(Array.from({ length: this.random.below(20) }, () => this.count(client)));
  }

  /** So many rows of the log in one transaction that its outcome may come before they are read: they must be there for whoever looks. */
  async fill(client: OvsdbClient): Promise<void> {
    const batch = this.#count++;
    const names = Array.from({ length: 40 }, (_, n) => `f${batch}-${n}-${'x'.repeat(300)}`);
    const tried = { by: 0, outcome: 'unknown' as Outcome['kind'] };
    for (const name of names) this.tried.set(name, tried);
    const outcome = await client.transact(
      names.map((name) => ({ op: 'insert', table: 'Log', row: { name } })),
      { signal: soon() },
    );
    tried.outcome = outcome.kind;
    // While everything is read anew the last thing that was written may be missing.
    if (outcome.kind !== 'success' || client.status !== 'ready') return;
    const missing = names.filter(
      (name) => client.replica.find('Log', ['name'], [name]).length !== 1,
    );
    if (missing.length > 0)
      this.complaints.push(`${missing.length} rows of batch ${batch} are missing`);
  }

  /** A new generation of a group and all its members. */
  async renew(client: OvsdbClient): Promise<void> {
    const { random } = this;
    await transactWithRetry(
      client,
      (transaction) => {
        const group = random.pick([...client.replica.rows('Group')]);
        const gen = (group.column('gen') as number) + 1;
        const member = () => ({
          gen,
          text: random.is(0.3) ? [] : [this.word()],
          real: random.pick([0, -0, 0.1, 1e300, 123_456_789_012_345_680_000]),
          bigs: new Set(random.list(4, () => this.big())),
          tags: new Map(random.list(5, () => [`k${random.below(8)}`, this.word()] as const)),
        });
        const kept = (group.column('members') as readonly string[])
          .filter(() => random.is(0.8))
          .slice(0, 10);
        transaction.verify('Group', group.uuid, 'gen', 'members');
        for (const uuid of kept) transaction.update('Member', uuid, member());
        const members = [...kept, ...random.list(3, () => transaction.insert('Member', member()))];
        transaction.update('Group', group.uuid, { gen, members });
      },
      { signal: soon() },
    );
  }

  /** Makes a row unless there is one of its name, or removes it. */
  async name(client: OvsdbClient): Promise<void> {
    const name = `n${this.random.below(5)}`;
    const transaction = new Transaction(client.replica);
    const [row] = client.replica.find('Named', ['name'], [name]);
    if (row !== undefined) transaction.delete('Named', row.uuid);
    else transaction.guardAbsent('Named', { name }).insert('Named', { name });
    await transaction.commit(client, { signal: soon() });
  }
}
