import { isAllKnown } from '../../../support/zone/zones.ts';
import { describe, expect, test } from 'vitest';
import type { KubeObject } from '../../../../src/api/objects.ts';
import type { DesiredRow } from '../../../../src/desired/rows.ts';
import { hashedName } from '../../../../src/topology/rows/object-ids.ts';
import { policyRules } from '../../../../src/topology/policy/network-policy.ts';
import { plain, rowTexts } from '../../../support/zone/row-text.ts';
import {
  namespace,
  networkPolicy,
  ownNetwork,
  PolicedZone,
  policedPod,
} from '../../../support/zone/policed-zone.ts';
import {
  connectedZone,
  dualZone,
  exampleZone,
  ipv6Zone,
  more,
  type Zone,
} from '../../../support/zone/zones.ts';
import { heads, short } from '../unit-texts.ts';

const POLICIES = /^policy\//;
const RULES = new RegExp(`^${policyRules.name} `);

const blue = namespace('blue', ownNetwork);
const web = policedPod('blue/web', {
  on: 'blue/blue',
  address: '103.103.0.3/16',
  labels: { app: 'web' },
  ports: [
    { name: 'http', containerPort: 8080 },
    { name: 'dns', containerPort: 53, protocol: 'UDP' },
  ],
});
const far = policedPod('blue/far', {
  on: 'blue/blue',
  node: 'ovn-worker2',
  address: '103.103.1.5/16',
  labels: { app: 'web' },
  ports: [{ name: 'http', containerPort: 8081 }],
});

const allowWeb = networkPolicy('blue/allow-web', {
  podSelector: {},
  ingress: [
    {
      from: [{ podSelector: { matchLabels: { app: 'web' } } }],
      ports: [{ protocol: 'TCP', port: 80 }],
    },
  ],
});

/** Matches of the policy's ACLs by what comes behind its name in their ids. */
function matchesOf(spec: object, zone: Zone = exampleZone, ...more: KubeObject[]) {
  const policed = PolicedZone.of(zone, blue, networkPolicy('blue/p', spec), ...more);
  return matches(policed.rows(RULES));
}
const matches = (rows: readonly DesiredRow[]): Record<string, string> =>
  Object.fromEntries(
    rows
      .filter(({ table }) => table === 'ACL')
      .map(({ key, columns }) => [
        key.replace(/.*:NetworkPolicy:blue:p:/, ''),
        columns['match'] as string,
      ]),
  );
/** Name of the set of what exceptions leave of the blocks of a rule of policy blue/p. */
const leftOf = (rule: string): string =>
  hashedName(`blue_blue-network-controller:NetworkPolicy:blue:p:${rule}`);
/** The group of policy blue/p. */
const PORT = `@${hashedName('blue_blue-network-controller:NetworkPolicy:blue:p')}`;

