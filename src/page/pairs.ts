/** What stands in a cell of the matrix: who reaches whom, by which objects, and what a proof says of it. Pure; runs in commands and browsers. */
import { OUTSIDE, type Join, type Way } from '../reach/way.ts';
import type { Headers } from '../verify/findings.ts';
import type { PageData, PageProof } from './page-data.ts';

/**
 * `proved`: the rows let nothing from one to the other but what is shown. `joined`: an object joins the two as a whole, so that nothing is to be proved.
 * `violated`: something leads there that no object wants. `undecided`: not all could be read, or what was found concerns one of the two.
 * `other objects`: objects were others when the proof was made.
 */
export type PairProof = 'proved' | 'joined' | 'violated' | 'undecided' | 'other objects';

export interface Pair {
  readonly from: string;
  readonly to: string;
  /** None: apart. */
  readonly by: readonly (Join | Way)[];
  /** Absent where there is no proof of the two. */
  readonly proof?: PairProof;
}

const keyOf = (from: string, to: string): string => JSON.stringify([from, to]);

const NOTHING: readonly never[] = [];

export class Pairs {
  readonly #joins = new Map<string, Join[]>();
  readonly #ways = new Map<string, Way[]>();
  readonly #linked = new Map<string, Set<string>>();
  /** Networks that lead outside, and what is open to those who come from there. */
  readonly #leaving = new Set<string>();
  readonly #exposed = new Map<string, Way[]>();
  readonly #proof: PairProofs | undefined;

  constructor({ joins, ways, proof }: Pick<PageData, 'joins' | 'ways' | 'proof'>) {
    for (const join of joins)
      for (const network of join.networks) {
        add(this.#joins, network, join);
        for (const other of join.networks) if (other !== network) this.#link(network, other);
      }
    for (const way of ways) {
      add(this.#ways, keyOf(way.from, way.to), way);
      this.#link(way.from, way.to);
      this.#link(way.to, way.from);
      if (way.to === OUTSIDE) this.#leaving.add(way.from);
      if (way.from === OUTSIDE && way.kind === 'exposed') add(this.#exposed, way.to, way);
    }
    if (proof !== undefined) this.#proof = new PairProofs(proof);
  }

  pair(from: string, to: string): Pair {
    const joins =
      from === to
        ? NOTHING
        : (this.#joins.get(from) ?? NOTHING).filter(({ networks }) => networks.includes(to));
    const around =
      from !== to && this.#leaving.has(from) ? (this.#exposed.get(to) ?? NOTHING) : NOTHING;
    const by = [...joins, ...(this.#ways.get(keyOf(from, to)) ?? NOTHING), ...around];
    // A wire that two networks share is outside of the node, and no matter of a proof.
    const isJoined = joins.some(({ kind }) => kind !== 'physical');
    const proof = this.#proof?.of(from, to, isJoined);
    return { from, to, by, ...(proof === undefined ? {} : { proof }) };
  }

  /** Whether anything of one of two networks is reached from the other. */
  isReached(a: string, b: string): boolean {
    return (
      this.linkedWith(a).has(b) ||
      (this.#exposed.has(a) && this.#leaving.has(b)) ||
      (this.#exposed.has(b) && this.#leaving.has(a))
    );
  }

  /** Networks, and `outside`, that reach this one or that it reaches, but for those that do so by way of the outside alone. */
  linkedWith(network: string): ReadonlySet<string> {
    return this.#linked.get(network) ?? new Set();
  }

  #link(network: string, other: string): void {
    const known = this.#linked.get(network);
    if (known === undefined) this.#linked.set(network, new Set([other]));
    else known.add(other);
  }
}

/** What a certificate says of pairs. It never says more than the certificate: what concerns one of two leaves them undecided. */
class PairProofs {
  readonly #networks: ReadonlySet<string>;
  readonly #joins = new Map<string, PageProof['joins'][number][]>();
  readonly #violated = new Set<string>();
  readonly #concerned = new Set<string>();
  readonly #isOpen: boolean;

  constructor({ networks, joins, violations, undecided }: PageProof) {
    this.#networks = new Set(networks);
    for (const join of joins) for (const network of join.networks) add(this.#joins, network, join);
    this.#isOpen =
      undecided.length > 0 || violations.some(({ networks: named }) => named.length === 0);
    for (const { networks: named } of violations)
      for (const one of named) {
        this.#concerned.add(one);
        for (const other of named) if (other !== one) this.#violated.add(keyOf(one, other));
      }
  }

  of(from: string, to: string, isJoined: boolean): PairProof | undefined {
    const isOutside = from === OUTSIDE || to === OUTSIDE;
    if (from === to || isOutside || !this.#networks.has(from) || !this.#networks.has(to))
      return undefined;
    if (this.#violated.has(keyOf(from, to))) return 'violated';
    const wasJoined = this.#joins.get(from)?.some(({ networks }) => networks.includes(to)) === true;
    if (wasJoined !== isJoined) return 'other objects';
    if (isJoined) return 'joined';
    return this.#isOpen || this.#concerned.has(from) || this.#concerned.has(to)
      ? 'undecided'
      : 'proved';
  }
}

/** What a proof saw pass on an edge, one way, at the pods of its node. */
interface PassingWay {
  /** `blue_net to ClusterNetworkConnect both`. */
  readonly way: string;
  readonly headers: readonly Headers[];
  /** More headers of both ways that the proof does not list. */
  readonly unlisted: number;
}

/** What leaves the one for the other, and what gets to the other one: a connection has a router of its own between the two, with an edge to each. */
export function passingBetween(
  from: string,
  to: string,
  { edges, joins }: Pick<PageProof, 'edges' | 'joins'>,
): readonly PassingWay[] {
  const between = new Set(
    joins
      .filter(({ networks }) => networks.includes(from) && networks.includes(to))
      .map(({ object }) => object),
  );
  const isBetween = (edge: PageProof['edges'][number], other: string): boolean =>
    edge.to === other || between.has(edge.to);
  return edges.flatMap((edge): PassingWay[] => {
    const { passes, enters, unlisted = 0 } = edge;
    if (edge.from === from && passes !== undefined && isBetween(edge, to))
      return [{ way: `${from} to ${edge.to}`, headers: passes, unlisted }];
    if (edge.from === to && enters !== undefined && isBetween(edge, from))
      return [{ way: `${edge.to} to ${to}`, headers: enters, unlisted }];
    return [];
  });
}

function add<V>(lists: Map<string, V[]>, key: string, value: V): void {
  const list = lists.get(key);
  if (list === undefined) lists.set(key, [value]);
  else list.push(value);
}
