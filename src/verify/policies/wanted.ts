/** What policies let pods of one kind get and send, as sets of headers: tier by tier, as their APIs say, whatever rows there are. */
import {
  box,
  DESTINATION,
  difference,
  EMPTY,
  EVERYTHING,
  intersection,
  PORT,
  PROTOCOL,
  SOURCE,
  STATE,
  union,
  type HeaderSet,
} from '../headers/boxes.ts';
import { addressesNamed } from '../headers/matched.ts';
import { ALL_ADDRESSES, allOf, between, type Ranges } from '../headers/ranges.ts';
import type { VerifiedPort } from '../intent/pods.ts';
import type {
  AdminPolicy,
  AdminRule,
  NamespacePolicy,
  PolicyDirection,
  PolicyPort,
  Rule,
} from './read.ts';
import type { PolicedPort, SelectedPods } from './selected-pods.ts';

/** Pods that the same policies select, and that call the same ports by the same names. */
export interface PolicySubject {
  readonly ports: readonly VerifiedPort[];
  readonly policies: readonly NamespacePolicy[];
  readonly admins: readonly AdminPolicy[];
}

/** What is allowed surely, and what may be: who has a name in DNS is not known here. */
export interface Flow {
  readonly surely: HeaderSet;
  readonly perhaps: HeaderSet;
}

/** Headers about which a policy decides. */
export interface Decision {
  readonly object: string;
  readonly headers: HeaderSet;
}

export interface Wanted extends Flow {
  readonly allowing: readonly Decision[];
  readonly denying: readonly Decision[];
}

export const NOTHING: Flow = { surely: EMPTY, perhaps: EMPTY };
const ICMP: HeaderSet = intersection(EVERYTHING, [
  box({ [PROTOCOL]: allOf([between(1, 1), between(58, 58)]) }),
]);

export const each = (
  a: Flow,
  b: Flow,
  operation: (a: HeaderSet, b: HeaderSet) => HeaderSet,
): Flow => {
  const surely = operation(a.surely, b.surely);
  const isExact = a.surely === a.perhaps && b.surely === b.perhaps;
  return { surely, perhaps: isExact ? surely : operation(a.perhaps, b.perhaps) };
};

/** Without what surely is, or may be, in the other one. */
export const minus = (a: Flow, b: Flow): Flow => {
  const surely = difference(a.surely, b.perhaps);
  const isExact = a.surely === a.perhaps && b.surely === b.perhaps;
  return { surely, perhaps: isExact ? surely : difference(a.perhaps, b.surely) };
};

/** `universe`: what is asked about. */
export function wantedOf(
  direction: PolicyDirection,
  subject: PolicySubject,
  universe: HeaderSet,
  selected: SelectedPods,
  passesIcmp: boolean,
): Wanted {
  const rules = new Rules(direction, subject, selected);
  const all: Flow = { surely: universe, perhaps: universe };
  const allowing: Decision[] = [];
  const denying: Decision[] = [];
  const ask = (tier: AdminPolicy['tier'], from: Flow): Asked => {
    const asked = rules.asked(tier, from);
    allowing.push(...asked.allowing);
    denying.push(...asked.denying);
    return asked;
  };
  const first = ask('Admin', all);
  const closing = subject.policies.filter(({ directions }) => directions.includes(direction));
  if (closing.length === 0) {
    const last = ask('Baseline', first.left);
    const { surely, perhaps } = each(each(first.allowed, last.allowed, union), last.left, union);
    return { surely, perhaps, allowing, denying };
  }
  let allowed = NOTHING;
  for (const { object, rules: own } of closing)
    for (const rule of own) {
      if (rule.direction !== direction) continue;
      const met = each(first.left, rules.matched(rule), intersection);
      allowing.push({ object, headers: met.surely });
      allowed = each(allowed, met, union);
    }
  if (passesIcmp)
    allowed = each(allowed, each(first.left, { surely: ICMP, perhaps: ICMP }, intersection), union);
  const shut = difference(first.left.perhaps, allowed.surely);
  denying.push(...closing.map(({ object }) => ({ object, headers: shut })));
  const { surely, perhaps } = each(first.allowed, allowed, union);
  return { surely, perhaps, allowing, denying };
}

interface Asked extends Pick<Wanted, 'allowing' | 'denying'> {
  readonly allowed: Flow;
  /** What rules pass on, and what none is about. */
  readonly left: Flow;
}

class Rules {
  readonly #direction: PolicyDirection;
  readonly #subject: PolicySubject;
  readonly #selected: SelectedPods;

  constructor(direction: PolicyDirection, subject: PolicySubject, selected: SelectedPods) {
    this.#direction = direction;
    this.#subject = subject;
    this.#selected = selected;
  }