test('a policy of a primary network has the rows of reference/topology.md §16.1', () => {
  const zone = PolicedZone.of(exampleZone, blue, web, far, allowWeb);
  const texts = rowTexts(zone.rows(POLICIES)).map(short);
  // Those of earlier tiers are in default-deny.test.ts.
  expect(texts.filter((text) => !text.includes(':pass-'))).toEqual([
    'ACL blue_blue-network-controller:NetpolNamespace:blue:Egress:arpAllow action=allow direction=from-lport external_ids={direction=Egress k/id=blue_blue-network-controller:NetpolNamespace:blue:Egress:arpAllow k/name=blue k/owner-controller=blue_blue-network-controller k/owner-type=NetpolNamespace type=arpAllow} match=inport == @a7fba1dcb5d118fe2ecc1f352db692deb && (arp || nd) name=NP:blue:Egress options={apply-after-lb=true} priority=1001 tier=2 < Port_Group/a7fba1dcb5d118fe2ecc1f352db692deb.acls',
    'ACL blue_blue-network-controller:NetpolNamespace:blue:Egress:defaultDeny action=drop direction=from-lport external_ids={direction=Egress k/id=blue_blue-network-controller:NetpolNamespace:blue:Egress:defaultDeny k/name=blue k/owner-controller=blue_blue-network-controller k/owner-type=NetpolNamespace type=defaultDeny} match=inport == @a7fba1dcb5d118fe2ecc1f352db692deb name=NP:blue:Egress options={apply-after-lb=true} priority=1000 tier=2 < Port_Group/a7fba1dcb5d118fe2ecc1f352db692deb.acls',
    'ACL blue_blue-network-controller:NetpolNamespace:blue:Ingress:arpAllow action=allow direction=to-lport external_ids={direction=Ingress k/id=blue_blue-network-controller:NetpolNamespace:blue:Ingress:arpAllow k/name=blue k/owner-controller=blue_blue-network-controller k/owner-type=NetpolNamespace type=arpAllow} match=outport == @af7fa97dc1fcd6fd2d085121facfeafe2 && (arp || nd) name=NP:blue:Ingress priority=1001 tier=2 < Port_Group/af7fa97dc1fcd6fd2d085121facfeafe2.acls',
    'ACL blue_blue-network-controller:NetpolNamespace:blue:Ingress:defaultDeny action=drop direction=to-lport external_ids={direction=Ingress k/id=blue_blue-network-controller:NetpolNamespace:blue:Ingress:defaultDeny k/name=blue k/owner-controller=blue_blue-network-controller k/owner-type=NetpolNamespace type=defaultDeny} match=outport == @af7fa97dc1fcd6fd2d085121facfeafe2 name=NP:blue:Ingress priority=1000 tier=2 < Port_Group/af7fa97dc1fcd6fd2d085121facfeafe2.acls',
    'ACL blue_blue-network-controller:NetworkPolicy:blue:allow-web:Ingress:0:tcp:-1 action=allow-related direction=to-lport external_ids={direction=Ingress gress-index=0 ip-block-index=-1 k/id=blue_blue-network-controller:NetworkPolicy:blue:allow-web:Ingress:0:tcp:-1 k/name=blue:allow-web k/owner-controller=blue_blue-network-controller k/owner-type=NetworkPolicy port-policy-protocol=tcp} match=ip4.src == {$aecaca800c9341b9ac88db2d6129b2250} && tcp && tcp.dst==80 && outport == @adda7d247857d71a01b12ab9076a5f94c name=NP:blue:allow-web:Ingress:0 priority=1001 tier=2 < Port_Group/adda7d247857d71a01b12ab9076a5f94c.acls',
    'Address_Set aecaca800c9341b9ac88db2d6129b2250 addresses=[103.103.0.3, 103.103.1.5] external_ids={ip-family=v4 k/id=blue_blue-network-controller:PodSelector:blue_LS{ML:{app: web,},}:v4 k/name=blue_LS{ML:{app: web,},} k/owner-controller=blue_blue-network-controller k/owner-type=PodSelector}',
    'Port_Group a7fba1dcb5d118fe2ecc1f352db692deb external_ids={direction=Egress k/id=blue_blue-network-controller:NetpolNamespace:blue:Egress k/name=blue k/owner-controller=blue_blue-network-controller k/owner-type=NetpolNamespace}',
    'Port_Group adda7d247857d71a01b12ab9076a5f94c external_ids={k/id=blue_blue-network-controller:NetworkPolicy:blue:allow-web k/name=blue:allow-web k/owner-controller=blue_blue-network-controller k/owner-type=NetworkPolicy}',
    'Port_Group af7fa97dc1fcd6fd2d085121facfeafe2 external_ids={direction=Ingress k/id=blue_blue-network-controller:NetpolNamespace:blue:Ingress k/name=blue k/owner-controller=blue_blue-network-controller k/owner-type=NetpolNamespace}',
  ]);
});

test('a port is in the groups of the policies that select its pod, and of the directions that these close', () => {
  const zone = PolicedZone.of(
    exampleZone,
    blue,
    web,
    allowWeb,
    networkPolicy('blue/others', { podSelector: { matchLabels: { app: 'db' } } }),
  );
  const groups = (): unknown =>
    zone
      .rows(/^pods\/port /)[0]
      ?.containers.filter(({ table }) => table === 'Port_Group')
      .map(({ key }) => key);
  const [ofNamespace, ingress, egress, policy] = [
    'a738b3352beeb1cf3c2db1b084d93357e',
    'af7fa97dc1fcd6fd2d085121facfeafe2',
    'a7fba1dcb5d118fe2ecc1f352db692deb',
    'adda7d247857d71a01b12ab9076a5f94c',
  ];
  expect(groups()).toEqual([ofNamespace, ingress, policy]);
  zone.put({
    ...allowWeb,
    spec: { ...allowWeb.spec, policyTypes: ['Ingress', 'Egress'] },
  });
  expect(groups()).toEqual([ofNamespace, ingress, egress, policy]);
  zone.remove(allowWeb);
  expect(groups()).toEqual([ofNamespace]);
});

