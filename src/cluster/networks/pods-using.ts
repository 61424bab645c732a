import { objectKey } from '../../api/objects.ts';
import { isWithoutNetworks, POD_NETWORKS } from '../../api/annotations/pod-annotations.ts';
import type { Pod } from '../../api/types.ts';
import { errorText } from '../../api/error-text.ts';

/**
 * Why a NAD can't go yet: pods carry its key in their network annotation or are to get an address of it (`wanted`), or one carries an
 * annotation that can't be read (reference/api.md §4.4). `pods` are those of its namespace. Undefined when nothing uses it.
 */
export function podsUsing(
  nadKey: string,
  pods: readonly Pod[],
  wanted: (pod: Pod) => ReadonlySet<string>,
): string | undefined {
  const using: string[] = [];
  for (const pod of pods) {
    const { metadata } = pod;
    const text = metadata.annotations?.[POD_NETWORKS];
    const key = objectKey(metadata);
    if (!isWithoutNetworks(pod) && wanted(pod).has(nadKey)) {
      using.push(key);
      continue;
    }
    if (text === undefined) continue;
    let networks: unknown;
    try {
      networks = JSON.parse(text);
    } catch (error) {
      const reason = errorText(error);
      return `failed to verify NAD not in use [${nadKey}]: failed to unmarshal pod annotation [${key}]: ${reason}`;
    }
    if (typeof networks !== 'object' || networks === null) continue;
    // A further attachment to the same NAD has the key `<nad>/<number>`.
    const uses = Object.keys(networks).some(
      (name) => name === nadKey || name.startsWith(`${nadKey}/`),
    );
    if (uses) using.push(key);
  }
  if (using.length === 0) return undefined;
  return `network in use by the following pods: [${using.toSorted().join(' ')}]`;
}
