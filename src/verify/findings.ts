/** What a proof finds: ways that some object wants, and what no object wants. */

/** The parts of the proof. */
export type Check =
  | 'cut'
  | 'identities'
  | 'ports'
  | 'routes'
  | 'translation'
  | 'load balancers'
  | 'default network'
  | 'southbound'
  | 'integration bridge'
  | 'external bridge'
  | 'host routing'
  | 'nftables'
  | 'policies'
  | 'firewalls'
  | 'witnesses';

export interface Violation {
  readonly check: Check;
  /** The row, flow, rule or route: `Northbound Logical_Switch_Port blue_web`. */
  readonly where: string;
  /** What is wrong with it. */
  readonly what: string;
  /** The object that is concerned: `UserDefinedNetwork blue/net`. */
  readonly object: string;
  /** Networks that are not apart because of it, or may not be. */
  readonly networks: readonly string[];
}

/** What a violation is, in words that no other one has. */
export const violationText = ({ check, where, what }: Violation): string =>
  `${check} ${where} ${what}`;

/** What rows let pass on a way, as headers of packets that begin something there; a field that is missing: any. */
export interface Headers {
  /** Addresses, or subnets in CIDR form. */
  readonly sources?: readonly string[];
  readonly destinations: readonly string[];
  /** `tcp` …, numbers (`50`, `60-109`), `ip` for any, or `ip but tcp, udp`. */
  readonly protocol: string;
  readonly ports?: readonly number[];
  /** Beside `ports`: `8000-8999`. */
  readonly portRanges?: readonly string[];
  readonly sourcePortRanges?: readonly string[];
  /** Only what belongs to a connection that has begun. */
  readonly established?: true;
  readonly left?: Left;
}

/** How many addresses, subnets and ports of headers are not listed. */
export interface Left {
  readonly sources?: number;
  readonly destinations?: number;
  readonly ports?: number;
}

/** A way between a network and another one, the host or what is outside, that an object wants. */
export interface Edge {
  readonly from: string;
  /** Another network, `outside`, `host`, or `physical NAME`. */
  readonly to: string;
  readonly kind:
    | 'connection'
    | 'namespace'
    | 'outside'
    | 'host'
    | 'physical'
    | 'service'
    | 'access'
    | 'open port';
  /** Row by which it leads. */
  readonly where: string;
  readonly object: string;
  /** Of what rules let pass by address and port: all of it, but for `unlisted`. */
  readonly passes?: readonly Headers[];
  /** Of an edge of pods: what comes in by it from the others at pods of this node. */
  readonly enters?: readonly Headers[];
  /** How many headers are in neither. */
  readonly unlisted?: number;
}

/** Headers that are listed, and how many more there are. */
export interface ListedHeaders {
  readonly passes: readonly Headers[];
  readonly more: number;
}

/** What leaves a network by an edge, and what comes in. */
interface Passage {
  readonly passes: ListedHeaders;
  readonly enters: ListedHeaders;
}

export class Findings {
  readonly violations: Violation[] = [];
  readonly edges: Edge[] = [];
  readonly notes: string[] = [];
  readonly undecided: string[] = [];
  /** What passes on edges of pods, by their ends. */
  readonly passages = new Map<string, Pick<Edge, 'passes' | 'enters' | 'unlisted'>>();

  wrong(
    check: Check,
    where: string,
    what: string,
    object: string,
    networks: readonly (string | undefined)[] = [],
  ): void {
    const named = [...new Set(networks.filter((name) => name !== undefined))];
    this.violations.push({ check, where, what, object, networks: named });
  }

  edge(edge: Edge): void {
    this.edges.push(edge);
  }

  /** What could not be told from rows. */
  leaveOpen(why: string): void {
    if (!this.undecided.includes(why)) this.undecided.push(why);
  }

  /** What passes on edges of pods from a network to another one, or to a connection. */
  pass(from: string, to: string, { passes, enters }: Passage): void {
    this.passages.set(keyOf(from, to), {
      passes: passes.passes,
      enters: enters.passes,
      ...(passes.more + enters.more === 0 ? {} : { unlisted: passes.more + enters.more }),
    });
  }

  get isEmpty(): boolean {
    const { violations, edges, passages, undecided } = this;
    return violations.length + edges.length + passages.size + undecided.length === 0;
  }
}

/** Edges of all of them, those of pods with what passes there. */
export function edgesOf(all: readonly Findings[]): readonly Edge[] {
  const passages = new Map(all.flatMap((one) => [...one.passages]));
  return all.flatMap(({ edges }) =>
    edges.map((edge) =>
      edge.kind === 'connection' || edge.kind === 'namespace'
        ? { ...edge, ...passages.get(keyOf(edge.from, edge.to)) }
        : edge,
    ),
  );
}

const keyOf = (from: string, to: string): string => JSON.stringify([from, to]);
