import { parseSchema, type DatabaseSchema } from '../data/schema.ts';
import type { ReplicaRow } from '../replica/replica-view.ts';
import type { Integer, Uuid } from '../data/value.ts';

/** The server's own database, `_Server`: which databases it has and in what state (ovsdb-server(5)). */
export const SERVER_SCHEMA: DatabaseSchema = parseSchema({
  name: '_Server',
  version: '1.2.0',
  tables: {
    Database: {
      columns: {
        name: { type: 'string' },
        model: {
          type: { key: { type: 'string', enum: ['set', ['standalone', 'clustered', 'relay']] } },
        },
        connected: { type: 'boolean' },
        leader: { type: 'boolean' },
        schema: { type: { key: 'string', min: 0, max: 1 } },
        cid: { type: { key: 'uuid', min: 0, max: 1 } },
        sid: { type: { key: 'uuid', min: 0, max: 1 } },
        index: { type: { key: 'integer', min: 0, max: 1 } },
      },
    },
  },
});

/** One database as its server describes it. */
export interface DatabaseStatus {
  /** Another UUID for the same name: the database was removed and added, or converted. */
  readonly generation: Uuid;
  readonly name: string;
  readonly model: string;
  readonly connected: boolean;
  readonly leader: boolean;
  readonly schema: string | undefined;
  readonly cluster: Uuid | undefined;
  readonly server: Uuid | undefined;
  /** Raft index: how far this server's copy has come. */
  readonly index: Integer | undefined;
}

function databaseStatus(row: ReplicaRow): DatabaseStatus {
  return {
    generation: row.uuid,
    name: row.column('name') as string,
    model: row.column('model') as string,
    connected: row.column('connected') === true,
    leader: row.column('leader') === true,
    schema: row.column('schema') as string | undefined,
    cluster: row.column('cid') as Uuid | undefined,
    server: row.column('sid') as Uuid | undefined,
    index: row.column('index') as Integer | undefined,
  };
}

/** What is asked of a server. */
export interface ServerRequirements {
  readonly database: string;
  readonly leaderOnly: boolean;
  /** The cluster that it must belong to. */
  readonly cluster: Uuid | undefined;
  /** The highest index ever seen: a server behind it has old data. */
  readonly minIndex: Integer;
}

export type Verdict =
  | { readonly kind: 'use'; readonly status: DatabaseStatus }
  /** Not now: another server may do; if there is none, this one may change. */
  | { readonly kind: 'leave'; readonly reason: string };

function objection(status: DatabaseStatus, wanted: ServerRequirements): string | undefined {
  const { database } = wanted;
  if (status.schema === undefined)
    return `${database} has no schema yet: the server has not joined its cluster`;
  if (
    wanted.cluster !== undefined &&
    status.model === 'clustered' &&
    status.cluster !== wanted.cluster
  ) {
    return `${database} belongs to cluster ${status.cluster}, not to ${wanted.cluster}`;
  }
  if (status.model === 'clustered' || status.model === 'relay') {
    if (!status.connected)
      return `the server is disconnected from its cluster (database ${database})`;
  }
  if (status.model === 'relay' && wanted.leaderOnly)
    return `the server is a relay, but only a leader is wanted`;
  if (status.model === 'clustered') {
    if (wanted.leaderOnly && !status.leader) return `the server is not the leader of ${database}`;
    if (status.index !== undefined && BigInt(status.index) < BigInt(wanted.minIndex)) {
      return `the server's data of ${database} is stale (index ${status.index}, seen was ${wanted.minIndex})`;
    }
  }
  return undefined;
}

/** Whether the server may be used for what is wanted. */
export function judge(databases: Iterable<ReplicaRow>, wanted: ServerRequirements): Verdict {
  const all = [...databases].map(databaseStatus);
  const named = all.filter((status) => status.name === wanted.database);
  const status =
    wanted.cluster === undefined
      ? named[0]
      : (named.find((candidate) => candidate.cluster === wanted.cluster) ?? named[0]);
  if (status === undefined) {
    return {
      kind: 'leave',
      reason: `the server has no database ${wanted.database} (it has ${all.map((s) => s.name).join(', ')})`,
    };
  }
  const reason = objection(status, wanted);
  if (reason !== undefined) return { kind: 'leave', reason };
  return { kind: 'use', status };
}
