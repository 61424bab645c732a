import { describe, expect, test } from 'vitest';
import type { KubeObject } from '../../../../src/api/objects.ts';
import type { Pod } from '../../../../src/api/types.ts';
import { pod as podWith } from '../../../support/zone/pods.ts';
import {
  multiPolicy,
  namespace,
  networkPolicy,
  ownNetwork,
  PolicedZone,
} from '../../../support/zone/policed-zone.ts';
import { rowTexts } from '../../../support/zone/row-text.ts';
import {
  blue,
  defaultNetwork,
  exampleZone,
  networkName,
  type Zone,
  type ZoneNetwork,
} from '../../../support/zone/zones.ts';
import { short } from '../unit-texts.ts';

const storage: ZoneNetwork = {
  ...blue,
  name: networkName('blue_sec-l3'),
  id: 7,
  role: 'secondary',
  masquerade: {},
  namespaces: [],
  nads: ['blue/sec-l3'],
  subnets: [{ cidr: '10.77.0.0/16', hostLength: 24 }],
  nodeSubnets: new Map([['ovn-worker', ['10.77.0.0/24']]]),
  object: 'UserDefinedNetwork blue/sec-l3',
};
const zone: Zone = { ...exampleZone, networks: [defaultNetwork, blue, storage] };
const without: Zone = {
  ...exampleZone,
  networks: [defaultNetwork, blue, { ...storage, subnets: [] }],
};
const space = namespace('blue', ownNetwork);

const podOn = (name: string, number: number, labels: Record<string, string>): Pod => {
  const pod = podWith(`blue/${name}`, 'ovn-worker', [
    { nadKey: 'blue/blue', address: `103.103.0.${number}/24`, role: 'primary' },
    { nadKey: 'blue/sec-l3', address: `10.77.0.${number}/24`, role: 'secondary' },
  ]) as Pod;
  const annotations = { ...pod.metadata.annotations, 'k8s.v1.cni.cncf.io/networks': 'sec-l3' };
  return { ...pod, metadata: { ...pod.metadata, labels, annotations } };
};
const web = podOn('web', 3, { app: 'web' });

const mnp1 = multiPolicy('blue/mnp1', 'sec-l3', {
  podSelector: {},
  ingress: [{ from: [{ podSelector: { matchLabels: { app: 'web' } } }] }],
});

