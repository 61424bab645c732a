/** ACLs, groups, sets and load balancers: each lets pass what keeps apart, or keeps back what policies allow. */
import { list, pairs, text, uuidOf, type Row } from '../../../../src/verify/rows.ts';
import {
  escaped,
  joining,
  leaving,
  removing,
  setting,
  type FaultKind,
  type FaultWorld,
  type RandomFault,
} from './world.ts';

const idOf = (row: Row): string => pairs(row, 'external_ids')['k8s.ovn.org/id'] ?? '';

/** An ACL whose id has this form, and the group or switch that has it. */
function aclOf(
  world: FaultWorld,
  form: RegExp,
):
  | { readonly acl: Row; readonly table: 'Port_Group' | 'Logical_Switch'; readonly holder: Row }
  | undefined {
  const acl = world.row('ACL', (row) => form.test(idOf(row)));
  if (acl === undefined) return undefined;
  for (const table of ['Port_Group', 'Logical_Switch'] as const) {
    const holder = world.holder(table, 'acls', acl);
    if (holder !== undefined) return { acl, table, holder };
  }
  return undefined;
}

/** What drops, no more: gone, of nobody, allowing, or behind what allows. Each opens what it closed, as nothing else closes it. */
function opened(
  world: FaultWorld,
  form: RegExp,
): (Pick<RandomFault, 'plant' | 'undo' | 'name'> & { readonly id: string }) | undefined {
  const found = aclOf(world, form);
  if (found === undefined) return undefined;
  const { acl, table, holder } = found;
  const id = idOf(acl);
  const set = (column: string, value: string): Pick<RandomFault, 'plant' | 'undo'> =>
    setting('ovn-nbctl', 'ACL', acl, column, value);
  const how = world.random.pick(['gone', 'of nobody', 'allowing', 'narrow'] as const);
  const ways = {
    gone: () => removing('ACL', acl, table, holder, 'acls'),
    'of nobody': () =>
      set(
        'match',
        JSON.stringify(
          text(acl, 'match')
            .replace(/@\w+/, '@nobody')
            .replace(/^(?!.*@)/, 'inport == "nobody" && '),
        ),
      ),
    allowing: () => set('action', world.random.pick(['allow', 'allow-related', 'allow-stateless'])),
    narrow: () => set('match', JSON.stringify(`${text(acl, 'match')} && tcp`)),
  };
  return { name: `${id} ${how}`, ...ways[how](), id };
}

/** The leg of pods on the default network is open. */
const openLegs: FaultKind = (world) => {
  const found = opened(world, /:UDNIsolation:DenyPrimaryUDN:/);
  return found && { ...found, checks: ['default network'], concerns: ['default'] };
};

/** One leg is open: its port is in no group that closes it. */
const openLeg: FaultKind = (world) => {
  const group = world.row('Port_Group', (row) => idOf(row).endsWith(':UDNIsolation:SecondaryPods'));
  const member = world.pick(list(group ?? {}, 'ports'));
  const port = world.rows('Logical_Switch_Port').find((row) => uuidOf(row) === member);
  if (group === undefined || member === undefined || port === undefined) return undefined;
  return {
    name: `${text(port, 'name')} in no group that closes it`,
    ...leaving('Port_Group', group, 'ports', member),
    checks: ['default network'],
    concerns: [pairs(port, 'external_ids')['heddle'] ?? ''],
  };
};

/** What lets pass before legs are closed. */
const passedLegs: FaultKind = (world) => {
  const legs = world
    .rows('Logical_Switch_Port')
    .filter(
      (row) =>
        idOf(row) === '' &&
        /^[a-z]+_[a-z]+$/.test(text(row, 'name')) &&
        text(row, 'name') !== 'monitoring_prometheus',
    );
  const leg = world.pick(legs);
  if (leg === undefined) return undefined;
  const name = text(leg, 'name');
  const [direction, side] = world.random.pick([
    ['to-lport', 'outport'],
    ['from-lport', 'inport'],
  ] as const);
  const match = world.random.pick([
    'ip4',
    `${side} == "${name}"`,
    `${side} == "${name}" && tcp`,
    `${side} == "${name}" && udp && udp.dst == 53`,
  ]);
  const priority = 1001 + world.random.below(1000);
  return {
    name: `ACL ${direction} ${priority} ${match}`,
    plant: `ovn-nbctl acl-add n1 ${direction} ${priority} '${match}' ${world.random.pick(['allow', 'allow-related', 'allow-stateless'])}`,
    undo: `ovn-nbctl acl-del n1 ${direction} ${priority} '${match}'`,
    checks: ['default network'],
    concerns: ['default'],
    where: new RegExp(`priority ${priority}`),
  };
};

