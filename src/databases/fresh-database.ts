/** A database as it is before anybody wrote into it: what a plan for it holds is all that is wanted. */
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { parseSchema, Replica, type JsonValue } from 'ovsdb-client-ts';
import type { Plan } from '../desired/ovsdb/changes.ts';
import { creationCommands } from './creation-commands.ts';
import type { ZoneDatabaseOptions, OpenDatabase } from './open-database.ts';

const SCHEMAS = {
  OVN_Northbound: 'ovn-nb.ovsschema',
  OVN_Southbound: 'ovn-sb.ovsschema',
} as const;

const GLOBAL_ROW = '00000000-0000-4000-8000-000000000001';

/** Rows that every database has from its beginning, by UUID, as `ovn-nbctl` and `ovn-sbctl` find them. */
const FRESH_RECORDS: ReadonlyMap<string, string> = new Map([[GLOBAL_ROW, '.']]);

const PROGRAMS: Readonly<Record<string, string>> = {
  OVN_Northbound: 'ovn-nbctl',
  OVN_Southbound: 'ovn-sbctl',
};

const FRESH_ROWS: Readonly<Record<ZoneDatabaseOptions['name'], JsonValue>> = {
  OVN_Northbound: { NB_Global: { [GLOBAL_ROW]: { initial: {} } } },
  OVN_Southbound: {},
};

/** A fresh database of the schema that Heddle was made for. Nothing can be written into it. */
export function freshDatabase({ name }: Pick<ZoneDatabaseOptions, 'name'>): OpenDatabase {
  const path = fileURLToPath(new URL(`../../schemas/${SCHEMAS[name]}`, import.meta.url));
  const replica = new Replica(parseSchema(JSON.parse(readFileSync(path, 'utf8')) as JsonValue));
  replica.apply(FRESH_ROWS[name], 'update2', 'contents');
  return {
    replica,
    transactor: {
      transact: () => {
        throw new Error(`${name}: a fresh database is only planned for`);
      },
    },
    unavailable: () => `${name} is only planned for`,
    isHeldByOther: () => false,
    status: () => undefined,
    ready: () => Promise.resolve(),
    [Symbol.asyncDispose]: () => Promise.resolve(),
  };
}

/** Plans for fresh databases as a shell script. */
export const scriptOf = (plans: readonly Plan[]): string =>
  [
    '#!/bin/sh',
    'set -e',
    ...plans.flatMap((plan) =>
      creationCommands(plan, PROGRAMS[plan.database] ?? plan.database, FRESH_RECORDS),
    ),
  ].join('\n');
