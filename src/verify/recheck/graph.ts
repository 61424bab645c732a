/** Switches and routers of a certificate and the ways between them. */
import type { Certificate, Corner, Way } from '../certificate/certificate.ts';
import type { Complain } from './complaint.ts';

/** A way that leaves what is its owner's. */
export interface Crossing {
  readonly way: Way;
  readonly field: string;
  readonly ends: readonly [Corner, Corner];
}

export class Graph {
  readonly crossings: readonly Crossing[];
  readonly #corners = new Map<string, Corner>();
  /** Representative of the part of each corner. */
  readonly #parts = new Map<string, string>();
  readonly #complain: Complain;

  constructor(certificate: Certificate, complain: Complain) {
    const { evidence } = certificate;
    this.#complain = complain;
    const names = namesOf(certificate);
    for (const [index, corner] of evidence.corners.entries()) {
      const field = `evidence.corners[${index}]`;
      if (this.#corners.has(corner.id)) complain(`${field}.id`, corner.id, 'is there twice');
      this.#corners.set(corner.id, corner);
      this.#parts.set(corner.id, corner.id);
      if (corner.of !== null && !names.has(`${corner.kind} ${corner.name} ${corner.of}`))
        complain(
          `${field}.of`,
          corner.of,
          `a ${corner.kind} of that is not called ${JSON.stringify(corner.name)}`,
        );
    }
    this.crossings = evidence.ways.flatMap((way, index) => this.#take(way, index));
  }

  corner(id: string, field: string): Corner | undefined {
    const corner = this.#corners.get(id);
    if (corner === undefined) this.#complain(field, id, 'evidence.corners has no such id');
    return corner;
  }

  /** What the graph falls into without its crossings. */
  parts(): number {
    return new Set([...this.#corners.keys()].map((id) => this.#partOf(id))).size;
  }

  #partOf(id: string): string {
    let at = id;
    for (;;) {
      const next = this.#parts.get(at) ?? at;
      if (next === at) return at;
      this.#parts.set(at, this.#parts.get(next) ?? next);
      at = next;
    }
  }

  /** Joins the parts of its ends where they are of one owner: every part has one then. */
  #take(way: Way, index: number): Crossing[] {
    const field = `evidence.ways[${index}]`;
    const [from, to] = way.between;
    if (way.between.length !== 2)
      this.#complain(`${field}.between`, way.between, 'a way has two ends');
    if (way.by.length < 1 || way.by.length > 2)
      this.#complain(`${field}.by`, way.by, 'one or two ports make a way');
    const a = this.corner(from, `${field}.between[0]`);
    const b = this.corner(to, `${field}.between[1]`);
    if (a === undefined || b === undefined || a === b) return [];
    if (a.of === null || a.of !== b.of) return [{ way, field, ends: [a, b] }];
    this.#parts.set(this.#partOf(a.id), this.#partOf(b.id));
    return [];
  }
}

/** `switch NAME OWNER`: how switches and routers of each network and connection are called (docs/reference/topology.md §1.2). */
function namesOf({ node, networks, joins }: Certificate): ReadonlySet<string> {
  const names = new Set<string>();
  for (const { name, prefix } of networks) {
    for (const one of [node, 'join', 'transit_switch', 'ovn_layer2_switch', 'ovn_localnet_switch'])
      names.add(`switch ${prefix}${one} ${name}`);
    names.add(`switch ext_${prefix}${node} ${name}`);
    for (const one of ['ovn_cluster_router', 'transit_router'])
      names.add(`router ${prefix}${one} ${name}`);
    names.add(`router GR_${prefix}${node} ${name}`);
  }
  for (const { object } of joins) {
    const connection = /^ClusterNetworkConnect (.+)$/.exec(object)?.[1];
    if (connection !== undefined) names.add(`router connect_router_${connection} ${object}`);
  }
  return names;
}
