/** Switches, routers and their ports: each joins two networks, or gives one the number or address of another one. */
import { list, pairs, text, uuidOf } from '../../../../src/verify/rows.ts';
import {
  both,
  escaped,
  joining,
  NODE,
  quoted,
  setting,
  type FaultKind,
  type FaultNetwork,
} from './world.ts';

const names = (...networks: readonly FaultNetwork[]): string[] => networks.map(({ name }) => name);

/** Two routers with a pair of ports are one way. */
const joinedRouters: FaultKind = (world) => {
  const [a, b] = world.two(false);
  const [x, y] = [a, b].map((one) => world.random.pick([one.router, one.gatewayRouter]));
  return {
    name: `a pair of ports between ${x} and ${y}`,
    plant: `ovn-nbctl lrp-add ${x} leak-a 0a:00:00:00:00:01 192.168.77.1/30 peer=leak-b -- lrp-add ${y} leak-b 0a:00:00:00:00:02 192.168.77.2/30 peer=leak-a`,
    undo: 'ovn-nbctl lrp-del leak-a -- lrp-del leak-b',
    checks: ['cut'],
    concerns: names(a, b),
    where: /leak-[ab]/,
  };
};

/** So are a switch and a router of another network. */
const joinedSwitch: FaultKind = (world) => {
  const [a, b] = world.two(false);
  return {
    name: `a port of ${b.router} on ${a.podSwitch}`,
    plant: `ovn-nbctl lrp-add ${b.router} leak-c 0a:00:00:00:00:03 192.168.78.1/24 -- lsp-add ${a.podSwitch} leak-d -- lsp-set-type leak-d router -- lsp-set-options leak-d router-port=leak-c -- lsp-set-addresses leak-d router`,
    undo: 'ovn-nbctl lsp-del leak-d -- lrp-del leak-c',
    checks: ['cut'],
    concerns: names(a, b),
    where: /leak-[cd]/,
  };
};

/** The switch of one network at the router of another one. */
const otherRouter: FaultKind = (world) => {
  const [a, b] = world.two(false);
  const isOf = (name: string) => (row: Parameters<typeof text>[0]) =>
    text(row, 'type') === 'router' &&
    list(world.named('Logical_Switch', name) ?? {}, 'ports').includes(uuidOf(row));
  const port = world.row('Logical_Switch_Port', isOf(a.podSwitch));
  const other = world.row('Logical_Switch_Port', isOf(b.podSwitch));
  if (port === undefined || other === undefined) return undefined;
  const peer = pairs(other, 'options')['router-port'] ?? '';
  const name = text(port, 'name');
  return {
    name: `port ${name} leads to ${peer}`,
    plant: `ovn-nbctl set Logical_Switch_Port ${name} options:router-port=${peer}`,
    undo: `ovn-nbctl set Logical_Switch_Port ${name} options:router-port=${pairs(port, 'options')['router-port']}`,
    checks: ['cut'],
    concerns: names(a, b),
    where: new RegExp(escaped(name)),
  };
};

/** A network in a connection that does not select it. */
const uninvited: FaultKind = (world) => {
  const router = world.row('Logical_Router', (row) =>
    text(row, 'name').startsWith('connect_router_'),
  );
  if (router === undefined) return undefined;
  const connection = text(router, 'name').slice('connect_router_'.length);
  const stranger = world.pick(
    world.networks.filter(
      ({ name }) =>
        !list(router, 'ports').some((port) =>
          isNamedFor(
            world.rows('Logical_Router_Port').find((row) => uuidOf(row) === port),
            connection,
            name,
          ),
        ),
    ),
  );
  if (stranger === undefined) return undefined;
  return {
    name: `a port of ${stranger.name} on the router of ${connection}`,
    plant: `ovn-nbctl lrp-add ${stranger.router} leak-e 0a:00:00:00:00:05 192.168.79.1/30 peer=leak-f -- lrp-add ${text(router, 'name')} leak-f 0a:00:00:00:00:06 192.168.79.2/30 peer=leak-e`,
    undo: 'ovn-nbctl lrp-del leak-e -- lrp-del leak-f',
    checks: ['cut'],
    concerns: both(stranger),
    where: /leak-[ef]/,
  };
};

