/**
 * What of Northbound and of objects is another than a kept proof has it. Only what changed is remembered, not its values: these are read of the replica
 * and the informers when the proof takes them.
 */
import {
  datumToJson,
  type ColumnType,
  type DatabaseSchema,
  type ReplicaRow,
  type ReplicaView,
} from 'ovsdb-client-ts';
import {
  adminNetworkPolicies,
  baselineAdminNetworkPolicies,
  clusterNetworkConnects,
  clusterNetworkPolicies,
  egressFirewalls,
  egressIPs,
  endpointSlices,
  multiNetworkPolicies,
  namespaces,
  networkAttachmentDefinitions,
  networkPolicies,
  nodes,
  services,
} from '../api/kinds.ts';
import type { KubeObject, ResourceKind } from '../api/objects.ts';
import type { ObjectView } from '../store/informer.ts';
import type { Informers } from '../store/informers.ts';
import type { Changes } from '../verify/kept/kept-proof.ts';
import { READ_OF_OLD_ROWS } from '../verify/kept/kept-rows.ts';
import { NORTHBOUND_COLUMNS } from '../verify/read/databases.ts';
import type { Row } from '../verify/rows.ts';
import type { Objects, Policies } from '../verify/snapshot.ts';

/** Objects of one kind, with word of each that changes from now on. */
type FollowedObjects<T extends KubeObject> = Pick<ObjectView<T>, 'get' | 'keys'> & {
  onChange(handler: (change: { readonly key: string }) => void, from: 'now'): () => void;
};

/** What a daemon follows of the objects that a proof knows: cluster-wide networks and tenants' own ones it has as NADs. */
export type ProofObjects = {
  readonly [K in Exclude<keyof Objects, 'clusterNetworks' | 'networks'>]: FollowedObjects<
    Objects[K][number]
  >;
};

/** Policies of one kind. */
interface FollowedPolicies {
  readonly part: keyof Policies;
  readonly kind: string;
  readonly view: FollowedObjects<KubeObject>;
}

/** Objects that the daemon follows anyway; `ofPods`: pods as its zone has them. */
export const proofObjects = (informers: Informers, ofPods: ProofObjects['pods']): ProofObjects => ({
  attachmentDefinitions: informers.of(networkAttachmentDefinitions),
  connects: informers.of(clusterNetworkConnects),
  namespaces: informers.of(namespaces),
  nodes: informers.of(nodes),
  services: informers.of(services),
  slices: informers.of(endpointSlices),
  egressIps: informers.of(egressIPs),
  pods: ofPods,
});

/** Policies and firewalls that the daemon follows anyway. */
export function proofPolicies(informers: Informers): readonly FollowedPolicies[] {
  const of = <T extends KubeObject>(
    part: keyof Policies,
    ...kinds: readonly ResourceKind<T>[]
  ): readonly FollowedPolicies[] =>
    kinds.map((kind) => ({ part, kind: kind.kind, view: informers.of(kind) }));
  return [
    ...of('namespaced', networkPolicies),
    ...of('namespaced', multiNetworkPolicies),
    ...of('admins', adminNetworkPolicies),
    ...of('admins', baselineAdminNetworkPolicies),
    ...of('admins', clusterNetworkPolicies),
    ...of('firewalls', egressFirewalls),
  ];
}

/** Objects of one kind, as part of a change. */
interface Source {
  readonly view: FollowedObjects<KubeObject>;
  readonly put: (to: TakenObjects, key: string, object: KubeObject | undefined) => void;
}

interface TakenObjects {
  readonly objects: Record<string, Map<string, KubeObject | undefined>>;
  readonly policies: Record<string, Map<string, KubeObject | undefined>>;
}

const putIn = (
  to: Record<string, Map<string, KubeObject | undefined>>,
  kind: string,
  key: string,
  object: KubeObject | undefined,
): void => {
  (to[kind] ??= new Map()).set(key, object);
};

const sourcesOf = (
  objects: ProofObjects,
  policies: readonly FollowedPolicies[],
): readonly Source[] => [
  ...Object.entries(objects).map(([kind, view]: [string, FollowedObjects<KubeObject>]): Source => ({
    view,
    put: (to, key, object) => putIn(to.objects, kind, key, object),
  })),
  // Those of two kinds may have one name.
  ...policies.map(({ part, kind, view }): Source => ({
    view,
    put: (to, key, object) => putIn(to.policies, part, `${kind} ${key}`, object),
  })),
];

/** A change of a network, a node … has all of them read again, so that what comes together is taken together; but at the start not all of it. */
const OBJECTS_AT_ONCE = 25;
const ROWS_AT_ONCE = 25;

/** Ports come before the switches and routers that list them, which would be made again for each. */
const TABLES: readonly string[] = Object.keys(NORTHBOUND_COLUMNS).toSorted(
  (a, b) => Number(b.endsWith('_Port')) - Number(a.endsWith('_Port')),
);

