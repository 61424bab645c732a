/**
 * Which node has which egress address (reference/egress.md §1.3): one address of an object per node, on the nodes that have the fewest. What a node has
 * and may keep stays there, however the others are loaded: connections live through its address. What moves for balance is chosen elsewhere
 * (`balancingMove`). Pure; the same input gives the same assignment.
 */
import { containsAddress, type Address, type Prefix } from './addresses.ts';

export interface EgressItem {
  readonly node: string;
  /** In canonical form. */
  readonly address: string;
}

/** A node that may get addresses. */
export interface EgressNode {
  readonly name: string;
  /** Networks of its gateway and of its other network cards: only addresses of these are answered for there. */
  readonly networks: readonly Prefix[];
  /** False for one that keeps what it has. */
  readonly takesMore: boolean;
  /** It is being drained: it has what no other node can have. */
  readonly isDraining?: boolean;
  /** True if nothing with an address leaves it now: it has what no other node can have. */
  readonly isDownFor?: (address: Address) => boolean;
}

/** Of two nodes an address is at that of the lower rank, if it can be: at one where nothing leaves last. */
function rankOf({ isDraining = false, isDownFor }: EgressNode, address: Address): number {
  if (isDownFor?.(address) === true) return 2;
  return isDraining ? 1 : 0;
}

/** An object with addresses to assign. */
export interface EgressRequest {
  readonly name: string;
  /** Each once, by its canonical form. */
  readonly addresses: ReadonlyMap<string, Address>;
  /** Names of nodes that it may have addresses on. */
  readonly nodes: ReadonlySet<string>;
  /** What it has had so far. */
  readonly held: readonly EgressItem[];
}

/** What addresses are besides. */
export interface AddressFacts {
  /** Whose address it is already, in words; undefined for one that the object may have. */
  readonly ownerOf: (address: string, request: string) => string | undefined;
  /** Nodes that still answer for it, and whose word counts: nobody else may have it yet. */
  readonly answeredBy: (address: string) => readonly string[];
  /** The node that it is to move to, if that one may have it; undefined for one that stays where it is. */
  readonly movesTo: (address: string) => string | undefined;
}

/** An address that goes to another node so that both have about as many. */
export interface BalancingMove {
  /** Name of the object. */
  readonly request: string;
  readonly address: string;
  readonly from: string;
  readonly to: string;
}

/** Why an address has no node. */
type Unassigned =
  | { readonly kind: 'owned'; readonly by: string }
  | { readonly kind: 'requested'; readonly by: string; readonly node: string | undefined }
  /** It has a node, which gets it as soon as this one has let it go. */
  | { readonly kind: 'leaving'; readonly from: string; readonly to: string }
  | { readonly kind: 'no-node' };

export interface EgressAssignment {
  readonly items: readonly EgressItem[];
  readonly unassigned: ReadonlyMap<string, Unassigned>;
}

const NOTHING: EgressAssignment = { items: [], unassigned: new Map() };

const hosts = ({ networks }: EgressNode, address: Address): boolean =>
  networks.some((network) => containsAddress(network, address));

/** `requests` in the order in which they have a right to an address that nobody has yet. */
export function assignEgressAddresses(
  requests: readonly EgressRequest[],
  nodes: readonly EgressNode[],
  { ownerOf, answeredBy, movesTo }: AddressFacts,
): ReadonlyMap<string, EgressAssignment> {
  const sorted = nodes.toSorted((a, b) => (a.name < b.name ? -1 : 1));
  const byName = new Map(sorted.map((node) => [node.name, node]));
  const loads = new Map(sorted.map(({ name }) => [name, 0]));
  const requestedBy = new Map<string, string>();
  const given = new Map<string, Map<string, string>>();

  const give = (request: EgressRequest, address: string, node: string): void => {
    loads.set(node, (loads.get(node) ?? 0) + 1);
    requestedBy.set(address, request.name);
    given.get(request.name)?.set(address, node);
  };
  const isFree = (request: EgressRequest, node: string): boolean =>
    ![...(given.get(request.name)?.values() ?? [])].includes(node);
  const mayTake = (request: EgressRequest, node: EgressNode, address: Address): boolean =>
    node.takesMore &&
    request.nodes.has(node.name) &&
    hosts(node, address) &&
    isFree(request, node.name);

  for (const request of requests) {
    given.set(request.name, new Map());
    for (const { node: name, address } of request.held) {
      const [node, parsed] = [byName.get(name), request.addresses.get(address)];
      if (node === undefined || parsed === undefined || !hosts(node, parsed)) continue;
      if (!request.nodes.has(name)) continue;
      if (requestedBy.has(address) || ownerOf(address, request.name) !== undefined) continue;
      const target = byName.get(movesTo(address) ?? name);
      if (target !== undefined && target !== node && mayTake(request, target, parsed)) continue;
      if (!isFree(request, name)) continue;
      // A node is drained, or left, for as long as a better one can have its address.
      const rank = rankOf(node, parsed);
      const isElsewhere =
        rank > 0 &&
        sorted.some(
          (other) =>
            rankOf(other, parsed) < rank &&
            mayTake(request, other, parsed) &&
            !request.held.some((item) => item.node === other.name && item.address !== address),
        );
      if (!isElsewhere) give(request, address, name);
    }
  }

  const found = new Map<string, EgressAssignment>();
  for (const request of requests) {
    const unassigned = new Map<string, Unassigned>();
    for (const [address, parsed] of request.addresses) {
      if (given.get(request.name)?.has(address) === true) continue;
      const [owner, other] = [ownerOf(address, request.name), requestedBy.get(address)];
      if (owner !== undefined) unassigned.set(address, { kind: 'owned', by: owner });
      else if (other !== undefined)
        unassigned.set(address, {
          kind: 'requested',
          by: other,
          node: given.get(other)?.get(address),
        });
      else {
        const answering = answeredBy(address);
        const able = sorted.filter((node) => mayTake(request, node, parsed));
        const best = Math.min(...able.map((node) => rankOf(node, parsed)));
        const possible = able.filter((node) => rankOf(node, parsed) === best);
        const target = movesTo(address);
        const chosen =
          possible.find(({ name }) => name === target) ??
          possible.find(({ name }) => answering.includes(name)) ??
          least(possible, ({ name }) => loads.get(name) ?? 0);
        // Nobody else takes it meanwhile.
        requestedBy.set(address, request.name);
        if (chosen === undefined) {
          unassigned.set(address, { kind: 'no-node' });
          continue;
        }
        give(request, address, chosen.name);
        const others = answering.filter((name) => name !== chosen.name);
        const before = request.held.find((item) => item.address === address)?.node;
        const from = others.find((name) => name === before) ?? others[0];
        if (from !== undefined) unassigned.set(address, { kind: 'leaving', from, to: chosen.name });
      }
    }
    const items = [...(given.get(request.name) ?? [])]
      .filter(([address]) => !unassigned.has(address))
      .map(([address, node]): EgressItem => ({ node, address }));
    const order = [...request.addresses.keys()];
    found.set(request.name, {
      items: items.toSorted((a, b) => order.indexOf(a.address) - order.indexOf(b.address)),
      unassigned,
    });
  }
  return found;
}

