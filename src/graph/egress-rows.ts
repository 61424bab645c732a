/** What rows say of the objects that decide what leaves a network, for a graph: which there are, where their rows are, and what they do. Pure. */
import type { GraphRow } from './graph-row.ts';

/** Objects of one kind at one switch or router. */
interface EgressGroup {
  /** Name of the row that holds theirs: a switch, a router or a port group. */
  readonly holder: string;
  /** Of the pods that they are about, where that is known. */
  readonly network: string;
  readonly kind: string;
  /** One of each object, by name. */
  readonly lines: readonly string[];
}

const KIND =
  /^(EgressIP|EgressService|EgressFirewall|EgressQoS|NetworkQoS|AdminPolicyBasedExternalRoute) /;
/** Others have rows of QoS for answers of their pods. */
const isQos = (object: string): boolean => /^\w+QoS /.test(object);
const DEFAULT_CONTROLLER = 'default-network-controller';
const OWNER_CONTROLLER = 'k8s.ovn.org/owner-controller';

/** Of one object at one holder. */
interface Found {
  readonly network: string;
  readonly hops: Set<string>;
  allow: number;
  deny: number;
  marks: number;
}

export class EgressRows {
  readonly #exits: ReadonlyMap<string, readonly string[]>;
  /** By holder, and by object. */
  readonly #found = new Map<string, Map<string, Found>>();

  /** `exits`: see `topologyGraph`. */
  constructor(exits: ReadonlyMap<string, readonly string[]>) {
    this.#exits = exits;
  }

  add({ table, object, columns, holders }: GraphRow): void {
    if (!KIND.test(object)) return;
    for (const { key: holder } of holders) {
      const objects = this.#found.get(holder) ?? new Map<string, Found>();
      this.#found.set(holder, objects);
      const found = objects.get(object) ?? {
        network: networkOf(columns['external_ids']),
        hops: new Set(),
        allow: 0,
        deny: 0,
        marks: 0,
      };
      objects.set(object, found);
      const { action, nexthop } = columns;
      if (table === 'ACL' && typeof action === 'string') {
        if (action.startsWith('allow')) found.allow += 1;
        else found.deny += 1;
      } else if (table === 'QoS' && isQos(object)) found.marks += 1;
      else if (table === 'Logical_Router_Static_Route' && typeof nexthop === 'string')
        found.hops.add(nexthop);
    }
  }

  *groups(): Iterable<EgressGroup> {
    for (const [holder, objects] of this.#found) {
      const byKind = Map.groupBy([...objects], ([object]) => object.split(' ')[0] ?? '');
      for (const [kind, found] of byKind)
        yield {
          holder,
          network: found[0]?.[1].network ?? 'default',
          kind,
          lines: found.map(([object, what]) => this.#line(object, what)).sort(),
        };
    }
  }

  #line(object: string, { hops, allow, deny, marks }: Found): string {
    const numbered: readonly (readonly [number, string])[] = [
      [allow, 'allow'],
      [deny, 'deny'],
      [marks, marks === 1 ? 'rule' : 'rules'],
    ];
    const parts = [
      ...(this.#exits.get(object) ?? []),
      ...[...hops].sort().map((hop) => `by ${hop}`),
      ...numbered.flatMap(([number, what]) => (number === 0 ? [] : `${number} ${what}`)),
    ];
    const name = object.replace(KIND, '');
    return parts.length === 0 ? name : `${name}: ${parts.join(', ')}`;
  }
}

/** `blue_blue-network-controller` */
function networkOf(ids: unknown): string {
  const owner: unknown = ids instanceof Map ? ids.get(OWNER_CONTROLLER) : undefined;
  return typeof owner !== 'string' || owner === DEFAULT_CONTROLLER
    ? 'default'
    : owner.replace(/-network-controller$/, '');
}
