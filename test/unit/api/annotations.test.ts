import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { Annotated, Reading } from '../../../src/api/annotations/annotations.ts';
import * as network from '../../../src/api/annotations/network-annotations.ts';
import {
  defaultNetworkSelection,
  networkSelections,
} from '../../../src/api/annotations/network-selection.ts';
import * as node from '../../../src/api/annotations/node-annotations.ts';
import * as pod from '../../../src/api/annotations/pod-annotations.ts';

const worker = (annotations: Record<string, string>): Annotated => ({
  kind: 'Node',
  metadata: { name: 'worker', annotations },
});
const web = (annotations: Record<string, string>): Annotated => ({
  kind: 'Pod',
  metadata: { name: 'web', namespace: 'blue', annotations },
});
const messages = ({ errors }: Reading<unknown>): string[] => errors.map(({ message }) => message);

describe('annotations of a node', () => {
  test('name its subnets per network, IPv4 first, also as plain text', () => {
    const two = worker({
      'k8s.ovn.org/node-subnets':
        '{"default":["fd01::/64","10.244.0.0/24"],"udn-test_l3":"10.20.2.0/24"}',
    });
    const { value, errors } = node.nodeSubnets(two);
    expect(errors).toEqual([]);
    expect([...(value ?? [])]).toEqual([
      ['default', ['10.244.0.0/24', 'fd01::/64']],
      ['udn-test_l3', ['10.20.2.0/24']],
    ]);
    expect(node.nodeSubnetsOn(two, 'default').value).toEqual(['10.244.0.0/24', 'fd01::/64']);
    expect(node.nodeSubnetsOn(two, 'udn-test_l3').value).toEqual(['10.20.2.0/24']);
    expect(node.nodeSubnetsOn(two, 'other').value).toEqual([]);
    const entries = [...(value ?? [])].map((entry) => node.formatNodeSubnetEntry(...entry));
    expect(node.formatNodeSubnetEntries(entries)).toBe(
      '{"default":["10.244.0.0/24","fd01::/64"],"udn-test_l3":["10.20.2.0/24"]}',
    );
  });

  test('lose the broken network, not the others', () => {
    const broken = worker({ 'k8s.ovn.org/node-subnets': '{"a":["x"],"b":["10.0.0.0/24"]}' });
    const reading = node.nodeSubnets(broken);
    expect(node.nodeSubnetsOn(broken, 'a').value).toBeUndefined();
    expect(node.nodeSubnetsOn(broken, 'b').value).toEqual(['10.0.0.0/24']);
    expect([...(reading.value?.keys() ?? [])]).toEqual(['b']);
    expect(messages(reading)).toEqual([
      'Node worker: annotation k8s.ovn.org/node-subnets: "a": must be an IP address with prefix length, is "x"; ' +
        'the cluster manager writes it again: see that it runs',
    ]);
  });

  test('are removed when there is nothing to say', () => {
    expect(node.formatNodeSubnetEntries([])).toBeUndefined();
  });

  test('say what its gateway is', () => {
    const text =
      '{"default":{"mode":"shared","bridge-id":"br-ex","interface-id":"br-ex_node1","mac-address":"02:42:ac:12:00:03",' +
      '"ip-addresses":["172.18.0.3/16"],"ip-address":"172.18.0.3/16","next-hops":["172.18.0.1"],' +
      '"next-hop":"172.18.0.1","node-port-enable":"true","vlan-id":"0"}}';
    const { value } = node.gatewayConfig(worker({ 'k8s.ovn.org/l3-gateway-config': text }));
    expect(value).toEqual({
      mode: 'shared',
      bridge: 'br-ex',
      interfaceId: 'br-ex_node1',
      macAddress: '02:42:ac:12:00:03',
      addresses: ['172.18.0.3/16'],
      nextHops: ['172.18.0.1'],
      nodePortEnable: true,
      vlan: 0,
    });
    expect(value && node.formatGatewayConfig(value)).toBe(text);
  });

  test('say that there is no gateway', () => {
    const text = '{"default":{"mode":""}}';
    const { value } = node.gatewayConfig(worker({ 'k8s.ovn.org/l3-gateway-config': text }));
    expect(value).toEqual({ mode: 'disabled' });
    expect(node.formatGatewayConfig({ mode: 'disabled' })).toBe(text);
  });

  test.each([
    ['{', /^Node worker: annotation k8s.ovn.org\/l3-gateway-config: is not valid JSON/],
    ['{}', /has no entry "default"/],
    ['{"default":{"mode":"odd"}}', /default: mode must be "shared", "local" or "", is "odd"/],
    [
      '{"default":{"mode":"local","bridge-id":"br; rm"}}',
      /default: bridge-id: must be a name of letters, digits.*, is "br; rm"/,
    ],
  ])('that are broken name object, key, problem and remedy: %s', (text, message) => {
    const reading = node.gatewayConfig(worker({ 'k8s.ovn.org/l3-gateway-config': text }));
    expect(reading.value).toBeUndefined();
    expect(messages(reading)[0]).toMatch(message);
    expect(messages(reading)[0]).toMatch(/; remove the annotation: the node writes it again$/);
  });

  test.each([
    ['2', 2],
    ['5000', 5000],
    ['1', undefined],
    ['5001', undefined],
    ['2.5', undefined],
    [' 2', undefined],
    ['', undefined],
  ])('give node id %j', (text, id) => {
    const reading = node.nodeId(worker({ 'k8s.ovn.org/node-id': text }));
    expect(reading.value).toBe(id);
    expect(reading.errors).toHaveLength(id === undefined ? 1 : 0);
  });

  test('give addresses per family', () => {
    const annotations = {
      'k8s.ovn.org/node-transit-switch-port-ifaddr': '{"ipv4":"100.88.0.2/16","ipv6":"fd97::2/64"}',
      'k8s.ovn.org/node-primary-ifaddr': '{"ipv4":"172.18.0.3/16"}',
      'k8s.ovn.org/host-cidrs': '["172.18.0.3/16"]',
      'k8s.ovn.org/node-encap-ips': '["172.18.0.3"]',
    };
    expect(node.nodeTransitAddresses(worker(annotations)).value).toEqual({
      v4: '100.88.0.2/16',
      v6: 'fd97::2/64',
    });
    expect(node.primaryAddresses(worker(annotations)).value).toEqual({ v4: '172.18.0.3/16' });
    expect(node.hostCidrs(worker(annotations)).value).toEqual(['172.18.0.3/16']);
    expect(node.encapIps(worker(annotations)).value).toEqual(['172.18.0.3']);
    expect(node.formatFamilyCidrs({ v4: '100.88.0.2/16', v6: 'fd97::2/64' })).toBe(
      '{"ipv4":"100.88.0.2/16","ipv6":"fd97::2/64"}',
    );
  });

  test('refuse an address of the wrong family', () => {
    const reading = node.primaryAddresses(
      worker({ 'k8s.ovn.org/node-primary-ifaddr': '{"ipv4":"fd97::2/64"}' }),
    );
    expect(messages(reading)[0]).toContain('ipv4 must be of that family, is "fd97::2/64"');
  });

  test('name networks by which nothing leaves, each with why, and who says so', () => {
    const read = (text: string) =>
      node.egressNetworksDown(worker({ 'k8s.ovn.org/egress-networks-down': text }));
    const networks = new Map([
      ['fd00:172:18::/64', 'eth2 is down'],
      ['172.18.0.0/16', 'eth1 has no carrier'],
    ]);
    const text = node.formatEgressNetworksDown({ daemon: 'n1_1_a', networks });
    expect(text).toBe(
      '{"daemon":"n1_1_a","networks":{"172.18.0.0/16":"eth1 has no carrier","fd00:172:18::/64":"eth2 is down"}}',
    );
    expect(read(text).value).toEqual({ daemon: 'n1_1_a', networks });
    expect(read('{"daemon":"d","networks":{"172.18.0.9/16":"x"}}').value?.networks).toEqual(
      new Map([['172.18.0.0/16', 'x']]),
    );
    for (const [wrong, message] of [
      ['{"daemon":"d","networks":{"172.18.0.0":"x"}}', 'must be an IP address with prefix length'],
      ['{"daemon":"d","networks":{"172.18.0.0/16":"a\\nb"}}', 'must be a short text'],
      [`{"daemon":"d","networks":{"172.18.0.0/16":"${'x'.repeat(201)}"}}`, 'must be a short text'],
      ['{"daemon":"d","networks":{"172.18.0.0/16":1}}', 'must be a string'],
      ['{"networks":{}}', 'must be a string'],
      ['{"daemon":"d"}', 'must be a JSON object'],
    ] as const) {
      expect(read(wrong).value).toBeUndefined();
      expect(messages(read(wrong))[0]).toContain(message);
    }
  });

  test.each([
    [{}, true],
    [{ 'k8s.ovn.org/gateway-mtu-support': 'false' }, false],
    [{ 'k8s.ovn.org/gateway-mtu-support': 'true' }, true],
  ])('say whether OVN may check packet sizes: %j', (annotations, supported) => {
    expect(node.gatewayMtuSupport(worker(annotations as Record<string, string>)).value).toBe(
      supported,
    );
  });
});

