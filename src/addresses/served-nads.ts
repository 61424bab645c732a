/** NADs as pods refer to them: those that stand for a network that has an id. */
import { isDeepStrictEqual } from 'node:util';
import type { NadRegistry } from '../api/nad/nad-registry.ts';
import type { RegisteredNad } from '../api/nad/registered-nad.ts';

export interface ServedChange {
  /** Keys of the NADs of which pods see a difference. */
  readonly nads: readonly string[];
  /** Networks that are others now, or gone. */
  readonly networks: readonly string[];
}

type Served = RegisteredNad | 'other' | undefined;

export class ServedNads {
  readonly #registry: NadRegistry;
  /** What pods were told of each NAD. */
  readonly #told = new Map<string, RegisteredNad | 'other'>();

  /** `registry`: the one of the process. */
  constructor(registry: NadRegistry) {
    this.#registry = registry;
  }

  /** Calls `listener` with all that is there, and with each change from now on. */
  follow(listener: (change: ServedChange) => void): void {
    const tell = (keys: Iterable<string>, networks: readonly string[]): void => {
      const nads = [...new Set(keys)].filter((key) => this.#isAnother(key));
      if (nads.length + networks.length > 0) listener({ nads, networks });
    };
    tell(
      this.#registry.nads().map(({ key }) => key),
      [],
    );
    this.#registry.onChange((key, networks) =>
      tell([key, ...networks.flatMap((network) => this.#registry.keysOf(network))], networks),
    );
  }

  #isAnother(key: string): boolean {
    const [before, after] = [this.#told.get(key), this.get(key)];
    if (after === undefined) this.#told.delete(key);
    else this.#told.set(key, after);
    return before !== after && !isDeepStrictEqual(before, after);
  }

  /** The NAD of that key if it stands for its network; `other` for one of another plugin. */
  get(key: string): Served {
    if (this.#registry.isOther(key)) return 'other';
    const nad = this.#registry.nad(key);
    return nad !== undefined && this.#isServed(nad) ? nad : undefined;
  }

  /** Primary networks of a namespace, the first one first. */
  primariesOf(namespace: string): readonly RegisteredNad[] {
    return this.#registry.primariesOf(namespace).filter((nad) => this.#isServed(nad));
  }

  /** NADs that stand for a network. */
  ofNetwork(name: string): readonly RegisteredNad[] {
    const nads = this.#registry.network(name)?.nads ?? [];
    return nads.filter((nad) => this.#registry.isServed(nad));
  }

  #isServed(nad: RegisteredNad): boolean {
    return this.#registry.isServed(nad) && this.#registry.counts(nad);
  }
}
