/** Routes, policies and translation of routers: what leads to another network, or leaves as one. */
import { list, pairs, text, uuidOf } from '../../../../src/verify/rows.ts';
import { escaped, quoted, setting, both, type FaultKind } from './world.ts';

/** A route, or a policy, to what another network has: by the gateway it leaves for whoever is there, unless it is dropped after that. */
const route: FaultKind = (world) => {
  const [a, b] = world.two();
  const hop = a.isLayer2 ? '100.88.0.5' : '100.65.0.2';
  const hasMark = world.random.is(0.5);
  return {
    name: `a route from ${a.name} to the subnet of ${b.name}`,
    plant: `ovn-nbctl --may-exist lr-route-add ${a.router} 10.200.0.0/24 ${hop}; ovn-nbctl set Logical_Router_Static_Route $(ovn-nbctl --bare --columns=_uuid find Logical_Router_Static_Route ip_prefix=10.200.0.0/24) ip_prefix=${b.subnet}${hasMark ? ` ${quoted(`external_ids:heddle="${a.object}"`)}` : ''}`,
    undo: `ovn-nbctl remove Logical_Router ${a.router} static_routes $(ovn-nbctl --bare --columns=static_routes list Logical_Router ${a.router} | tr ' ' '\\n' | while read one; do [ "$(ovn-nbctl get Logical_Router_Static_Route $one ip_prefix)" != '"${b.subnet}"' ] || echo $one; done)`,
    checks: ['routes'],
    concerns: a.subnet === b.subnet ? [] : [...both(a), b.name],
    where: new RegExp(escaped(`Static_Route ${b.subnet}`)),
  };
};

/** A connection's router leads to what its networks have. */
const connectionRoute: FaultKind = (world) => {
  const router = world.row('Logical_Router', (row) =>
    text(row, 'name').startsWith('connect_router_'),
  );
  const own = world.row('Logical_Router_Static_Route', (row) =>
    list(router ?? {}, 'static_routes').includes(uuidOf(row)),
  );
  const subnets = world
    .rows('Logical_Router_Static_Route')
    .filter((row) => list(router ?? {}, 'static_routes').includes(uuidOf(row)))
    .map((row) => text(row, 'ip_prefix').split('.').slice(0, 2).join('.'));
  const other = world.pick(
    world.networks.filter(
      ({ subnet }) => !subnets.includes(subnet.split('.').slice(0, 2).join('.')),
    ),
  );
  if (router === undefined || own === undefined || other === undefined) return undefined;
  return {
    name: `a route of ${text(router, 'name')} to ${other.subnet}`,
    ...setting('ovn-nbctl', 'Logical_Router_Static_Route', own, 'ip_prefix', `"${other.subnet}"`),
    checks: ['routes'],
    concerns: [
      `ClusterNetworkConnect ${text(router, 'name').slice('connect_router_'.length)}`,
      other.name,
    ],
    where: new RegExp(escaped(other.subnet)),
  };
};

const policy: FaultKind = (world) => {
  const [a, b] = world.two();
  const isMark = world.random.is(0.5);
  const match = isMark ? 'ip4' : `ip4.dst == ${b.subnet}`;
  const action = isMark
    ? `allow pkt_mark=${b.packetMark}`
    : `reroute ${a.isLayer2 ? '100.88.0.5' : '100.65.0.2'}`;
  return {
    name: `a policy of ${a.name}: ${match} ${action}`,
    plant: `ovn-nbctl lr-policy-add ${a.router} 2500 "${match}" ${action}`,
    undo: `ovn-nbctl lr-policy-del ${a.router} 2500`,
    checks: ['routes'],
    concerns: isMark || a.subnet !== b.subnet ? [...both(a), b.name] : both(a),
    where: /Policy 2500/,
  };
};

/** What a network sends to a connection is for the others there, and of its own pods. */
const connectionPolicy: FaultKind = (world) => {
  const row = world.row(
    'Logical_Router_Policy',
    (one) => text(one, 'priority') === '9001' && text(one, 'action') === 'reroute',
  );
  const router = row && world.holder('Logical_Router', 'policies', row);
  const network = world.networkCalled(pairs(router ?? {}, 'external_ids')['k8s.ovn.org/network']);
  if (row === undefined || network === undefined) return undefined;
  const match = world.random.pick([
    'ip4.dst == 10.0.0.0/8',
    text(row, 'match').replace(/^inport == "[^"]+" && /, ''),
    text(row, 'match').replace(/ip4\.dst == [\d./]+/, 'ip4.dst == 0.0.0.0/0'),
  ]);
  return {
    name: `policy 9001 of ${network.name} for ${match}`,
    ...setting('ovn-nbctl', 'Logical_Router_Policy', row, 'match', JSON.stringify(match)),
    checks: ['routes'],
    concerns: both(network),
    where: /Policy 9001/,
  };
};

const translation: FaultKind = (world) => {
  const [a, b] = world.two();
  const nat = world.row(
    'NAT',
    (row) => pairs(row, 'external_ids')['k8s.ovn.org/network'] === a.name,
  );
  if (nat === undefined) return undefined;
  const change = world.random.pick(['external', 'inner', 'in'] as const);
  const isGateway = text(nat, 'external_ip') === a.gateway;
  if (change === 'in')
    return {
      name: `translation from outside into ${a.name}`,
      plant: `ovn-nbctl lr-nat-add ${a.gatewayRouter} dnat_and_snat 172.18.0.77 ${a.subnet.replace('0.0/16', '0.3')}`,
      undo: `ovn-nbctl lr-nat-del ${a.gatewayRouter} dnat_and_snat 172.18.0.77`,
      checks: ['translation'],
      concerns: both(a),
      where: /dnat_and_snat/,
    };
  if (change === 'inner' && a.subnet === b.subnet) return undefined;
  const address = isGateway ? b.gateway : b.host;
  return {
    name: `translation of ${a.name} ${change === 'external' ? `to ${address}` : `of ${b.subnet}`}`,
    ...(change === 'external'
      ? setting('ovn-nbctl', 'NAT', nat, 'external_ip', `"${address}"`)
      : setting('ovn-nbctl', 'NAT', nat, 'logical_ip', `"${b.subnet}"`)),
    checks: ['translation'],
    concerns: [...both(a), ...(change === 'external' || b.isLayer2 ? [b.name] : [])],
  };
};

/** Connections of two routers in one zone of conntrack. */
const sharedZone: FaultKind = (world) => {
  const a = world.random.pick(world.networks);
  return {
    name: `${a.gatewayRouter} translates in a zone of its choice`,
    plant: `ovn-nbctl set Logical_Router ${a.gatewayRouter} options:snat-ct-zone=${1 + world.random.below(60_000)}`,
    undo: `ovn-nbctl remove Logical_Router ${a.gatewayRouter} options snat-ct-zone`,
    checks: ['translation'],
    concerns: both(a),
    where: new RegExp(escaped(a.gatewayRouter)),
  };
};

export const routerFaults: readonly FaultKind[] = [
  route,
  connectionRoute,
  policy,
  connectionPolicy,
  translation,
  translation,
  sharedZone,
];