describe('annotations of a pod', () => {
  const text =
    '{"default":{"ip_addresses":["10.244.0.3/24"],"mac_address":"0a:58:0a:f4:00:03",' +
    '"routes":[{"dest":"10.244.0.0/16","nextHop":"10.244.0.1"},{"dest":"100.64.0.0/16","nextHop":"10.244.0.1"}],' +
    '"ip_address":"10.244.0.3/24","role":"infrastructure-locked"},' +
    '"udn-test/l3-primary":{"ip_addresses":["10.20.2.5/24"],"mac_address":"0a:58:0a:14:02:05",' +
    '"gateway_ips":["10.20.2.1"],"routes":[{"dest":"10.20.0.0/16","nextHop":"10.20.2.1"},' +
    '{"dest":"10.96.0.0/16","nextHop":"10.20.2.1"},{"dest":"100.65.0.0/16","nextHop":"10.20.2.1"}],' +
    '"ip_address":"10.20.2.5/24","gateway_ip":"10.20.2.1","role":"primary"}}';

  test('hold its interfaces, and are written as they were read', () => {
    const { value, errors } = pod.podNetworks(web({ 'k8s.ovn.org/pod-networks': text }));
    expect(errors).toEqual([]);
    expect(value?.get('udn-test/l3-primary')).toEqual({
      addresses: ['10.20.2.5/24'],
      macAddress: '0a:58:0a:14:02:05',
      gateways: ['10.20.2.1'],
      routes: [
        { dest: '10.20.0.0/16', nextHop: '10.20.2.1' },
        { dest: '10.96.0.0/16', nextHop: '10.20.2.1' },
        { dest: '100.65.0.0/16', nextHop: '10.20.2.1' },
      ],
      role: 'primary',
    });
    expect(value && pod.formatPodNetworks(value)).toBe(text);
  });

  test('carry tunnel id, link-local gateway and two addresses', () => {
    const entry = {
      addresses: ['10.0.0.5/24', 'fd00::5/64'],
      macAddress: '0a:58:0a:00:00:05',
      gateways: ['10.0.0.1', 'fd00::1'],
      routes: [],
      ipv6LlaGateway: 'fe80::858:aff:fe00:1',
      tunnelId: 10,
      role: 'primary',
    } as const;
    const written = pod.formatPodNetworks(new Map([['blue/net', entry]])) ?? '';
    expect(written).toBe(
      '{"blue/net":{"ip_addresses":["10.0.0.5/24","fd00::5/64"],"mac_address":"0a:58:0a:00:00:05",' +
        '"gateway_ips":["10.0.0.1","fd00::1"],"ipv6_lla_gateway_ip":"fe80::858:aff:fe00:1","tunnel_id":10,"role":"primary"}}',
    );
    const read = pod.podNetworks(web({ 'k8s.ovn.org/pod-networks': written }));
    expect(read.value?.get('blue/net')).toEqual(entry);
  });

  test.each([
    [
      '{"a/b":{"mac_address":"0a:58:0a:00:00:05","ip_addresses":["10.0.0.5/24"],"gateway_ips":["10.0.0.1","10.0.0.2"]}}',
      'has one address but 2 gateways',
    ],
    [
      '{"a/b":{"mac_address":"0a:58:0a:00:00:05","routes":[{"dest":"0.0.0.0/0","nextHop":"10.0.0.1"}]}}',
      'has the default route 0.0.0.0/0 in routes',
    ],
    ['{"a/b":{"mac_address":"zz"}}', 'must be a MAC address, is "zz"'],
    [
      '{"a/b":{"mac_address":"0a:58:0a:00:00:05","role":"king"}}',
      'role must be "primary", "secondary" or "infrastructure-locked", is "king"',
    ],
    ['{"a/b":5}', 'must be a JSON object, is 5'],
    ['[]', 'must be a JSON object, is []'],
  ])('that are broken are reported: %s', (broken, message) => {
    const reading = pod.podNetworks(web({ 'k8s.ovn.org/pod-networks': broken }));
    expect(messages(reading).join()).toContain(message);
    expect(messages(reading).join()).toContain(
      'delete the pod, so that its addresses are allocated again',
    );
  });

  test('open ports of the default network', () => {
    const reading = pod.openDefaultPorts(
      web({ 'k8s.ovn.org/open-default-ports': '- protocol: tcp\n  port: 80\n- protocol: icmp\n' }),
    );
    expect(reading).toEqual({
      value: [{ protocol: 'tcp', port: 80 }, { protocol: 'icmp' }],
      errors: [],
    });
  });

  test.each([
    ['- protocol: icmp\n  port: 1', 'icmp has no port: remove "port"'],
    ['- protocol: tcp', 'tcp needs a "port"'],
    ['- protocol: tcp\n  port: 65536', 'must be a whole number from 0 to 65535, is 65536'],
    [
      '- protocol: "tcp || 1"\n  port: 80',
      'protocol must be tcp, udp, sctp or icmp, is "tcp || 1"',
    ],
    ['protocol: tcp', 'must be a JSON list'],
    ['- [', 'is not valid YAML'],
  ])('open no ports when broken: %j', (text, message) => {
    const reading = pod.openDefaultPorts(web({ 'k8s.ovn.org/open-default-ports': text }));
    expect(reading.value).toBeUndefined();
    expect(messages(reading).join()).toContain(message);
  });
});

