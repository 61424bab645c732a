/** Bindings of Southbound, and what the rows of Open vSwitch say of interfaces and bridges: whose a port is. */
import { list, pairs, text, uuidOf, type Row } from '../../../../src/verify/rows.ts';
import {
  BRIDGE,
  escaped,
  NODE,
  setting,
  type FaultKind,
  type FaultWorld,
  type RandomFault,
} from './world.ts';

export const INT = 'br-int';
const bindingOf = (world: FaultWorld, is: (row: Row) => boolean): Row | undefined =>
  world.row('Port_Binding', is);

/** A binding with another datapath, chassis, key, VLAN, or with fewer addresses that it may send with. */
const otherBinding: FaultKind = (world) => {
  const networks = new Set(world.podPorts().map(({ port }) => text(port, 'name')));
  const isPod = (row: Row): boolean => networks.has(text(row, 'logical_port'));
  const how = world.random.pick([
    'datapath',
    'chassis',
    'key',
    'vlan',
    'physical',
    'security',
  ] as const);
  const isIt: Record<typeof how, (row: Row) => boolean> = {
    datapath: isPod,
    chassis: (row) =>
      text(row, 'chassis') !== '' && (isPod(row) || text(row, 'logical_port').includes('tstor-')),
    key: (row) => pairs(row, 'options')['requested-tnl-key'] !== undefined,
    vlan: (row) => text(row, 'type') === 'localnet',
    physical: (row) => text(row, 'type') === 'localnet',
    security: (row) => isPod(row) && list(row, 'port_security').length > 0,
  };
  const row = bindingOf(world, isIt[how]);
  if (row === undefined) return undefined;
  const set = (column: string, value: string): Pick<RandomFault, 'plant' | 'undo'> =>
    setting('ovn-sbctl', 'Port_Binding', row, column, value);
  const other = world.row(
    'Datapath_Binding',
    (one) => uuidOf(one) !== text(row, 'datapath') && text(one, 'tunnel_key') !== '',
  );
  const chassis = world.row('Chassis', (one) => uuidOf(one) !== text(row, 'chassis'));
  const ways = {
    datapath: () => {
      const [to, key] = [set('datapath', uuidOf(other ?? {})), set('tunnel_key', '30000')];
      return {
        plant: `${to.plant} tunnel_key=30000`,
        undo: `${to.undo} tunnel_key=${text(row, 'tunnel_key')}`,
        key,
      };
    },
    chassis: () => set('chassis', uuidOf(chassis ?? {})),
    key: () => set('tunnel_key', String(20_000 + world.random.below(1000))),
    vlan: () => set('tag', String(2000 + world.random.below(1000))),
    physical: () => ({
      plant: `ovn-sbctl set Port_Binding ${uuidOf(row)} options:network_name=elsewhere`,
      undo: `ovn-sbctl set Port_Binding ${uuidOf(row)} options:network_name=physnet`,
    }),
    security: () => set('port_security', '[]'),
  };
  const { plant, undo } = ways[how]();
  const name = text(row, 'logical_port');
  return {
    name: `${how} of binding ${name}`,
    plant,
    undo,
    checks: ['southbound', 'identities'],
    concerns: [],
    where: new RegExp(escaped(`Port_Binding ${name}`)),
    holdsOvn: true,
  };
};

const otherKey: FaultKind = (world) => {
  const row = world.row('Datapath_Binding', (one) => Number(text(one, 'tunnel_key')) > 16_000_000);
  if (row === undefined) return undefined;
  const name = pairs(row, 'external_ids')['name'] ?? '';
  return {
    name: `tunnel key of ${name} in Southbound`,
    ...setting(
      'ovn-sbctl',
      'Datapath_Binding',
      row,
      'tunnel_key',
      String(16_700_000 - world.random.below(1000)),
    ),
    checks: ['identities'],
    concerns: [],
    where: new RegExp(escaped(name)),
    holdsOvn: true,
  };
};

const otherPeer: FaultKind = (world) => {
  const [a, b] = world.two(false);
  const port = `rtos-${a.name}_${NODE}`;
  if (a.isLayer2 || b.isLayer2) return undefined;
  return {
    name: `peer of ${port} is of ${b.name}`,
    plant: `ovn-sbctl set Port_Binding ${port} options:peer=stor-${b.name}_${NODE}`,
    undo: `ovn-sbctl set Port_Binding ${port} options:peer=stor-${a.name}_${NODE}`,
    checks: ['southbound'],
    concerns: [a.name, b.name],
    where: new RegExp(escaped(port)),
    holdsOvn: true,
  };
};

const strangeTunnel: FaultKind = (world) => {
  const row = world.row('Encap', (one) => text(one, 'ip') !== '172.18.0.11');
  if (row === undefined || world.random.is(0.5))
    return {
      name: 'a chassis of nobody',
      plant: 'ovn-sbctl chassis-add stranger geneve 172.18.0.66',
      undo: 'ovn-sbctl chassis-del stranger',
      checks: ['southbound'],
      concerns: [],
      where: /stranger/,
      holdsOvn: true,
    };
  const to = `172.18.0.${100 + world.random.below(100)}`;
  return {
    name: `tunnels to ${text(row, 'ip')} end at ${to}`,
    ...setting('ovn-sbctl', 'Encap', row, 'ip', `"${to}"`),
    checks: ['southbound'],
    concerns: [],
    where: new RegExp(escaped(to)),
    holdsOvn: true,
  };
};

