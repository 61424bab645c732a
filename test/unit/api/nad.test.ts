import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { incompatibility, parseNad, renderNad } from '../../../src/api/nad/nad.ts';
import { parseNetworkConfig } from '../../../src/api/nad/nad-config.ts';
import type { NetworkConfig } from '../../../src/api/nad/network-config.ts';
import { cudn, layer2, layer3, localnet, settings, udn, validNetwork } from './objects.ts';

const rendered = (object: unknown, namespace: string): string => {
  const nad = renderNad(validNetwork(object), namespace, settings);
  return nad.kind === 'value' ? (nad.value.nad.spec?.config ?? '') : nad.error;
};

describe('the configuration of a NAD', () => {
  test.each([
    [
      'primary layer3',
      udn(
        {
          topology: 'Layer3',
          layer3: { role: 'Primary', subnets: [{ cidr: '10.20.0.0/16', hostSubnet: 24 }] },
        },
        { name: 'l3-primary', namespace: 'udn-test' },
      ),
      'udn-test',
      '{"cniVersion":"1.1.0","joinSubnet":"100.65.0.0/16,fd99::/64","name":"udn-test_l3-primary",' +
        '"netAttachDefName":"udn-test/l3-primary","role":"primary","subnets":"10.20.0.0/16/24",' +
        '"topology":"layer3","type":"ovn-k8s-cni-overlay"}',
    ],
    [
      'secondary layer3 without host subnet, with MTU',
      layer3({ role: 'Secondary', mtu: 1300, subnets: [{ cidr: '10.30.0.0/16' }] }),
      'blue',
      '{"cniVersion":"1.1.0","mtu":1300,"name":"blue_net","netAttachDefName":"blue/net","role":"secondary",' +
        '"subnets":"10.30.0.0/16","topology":"layer3","type":"ovn-k8s-cni-overlay"}',
    ],
    [
      'primary layer2 with everything',
      layer2({
        role: 'Primary',
        subnets: ['10.100.0.0/16'],
        joinSubnets: ['100.66.0.0/16'],
        reservedSubnets: ['10.100.1.0/24'],
        infrastructureSubnets: ['10.100.0.0/30'],
        defaultGatewayIPs: ['10.100.0.2'],
        ipam: { lifecycle: 'Persistent' },
      }),
      'blue',
      '{"allowPersistentIPs":true,"cniVersion":"1.1.0","defaultGatewayIPs":"10.100.0.2",' +
        '"infrastructureSubnets":"10.100.0.0/30","joinSubnet":"100.66.0.0/16","name":"blue_net",' +
        '"netAttachDefName":"blue/net","reservedSubnets":"10.100.1.0/24","role":"primary",' +
        '"subnets":"10.100.0.0/16","topology":"layer2","transitSubnet":"100.88.0.0/16","type":"ovn-k8s-cni-overlay"}',
    ],
    [
      'localnet of a cluster network: MTU without tunnel overhead',
      localnet({
        subnets: ['192.168.0.0/24'],
        excludeSubnets: ['192.168.0.0/28'],
        vlan: { mode: 'Access', access: { id: 10 } },
      }),
      'red',
      '{"cniVersion":"1.1.0","excludeSubnets":"192.168.0.0/28","mtu":1500,"name":"cluster_udn_green",' +
        '"netAttachDefName":"red/green","physicalNetworkName":"tenantblue","role":"secondary",' +
        '"subnets":"192.168.0.0/24","topology":"localnet","type":"ovn-k8s-cni-overlay","vlanID":10}',
    ],
    [
      'transport without overlay',
      cudn({
        network: {
          topology: 'Layer3',
          layer3: { role: 'Primary', subnets: [{ cidr: '10.40.0.0/16' }] },
          transport: 'NoOverlay',
          noOverlay: { outboundSNAT: 'Disabled', routing: 'Managed' },
        },
      }),
      'red',
      '{"cniVersion":"1.1.0","joinSubnet":"100.65.0.0/16,fd99::/64","name":"cluster_udn_green",' +
        '"netAttachDefName":"red/green","outboundSNAT":"disabled","role":"primary","subnets":"10.40.0.0/16",' +
        '"topology":"layer3","transport":"no-overlay","type":"ovn-k8s-cni-overlay"}',
    ],
    [
      'OVNSecondaryNetwork: a flat secondary network',
      {
        apiVersion: 'k8s.ovn.org/v1alpha1',
        kind: 'OVNSecondaryNetwork',
        metadata: { name: 'overlay', namespace: 'blue' },
        spec: { subnet: '10.10.10.0/24' },
      },
      'blue',
      '{"cniVersion":"1.1.0","name":"secondary_blue_overlay","netAttachDefName":"blue/overlay",' +
        '"role":"secondary","subnets":"10.10.10.0/24","topology":"layer2","type":"ovn-k8s-cni-overlay"}',
    ],
    [
      'OVNSecondaryNetwork with external connectivity: on the underlay',
      {
        apiVersion: 'k8s.ovn.org/v1alpha1',
        kind: 'OVNSecondaryNetwork',
        metadata: { name: 'overlay', namespace: 'blue' },
        spec: { hasExternalConnectivity: true, mtu: 9000 },
      },
      'blue',
      '{"cniVersion":"1.1.0","mtu":9000,"name":"secondary_blue_overlay","netAttachDefName":"blue/overlay",' +
        '"physicalNetworkName":"physnet","role":"secondary","topology":"localnet","type":"ovn-k8s-cni-overlay"}',
    ],
  ])('of %s', (_, object, namespace, config) => {
    expect(rendered(object, namespace)).toBe(config);
  });

  test.each([
    [
      'an empty namespace',
      layer3({ role: 'Primary', subnets: [{ cidr: '10.20.0.0/16' }] }),
      '',
      'namespace should not be empty',
    ],
    [
      'pods in the cluster subnet',
      layer3({ role: 'Primary', subnets: [{ cidr: '10.244.1.0/24', hostSubnet: 26 }] }),
      'blue',
      'invalid subnet configuration: pod or join subnet overlaps with already configured internal subnets: ' +
        'user defined subnet "10.244.1.0/24" overlaps cluster subnet "10.244.0.0/16"',
    ],
    [
      'an IPv6 host subnet that is not /64',
      layer3({ role: 'Primary', subnets: [{ cidr: 'fd01::/48', hostSubnet: 80 }] }),
      'blue',
      'IPv6 only supports /64 host subnets',
    ],
    [
      'a transport that the cluster does not have',
      cudn({
        network: {
          topology: 'Layer2',
          layer2: { role: 'Primary', subnets: ['10.40.0.0/16'] },
          transport: 'EVPN',
          evpn: { vtep: 'a', macVRF: { vni: 5 } },
        },
      }),
      'blue',
      'EVPN transport requested but EVPN feature is not enabled',
    ],
    [
      'the cluster subnet on the underlay',
      {
        apiVersion: 'k8s.ovn.org/v1alpha1',
        kind: 'OVNSecondaryNetwork',
        metadata: { name: 'overlay', namespace: 'blue' },
        spec: { subnet: '10.244.9.0/24', hasExternalConnectivity: true },
      },
      'blue',
      'user defined subnet "10.244.9.0/24" overlaps cluster subnet "10.244.0.0/16": ' +
        'choose a range of the underlay that the cluster does not use',
    ],
  ])('is refused for %s', (_, object, namespace, error) => {
    expect(rendered(object, namespace)).toBe(
      `failed to generate NetworkAttachmentDefinition: failed to render CNI network config: ${error}`,
    );
  });

  test.each([
    [
      { topology: 'Layer3' },
      'invalid topology specified: topology Layer3 is specified but Layer3 config is nil',
    ],
    [
      {
        topology: 'Layer2',
        layer2: { role: 'Primary', ipam: { mode: 'Disabled', lifecycle: 'Persistent' } },
      },
      'lifecycle Persistent is only supported when ipam.mode is Enabled',
    ],
    [
      { topology: 'Layer2', layer2: { role: 'Primary' } },
      'subnets is required with ipam.mode is Enabled or unset',
    ],
    [
      {
        topology: 'Layer2',
        layer2: { role: 'Secondary', subnets: ['10.0.0.0/24'], ipam: { mode: 'Disabled' } },
      },
      'subnets must be unset when ipam.mode is Disabled',
    ],
  ])('is refused for a stored spec that breaks the rules: %j', (spec, error) => {
    const object = {
      ...validNetwork(layer2({ role: 'Secondary', subnets: ['10.0.0.0/24'] })),
      spec,
    };
    const nad = renderNad(
      object as typeof object & { kind: 'UserDefinedNetwork' } as never,
      'blue',
      settings,
    );
    expect(nad).toEqual({
      kind: 'invalid',
      error: `failed to generate NetworkAttachmentDefinition: failed to render CNI network config: ${error}`,
    });
  });

  test('is refused when persistent addresses are off', () => {
    const object = validNetwork(
      layer2({ role: 'Primary', subnets: ['10.0.0.0/24'], ipam: { lifecycle: 'Persistent' } }),
    );
    const nad = renderNad(object, 'blue', settings, { persistentIPs: false });
    expect(nad.kind === 'value' ? '' : nad.error).toContain(
      'allowPersistentIPs is set but persistentIPs is Disabled',
    );
  });
});

