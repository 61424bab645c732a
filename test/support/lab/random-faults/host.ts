/** Links, rules, routes and nftables of the host: what leads between networks there, or into one. */
import { text } from '../../../../src/verify/rows.ts';
import { hex } from '../planted-faults/fault.ts';
import {
  both,
  escaped,
  quoted,
  type FaultKind,
  type FaultNetwork,
  type RandomFault,
} from './world.ts';

const TABLE = 'inet ovn-kubernetes';
/** A mark, or an address, that leads to the table of another network, or of the host. */
const otherTable: FaultKind = (world) => {
  const [a, b] = world.two(false);
  const priority = 100 + world.random.below(1800);
  const [selector, table, concerns] = world.random.pick([
    [`fwmark ${hex(a.packetMark)}`, b.table, [a.name, b.name]],
    [`fwmark ${hex(a.packetMark)}`, 254, both(a)],
    ['from 172.18.0.77', a.table, both(a)],
    [`to ${b.host}`, a.table, [a.name, b.name]],
    [`fwmark 0/${hex(a.packetMark)}`, a.table, both(a)],
    [`from all`, a.table, both(a)],
    [`iif breth0`, a.table, both(a)],
  ] as const);
  const rule = `${selector} lookup ${table} priority ${priority}`;
  return {
    name: `ip rule ${rule}`,
    plant: `ip rule add ${rule}`,
    undo: `ip rule del ${rule}`,
    checks: ['host routing'],
    concerns,
    where: new RegExp(`rule ${priority}:`),
  };
};

/** A port of a network that is in no VRF, as a kernel without them has none, and what leads there. */
const strayLink: FaultKind = (world) => {
  const a = world.random.pick(world.networks);
  const [more, where] = world.random.pick([
    ['', `link ${a.port}`],
    ['; ip route add 10.250.0.0/24 dev PORT', 'route 10.250'],
    ['; ip route add 10.250.0.0/24 dev PORT table 8000', 'route 10.250'],
    ['; ip link add leak link PORT type macvlan', 'link leak'],
  ] as const);
  return {
    name: `link ${a.port}${more}`,
    plant: `ip link add ${a.port} type veth peer name planted; ip link set ${a.port} up; ip link set planted up${more.replace('PORT', a.port)}`,
    undo: `ip link del ${a.port}`,
    checks: ['host routing'],
    concerns: both(a),
    where: new RegExp(escaped(where)),
  };
};

const element = (set: string, member: string): Pick<RandomFault, 'plant' | 'undo'> => ({
  plant: `nft add element ${TABLE} ${set} ${quoted(`{ ${member} }`)}`,
  undo: `nft delete element ${TABLE} ${set} ${quoted(`{ ${member} }`)}`,
});

const taken = ({
  plant,
  undo,
}: Pick<RandomFault, 'plant' | 'undo'>): Pick<RandomFault, 'plant' | 'undo'> => ({
  plant: undo,
  undo: plant,
});

/** Sets of who may: with one more. */
const wider: FaultKind = (world) => {
  const [a, b] = world.two(false);
  const leg = world.pick(
    world
      .rows('Logical_Switch_Port')
      .filter((row) =>
        /^(blue|green|red|white|yellow|purple|shop)_[a-z]+$/.test(text(row, 'name')),
      ),
  );
  const address = text(leg ?? {}, 'addresses').split(' ')[1] ?? '';
  const port = 20 + world.random.below(50);
  const [set, member, concerns] = world.random.pick([
    [
      'default-access-services-v4',
      `172.16.1.${90 + world.random.below(20)} . tcp . 80`,
      ['default'],
    ],
    ['default-access-services-v4', `172.16.1.81 . tcp . ${port}`, ['default']],
    ['default-access-pods-v4', address, ['default']],
    ['udn-open-ports-v4', `${address} . tcp . ${port}`, ['default']],
    ['udn-open-ports-icmp-v4', address, ['default']],
    ['udn-forwarded-v4', `"${a.port}" . ${b.host}`, [a.name, b.name]],
    ['udn-node-ports', `tcp . ${port}`, ['default']],
    ['default-node-ports', `tcp . ${world.random.pick([30_080, 30_081, port])}`, ['default']],
    ['tunnel-peers-v4', `172.18.0.${100 + world.random.below(100)}`, []],
  ] as const);
  if (address === '') return undefined;
  return {
    name: `${member} in ${set}`,
    ...element(set, member),
    checks: ['nftables'],
    concerns,
    where: new RegExp(set),
  };
};

