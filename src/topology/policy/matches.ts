/** Matches of policies' ACLs, as text (reference/topology.md §16.1). */

import { FAMILIES, familyOf, type Family } from '../../allocators/addresses.ts';
import type { PolicyPort, Protocol } from '../../model/read/policies.ts';
import { anyOf, type Direction } from '../rows/acls.ts';

/** Which end of a packet the peer of a pod is at, seen from the pod. */
export type End = 'src' | 'dst';
export const peerEnd = (direction: Direction): End => (direction === 'Ingress' ? 'src' : 'dst');

const IP = { v4: 'ip4', v6: 'ip6' } as const;

/** What a match says of addresses of each family. */
export type ByFamily = ReadonlyMap<Family, string>;

/** Every address of these families. */
export const allOf = (families: readonly Family[]): ByFamily =>
  new Map(families.map((family) => [family, IP[family]]));

/**
 * All of each of the alternatives, and of `more`. OVN adds up lists of addresses, ports and pods only where each list is of one field: of a list with
 * addresses of both families it makes each pair with everything else. So these are alternatives of their own.
 */
export function eachWith(alternatives: readonly string[], ...more: readonly string[]): string {
  const all = alternatives.map((one) => [one, ...more].join(' && '));
  return all.length === 1 ? (all[0] ?? '') : all.map((one) => `(${one})`).join(' || ');
}

/** Addresses of sets: names by family. The names are sorted, so that the order of peers does not matter. */
export const inSets = (end: End, sets: ReadonlyMap<Family, readonly string[]>): ByFamily =>
  new Map(
    [...sets].map(([family, names]) => [
      family,
      `${IP[family]}.${end} == {${[...new Set(names)]
        .sort()
        .map((name) => `$${name}`)
        .join(', ')}}`,
    ]),
  );

/** Addresses of any of the blocks, and of sets: names by family. */
export const inBlocks = (
  end: End,
  cidrs: readonly string[],
  sets: ReadonlyMap<Family, string>,
): ByFamily =>
  new Map(
    FAMILIES.flatMap((family) => {
      const set = sets.get(family);
      const terms = [
        ...cidrs
          .filter((cidr) => familyOf(cidr) === family)
          .map((cidr) => `${IP[family]}.${end} == ${cidr}`),
        ...(set === undefined ? [] : [`${IP[family]}.${end} == $${set}`]),
      ];
      return terms.length === 0 ? [] : [[family, anyOf(terms)] as const];
    }),
  );

const PROTOCOLS: readonly Protocol[] = ['tcp', 'udp', 'sctp'];

/** Ports by number, one match per protocol; ports that have a name are not among them. */
export function byProtocol(ports: readonly PolicyPort[]): ReadonlyMap<Protocol, string> {
  const matches = new Map<Protocol, string>();
  for (const protocol of PROTOCOLS) {
    const own = ports.filter((port) => port.protocol === protocol && port.name === undefined);
    if (own.length > 0) matches.set(protocol, ofProtocol(protocol, own));
  }
  return matches;
}

function ofProtocol(protocol: Protocol, ports: readonly PolicyPort[]): string {
  // One that names no port means all of them, whatever the others say.
  if (ports.some(({ port }) => port === undefined)) return protocol;
  const single = [
    ...new Set(ports.filter(({ endPort }) => endPort === undefined).map(({ port }) => port)),
  ];
  const list = single.length === 1 ? `${single[0]}` : `{${single.join(',')}}`;
  const terms = [
    ...(single.length === 0 ? [] : [`${protocol}.dst==${list}`]),
    ...ports
      .filter(({ endPort }) => endPort !== undefined)
      .map(({ port, endPort }) => `${port}<=${protocol}.dst<=${endPort}`),
  ];
  return `${protocol} && ${anyOf(terms)}`;
}