test('a NAD is owned by the network, protected, and carries its labels and foreign annotations', () => {
  const object = udn(
    { topology: 'Layer2', layer2: { role: 'Primary', subnets: ['10.0.0.0/24'] } },
    {
      uid: 'f45efb13-9511-48c1-95d7-44ee17c949f4',
      labels: { team: 'a', 'k8s.ovn.org/user-defined-network': 'mine' },
      annotations: { note: 'b', 'k8s.ovn.org/anything': 'c' },
    },
  );
  const nad = renderNad(validNetwork(object), 'blue', settings);
  expect(nad.kind === 'value' && nad.value.nad.metadata).toEqual({
    name: 'net',
    namespace: 'blue',
    labels: { team: 'a', 'k8s.ovn.org/user-defined-network': 'mine' },
    annotations: { note: 'b' },
    finalizers: ['k8s.ovn.org/user-defined-network-protection'],
    ownerReferences: [
      {
        apiVersion: 'k8s.ovn.org/v1',
        kind: 'UserDefinedNetwork',
        name: 'net',
        uid: 'f45efb13-9511-48c1-95d7-44ee17c949f4',
        controller: true,
        blockOwnerDeletion: true,
      },
    ],
  });
});

const nadConfig = (config: object): string =>
  JSON.stringify({
    cniVersion: '1.1.0',
    type: 'ovn-k8s-cni-overlay',
    name: 'tenant',
    netAttachDefName: 'blue/net',
    ...config,
  });

