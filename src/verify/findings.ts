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
