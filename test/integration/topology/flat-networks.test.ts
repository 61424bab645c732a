import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { Attachment } from '../../../src/model/model.ts';
import { OvnZone } from '../../support/zone/ovn-zone.ts';
import {
  defaultNetwork,
  exampleZone,
  overlay,
  overlayPod,
  underlay,
} from '../../support/zone/zones.ts';

const OVERLAY = 'secondary_blue_overlay_ovn_layer2_switch';
const UNDERLAY = 'secondary_blue_underlay_ovn_localnet_switch';

const underlayPod: Attachment = {
  ...overlayPod,
  network: underlay.name,
  nadKey: 'blue/underlay',
  macAddress: '0a:58:0a:46:00:05',
  addresses: ['10.70.0.5/16'],
};
/** The same pod, a second time on both networks. */
const again: readonly Attachment[] = [
  {
    ...overlayPod,
    nadKey: 'blue/overlay/1',
    macAddress: '0a:58:3e:11:22:44',
    addresses: ['fd20:60::6/64'],
    tunnelId: 2,
  },
  {
    ...underlayPod,
    nadKey: 'blue/underlay/1',
    macAddress: '0a:58:0a:46:00:06',
    addresses: ['10.70.0.6/16'],
  },
];

const zone = {
  ...exampleZone,
  networks: [defaultNetwork, overlay, underlay],
  attachments: [overlayPod, underlayPod, ...again],
};

const DISCOVER =
  'eth.dst==ff:ff:ff:ff:ff:ff && ip4.src==0.0.0.0 && ip4.dst==255.255.255.255 && ip.ttl==64 && udp && udp.src==68 && udp.dst==67';
const underlayPacket = (source: string, rest: string): string =>
  `inport=="blue.underlay_blue_pod1" && eth.src==${source} && ${rest}`;
const overlayPacket = (source: string, rest: string): string =>
  `inport=="blue.overlay_blue_pod1" && eth.src==${source} && ip.ttl==255 && ${rest}`;

describe('ovn-northd and networks of OVNSecondaryNetworks', () => {
  let ovn: OvnZone;

  beforeAll(async () => {
    ovn = await OvnZone.start();
    expect(await ovn.apply(zone)).toEqual([]);
  });

  afterAll(() => ovn[Symbol.asyncDispose]());

  test('northd has nothing to say against them, and what it writes causes no change of ours', () => {
    expect(ovn.warnings()).toEqual([]);
    expect(ovn.planOf(zone, 'Northbound')).toMatchObject({ isEmpty: true, problems: [] });
  });

  test('a pod that asks by DHCP is offered its own address, with the MTU of the network', async () => {
    const text = await ovn.traceText(UNDERLAY, underlayPacket('0a:58:0a:46:00:05', DISCOVER));
    expect(text).toMatch(/put_dhcp_opts\(offerip = 10\.70\.0\.5, .*mtu = 1300/);
  });

  test('a pod that asks by DHCPv6 is told its own address', async () => {
    const ask =
      'eth.dst==33:33:00:01:00:02 && ip6.src==fe80::858:3eff:fe11:2233 && ip6.dst==ff02::1:2 && udp && udp.src==546 && udp.dst==547';
    const text = await ovn.traceText(OVERLAY, overlayPacket('0a:58:3e:11:22:33', ask));
    expect(text).toMatch(/put_dhcpv6_opts\(ia_addr = fd20:60::5/);
  });

  test('a pod that looks for routers is told subnet and MTU, and that DHCP has the addresses', async () => {
    const ask =
      'eth.dst==33:33:00:00:00:02 && ip6.src==fe80::858:3eff:fe11:2233 && ip6.dst==ff02::2 && icmp6.type==133 && icmp6.code==0';
    const text = await ovn.traceText(OVERLAY, overlayPacket('0a:58:3e:11:22:33', ask));
    expect(text).toMatch(
      /put_nd_ra_opts\(addr_mode = "dhcpv6_stateful".*mtu = 1300, .*prefix = fd20:60::\/64/,
    );
    const announced = await ovn.sbctl(
      '--bare',
      '--columns=options',
      'find',
      'Port_Binding',
      `logical_port=trtos-${OVERLAY}`,
    );
    expect(announced).toMatch(/ipv6_ra_send_periodic="?true/);
  });

  test('the router routes nothing: what is for elsewhere goes nowhere', async () => {
    const router = (
      await ovn.nbctl(
        '--bare',
        '--columns=mac',
        'find',
        'Logical_Router_Port',
        `name=trtos-${OVERLAY}`,
      )
    ).trim();
    const packet = `eth.dst==${router} && ip6.src==fd20:60::5 && ip6.dst==2001:db8::1 && icmp6.type==128`;
    expect(await ovn.trace(OVERLAY, overlayPacket('0a:58:3e:11:22:33', packet))).toEqual([]);
  });

  test.each([
    ['its own addresses', '0a:58:0a:46:00:05', '10.70.0.5', true],
    ["another pod's address", '0a:58:0a:46:00:05', '10.70.0.6', false],
    ["another pod's MAC address", '0a:58:0a:46:00:06', '10.70.0.5', false],
  ])('a packet with %s', async (_what, mac, address, passes) => {
    const packet = underlayPacket(
      mac,
      `eth.dst==02:00:00:00:00:01 && ip4.src==${address} && ip4.dst==10.70.9.9 && ip.ttl==64 && icmp4`,
    );
    expect(await ovn.trace(UNDERLAY, packet)).toEqual(
      passes ? ['output("secondary_blue_underlay_ovn_localnet_port");'] : [],
    );
  });

  test('each interface of a pod on one network has a port of its own', async () => {
    const packet = overlayPacket(
      '0a:58:3e:11:22:33',
      'eth.dst==0a:58:3e:11:22:44 && ip6.src==fd20:60::5 && ip6.dst==fd20:60::6 && icmp6.type==128',
    );
    expect(await ovn.trace(OVERLAY, packet)).toEqual(['output("blue.overlay.1_blue_pod1");']);
    expect(await ovn.nbctl('lsp-get-addresses', 'blue.underlay.1_blue_pod1')).toBe(
      '0a:58:0a:46:00:06 10.70.0.6\n',
    );
  });

  test('nothing of them is left when they are gone', async () => {
    expect(await ovn.apply({ ...exampleZone, networks: [defaultNetwork] })).toEqual([]);
    const tables = ['DHCP_Options', 'Logical_Switch', 'Logical_Router', 'Load_Balancer_Group'];
    const left = await Promise.all(tables.map((table) => ovn.nbctl('list', table)));
    expect(left.join('\n')).not.toContain('secondary_');
  });
});
