/** What `heddle validate` says of egress objects that are each valid. */
import { describe, expect, test } from 'vitest';
import { formatManifestError, parseManifest } from '../../../src/api/validation/manifest.ts';
import { checkTogether } from '../../../src/cli/validate-together.ts';
import { DEFAULT_SETTINGS } from '../../../src/model/settings.ts';

/** One line of a manifest each: `KIND [NAMESPACE/]NAME {SPEC} [{LABELS}]`. */
const VERSIONS: Readonly<Record<string, string>> = {
  Namespace: 'v1',
  Node: 'v1',
  Pod: 'v1',
  Service: 'v1',
  NetworkQoS: 'k8s.ovn.org/v1alpha1',
};

interface Written {
  readonly kind: string;
  readonly name: string;
  readonly labels?: string;
  readonly spec?: string;
  readonly rest?: string;
}

function text({ kind, name, labels = '{}', spec, rest = '' }: Written): string {
  const [last = '', namespace] = name.split('/').reverse();
  const within = namespace === undefined ? '' : `, namespace: ${namespace}`;
  return `apiVersion: ${VERSIONS[kind] ?? 'k8s.ovn.org/v1'}\nkind: ${kind}\nmetadata: { name: ${last}${within}, labels: ${labels}${rest} }\n${spec === undefined ? '' : `spec: ${spec}\n`}`;
}

function found(...objects: readonly Written[]) {
  const manifest = parseManifest(objects.map(text).join('---\n'), 'e.yaml');
  expect(manifest.errors).toEqual([]);
  const { warnings, notes } = checkTogether(manifest.documents, DEFAULT_SETTINGS);
  const shown = (errors: typeof warnings): string[] =>
    errors.map((error) => formatManifestError(error).replace(/^e\.yaml:\d+:\d+: /, ''));
  return { warnings: shown(warnings), notes: shown(notes) };
}

const NOTHING = { warnings: [], notes: [] };
const shop: Written = { kind: 'Namespace', name: 'shop', labels: '{ leaves: as-shop }' };
const egressIp = (name: string, spec: string): Written => ({
  kind: 'EgressIP',
  name,
  spec: `{ egressIPs: [172.18.0.200], namespaceSelector: { matchLabels: { leaves: as-shop } }, ${spec} }`,
});

