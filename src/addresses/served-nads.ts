/** NADs as pods refer to them: those that stand for a network that has an id. */
import { NadRegistry } from '../api/nad/nad-registry.ts';
import type { ClusterAddressing } from '../api/nad/network-config.ts';
import { readNad, type RegisteredNad } from '../api/nad/registered-nad.ts';
import { objectKey } from '../api/objects.ts';
import type { NetworkAttachmentDefinition } from '../api/types.ts';
import type { Change } from '../store/informer.ts';

export interface ServedChange {
  readonly nads: readonly string[];
  readonly networks: readonly string[];
}

export class ServedNads {
  readonly #settings: ClusterAddressing;
  readonly #registry = new NadRegistry();
  /** NADs of other plugins. */
  readonly #others = new Set<string>();
  /** NADs that counted for their network when it was last looked at. */
  readonly #counting = new Set<string>();

  constructor(settings: ClusterAddressing) {
    this.#settings = settings;
  }

  /** Takes in a change; returns the keys of the NADs of which pods may see a difference, and networks that are others now, or gone. */
  update({ before, after }: Change<NetworkAttachmentDefinition>): ServedChange {
    const nad = after ?? before;
    if (nad === undefined) return { nads: [], networks: [] };
    const key = objectKey(nad.metadata);
    const known = this.#others.has(key) ? 'other' : this.#registry.nad(key);
    const next = after === undefined ? undefined : this.#read(after);
    if (next === 'other') this.#others.add(key);
    else this.#others.delete(key);
    if (JSON.stringify(known) === JSON.stringify(next)) return { nads: [], networks: [] };
    const networks = this.#registry.set(key, next === 'other' ? undefined : next);
    this.#counting.delete(key);
    return { nads: [key, ...this.#countAnew(networks)], networks };
  }

  /** NADs of these networks that count now and did not, or the other way round. */
  #countAnew(networks: readonly string[]): readonly string[] {
    return networks.flatMap((network) => {
      const refused = this.#registry.refusedNads(network);
      return this.#registry.keysOf(network).filter((key) => {
        const [counts, counted] = [!refused.has(key), this.#counting.has(key)];
        if (counts) this.#counting.add(key);
        else this.#counting.delete(key);
        return counts !== counted;
      });
    });
  }

  /** The NAD of that key if it stands for its network; `other` for one of another plugin. */
  get(key: string): RegisteredNad | 'other' | undefined {
    if (this.#others.has(key)) return 'other';
    const nad = this.#registry.nad(key);
    return nad !== undefined && this.#registry.counts(nad) ? nad : undefined;
  }

  /** Primary networks of a namespace, the first one first. */
  primariesOf(namespace: string): readonly RegisteredNad[] {
    return this.#registry.primariesOf(namespace).filter((nad) => this.#registry.counts(nad));
  }

  /** NADs that stand for a network. */
  ofNetwork(name: string): readonly RegisteredNad[] {
    return this.#registry.network(name)?.nads ?? [];
  }

  #read(nad: NetworkAttachmentDefinition): RegisteredNad | 'other' | undefined {
    const read = readNad(nad, this.#settings);
    if (read.kind === 'other') return 'other';
    if (read.kind === 'invalid' || read.nad.networkId === undefined) return undefined;
    return read.nad;
  }
}
