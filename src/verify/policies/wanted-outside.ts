/** What an EgressFirewall lets pods send, as sets of headers: rule by rule, as its API says, whatever rows there are. */
import { createHash } from 'node:crypto';
import { nthAddress } from '../../allocators/addresses.ts';
import { familyCidrs } from '../../api/nad/network-config.ts';
import {
  box,
  DESTINATION,
  EMPTY,
  intersection,
  PORT,
  PROTOCOL,
  union,
  type Box,
  type HeaderSet,
} from '../headers/boxes.ts';
import { addressesNamed } from '../headers/matched.ts';
import {
  ALL_ADDRESSES,
  allOf,
  either,
  isSame,
  NONE,
  without,
  type Ranges,
} from '../headers/ranges.ts';
import type { NorthboundRows } from '../northbound-rows.ts';
import { list, type Row } from '../rows.ts';
import type { Settings } from '../snapshot.ts';
import type { Firewall, FirewallRule } from './firewalls.ts';
import type { PolicyPort } from './read.ts';
import type { SelectedPods } from './selected-pods.ts';
import { each, minus, NOTHING, type Decision, type Flow, type Wanted } from './wanted.ts';

/** Place of the host in the masquerade subnet (reference/node.md §1.1). */
const HOST = 2;
const FAMILIES = ['v4', 'v6'] as const;

export interface FirewallContext {
  readonly selected: SelectedPods;
  readonly rows: NorthboundRows;
  readonly settings: Pick<Settings, 'masqueradeSubnets'>;
  /** Of the network, which blocks do not mean. */
  readonly inside: Ranges;
  /** Called for a name whose addresses no row has. */
  readonly onUnknown: (name: string) => void;
}

export function wantedOutside(
  { object, rules }: Firewall,
  universe: HeaderSet,
  context: FirewallContext,
): Wanted {
  const allowing: Decision[] = [];
  const denying: Decision[] = [];
  let left: Flow = { surely: universe, perhaps: universe };
  let allowed = NOTHING;
  for (const { isAllowed, headers } of decisionsOf(rules, context)) {
    const met = each(left, headers, intersection);
    if (isAllowed) {
      allowed = each(allowed, met, union);
      allowing.push({ object, headers: met.surely });
    } else denying.push({ object, headers: met.perhaps });
    left = minus(left, met);
  }
  return { ...each(allowed, left, union), allowing, denying };
}

/** Rules one after the other that differ in their destinations alone are one: whichever has a packet first does the same with it. */
function* decisionsOf(
  rules: readonly FirewallRule[],
  context: FirewallContext,
): Generator<{ readonly isAllowed: boolean; readonly headers: Flow }, void> {
  for (let from = 0; from < rules.length;) {
    const [first] = rules.slice(from, from + 1);
    if (first === undefined) return;
    let to = from + 1;
    while (to < rules.length && isAlike(first, rules[to])) to += 1;
    const found = rules.slice(from, to).map((rule) => addressesOf(rule, context));
    const surely = headersTo(allOf(found.map((one) => one ?? NONE)), first.ports);
    const perhaps = found.includes(undefined) ? headersTo(ALL_ADDRESSES, first.ports) : surely;
    yield { isAllowed: first.isAllowed, headers: { surely, perhaps } };
    from = to;
  }
}

const isAlike = (one: FirewallRule, other: FirewallRule | undefined): boolean =>
  one.isAllowed === other?.isAllowed &&
  one.ports.length === other.ports.length &&
  one.ports.every(({ protocol, numbers = NONE }, index) => {
    const its = other.ports[index];
    return protocol === its?.protocol && isSame(numbers, its.numbers ?? NONE);
  });

/** Whom a rule means; undefined where that is not known. */
function addressesOf(
  { destination }: FirewallRule,
  { selected, settings, inside, ...context }: FirewallContext,
): Ranges | undefined {
  switch (destination.kind) {
    case 'block':
      return without(destination.addresses, inside);
    case 'name':
      return addressesOfName(destination.name, context);
    case 'nodes': {
      const nodes = selected.addressesOfNodes(destination.selector);
      const here = familyCidrs(settings.masqueradeSubnets).map((cidr) => nthAddress(cidr, HOST));
      return selected.isHere(destination.selector) ? either(nodes, addressesNamed(here)) : nodes;
    }
  }
}

function headersTo(addresses: Ranges, ports: readonly PolicyPort[]): HeaderSet {
  if (addresses.length === 0) return EMPTY;
  if (ports.length === 0) return [box({ [DESTINATION]: addresses })];
  return ports.reduce<HeaderSet>((all, port) => union(all, [atPort(addresses, port)]), EMPTY);
}

const atPort = (addresses: Ranges, { protocol, numbers = NONE }: PolicyPort): Box =>
  box({
    [DESTINATION]: addresses,
    [PROTOCOL]: [BigInt(protocol), BigInt(protocol) + 1n],
    [PORT]: numbers,
  });

/** What the rows that all rules about a name share know it by: single addresses. Whether DNS says so, too, nobody can tell from here. */
function addressesOfName(
  name: string,
  { rows, onUnknown }: Pick<FirewallContext, 'rows' | 'onUnknown'>,
): Ranges | undefined {
  const sets = FAMILIES.map((family) => rows.named('Address_Set', setOfName(name, family))).filter(
    (row): row is Row => row !== undefined,
  );
  if (sets.length === 0) {
    onUnknown(name);
    return undefined;
  }
  return allOf(
    sets.map((row) => addressesNamed(list(row, 'addresses').filter((one) => !one.includes('/')))),
  );
}

/** Name of a set of a name's addresses (reference/topology.md §3, §18.2). */
const setOfName = (name: string, family: string): string =>
  `a${createHash('sha256')
    .update(`default-network-controller:EgressFirewallDNS:${name}:${family}`)
    .digest('hex')
    .slice(0, 32)}`;