const outcomeOf = (config: string): string => {
  const result = parseNetworkConfig(config, 'blue/net', settings);
  return result.kind === 'invalid' ? result.error : result.kind;
};

const layer2Primary = { topology: 'layer2', role: 'primary', subnets: '10.0.0.0/24' };

describe('a NAD is read', () => {
  // One line per step of reference/api.md §3.3.
  test.each([
    [
      'empty plugin list',
      '{"name":"x","plugins":[]}',
      'error parsing configuration list "x": no plugins found',
    ],
    ['another plugin', '{"name":"x","type":"bridge"}', 'foreign'],
    [
      'a list of another plugin',
      '{"name":"x","plugins":[{"type":"bridge"},{"type":"tuning"}]}',
      'foreign',
    ],
    [
      'a chain',
      '{"name":"x","plugins":[{"type":"ovn-k8s-cni-overlay","topology":"layer2"},{"type":"tuning"}]}',
      'CNI plugin chaining is not supported',
    ],
    [
      'a list and a single plugin at once',
      '{"name":"x","type":"ovn-k8s-cni-overlay","plugins":[{"type":"ovn-k8s-cni-overlay"}]}',
      'CNI config cannot have both a plugin list and a single config',
    ],
    [
      'a list of one',
      '{"name":"x","plugins":[{"type":"ovn-k8s-cni-overlay","topology":"layer2","netAttachDefName":"blue/net"}]}',
      'network',
    ],
    [
      'no NAD name',
      nadConfig({ topology: 'layer2', netAttachDefName: '' }),
      'missing NADName in secondary network netconf tenant',
    ],
    [
      'no name',
      nadConfig({ topology: 'layer2', name: '' }),
      'invalid name in in secondary network netconf ()',
    ],
    [
      'a reserved name',
      nadConfig({ topology: 'layer2', name: 'default' }),
      'invalid name in in secondary network netconf (default)',
    ],
    [
      'a name that is no name',
      nadConfig({ topology: 'layer2', name: 'a b' }),
      'invalid name in in secondary network netconf (a b): it must begin with a letter or digit and hold only those and ".", "_" and "-", 253 at most',
    ],
    [
      'a name that is no name and very long',
      nadConfig({ topology: 'layer2', name: 'n'.repeat(3000) }),
      `invalid name in in secondary network netconf (${'n'.repeat(100)}…): it must begin with a letter or digit and hold only those and ".", "_" and "-", 253 at most`,
    ],
    ['no topology', nadConfig({}), 'default-network'],
    [
      'the name of another NAD',
      nadConfig({ topology: 'layer2', netAttachDefName: 'red/net' }),
      'net-attach-def name (blue/net) is inconsistent with config (red/net)',
    ],
    [
      'persistent addresses in layer3',
      nadConfig({ topology: 'layer3', allowPersistentIPs: true }),
      'layer3 topology does not allow persistent IPs',
    ],
    [
      'a primary localnet',
      nadConfig({ topology: 'localnet', role: 'primary' }),
      'unexpected network field "role" primary for "localnet" topology, localnet topology does not allow network ' +
        'roles to be set since its always a secondary network',
    ],
    [
      'an unknown role',
      nadConfig({ topology: 'layer2', role: 'third' }),
      'invalid network role value third',
    ],
    [
      'an IPAM plugin',
      nadConfig({ topology: 'layer2', ipam: { type: 'host-local' } }),
      'error parsing Network Attachment Definition blue/net: IPAM key is not supported. ' +
        'Use OVN-K provided IPAM via the `subnets` attribute',
    ],
    [
      'an unknown transport',
      nadConfig({ topology: 'layer3', transport: 'pigeon' }),
      'invalid transport "pigeon": must be "no-overlay" or "evpn", or left out',
    ],
    [
      'SNAT without its transport',
      nadConfig({ topology: 'layer3', outboundSNAT: 'enabled' }),
      'outboundSNAT is only valid when transport is "no-overlay"',
    ],
    [
      'unknown SNAT',
      nadConfig({ topology: 'layer3', transport: 'no-overlay', outboundSNAT: 'perhaps' }),
      'invalid outboundSNAT "perhaps": must be "enabled" or "disabled"',
    ],
    [
      'a localnet with join subnet',
      nadConfig({ topology: 'localnet', joinSubnet: '100.66.0.0/16' }),
      'localnet topology does not allow specifying join-subnet as services are not supported',
    ],
    [
      'a primary layer2 without subnets',
      nadConfig({ topology: 'layer2', role: 'primary' }),
      'the subnet attribute must be defined for layer2 primary user defined networks',
    ],
    [
      'infrastructure subnets in layer3',
      nadConfig({ topology: 'layer3', infrastructureSubnets: '10.0.0.0/30' }),
      'infrastructureSubnets is only supported for layer2 topology',
    ],
    [
      'reserved subnets in layer3',
      nadConfig({ topology: 'layer3', reservedSubnets: '10.0.0.0/30' }),
      'reservedSubnets is only supported for layer2 topology',
    ],
    [
      'gateways in localnet',
      nadConfig({ topology: 'localnet', defaultGatewayIPs: '10.0.0.1' }),
      'defaultGatewayIPs is only supported for layer2 topology',
    ],
    [
      'a service subnet',
      nadConfig({ ...layer2Primary, subnets: '172.16.0.0/16' }),
      'invalid subnet configuration: pod or join subnet overlaps with already configured internal subnets: ' +
        'user defined subnet "172.16.0.0/16" overlaps service subnet "172.16.1.0/24"',
    ],
    ['an unknown topology', nadConfig({ topology: 'ring' }), 'topology ring not supported'],
    // Subnet grammar.
    ['no CIDR', nadConfig({ ...layer2Primary, subnets: 'x' }), 'CIDR "x" not properly formatted'],
    [
      'a host length in layer2',
      nadConfig({ ...layer2Primary, subnets: '10.0.0.0/16/24' }),
      'CIDR "10.0.0.0/16/24" not properly formatted',
    ],
    [
      'an IPv6 host length other than 64',
      nadConfig({ topology: 'layer3', subnets: 'fd00::/48/72' }),
      'IPv6 only supports /64 host subnets',
    ],
    [
      'no room for hosts',
      nadConfig({ topology: 'layer3', subnets: '10.0.0.0/16/32' }),
      'invalid host subnet, IPv4 subnet must be < 32',
    ],
    [
      'a host length that is no part',
      nadConfig({ topology: 'layer3', subnets: '10.0.0.0/24' }),
      'cannot use a host subnet length mask shorter than or equal to the cluster subnet mask. ' +
        'host subnet length: 24, cluster subnet length: 24',
    ],
    [
      'two host lengths',
      nadConfig({ topology: 'layer3', subnets: '10.0.0.0/16/24,10.1.0.0/16/25' }),
      'all IPv4 cluster subnet entries must have the same host subnet length; found 24 and 25',
    ],
    [
      'an exclusion outside',
      nadConfig({ ...layer2Primary, excludeSubnets: '10.1.0.0/28' }),
      'the provided network subnets do not contain excluded subnets 10.1.0.0/28',
    ],
    [
      'a reservation outside',
      nadConfig({ ...layer2Primary, reservedSubnets: '10.1.0.0/28' }),
      'the provided network subnets do not contain reserved subnets 10.1.0.0/28',
    ],
    [
      'infrastructure outside',
      nadConfig({ ...layer2Primary, infrastructureSubnets: '10.1.0.0/28' }),
      'the provided network subnets do not contain infrastructure subnets 10.1.0.0/28',
    ],
    // Hostile values.
    ['no JSON object', '[]', 'error parsing configuration: must be a JSON object'],
    [
      'a number as text',
      nadConfig({ topology: 'layer2', mtu: 'big' }),
      'mtu: must be a whole number from 0 to 65536, is "big"',
    ],
    [
      'a list as name',
      nadConfig({ topology: 'layer2', name: ['x'] }),
      'name: must be a string, is ["x"]',
    ],
  ])('with %s', (_, config, outcome) => {
    expect(outcomeOf(config)).toBe(outcome);
  });

  test('that is no JSON says so', () => {
    expect(outcomeOf('{"name":')).toMatch(/^error parsing configuration: not valid JSON: /);
    expect(outcomeOf('['.repeat(500_000))).toMatch(
      /^error parsing configuration: not valid JSON: /,
    );
    expect(outcomeOf(' '.repeat(2_000_000))).toMatch(/^error parsing configuration: longer than /);
  });

  test('in a cluster without its address family', () => {
    const v4Only = { ...settings, clusterSubnets: [{ cidr: '10.244.0.0/16' }] };
    const config = nadConfig({ topology: 'layer3', role: 'primary', subnets: 'fd05::/48' });
    expect(parseNetworkConfig(config, 'blue/net', v4Only)).toEqual({
      kind: 'invalid',
      error:
        'network tenant is attempting to use ipv6 subnets but the cluster does not support ipv6',
    });
  });

  test('with defaults filled in and addresses in canonical form', () => {
    const config = nadConfig({
      ...layer2Primary,
      subnets: ' 10.0.0.7/24 ,FD05:0::1/64',
      joinSubnet: '100.70.0.0/16',
      transitSubnet: '100.90.0.0/16',
    });
    expect(parseNetworkConfig(config, 'blue/net', settings)).toEqual({
      kind: 'network',
      warnings: [],
      config: {
        name: 'tenant',
        topology: 'layer2',
        role: 'primary',
        mtu: 1400,
        subnets: [{ cidr: '10.0.0.0/24' }, { cidr: 'fd05::/64' }],
        excludeSubnets: [],
        reservedSubnets: [],
        infrastructureSubnets: [],
        defaultGatewayIPs: [],
        joinSubnets: { v4: '100.70.0.0/16', v6: 'fd99::/64' },
        transitSubnets: { v4: '100.90.0.0/16' },
        allowPersistentIPs: false,
      },
    });
  });

  test('without transit subnet, with a warning', () => {
    const result = parseNetworkConfig(nadConfig(layer2Primary), 'blue/net', settings);
    expect(result.kind === 'network' && result.warnings).toEqual([
      'transitSubnet is not set; it is computed',
    ]);
  });

  test.each([
    [
      { type: 'ovn-kubernetes', name: 'tenant-overlay', subnet: '10.10.10.0/24' },
      { name: 'tenant-overlay', topology: 'layer2', subnets: [{ cidr: '10.10.10.0/24' }] },
    ],
    [
      {
        type: 'ovn-kubernetes',
        name: 'ext',
        subnet: '10.10.20.0/24',
        hasExternalConnectivity: true,
      },
      { name: 'ext', topology: 'localnet', physicalNetworkName: 'physnet' },
    ],
    [
      {
        cniVersion: '0.3.1',
        plugins: [
          {
            type: 'ovn-k8s-cni-overlay',
            capabilities: { ips: true },
            subnet: '10.10.10.0/24',
            ipam: { type: 'static' },
          },
          { capabilities: { mac: true }, type: 'tuning' },
        ],
      },
      { name: 'blue.net', topology: 'layer2', role: 'secondary' },
    ],
  ])('in the older form (reference/api.md §2): %j', (config, expected) => {
    const result = parseNetworkConfig(JSON.stringify(config), 'blue/net', settings);
    expect(result).toMatchObject({ kind: 'network', config: expected });
  });

  test('in older spellings of keys (reference/api.md §3.3)', () => {
    const config = nadConfig({
      topology: 'layer2',
      subnets: '10.0.0.0/24',
      primaryNetwork: true,
      joinSubnets: '100.70.0.0/16',
      persistentIPs: 'true',
      transitSubnet: '100.90.0.0/16',
    });
    expect(parseNetworkConfig(config, 'blue/net', settings)).toMatchObject({
      config: { role: 'primary', joinSubnets: { v4: '100.70.0.0/16' }, allowPersistentIPs: true },
    });
  });

  test('back as it was written', () => {
    const object = validNetwork(
      layer3({ role: 'Primary', subnets: [{ cidr: '10.20.0.0/16', hostSubnet: 24 }] }),
    );
    const nad = renderNad(object, 'blue', settings);
    expect(nad.kind === 'value' && parseNad(nad.value.nad, settings)).toMatchObject({
      kind: 'network',
      config: {
        name: 'blue_net',
        role: 'primary',
        subnets: [{ cidr: '10.20.0.0/16', hostLength: 24 }],
      },
    });
  });

  test('of any content without a crash', () => {
    const keys = fc.constantFrom(
      'topology',
      'role',
      'subnets',
      'plugins',
      'ipam',
      'evpn',
      'mtu',
      '__proto__',
    );
    const values = fc.oneof(
      fc.constantFrom('layer2', 'layer3', 'primary', '10.0.0.0/16/24'),
      fc.jsonValue(),
    );
    fc.assert(
      fc.property(fc.dictionary(keys, values), (config) => {
        const { kind } = parseNetworkConfig(nadConfig(config), 'blue/net', settings);
        expect(['network', 'default-network', 'foreign', 'invalid']).toContain(kind);
      }),
      { numRuns: 500 },
    );
  });
});

