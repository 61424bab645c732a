/** What of the local Open_vSwitch database concerns the chassis: its settings, and its tunnels. */
import type { ChassisChange, ExternalIds } from './plan.ts';
import { MARK } from './settings.ts';
import type { TunnelPort } from './tunnels.ts';
import type { OpenVswitchIds } from '../announcer/node-announcer.ts';
import {
  OutcomeError,
  type JsonValue,
  type Operation,
  type ReplicaChanges,
  type ReplicaRow,
  type ReplicaView,
} from 'ovsdb-client-ts';
import { textOf } from '../openflow/bridge-ports.ts';
import type { ZoneDatabase } from '../../databases/zone-database.ts';

const OPEN_VSWITCH = 'Open_vSwitch';
const TUNNEL = 'geneve';

/** Columns of interfaces that say what became of a tunnel. */
export const TUNNEL_COLUMNS = ['options', 'status', 'error'] as const;

/** The server refused, or did not answer. */
class ChassisError extends Error {
  readonly code = 'CHASSIS_REFUSED';
}

const map = (entries: Iterable<readonly [string, string]>): JsonValue => [
  'map',
  [...entries].map(([key, value]): JsonValue => [key, value]),
];

/** One transaction, refused when somebody was quicker. */
function operationsOf(found: ExternalIds, changes: readonly ChassisChange[]): readonly Operation[] {
  const keys = changes.flatMap(({ key }) => [key, `${MARK}${key}`]);
  const values = changes.flatMap(({ key, value, isOurs }): (readonly [string, string])[] =>
    value === undefined
      ? []
      : [[key, value], ...(isOurs ? ([[`${MARK}${key}`, value]] as const) : [])],
  );
  return [
    {
      op: 'wait',
      table: OPEN_VSWITCH,
      where: [],
      columns: ['external_ids'],
      until: '==',
      rows: [{ external_ids: map(found) }],
      timeout: 0,
    },
    {
      op: 'mutate',
      table: OPEN_VSWITCH,
      where: [],
      mutations: [
        ['external_ids', 'delete', ['set', keys]],
        ['external_ids', 'insert', map(values)],
      ],
    },
    { op: 'comment', comment: 'heddle: settings of ovn-controller' },
  ];
}

/** `external_ids` of the local Open_vSwitch database. */
export const chassisDatabase = (
  { transactor, lock }: ZoneDatabase,
  read: () => OpenVswitchIds,
) => ({
  read,
  /** All at once, if they are still `found`. Throws when the server refuses, or does not answer. */
  async apply(found: ExternalIds, changes: readonly ChassisChange[]): Promise<void> {
    if (changes.length === 0) return;
    const outcome = await transactor.transact(
      operationsOf(found, changes),
      lock === undefined ? {} : { lock },
    );
    if (outcome.kind !== 'success' && outcome.kind !== 'unchanged')
      throw new ChassisError(`Open_vSwitch: ${new OutcomeError(outcome).message}`);
  },
});

export type ChassisDatabase = ReturnType<typeof chassisDatabase>;

const entriesOf = (row: ReplicaRow, column: string): ReadonlyMap<string, string> => {
  const value = row.column(column);
  return value instanceof Map ? (value as ReadonlyMap<string, string>) : new Map();
};

function tunnelOf(row: ReplicaRow): TunnelPort | undefined {
  const remote = entriesOf(row, 'options').get('remote_ip');
  if (remote === undefined) return undefined;
  const status = entriesOf(row, 'status');
  const number = Number(row.column('ofport') ?? 0);
  const error = textOf(row, 'error');
  return {
    remote,
    failure: number > 0 ? undefined : error === '' ? 'it has no number yet' : error,
    egress: status.get('tunnel_egress_iface'),
    hasCarrier: status.get('tunnel_egress_iface_carrier') !== 'down',
  };
}

/** Whether a tunnel came, went or changed. */
export const areTunnelsChanged = (replica: ReplicaView, { tables }: ReplicaChanges): boolean =>
  (tables.get('Interface')?.rows ?? []).some(
    ({ uuid, old }) =>
      old.get('type') === TUNNEL || replica.row('Interface', uuid)?.holds('type', TUNNEL) === true,
  );

/** Tunnels by the address of their other end. */
export const tunnelsIn = (replica: ReplicaView): ReadonlyMap<string, TunnelPort> =>
  new Map(
    replica.find('Interface', ['type'], [TUNNEL]).flatMap((row) => {
      const tunnel = tunnelOf(row);
      return tunnel === undefined ? [] : [[tunnel.remote, tunnel]];
    }),
  );