describe('an EgressIP', () => {
  const partners: Written = {
    kind: 'EgressTrafficClass',
    name: 'partners',
    labels: '{ group: partners }',
    spec: '{ destinations: [{ cidr: 198.51.100.0/24 }] }',
  };
  const forClass = (group: string): Written =>
    egressIp('out', `trafficSelector: { matchLabels: { group: ${group} } }`);

  test('for a class of destinations that is there is in order', () => {
    expect(found(shop, partners, forClass('partners'))).toEqual(NOTHING);
  });

  test('for one that is not among those that are', () => {
    expect(found(shop, partners, forClass('partner')).warnings).toEqual([
      'EgressIP out: spec.trafficSelector: no EgressTrafficClass has such labels: nothing leaves with its addresses; create one, or correct the labels; did you mean group=partners?',
    ]);
  });

  test('for one where no class is declared: it may be in the cluster', () => {
    expect(found(shop, forClass('partners'))).toEqual({
      warnings: [],
      notes: [
        'EgressIP out: spec.trafficSelector: no EgressTrafficClass has such labels: nothing leaves with its addresses; create one, or correct the labels',
      ],
    });
  });

  test('for a class that has no network of the family of its addresses', () => {
    const six = { ...partners, spec: '{ destinations: [{ cidr: "2001:db8::/48" }] }' };
    expect(found(shop, six, forClass('partners')).warnings).toEqual([
      'EgressIP out: spec.trafficSelector: its addresses are IPv4, and EgressTrafficClass partners has no IPv4 network: nothing leaves with them; name one there, or write addresses of the other family',
    ]);
  });

  const node = (name: string, labels: string): Written => ({
    kind: 'Node',
    name,
    labels,
    rest: `, annotations: { k8s.ovn.org/node-primary-ifaddr: '{"ipv4":"172.18.0.${name.slice(1)}/16"}', k8s.ovn.org/l3-gateway-config: '{"default":{"mode":"shared","bridge-id":"breth0","interface-id":"breth0_${name}","mac-address":"0a:58:0a:00:00:01","ip-addresses":["172.18.0.${name.slice(1)}/16"],"next-hops":["172.18.0.1"],"node-port-enable":"true"}}' }`,
  });
  const ASSIGNABLE = '{ k8s.ovn.org/egress-assignable: "" }';
  const asking = (address: string, rest = ''): Written => ({
    ...egressIp('out', ''),
    spec: `{ egressIPs: [${address}], namespaceSelector: { matchLabels: { leaves: as-shop } } ${rest} }`,
  });

  test('with an address of a node, of its next hop, or of a service', () => {
    const service: Written = {
      kind: 'Service',
      name: 'shop/web',
      spec: '{ clusterIPs: [172.16.1.80], ports: [{ port: 80 }], externalIPs: [172.18.0.90] }',
    };
    const nodes = [node('n5', ASSIGNABLE), service, shop];
    const warnings = (address: string): string[] => found(...nodes, asking(address)).warnings;
    expect(warnings('172.18.0.200')).toEqual([]);
    const refused = (why: string): string =>
      `EgressIP out: spec.egressIPs: the cluster manager would refuse it: ${why}; write one that nobody has`;
    expect(warnings('172.18.0.5')).toEqual([refused('172.18.0.5 is a host (n5) IP address')]);
    expect(warnings('172.18.0.1')).toEqual([refused('172.18.0.1 is the next hop of node n5')]);
    expect(warnings('172.18.255.255')).toEqual([
      refused('172.18.255.255 is the address of a network, or of everybody in it'),
    ]);
    expect(warnings('172.18.0.90')).toEqual([
      refused('172.18.0.90 is an external address of Service shop/web (e.yaml:5)'),
    ]);
  });

  test('that no node, or too few of them, could have', () => {
    expect(found(shop, node('n5', '{}'), asking('172.18.0.200')).warnings).toEqual([
      'EgressIP out: spec.egressIPs: no node of these files may have them: give one the label k8s.ovn.org/egress-assignable',
    ]);
    const zone = ', egressNodeSelector: { matchLabels: { zone: dmz } }';
    expect(found(shop, node('n5', ASSIGNABLE), asking('172.18.0.200', zone)).warnings).toEqual([
      'EgressIP out: spec.egressNodeSelector: no node of these files has such labels, and its addresses have no node; label one, or correct the selector',
    ]);
    expect(found(shop, node('n5', ASSIGNABLE), asking('203.0.113.7')).warnings).toEqual([
      'EgressIP out: spec.egressIPs: 203.0.113.7 is in no network of the nodes that may have it (n5): write one of 172.18.0.0/16',
    ]);
    const two = asking('172.18.0.200, 172.18.0.201');
    expect(found(shop, node('n5', ASSIGNABLE), node('n6', ASSIGNABLE), two)).toEqual(NOTHING);
    expect(found(shop, node('n5', ASSIGNABLE), node('n6', '{}'), two).warnings).toEqual([
      'EgressIP out: spec.egressIPs: a node has one address of an EgressIP at most: of 2 that it asks for 1 have a node (n5); label more nodes, or write fewer',
    ]);
  });

  test('for pods that another one serves; not beside one for some destinations alone', () => {
    const other = { ...asking('172.18.0.201'), name: 'two' };
    expect(found(shop, asking('172.18.0.200'), other).warnings).toEqual([
      'EgressIP two: spec.namespaceSelector: EgressIP out (e.yaml:5) is for pods of namespace "shop", too: of two the older one serves a pod; select each by one of them',
    ]);
    const batch = ', podSelector: { matchLabels: { app: batch } }';
    expect(
      found(shop, { ...asking('172.18.0.202', batch), name: 'three' }, other).warnings,
    ).toHaveLength(1);
    const web = ', podSelector: { matchLabels: { app: web } }';
    expect(
      found(shop, asking('172.18.0.202', batch), { ...asking('172.18.0.203', web), name: 'w' }),
    ).toEqual(NOTHING);
    expect(found(shop, partners, forClass('partners'), other)).toEqual(NOTHING);
  });

  test('that selects no namespace or pod of the files is noted', () => {
    const near = { ...shop, labels: '{ leaves: as-shops }' };
    expect(found(near, asking('172.18.0.200'))).toEqual({
      warnings: [],
      notes: [
        'EgressIP out: spec.namespaceSelector: no namespace of these files has such labels; did you mean leaves=as-shops?',
      ],
    });
    const pod: Written = {
      kind: 'Pod',
      name: 'shop/web',
      labels: '{ app: web }',
      spec: '{ containers: [{ name: c, image: i }] }',
    };
    const batch = asking('172.18.0.200', ', podSelector: { matchLabels: { app: batch } }');
    expect(found(shop, pod, batch).notes).toEqual([
      'EgressIP out: spec.podSelector: no pod of these files has such labels',
    ]);
  });
});

