import { describe, expect, test } from 'vitest';
import * as annotations from '../../../../src/api/annotations/node-annotations.ts';
import { DEFAULT_SETTINGS } from '../../../../src/model/settings.ts';
import {
  egressAddressesOn,
  nodeAnnotations,
  type GatewaySettings,
  type HostFacts,
} from '../../../../src/node/announcer/node-facts.ts';
import { node } from '../../../support/cluster/cluster.ts';

const IDS = {
  'system-id': 'b1f96182-2bdd-42b6-88f9-9a1fc1c85ece',
  'ovn-encap-type': 'geneve,vxlan',
  'ovn-encap-ip': '172.18.0.3',
  'ovn-bridge-mappings': 'localnet1:br-data,physnet:br-ex',
};
const lasting = (...addresses: string[]): HostFacts['devices'][number]['addresses'] =>
  addresses.map((address) => ({ address, isLasting: true }));

const host: HostFacts = {
  externalIds: new Map(Object.entries(IDS)),
  devices: [
    { name: 'lo', mac: '00:00:00:00:00:00', addresses: lasting('127.0.0.1/8', '::1/128') },
    {
      name: 'br-ex',
      mac: '0A:58:AC:12:00:03',
      addresses: [
        ...lasting('169.254.0.2/17', '172.18.0.9/24', '172.18.0.3/16'),
        { address: '172.18.0.4/16', isLasting: false },
        ...lasting('fc00:f853:ccd:e793::3/64', 'fe80::1/64'),
      ],
    },
    { name: 'ovn-k8s-mp0', mac: '0a:58:0a:f4:00:02', addresses: lasting('10.244.0.2/24') },
    { name: 'eth1', mac: '0a:58:ac:13:00:03', addresses: lasting('10.9.0.3/24') },
  ],
  defaultRoutes: [
    { dev: 'eth1', nextHop: '10.9.0.1', metric: 0 },
    { dev: 'br-ex', nextHop: '172.18.0.254', metric: 200 },
    { dev: 'br-ex', nextHop: '172.18.0.2', metric: 100 },
    { dev: 'br-ex', nextHop: '172.18.0.1', metric: 100 },
    { dev: 'br-ex', nextHop: 'fe80::1', metric: 1024 },
  ],
};
const shared: GatewaySettings = { mode: 'shared', nextHops: [], vlan: 0 };
const dual = [...DEFAULT_SETTINGS.clusterSubnets, { cidr: 'fd01::/48', hostLength: 64 }];

const said = (
  facts: HostFacts = host,
  gateway: Partial<GatewaySettings> = {},
  clusterSubnets = DEFAULT_SETTINGS.clusterSubnets,
  knownBy: readonly string[] = [],
): ReturnType<typeof nodeAnnotations> =>
  nodeAnnotations(facts, {
    node: 'n1',
    settings: { ...DEFAULT_SETTINGS, clusterSubnets },
    gateway: { ...shared, ...gateway },
    knownBy,
  });

const written = (...args: Parameters<typeof said>): Readonly<Record<string, string>> => {
  const result = said(...args);
  if (result.kind === 'awaited') throw new Error(result.message);
  return result.annotations;
};

const awaited = (...args: Parameters<typeof said>): string => {
  const result = said(...args);
  return result.kind === 'awaited' ? result.message : JSON.stringify(result.annotations);
};

const withIds = (ids: Readonly<Record<string, string>>): HostFacts => ({
  ...host,
  externalIds: new Map(Object.entries({ ...IDS, ...ids })),
});

