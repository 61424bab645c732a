import { describe, expect, test } from 'vitest';
import { POD_NETWORKS } from '../../../src/api/annotations/pod-annotations.ts';
import { networkNames } from '../../../src/cni/links/pod-interfaces.ts';
import { isComplete, labPod } from '../../../src/lab/lab-pods.ts';
import { nad, pod } from '../../support/zone/pods.ts';

const names = networkNames([nad('blue/l3-net', 'blue_l3-net')]);
const web = pod('blue/web-1', 'n2', [
  {
    nadKey: 'blue/l3-net',
    address: '10.20.1.5/24',
    role: 'primary',
    gateway: '10.20.1.1',
    routes: [{ dest: '10.20.0.0/16', nextHop: '10.20.1.1' }],
  },
  {
    nadKey: 'default',
    address: '10.244.1.5/24',
    role: 'infrastructure-locked',
    routes: [{ dest: '10.244.0.0/16', nextHop: '10.244.1.1' }],
  },
]);

describe('attachments of a pod', () => {
  test('a pod with a primary network has it on ovn-udn1, with the default route, and the default network on eth0', () => {
    const attachment = labPod(web, names);
    expect(attachment).toMatchObject({ name: 'blue/web-1', node: 'n2', namespace: 'blue_web-1' });
    expect(attachment.interfaces).toEqual([
      {
        device: 'eth0',
        hostDevice: attachment.sandbox.slice(0, 15),
        mac: '0a:58:0a:f4:01:05',
        mtu: 1400,
        isOnUnderlay: false,
        addresses: ['10.244.1.5/24'],
        gateways: [],
        routes: [{ dest: '10.244.0.0/16', nextHop: '10.244.1.1' }],
        nadKey: 'default',
        isPrimary: false,
        externalIds: {
          attached_mac: '0a:58:0a:f4:01:05',
          'iface-id': 'blue_web-1',
          'iface-id-ver': 'uid-of-blue/web-1',
          ip_addresses: '10.244.1.5/24',
          'pod-if-name': 'eth0',
          sandbox: attachment.sandbox,
        },
      },
      {
        device: 'ovn-udn1',
        hostDevice: `${attachment.sandbox.slice(0, 13)}_3`,
        mac: '0a:58:0a:14:01:05',
        mtu: 1400,
        isOnUnderlay: false,
        addresses: ['10.20.1.5/24'],
        gateways: ['10.20.1.1'],
        routes: [{ dest: '10.20.0.0/16', nextHop: '10.20.1.1' }],
        nadKey: 'blue/l3-net',
        isPrimary: true,
        externalIds: {
          attached_mac: '0a:58:0a:14:01:05',
          'iface-id': 'blue.l3.net_blue_web-1',
          'iface-id-ver': 'uid-of-blue/web-1',
          ip_addresses: '10.20.1.5/24',
          'k8s.ovn.org/nad': 'blue/l3-net',
          'k8s.ovn.org/network': 'blue_l3-net',
          'pod-if-name': 'ovn-udn1',
          sandbox: attachment.sandbox,
        },
      },
    ]);
  });

  test('the sandbox is another one when anything changed, and the same when nothing did', () => {
    const sandbox = labPod(web, names).sandbox;
    expect(labPod(structuredClone(web), names).sandbox).toBe(sandbox);
    const again = { ...web, metadata: { ...web.metadata, uid: 'another' } };
    const elsewhere = { ...web, spec: { nodeName: 'n3' } };
    expect(labPod(again, names).sandbox).not.toBe(sandbox);
    expect(labPod(elsewhere, names).sandbox).not.toBe(sandbox);
  });

  test('an entry whose NAD is not there names both', () => {
    expect(() => labPod(web, new Map())).toThrow(
      'pod blue/web-1: annotation k8s.ovn.org/pod-networks: entry "blue/l3-net": there is no NetworkAttachmentDefinition blue/l3-net',
    );
  });

  test('a broken annotation never reaches a command', () => {
    const broken = (value: string) => ({
      ...web,
      metadata: { ...web.metadata, annotations: { 'k8s.ovn.org/pod-networks': value } },
    });
    expect(() => labPod(broken('{'), names)).toThrow(
      /Pod blue\/web-1: annotation k8s.ovn.org\/pod-networks/,
    );
    const address = JSON.stringify({
      default: { mac_address: '0a:58:0a:f4:01:05', ip_addresses: ['10.0.0.1/24 dev x'] },
    });
    expect(() => labPod(broken(address), names)).toThrow(/10\.0\.0\.1\/24 dev x/);
  });
});

describe('a pod is plugged in', () => {
  test('once it has its own network and the default one, whichever comes first', () => {
    const entries = (...keys: readonly string[]): typeof web => {
      const all = JSON.parse(web.metadata.annotations?.[POD_NETWORKS] ?? '') as object;
      const some = Object.fromEntries(Object.entries(all).filter(([key]) => keys.includes(key)));
      return {
        ...web,
        metadata: { ...web.metadata, annotations: { [POD_NETWORKS]: JSON.stringify(some) } },
      };
    };
    expect(isComplete(entries('default'), new Set())).toBe(false);
    expect(isComplete(entries('blue/l3-net'), new Set())).toBe(false);
    expect(isComplete(entries('default', 'blue/l3-net'), new Set())).toBe(true);
  });
});