describe('the networks that a pod asks for', () => {
  const select = (text: string): ReturnType<typeof networkSelections> =>
    networkSelections(web({ 'k8s.v1.cni.cncf.io/networks': text }));

  test('are a comma list of [namespace/]name[@interface]', () => {
    expect(select('a, red/b@eth5 ,a').value).toEqual([
      {
        namespace: 'blue',
        name: 'a',
        nadKey: 'blue/a',
        interfaceName: 'net1',
        ips: [],
        defaultRoute: [],
      },
      {
        namespace: 'red',
        name: 'b',
        nadKey: 'red/b',
        interfaceName: 'eth5',
        ips: [],
        defaultRoute: [],
      },
      {
        namespace: 'blue',
        name: 'a',
        nadKey: 'blue/a/1',
        interfaceName: 'net3',
        ips: [],
        defaultRoute: [],
      },
    ]);
  });

  test('are a JSON list with requests', () => {
    const text =
      '[{"name":"a","namespace":"red","ips":["192.168.2.205/24"],"mac":"CA:FE:C0:FF:EE:00",' +
      '"default-route":["192.168.2.1"],"ipam-claim-reference":"vm1","interface":"eth1"}]';
    expect(select(text).value).toEqual([
      {
        namespace: 'red',
        name: 'a',
        nadKey: 'red/a',
        interfaceName: 'eth1',
        ips: ['192.168.2.205/24'],
        mac: 'ca:fe:c0:ff:ee:00',
        defaultRoute: ['192.168.2.1'],
        ipamClaim: 'vm1',
      },
    ]);
  });

  test('are none when nothing is asked', () => {
    expect(networkSelections(web({}))).toEqual({ value: undefined, errors: [] });
    expect(select(' ').value).toEqual([]);
  });

  test.each([
    ['a/b/c', `can't read "a/b/c"`],
    ['a@b@c', `can't read "a@b@c"`],
    ['A_b', '"A_b" is no object name'],
    ['a,,b', '"" is no object name'],
    ['a@this-name-is-too-long', 'must have 1 to 15 characters'],
    ['{"name":"a"}', 'must be a JSON list'],
    ['[{"namespace":"red"}]', 'an entry has no "name"'],
    ['[{"name":"a","ips":["x"]}]', 'ips: "x" is no IP address'],
    ['[{"name":"a","mac":"x"}]', 'must be a MAC address'],
    ['[1]', 'must be a JSON object'],
  ])('that can not be read: %s', (text, message) => {
    expect(messages(select(text)).join()).toContain(message);
  });

  test('name at most one default network', () => {
    const one = '[{"name":"default","namespace":"ovn-kubernetes","mac":"02:03:04:05:06:07"}]';
    const key = 'v1.multus-cni.io/default-network';
    expect(defaultNetworkSelection(web({ [key]: one })).value).toMatchObject({
      nadKey: 'ovn-kubernetes/default',
      mac: '02:03:04:05:06:07',
    });
    const reading = defaultNetworkSelection(web({ [key]: 'a,b' }));
    expect(messages(reading).join()).toContain('has 2 entries; one is allowed');
  });
});

