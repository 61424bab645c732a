import type { OvsdbClient, Operation } from 'ovsdb-client-ts';

/** A Northbound database with very many ports. */

export const ROWS = 60_000;
const BATCH = 10_000;
export const TABLE = 'Logical_Switch_Port';

/** Ports hang on one switch: rows that nothing refers to would be removed at once. */
const batch = (from: number): readonly Operation[] => [
  ...Array.from({ length: BATCH }, (_, n): Operation => ({
    op: 'insert',
    table: TABLE,
    row: { name: `port-${from + n}`, addresses: `0a:58:00:00:00:01 10.0.0.${n & 255}` },
    'uuid-name': `p${n}`,
  })),
  {
    op: 'insert',
    table: 'Logical_Switch',
    row: {
      name: `switch-${from}`,
      ports: ['set', Array.from({ length: BATCH }, (_, n) => ['named-uuid', `p${n}`])],
    },
  },
];

/** Inserts them. */
export async function insertPorts(writer: OvsdbClient): Promise<void> {
  for (let from = 0; from < ROWS; from += BATCH) {
    const outcome = await writer.transact(batch(from));
    if (outcome.kind !== 'success') throw new Error(JSON.stringify(outcome));
  }
}