describe('what a rule matches', () => {
  test.each([
    ['nobody in particular', [{}], { 'Ingress:0:None:-1': 'ip4' }],
    [
      'no peers and no ports, written out',
      [{ from: [], ports: [] }],
      { 'Ingress:0:None:-1': 'ip4' },
    ],
    [
      'ports of three protocols',
      [
        {
          ports: [
            { port: 80 },
            { protocol: 'UDP', port: 53 },
            { protocol: 'TCP', port: 443 },
            { protocol: 'SCTP', port: 9 },
          ],
        },
      ],
      {
        'Ingress:0:tcp:-1': 'ip4 && tcp && tcp.dst=={80,443}',
        'Ingress:0:udp:-1': 'ip4 && udp && udp.dst==53',
        'Ingress:0:sctp:-1': 'ip4 && sctp && sctp.dst==9',
      },
    ],
    [
      'a range, and a port beside one',
      [
        { ports: [{ port: 80, endPort: 90 }] },
        { ports: [{ port: 80 }, { port: 90, endPort: 99 }, { port: 7, endPort: 7 }] },
      ],
      {
        'Ingress:0:tcp:-1': 'ip4 && tcp && 80<=tcp.dst<=90',
        'Ingress:1:tcp:-1': 'ip4 && tcp && (tcp.dst=={80,7} || 90<=tcp.dst<=99)',
      },
    ],
    [
      'all ports of a protocol, whatever else it names',
      [{ ports: [{ port: 80 }, { protocol: 'TCP' }] }],
      { 'Ingress:0:tcp:-1': 'ip4 && tcp' },
    ],
    [
      'blocks with and without exceptions',
      [
        { from: [{ ipBlock: { cidr: '198.51.100.9/24', except: ['198.51.100.8/29'] } }] },
        {
          from: [{ ipBlock: { cidr: 'FD00::/8', except: ['fd00:1::/32', 'fd00:2::/32'] } }],
          ports: [{ port: 80 }],
        },
      ],
      {
        'Ingress:1:tcp:-2': `ip6.src == $${leftOf('Ingress:1:v6')} && tcp && tcp.dst==80`,
        'Ingress:0:None:-2': `ip4.src == $${leftOf('Ingress:0:v4')}`,
      },
    ],
    [
      'one block of each family',
      [
        {
          from: [{ ipBlock: { cidr: '10.0.0.0/8' } }, { ipBlock: { cidr: 'FD00::/8' } }],
          ports: [{ port: 80 }],
        },
      ],
      {
        'Ingress:0:tcp:-2': '(ip4.src == 10.0.0.0/8 || ip6.src == fd00::/8) && tcp && tcp.dst==80',
      },
    ],
    [
      'selectors and blocks in one rule',
      [{ from: [{ podSelector: {} }, { ipBlock: { cidr: '0.0.0.0/0' } }] }],
      {
        'Ingress:0:None:-2': 'ip4.src == 0.0.0.0/0',
        'Ingress:0:None:-1': `ip4.src == {$${hashedName('blue_blue-network-controller:PodSelector:blue_LS{}:v4')}}`,
      },
    ],
  ])('%s', (_, ingress, expected) => {
    expect(matchesOf({ ingress })).toEqual(
      Object.fromEntries(
        Object.entries(expected).map(([key, match]) => [key, `${match} && outport == ${PORT}`]),
      ),
    );
  });

  test('what exceptions leave of the blocks of a rule is in one set per family, sorted', () => {
    const block = (cidr: string, ...except: string[]): object => ({ ipBlock: { cidr, except } });
    const policy = networkPolicy('blue/p', {
      ingress: [
        {
          from: [
            block('10.0.0.0/8', '10.64.0.0/10', '10.128.0.0/9', '10.0.0.0/16', '10.0.7.0/24'),
            block('10.0.0.0/30', '10.0.0.0/31', '10.0.0.2/32', '10.0.0.3/32'),
            block('10.0.0.0/15', '10.0.0.0/16'),
            block('198.51.100.0/24'),
            block('fd00::/8', 'fd80::/9'),
          ],
          ports: [{ port: 80 }, { protocol: 'UDP', port: 53 }],
        },
      ],
    });
    const rows = PolicedZone.of(exampleZone, blue, policy).rows(/^policy\/rules /);
    const sets = rows.filter(({ table }) => table === 'Address_Set');
    expect(sets.map(({ key, columns }) => [key, plain(columns['addresses'])])).toEqual([
      [
        leftOf('Ingress:0:v4'),
        [
          '10.1.0.0/16',
          '10.16.0.0/12',
          '10.2.0.0/15',
          '10.32.0.0/11',
          '10.4.0.0/14',
          '10.8.0.0/13',
        ],
      ],
      [leftOf('Ingress:0:v6'), ['fd00::/9']],
    ]);
    // Apart by family: OVN makes pairs of a list of both and of what else is asked for.
    const besides = `tcp && tcp.dst==80 && outport == ${PORT}`;
    expect(matches(rows)['Ingress:0:tcp:-2']).toBe(
      `((ip4.src == 198.51.100.0/24 || ip4.src == $${leftOf('Ingress:0:v4')}) && ${besides}) || (ip6.src == $${leftOf('Ingress:0:v6')} && ${besides})`,
    );
  });

  test('exceptions that cover a block leave a set without addresses, which lets nobody through', () => {
    const policy = networkPolicy('blue/p', {
      ingress: [
        { from: [{ ipBlock: { cidr: '10.0.0.0/8', except: ['10.0.0.0/9', '10.128.0.0/9'] } }] },
      ],
    });
    const rows = PolicedZone.of(exampleZone, blue, policy).rows(/^policy\/rules /);
    const [set] = rows.filter(({ table }) => table === 'Address_Set');
    expect(set?.key).toBe(leftOf('Ingress:0:v4'));
    expect(set?.columns['addresses']).toBeUndefined();
    expect(matches(rows)).toEqual({
      'Ingress:0:None:-2': `ip4.src == $${leftOf('Ingress:0:v4')} && outport == ${PORT}`,
    });
  });

  test('where a pod sends the peer is the destination', () => {
    expect(
      matchesOf({
        policyTypes: ['Egress'],
        egress: [{ to: [{ ipBlock: { cidr: '10.0.0.0/8' } }] }],
      }),
    ).toEqual({ 'Egress:0:None:-2': `ip4.dst == 10.0.0.0/8 && inport == ${PORT}` });
  });

  test('rules of a direction that the policy is not for do not count', () => {
    const rule = [{}];
    expect(Object.keys(matchesOf({ policyTypes: ['Egress'], ingress: rule }))).toEqual([]);
    expect(Object.keys(matchesOf({ ingress: rule, egress: rule }))).toEqual([
      'Ingress:0:None:-1',
      'Egress:0:None:-1',
    ]);
  });

  test.each([
    [
      'of both families',
      dualZone,
      '(ip4 || ip6)',
      /^\(ip4\.src == \{\$a[\da-f]+\} && outport == @a[\da-f]+\) \|\| \(ip6\.src == \{\$a[\da-f]+\} && outport == @a[\da-f]+\)$/,
    ],
    ['of IPv6 only', ipv6Zone, 'ip6', /^ip6\.src == \{\$a[\da-f]+\} &&/],
  ])('on a network %s', (_, zone, all, peers) => {
    const found = matchesOf({ ingress: [{}, { from: [{ podSelector: {} }] }] }, zone);
    expect(found['Ingress:0:None:-1']).toBe(`${all} && outport == ${PORT}`);
    expect(found['Ingress:1:None:-1']).toMatch(peers);
  });

  test('peers in another order, and the same ones twice, give the same match', () => {
    const [a, b] = [{ podSelector: { matchLabels: { a: '1' } } }, { podSelector: {} }];
    expect(matchesOf({ ingress: [{ from: [a, b, a] }] })).toEqual(
      matchesOf({ ingress: [{ from: [b, a] }] }),
    );
  });

  test('a port by its name has the numbers of the pods that are reached', () => {
    const ports = [{ port: 'http' }];
    const ingress = matchesOf(
      { podSelector: { matchLabels: { app: 'web' } }, ingress: [{ ports }] },
      exampleZone,
      web,
      far,
    );
    expect(Object.keys(ingress)).toEqual(['Ingress:0:tcp-namedPort:-1']);
    expect(ingress['Ingress:0:tcp-namedPort:-1']).toMatch(
      /^ip4 && tcp && \(\(ip4\.dst == \{\$a[\da-f]+\} && tcp\.dst==8080\) \|\| \(ip4\.dst == \{\$a[\da-f]+\} && tcp\.dst==8081\)\) && outport == @a[\da-f]+$/,
    );
    // A name that no pod has lets nothing through, and least of all everything.
    expect(matchesOf({ ingress: [{ ports: [{ port: 'none' }] }] }, exampleZone, web)).toEqual({});
    expect(
      matchesOf(
        { policyTypes: ['Egress'], egress: [{ to: [{ podSelector: {} }], ports }] },
        exampleZone,
        web,
      )['Egress:0:tcp-namedPort:-1'],
    ).toMatch(/^tcp && \(ip4\.dst == \{\$a[\da-f]+\} && tcp\.dst==8080\) && inport == @a[\da-f]+$/);
  });

  test('names of ACLs are cut where the column ends', () => {
    const name = 'n'.repeat(80);
    const [row] = PolicedZone.of(
      exampleZone,
      blue,
      networkPolicy(`blue/${name}`, { ingress: [{}] }),
    ).rows(/^policy\/rules /);
    expect(row?.columns['name']).toBe(`NP:blue:${name}`.slice(0, 63));
  });
});