describe('two NADs of one network', () => {
  const config = (keys: object): NetworkConfig => {
    const result = parseNetworkConfig(nadConfig(keys), 'blue/net', settings);
    if (result.kind !== 'network') throw new Error(JSON.stringify(result));
    return result.config;
  };
  const base = { ...layer2Primary, transitSubnet: '100.88.0.0/16' };

  test('agree when they say the same in another order', () => {
    const a = config({ ...base, subnets: '10.0.0.0/24,fd05::/64' });
    const b = config({ ...base, subnets: 'fd05::/64,10.0.0.0/24' });
    expect(incompatibility(a, b)).toBeUndefined();
  });

  test('agree when layer3 subnets grow', () => {
    const a = config({ topology: 'layer3', subnets: '10.0.0.0/16' });
    const b = config({ topology: 'layer3', subnets: '10.0.0.0/16,10.1.0.0/16' });
    expect(incompatibility(a, b)).toBeUndefined();
  });

  test.each([
    ['name', { name: 'other' }],
    ['mtu', { mtu: 1300 }],
    ['allowPersistentIPs', { allowPersistentIPs: true }],
    ['role', { role: 'secondary' }],
    ['excludeSubnets', { excludeSubnets: '10.0.0.0/30' }],
    ['reservedSubnets', { reservedSubnets: '10.0.0.0/30' }],
    ['infrastructureSubnets', { infrastructureSubnets: '10.0.0.0/30' }],
    ['joinSubnet', { joinSubnet: '100.70.0.0/16' }],
    ['transitSubnet', { transitSubnet: '100.90.0.0/16' }],
    ['subnets', { subnets: '10.9.0.0/24' }],
    ['topology', { topology: 'layer3', role: 'primary', subnets: '10.0.0.0/16' }],
  ])('disagree on %s', (key, change) => {
    expect(incompatibility(config(base), config({ ...base, ...change }))).toBe(key);
  });

  test('disagree on the physical network and VLAN', () => {
    const a = config({ topology: 'localnet', vlanID: 1, physicalNetworkName: 'a' });
    const b = config({ topology: 'localnet', vlanID: 2, physicalNetworkName: 'a' });
    const c = config({ topology: 'localnet', vlanID: 1, physicalNetworkName: 'b' });
    expect(incompatibility(a, b)).toBe('vlanID');
    expect(incompatibility(a, c)).toBe('physicalNetworkName');
  });
});