describe('an EgressService', () => {
  const service = (spec: string): Written => ({
    kind: 'Service',
    name: 'shop/web',
    spec: `{ ports: [{ port: 80 }], ${spec} }`,
  });
  const egress: Written = {
    kind: 'EgressService',
    name: 'shop/web',
    spec: '{ sourceIPBy: Network }',
  };
  const byAddress = { ...egress, spec: '{ sourceIPBy: LoadBalancerIP }' };

  test('of a service with a load balancer is in order; an address may come later', () => {
    expect(found(shop, service('type: LoadBalancer'), egress)).toEqual(NOTHING);
    expect(found(shop, service('type: LoadBalancer'), byAddress)).toEqual({
      warnings: [],
      notes: [
        'EgressService shop/web: metadata.name: the load balancer of Service shop/web has no address yet: until it has one its pods send nothing out',
      ],
    });
  });

  test('of a service without', () => {
    expect(found(shop, service('type: ClusterIP'), egress).warnings).toEqual([
      'EgressService shop/web: metadata.name: Service shop/web has no load balancer (spec.type is not LoadBalancer): its pods send nothing out (Service shop/web (e.yaml:5)); give it type LoadBalancer, or take this object out',
    ]);
  });

  test('of a service that is not there, where those of its namespace are known', () => {
    expect(
      found(shop, service('type: LoadBalancer'), { ...egress, name: 'shop/wob' }).warnings,
    ).toEqual([
      'EgressService shop/wob: metadata.name: there is no Service shop/wob: an EgressService is for the service of its name: did you mean "shop/web"?',
    ]);
    expect(found({ ...egress, name: 'elsewhere/web' })).toEqual(NOTHING);
  });

  test('whose node would have the label of another one', () => {
    const balanced = service('type: LoadBalancer, externalIPs: []');
    const one = { ...balanced, name: 'a-b/c', rest: '' };
    const status = (written: Written): string =>
      `${text(written)}status: { loadBalancer: { ingress: [{ ip: 172.18.0.240 }] } }\n`;
    const documents = [
      status(one),
      status({ ...balanced, name: 'a/b-c' }),
      text({ ...byAddress, name: 'a-b/c' }),
      text({ ...byAddress, name: 'a/b-c' }),
    ].join('---\n');
    const { warnings } = checkTogether(
      parseManifest(documents, 'e.yaml').documents,
      DEFAULT_SETTINGS,
    );
    expect(warnings.map(formatManifestError)).toEqual([
      expect.stringContaining(
        'EgressService a/b-c: metadata.name: the label egress-service.k8s.ovn.org/a-b-c of its node would also be that of EgressService a-b/c',
      ),
    ]);
  });

  test('of which nodes would know pods of a primary network as those of another one', () => {
    const tenants: Written = {
      ...shop,
      name: 'blue',
      labels: "{ k8s.ovn.org/primary-user-defined-network: '' }",
    };
    const both = (network: string): readonly Written[] =>
      ['blue/s1', 'blue/s25'].map((name) => ({
        kind: 'EgressService',
        name,
        spec: `{ network: '${network}' }`,
      }));
    const of = (namespace: Written, network: string): readonly string[] =>
      found(namespace, ...both(network)).warnings.filter((text) => text.includes('spec.network'));
    expect(of(tenants, '1200')).toEqual([
      'EgressService blue/s25: spec.network: nodes would know its pods of primary networks by the address that those of EgressService blue/s1 (e.yaml:5) have there: pods of the younger of both send nothing out; give the Service, and this object, another name',
    ]);
    expect(of({ ...tenants, labels: '{}' }, '1200')).toEqual([]);
  });
});

