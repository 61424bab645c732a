/** NADs that stand for networks with an id, as pods refer to them. */
import type { ClusterAddressing } from '../../api/nad/network-config.ts';
import { objectKey } from '../../api/objects.ts';
import type { NetworkAttachmentDefinition } from '../../api/types.ts';
import type { Change } from '../../store/informer.ts';
import { readNad } from './nads.ts';
import { compareNads, type RegisteredNad } from './registered-nad.ts';

export class NadIndex {
  readonly #settings: ClusterAddressing;
  readonly #nads = new Map<string, RegisteredNad | 'other'>();
  readonly #byNamespace = new Map<string, Map<string, RegisteredNad>>();
  readonly #byNetwork = new Map<string, Map<string, RegisteredNad>>();

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
    if (known !== undefined && known !== 'other') {
      this.#byNamespace.get(known.namespace)?.delete(key);
      this.#byNetwork.get(known.config.name)?.delete(key);
    }
    if (next === undefined) this.#nads.delete(key);
    else this.#nads.set(key, next);
    if (next !== undefined && next !== 'other') {
      insert(this.#byNamespace, next.namespace, next);
      insert(this.#byNetwork, next.config.name, next);
    }
    return JSON.stringify(known) !== JSON.stringify(next);
  }

  get(key: string): RegisteredNad | 'other' | undefined {
    return this.#nads.get(key);
  }

  /** Primary networks of a namespace, the first one first. */
  primariesOf(namespace: string): readonly RegisteredNad[] {
    return [...(this.#byNamespace.get(namespace)?.values() ?? [])]
      .filter(({ config }) => config.role === 'primary')
      .toSorted(compareNads);
  }

  /** NADs that stand for a network. */
  ofNetwork(name: string): readonly RegisteredNad[] {
    return [...(this.#byNetwork.get(name)?.values() ?? [])];
  }

  #read(nad: NetworkAttachmentDefinition): RegisteredNad | 'other' | undefined {
    const read = readNad(nad, this.#settings);
    if (read.kind === 'other') return 'other';
    if (read.kind === 'invalid' || read.nad.networkId === undefined) return undefined;
    return read.nad;
  }
}

function insert(
  index: Map<string, Map<string, RegisteredNad>>,
  value: string,
  nad: RegisteredNad,
): void {
  const nads = index.get(value) ?? new Map<string, RegisteredNad>();
  index.set(value, nads.set(nad.key, nad));
}
