/** An object by the name under which people know it, from what a zone follows anyway. */
import { networkAttachmentDefinitions } from '../api/kinds.ts';
import type { KubeObject } from '../api/objects.ts';
import { objectKindOf } from '../model/read/object-kinds.ts';
import type { Informers } from '../store/informers.ts';

/** `Kind namespace/name` → what an event is about; undefined for what is not known here. A network's object is known by its NADs. */
export function followedObject(
  informers: Pick<Informers, 'of'>,
  name: string,
): KubeObject | undefined {
  const [kind = '', key = ''] = name.split(' ');
  const declared = objectKindOf(kind);
  if (declared !== undefined) {
    const object = informers.of(declared.kind).get(key);
    if (object === undefined) return undefined;
    const { apiVersion } = declared.kind;
    return { apiVersion, kind, metadata: object.metadata };
  }
  const [owner = '', namespace] = key.split('/').toReversed();
  for (const { metadata } of informers.of(networkAttachmentDefinitions).list()) {
    if (namespace !== undefined && metadata.namespace !== namespace) continue;
    const found = metadata.ownerReferences?.find((one) => one.kind === kind && one.name === owner);
    if (found === undefined) continue;
    const { apiVersion, uid } = found;
    const place = namespace === undefined ? {} : { namespace };
    return { apiVersion, kind, metadata: { name: owner, ...place, uid } };
  }
  return undefined;
}