describe('who a selector means', () => {
  const red = namespace('red', { team: 'red' });
  const pods = [
    web,
    policedPod('default/a', { address: '10.244.0.5/16', labels: { app: 'web' } }),
    policedPod('default/b', { address: '10.244.1.6/16', node: 'ovn-worker2' }),
    policedPod('red/c', { address: '10.244.0.7/16', labels: { app: 'web' } }),
  ];
  const addressesFor = (...from: object[]): unknown => {
    const zone = PolicedZone.of(
      exampleZone,
      blue,
      red,
      namespace('default'),
      ...pods,
      networkPolicy('default/p', { ingress: [{ from }] }),
    );
    return zone
      .rows(/^policy\/pod-addresses default /)
      .map(({ columns }) => plain(columns['addresses']) ?? []);
  };
  const app = { matchLabels: { app: 'web' } };

  test.each([
    ['pods of the policy’s own namespace', [{ podSelector: app }], [['10.244.0.5']]],
    ['all pods of it, by an empty selector', [{ podSelector: {} }], [['10.244.0.5', '10.244.1.6']]],
    [
      'pods of all namespaces, on this network alone',
      [{ namespaceSelector: {} }],
      [['10.244.0.5', '10.244.0.7', '10.244.1.6']],
    ],
    [
      'pods of some namespaces',
      [{ namespaceSelector: { matchLabels: { team: 'red' } }, podSelector: {} }],
      [['10.244.0.7']],
    ],
    ['both at once', [{ namespaceSelector: {}, podSelector: app }], [['10.244.0.5', '10.244.0.7']]],
    [
      'nobody, whom the selector does not match',
      [{ podSelector: { matchLabels: { app: 'none' } } }],
      [[]],
    ],
    [
      'pods without a label',
      [{ podSelector: { matchExpressions: [{ key: 'app', operator: 'DoesNotExist' }] } }],
      [['10.244.1.6']],
    ],
  ])('%s', (_, from, expected) => {
    expect(addressesFor(...from)).toEqual(expected);
  });

  test('pods on the host’s network and those that ended are nobody', () => {
    const host = { ...pods[1], spec: { nodeName: 'ovn-worker', hostNetwork: true } };
    const done = { ...pods[2], status: { phase: 'Succeeded' } };
    const zone = PolicedZone.of(
      exampleZone,
      namespace('default'),
      host as never,
      done as never,
      networkPolicy('default/p', { ingress: [{ from: [{ podSelector: {} }] }] }),
    );
    expect(zone.rows(/^policy\/pod-addresses /)[0]?.columns['addresses']).toBeUndefined();
  });

  test('selectors that say the same share a set; without a pod selector it has a name of its own', () => {
    const ids = (...from: object[]): unknown =>
      PolicedZone.of(
        exampleZone,
        networkPolicy('default/p', { ingress: [{ from }] }),
        networkPolicy('default/q', { egress: [{ to: from }] }),
      )
        .units(/^policy\/pod-addresses /)
        .map(({ unit }) => unit.replace('policy/pod-addresses default ', ''));
    const expressions = [
      { key: 'b', operator: 'In', values: ['y', 'x'] },
      { key: 'a', operator: 'Exists' },
    ];
    expect(
      ids(
        { podSelector: { matchLabels: { b: '2', a: '1' }, matchExpressions: expressions } },
        {
          podSelector: {
            matchExpressions: [
              { key: 'a', operator: 'Exists' },
              { key: 'b', operator: 'In', values: ['x', 'y'] },
            ],
            matchLabels: { a: '1', b: '2' },
          },
        },
      ),
    ).toEqual([
      'default_LS{ML:{a: 1,b: 2,},ME:{LSR{Key:a,Operator:Exists,Values:[],},LSR{Key:b,Operator:In,Values:[x y],}},}',
    ]);
    expect(ids({ namespaceSelector: {} }, { namespaceSelector: {}, podSelector: {} })).toEqual([
      'LS{}_LS{}_LNM',
      'LS{}_LS{}',
    ]);
  });
});

