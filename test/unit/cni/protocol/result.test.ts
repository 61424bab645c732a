import { addAddress, addRoute, addRule, ADDRESS_FLAG, setLink } from 'rtnetlink-ts';
import { expect, test } from 'vitest';
import { CniError, CNI_CODE } from '../../../../src/cni/protocol/cni-error.ts';
import {
  hostMac,
  isHostDeviceOf,
  linkAlias,
  ownerOf,
  podRequests,
  podSysctls,
} from '../../../../src/cni/links/link-requests.ts';
import { networkStatus } from '../../../../src/cni/protocol/network-status.ts';
import {
  networkNames,
  requestedInterfaces,
  type LinkFacts,
} from '../../../../src/cni/links/pod-interfaces.ts';
import type { AddRequest } from '../../../../src/cni/protocol/request.ts';
import { addResult, errorResult, versionResult } from '../../../../src/cni/protocol/result.ts';
import { conflist, shimScript } from '../../../../src/cni/install/shim.ts';
import { nad, pod } from '../../../support/zone/pods.ts';

const container = '0123456789abcdef'.repeat(4);
const names = networkNames([nad('blue/l3-net', 'blue_l3-net'), nad('blue/extra', 'blue_extra')]);
const defaultNetwork = {
  nadKey: 'default',
  address: '10.244.1.5/24',
  role: 'infrastructure-locked' as const,
};
const primary = {
  nadKey: 'blue/l3-net',
  address: '10.20.1.5/24',
  role: 'primary' as const,
  gateway: '10.20.1.1',
  routes: [{ dest: '10.96.0.0/16', nextHop: '10.20.1.1' }],
};
const web = pod('blue/web', 'n1', [defaultNetwork, primary], 'u1');
const request: AddRequest = {
  command: 'ADD',
  version: '1.1.0',
  network: 'ovn-kubernetes',
  isSecondary: false,
  nad: undefined,
  container,
  device: 'eth0',
  netns: '/run/netns/x',
  pod: { namespace: 'blue', name: 'web', uid: 'u1' },
};
const linkFactsOf = (network: string | undefined): LinkFacts => ({
  mtu: network === undefined ? 1400 : 1300,
  isOnUnderlay: false,
});
const interfaces = requestedInterfaces(web, request, names, linkFactsOf);

test('an ADD for the default network brings the primary one along; the MTU is that of each', () => {
  expect(interfaces.map(({ device, mtu, isPrimary }) => [device, mtu, isPrimary])).toEqual([
    ['eth0', 1400, false],
    ['ovn-udn1', 1300, true],
  ]);
});

test('what may still come is worth another try, anything else is not', () => {
  const codeOf = (changed: Partial<AddRequest>, of = web): unknown => {
    try {
      return requestedInterfaces(of, { ...request, ...changed }, names, linkFactsOf).length;
    } catch (error) {
      return error instanceof CniError ? error.code : error;
    }
  };
  const again = CNI_CODE.tryAgainLater;
  expect(codeOf({ pod: { ...request.pod, uid: 'other' } })).toBe(again);
  expect(codeOf({}, pod('blue/web', 'n1', [defaultNetwork], 'u1'))).toBe(again);
  expect(codeOf({}, pod('blue/web', 'n1', [primary], 'u1'))).toBe(again);
  const extra = { isSecondary: true, nad: 'blue/extra', device: 'net1' };
  const wish = { ...web.metadata.annotations, 'k8s.v1.cni.cncf.io/networks': 'extra' };
  expect(codeOf(extra, { ...web, metadata: { ...web.metadata, annotations: wish } })).toBe(again);
  expect(codeOf(extra)).toBe(CNI_CODE.invalidConfig);
  expect(codeOf({ ...extra, nad: 'blue/l3-net' })).toBe(CNI_CODE.invalidConfig);
  const onHost = { ...web, spec: { nodeName: 'n1', hostNetwork: true } };
  expect(codeOf({}, onHost)).toBe(CNI_CODE.failed);
  const annotations = { ...web.metadata.annotations, 'kubernetes.io/config.source': 'file' };
  const fixed = { ...web, metadata: { ...web.metadata, annotations } };
  expect(codeOf({ pod: { ...request.pod, uid: 'hash' } }, fixed)).toBe(2);
});

test('a secondary network is found by its interface', () => {
  const selection = { 'k8s.v1.cni.cncf.io/networks': 'extra@first, extra@second' };
  const entry = { nadKey: 'blue/extra', address: '10.30.0.5/24', role: 'secondary' as const };
  const two = pod('blue/web', 'n1', [entry, { ...entry, nadKey: 'blue/extra/1' }], 'u1');
  const annotations = { ...two.metadata.annotations, ...selection };
  const asking = { ...two, metadata: { ...two.metadata, annotations } };
  const [found] = requestedInterfaces(
    asking,
    { ...request, isSecondary: true, nad: 'blue/extra', device: 'second' },
    names,
    linkFactsOf,
  );
  expect(found).toMatchObject({ nadKey: 'blue/extra/1', device: 'second' });
});