/** A port of a pod that it does not open, or the host's right for more than the host. */
const widerLegs: FaultKind = (world) => {
  const acl = world.row('ACL', (row) =>
    /:UDNIsolation:(OpenPort-.*:Ingress|AllowHostPrimaryUDN)/.test(idOf(row)),
  );
  if (acl === undefined) return undefined;
  const match = text(acl, 'match');
  const wider = idOf(acl).includes('AllowHost')
    ? match.replace(/ip4\.src==[\d.]+/, 'ip4.src==10.128.0.0/14')
    : world.random.pick([
        match.replace(/tcp\.dst == \d+/, 'tcp.dst == 22'),
        match.replace(/\(tcp\.dst == \d+\)/, 'tcp'),
        match.replace(/"green_a"/, '"blue_a"'),
      ]);
  return {
    name: `${idOf(acl)} with match ${wider}`,
    ...setting('ovn-nbctl', 'ACL', acl, 'match', JSON.stringify(wider)),
    checks: ['default network'],
    concerns: ['default'],
  };
};

/** What a firewall denies is let pass, or what it allows is not, as the rule that decides is another one. */
const firewall: FaultKind = (world) => {
  const rule = (number: number): Row | undefined =>
    world.row('ACL', (row) => idOf(row).endsWith(`:EgressFirewall:blue:${number}`));
  const [allow, deny, last] = [rule(0), rule(1), rule(2)];
  if (allow === undefined || deny === undefined || last === undefined) return undefined;
  const set = (row: Row, column: string, value: string): Pick<RandomFault, 'plant' | 'undo'> =>
    setting('ovn-nbctl', 'ACL', row, column, value);
  const match = (row: Row, from: string, to: string): Pick<RandomFault, 'plant' | 'undo'> =>
    set(row, 'match', JSON.stringify(text(row, 'match').replace(from, to)));
  const [name, change] = world.random.pick([
    ['allows less', set(allow, 'action', 'drop')],
    ['allows behind what denies', set(allow, 'priority', '9000')],
    ['allows all ports', match(allow, ' && ((tcp && ( tcp.dst == 443 )))', '')],
    ['allows another port', match(allow, '443', '22')],
    ['allows more addresses', match(allow, '198.51.100.0/25', '198.51.100.0/24')],
    ['denies fewer addresses', match(deny, '198.51.100.0/24', '198.51.100.0/25')],
    ['denies before what allows', set(deny, 'priority', '10001')],
    ['denies no more', set(world.random.pick([deny, last]), 'action', 'allow')],
    ['denies more addresses', match(last, '203.0.113.0/24', '203.0.112.0/23')],
    ['denies in another direction', set(last, 'direction', 'from-lport')],
  ] as const);
  return {
    name: `a firewall that ${name}`,
    ...change,
    checks: ['firewalls'],
    concerns: ['EgressFirewall blue/default', 'blue_l3'],
  };
};

const lostFirewall: FaultKind = (world) => {
  const found = opened(world, /:EgressFirewall:blue:[12]$/);
  return (
    found && {
      ...found,
      checks: ['firewalls'],
      concerns: ['EgressFirewall blue/default', 'blue_l3'],
    }
  );
};

const NAMESPACES = ['green', 'yellow'] as const;
/** Policies of the two namespaces as the lab's manifests have them: pods there get nothing, and those of yellow send nothing, but what ACLs of `guarded` allow. */
const openPolicy: FaultKind = (world) => {
  const namespace = world.random.pick(NAMESPACES);
  const direction = namespace === 'yellow' ? '(Ingress|Egress)' : 'Ingress';
  const found = opened(
    world,
    new RegExp(`:NetpolNamespace:${namespace}:${direction}:defaultDeny$`),
  );
  return found && { ...found, checks: ['policies'], concerns: [`${namespace}_l3`] };
};

const POLICY_RULE = /:NetworkPolicy:(green|yellow):guarded:/;