/** A pod that processes of the host reach. */
const reachable: FaultKind = (world) => {
  const leg = world.pick(
    world
      .rows('Logical_Switch_Port')
      .filter((row) =>
        /^(blue|green|red|white|yellow|purple|shop)_[a-z]+$/.test(text(row, 'name')),
      ),
  );
  const address = text(leg ?? {}, 'addresses').split(' ')[1];
  if (leg === undefined || address === undefined) return undefined;
  return {
    name: `${address} is not kept from the host`,
    ...taken(element('udn-pod-default-ips-v4', address)),
    checks: ['nftables'],
    concerns: [`Pod ${text(leg, 'name').replace('_', '/')}`],
    where: /udn-pod-default-ips-v4/,
  };
};

/** Maps that choose a network, with another one's chain or address for a key. */
const otherChoice: FaultKind = (world) => {
  const services = [
    ['172.16.1.80', 'tcp . 30080', 'shop_net'],
    ['172.16.1.81', 'tcp . 30081', 'white_l3'],
    ['172.16.1.82', 'tcp . 30082', 'purple_l2'],
  ] as const;
  const [address, port, name] = world.random.pick(services);
  const own = world.networkCalled(name);
  const [a] = world.two(false);
  const b = world.pick(world.networks.filter((one) => one !== own && one !== a));
  if (own === undefined || b === undefined) return undefined;
  const change = (
    map: string,
    key: string,
    from: string,
    to: string,
  ): Pick<RandomFault, 'plant' | 'undo'> => {
    const set = (x: string, y: string): string =>
      `nft ${quoted(`delete element ${TABLE} ${map} { ${key} : ${x} }; add element ${TABLE} ${map} { ${key} : ${y} }`)}`;
    return { plant: set(from, to), undo: set(to, from) };
  };
  const mark = (of: FaultNetwork): string => `jump udn-mark-${hex(of.packetMark)}`;
  const hostServices = (of: FaultNetwork): string => `jump udn-host-services-${hex(of.packetMark)}`;
  const [map, key, found, concerns] = world.random.pick([
    [
      'udn-mark-nodeports',
      port,
      () => change('udn-mark-nodeports', port, mark(own), mark(b)),
      [own.name, b.name],
    ],
    [
      'udn-mark-cluster-ips-v4',
      address,
      () => change('udn-mark-cluster-ips-v4', address, mark(own), mark(b)),
      [own.name, b.name],
    ],
    [
      'udn-service-ips-v4',
      address,
      () => change('udn-service-ips-v4', address, hostServices(own), hostServices(b)),
      [own.name, b.name],
    ],
    [
      'udn-host-ports',
      a.port,
      () => change('udn-host-ports', `"${a.port}"`, hostServices(a), hostServices(b)),
      [a.name, b.name],
    ],
    [
      'udn-host-sources-v4',
      String(a.packetMark),
      () => change('udn-host-sources-v4', hex(a.packetMark), a.gateway, b.gateway),
      [a.name, b.name],
    ],
  ] as const);
  return {
    name: `${key} of ${map} is of ${b.name}`,
    ...found(),
    checks: ['nftables'],
    concerns,
    where: new RegExp(map),
  };
};