test.each(['extra', 'blue_extra'])(
  'of a NAD in the older form (reference/api.md §2), called %s, which does not say whose it is, as well',
  (network) => {
    const entry = { nadKey: 'blue/extra', address: '10.30.0.5/24', role: 'secondary' as const };
    const other = { ...entry, nadKey: 'blue/other' };
    const names004 = new Map([...names, ['blue/other', 'blue_other']]);
    const two = pod('blue/web', 'n1', [defaultNetwork, entry, other], 'u1');
    const annotations = {
      ...two.metadata.annotations,
      'k8s.v1.cni.cncf.io/networks': 'extra@net1, other@net2',
    };
    const asking = { ...two, metadata: { ...two.metadata, annotations } };
    const askFor = (device: string) =>
      requestedInterfaces(
        asking,
        { ...request, network, isSecondary: true, device },
        names004,
        linkFactsOf,
      );
    expect(askFor('net1')).toMatchObject([{ nadKey: 'blue/extra', device: 'net1' }]);
    expect(() => askFor('net2')).toThrow(/no entry of ".*extra" for interface net2/);
    expect(() => askFor('eth0')).toThrow(/no entry of/);
  },
);

test('results have what their version has', () => {
  const ends = interfaces.map((one) => ({ ...one, hostMac: '02:00:00:00:00:01' }));
  expect(addResult('1.1.0', ends, '/run/netns/x')).toEqual({
    cniVersion: '1.1.0',
    interfaces: [
      { name: '0123456789abcde', mac: '02:00:00:00:00:01', mtu: 1400 },
      { name: 'eth0', mac: '0a:58:0a:f4:01:05', mtu: 1400, sandbox: '/run/netns/x' },
      { name: '0123456789abc_3', mac: '02:00:00:00:00:01', mtu: 1300 },
      { name: 'ovn-udn1', mac: '0a:58:0a:14:01:05', mtu: 1300, sandbox: '/run/netns/x' },
    ],
    ips: [
      { address: '10.244.1.5/24', interface: 1 },
      { address: '10.20.1.5/24', interface: 3, gateway: '10.20.1.1' },
    ],
  });
  expect(addResult('1.0.0', ends.slice(0, 1), '/n')).toMatchObject({
    interfaces: [{ name: '0123456789abcde' }, { name: 'eth0', sandbox: '/n' }],
    ips: [{ address: '10.244.1.5/24', interface: 1 }],
  });
  expect(JSON.stringify(addResult('1.0.0', ends, '/n'))).not.toMatch(/mtu|version"/);
  expect(addResult('0.3.1', ends.slice(0, 1), '/n')).toMatchObject({
    cniVersion: '0.3.1',
    ips: [{ version: '4', address: '10.244.1.5/24', interface: 1 }],
  });
});

test('errors and versions', () => {
  expect(errorResult('1.0.0', new CniError('no pod', CNI_CODE.tryAgainLater, 'more'))).toEqual({
    cniVersion: '1.0.0',
    code: 11,
    msg: 'no pod',
    details: 'more',
  });
  expect(errorResult('1.0.0', new TypeError('oops'))).toMatchObject({ code: 100, msg: 'oops' });
  expect(versionResult('0.4.0')).toEqual({
    cniVersion: '0.4.0',
    supportedVersions: ['0.3.1', '0.4.0', '1.0.0', '1.1.0'],
  });
});

test('the network-status annotation shows both networks, the primary one as default', () => {
  expect(JSON.parse(networkStatus('ovn-kubernetes', interfaces))).toEqual([
    {
      name: 'ovn-kubernetes',
      interface: 'eth0',
      ips: ['10.244.1.5'],
      mac: '0a:58:0a:f4:01:05',
      dns: {},
    },
    {
      name: 'ovn-kubernetes',
      interface: 'ovn-udn1',
      ips: ['10.20.1.5'],
      mac: '0a:58:0a:14:01:05',
      default: true,
      dns: {},
    },
  ]);
});

test('a link on the host says whose it is', () => {
  for (const owner of [
    { container, device: 'eth0' },
    { container, device: 'eth0', uid: 'u1' },
  ])
    expect(ownerOf(linkAlias(owner))).toEqual(owner);
  expect(['', 'heddle blue', 'heddle-cni a', 'heddle-cni a b c d'].map(ownerOf)).toEqual(
    Array.from({ length: 4 }),
  );
  expect(hostMac(container, 'eth0')).toMatch(/^02(:[0-9a-f]{2}){5}$/);
  expect(hostMac(container, 'eth0')).not.toBe(hostMac(container, 'ovn-udn1'));
  const isOwn = (name: string): boolean => isHostDeviceOf(container, name);
  expect(['0123456789abcde', '0123456789abc_3', '0123456789a_123'].filter(isOwn)).toHaveLength(3);
  expect(['0123456789abcd', '0123456789abcdx', '0123_3', 'eth0', '_3', ''].filter(isOwn)).toEqual(
    [],
  );
});

test('nobody is taken for a router because it says so, but those of a physical network where the pod has no gateway', () => {
  const [, one] = interfaces;
  if (one === undefined) throw new Error('no interface');
  const takesRouters = (changed: object): boolean =>
    !podSysctls({ ...one, addresses: ['fd20::5/64'], ...changed }).some(
      ([key, value]) => key === 'net/ipv6/conf/ovn-udn1/accept_ra' && value === '0',
    );
  expect(takesRouters({})).toBe(false);
  expect(takesRouters({ gateways: [] })).toBe(false);
  expect(takesRouters({ addresses: ['10.20.1.5/24'] })).toBe(false);
  expect(takesRouters({ addresses: [], gateways: [] })).toBe(true);
  expect(takesRouters({ isOnUnderlay: true })).toBe(false);
  expect(takesRouters({ isOnUnderlay: true, gateways: [] })).toBe(true);
});

test('IPv6 addresses are there at once', () => {
  const [, one] = interfaces;
  if (one === undefined) throw new Error('no interface');
  const dual = { ...one, addresses: ['10.20.1.5/24', 'fd20::5/64'] };
  expect(podSysctls(one)).toEqual([['net/ipv6/conf/ovn-udn1/accept_ra', '0']]);
  expect(podSysctls(dual).map(([key, value]) => `${key}=${value}`)).toEqual([
    'net/ipv6/conf/ovn-udn1/disable_ipv6=0',
    'net/ipv6/conf/ovn-udn1/dad_transmits=0',
    'net/ipv6/conf/ovn-udn1/accept_dad=0',
    'net/ipv6/conf/ovn-udn1/addr_gen_mode=0',
    'net/ipv6/conf/ovn-udn1/accept_ra=0',
  ]);
  const device = 7;
  const hops = [{ via: '10.20.1.1', device }];
  expect(podRequests(dual, device)).toEqual([
    setLink(device, { isUp: true }),
    addAddress({ device, address: '10.20.1.5/24' }),
    addAddress({ device, address: 'fd20::5/64', flags: ADDRESS_FLAG.noDad }),
    addRoute({ destination: '0.0.0.0/0', hops }),
    addRoute({ destination: '10.96.0.0/16', hops }),
  ]);
});

test('routes out of a secondary network have a table of their own, which answers of other interfaces do not take, and answers of this one another', () => {
  const [, one] = interfaces;
  if (one === undefined) throw new Error('no interface');
  const device = 7;
  const routes = [
    { dest: '203.0.113.0/24', nextHop: '10.20.1.1' },
    { dest: '2001:db8::/32', nextHop: 'fd20::1' },
  ];
  const otherAddresses = ['10.244.0.3', '10.30.0.3'];
  const wayOut = {
    table: 1002,
    routes,
    otherAddresses,
    ownTable: 2002,
    own: [
      { address: '10.20.1.5/24', gateway: '10.20.1.1' },
      { address: 'fd20::5/64', gateway: 'fd20::1' },
    ],
  };
  const before = podRequests(one, device);
  const priority = 2004;
  expect(podRequests({ ...one, wayOut }, device)).toEqual([
    ...before,
    addRoute({ destination: '203.0.113.0/24', table: 1002, hops: [{ via: '10.20.1.1', device }] }),
    addRoute({ destination: '2001:db8::/32', table: 1002, hops: [{ via: 'fd20::1', device }] }),
    addRule({ family: 'v4', priority, source: '10.244.0.3/32', table: 254 }),
    addRule({ family: 'v4', priority, source: '10.30.0.3/32', table: 254 }),
    addRule({ family: 'v4', priority: priority + 1, table: 1002 }),
    addRule({ family: 'v6', priority: priority + 1, table: 1002 }),
    addRoute({ destination: '10.20.1.0/24', table: 2002, hops: [{ device }] }),
    addRoute({ destination: '0.0.0.0/0', table: 2002, hops: [{ via: '10.20.1.1', device }] }),
    addRule({ family: 'v4', priority: 1002, source: '10.20.1.5/32', table: 2002 }),
    addRoute({ destination: 'fd20::/64', table: 2002, hops: [{ device }] }),
    addRoute({ destination: '::/0', table: 2002, hops: [{ via: 'fd20::1', device }] }),
    addRule({ family: 'v6', priority: 1002, source: 'fd20::5/128', table: 2002 }),
  ]);
});

test('the plugin takes paths that a shell reads as themselves, and its configuration is one of each version', () => {
  expect(() => shimScript('/run/a b')).toThrow(/"\/run\/a b"/);
  expect(() => shimScript("/run/$(id)'")).toThrow(/letters/);
  expect(JSON.parse(conflist())).toMatchObject({ plugins: [{ type: 'heddle-cni' }] });
});