/** Another match, action or priority of what a policy allows. */
const policyRule: FaultKind = (world) => {
  const found = aclOf(world, POLICY_RULE);
  if (found === undefined) return undefined;
  const { acl, table, holder } = found;
  const match = text(acl, 'match');
  const set = (column: string, value: string): Pick<RandomFault, 'plant' | 'undo'> =>
    setting('ovn-nbctl', 'ACL', acl, column, value);
  const rematch = (from: string | RegExp, to: string): Pick<RandomFault, 'plant' | 'undo'> =>
    set('match', JSON.stringify(match.replace(from, to)));
  const ways: [string, () => Pick<RandomFault, 'plant' | 'undo'>][] = [
    ['gone', () => removing('ACL', acl, table, holder, 'acls')],
    ['dropping', () => set('action', 'drop')],
    ['behind what denies', () => set('priority', '999')],
    ['for every address', () => rematch(/ip4\.(src|dst) == [^&]+/, 'ip4 ')],
    ['for no address', () => rematch(/ip4\.(src|dst) == [^&]+/, 'ip4.$1 == 192.0.2.1 ')],
    ['of no group', () => rematch(/@\w+/, '@nobody')],
  ];
  if (match.includes('tcp.dst')) {
    ways.push(['for every port', () => rematch(/tcp && tcp\.dst==\d+ && /, '')]);
    ways.push(['for another port', () => rematch(/tcp\.dst==\d+/, 'tcp.dst==22')]);
  }
  const [name, change] = world.random.pick(ways);
  const [, namespace = ''] = POLICY_RULE.exec(idOf(acl)) ?? [];
  return {
    name: `${idOf(acl)} ${name}`,
    ...change(),
    checks: ['policies'],
    concerns: [`${namespace}_l3`],
  };
};

/** A pod that is in no group of the policies that select it: nothing is closed there, or nothing opened. */
const ungrouped: FaultKind = (world) => {
  const group = world.row(
    'Port_Group',
    (row) =>
      /:(NetpolNamespace:(green:Ingress|yellow:\w+)|NetworkPolicy:(green|yellow):guarded)/.test(
        idOf(row),
      ) && list(row, 'ports').length > 0,
  );
  const member = world.pick(list(group ?? {}, 'ports'));
  if (group === undefined || member === undefined) return undefined;
  const [, namespace = ''] = /:(green|yellow)/.exec(idOf(group)) ?? [];
  return {
    name: `a pod in no group ${idOf(group)}`,
    ...leaving('Port_Group', group, 'ports', member),
    checks: ['policies'],
    concerns: [`${namespace}_l3`],
  };
};

/** A set that policies name, with an address more or less than pods that they select have. */
const changedSet: FaultKind = (world) => {
  const set = world.row('Address_Set', (row) => /:PodSelector:(green|yellow)_LS/.test(idOf(row)));
  if (set === undefined) return undefined;
  const [, namespace = ''] = /:PodSelector:(\w+)_LS/.exec(idOf(set)) ?? [];
  const fault = { checks: ['policies'], concerns: [`${namespace}_l3`] } as const;
  const [own = ''] = list(set, 'addresses');
  if (world.random.is(0.5))
    return {
      name: `a set of ${namespace} without ${own}`,
      ...leaving('Address_Set', set, 'addresses', `"${own}"`),
      ...fault,
    };
  const more = `${own.split('.').slice(0, 3).join('.')}.${100 + world.random.below(100)}`;
  return {
    name: `a set of ${namespace} with ${more}`,
    ...joining('Address_Set', set, 'addresses', `"${more}"`),
    ...fault,
  };
};

/** A connection of services alone lets pods begin connections with each other. */
const openConnection: FaultKind = (world) => {
  const fault = { checks: ['cut'], concerns: ['red_l2', 'white_l3'] } as const;
  const pass = world.row('ACL', (row) => idOf(row).endsWith(':pass-service'));
  if (pass !== undefined && world.random.is(0.3))
    return {
      name: 'a connection passes all as for services',
      ...setting('ovn-nbctl', 'ACL', pass, 'match', '"ip4"'),
      ...fault,
    };
  const found = opened(world, /:ClusterNetworkConnect:red-white:drop-pod-/);
  return found && { ...found, ...fault };
};