describe('the network of a policy', () => {
  const policy = networkPolicy('blue/p', { ingress: [{}] });
  const networks = (...objects: KubeObject[]): string[] =>
    PolicedZone.of(exampleZone, ...objects)
      .units(/^policy\/group /)
      .map(({ unit }) => unit);

  test('is the primary one of its namespace', () => {
    expect(networks(blue, policy)).toEqual(['policy/group blue_blue blue p NetworkPolicy']);
    expect(networks(namespace('green'), networkPolicy('green/p', {}))).toEqual([
      'policy/group default green p NetworkPolicy',
    ]);
  });

  test('is the default one too where the namespace did not ask for another', () => {
    expect(networks(namespace('blue'), policy)).toEqual([
      'policy/group default blue p NetworkPolicy',
      'policy/group blue_blue blue p NetworkPolicy',
    ]);
  });
});

describe('logging', () => {
  const levels = (annotation: string): unknown => {
    const zone = PolicedZone.of(
      exampleZone,
      namespace('default', {}, { 'k8s.ovn.org/acl-logging': annotation }),
      networkPolicy('default/p', { ingress: [{}] }),
    );
    const logs = zone
      .rows(/^policy\/(rules|default-deny) /)
      .filter(({ table, columns }) => table === 'ACL' && columns['log'] === true)
      .map(({ columns }) => `${columns['action'] as string} ${columns['severity'] as string}`);
    return [logs.sort(), [...zone.facts.modelProblems()].map(({ message }) => message)];
  };

  test('is what the namespace says of packets that are let through and dropped', () => {
    expect(levels('{"allow": "info", "deny": "alert"}')).toEqual([
      ['allow-related info', 'drop alert', 'drop alert'],
      [],
    ]);
    expect(levels('{"deny": "warning", "allow": ""}')).toEqual([
      ['drop warning', 'drop warning'],
      [],
    ]);
    expect(levels('{}')).toEqual([[], []]);
  });

  test.each([
    [
      '{"allow": "loud"}',
      'allow has the severity "loud", which is not one of alert, warning, notice, info, debug',
    ],
    ['[]', 'must be a JSON object, is []'],
    ['info', 'is not valid JSON'],
  ])('that can’t be read is none, and is reported: %s', (annotation, problem) => {
    expect(levels(annotation)).toEqual([[], [expect.stringContaining(problem)]]);
  });
});

