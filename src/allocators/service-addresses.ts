/** Addresses of a network's pool for services. Pure: who holds what follows from what stands in the services' statuses. */
import {
  containsAddress,
  FAMILIES,
  formatAddress,
  lastOf,
  type Address,
  type Family,
  type Prefix,
} from './addresses.ts';

/** A service that is to have addresses. */
export interface ServiceRequest {
  readonly key: string;
  /** One address of each, as far as the pool has any. */
  readonly families: readonly Family[];
  /** What it has. */
  readonly held: readonly Address[];
  /** What it asks for: of that family it gets no other. */
  readonly wanted: readonly Address[];
}

/** Why a service lacks an address. */
export type ServiceRefusal =
  | { readonly code: 'outside' | 'other-family' | 'surplus'; readonly address: string }
  | { readonly code: 'taken'; readonly address: string; readonly owner: string }
  | { readonly code: 'exhausted' | 'no-range'; readonly family: Family };

export interface ServiceAddresses {
  /** In canonical form, v4 first. */
  readonly addresses: readonly string[];
  readonly refusals: readonly ServiceRefusal[];
}

export interface ServicePoolSpace {
  readonly ranges: readonly Prefix[];
  /** Addresses in the ranges that are for something else. */
  readonly excluded: readonly Address[];
}

/**
 * Gives each service its addresses, no address to two. `requests` are in the order of their rights. Who has an address keeps it while it is in the
 * pool and no other one is asked for; then come those that ask for one, then the others.
 */
export function assignAddresses(
  { ranges, excluded }: ServicePoolSpace,
  requests: readonly ServiceRequest[],
): ReadonlyMap<string, ServiceAddresses> {
  const closed = new Set(excluded.map(formatAddress));
  const owners = new Map<string, string>();
  const given = new Map(requests.map(({ key }) => [key, new Map<Family, string>()]));
  const refusals = new Map<string, ServiceRefusal[]>(requests.map(({ key }) => [key, []]));
  const isOpen = (address: Address): boolean =>
    !closed.has(formatAddress(address)) && ranges.some((range) => containsAddress(range, address));
  const give = (key: string, family: Family, text: string): void => {
    const before = given.get(key)?.get(family);
    if (before !== undefined) owners.delete(before);
    given.get(key)?.set(family, text);
    owners.set(text, key);
  };
  for (const { key, families, held } of requests)
    for (const address of held) {
      const text = formatAddress(address);
      const isFirst = given.get(key)?.has(address.family) === false;
      if (isFirst && families.includes(address.family) && isOpen(address) && !owners.has(text))
        give(key, address.family, text);
    }
  for (const { key, families, wanted } of requests) {
    const asked = new Set<Family>();
    for (const address of wanted) {
      const text = formatAddress(address);
      const owner = owners.get(text) ?? key;
      const refuse = (refusal: ServiceRefusal): unknown => refusals.get(key)?.push(refusal);
      if (!families.includes(address.family)) refuse({ code: 'other-family', address: text });
      else if (asked.has(address.family)) refuse({ code: 'surplus', address: text });
      else if (!isOpen(address)) refuse({ code: 'outside', address: text });
      else if (owner !== key) refuse({ code: 'taken', address: text, owner });
      else give(key, address.family, text);
      asked.add(address.family);
    }
  }
  const search = new FreeAddresses(ranges, (text) => closed.has(text) || owners.has(text));
  for (const { key, families, wanted } of requests)
    for (const family of FAMILIES) {
      if (!families.includes(family) || given.get(key)?.has(family) === true) continue;
      if (wanted.some((address) => address.family === family)) continue;
      const text = search.next(family);
      if (text !== undefined) give(key, family, text);
      else
        refusals.get(key)?.push({
          code: ranges.some((range) => range.family === family) ? 'exhausted' : 'no-range',
          family,
        });
    }
  return new Map(
    requests.map(({ key }) => [
      key,
      {
        addresses: FAMILIES.flatMap((family) => given.get(key)?.get(family) ?? []),
        refusals: refusals.get(key) ?? [],
      },
    ]),
  );
}

/** The lowest free addresses, one after the other: nothing is freed while it is searched. */
class FreeAddresses {
  readonly #ranges: readonly Prefix[];
  readonly #isTaken: (address: string) => boolean;
  /** Where the search goes on, by range. */
  readonly #next = new Map<Prefix, bigint>();

  constructor(ranges: readonly Prefix[], isTaken: (address: string) => boolean) {
    this.#ranges = ranges;
    this.#isTaken = isTaken;
  }

  next(family: Family): string | undefined {
    for (const range of this.#ranges) {
      if (range.family !== family) continue;
      for (let value = this.#next.get(range) ?? range.base; value <= lastOf(range); value += 1n) {
        this.#next.set(range, value + 1n);
        const text = formatAddress({ family, value });
        if (!this.#isTaken(text)) return text;
      }
    }
    return undefined;
  }
}
