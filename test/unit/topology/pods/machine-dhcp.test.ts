import { describe, expect, test } from 'vitest';
import { macOf } from '../../../../src/allocators/addresses.ts';
import type { Attachment } from '../../../../src/model/model.ts';
import { dhcpList } from '../../../../src/topology/pods/machine-dhcp.ts';
import { builtUnits } from '../../../support/zone/built-rows.ts';
import {
  exampleZone,
  factsOf,
  layer2Secondary,
  localnet,
  yellow,
  yellowPod,
  type Zone,
} from '../../../support/zone/zones.ts';

const zone: Zone = {
  ...exampleZone,
  namespaces: [...exampleZone.namespaces, 'yellow'],
  networks: [...exampleZone.networks, yellow],
};
const source: Attachment = {
  ...yellowPod,
  pod: 'from',
  machine: { name: 'vm', hasArrived: false },
};
/** On the same node. */
const target: Attachment = {
  ...source,
  pod: 'to',
  podUid: 'b7a2d6c0-0000-4000-8000-000000000002',
  created: '2026-01-02T00:00:00Z',
  tunnelId: 11,
};

describe('a virtual machine that asks by DHCP', () => {
  const { networks, ...rest } = zone;
  const dual = (more: Partial<Zone> = {}): Zone => ({
    ...rest,
    ...more,
    settings: { ...zone.settings, dnsServers: ['172.30.0.10', '172.30.0.11', 'fd30::a'] },
    networks: networks.map((one) =>
      one.name === yellow.name ? { ...one, subnets: [...one.subnets, { cidr: 'fd69::/64' }] } : one,
    ),
    attachments: [{ ...source, addresses: [...source.addresses, 'fd69::3/64'] }],
  });
  const rowsOf = (zone: Zone) =>
    builtUnits(factsOf(zone))
      .filter(({ unit }) => unit.startsWith('pods/port '))
      .flatMap(({ rows }) => rows);
  const ofTable = (zone: Zone, table: string) =>
    rowsOf(zone)
      .filter((row) => row.table === table)
      .map(({ columns }): Readonly<Record<string, unknown>> => columns);

  test('on a primary Layer2 network is told address, gateway, DNS servers, host name, MTU and how long that holds', () => {
    const rows = ofTable(dual(), 'DHCP_Options');
    expect(rows.map(({ cidr, options }) => ({ cidr, options }))).toEqual([
      {
        cidr: '105.105.0.0/16',
        options: {
          dns_server: '{172.30.0.10, 172.30.0.11}',
          hostname: '"vm"',
          lease_time: '3500',
          mtu: '1400',
          router: '105.105.0.1',
          server_id: '169.254.1.1',
          server_mac: '0a:58:a9:fe:01:01',
        },
      },
      {
        cidr: 'fd69::/64',
        options: { dns_server: 'fd30::a', fqdn: '"vm"', server_id: macOf('fe80::1') },
      },
    ]);
    const [port] = ofTable(dual(), 'Logical_Switch_Port');
    expect(Object.keys(port ?? {})).toEqual(
      expect.arrayContaining(['dhcpv4_options', 'dhcpv6_options']),
    );
  });

  test.each([
    [layer2Secondary, '10.40.0.3/16'],
    [localnet, '10.50.1.3/16'],
  ])('on a secondary network is told no way out and no DNS servers', (network, address) => {
    const [nadKey = ''] = network.nads;
    const attachment: Attachment = {
      ...source,
      namespace: 'blue',
      network: network.name,
      nadKey,
      role: 'secondary',
      addresses: [address],
    };
    const rows = ofTable(
      { ...zone, networks: [network], attachments: [attachment] },
      'DHCP_Options',
    );
    expect(rows.map(({ options }) => Object.keys(options as object).sort())).toEqual([
      ['hostname', 'lease_time', 'mtu', 'server_id', 'server_mac'],
    ]);
  });

  test('may ask whatever policies say, and send nothing to anybody else by that', () => {
    const [acl, ...more] = ofTable(dual(), 'ACL');
    expect(acl).toMatchObject({
      action: 'allow',
      tier: 0,
      match: expect.stringMatching(
        /^inport == "yellow\.yellow\.net_yellow_from" && \(\(udp.*ip4\.dst == \{255\.255\.255\.255, 169\.254\.1\.1\}\) .* ip6\.dst == ff02::1:2\)\)$/,
      ) as string,
    });
    expect(more).toEqual([]);
  });

  test('is answered in one of its pods, and no pod without a machine is', () => {
    for (const attachments of [
      [source, target],
      [source, { ...target, machine: { name: 'vm', hasArrived: true } }],
    ])
      expect(ofTable({ ...zone, attachments }, 'DHCP_Options')).toHaveLength(1);
    const { machine: _none, ...without } = source;
    expect(ofTable({ ...zone, attachments: [without] }, 'DHCP_Options')).toEqual([]);
  });
});

test('a list of addresses is written as OVN reads it, one by itself', () => {
  expect([[], ['10.0.0.1'], ['10.0.0.1', '10.0.0.2']].map(dhcpList)).toEqual([
    undefined,
    '10.0.0.1',
    '{10.0.0.1, 10.0.0.2}',
  ]);
});