describe('a policy that can’t be read', () => {
  const torn = networkPolicy('default/p', { ingress: [{ from: [{}] }] });
  const pod = policedPod('default/a', { address: '10.244.0.5/16' });
  const groupsOf = (zone: PolicedZone): number =>
    zone.rows(/^pods\/port /)[0]?.containers.filter(({ table }) => table === 'Port_Group').length ??
    0;

  test('closes the pods of its namespace in the direction that it is for where nothing else is known of it', () => {
    const zone = PolicedZone.of(exampleZone, namespace('default'), pod, torn);
    // The namespace's own group, what pods get, and the policy.
    expect(groupsOf(zone)).toBe(3);
    expect(zone.rows(/^policy\/rules /)).toEqual([]);
    expect([...zone.facts.modelProblems()]).toEqual([
      {
        object: 'NetworkPolicy default/p',
        message:
          'spec.ingress[0].from[0]: Required value: must specify a peer; correct it; until then what was read of it before stays in force, and where that is nothing the pods of its namespace get nothing',
      },
    ]);
  });

  test('closes no pods but those that its podSelector selects, and those that get its labels', () => {
    const db = { matchLabels: { app: 'db' } };
    const labelled = policedPod('default/a', { address: '10.244.0.5/16', labels: { app: 'db' } });
    const tornForDb = networkPolicy('default/p', { podSelector: db, ingress: [{ from: [{}] }] });
    const zone = PolicedZone.of(exampleZone, namespace('default'), pod, tornForDb);
    expect(groupsOf(zone)).toBe(1);
    zone.put(labelled);
    expect(groupsOf(zone)).toBe(3);
  });

  test('leaves in force what was read before', () => {
    const zone = PolicedZone.of(
      exampleZone,
      namespace('default'),
      pod,
      networkPolicy('default/p', { ingress: [{}] }),
    );
    zone.put(torn);
    expect(groupsOf(zone)).toBe(3);
    expect(zone.rows(/^policy\/rules /)).toHaveLength(1);
    zone.remove(torn);
    expect(groupsOf(zone)).toBe(1);
    expect([...zone.facts.modelProblems()]).toEqual([]);
  });
});