export interface ProofChangesOptions {
  readonly replica: ReplicaView;
  readonly objects: ProofObjects;
  readonly policies: readonly FollowedPolicies[];
  /** Called after each change. */
  readonly onChange: () => void;
}

export class ProofChanges {
  readonly #replica: ReplicaView;
  readonly #sources: readonly Source[];
  readonly #rows = new Map<string, Set<string>>();
  readonly #objects = new Map<Source, Set<string>>();
  #schema: DatabaseSchema | undefined;
  readonly #types = new Map<string, ReadonlyMap<string, ColumnType>>();

  constructor({ replica, objects, policies, onChange }: ProofChangesOptions) {
    this.#replica = replica;
    this.#sources = sourcesOf(objects, policies);
    replica.subscribe(
      ({ tables }) => {
        for (const { table, rows } of tables.values())
          for (const { uuid } of rows) note(this.#rows, table, uuid);
        onChange();
      },
      { tables: TABLES },
    );
    for (const source of this.#sources)
      source.view.onChange(({ key }) => {
        note(this.#objects, source, key);
        onChange();
      }, 'now');
  }

  /** Everything that is there counts as changed: for a proof that has nothing yet. */
  all(): void {
    this.#rows.clear();
    this.#objects.clear();
    for (const source of this.#sources)
      for (const key of source.view.keys()) note(this.#objects, source, key);
    for (const table of TABLES)
      if (this.#replica.hasTable(table))
        for (const { uuid } of this.#replica.rows(table)) note(this.#rows, table, uuid);
  }

  /** The next of what changed, as much as is done at once; undefined when that was all. Objects come first, as rows are judged by them. */
  take(): Changes | undefined {
    const found: TakenObjects = { objects: {}, policies: {} };
    let left = OBJECTS_AT_ONCE;
    for (const [source, keys] of this.#objects) {
      if (left === 0) break;
      const taken = some(keys, left);
      left -= taken.length;
      if (keys.size === 0) this.#objects.delete(source);
      for (const key of taken) source.put(found, key, source.view.get(key));
    }
    if (left < OBJECTS_AT_ONCE) return found;
    const table = TABLES.find((one) => this.#rows.has(one));
    const uuids = table === undefined ? undefined : this.#rows.get(table);
    if (table === undefined || uuids === undefined) return undefined;
    const taken = some(uuids, ROWS_AT_ONCE);
    if (uuids.size === 0) this.#rows.delete(table);
    const changed = new Map(taken.map((uuid) => [uuid, this.#row(table, uuid)]));
    return { rows: new Map([[table, changed]]) };
  }

  #row(table: string, uuid: string): Row | undefined {
    const found = this.#replica.hasTable(table) ? this.#replica.row(table, uuid) : undefined;
    if (found === undefined) return undefined;
    const followed = new FollowedRow(found, this.#typesOf(table));
    const own: Record<string, unknown> = { _uuid: ['uuid', uuid] };
    for (const column of READ_OF_OLD_ROWS[table] ?? []) own[column] = followed.wire(column);
    return new Proxy(own, followed);
  }

  /** Columns that are read and that this server has. */
  #typesOf(table: string): ReadonlyMap<string, ColumnType> {
    const { schema } = this.#replica;
    if (this.#schema !== schema) this.#types.clear();
    this.#schema = schema;
    const known = this.#types.get(table);
    if (known !== undefined) return known;
    const types = new Map<string, ColumnType>();
    for (const column of NORTHBOUND_COLUMNS[table] ?? []) {
      const type = schema.tables.get(table)?.columns.get(column)?.type;
      if (type !== undefined && this.#replica.hasColumn(table, column)) types.set(column, type);
    }
    this.#types.set(table, types);
    return types;
  }
}

/** A row as `select` would give it, without what is empty. Most columns are read where they are: a copy of all rows would take more memory than the proof. */
class FollowedRow implements ProxyHandler<Record<string, unknown>> {
  readonly #row: ReplicaRow;
  readonly #types: ReadonlyMap<string, ColumnType>;

  constructor(row: ReplicaRow, types: ReadonlyMap<string, ColumnType>) {
    this.#row = row;
    this.#types = types;
  }

  /** Of the row as it is, but for columns that it has of its own. */
  get(own: Record<string, unknown>, column: string): unknown {
    return Object.hasOwn(own, column) ? own[column] : this.wire(column);
  }

  wire(column: string): unknown {
    const type = this.#types.get(column);
    return type === undefined || !this.#row.exists || this.#row.memberCount(column) === 0
      ? undefined
      : datumToJson(type, this.#row.column(column));
  }
}

function note<K>(changed: Map<K, Set<string>>, of: K, key: string): void {
  const keys = changed.get(of);
  if (keys === undefined) changed.set(of, new Set([key]));
  else keys.add(key);
}

/** Takes as many out of a set. */
function some(keys: Set<string>, most: number): readonly string[] {
  const taken: string[] = [];
  for (const key of keys) {
    if (taken.length >= most) break;
    keys.delete(key);
    taken.push(key);
  }
  return taken;
}
