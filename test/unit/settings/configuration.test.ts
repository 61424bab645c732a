import { describe, expect, test } from 'vitest';
import { ConfigurationError } from '../../../src/process/configuration-error.ts';
import { resolveConfiguration } from '../../../src/settings/configuration.ts';
import type { RawOptions } from '../../../src/settings/options.ts';

const resolve = (flags: RawOptions = {}, environment = {}, text?: string) =>
  resolveConfiguration({
    flags,
    environment,
    ...(text === undefined ? {} : { file: { name: 'heddle.yaml', text } }),
    kernelPortRange: '32768\t60999\n',
  });

describe('configuration', () => {
  test('nothing given: the defaults, with the port range of the kernel', () => {
    const { settings, timeout } = resolve();
    expect(settings.clusterSubnets).toEqual([{ cidr: '10.128.0.0/14', hostLength: 23 }]);
    expect(settings.masqueradeSubnets).toEqual({ v4: '169.254.0.0/17', v6: 'fd69::/112' });
    expect(settings.ephemeralPortRange).toBe('32768-60999');
    expect(timeout).toBe(30_000);
  });

  test('a flag beats the environment, which beats the file', () => {
    const file = 'mtu: 1300\nnode: from-file\nnb: unix:/file.sock\n';
    const environment = { HEDDLE_MTU: '1350', HEDDLE_NODE: 'from-environment' };
    const found = resolve({ mtu: '1400' }, environment, file);
    expect([found.settings.mtu, found.node, found.nb]).toEqual([
      1400,
      'from-environment',
      'unix:/file.sock',
    ]);
  });

  test('a node has settings of its own in the file, which beat those beside them', () => {
    const file = `nb: unix:/all.sock
sb: unix:/all-sb.sock
nodes: { n1: { nb: "unix:/n1.sock", timeout: 5 }, n2: {} }`;
    const found = (flags: RawOptions, environment = {}) => {
      const { node, nb, sb, timeout, knownNodes } = resolve(flags, environment, file);
      return [node, nb, sb, timeout, knownNodes.join(' ')];
    };
    const ofN1 = ['n1', 'unix:/n1.sock', 'unix:/all-sb.sock', 5000, 'n1 n2'];
    expect(found({ node: 'n1' })).toEqual(ofN1);
    expect(found({}, { HEDDLE_NODE: 'n1' })).toEqual(ofN1);
    expect(found({ node: 'n1', nb: 'unix:/x.sock' })[1]).toBe('unix:/x.sock');
    expect(found({ node: 'n2' })[1]).toBe('unix:/all.sock');
    expect(found({})[1]).toBe('unix:/all.sock');
    expect(resolve({}, {}, `node: n1\n${file}`).nb).toBe('unix:/n1.sock');
  });

  test.each([
    ['nodes: [n1]', /^heddle.yaml: nodes: must be a mapping of node to its settings$/],
    ['nodes: { n1: 5 }', /^heddle.yaml: nodes.n1: must be a mapping of setting to value$/],
    ['nodes: { n1: { nn: x } }', /^heddle.yaml: nodes.n1.nn: no such setting; /],
    ['nodes: { n1: { mtu: 1400 } }', /^heddle.yaml: nodes.n1.mtu: is the same on every node: /],
    ['nodes: { n1: { timeout: 0 } }', /^heddle.yaml: nodes.n1.timeout: "0" is not/],
    ['time-out: 5', /^heddle.yaml: time-out: no such setting; did you mean "timeout"\?$/],
  ])('%s is refused', (text, message) => {
    expect(() => resolve({ node: 'n1' }, {}, text)).toThrow(message);
  });

  test('a socket for container runtimes needs Open vSwitch', () => {
    const flags = { 'cni-socket': '/run/heddle/cni.sock' };
    expect(resolve({ ...flags, ovs: 'unix:/ovs' }).cniSocket).toBe('/run/heddle/cni.sock');
    expect(resolve({ 'cni-socket': '' }).cniSocket).toBeUndefined();
    expect(() => resolve(flags)).toThrow(/^--cni-socket: needs --ovs/);
    const conf = { 'cni-conf-dir': '/etc/cni/net.d' };
    expect(resolve({ ...flags, ...conf, ovs: 'unix:/ovs' }).cniConfDir).toBe('/etc/cni/net.d');
    expect(resolve({ ...flags, ovs: 'unix:/ovs' }).cniConfDir).toBeUndefined();
    expect(() => resolve(conf)).toThrow(/^--cni-conf-dir: needs --cni-socket/);
  });

  test('limits of networks, and nodes without subnets', () => {
    expect(resolve().manager).toEqual({
      limits: { networks: 32_767, networksPerNamespace: 50, preallocated: 256 },
      noHostSubnetNodes: undefined,
    });
    expect(
      resolve({
        'max-networks': '100',
        'max-networks-per-namespace': '2',
        'no-hostsubnet-nodes': 'kubernetes.io/os=windows,hybrid,!ovn',
      }).manager,
    ).toEqual({
      limits: { networks: 100, networksPerNamespace: 2, preallocated: 256 },
      noHostSubnetNodes: {
        matchExpressions: [
          { key: 'kubernetes.io/os', operator: 'In', values: ['windows'] },
          { key: 'hybrid', operator: 'Exists' },
          { key: 'ovn', operator: 'DoesNotExist' },
        ],
      },
    });
  });

  test('what tenants may connect themselves, if anything', () => {
    expect(resolve({ 'max-connects-per-namespace': '3' }).manager.tenantConnects).toBeUndefined();
    const range = (family: 'v4' | 'v6', base: bigint, length: number, networkPrefix: number) => ({
      cidr: { family, base, length },
      networkPrefix,
    });
    const flags = { 'tenant-connect-subnets': '172.30.0.0/16/24' };
    expect(resolve(flags).manager.tenantConnects).toEqual({
      pool: [range('v4', 0xac_1e_00_00n, 16, 24)],
      namespaces: undefined,
      types: ['PodNetwork', 'ServiceNetwork'],
      perNamespace: 10,
    });
    expect(
      resolve({
        'tenant-connect-subnets': '172.30.0.0/16/24,fd05::/112/120',
        'tenant-connect-namespaces': 'connects=allowed',
        'tenant-connect-types': 'ServiceNetwork',
        'max-connects-per-namespace': '2',
      }).manager.tenantConnects,
    ).toMatchObject({
      pool: [{ networkPrefix: 24 }, range('v6', 0xfd05n << 112n, 112, 120)],
      namespaces: {
        matchExpressions: [{ key: 'connects', operator: 'In', values: ['allowed'] }],
      },
      types: ['ServiceNetwork'],
      perNamespace: 2,
    });
  });

  test.each([
    [{ 'tenant-connect-subnets': '172.30.0.0/16' }, '"172.30.0.0/16" is not a range such as'],
    [{ 'tenant-connect-subnets': '172.30.0.0/16/16' }, '"16" is not a whole number from 17 to 31'],
    [{ 'tenant-connect-subnets': '172.30.1.0/16/24' }, 'host bits set: write 172.30.0.0/16'],
    [{ 'tenant-connect-subnets': '172.30.0.0/16/24,172.31.0.0/16/24' }, 'write one range, or one'],
    [{ 'tenant-connect-subnets': '172.30.0.0/16/24,fd05::/112/121' }, 'as many addresses'],
    [
      { 'tenant-connect-subnets': '100.64.0.0/10/24' },
      'Connect subnet 100.64.0.0/10 conflicts with join subnet 100.64.0.0/16 of the cluster',
    ],
    [{ 'tenant-connect-types': 'Everything' }, 'Everything'],
    [{ 'tenant-connect-types': '' }, 'write PodNetwork, or ServiceNetwork, or both'],
  ])('%j is refused: %s', (flags, text) => {
    expect(() => resolve(flags)).toThrow(text);
  });

  test('lists in the file may be YAML lists', () => {
    const found = resolve({}, {}, 'cluster-subnets: [10.244.0.0/16/24, "fd00:10:244::/48"]');
    expect(found.settings.clusterSubnets).toEqual([
      { cidr: '10.244.0.0/16', hostLength: 24 },
      { cidr: 'fd00:10:244::/48', hostLength: 64 },
    ]);
  });

  test('spans are sent where there is an endpoint, below the path of OTLP unless it has one, of all pods or a part', () => {
    const found = (flags: RawOptions): unknown => {
      const { traces } = resolve(flags);
      return traces && [traces.endpoint.href, traces.ratio];
    };
    expect(found({})).toBeUndefined();
    expect(found({ 'traces-ratio': '0.5' })).toBeUndefined();
    expect(found({ 'traces-endpoint': '' })).toBeUndefined();
    expect(found({ 'traces-endpoint': 'http://collector:4318' })).toEqual([
      'http://collector:4318/v1/traces',
      1,
    ]);
    expect(
      found({ 'traces-endpoint': 'https://x/otlp/v1/traces?a=b', 'traces-ratio': '0.05' }),
    ).toEqual(['https://x/otlp/v1/traces?a=b', 0.05]);
  });

  test('how long an egress node may be silent: parts of a second, too, or nobody is asked', () => {
    const timeoutOf = (text: string): number =>
      resolve({ 'egressip-reachability-total-timeout': text }).settings.egressHealth.timeout;
    expect(['0', '0.7', '12'].map(timeoutOf)).toEqual([0, 700, 12_000]);
  });

  test('the lease of the leader: as components of Kubernetes have it, or as given', () => {
    expect(resolve().leaseTiming).toEqual({ lease: 15_000, renew: 10_000, retry: 2000 });
    const given = resolve({
      'ha-election-lease-duration': '137',
      'ha-election-renew-deadline': '107',
      'ha-election-retry-period': '26',
    });
    expect(given.leaseTiming).toEqual({ lease: 137_000, renew: 107_000, retry: 26_000 });
  });

  test.each<[RawOptions, string]>([
    [
      { 'ha-election-lease-duration': '10' },
      '--ha-election-renew-deadline: 10 s is not less than --ha-election-lease-duration, 10 s',
    ],
    [
      { 'ha-election-renew-deadline': '2' },
      '--ha-election-retry-period: 2 s is not less than --ha-election-renew-deadline, 2 s',
    ],
    [{ mtu: 'big' }, '--mtu: "big" is not a whole number from 576 to 65536'],
    [
      { 'egressip-reachability-total-timeout': '0.1' },
      '--egressip-reachability-total-timeout: "0.1" is neither 0 nor a number from 0.5 to 3600',
    ],
    [
      { 'egressip-reachability-total-timeout': '1e3' },
      '--egressip-reachability-total-timeout: "1e3" is neither 0 nor a number from 0.5 to 3600',
    ],
    [
      { 'cluster-subnets': '10.244.0.0/16/16' },
      '--cluster-subnets: "10.244.0.0/16/16": the host length must be longer than /16',
    ],
    [
      { 'cluster-subnets': '10.244.0.0/16/24/24' },
      '--cluster-subnets: "10.244.0.0/16/24/24" is not a subnet such as 10.244.0.0/16/24',
    ],
    [
      { 'cluster-subnets': '10.244.0.1/16' },
      '--cluster-subnets: "10.244.0.1/16" has host bits set: write 10.244.0.0/16',
    ],
    [
      { 'gateway-interface': '--help', ovs: 'unix:/db' },
      '--gateway-interface: "--help" is not the name of a device: at most 15 letters, digits, "_", ".", "@" and "-"',
    ],
    [
      { 'gateway-interface': 'eth0', 'gateway-mode': 'disabled' },
      '--gateway-interface: has no use with --gateway-mode disabled; leave one of them out',
    ],
    [{ 'gateway-mode': 'local ' }, '--gateway-mode: "local " is none of shared, local, disabled'],
    [
      { 'gateway-nexthop': '172.18.0.1/16' },
      '--gateway-nexthop: "172.18.0.1/16" is not an address such as 172.18.0.1',
    ],
    [
      { 'gateway-nexthop': '172.18.0.1,172.18.0.2' },
      '--gateway-nexthop: "172.18.0.1,172.18.0.2" has two addresses of one family: write one of IPv4, one of IPv6',
    ],
    [
      { 'gateway-v4-join-subnet': 'fd98::/64' },
      '--gateway-v4-join-subnet: "fd98::/64" is not a subnet such as 10.244.0.0/16',
    ],
    [
      { 'gateway-v6-join-subnet': 'fd98::%eth0/64' },
      '--gateway-v6-join-subnet: "fd98::%eth0/64" is not a subnet such as fd98::/64',
    ],
    [
      { mtu: '1279', 'cluster-subnets': '10.244.0.0/16/24,fd00:10:244::/48' },
      '--mtu: 1279 is less than 1280, which IPv6 needs: raise it, or take the IPv6 ranges out of --cluster-subnets',
    ],
    [{ 'max-networks': '32768' }, '--max-networks: "32768" is not a whole number from 0 to 32767'],
    [
      { 'preallocated-networks': '4096' },
      '--preallocated-networks: "4096" is not a whole number from 0 to 4095',
    ],
    [
      { 'traces-endpoint': 'collector:4318' },
      '--traces-endpoint: "collector:4318" is no address of HTTP or HTTPS such as http://collector.observability:4318',
    ],
    [
      { 'traces-endpoint': 'http://me:secret@collector:4318' },
      '--traces-endpoint: has a name or a password in it, and settings are shown: write http://collector:4318/, a collector that asks for none and hands spans on',
    ],
    [
      { 'traces-endpoint': 'http://collector:4318/#there' },
      '--traces-endpoint: "http://collector:4318/#there" has a fragment (#): leave it out',
    ],
    [{ 'traces-ratio': '5%' }, '--traces-ratio: "5%" is no number from 0 to 1 such as 0.05'],
    [{ 'traces-ratio': '1.5' }, '--traces-ratio: "1.5" is no number from 0 to 1 such as 0.05'],
    [
      { 'no-hostsubnet-nodes': 'os=win dows' },
      '--no-hostsubnet-nodes: "os=win dows": "win dows" is no label value; write labels such as kubernetes.io/os=windows',
    ],
    [{ 'enable-egress-ip': 'yes' }, '--enable-egress-ip: "yes" is none of true, false'],
    [
      { 'udn-allowed-default-services': 'dns' },
      '--udn-allowed-default-services: "dns" is not namespace/name of a service',
    ],
    [
      { 'ovn-config-namespace': 'Open_Shift' },
      '--ovn-config-namespace: "Open_Shift" is no name of a namespace',
    ],
    [
      { 'ephemeral-port-range': '9-3' },
      '--ephemeral-port-range: "9-3" is not a range such as 32768-60999',
    ],
  ])('%o is refused', (flags, message) => {
    expect(() => resolve(flags)).toThrow(
      new ConfigurationError(
        message.split(': ')[0] ?? '',
        message.slice(message.indexOf(': ') + 2),
      ),
    );
  });

  test.each<[RawOptions, string]>([
    [
      { 'gateway-v4-masquerade-subnet': '169.254.0.0/30' },
      '--gateway-v4-masquerade-subnet: 169.254.0.0/30 is too small: 13 addresses are needed (11 for the node and 2 for each network), write 169.254.0.0/28 or a larger subnet',
    ],
    [
      { 'gateway-v6-masquerade-subnet': 'fd69::8/125' },
      '--gateway-v6-masquerade-subnet: fd69::8/125 is too small: 13 addresses are needed (11 for the node and 2 for each network), write fd69::/124 or a larger subnet',
    ],
    [
      { 'gateway-v4-masquerade-subnet': '169.254.0.0/25', 'max-networks': '100' },
      '--gateway-v4-masquerade-subnet: 169.254.0.0/25 is too small: 211 addresses are needed (11 for the node and 2 for each of the 100 networks of --max-networks), write 169.254.0.0/24 or a larger subnet',
    ],
    [
      { 'gateway-v4-masquerade-subnet': '169.254.0.0/30', 'max-networks': '0' },
      '--gateway-v4-masquerade-subnet: 169.254.0.0/30 is too small: 7 addresses are needed (for the node), write 169.254.0.0/29 or a larger subnet',
    ],
    [
      { 'gateway-v4-join-subnet': '100.64.0.6/31' },
      '--gateway-v4-join-subnet: 100.64.0.6/31 is too small: 3 addresses are needed (2 for the subnet and its router and 1 for each node), write 100.64.0.4/30 or a larger subnet',
    ],
    [
      { 'gateway-v6-join-subnet': 'fd98::/128' },
      '--gateway-v6-join-subnet: fd98::/128 is too small: 3 addresses are needed (2 for the subnet and its router and 1 for each node), write fd98::/126 or a larger subnet',
    ],
    [
      { 'cluster-manager-v4-transit-subnet': '100.88.0.0/32' },
      '--cluster-manager-v4-transit-subnet: 100.88.0.0/32 is too small: 3 addresses are needed (2 for the subnet and its router and 1 for each node), write 100.88.0.0/30 or a larger subnet',
    ],
    [
      { 'cluster-manager-v6-transit-subnet': 'fd97::/127' },
      '--cluster-manager-v6-transit-subnet: fd97::/127 is too small: 3 addresses are needed (2 for the subnet and its router and 1 for each node), write fd97::/126 or a larger subnet',
    ],
    [
      { 'cluster-subnets': '10.244.0.0/16/24,10.245.0.0/16/30' },
      '--cluster-subnets: 10.245.0.0/16/30: a subnet with host length 30 is too small for a node: it needs a gateway, a management port and pods, write a host length of at most 29',
    ],
  ])('%o is too small for what must fit', (flags, message) => {
    expect(() => resolve(flags)).toThrow(
      expect.objectContaining({ name: 'ConfigurationError', message }),
    );
  });

  test.each<RawOptions>([
    { 'gateway-v4-masquerade-subnet': '169.254.0.0/28' },
    { 'gateway-v4-masquerade-subnet': '169.254.0.0/29', 'max-networks': '0' },
    { 'gateway-v6-masquerade-subnet': 'fd69::/120', 'max-networks': '122' },
    {
      'gateway-v4-join-subnet': '100.64.0.0/30',
      'cluster-manager-v4-transit-subnet': '1.1.1.0/30',
    },
    { 'cluster-subnets': '10.244.0.0/16/29' },
  ])('%o is just large enough', (flags) => {
    expect(() => resolve(flags)).not.toThrow();
  });

  test('a subnet that is too small is blamed on the file that gave it', () => {
    expect(() => resolve({}, {}, 'gateway-v4-masquerade-subnet: 169.254.0.0/30')).toThrow(
      /^heddle.yaml: gateway-v4-masquerade-subnet: 169.254.0.0\/30 is too small/,
    );
  });

  test('the environment and the file are named in errors, unknown keys refused', () => {
    expect(() => resolve({}, { HEDDLE_MTU: '1' })).toThrow(/^HEDDLE_MTU: "1" is not/);
    expect(() => resolve({}, {}, 'mtu: 1')).toThrow(/^heddle.yaml: mtu: "1" is not/);
    expect(() => resolve({}, {}, 'mut: 1400')).toThrow(/^heddle.yaml: mut: no such setting/);
    expect(() => resolve({}, {}, '- a\n')).toThrow(/must be a YAML mapping/);
  });
});