const isNamedFor = (
  row: Parameters<typeof text>[0] | undefined,
  connection: string,
  network: string,
): boolean => row !== undefined && text(row, 'name').startsWith(`crtor-${connection}_${network}`);

/** Pods on a physical network. */
const physicalPort: FaultKind = (world) => {
  const a = world.random.pick(world.networks);
  const physical = world.random.pick(['physnet', 'elsewhere']);
  return {
    name: `a port to ${physical} on ${a.podSwitch}`,
    plant: `ovn-nbctl lsp-add ${a.podSwitch} leak-l -- lsp-set-type leak-l localnet -- lsp-set-options leak-l network_name=${physical} -- lsp-set-addresses leak-l unknown`,
    undo: 'ovn-nbctl lsp-del leak-l',
    checks: ['cut'],
    concerns: both(a),
    where: /leak-l/,
  };
};

/** The VLAN of a physical network is another network there. */
const otherVlan: FaultKind = (world) => {
  const port = world.row('Logical_Switch_Port', (row) => text(row, 'type') === 'localnet');
  if (port === undefined) return undefined;
  const name = text(port, 'name');
  const object = pairs(port, 'external_ids')['heddle'] ?? '';
  return {
    name: `${name} on another VLAN`,
    plant: `ovn-nbctl set Logical_Switch_Port ${name} tag_request=${2000 + world.random.below(1000)}`,
    undo: `ovn-nbctl set Logical_Switch_Port ${name} tag_request=${list(port, 'tag_request')[0] ?? '[]'} ${quoted(`tag=${list(port, 'tag')[0] ?? '[]'}`)}`,
    checks: ['cut'],
    concerns: object.startsWith('Node ') || object === 'cluster' ? [] : [object],
    where: new RegExp(escaped(name)),
  };
};

const movedPort: FaultKind = (world) => {
  const moved = world.pick(world.podPorts());
  const home = moved && world.holder('Logical_Switch', 'ports', moved.port);
  const to = world.pick(world.networks.filter(({ name }) => name !== moved?.network));
  if (moved === undefined || home === undefined || to === undefined) return undefined;
  const [id, from] = [uuidOf(moved.port), text(home, 'name')];
  const move = (a: string, b: string): string =>
    `ovn-nbctl remove Logical_Switch ${a} ports ${id} -- add Logical_Switch ${b} ports ${id}`;
  return {
    name: `${text(moved.port, 'name')} on ${to.podSwitch}`,
    plant: move(from, to.podSwitch),
    undo: move(to.podSwitch, from),
    checks: ['ports'],
    concerns: [moved.pod, moved.network, to.name],
    where: new RegExp(escaped(text(moved.port, 'name'))),
  };
};

const strangePort: FaultKind = (world) => {
  const a = world.random.pick(world.networks);
  const type = world.random.pick(['""', 'vtep', 'l2gateway', 'external', 'virtual', 'remote']);
  return {
    name: `a port of type ${type} on ${a.podSwitch}`,
    plant: `ovn-nbctl lsp-add ${a.podSwitch} stranger -- set Logical_Switch_Port stranger type=${quoted(type)} -- lsp-set-addresses stranger unknown`,
    undo: 'ovn-nbctl lsp-del stranger',
    checks: ['cut', 'ports'],
    concerns: both(a),
    where: /stranger/,
  };
};

/** Two switches or routers with one key are one on the wire. */
const keyTwice: FaultKind = (world) => {
  const table = world.random.pick(['Logical_Switch', 'Logical_Router'] as const);
  const column = table === 'Logical_Switch' ? 'other_config' : 'options';
  const keyed = world
    .rows(table)
    .filter((row) => pairs(row, column)['requested-tnl-key'] !== undefined);
  const networkOf = (row: (typeof keyed)[number]): string | undefined =>
    pairs(row, 'external_ids')['k8s.ovn.org/network'];
  const a = world.pick(keyed.filter((row) => networkOf(row) !== undefined));
  const b = a && world.pick(keyed.filter((row) => networkOf(row) !== networkOf(a)));
  const key = b && pairs(b, column)['requested-tnl-key'];
  const network = a && world.networkCalled(networkOf(a));
  if (a === undefined || b === undefined || key === undefined || network === undefined)
    return undefined;
  const name = text(a, 'name');
  return {
    name: `${name} with the key of ${text(b, 'name')}`,
    plant: `ovn-nbctl set ${table} ${name} ${column}:requested-tnl-key=${key}`,
    undo: `ovn-nbctl set ${table} ${name} ${column}:requested-tnl-key=${pairs(a, column)['requested-tnl-key']}`,
    checks: ['identities'],
    concerns: both(network),
    where: new RegExp(escaped(name)),
  };
};