  /** Policies of administrators of a tier, in their order; of rules at one place that say otherwise either may hold. */
  asked(tier: AdminPolicy['tier'], from: Flow): Asked {
    const own = this.#subject.admins
      .filter((policy) => policy.tier === tier)
      .flatMap(({ object, rules }) => rules.map((rule) => ({ object, rule })))
      .filter(({ rule }) => rule.direction === this.#direction);
    const places = Map.groupBy(own, ({ rule }) => rule.place);
    const asked = { allowing: [] as Decision[], denying: [] as Decision[] };
    let [left, allowed, passed] = [from, NOTHING, NOTHING];
    for (const [, level] of [...places].toSorted(([a], [b]) => a - b)) {
      const found = level.map(({ object, rule }) => ({
        object,
        rule,
        met: each(left, this.matched(rule), intersection),
      }));
      for (const { object, rule, met } of found) {
        const others = found
          .filter((one) => one.rule.action !== rule.action)
          .reduce<HeaderSet>((sum, one) => union(sum, one.met.perhaps), EMPTY);
        const alone: Flow =
          others.length === 0
            ? met
            : { surely: difference(met.surely, others), perhaps: met.perhaps };
        if (rule.action === 'Allow') {
          allowed = each(allowed, alone, union);
          asked.allowing.push({ object, headers: alone.surely });
        } else if (rule.action === 'Pass') passed = each(passed, alone, union);
        else asked.denying.push({ object, headers: met.perhaps });
      }
      for (const { met } of found) left = minus(left, met);
    }
    return { ...asked, allowed, left: each(left, passed, union) };
  }

  /** Headers that a rule means. */
  matched(rule: Rule | AdminRule): Flow {
    const peers = this.#peers(rule);
    const surely = this.#withPorts(rule, peers, rule.ports);
    if (!rule.hasNames) return { surely, perhaps: surely };
    return {
      surely,
      perhaps: this.#withPorts({ ...rule, isForAll: true }, ALL_ADDRESSES, rule.ports),
    };
  }

  #peers({ isForAll, selections, addresses, nodes }: Rule): Ranges {
    if (isForAll) return ALL_ADDRESSES;
    return allOf([
      addresses,
      ...selections.map((one) => addressesAt(this.#selected.on(one))),
      ...nodes.map((one) => this.#selected.addressesOfNodes(one)),
    ]);
  }

  #withPorts(rule: Rule, peers: Ranges, ports: readonly PolicyPort[]): HeaderSet {
    if (ports.length === 0) return this.#headers(peers, undefined);
    return ports.reduce<HeaderSet>(
      (all, port) => union(all, this.#atPort(rule, peers, port)),
      EMPTY,
    );
  }

  #atPort(rule: Rule, peers: Ranges, { protocol, numbers, name }: PolicyPort): HeaderSet {
    if (name === undefined) return this.#headers(peers, { protocol, numbers: numbers ?? [] });
    // Who is reached says which number a name is: the pods themselves, or those to whom they send.
    if (this.#direction === 'Ingress') {
      const [own] = this.#subject.ports;
      const called = own === undefined ? [] : this.#selected.ownNumbersOf(own, protocol, name);
      return this.#headers(peers, {
        protocol,
        numbers: allOf(called.map((one) => between(one, one))),
      });
    }
    const byNumber = new Map<number, PolicedPort[]>();
    for (const reached of this.#reached(rule))
      for (const number of this.#selected.numbersOf(reached, protocol, name))
        byNumber.set(number, [...(byNumber.get(number) ?? []), reached]);
    return [...byNumber].reduce<HeaderSet>(
      (all, [number, reached]) =>
        union(
          all,
          this.#headers(addressesAt(reached), { protocol, numbers: between(number, number) }),
        ),
      EMPTY,
    );
  }

  #reached({ isForAll, selections }: Rule): readonly PolicedPort[] {
    if (isForAll) return this.#selected.all();
    return [...new Set(selections.flatMap((one) => this.#selected.on(one)))];
  }

  #headers(
    peers: Ranges,
    at: { readonly protocol: number; readonly numbers: Ranges } | undefined,
  ): HeaderSet {
    const [own, other] =
      this.#direction === 'Ingress' ? [DESTINATION, SOURCE] : ([SOURCE, DESTINATION] as const);
    if (peers.length === 0 || at?.numbers.length === 0) return EMPTY;
    const ends = {
      [own]: ownAddresses(this.#subject.ports),
      [other]: peers,
      [STATE]: between(0, 5),
    };
    const ofPort =
      at === undefined ? {} : { [PROTOCOL]: between(at.protocol, at.protocol), [PORT]: at.numbers };
    return intersection(EVERYTHING, [box({ ...ends, ...ofPort })]);
  }
}

const addressesAt = (ports: readonly PolicedPort[]): Ranges =>
  addressesNamed(ports.flatMap(({ port }) => port.addresses));

/** Of pods to which their network gives none any. */
export function ownAddresses(ports: readonly VerifiedPort[]): Ranges {
  const addresses = ports.flatMap((port) => port.addresses);
  return addresses.length === 0 ? ALL_ADDRESSES : addressesNamed(addresses);
}