const balancerOf = (
  world: FaultWorld,
): { readonly row: Row; readonly object: string; readonly network: string } | undefined => {
  const row = world.row(
    'Load_Balancer',
    (one) => pairs(one, 'external_ids')['k8s.ovn.org/kind'] === 'Service',
  );
  const ids = pairs(row ?? {}, 'external_ids');
  return row && { row, object: ids['heddle'] ?? '', network: ids['k8s.ovn.org/network'] ?? '' };
};

/** A service where nobody wants it. */
const strayBalancer: FaultKind = (world) => {
  const balancer = balancerOf(world);
  const home = world.networkCalled(balancer?.network);
  const to = world.pick(
    world.networks.filter(
      ({ name }) => !['red_l2', 'white_l3', 'yellow_l3', 'purple_l2', home?.name].includes(name),
    ),
  );
  if (balancer === undefined || to === undefined) return undefined;
  const [table, holder] = world.random.pick([
    ['Logical_Switch', to.podSwitch],
    ['Logical_Router', to.gatewayRouter],
  ] as const);
  return {
    name: `${text(balancer.row, 'name')} on ${holder}`,
    ...joining(table, world.named(table, holder) ?? {}, 'load_balancer', uuidOf(balancer.row)),
    checks: ['load balancers'],
    concerns: [balancer.object, to.name],
    where: new RegExp(escaped(text(balancer.row, 'name'))),
  };
};

/** Addresses, ports and backends that are not of the service. */
const wrongBalancer: FaultKind = (world) => {
  const balancer = balancerOf(world);
  if (balancer === undefined) return undefined;
  const { row, object, network } = balancer;
  const [vip = '', backend = ''] =
    Object.entries(pairs(row, 'vips')).find(([, ends]) => ends !== '') ?? [];
  const other = world.pick(world.podPorts().filter((one) => one.network !== network));
  const address = text(other?.port ?? {}, 'addresses').split(' ')[1] ?? '';
  const elsewhere = world.pick(
    world
      .rows('Load_Balancer')
      .flatMap((one) =>
        pairs(one, 'external_ids')['heddle'] === object ? [] : Object.keys(pairs(one, 'vips')),
      )
      .filter((one) => one.startsWith('172.16.')),
  );
  if (other === undefined || elsewhere === undefined || address === '') return undefined;
  const [name, vips] = world.random.pick([
    [`leads ${vip} to ${address}`, { [vip]: `${address}:8080` }],
    [`leads ${vip} to ${address}, too`, { [vip]: `${backend},${address}:8080` }],
    [`leads ${vip} to another port`, { [vip]: backend.replace(/:\d+$/, ':22') }],
    ['has a port more', { [vip]: backend, [vip.replace(/:\d+$/, ':22')]: backend }],
    [`answers for ${elsewhere}`, { [vip]: backend, [elsewhere]: backend }],
  ] as const);
  return {
    name: `${text(row, 'name')} ${name}`,
    ...setting(
      'ovn-nbctl',
      'Load_Balancer',
      row,
      'vips',
      `{${Object.entries(vips)
        .map(([key, value]) => `${JSON.stringify(key)}=${JSON.stringify(value)}`)
        .join(',')}}`,
    ),
    checks: ['load balancers'],
    concerns: [object],
    where: new RegExp(escaped(text(row, 'name'))),
  };
};

/** A load balancer of nobody on a network, or on the router of a connection. */
const nobodysBalancer: FaultKind = (world) => {
  const [a, b] = world.two();
  const isConnection = world.random.is(0.3);
  const router = isConnection ? 'connect_router_yellow-purple' : a.gatewayRouter;
  return {
    name: `a load balancer of nobody on ${router}`,
    plant: `ovn-nbctl lb-add leak-lb 172.16.1.99:80 ${b.subnet.replace('0.0/16', '0.3')}:8080 -- lr-lb-add ${router} leak-lb`,
    undo: 'ovn-nbctl lb-del leak-lb',
    checks: ['load balancers'],
    concerns: isConnection ? ['ClusterNetworkConnect yellow-purple'] : [a.object, a.name],
    where: /leak-lb/,
  };
};

export const accessFaults: readonly FaultKind[] = [
  openLegs,
  openLeg,
  passedLegs,
  widerLegs,
  firewall,
  firewall,
  lostFirewall,
  openPolicy,
  policyRule,
  policyRule,
  ungrouped,
  changedSet,
  openConnection,
  strayBalancer,
  wrongBalancer,
  wrongBalancer,
  nobodysBalancer,
];
