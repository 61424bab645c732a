import { readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { CONFIRMATION_COLUMNS } from '../../../src/zone/confirmation.ts';
import { northboundTables, southboundTables } from '../../../src/zone/monitored-columns.ts';
import { claimsOf } from '../../../src/desired/engine.ts';
import { RowReference, type DesiredRow, type FoundRow } from '../../../src/desired/rows.ts';
import { parseSchema, type JsonValue, type Selection } from 'ovsdb-client-ts';
import { isCompared } from '../../../src/desired/ovsdb/selection.ts';
import { zoneFeatures } from '../../../src/topology/features.ts';
import { foundRow, readBackRow } from '../../support/ovsdb/found-rows.ts';
import {
  bluePod,
  bluePodDefault,
  dualZone,
  exampleZone,
  inLocalMode,
  factsOf,
  ipv6Zone,
  type Zone,
} from '../../support/zone/zones.ts';
import { engineOver } from '../../support/zone/zone-engine.ts';

/** What the daemon follows is what it writes and reads. */

const schemaOf = (name: string) =>
  parseSchema(JSON.parse(readFileSync(`schemas/ovn-${name}.ovsschema`, 'utf8')) as JsonValue);

const busy = (zone: Zone): Zone => ({
  ...zone,
  settings: {
    ...zone.settings,
    features: {
      egressIp: true,
      egressFirewall: true,
      egressService: true,
      externalRoutes: true,
      multicast: true,
    },
  },
  attachments: [bluePod, { ...bluePodDefault, openDefaultPorts: [{ protocol: 'icmp' }] }],
});

const followed = {
  OVN_Northbound: northboundTables(schemaOf('nb')),
  OVN_Southbound: southboundTables(schemaOf('sb')),
};

const isFollowed = (selection: Selection, table: string, column: string): boolean => {
  const chosen = selection[table];
  return chosen !== undefined && chosen !== true && chosen.columns?.includes(column) === true;
};

/** Every row that the features want of a zone. */
function rowsOf(zone: Zone): readonly DesiredRow[] {
  const rows: DesiredRow[] = [];
  const engine = engineOver(factsOf(zone));
  engine.connect(
    ['OVN_Northbound', 'OVN_Southbound'].map((database) => ({
      database,
      set: (_owner, wanted) => rows.push(...wanted),
      has: () => false,
    })),
  );
  engine.build();
  expect([...engine.notable()]).toEqual([]);
  return rows;
}

/** The row, and the columns that were read of it. */
function watched(row: FoundRow): { readonly row: FoundRow; readonly read: Set<string> } {
  const read = new Set<string>();
  return {
    read,
    row: {
      uuid: row.uuid,
      column(name) {
        read.add(name);
        return row.column(name);
      },
    },
  };
}

describe('what is followed', () => {
  test.each([
    ['IPv4', busy(exampleZone)],
    ['IPv4, local gateway mode', busy(inLocalMode(exampleZone))],
    ['both families', busy(dualZone)],
    ['IPv6', busy(ipv6Zone)],
  ])('%s: is all that rows are given, and all that is read to know them', (_name, zone) => {
    const missing = new Set<string>();
    const need = (database: keyof typeof followed, table: string, columns: Iterable<string>) => {
      for (const column of columns)
        if (!isFollowed(followed[database], table, column)) missing.add(`${table} ${column}`);
    };
    for (const wanted of rowsOf(zone)) {
      const database = wanted.database as keyof typeof followed;
      const claim = claimsOf(zoneFeatures, database).get(wanted.table);
      if (claim === undefined) throw new Error(`nobody claims ${wanted.table}`);
      // What a new row begins with in columns of others is not looked at again.
      const ours = Object.keys(wanted.columns).filter((name) => isCompared(claim, name));
      need(database, wanted.table, ours);
      for (const { table, column } of wanted.containers) need(database, table, [column]);
      const { external_ids: _, ...unmarked } = wanted.columns;
      const containers = wanted.containers.map(({ table, key }) => new RowReference(table, key));
      // As it is, and as it looks when somebody took its marks away.
      for (const found of [readBackRow(wanted), foundRow(unmarked)]) {
        for (const container of [undefined, ...containers]) {
          const { row, read } = watched(found);
          claim.keyOf(row, container);
          claim.markedBy?.(row, container);
          need(database, wanted.table, read);
        }
      }
    }
    expect([...missing]).toEqual([]);
  });

  test('is what confirms a change', () => {
    for (const column of CONFIRMATION_COLUMNS)
      expect(isFollowed(followed.OVN_Northbound, 'NB_Global', column)).toBe(true);
  });

  test('is nothing that others write all the time, and no table of others', () => {
    for (const [table, column] of [
      ['Logical_Switch_Port', 'up'],
      ['Logical_Switch_Port', 'dynamic_addresses'],
      ['Logical_Router_Port', 'status'],
      ['NB_Global', 'nb_cfg_timestamp'],
      ['Load_Balancer_Health_Check', 'vip'],
      ['DNS', 'records'],
    ] as const)
      expect(isFollowed(followed.OVN_Northbound, table, column), `${table} ${column}`).toBe(false);
    expect(isFollowed(followed.OVN_Southbound, 'Chassis', 'nb_cfg')).toBe(false);
    expect(Object.keys(followed.OVN_Southbound)).toEqual(['Chassis', 'Encap']);
  });
});