describe('a policy that would cost each node more flows than it may', () => {
  const blocks = (count: number): object[] =>
    Array.from({ length: count }, (_, i) => ({
      ipBlock: { cidr: `10.${i >> 8}.${i & 255}.0/24` },
    }));
  const zoneWith = (rules: readonly object[], ...others: KubeObject[]): PolicedZone =>
    PolicedZone.of(
      exampleZone,
      blue,
      web,
      networkPolicy('blue/p', { podSelector: {}, ingress: rules }),
      ...others,
    );
  const SAID =
    'NetworkPolicy blue/p: what it lets through would cost each node more than 10000 flows (max-flows-per-policy): it lets nothing through; write fewer address blocks, exceptions and ports, or several policies';

  test('lets nothing through and says so, and its pods stay closed', () => {
    const zone = zoneWith([{ from: blocks(10) }, { from: blocks(5000) }]);
    const [unit] = zone.units(/^policy\/rules /);
    expect(unit?.rows).toEqual([]);
    expect(unit?.problems).toEqual([SAID]);
    const closed = heads(zone.rows(/^policy\/(group|default-deny) /));
    expect(closed.filter((head) => head.includes('defaultDeny'))).toHaveLength(2);
    const port = zone.rows(/^pods\/port /).find(({ table }) => table === 'Logical_Switch_Port');
    const groups = port?.containers.map(({ key }) => key);
    for (const id of ['NetpolNamespace:blue:Ingress', 'NetworkPolicy:blue:p'])
      expect(groups).toContain(hashedName(`blue_blue-network-controller:${id}`));
  });

  test.each<[string, object[]]>([
    ['blocks', [{ from: blocks(5001) }]],
    ['rules', Array.from({ length: 51 }, () => ({ from: blocks(100) }))],
    [
      'exceptions',
      [
        {
          from: Array.from({ length: 250 }, (_, i) => ({
            ipBlock: { cidr: '0.0.0.0/0', except: [`10.${i}.77.1/32`] },
          })),
        },
      ],
    ],
    [
      'exceptions of IPv6, of which each leaves 128 prefixes',
      [{ from: [{ ipBlock: { cidr: '::/0', except: scatteredV6(60) } }] }],
    ],
    [
      'ranges of ports, of which each is up to 30 blocks',
      [{ ports: Array.from({ length: 200 }, () => ({ port: 1, endPort: 65534 })) }],
    ],
    ['protocols', [{ from: blocks(2000), ports: ['TCP', 'UDP', 'SCTP'].map(asPort) }]],
  ])('%s count', (_, rules) => {
    const [unit] = zoneWith(rules).units(/^policy\/rules /);
    expect(unit).toMatchObject({ rows: [], problems: [SAID] });
  });

  test('ports by a name count for each number that pods give the name', () => {
    const pods = Array.from({ length: 30 }, (_, i) =>
      policedPod(`blue/p${i}`, {
        on: 'blue/blue',
        address: `103.103.0.${10 + i}/16`,
        ports: [{ name: 'http', containerPort: 1000 + i }],
      }),
    );
    const rule = { from: blocks(200), ports: [{ port: 'http' }] };
    expect(zoneWith([rule], ...pods).units(/^policy\/rules /)[0]?.problems).toEqual([SAID]);
    expect(zoneWith([rule]).units(/^policy\/rules /)[0]?.problems).toEqual([]);
  });

  test('one that is just below is carried out', () => {
    const [unit] = zoneWith([{ from: blocks(4999) }]).units(/^policy\/rules /);
    expect(unit?.problems).toEqual([]);
    expect(unit?.rows).toHaveLength(1);
  });
});

function scatteredV6(count: number): string[] {
  return Array.from({ length: count }, (_, i) => `2001:${(i * 997 + 1).toString(16)}::1/128`);
}
function asPort(protocol: string): object {
  return { protocol, port: 80 };
}