/**
 * The move that brings the loads of two nodes closest together: of an address of the younger object from the fullest node; undefined where of no two nodes
 * that may have the same address one has two more than the other. `isTarget`: nodes to which addresses may move; a node that takes no more gives none away.
 */
export function balancingMove(
  requests: readonly EgressRequest[],
  nodes: readonly EgressNode[],
  assignments: ReadonlyMap<string, EgressAssignment>,
  isTarget: (node: string) => boolean,
): BalancingMove | undefined {
  const loads = new Map(nodes.map(({ name }) => [name, 0]));
  for (const { items } of assignments.values())
    for (const { node } of items) loads.set(node, (loads.get(node) ?? 0) + 1);
  const loadOf = (name: string): number => loads.get(name) ?? 0;
  const sources = new Set(nodes.filter(({ takesMore }) => takesMore).map(({ name }) => name));
  const targets = nodes
    .filter(({ name, takesMore, isDraining }) => takesMore && isDraining !== true && isTarget(name))
    .toSorted((a, b) => loadOf(a.name) - loadOf(b.name) || (a.name < b.name ? -1 : 1));
  let found: BalancingMove | undefined;
  let difference = 1;
  for (const request of requests.toReversed()) {
    const items = assignments.get(request.name)?.items ?? [];
    for (const { node: from, address } of items) {
      const parsed = request.addresses.get(address);
      if (parsed === undefined || !sources.has(from)) continue;
      for (const target of targets) {
        const gain = loadOf(from) - loadOf(target.name);
        if (gain <= difference) break;
        if (!request.nodes.has(target.name) || !hosts(target, parsed)) continue;
        if (rankOf(target, parsed) > 0) continue;
        if (items.some(({ node }) => node === target.name)) continue;
        found = { request: request.name, address, from, to: target.name };
        difference = gain;
        break;
      }
    }
  }
  return found;
}

/** Nodes with an address that another one could have at once. */
export function nodesToMoveFrom(
  requests: readonly EgressRequest[],
  nodes: readonly EgressNode[],
  assignments: ReadonlyMap<string, EgressAssignment>,
): ReadonlySet<string> {
  const able = nodes.filter(({ takesMore }) => takesMore);
  const found = new Set<string>();
  for (const request of requests) {
    const { items, unassigned } = assignments.get(request.name) ?? NOTHING;
    // What a node is to let go of is given to others as soon as it has.
    for (const why of unassigned.values()) if (why.kind === 'leaving') found.add(why.from);
    for (const { node, address } of items) {
      const parsed = request.addresses.get(address);
      if (parsed === undefined || found.has(node)) continue;
      const isTaken = (name: string): boolean => items.some((item) => item.node === name);
      const couldHave = (other: EgressNode): boolean =>
        request.nodes.has(other.name) && hosts(other, parsed) && !isTaken(other.name);
      if (able.some(couldHave)) found.add(node);
    }
  }
  return found;
}

/** The first of those with the smallest value. */
function least<T>(candidates: readonly T[], valueOf: (candidate: T) => number): T | undefined {
  let [best, value]: [T | undefined, number] = [undefined, Infinity];
  for (const candidate of candidates) {
    const own = valueOf(candidate);
    if (own < value) [best, value] = [candidate, own];
  }
  return best;
}
