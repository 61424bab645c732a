/** Two networks of different subnets that a connection joins, with a switch of pods each: ACLs, groups and sets are added by tests. */
import type { ClusterNetworkConnect } from '../../../src/api/types.ts';
import type { Row, Tables } from '../../../src/verify/rows.ts';
import type { Objects, Snapshot } from '../../../src/verify/snapshot.ts';
import { connectedSnapshot } from './connected-zone.ts';
import { nad, pod } from './small-zone.ts';

/** Pods `<namespace>/a` with 10.20.0.3 of blue and 10.30.0.3 of green; beside them blue/b. */
export const BLUE = '10.20.0.3';
export const BLUE_B = '10.20.0.4';
export const GREEN = '10.30.0.3';

const moved = <T>(value: T): T =>
  JSON.parse(JSON.stringify(value).replaceAll('10.20.0.', '10.30.0.')) as T;

/** Columns of an ACL, and where it hangs: the pod switch of a network, or a group. */
export interface PlacedAcl extends Row {
  readonly at: string;
}

export const acl = (
  at: string,
  direction: string,
  match: string,
  columns: Row = {},
): PlacedAcl => ({
  at,
  direction,
  match,
  tier: 2,
  priority: 1001,
  action: 'allow-related',
  external_ids: ['map', []],
  ...columns,
});

interface Additions {
  readonly acls?: readonly PlacedAcl[];
  /** Groups with the names of their ports. */
  readonly groups?: Readonly<Record<string, readonly string[]>>;
  readonly sets?: Readonly<Record<string, readonly string[]>>;
  readonly connectivity?: ClusterNetworkConnect['spec']['connectivity'];
  readonly objects?: Partial<Objects>;
}

const uuids = (values: readonly string[]): unknown => ['set', values.map((one) => ['uuid', one])];

export function joinedSnapshot({
  acls = [],
  groups = {},
  sets = {},
  connectivity = ['PodNetwork'],
  objects = {},
}: Additions = {}): Snapshot {
  const base = connectedSnapshot();
  const [connect] = base.objects.connects;
  if (connect === undefined) throw new Error('there is no connection');
  const table = (name: string): readonly Row[] => base.northbound.get(name) ?? [];
  const held = (at: string): unknown =>
    uuids(acls.flatMap((one, index) => (one.at === at ? [`acl ${index}`] : [])));
  const second: Row = {
    _uuid: ['uuid', 'blue_net b'],
    name: 'blue.net_blue_b',
    type: '',
    addresses: `0a:58:0a:14:00:04 ${BLUE_B}`,
    port_security: `0a:58:0a:14:00:04 ${BLUE_B}`,
    options: ['map', [['requested-chassis', 'chassis-1']]],
  };
  const ports = [
    ...table('Logical_Switch_Port').map((row) => (isOfGreen(row) ? moved(row) : row)),
    second,
  ];
  const uuidOfPort = (name: string): string => {
    const found = ports.find((row) => row['name'] === name);
    if (found === undefined) throw new Error(`there is no port ${name}`);
    return (found['_uuid'] as [string, string])[1];
  };
  const northbound: Tables = new Map([
    ...base.northbound,
    ['Logical_Switch_Port', ports],
    [
      'Logical_Router_Port',
      table('Logical_Router_Port').map((row) => (isOfGreen(row) ? moved(row) : row)),
    ],
    [
      'Logical_Switch',
      table('Logical_Switch').map((row) => ({
        ...row,
        acls: held(String(row['name'])),
        ...(row['name'] === 'blue_net_n1'
          ? {
              ports: ['set', [...(row['ports'] as [string, unknown[]])[1], ['uuid', 'blue_net b']]],
            }
          : {}),
      })),
    ],
    ['ACL', acls.map((row, index) => ({ ...row, _uuid: ['uuid', `acl ${index}`] }))],
    [
      'Port_Group',
      Object.entries(groups).map(([name, members]) => ({
        _uuid: ['uuid', `group ${name}`],
        name,
        ports: uuids(members.map(uuidOfPort)),
        acls: held(name),
        external_ids: ['map', []],
      })),
    ],
    [
      'Address_Set',
      Object.entries(sets).map(([name, addresses]) => ({
        _uuid: ['uuid', `addresses ${name}`],
        name,
        addresses: ['set', addresses],
      })),
    ],
  ]);
  return {
    ...base,
    northbound,
    objects: {
      ...base.objects,
      attachmentDefinitions: [
        nad('blue', 1),
        JSON.parse(JSON.stringify(nad('green', 2)).replaceAll('10.20.', '10.30.')) as ReturnType<
          typeof nad
        >,
      ],
      connects: [{ ...connect, spec: { ...connect.spec, connectivity } }],
      pods: [pod('blue', 'a', 3), pod('blue', 'b', 4), moved(pod('green', 'a', 3))],
      ...objects,
    },
  };
}

const isOfGreen = (row: Row): boolean => String(row['name']).includes('green');