describe('settings', () => {
  const withPolicies = (policies: Partial<Zone['settings']['policies']>): Zone => ({
    ...exampleZone,
    settings: {
      ...exampleZone.settings,
      policies: { ...exampleZone.settings.policies, ...policies },
    },
  });
  const actions = (zone: Zone, annotations: Record<string, string>): unknown[] => {
    const policy = { ...allowWeb, metadata: { ...allowWeb.metadata, annotations } };
    return PolicedZone.of(zone, blue, policy)
      .rows(/^policy\/rules /)
      .map(({ columns }) => columns['action']);
  };

  test('what a policy lets through is tracked, but where policies may ask that it is not', () => {
    const stateless = { 'k8s.ovn.org/acl-stateless': 'true' };
    const allowing = withPolicies({ allowsStateless: true });
    expect(actions(allowing, stateless)).toEqual(['allow-stateless']);
    expect(actions(exampleZone, stateless)).toEqual(['allow-related']);
    expect(actions(allowing, {})).toEqual(['allow-related']);
    expect(actions(allowing, { 'k8s.ovn.org/acl-stateless': 'yes' })).toEqual(['allow-related']);
  });

  test('ICMP passes closed pods where the cluster is set so', () => {
    const acls = (zone: Zone): string[] =>
      PolicedZone.of(zone, blue, allowWeb)
        .rows(/^policy\/default-deny /)
        .filter(({ key }) => key.includes('icmpAllow'))
        .map(({ key, columns }) =>
          [key, columns['action'], columns['priority'], columns['match'], columns['name']]
            .map(String)
            .join(' '),
        );
    expect(acls(exampleZone)).toEqual([]);
    expect(acls(withPolicies({ passesIcmp: true }))).toEqual([
      'blue_blue-network-controller:NetpolNamespace:blue:Ingress:icmpAllow allow 1001 outport == @af7fa97dc1fcd6fd2d085121facfeafe2 && (icmp || icmp6) NP:blue:Ingress',
      'blue_blue-network-controller:NetpolNamespace:blue:Egress:icmpAllow allow 1001 inport == @a7fba1dcb5d118fe2ecc1f352db692deb && (icmp || icmp6) NP:blue:Egress',
    ]);
  });
});

test('before the pods of other nodes are known no set is built, and pods are closed', () => {
  const zone = PolicedZone.withoutOtherPods(exampleZone, blue, web, allowWeb);
  expect(zone.units(/^policy\/pod-addresses /).map(({ failure }) => failure)).toEqual([
    'the pods of other nodes are not read yet',
  ]);
  expect(isAllKnown(zone.facts)).toBe(false);
  expect(heads(zone.rows(/^policy\/(group|default-deny) /))).toHaveLength(9);
  expect(zone.rows(/^pods\/port /)[0]?.containers.map(({ key }) => key)).toContain(
    'af7fa97dc1fcd6fd2d085121facfeafe2',
  );
});

describe('peers on other networks', () => {
  const anybody = networkPolicy('blue/anybody', {
    podSelector: {},
    ingress: [{ from: [{ namespaceSelector: {}, podSelector: {} }] }],
  });
  const peers = (zone: Zone, ...objects: KubeObject[]): unknown[] =>
    rowTexts(
      PolicedZone.of(zone, blue, web, anybody, ...objects).rows(
        /^policy\/pod-addresses blue_blue /,
      ),
    ).map((text) => /addresses=\[(.*?)\]/.exec(text)?.[1]);
  const several = { ...exampleZone, networks: [...exampleZone.networks, more] };
  const onMore = policedPod('blue/more', { on: 'blue/more', address: '109.109.0.3/16' });
  const green = namespace('green', ownNetwork);
  const onGreen = policedPod('green/pod', {
    on: 'green/green-net',
    address: '104.104.0.5/24',
  });

  test('count where they are primary networks of the same namespace', () => {
    expect(peers(several, onMore)).toEqual(['103.103.0.3, 109.109.0.3']);
  });

  test('count where the networks are connected with their pods, and there alone', () => {
    const [connect] = connectedZone.connects ?? [];
    const without = { ...connectedZone, connects: [] };
    const services = {
      ...connectedZone,
      connects: [{ ...connect!, hasPods: false, hasServices: true }],
    };
    expect(peers(connectedZone, green, onGreen)).toEqual(['103.103.0.3, 104.104.0.5']);
    expect(peers(without, green, onGreen)).toEqual(['103.103.0.3']);
    expect(peers(services, green, onGreen)).toEqual(['103.103.0.3']);
  });
});