export const podInterface = (world: FaultWorld): Row | undefined =>
  world.row('Interface', (row) => pairs(row, 'external_ids')['sandbox'] !== undefined);
export const idsOf = (row: Row): Readonly<Record<string, string>> => pairs(row, 'external_ids');
export const networkOf = (row: Row): string => idsOf(row)['k8s.ovn.org/network'] ?? 'default';

/** The interface of one pod at the port of another one, whose interface may be at the first one's. */
const otherInterface: FaultKind = (world) => {
  const [a, b] = [podInterface(world), podInterface(world)];
  if (a === undefined || b === undefined || networkOf(a) === networkOf(b)) return undefined;
  const [x, y] = [idsOf(a)['iface-id'] ?? '', idsOf(b)['iface-id'] ?? ''];
  const isSwap = world.random.is(0.5);
  const set = (p: string, q: string): string =>
    `ovs-vsctl set Interface ${uuidOf(a)} external_ids:iface-id=${p}${isSwap ? ` -- set Interface ${uuidOf(b)} external_ids:iface-id=${q}` : ''}`;
  return {
    name: `the interface of ${x} at ${y}${isSwap ? ' and the other way round' : ''}`,
    plant: set(y, x),
    undo: set(x, y),
    checks: ['identities', 'integration bridge'],
    concerns: [],
    where: /Interface/,
  };
};

const otherTunnelEnd: FaultKind = (world) => {
  const row = world.row('Interface', (one) => text(one, 'type') === 'geneve');
  if (row === undefined) return undefined;
  const to = world.random.pick(['flow', '172.18.0.77']);
  const set = (value: string): string =>
    `ovs-vsctl set Interface ${text(row, 'name')} options:remote_ip=${value}`;
  return {
    name: `${text(row, 'name')} is a tunnel to ${to}`,
    plant: set(to),
    undo: set(pairs(row, 'options')['remote_ip'] ?? ''),
    checks: ['integration bridge'],
    concerns: [],
    where: new RegExp(escaped(text(row, 'name'))),
    holdsOvn: true,
  };
};

/** Two patch ports with each other's ends. */
const otherEnds: FaultKind = (world) => {
  const [a, b] = world.two(false);
  const [p, q] = [a, b].map(({ name }) => `patch-${BRIDGE}_${name}_${NODE}-to-br-int`);
  const [x, y] = [a, b].map(({ name }) => `patch-br-int-to-${BRIDGE}_${name}_${NODE}`);
  const set = (m: string | undefined, n: string | undefined): string =>
    `ovs-vsctl set Interface ${p} options:peer=${m} -- set Interface ${q} options:peer=${n} -- set Interface ${m} options:peer=${p} -- set Interface ${n} options:peer=${q}`;
  return {
    name: `patch ports of ${a.name} and ${b.name} have each other's ends`,
    plant: set(y, x),
    undo: set(x, y),
    checks: ['external bridge'],
    concerns: [a.name],
    where: new RegExp(escaped(p ?? '')),
    holdsOvn: true,
  };
};

/** Connections of two switches, routers or ports in one zone. */
const zoneTwice: FaultKind = (world) => {
  const bridge = world.named('Bridge', INT);
  const zones = Object.entries(pairs(bridge ?? {}, 'external_ids')).filter(
    ([key, zone]) => key.startsWith('ct-zone-') && zone !== '0',
  );
  const [a, b] = [world.pick(zones), world.pick(zones)];
  if (a === undefined || b === undefined || a === b) return undefined;
  const set = (zone: string): string => `ovs-vsctl set Bridge ${INT} external_ids:${a[0]}=${zone}`;
  return {
    name: `${a[0]} is that of ${b[0]}`,
    plant: set(b[1]),
    undo: set(a[1]),
    checks: ['identities'],
    concerns: [],
    where: new RegExp(`conntrack zone ${b[1]}`),
  };
};

/** A copy of what all networks send, at the port of one. */
const mirror: FaultKind = (world) => {
  const bridge = world.random.pick([INT, BRIDGE]);
  const a = world.random.pick(world.networks);
  const port =
    bridge === INT
      ? `patch-br-int-to-${BRIDGE}_${a.name}_${NODE}`
      : `patch-${BRIDGE}_${a.name}_${NODE}-to-br-int`;
  return {
    name: `a mirror on ${bridge} to ${port}`,
    plant: `ovs-vsctl -- --id=@port get Port ${port} -- --id=@m create Mirror name=leak select_all=true output_port=@port -- set Bridge ${bridge} mirrors=@m`,
    undo: `ovs-vsctl clear Bridge ${bridge} mirrors`,
    checks: ['integration bridge', 'external bridge'],
    concerns: [],
    where: new RegExp(`Bridge ${bridge}`),
  };
};

export const bindingFaults: readonly FaultKind[] = [
  otherBinding,
  otherBinding,
  otherBinding,
  otherKey,
  otherPeer,
  strangeTunnel,
  otherInterface,
  otherTunnelEnd,
  otherEnds,
  zoneTwice,
  mirror,
];
