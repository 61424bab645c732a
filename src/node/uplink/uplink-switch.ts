/** The external bridge and its uplink in the local Open_vSwitch database. */
import {
  GATEWAY_NETWORK,
  mappingsOf,
  type SwitchBridge,
  type SwitchChange,
  type SwitchState,
} from './state.ts';
import {
  OutcomeError,
  type Clause,
  type JsonValue,
  type Mutation,
  type Operation,
  type ReplicaView,
} from 'ovsdb-client-ts';
import {
  bridgePorts,
  changedBridges,
  hostVlanOf,
  idOf,
  members,
  PORT_COLUMNS,
  textOf,
  UPLINK_ID,
} from '../openflow/bridge-ports.ts';
import type { ZoneDatabase } from '../../databases/zone-database.ts';

const OPEN_VSWITCH = 'Open_vSwitch';
const MAPPINGS = 'ovn-bridge-mappings';
const DATAPATH_TYPE = 'ovn-bridge-datapath-type';
/** In `external_ids` of a bridge: Heddle made it of its uplink; Heddle told OVN of it. */
const MADE_ID = 'heddle-gateway';
const MAPPED_ID = 'heddle-gateway-mapping';
/** There too: the VLAN that Heddle put the host's port in. */
const VLAN_ID = 'heddle-gateway-vlan';
const YES = 'true';

/** The server refused, or did not answer. */
class SwitchError extends Error {
  readonly code = 'SWITCH_REFUSED';
}

/** What of the local Open_vSwitch database concerns bridges and uplinks. */
export const uplinkSwitch = (database: ZoneDatabase) => ({
  /** Why it can't be changed now, or undefined. */
  unavailable: database.unavailable,
  read: () => readSwitch(database.replica),
  /** Throws when the server refuses, or does not answer. */
  apply: (change: SwitchChange) => apply(database, change),
  follow: (listener: () => void) =>
    database.replica.subscribe(
      (changes) => {
        const isOfBridges = changedBridges(database.replica, changes).size > 0;
        if (isOfBridges || changes.tables.has(OPEN_VSWITCH)) listener();
      },
      { tables: [...Object.keys(PORT_COLUMNS), OPEN_VSWITCH] },
    ),
});

export type UplinkSwitch = ReturnType<typeof uplinkSwitch>;

function readSwitch(replica: ReplicaView): SwitchState {
  const numbers = bridgePorts(() => replica).read();
  const bridges = new Map<string, SwitchBridge>();
  for (const row of replica.rows('Bridge')) {
    const name = textOf(row, 'name');
    const ports = new Set(
      members(replica, row, 'ports', 'Port').map((port) => textOf(port, 'name')),
    );
    const uplink = idOf(row, UPLINK_ID);
    bridges.set(name, {
      ports,
      uplink,
      isOurs: idOf(row, MADE_ID) === YES,
      isMappedByUs: idOf(row, MAPPED_ID) === YES,
      hasUplink: uplink !== undefined && numbers.get(name)?.has(uplink) === true,
      hostVlan: hostVlanOf(replica, row),
      hostVlanByUs: Number(idOf(row, VLAN_ID)) || undefined,
    });
  }
  const [settings] = replica.rows(OPEN_VSWITCH);
  return {
    bridges,
    mappings: settings === undefined ? '' : (idOf(settings, MAPPINGS) ?? ''),
    datapathType: settings === undefined ? undefined : idOf(settings, DATAPATH_TYPE),
  };
}

const map = (entries: Readonly<Record<string, string>>): JsonValue => [
  'map',
  Object.entries(entries),
];
const named = (name: string): readonly Clause[] => [['name', '==', name]];

/** Operations of one transaction. What is gone already is no error. */
function operationsOf(replica: ReplicaView, change: SwitchChange): readonly Operation[] {
  const uuidOf = (table: string, name: string): string | undefined =>
    replica.find(table, ['name'], [name])[0]?.uuid;
  switch (change.kind) {
    case 'add-bridge':
      return addBridge(change);
    case 'remove-bridge': {
      const uuid = uuidOf('Bridge', change.bridge);
      return uuid === undefined ? [] : [mutate(OPEN_VSWITCH, [], 'bridges', 'delete', uuid)];
    }
    case 'add-uplink':
      return addUplink(change);
    case 'remove-uplink': {
      const uuid = uuidOf('Port', change.uplink);
      return uuid === undefined
        ? []
        : [mutate('Bridge', named(change.bridge), 'ports', 'delete', uuid)];
    }
    case 'host-vlan':
      return hostVlanOperations(change);
    case 'map':
    case 'unmap':
      return mappingOperations(readSwitch(replica).mappings, change);
  }
}

