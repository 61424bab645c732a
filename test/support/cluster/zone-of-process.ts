/** The zone of a node in a process that may be killed: what its daemon keeps in a Northbound database that outlives it. */
import { zoneFacts, type ZoneFacts } from '../../../src/model/zone/zone.ts';
import { Exclusive } from '../../../src/process/exclusive.ts';
import type { Informers } from '../../../src/store/informers.ts';
import { ZoneController } from '../../../src/zone/zone-controller.ts';
import { ZoneInformers } from '../../../src/zone/zone-informers.ts';
import type { MemoryDatabase } from '../ovsdb/memory-database.ts';
import { createLogger } from '../../../src/process/logger.ts';
import { testSettings } from './cluster.ts';

export interface ZoneOptions {
  readonly node: string;
  readonly northbound: MemoryDatabase;
  readonly informers: Informers;
  readonly signal: AbortSignal;
  /** Transactions after which the process is killed, the last of them done or not. */
  readonly transactions: number;
  readonly isLastDone: boolean;
  readonly onCrash: () => void;
}

export class ZoneOfProcess implements Disposable {
  readonly #options: ZoneOptions;
  readonly #facts: ZoneFacts;
  readonly #objects: ZoneInformers;
  readonly #controller: ZoneController;
  readonly #passes = new Exclusive();
  /** The first pass comes by itself. */
  #isAsked = true;
  #isSynced = false;

  /** To be made before the informers run. */
  constructor(options: ZoneOptions) {
    const { node, informers } = options;
    this.#options = options;
    this.#facts = zoneFacts(node, testSettings.cluster, { gracePeriod: 0 });
    this.#objects = new ZoneInformers({
      informers,
      facts: this.#facts,
      hasOwnPodsOnly: false,
      onChange: () => this.#ask(),
    });
    this.#controller = new ZoneController({
      facts: this.#facts,
      northbound: this.#database(),
      log: createLogger('silent'),
      unread: () => informers.problems().map(({ object }) => object),
    });
    setImmediate(() => this.#passSoon());
  }

  /** Resolves when nothing differs any more, or when the process has been killed. */
  async settled(): Promise<void> {
    const { signal } = this.#options;
    for (let quiet = 0; quiet < 2 && !signal.aborted;)
      quiet = (await this.#passes.run(() => this.#pass())) ? quiet + 1 : 0;
  }

  problems(): readonly string[] {
    return [...this.#facts.modelProblems(), ...this.#controller.problems()].map(
      ({ object, message }) => `${object}: ${message}`,
    );
  }

  [Symbol.dispose](): void {
    this.#controller.close();
  }

  /** What changes in one turn is written in one pass. */
  #ask(): void {
    if (this.#isAsked) return;
    this.#isAsked = true;
    setImmediate(() => this.#passSoon());
  }

  #passSoon(): void {
    void this.#passes.run(() => {
      this.#isAsked = false;
      return this.#pass();
    });
  }

  /** True when there was nothing to do. */
  async #pass(): Promise<boolean> {
    const { signal } = this.#options;
    if (signal.aborted) return true;
    try {
      if (!this.#isSynced) {
        await this.#objects.synced(60_000);
        this.#isSynced = true;
      }
      if (this.#controller.update() !== undefined) return true;
      const result = await this.#controller.flush(signal);
      return result.kind === 'settled' && result.committed === 0 && !this.#controller.isDirty;
    } catch (error) {
      if (signal.aborted) return true;
      throw error;
    }
  }

  #database(): ConstructorParameters<typeof ZoneController>[0]['northbound'] {
    const { northbound, signal, isLastDone, onCrash } = this.#options;
    let left = this.#options.transactions;
    return {
      replica: northbound,
      unavailable: () => undefined,
      transactor: {
        transact: async (operations) => {
          left -= 1;
          if (left === 0) {
            if (isLastDone) await northbound.transact(operations);
            onCrash();
          }
          signal.throwIfAborted();
          return await northbound.transact(operations);
        },
      },
    };
  }
}

/** Objects whose rows are there, and that are not. */
export function strayRows(
  northbound: MemoryDatabase,
  existing: ReadonlySet<string>,
): readonly string[] {
  const marks = [...northbound.schema.tables.values()].flatMap(({ name, columns }) =>
    columns.has('external_ids')
      ? northbound.rows(name).flatMap((row) => {
          const ids = row.column('external_ids') as ReadonlyMap<string, string>;
          return ids.get('heddle') ?? [];
        })
      : [],
  );
  return [...new Set(marks)].filter((mark) => mark !== 'cluster' && !existing.has(mark));
}