describe('what a node says of itself', () => {
  test('is written as other implementations read it', () => {
    expect(written()).toEqual({
      'k8s.ovn.org/node-chassis-id': 'b1f96182-2bdd-42b6-88f9-9a1fc1c85ece',
      'k8s.ovn.org/l3-gateway-config':
        '{"default":{"mode":"shared","bridge-id":"br-ex","interface-id":"br-ex_n1","mac-address":"0a:58:ac:12:00:03","ip-addresses":["172.18.0.3/16"],"ip-address":"172.18.0.3/16","next-hops":["172.18.0.1","172.18.0.2"],"node-port-enable":"true","vlan-id":"0"}}',
      'k8s.ovn.org/node-primary-ifaddr': '{"ipv4":"172.18.0.3/16"}',
      'k8s.ovn.org/host-cidrs':
        '["10.9.0.3/24","172.18.0.3/16","172.18.0.4/16","172.18.0.9/24","fc00:f853:ccd:e793::3/64"]',
      'k8s.ovn.org/node-encap-ips': '["172.18.0.3"]',
      'k8s.ovn.org/node-masquerade-subnet': '{"ipv4":"169.254.0.0/17","ipv6":"fd69::/112"}',
      'k8s.ovn.org/layer2-topology-version': '2.0',
    });
  });

  test('has both families where the cluster has', () => {
    const all = written(host, { nextHops: ['172.18.0.1'] }, dual);
    expect(JSON.parse(all['k8s.ovn.org/l3-gateway-config'] ?? '')).toEqual({
      default: {
        mode: 'shared',
        'bridge-id': 'br-ex',
        'interface-id': 'br-ex_n1',
        'mac-address': '0a:58:ac:12:00:03',
        'ip-addresses': ['172.18.0.3/16', 'fc00:f853:ccd:e793::3/64'],
        'next-hops': ['172.18.0.1', 'fe80::1'],
        'node-port-enable': 'true',
        'vlan-id': '0',
      },
    });
    expect(all['k8s.ovn.org/node-primary-ifaddr']).toBe(
      '{"ipv4":"172.18.0.3/16","ipv6":"fc00:f853:ccd:e793::3/64"}',
    );
  });

  test('names mode, VLAN and next hop of the settings', () => {
    const config = written(host, { mode: 'local', vlan: 7, nextHops: ['172.18.0.100'] });
    expect(config['k8s.ovn.org/l3-gateway-config']).toContain('"mode":"local"');
    expect(config['k8s.ovn.org/l3-gateway-config']).toContain(
      '"next-hops":["172.18.0.100"],"next-hop":"172.18.0.100","node-port-enable":"true","vlan-id":"7"',
    );
  });

  test('needs neither bridge nor route without a gateway: the address of its tunnels is the primary one', () => {
    const facts = { ...withIds({ 'ovn-bridge-mappings': '', 'ovn-encap-ip': '10.9.0.3' }) };
    const all = written({ ...facts, defaultRoutes: [] }, { mode: 'disabled' });
    expect(all['k8s.ovn.org/l3-gateway-config']).toBe('{"default":{"mode":""}}');
    expect(all['k8s.ovn.org/node-primary-ifaddr']).toBe('{"ipv4":"10.9.0.3/24"}');
  });

  test('is the same in whatever order the kernel lists addresses and routes', () => {
    const turned = {
      ...host,
      devices: host.devices.toReversed(),
      defaultRoutes: host.defaultRoutes.toReversed(),
    };
    expect(written(turned)).toEqual(written());
  });

  test('stays when another address comes first', () => {
    const [lo, bridge] = host.devices;
    const more = lasting('fc00:f853:ccd:e793::4/64', 'fc00:f853:ccd:e793::3/64', '172.18.0.3/16');
    const facts = { ...host, devices: [lo!, { ...bridge!, addresses: more }] };
    const known = ['192.0.2.1', 'fc00:f853:ccd:e793::3'];
    expect(written(facts, {}, dual)['k8s.ovn.org/node-primary-ifaddr']).toContain('::4/64');
    expect(written(facts, {}, dual, known)['k8s.ovn.org/node-primary-ifaddr']).toBe(
      '{"ipv4":"172.18.0.3/16","ipv6":"fc00:f853:ccd:e793::3/64"}',
    );
  });

  test('is read back as it was meant', () => {
    const worker = node('n1', written(host, {}, dual));
    for (const read of [
      annotations.chassisId,
      annotations.gatewayConfig,
      annotations.primaryAddresses,
      annotations.hostCidrs,
      annotations.encapIps,
    ])
      expect(read(worker)).toMatchObject({ value: expect.anything() as unknown, errors: [] });
  });
});

describe('nothing is said', () => {
  const [, , , eth1] = host.devices;
  const noBridge = { ...host, devices: host.devices.filter(({ name }) => name !== 'br-ex') };
  const here = withIds({ 'ovn-encap-ip': '10.9.0.3' });
  test.each<[string, HostFacts, string]>([
    ['system-id', withIds({ 'system-id': '' }), 'external_ids:system-id of the local Open_vSwitch'],
    ['system-id', withIds({ 'system-id': 'a b' }), 'must be a name of letters'],
    ['tunnels', withIds({ 'ovn-encap-type': 'vxlan' }), 'ovn-encap-type'],
    [
      'tunnel address',
      withIds({ 'ovn-encap-ip': '172.18.0.99' }),
      'must be an address of this host',
    ],
    [
      'tunnel address',
      withIds({ 'ovn-encap-ip': '172.18.0.3,x"' }),
      'must be an IP address, is "x',
    ],
    ['tunnel address', withIds({ 'ovn-encap-ip': ',' }), 'must be a list of IP addresses'],
    ['bridge', withIds({ 'ovn-bridge-mappings': 'other:br-ex' }), 'has no bridge for physnet'],
    ['bridge', withIds({ 'ovn-bridge-mappings': 'physnet:b x' }), 'must be "physnet:" and'],
    [
      'device',
      { ...noBridge, externalIds: here.externalIds },
      'there is no device br-ex, the bridge of physnet',
    ],
    [
      'MAC address',
      { ...here, devices: [{ ...host.devices[1]!, mac: undefined }, eth1!] },
      'br-ex has no MAC address',
    ],
    [
      'address',
      { ...here, devices: [{ ...host.devices[1]!, addresses: [] }, eth1!] },
      'br-ex has no IPv4 address',
    ],
    [
      'way out',
      { ...host, defaultRoutes: [{ dev: 'eth1', nextHop: '10.9.0.1', metric: 0 }] },
      'there is no IPv4 default route over br-ex; add one, or set --gateway-nexthop',
    ],
  ])('of half a node: %s', (_what, facts, message) => {
    expect(awaited(facts)).toContain(message);
  });
});

test('addresses of EgressIPs are none of the host, wherever they are; what is masqueraded is none of EgressIPs', () => {
  const ours = (address: string) => ({ address, isLasting: true, isOurs: true }) as const;
  const [, bridge] = host.devices;
  const devices = [
    ...host.devices,
    { name: 'br-ex', mac: bridge?.mac, addresses: [ours('172.18.0.50/32')] },
    { name: 'br-ex', mac: bridge?.mac, addresses: [ours('169.254.0.2/17'), ours('fd00::50/128')] },
    { name: 'ovn-k8s-mp1', mac: undefined, addresses: [ours('10.40.0.2/24')] },
  ];
  expect(written({ ...host, devices })).toEqual(written());
  expect(
    egressAddressesOn(devices, 'br-ex', DEFAULT_SETTINGS).map(
      ({ address, isBridge }) => `${address} ${isBridge}`,
    ),
  ).toEqual(['172.18.0.50 true', 'fd00::50 true']);
});
