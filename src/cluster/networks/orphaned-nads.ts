/**
 * NADs whose object is gone. Kubernetes collects such objects, but our finalizer holds them; they are left by a request of a manager that
 * arrived after another one had taken over, or by an object whose finalizer somebody removed.
 */
import {
  parseNetworkObjectKey,
  isNetworkObjectKind,
  kindOf,
  targetNamespaces,
} from './network-objects.ts';
import type { NetworkAttachmentDefinition } from '../../api/types.ts';
import type { Index, ObjectView } from '../../store/informer.ts';
import type { Store } from '../../store/store.ts';
import type { ClusterInformers } from '../informers.ts';

const controllerOf = ({
  metadata,
}: NetworkAttachmentDefinition):
  | {
      readonly apiVersion: string;
      readonly kind: string;
      readonly name: string;
      readonly uid: string;
    }
  | undefined => metadata.ownerReferences?.find(({ controller }) => controller === true);

/** Key of the object that declares the NAD's network, whether it is there or not; undefined when the NAD stands for itself. */
export function ownerKeyOf(nad: NetworkAttachmentDefinition): string | undefined {
  const owner = controllerOf(nad);
  if (owner === undefined || !isNetworkObjectKind(owner.kind)) return undefined;
  return owner.kind === 'ClusterUserDefinedNetwork'
    ? `${owner.kind}/${owner.name}`
    : `${owner.kind}/${nad.metadata.namespace ?? ''}/${owner.name}`;
}

/** True for a NAD that is on its way out: its object is, too, or is gone, or does not select the namespace any more. */
export function isLeaving(
  nadKey: string,
  informers: Pick<ClusterInformers, 'nads' | 'namespaces' | 'networkObject'>,
): boolean {
  const nad = informers.nads.get(nadKey);
  if (nad === undefined) return false;
  const { namespace = '', deletionTimestamp } = nad.metadata;
  if (deletionTimestamp !== undefined) return true;
  const owner = ownerKeyOf(nad);
  if (owner === undefined) return false;
  const object = informers.networkObject(owner);
  if (object === undefined || object.metadata.deletionTimestamp !== undefined) return true;
  const known = informers.namespaces.get(namespace);
  return known !== undefined && !targetNamespaces(object, [known]).includes(namespace);
}

export class OrphanedNads {
  readonly #store: Pick<Store, 'get'>;
  readonly #byOwner: Index<NetworkAttachmentDefinition>;

  constructor(store: Pick<Store, 'get'>, nads: ObjectView<NetworkAttachmentDefinition>) {
    this.#store = store;
    this.#byOwner = nads.index((nad) => {
      const key = ownerKeyOf(nad);
      return key === undefined ? [] : [key];
    });
  }

  /**
   * NADs of objects that had this key before the one with `uid` (undefined: there is none). The store is asked, for an informer may be
   * late and a NAD is what pods hang on.
   */
  async of(
    key: string,
    uid: string | undefined,
    signal: AbortSignal,
  ): Promise<readonly NetworkAttachmentDefinition[]> {
    const suspects = this.#byOwner.get(key).filter((nad) => controllerOf(nad)?.uid !== uid);
    if (suspects.length === 0) return [];
    const { kind, object } = parseNetworkObjectKey(key);
    const owner = await this.#store.get(kindOf({ kind }), object, signal);
    return suspects.filter((nad) => controllerOf(nad)?.uid !== owner?.metadata.uid);
  }
}