/** Addresses by which a network is known at the node are nobody's twice. */
const addressTwice: FaultKind = (world) => {
  const [a, b] = world.two(false);
  const address = world.random.pick([b.gateway, b.host]);
  const port = `rtoe-${a.gatewayRouter}`;
  return {
    name: `${address} of ${b.name} on ${port}`,
    ...joining(
      'Logical_Router_Port',
      world.named('Logical_Router_Port', port) ?? {},
      'networks',
      `"${address}/32"`,
    ),
    checks: ['identities'],
    concerns: names(a, b),
    where: new RegExp(escaped(port)),
  };
};

/** What a pod is known by: its own addresses, and no way to send with others. */
const podAddresses: FaultKind = (world) => {
  const [one, other] = [world.pick(world.podPorts()), world.pick(world.podPorts())];
  if (one === undefined || other === undefined || one === other) return undefined;
  const column = world.random.pick(['addresses', 'port_security']);
  const [own, foreign] = [one, other].map(({ port }) => text(port, 'addresses'));
  const values =
    column === 'addresses'
      ? [`["${own}","${foreign}"]`, `"${foreign}"`, `["${own}","unknown"]`]
      : [`["${own}","${foreign}"]`, `"${foreign}"`, '[]'];
  if (own === foreign) return undefined;
  const value = world.random.pick(values);
  return {
    name: `${column} of ${text(one.port, 'name')} are ${value}`,
    ...setting('ovn-nbctl', 'Logical_Switch_Port', one.port, column, value),
    checks: ['ports'],
    concerns: [one.pod],
    where: new RegExp(escaped(text(one.port, 'name'))),
  };
};

/** The host's port with an address of somebody else on the network gets what is his. */
const hostAddresses: FaultKind = (world) => {
  const one = world.pick(
    world.podPorts().filter(({ network }) => world.networkCalled(network) !== undefined),
  );
  const network = world.networkCalled(one?.network);
  const port = network && world.named('Logical_Switch_Port', `k8s-${network.name}_${NODE}`);
  if (one === undefined || network === undefined || port === undefined) return undefined;
  const foreign = text(one.port, 'addresses');
  const value = world.random.pick([
    `["${text(port, 'addresses')}","${foreign}"]`,
    `"${foreign}"`,
    `["${text(port, 'addresses')}","unknown"]`,
  ]);
  return {
    name: `addresses of ${text(port, 'name')} are ${value}`,
    ...setting('ovn-nbctl', 'Logical_Switch_Port', port, 'addresses', value),
    checks: ['ports'],
    concerns: both(network),
    where: new RegExp(escaped(text(port, 'name'))),
  };
};

/** What is sent to a port elsewhere goes to another node. */
const otherChassis: FaultKind = (world) => {
  const port = world.row(
    'Logical_Switch_Port',
    (row) => pairs(row, 'options')['requested-chassis'] !== undefined,
  );
  if (port === undefined) return undefined;
  const name = text(port, 'name');
  const options = pairs(port, 'options');
  const column = world.random.pick(
    ['requested-chassis', 'requested-tnl-key'].filter((key) => options[key] !== undefined),
  );
  const value = column === 'requested-chassis' ? 'elsewhere' : '7777';
  return {
    name: `${column} of ${name} is ${value}`,
    plant: `ovn-nbctl set Logical_Switch_Port ${name} options:${column}=${value}`,
    undo: `ovn-nbctl set Logical_Switch_Port ${name} options:${column}=${options[column]}`,
    checks: ['ports'],
    concerns: [],
    where: new RegExp(escaped(name)),
  };
};

export const datapathFaults: readonly FaultKind[] = [
  joinedRouters,
  joinedSwitch,
  otherRouter,
  uninvited,
  physicalPort,
  otherVlan,
  movedPort,
  strangePort,
  keyTwice,
  addressTwice,
  podAddresses,
  podAddresses,
  hostAddresses,
  otherChassis,
];