describe('annotations of networks', () => {
  const nad = (annotations: Record<string, string>): Annotated => ({
    kind: 'NetworkAttachmentDefinition',
    metadata: { name: 'net', namespace: 'blue', annotations },
  });

  test('give network id and tunnel keys', () => {
    const object = nad({
      'k8s.ovn.org/network-id': '1',
      'k8s.ovn.org/tunnel-keys': '[16711685,16715779]',
    });
    expect(network.networkId(object).value).toBe(1);
    expect(network.tunnelKeys(object).value).toEqual([16711685, 16715779]);
    expect(network.formatTunnelKeys([16711685, 16715779])).toBe('[16711685,16715779]');
    expect(network.formatTunnelKeys([])).toBe('[]');
  });

  test.each([
    ['k8s.ovn.org/network-id', 'x', 'failed to parse annotated network ID: '],
    ['k8s.ovn.org/network-id', '32768', 'failed to parse annotated network ID: '],
    ['k8s.ovn.org/tunnel-keys', '["1"]', 'failed to parse annotated tunnel keys: '],
    ['k8s.ovn.org/tunnel-keys', '{', 'failed to parse annotated tunnel keys: '],
  ])('%s %j is reported', (key, text, message) => {
    const object = nad({ [key]: text });
    const reading = key.endsWith('id') ? network.networkId(object) : network.tunnelKeys(object);
    expect(reading.errors[0]?.problem).toContain(message);
  });

  test('hold connect subnets under either key', () => {
    const text =
      '{"layer2_40":{"ipv4":"192.168.4.0/31"},"layer3_1":{"ipv4":"192.168.0.0/24","ipv6":"fd01::/120"}}';
    for (const key of ['k8s.ovn.org/network-connect-subnet', 'k8s.ovn.org/network-subnets']) {
      const { value } = network.connectSubnets(nad({ [key]: text }));
      expect(value?.get('layer3_1')).toEqual({ v4: '192.168.0.0/24', v6: 'fd01::/120' });
      expect(value && network.formatConnectSubnets(value)).toBe(text);
    }
    expect(network.formatConnectSubnets(new Map())).toBe('{}');
  });
});