/** A rule that accepts before what keeps apart. */
const accepting: FaultKind = (world) => {
  const [a] = world.two(false);
  const [chain, match] = world.random.pick([
    ['udn-isolation', ''],
    ['udn-isolation', 'ip daddr 10.128.0.0/14 '],
    ['udn-host-devices', ''],
    ['mgmtport-forward', ''],
    ['mgmtport-forward', `iifname "${a.port}" `],
    ['mgmtport-forward', 'iifname "ovn-k8s-mp0" '],
    ['tunnel-sources', ''],
    ['tunnel-input', 'udp dport 6081 '],
    ['tunnel-forward', ''],
  ] as const);
  const how = world.random.pick(['accept', 'return'] as const);
  // To return from a chain that others jump to is to go on in them.
  if (chain === 'tunnel-sources' && how === 'return') return undefined;
  return {
    name: `${how} in ${chain} for ${match === '' ? 'all' : match}`,
    plant: `nft insert rule ${TABLE} ${chain} ${quoted(`${match}${how} comment "planted"`)}`,
    undo: `nft delete rule ${TABLE} ${chain} handle $(nft -a list chain ${TABLE} ${chain} | sed -n 's/.* comment "planted" # handle //p')`,
    checks: ['nftables'],
    concerns: [],
    where: new RegExp(chain),
  };
};

/** Rules that keep apart and that nothing stands behind: in these chains all is accepted that no rule drops. */
const KEEPING: readonly [string, RegExp][] = [
  ['udn-isolation', / drop comment/],
  ['mgmtport-forward', /oifname "ovn-k8s-mp\*" drop/],
  ['mgmtport-forward', /^meta sdifname "ovn-k8s-mp\*" drop/],
  ['mgmtport-forward', /ct reply ip daddr 169\.254\.\S+ drop/],
  ['tunnel-forward', / drop comment/],
  ['tunnel-input', /6081 (drop|jump)/],
  ['tunnel-sources', / drop comment/],
];

const lostRule: FaultKind = (world) => {
  const found = world.random.pick(KEEPING);
  const [chain, form] = found;
  const ofChain = world.rules.filter((rule) => rule.chain === chain);
  const rule = world.pick(ofChain.filter(({ text: line }) => form.test(line)));
  if (rule === undefined) return undefined;
  const next = ofChain[ofChain.indexOf(rule) + 1];
  // The counter of a listing is no part of the rule.
  const line = rule.text.replace(/counter packets \d+ bytes \d+/, 'counter');
  return {
    name: `${chain} without ${line}`,
    plant: `nft delete rule ${TABLE} ${chain} handle ${rule.handle}`,
    undo:
      next === undefined
        ? `nft add rule ${TABLE} ${chain} ${quoted(line)}`
        : `nft insert rule ${TABLE} ${chain} position ${next.handle} ${quoted(line)}`,
    checks: ['nftables'],
    concerns: [],
    where: new RegExp(chain),
  };
};

/** Tables of others that make packets those of a network. */
const otherTables: FaultKind = (world) => {
  const [a, b] = world.two(false);
  const [hook, statement] = world.random.pick([
    ['type filter hook output priority -160;', `tcp dport 80 meta mark set ${hex(a.packetMark)}`],
    ['type filter hook prerouting priority -150;', `meta mark set ${hex(a.packetMark)}`],
    [
      'type nat hook postrouting priority 90;',
      `snat ip to ${world.random.pick([a.gateway, a.host])}`,
    ],
  ] as const);
  const isOwn = world.random.is(0.3);
  const chain = `udn-mark-${hex(b.packetMark)}`;
  return isOwn
    ? {
        name: `${chain} sets the mark of ${a.name}`,
        plant: `nft add rule ${TABLE} ${chain} meta mark set ${hex(a.packetMark)}`,
        undo: `nft delete rule ${TABLE} ${chain} handle $(nft -a list chain ${TABLE} ${chain} | sed -n 's/.*${hex(a.packetMark, 8)} # handle //p')`,
        checks: ['nftables'],
        concerns: [a.name, b.name],
        where: new RegExp(chain),
      }
    : {
        name: `another table: ${statement}`,
        plant: `nft add table inet planted; nft add chain inet planted one ${quoted(`{ ${hook} }`)}; nft add rule inet planted one ${quoted(statement)}`,
        undo: 'nft delete table inet planted',
        checks: ['nftables'],
        concerns: both(a),
        where: /planted/,
      };
};

export const hostFaults: readonly FaultKind[] = [
  otherTable,
  otherTable,
  strayLink,
  wider,
  wider,
  reachable,
  otherChoice,
  otherChoice,
  accepting,
  accepting,
  lostRule,
  lostRule,
  otherTables,
];
