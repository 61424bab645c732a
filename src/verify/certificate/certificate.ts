/** What a proof is handed on as: the verdict, and what it rests on, in a form that another program checks without the databases and without Heddle. */
import type { Edge, Violation } from '../findings.ts';

/** A later form that a reader of this one can't check has another name. */
type CertificateFormat = 'heddle-certificate/1';

/** As which state of a database it was read. */
export interface DatabaseGeneration {
  readonly name: string;
  /** Version of its schema. */
  readonly schema: string;
  /** Of the server's row about the database (`_Server`): another one after the database was made anew. */
  readonly generation?: string;
  /** Cluster, and how far in its log the server had come; a database that is not clustered has neither. */
  readonly cluster?: string;
  readonly index?: number;
  /** `nb_cfg`, `sb_cfg`, `hv_cfg`, `cur_cfg`, as far as the database has them. */
  readonly sequences: Readonly<Record<string, number>>;
  /** SHA-256 of the rows that were read: the same where nothing that proofs look at has changed. */
  readonly rows: string;
}

interface CertifiedNetwork {
  readonly name: string;
  readonly id: number;
  readonly object: string;
  /** What names of its switches and routers begin with. */
  readonly prefix: string;
}

/** An object, and networks that it lets touch. */
export interface CertifiedOwner {
  readonly object: string;
  readonly networks: readonly string[];
}

/** A switch or router. */
export interface Corner {
  /** UUID of its row. */
  readonly id: string;
  readonly kind: 'switch' | 'router';
  readonly name: string;
  /** The network, or the connection's object, that it is of; null: nobody's. */
  readonly of: string | null;
}

/** A pair of ports between two corners. */
export interface Way {
  readonly between: readonly [string, string];
  /** Ports that say so: one, or both. */
  readonly by: readonly string[];
}

/** A port that leads out of all logical networks. */
export interface Exit {
  readonly corner: string;
  readonly where: string;
  /** `host`, or `physical NAME VLAN TAG`. */
  readonly to: string;
}

/** What a rule lets pass from one network to another, or from outside: a service, an open port. */
interface Opening {
  readonly from: string;
  readonly to: string;
  readonly where: string;
}

/** The port of a pod, where it hangs, and the network that the pod's object gives it. */
export interface CertifiedPod {
  readonly port: string;
  readonly corner: string;
  readonly pod: string;
  readonly network: string;
}

/** A number or address, and who has it. */
export interface Identity {
  readonly kind: string;
  readonly value: string;
  readonly holder: string;
}

export interface Evidence {
  readonly corners: readonly Corner[];
  readonly ways: readonly Way[];
  readonly exits: readonly Exit[];
  readonly openings: readonly Opening[];
  readonly pods: readonly CertifiedPod[];
  readonly identities: readonly Identity[];
}

/** Packets that programs of OVN and Open vSwitch were asked about, and what became of them. */
export interface WitnessSums {
  /** Gives the same packets for the same rows. */
  readonly seed: number;
  readonly packets: number;
  readonly logicalTraces: number;
  readonly physicalTraces: number;
  /** To another network that no object joins; of those the ones that came out nowhere. */
  readonly apart: number;
  readonly dropped: number;
  /** Between networks that an object joins; of those the ones that went over. */
  readonly joined: number;
  readonly passed: number;
  /** Of those that were really sent. */
  readonly real?: PacketSums;
}

/** Witnesses that were sent from pods of the node, and where they came out: a packet may come out at several places. */
export interface PacketSums {
  /** TCP sequence number of all of them, in hexadecimal. */
  readonly nonce: string;
  readonly sent: number;
  readonly nowhere: number;
  readonly toPods: number;
  readonly toHost: number;
  readonly toTunnels: number;
  /** By a device that leads to no pod, host or tunnel: the uplink, a physical network. */
  readonly outside: number;
  /** Those of which `ofproto/trace` tells something else. */
  readonly differing: number;
}

export interface Certificate {
  readonly format: CertificateFormat;
  /** RFC 3339, UTC, when the last of it was read. */
  readonly time: string;
  readonly node: string;
  /** `heddle`; `ovn` and `openVswitch` where their databases say it. */
  readonly versions: Readonly<Record<string, string>>;
  readonly databases: readonly DatabaseGeneration[];
  readonly networks: readonly CertifiedNetwork[];
  /** Connections, and namespaces with several primary networks: pairs of their networks may touch. */
  readonly joins: readonly CertifiedOwner[];
  /** Others that edges name: services, pods. */
  readonly users: readonly CertifiedOwner[];
  readonly evidence: Evidence;
  /** How much of each there is in the certificate. `parts`: what the graph falls into without the edges. */
  readonly sums: Readonly<
    Record<keyof Evidence | 'networks' | 'edges' | 'violations' | 'parts', number>
  >;
  /** Rows and flows that were looked at. */
  readonly counts: Readonly<Record<string, number>>;
  readonly pairs: { readonly all: number; readonly apart: number; readonly connected: number };
  readonly edges: readonly Edge[];
  readonly violations: readonly Violation[];
  readonly undecided: readonly string[];
  readonly notes: readonly string[];
  readonly notProved: readonly string[];
  readonly witnesses?: WitnessSums;
  readonly verdict: 'apart' | 'not apart' | 'undecided';
  /** SHA-256 of everything else, as JSON with sorted keys and no space between. */
  readonly digest: string;
}
