/** What a page is made of, as it stands in its file: types that the commands and the browser share. */
import type { Join, Way } from '../reach/way.ts';
import type { Edge } from '../verify/findings.ts';
import type { NodeChanges } from '../views/node-changes.ts';

export interface PageNetwork {
  readonly name: string;
  /** `UserDefinedNetwork blue/net`; absent for one that no object declares. */
  readonly object?: string;
  readonly id?: number;
  readonly topology?: string;
  readonly role?: string;
  readonly subnets: readonly string[];
  /** Whose pods are on it: as their primary network, or by a NetworkAttachmentDefinition of theirs. */
  readonly namespaces: readonly string[];
  /** As `heddle status` says it, of a running daemon alone. */
  readonly state?: string;
  /** `Service blue/web`. */
  readonly services: readonly string[];
  /** Objects that say what its pods may send and receive: `NetworkPolicy blue/deny`. */
  readonly policies: readonly string[];
  /** Its topology on the node, as an SVG document; absent where the node has none of it. */
  readonly picture?: string;
}

export interface PagePod {
  /** `namespace/name`. */
  readonly key: string;
  readonly node?: string;
  /** A pod is on the default network in name only where its role there is `infrastructure-locked`. */
  readonly interfaces: readonly {
    readonly network: string;
    readonly role?: string;
    readonly addresses: readonly string[];
  }[];
}

export interface ObjectMessage {
  readonly object: string;
  readonly message: string;
}

/** What `heddle status` says, of a running daemon. */
export interface PageStatus {
  readonly verdict: string;
  readonly isWell: boolean;
  readonly problems: readonly ObjectMessage[];
  readonly waiting: readonly ObjectMessage[];
  readonly nodes: readonly {
    readonly name: string;
    readonly daemon: string;
    readonly message?: string;
    readonly observedAt?: string;
  }[];
}

/** A certificate of `heddle verify`, as far as the page shows it. */
export interface PageProof {
  readonly node: string;
  /** RFC 3339. */
  readonly time: string;
  readonly verdict: 'apart' | 'not apart' | 'undecided';
  readonly digest: string;
  /** Networks that had rows on the node: nothing is proved of others. */
  readonly networks: readonly string[];
  readonly joins: readonly { readonly object: string; readonly networks: readonly string[] }[];
  readonly violations: readonly {
    readonly where: string;
    readonly what: string;
    readonly object: string;
    readonly networks: readonly string[];
  }[];
  readonly edges: readonly Pick<
    Edge,
    'from' | 'to' | 'where' | 'object' | 'passes' | 'enters' | 'unlisted'
  >[];
  readonly undecided: readonly string[];
  readonly notProved: readonly string[];
}

/** What the daemon is about to change, or what differs from what it wrote. */
export interface PagePlan {
  readonly rows: number;
  /** By network; an empty name for what all share. */
  readonly networks: readonly (readonly [network: string, rows: number])[];
}

export interface PageData {
  readonly heddle: string;
  readonly node: string;
  /** RFC 3339. */
  readonly time: string;
  /** In the order in which people look for them. */
  readonly networks: readonly PageNetwork[];
  readonly joins: readonly Join[];
  readonly ways: readonly Way[];
  readonly pods: readonly PagePod[];
  /** What is wrong with objects, found while this was made. */
  readonly problems: readonly ObjectMessage[];
  readonly status?: PageStatus;
  readonly proof?: PageProof;
  /** Of a running daemon alone. */
  readonly changes?: NodeChanges;
  readonly plan?: PagePlan;
  /** Objects as YAML, without secrets. */
  readonly objects: readonly (readonly [object: string, yaml: string])[];
}
