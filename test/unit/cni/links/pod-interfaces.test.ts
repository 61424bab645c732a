import { describe, expect, test } from 'vitest';
import {
  isAttachable,
  networkNames,
  podInterfaces,
} from '../../../../src/cni/links/pod-interfaces.ts';
import { CNI_CODE, CniError } from '../../../../src/cni/protocol/cni-error.ts';
import { nad, pod } from '../../../support/zone/pods.ts';

const SANDBOX = '0123456789abcdef'.repeat(4);
const names = networkNames([nad('blue/l3-net', 'blue_l3-net'), nad('blue/extra', 'blue_extra')]);
const secondary = { nadKey: 'blue/extra', role: 'secondary' as const };
const web = pod('blue/web-1', 'n2', [
  { ...secondary, address: '10.30.0.6/24', nadKey: 'blue/extra/1' },
  { ...secondary, address: '10.30.0.5/24' },
  { nadKey: 'default', address: '10.244.1.5/24', role: 'infrastructure-locked' },
  { nadKey: 'blue/l3-net', address: '10.20.1.5/24', role: 'primary', gateway: '10.20.1.1' },
]);

test('the default network is eth0, a primary one ovn-udn1, others are counted; the other ends have names of at most 15 letters', () => {
  const found = podInterfaces(web, SANDBOX, names).map(
    ({ nadKey, device, hostDevice, externalIds }) =>
      `${nadKey} ${device} ${hostDevice} ${externalIds['iface-id']} ${externalIds['k8s.ovn.org/network']}`,
  );
  expect(found).toEqual([
    'default eth0 0123456789abcde blue_web-1 undefined',
    'blue/extra net1 0123456789abc_3 blue.extra_blue_web-1 blue_extra',
    'blue/extra/1 net2 0123456789abc_4 blue.extra.1_blue_web-1 blue_extra',
    'blue/l3-net ovn-udn1 0123456789abc_5 blue.l3.net_blue_web-1 blue_l3-net',
  ]);
});

test('what leads out of a secondary network is apart from its own routes, with the addresses that it is not for', () => {
  const [, extra] = podInterfaces(
    pod('blue/web-1', 'n2', [
      { nadKey: 'default', address: '10.244.1.5/24', role: 'infrastructure-locked' },
      {
        nadKey: 'blue/l3-net',
        address: '10.20.1.5/24',
        role: 'primary',
        gateway: '10.20.1.1',
        routes: [{ dest: '100.65.0.0/16', nextHop: '10.20.1.1' }],
      },
      {
        ...secondary,
        address: '10.30.0.5/24',
        routes: [
          { dest: '10.30.0.0/16', nextHop: '10.30.0.1' },
          { dest: '203.0.113.0/24', nextHop: '10.30.0.1' },
        ],
        serviceRoutes: [{ dest: '100.65.0.0/16', nextHop: '10.30.0.1' }],
      },
    ]),
    SANDBOX,
    names,
  );
  expect(extra).toMatchObject({
    routes: [{ dest: '10.30.0.0/16', nextHop: '10.30.0.1' }],
    wayOut: {
      table: 1001,
      routes: [{ dest: '203.0.113.0/24', nextHop: '10.30.0.1' }],
      otherAddresses: ['10.244.1.5', '10.20.1.5'],
      ownTable: 2001,
      own: [{ address: '10.30.0.5/24', gateway: '10.30.0.1' }],
    },
  });
  for (const one of podInterfaces(web, SANDBOX, names)) expect(one).not.toHaveProperty('wayOut');
  const join = { dest: '100.65.0.0/16', nextHop: '10.30.0.1' };
  const [, alone] = podInterfaces(
    pod('blue/web-1', 'n2', [
      { nadKey: 'default', address: '10.244.1.5/24', role: 'primary', gateway: '10.244.1.1' },
      { ...secondary, address: '10.30.0.5/24', serviceRoutes: [join] },
    ]),
    SANDBOX,
    names,
  );
  expect(alone?.wayOut).toMatchObject({
    routes: [join],
    own: [{ address: '10.30.0.5/24', gateway: '10.30.0.1' }],
  });
});

describe('a pod', () => {
  test('that is not on a node, on the host network or on its way out is not attached', () => {
    expect(isAttachable(web)).toBe(true);
    expect(isAttachable({ ...web, spec: {} })).toBe(false);
    expect(isAttachable({ ...web, spec: { nodeName: 'n2', hostNetwork: true } })).toBe(false);
    const metadata = { ...web.metadata, deletionTimestamp: '2026-01-01T00:00:00Z' };
    expect(isAttachable({ ...web, metadata })).toBe(false);
    expect(isAttachable({ ...web, metadata: { ...web.metadata, annotations: {} } })).toBe(false);
  });

  test('without annotation, or with a NAD that is not there, is an error that names it', () => {
    const bare = { ...web, metadata: { ...web.metadata, annotations: {} } };
    expect(() => podInterfaces(bare, SANDBOX, names)).toThrow(
      new CniError(
        'pod blue/web-1: annotation k8s.ovn.org/pod-networks is not set',
        CNI_CODE.tryAgainLater,
      ),
    );
    expect(() => podInterfaces(web, SANDBOX, new Map())).toThrow(
      new CniError(
        'pod blue/web-1: annotation k8s.ovn.org/pod-networks: entry "blue/extra": there is no NetworkAttachmentDefinition blue/extra',
        CNI_CODE.tryAgainLater,
      ),
    );
  });
});

describe('names of networks', () => {
  test('a NAD without the annotation gives the name of its config', () => {
    const plain = {
      ...nad('a/b', ''),
      metadata: { namespace: 'a', name: 'b' },
      spec: { config: '{"name":"a_b"}' },
    };
    expect(networkNames([plain])).toEqual(new Map([['a/b', 'a_b']]));
  });
});