const mutate = (
  table: string,
  where: readonly Clause[],
  column: string,
  mutator: 'insert' | 'delete',
  uuid: string,
): Operation => ({
  op: 'mutate',
  table,
  where,
  mutations: [[column, mutator, ['uuid', uuid]]],
});

/** The host's port in a VLAN: frames without a tag are of it, others have theirs (ovs-vswitchd.conf.db(5), Port). */
const hostPort = (vlan: number): Readonly<Record<string, JsonValue>> =>
  vlan === 0
    ? { tag: ['set', []], vlan_mode: ['set', []] }
    : { tag: vlan, vlan_mode: 'native-untagged' };

const hostVlanOperations = ({
  bridge,
  vlan,
}: SwitchChange & { kind: 'host-vlan' }): readonly Operation[] => [
  { op: 'update', table: 'Port', where: named(bridge), row: hostPort(vlan) },
  {
    op: 'mutate',
    table: 'Bridge',
    where: named(bridge),
    mutations: replaced(VLAN_ID, vlan === 0 ? undefined : String(vlan)),
  },
];

function portOperations(
  name: string,
  type: string,
  more: Readonly<Record<string, JsonValue>>,
): readonly [Operation, Operation] {
  return [
    {
      op: 'insert',
      table: 'Interface',
      'uuid-name': 'interface',
      row: { name, type },
    },
    {
      op: 'insert',
      table: 'Port',
      'uuid-name': 'port',
      row: {
        name,
        interfaces: ['named-uuid', 'interface'],
        ...more,
      },
    },
  ];
}

const addBridge = ({
  bridge,
  uplink,
  mac,
  vlan,
  datapathType,
}: SwitchChange & { kind: 'add-bridge' }): readonly Operation[] => [
  ...portOperations(bridge, 'internal', hostPort(vlan)),
  {
    op: 'insert',
    table: 'Bridge',
    'uuid-name': 'bridge',
    row: {
      name: bridge,
      ports: ['named-uuid', 'port'],
      fail_mode: 'standalone',
      other_config: map({ hwaddr: mac }),
      external_ids: map({
        'bridge-id': bridge,
        [UPLINK_ID]: uplink,
        [MADE_ID]: YES,
        ...(vlan === 0 ? {} : { [VLAN_ID]: String(vlan) }),
      }),
      ...(datapathType === undefined ? {} : { datapath_type: datapathType }),
    },
  },
  {
    op: 'mutate',
    table: OPEN_VSWITCH,
    where: [],
    mutations: [['bridges', 'insert', ['named-uuid', 'bridge']]],
  },
];

const addUplink = ({
  bridge,
  uplink,
}: SwitchChange & { kind: 'add-uplink' | 'remove-uplink' }): readonly Operation[] => [
  // When the machine starts anew its addresses are on the uplink again.
  ...portOperations(uplink, '', { other_config: map({ transient: YES }) }),
  {
    op: 'mutate',
    table: 'Bridge',
    where: named(bridge),
    mutations: [['ports', 'insert', ['named-uuid', 'port']]],
  },
];

/** Of `external_ids`, with this value or without the key. */
const replaced = (key: string, value: string | undefined): readonly Mutation[] => [
  ['external_ids', 'delete', ['set', [key]]],
  ...(value === undefined ? [] : [['external_ids', 'insert', map({ [key]: value })] as const]),
];

/** Pairs of other networks stay. */
function mappingOperations(
  text: string,
  { kind, bridge }: { readonly kind: 'map' | 'unmap'; readonly bridge: string },
): readonly Operation[] {
  const others = mappingsOf(text)
    .filter(([network]) => network !== GATEWAY_NETWORK)
    .map((pair) => pair.join(':'));
  const pairs = kind === 'map' ? [...others, `${GATEWAY_NETWORK}:${bridge}`] : others;
  return [
    {
      op: 'mutate',
      table: OPEN_VSWITCH,
      where: [],
      mutations: replaced(MAPPINGS, pairs.length === 0 ? undefined : pairs.join(',')),
    },
    {
      op: 'mutate',
      table: 'Bridge',
      where: named(bridge),
      mutations: replaced(MAPPED_ID, kind === 'map' ? YES : undefined),
    },
  ];
}

async function apply(
  { replica, transactor, lock }: ZoneDatabase,
  change: SwitchChange,
): Promise<void> {
  const operations = operationsOf(replica, change);
  if (operations.length === 0) return;
  const outcome = await transactor.transact(
    [...operations, { op: 'comment', comment: 'heddle: external bridge' }],
    lock === undefined ? {} : { lock },
  );
  if (outcome.kind !== 'success' && outcome.kind !== 'unchanged')
    throw new SwitchError(`Open_vSwitch: ${new OutcomeError(outcome).message}`);
}