describe('an EgressFirewall', () => {
  const firewall = (...rules: readonly string[]): Written => ({
    kind: 'EgressFirewall',
    name: 'shop/default',
    spec: `{ egress: [${rules.join(', ')}] }`,
  });
  const rule = (type: string, to: string, ports = ''): string =>
    `{ type: ${type}, to: { ${to} }${ports === '' ? '' : `, ports: [{ protocol: TCP, port: ${ports} }]`} }`;

  test('whose last rules are the widest is in order', () => {
    const all = rule('Deny', 'cidrSelector: 0.0.0.0/0');
    expect(
      found(
        shop,
        firewall(
          rule('Allow', 'cidrSelector: 198.51.100.0/24', '443'),
          rule('Deny', 'cidrSelector: 198.51.100.7/32'),
          rule('Allow', 'dnsName: example.org'),
          all,
          rule('Deny', 'cidrSelector: "::/0"'),
        ),
      ),
    ).toEqual(NOTHING);
  });

  test('with rules behind one that decides all that they are about', () => {
    const idle = (index: number, by: number): string =>
      `EgressFirewall shop/default: spec.egress[${index}]: never decides: the first rule that is about a packet does, and spec.egress[${by}] is about all that this one is; put it before that one, or take it out`;
    expect(
      found(
        shop,
        firewall(
          rule('Deny', 'cidrSelector: 198.51.100.0/24'),
          rule('Allow', 'cidrSelector: 198.51.100.7/32', '443'),
          rule('Deny', 'cidrSelector: 0.0.0.0/0'),
          rule('Allow', 'dnsName: example.org'),
          rule('Allow', 'cidrSelector: "2001:db8::/48"'),
        ),
      ).warnings,
    ).toEqual([idle(1, 0), idle(3, 2)]);
  });

  test('with a rule for nodes that are not there is noted', () => {
    const node: Written = { kind: 'Node', name: 'n1', labels: '{ role: worker }' };
    expect(
      found(shop, node, firewall(rule('Allow', 'nodeSelector: { matchLabels: { role: work } }')))
        .notes,
    ).toEqual([
      'EgressFirewall shop/default: spec.egress[0].to.nodeSelector: no node of these files has such labels; did you mean role=worker?',
    ]);
  });
});

