import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { Connect } from '../../../src/model/read/connects.ts';
import { service, slice, withServices } from '../../support/zone/services.ts';
import { OvnZone } from '../../support/zone/ovn-zone.ts';
import {
  blue,
  bluePod,
  colored,
  defaultNetwork,
  exampleZone,
  farMorePod,
  more,
  morePod,
  type Zone,
} from '../../support/zone/zones.ts';

const BLUE = 'blue_blue_ovn-worker';
const MORE = 'blue_more_ovn_layer2_switch';

const several: Zone = {
  ...exampleZone,
  networks: [defaultNetwork, blue, more],
  attachments: [bluePod, morePod],
  remoteAttachments: [farMorePod],
};

const fromBlue = (to: string): string =>
  `inport=="blue.blue_blue_pod1" && eth.src==0a:58:67:67:00:03 && eth.dst==0a:58:67:67:00:01 && ip4.src==103.103.0.3 && ip.ttl==64 && ip4.dst==${to} && icmp4`;
const fromMore = (to: string): string =>
  `inport=="blue.more_blue_pod3" && eth.src==0a:58:6d:6d:00:03 && eth.dst==0a:58:6d:6d:00:01 && ip4.src==109.109.0.3 && ip.ttl==64 && ip4.dst==${to} && icmp4`;

describe('ovn-northd and two primary networks of one namespace', () => {
  let ovn: OvnZone;
  const last = async (logicalSwitch: string, packet: string): Promise<string | undefined> =>
    (await ovn.trace(logicalSwitch, packet)).at(-1);

  beforeAll(async () => {
    ovn = await OvnZone.start();
    expect(await ovn.apply(several)).toEqual([]);
  });
  afterAll(async () => {
    await ovn[Symbol.asyncDispose]();
  });

  test('what northd writes causes no change of ours', () => {
    expect(ovn.planOf(several, 'Northbound')).toMatchObject({ isEmpty: true, problems: [] });
  });

  test('pods of both reach each other on this node', async () => {
    expect(await last(BLUE, fromBlue('109.109.0.3'))).toBe('output("blue.more_blue_pod3");');
    expect(await last(MORE, fromMore('103.103.0.3'))).toBe('output("blue.blue_blue_pod1");');
  });

  test('to another node a packet goes over the tunnels of the network that it is for', async () => {
    expect(await last(BLUE, fromBlue('109.109.0.4'))).toBe('output("blue.more_blue_far3");');
    // The port of the other node on the transit switch of network blue.
    expect(await last(MORE, fromMore('103.103.1.9'))).toBe(
      'output("blue_blue_tstor-ovn-worker2");',
    );
  });

  test('what is for nobody in either network leaves by the own gateway', async () => {
    expect(await last(BLUE, fromBlue('8.8.8.8'))).toBe('output("breth0_blue_blue_ovn-worker");');
    expect(await last(MORE, fromMore('8.8.8.8'))).toBe('output("breth0_blue_more_ovn-worker");');
  });

  test('a cluster IP leads from each to endpoints on the other', async () => {
    const ports = [{ port: 8080 }];
    const zone = withServices(
      several,
      service('blue/web', { clusterIPs: ['10.96.1.1'] }),
      slice('blue/web', ['103.103.0.3 on ovn-worker'], { network: 'blue_blue', ports }),
      service('blue/app', { clusterIPs: ['10.96.1.2'] }),
      slice('blue/app', ['109.109.0.3 on ovn-worker'], { network: 'blue_more', ports }),
    );
    expect(await ovn.apply(zone)).toEqual([]);
    const begins = ['--ct=new', '--ct=new', '--ct=new', '--ct=new'];
    const web = (packet: string): string => packet.replace('icmp4', 'tcp && tcp.dst==80');
    expect((await ovn.trace(MORE, web(fromMore('10.96.1.1')), ...begins)).at(-1)).toBe(
      'output("blue.blue_blue_pod1");',
    );
    expect((await ovn.trace(BLUE, web(fromBlue('10.96.1.2')), ...begins)).at(-1)).toBe(
      'output("blue.more_blue_pod3");',
    );
    expect(ovn.planOf(zone, 'Northbound')).toMatchObject({ isEmpty: true, problems: [] });
  });

  test('where only services are connected, pods of both networks go on as before', async () => {
    const connect: Connect = {
      ...colored,
      hasPods: false,
      hasServices: true,
      members: [
        { networkId: blue.id, topology: 'layer3', subnets: ['192.168.0.0/24'] },
        { networkId: more.id, topology: 'layer2', subnets: ['192.168.1.0/31'] },
      ],
    };
    expect(await ovn.apply({ ...several, connects: [connect] })).toEqual([]);
    const begins = ['--ct=new', '--ct=new', '--ct=new', '--ct=new'];
    const near = fromMore('109.109.0.4').replace('0a:58:6d:6d:00:01', '0a:58:6d:6d:00:04');
    // The connection is tracked on both sides: otherwise the answer is to nobody's question.
    const text = await ovn.traceText(MORE, near, ...begins);
    expect(text.slice(0, text.indexOf('egress(')), text).toContain('ct_commit');
    expect((await ovn.trace(MORE, near, ...begins)).at(-1)).toBe('output("blue.more_blue_far3");');
    expect((await ovn.trace(BLUE, fromBlue('109.109.0.3'), ...begins)).at(-1)).toBe(
      'output("blue.more_blue_pod3");',
    );
  });

  test('without the second one nothing of the link is left', async () => {
    expect(await ovn.apply({ ...exampleZone, attachments: [bluePod] })).toEqual([]);
    expect(
      await ovn.nbctl('--bare', '--columns=name', 'find', 'Logical_Router_Port'),
    ).not.toContain('rtor-');
    expect(await last(BLUE, fromBlue('109.109.0.3'))).toBe(
      'output("breth0_blue_blue_ovn-worker");',
    );
  });
});
