/** NADs that stand for networks with an id, as pods refer to them. */
import type { ClusterAddressing } from '../api/network-config.ts';
import { objectKey } from '../api/objects.ts';
import type { NetworkAttachmentDefinition } from '../api/types.ts';
import type { Change } from '../store/informer.ts';
import { readNad } from './nads.ts';
import { compareNads, type RegisteredNad } from './network-registry.ts';

export class NadIndex {
  readonly #settings: ClusterAddressing;
  readonly #nads = new Map<string, RegisteredNad | 'other'>();

  constructor(settings: ClusterAddressing) {
    this.#settings = settings;
  }

  /** Takes in a change; true when pods may see the difference. */
  update({ before, after }: Change<NetworkAttachmentDefinition>): boolean {
    const nad = after ?? before;
    if (nad === undefined) return false;
    const key = objectKey(nad.metadata);
    const known = this.#nads.get(key);
    const next = after === undefined ? undefined : this.#read(after);
    if (next === undefined) this.#nads.delete(key);
    else this.#nads.set(key, next);
    return JSON.stringify(known) !== JSON.stringify(next);
  }

  get(key: string): RegisteredNad | 'other' | undefined {
    return this.#nads.get(key);
  }

  /** Primary networks of a namespace, the first one first. */
  primariesOf(namespace: string): readonly RegisteredNad[] {
    return [...this.#nads.values()]
      .filter((nad) => nad !== 'other')
      .filter((nad) => nad.namespace === namespace && nad.config.role === 'primary')
      .toSorted(compareNads);
  }

  #read(nad: NetworkAttachmentDefinition): RegisteredNad | 'other' | undefined {
    const read = readNad(nad, this.#settings);
    if (read.kind === 'other') return 'other';
    if (read.kind === 'invalid' || read.nad.networkId === undefined) return undefined;
    return read.nad;
  }
}