describe('an AdminPolicyBasedExternalRoute', () => {
  const route = (nextHops: string, name = 'by-gateways'): Written => ({
    kind: 'AdminPolicyBasedExternalRoute',
    name,
    spec: `{ from: { namespaceSelector: { matchLabels: { leaves: as-shop } } }, nextHops: ${nextHops} }`,
  });
  const hop = '{ static: [{ ip: 172.18.0.51 }] }';

  test('with a next hop is in order; without, or with one twice, it is not', () => {
    expect(found(shop, route(hop))).toEqual(NOTHING);
    expect(found(shop, route('{ static: [] }')).warnings).toEqual([
      'AdminPolicyBasedExternalRoute by-gateways: spec.nextHops: names no next hop: pods leave as without it; write static ones, or select pods',
    ]);
    expect(
      found(shop, route('{ static: [{ ip: "fd00::1" }, { ip: "fd00:0::1" }] }')).warnings,
    ).toEqual([
      'AdminPolicyBasedExternalRoute by-gateways: spec.nextHops.static[1].ip: fd00::1 is there twice, and counts once; take it out',
    ]);
  });

  test('for a namespace that another one, or an EgressIP, has', () => {
    expect(found(shop, route(hop), route(hop, 'two')).warnings).toEqual([
      'AdminPolicyBasedExternalRoute two: spec.from.namespaceSelector: namespace "shop" is selected by AdminPolicyBasedExternalRoute by-gateways (e.yaml:5), too: of two the older one counts; select each namespace by one policy',
    ]);
    expect(found(shop, egressIp('out', ''), route(hop)).warnings).toEqual([
      'AdminPolicyBasedExternalRoute by-gateways: spec.from.namespaceSelector: pods of namespace "shop" have EgressIP out (e.yaml:5), which comes first: they leave by no next hop; select them by one of both',
    ]);
  });
});

describe('a NetworkQoS', () => {
  const qos = (name: string, spec: string): Written => ({
    kind: 'NetworkQoS',
    name: `shop/${name}`,
    spec: `{ egress: [{ dscp: 8 }], ${spec} }`,
  });
  const pods = (app: string): string => `podSelector: { matchLabels: { app: ${app} } }`;

  test('with a priority of its own, or for other pods, is in order', () => {
    expect(found(shop, qos('a', 'priority: 1'), qos('b', 'priority: 2'))).toEqual(NOTHING);
    expect(
      found(shop, qos('a', `priority: 1, ${pods('one')}`), qos('b', `priority: 1, ${pods('two')}`)),
    ).toEqual(NOTHING);
  });

  test('with the priority of another one for the same pods', () => {
    expect(
      found(shop, qos('a', 'priority: 1'), qos('b', `priority: 1, ${pods('two')}`)).warnings,
    ).toEqual([
      'NetworkQoS shop/b: spec.priority: NetworkQoS shop/a (e.yaml:5) has priority 1, too, and is for the same pods: of a packet that both mean the older one decides; give each its own',
    ]);
  });

  test('on a network without subnets', () => {
    const flat: Written = {
      kind: 'ClusterUserDefinedNetwork',
      name: 'flat',
      labels: '{ tier: flat }',
      spec: '{ namespaceSelector: {}, network: { topology: Layer2, layer2: { role: Secondary, ipam: { mode: Disabled } } } }',
    };
    const on = (tier: string): Written =>
      qos(
        'a',
        `priority: 1, networkSelectors: [{ networkSelectionType: ClusterUserDefinedNetworks, clusterUserDefinedNetworkSelector: { networkSelector: { matchLabels: { tier: ${tier} } } } }]`,
      );
    expect(found(shop, flat, on('flat')).warnings).toEqual([
      'NetworkQoS shop/a: spec.networkSelectors[0]: it selects ClusterUserDefinedNetwork flat (e.yaml:5), which has no subnets: pods have no addresses there, and nothing of them is marked or limited; select networks with subnets',
    ]);
    expect(found(shop, flat, on('media')).notes).toEqual([
      'NetworkQoS shop/a: spec.networkSelectors[0].clusterUserDefinedNetworkSelector.networkSelector: no ClusterUserDefinedNetwork of these files has such labels',
    ]);
  });
});

test.each(['EgressFirewall', 'EgressQoS'])('%s has one name', (kind) => {
  const { errors } = parseManifest(
    text({ kind, name: 'shop/mine', spec: '{ egress: [] }' }),
    'e.yaml',
  );
  expect(errors.map(formatManifestError)).toEqual([
    expect.stringMatching(new RegExp(`${kind} shop/mine: metadata\\.name: .*default`)),
  ]);
});