test('a policy for a secondary network has the rows of a policy under that network’s controller (reference/topology.md §16.3)', () => {
  const policed = PolicedZone.of(zone, space, web, mnp1);
  const texts = rowTexts(policed.rows(/^policy\//)).map(short);
  expect(texts.filter((text) => text.includes('PodSelector') || text.includes(':mnp1:'))).toEqual([
    'ACL blue_sec-l3-network-controller:NetworkPolicy:blue:mnp1:Ingress:0:None:-1 action=allow-related direction=to-lport external_ids={direction=Ingress gress-index=0 ip-block-index=-1 k/id=blue_sec-l3-network-controller:NetworkPolicy:blue:mnp1:Ingress:0:None:-1 k/name=blue:mnp1 k/owner-controller=blue_sec-l3-network-controller k/owner-type=NetworkPolicy port-policy-protocol=None} match=ip4.src == {$a8f60e90bc20464c2a4771a48d37995d7} && outport == @a56c432095c43da88f0f12119716277d6 name=NP:blue:mnp1:Ingress:0 priority=1001 tier=2 < Port_Group/a56c432095c43da88f0f12119716277d6.acls',
    'Address_Set a8f60e90bc20464c2a4771a48d37995d7 addresses=[10.77.0.3] external_ids={ip-family=v4 k/id=blue_sec-l3-network-controller:PodSelector:blue_LS{ML:{app: web,},}:v4 k/name=blue_LS{ML:{app: web,},} k/owner-controller=blue_sec-l3-network-controller k/owner-type=PodSelector}',
  ]);
  // Default deny of both directions, what leads there from earlier tiers, and the policy's own group and rule.
  expect(texts.filter((text) => text.startsWith('ACL'))).toHaveLength(7);
});

test('it closes the interface on that network and no other one, and a policy of the same name the other one', () => {
  const groups = (...policies: KubeObject[]): unknown => {
    const policed = PolicedZone.of(zone, space, web, ...policies);
    return Object.fromEntries(
      policed
        .rows(/^pods\/port /)
        .filter(({ table }) => table === 'Logical_Switch_Port')
        .map(({ key, containers }) => [
          key,
          // The primary network has a group for the namespace besides.
          containers.filter(({ table }) => table === 'Port_Group').length,
        ]),
    );
  };
  expect(groups()).toEqual({ 'blue.blue_blue_web': 1, 'blue.sec.l3_blue_web': 0 });
  expect(groups(mnp1)).toEqual({ 'blue.blue_blue_web': 1, 'blue.sec.l3_blue_web': 2 });
  expect(groups(mnp1, networkPolicy('blue/mnp1', {}))).toEqual({
    'blue.blue_blue_web': 3,
    'blue.sec.l3_blue_web': 2,
  });
});

describe('the networks of such a policy', () => {
  const units = (policyFor: string | undefined): unknown => {
    const policed = PolicedZone.of(zone, space, multiPolicy('red/p', policyFor, {}));
    return [
      policed.units(/^policy\/group /).map(({ unit }) => unit.split(' ')[1]),
      [...policed.facts.modelProblems()].map(({ message }) => message),
    ];
  };
  test.each([
    ['by namespace and name', 'blue/sec-l3, blue/gone', [['blue_sec-l3'], []]],
    ['in its own namespace', 'sec-l3', [[], []]],
    ['secondary ones alone', 'blue/blue', [[], []]],
    [
      'not said',
      undefined,
      [[], [expect.stringContaining('annotation k8s.v1.cni.cncf.io/policy-for is missing')]],
    ],
    [
      'all secondary ones where it is torn',
      'a/b/c',
      [['blue_sec-l3'], [expect.stringContaining('"a/b/c" names no NAD')]],
    ],
  ])('%s', (_, policyFor, expected) => {
    expect(units(policyFor)).toEqual(expected);
  });
});

test('on a network without addresses only address blocks mean somebody', () => {
  const policed = PolicedZone.of(
    without,
    space,
    multiPolicy('blue/p', 'sec-l3', {
      ingress: [
        {},
        { from: [{ podSelector: {} }, { ipBlock: { cidr: '10.0.0.0/8' } }] },
        { from: [{ podSelector: {} }] },
      ],
    }),
  );
  const [unit] = policed.units(/^policy\/rules /);
  expect(unit?.rows.map(({ columns }) => columns['match'])).toEqual([
    expect.stringMatching(/^\(ip4 \|\| ip6\) && outport/),
    expect.stringMatching(/^ip4\.src == 10\.0\.0\.0\/8 && outport/),
  ]);
  expect(unit?.problems).toEqual([
    'MultiNetworkPolicy blue/p: network blue_sec-l3 gives its pods no addresses: peers by selectors are nobody there; write address blocks',
  ]);
});

test('one that can’t be read closes the pods that it selects on its networks', () => {
  const groups = (app: string): unknown => {
    const policed = PolicedZone.of(
      zone,
      space,
      web,
      multiPolicy('blue/p', 'sec-l3', {
        podSelector: { matchLabels: { app } },
        ingress: [{ from: [{}] }],
      }),
    );
    const [, secondary] = policed
      .rows(/^pods\/port /)
      .filter(({ table }) => table === 'Logical_Switch_Port');
    return secondary?.containers.filter(({ table }) => table === 'Port_Group').length;
  };
  // What pods get, and the policy.
  expect(groups('web')).toBe(2);
  expect(groups('db')).toBe(0);
});
