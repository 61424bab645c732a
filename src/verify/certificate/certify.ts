/** A certificate of what was proved. */
import { createHash } from 'node:crypto';
import { canonicalJson } from '../../api/canonical-json.ts';
import type { Edge } from '../findings.ts';
import { digestOf } from '../recheck/recheck.ts';
import { member, rowsOf, text, uuidOf, type Tables } from '../rows.ts';
import type { DatabaseState, Snapshot } from '../snapshot.ts';
import type { Proof } from '../verify.ts';
import type {
  Certificate,
  CertifiedOwner,
  DatabaseGeneration,
  WitnessSums,
} from './certificate.ts';
import { evidenceOf } from './evidence.ts';

/** What neither databases nor objects say. */
export interface Circumstances {
  /** RFC 3339. */
  readonly time: string;
  /** Heddle's release. */
  readonly heddle: string;
  readonly witnesses?: WitnessSums;
}

const SEQUENCES = ['nb_cfg', 'sb_cfg', 'hv_cfg', 'cur_cfg'];
const GLOBALS = ['NB_Global', 'SB_Global', 'Open_vSwitch'];

/** The certificate of a proof and of what it was made of. */
export function certificateOf(
  snapshot: Snapshot,
  proof: Proof,
  { time, heddle, witnesses }: Circumstances,
): Certificate {
  const { verdict, intent } = proof;
  const edges = distinct(verdict.edges);
  const evidence = evidenceOf(snapshot, proof, edges);
  const { violations, undecided, counts, pairs, notes, notProved } = verdict;
  const certificate: Omit<Certificate, 'digest'> = {
    format: 'heddle-certificate/1',
    time,
    node: verdict.node,
    versions: { heddle, ...versionsOf(snapshot) },
    databases: generationsOf(snapshot),
    networks: verdict.networks.map((network) => ({
      ...network,
      prefix: intent.byName.get(network.name)?.prefix ?? '',
    })),
    joins: intent.joins.map(({ object, networks }) => ({ object, networks })),
    users: usersOf(edges, proof),
    evidence,
    sums: {
      corners: evidence.corners.length,
      ways: evidence.ways.length,
      exits: evidence.exits.length,
      openings: evidence.openings.length,
      pods: evidence.pods.length,
      identities: evidence.identities.length,
      networks: verdict.networks.length,
      edges: edges.length,
      violations: violations.length,
      parts: partsOf(evidence),
    },
    counts,
    pairs,
    edges,
    violations,
    undecided,
    notes,
    notProved,
    ...(witnesses === undefined ? {} : { witnesses }),
    verdict: violations.length > 0 ? 'not apart' : undecided.length > 0 ? 'undecided' : 'apart',
  };
  return { ...certificate, digest: digestOf(certificate) };
}

/** Several flows may open the same, and rows of one name each a part of it. */
function distinct(edges: readonly Edge[]): readonly Edge[] {
  const byWay = Map.groupBy(edges, ({ from, to, kind, where, object }) =>
    canonicalJson({ from, to, kind, where, object }),
  );
  return [...byWay.values()].flatMap(([first, ...more]) => {
    if (first === undefined) return [];
    const all = [first, ...more].flatMap(({ passes = [] }) => passes);
    const passes = [...new Map(all.map((one) => [canonicalJson(one), one])).values()];
    return passes.length === 0 ? [first] : [{ ...first, passes }];
  });
}

/** Parts of one owner each, by following ways within them. */
function partsOf({ corners, ways }: Certificate['evidence']): number {
  const owners = new Map(corners.map(({ id, of }) => [id, of]));
  const next = new Map<string, string[]>();
  for (const { between } of ways) {
    const [a, b] = between;
    const owner = owners.get(a);
    if (owner === null || owner !== owners.get(b)) continue;
    next.set(a, [...(next.get(a) ?? []), b]);
    next.set(b, [...(next.get(b) ?? []), a]);
  }
  const seen = new Set<string>();
  let parts = 0;
  for (const { id } of corners) {
    if (seen.has(id)) continue;
    parts += 1;
    const open = [id];
    for (let at = open.pop(); at !== undefined; at = open.pop()) {
      if (seen.has(at)) continue;
      seen.add(at);
      open.push(...(next.get(at) ?? []));
    }
  }
  return parts;
}

/** Services and pods that edges name, with the networks that they are on; connections with those that have no link to their routers, too. */
function usersOf(edges: readonly Edge[], { intent, services }: Proof): readonly CertifiedOwner[] {
  const named = new Set(edges.map(({ object }) => object));
  const users = new Map<string, Set<string>>();
  const add = (object: string, networks: Iterable<string>): void => {
    if (!named.has(object)) return;
    users.set(object, new Set([...(users.get(object) ?? []), ...networks]));
  };
  for (const { key, networks } of services.byKey.values()) add(`Service ${key}`, networks);
  for (const { object, networks } of services.hostPorts.values()) add(object, networks);
  for (const { object, networks, bridged } of intent.connections)
    if (bridged.size > 0) add(object, [...networks, ...bridged]);
  for (const { pod, network } of intent.ports.values()) add(`Pod ${pod}`, [network]);
  return [...users].map(([object, networks]) => ({ object, networks: [...networks] }));
}

function versionsOf({ northbound, openVswitch }: Snapshot): Record<string, string> {
  const [global] = rowsOf(northbound, 'NB_Global');
  const ovn =
    global === undefined ? undefined : member(global, 'options', 'northd_internal_version');
  const [root] = rowsOf(openVswitch ?? new Map(), 'Open_vSwitch');
  const release = root === undefined ? '' : text(root, 'ovs_version');
  return {
    ...(ovn === undefined ? {} : { ovn }),
    ...(release === '' ? {} : { openVswitch: release }),
  };
}

function generationsOf(snapshot: Snapshot): readonly DatabaseGeneration[] {
  const { northbound, southbound, openVswitch, databases = {} } = snapshot;
  return Object.entries({
    OVN_Northbound: northbound,
    OVN_Southbound: southbound,
    Open_vSwitch: openVswitch,
  }).flatMap(([name, tables]) =>
    tables === undefined ? [] : [generationOf(name, tables, databases[name])],
  );
}

function generationOf(
  name: string,
  tables: Tables,
  state: DatabaseState | undefined,
): DatabaseGeneration {
  const [global = {}] = GLOBALS.flatMap((table) => rowsOf(tables, table));
  const sequences = SEQUENCES.filter((column) => text(global, column) !== '').map(
    (column): [string, number] => [column, Number(text(global, column))],
  );
  return {
    name,
    schema: state?.schema ?? '',
    ...(state?.generation === undefined ? {} : { generation: state.generation }),
    ...(state?.cluster === undefined ? {} : { cluster: state.cluster }),
    ...(state?.index === undefined ? {} : { index: state.index }),
    sequences: Object.fromEntries(sequences),
    rows: rowsDigest(tables),
  };
}

/** The same whatever order a server sends rows in. */
function rowsDigest(tables: Tables): string {
  const hash = createHash('sha256');
  for (const [table, rows] of [...tables].toSorted(([a], [b]) => (a < b ? -1 : 1))) {
    hash.update(`${table}\n`);
    for (const row of rows.toSorted((a, b) => (uuidOf(a) < uuidOf(b) ? -1 : 1)))
      hash.update(`${canonicalJson(row)}\n`);
  }
  return hash.digest('hex');
}
