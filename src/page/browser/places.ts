/** What is shown beside the matrix, as the part of the address behind `#`: so that links, "back" and reloading work. Pure. */

export type Place =
  | { readonly kind: 'start' }
  | { readonly kind: 'changes' }
  | { readonly kind: 'network'; readonly name: string }
  | { readonly kind: 'pair'; readonly from: string; readonly to: string }
  | { readonly kind: 'pod'; readonly key: string }
  | { readonly kind: 'object'; readonly object: string };

export function hashOf(place: Place): string {
  const parts = ((): readonly string[] => {
    switch (place.kind) {
      case 'start':
      case 'changes':
        return [];
      case 'network':
        return [place.name];
      case 'pair':
        return [place.from, place.to];
      case 'pod':
        return [place.key];
      case 'object':
        return [place.object];
    }
  })();
  return `#${[place.kind, ...parts.map(encodeURIComponent)].join('/')}`;
}

/** The start for everything that is no place. */
export function placeOf(hash: string): Place {
  const parts = partsOf(hash);
  const [kind, first, second] = parts;
  if (first === undefined) return { kind: kind === 'changes' ? kind : 'start' };
  if (kind === 'network') return { kind, name: first };
  if (kind === 'pod') return { kind, key: first };
  if (kind === 'object') return { kind, object: first };
  if (kind === 'pair' && second !== undefined) return { kind, from: first, to: second };
  return { kind: 'start' };
}

function partsOf(hash: string): readonly string[] {
  try {
    return hash.replace(/^#/, '').split('/').map(decodeURIComponent);
  } catch {
    return []; // Somebody has cut an address short.
  }
}