test('no reader throws on any text', () => {
  const readers: readonly ((object: Annotated) => Reading<unknown>)[] = [
    node.nodeSubnets,
    (object) => node.nodeSubnetsOn(object, 'default'),
    node.nodeId,
    node.gatewayConfig,
    node.primaryAddresses,
    node.hostCidrs,
    node.gatewayMtuSupport,
    pod.podNetworks,
    pod.openDefaultPorts,
    pod.requestedPrimaryUdn,
    networkSelections,
    defaultNetworkSelection,
    network.networkId,
    network.tunnelKeys,
    network.connectSubnets,
    network.connectTunnelKey,
  ];
  const keys = [
    ...Object.values({ ...node, ...pod, ...network }).filter((value) => typeof value === 'string'),
    'k8s.v1.cni.cncf.io/networks',
    'v1.multus-cni.io/default-network',
  ];
  const texts = fc.oneof(
    fc.string(),
    fc.json(),
    fc.constantFrom('['.repeat(100_000), '{"__proto__":{"a":1}}', '{"default":{"mode":"local"}}'),
  );
  fc.assert(
    fc.property(texts, (text) => {
      const object = web(Object.fromEntries(keys.map((key) => [key, text])));
      for (const read of readers) expect(Array.isArray(read(object).errors)).toBe(true);
    }),
    { numRuns: 300 },
  );
});
