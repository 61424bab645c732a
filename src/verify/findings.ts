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
  readonly protocol: string;
  readonly ports?: readonly number[];
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
  /** Of what rules let pass by address and port: all of it. */
  readonly passes?: readonly Headers[];
}

export class Findings {
  readonly violations: Violation[] = [];
  readonly edges: Edge[] = [];
  readonly notes: string[] = [];

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
}
