/** What counts of the addresses that a node says of itself, where networks are judged by them: one node that is wrong, or lies, refuses few. Pure. */
import { formatPrefix, parsePrefix, type Family } from '../../allocators/addresses.ts';
import { annotationOf } from '../../api/annotations/annotations.ts';
import { HOST_CIDRS, hostCidrs } from '../../api/annotations/node-annotations.ts';
import type { Node } from '../../api/types.ts';

/** No host is in a network with a shorter prefix. */
const WIDEST: Readonly<Record<Family, number>> = { v4: 8, v6: 16 };
/** Of a network with a shorter prefix the node's own address counts alone. */
const WIDEST_WHOLE: Readonly<Record<Family, number>> = { v4: 16, v6: 48 };
/** More networks of a node do not count as a whole. */
const MOST_WHOLE = 8;
/** More addresses of a node do not count. */
const MOST_ADDRESSES = 64;

export interface HostNetworks {
  /** Addresses with prefix length, those that count alone as a single address (`/32`, `/128`). */
  readonly addresses: readonly string[];
  /** What is wrong with them, and what to do. */
  readonly problem?: string;
}

/** By the text of the annotation: a network that comes is judged by those of all nodes. */
const known = new Map<string, HostNetworks>();
const MOST_KNOWN = 10_000;
const NONE: HostNetworks = { addresses: [] };

/** Of a node that says nothing readable: nothing. */
export function hostNetworksOf(node: Node | undefined): HostNetworks {
  const text = node && annotationOf(node, HOST_CIDRS);
  if (node === undefined || text === undefined) return NONE;
  const before = known.get(text);
  if (before !== undefined) return before;
  const found = counted(hostCidrs(node).value ?? []);
  if (known.size >= MOST_KNOWN) known.clear();
  known.set(text, found);
  return found;
}

function counted(reported: readonly string[]): HostNetworks {
  const looked = reported.slice(0, MOST_ADDRESSES);
  const whole = new Set<string>();
  const addresses = looked.map((text) => {
    const prefix = parsePrefix(text);
    if (prefix === undefined) return text;
    const network = formatPrefix(prefix);
    if (prefix.length < WIDEST_WHOLE[prefix.family]) return single(text);
    if (!whole.has(network) && whole.size === MOST_WHOLE) return single(text);
    whole.add(network);
    return text;
  });
  const tooWide = looked.find((text) => {
    const prefix = parsePrefix(text);
    return prefix !== undefined && prefix.length < WIDEST[prefix.family];
  });
  const [what, remedy] =
    tooWide !== undefined
      ? [
          `${tooWide}: no host is in a network of that size, so its address counts alone`,
          'correct the prefix length of the address on the node',
        ]
      : reported.length > MOST_ADDRESSES
        ? [
            `${reported.length} addresses, of which the first ${MOST_ADDRESSES} count`,
            'are all of them addresses of the node?',
          ]
        : [];
  return what === undefined
    ? { addresses }
    : { addresses, problem: `annotation ${HOST_CIDRS}: ${what}; ${remedy}` };
}

const single = (text: string): string =>
  `${text.slice(0, text.indexOf('/'))}/${text.includes(':') ? 128 : 32}`;
