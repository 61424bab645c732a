/**
 * What Kubernetes' own end-to-end cases ask of network policies, and the conformance suite of ClusterNetworkPolicies: policies step by step, and who
 * reaches whom by them among the pods of truth-table.ts.
 */
import type { SeededRandom } from '../run/seeded-random.ts';
import { PLACES, SPACES, type Place, type Step, type World } from './truth-table.ts';

/** Its name, and what is true step by step. */
export type PolicyCase = [name: string, ...steps: Step[]];

export const of = (...pods: string[]): object =>
  pods.length === 1
    ? { matchLabels: { pod: pods[0] } }
    : { matchExpressions: [{ key: 'pod', operator: 'In', values: pods }] };
export const ALL = {};
const ns = (space: string): object => ({ matchLabels: { ns: space } });

/** Peers. */
const pods = (...names: string[]): object => ({ podSelector: of(...names) });
export const space = (name: string): object => ({ namespaceSelector: ns(name) });
const both = (name: string, ...names: string[]): object => ({ ...space(name), ...pods(...names) });
const block = (cidr: string, ...except: string[]): object => ({
  ipBlock: { cidr, ...(except.length === 0 ? {} : { except }) },
});

/** Specs of policies; without rules they close. */
export const ingress = (podSelector: object, ...rules: object[]): object => ({
  podSelector,
  policyTypes: ['Ingress'],
  ingress: rules,
});
export const egress = (podSelector: object, ...rules: object[]): object => ({
  podSelector,
  policyTypes: ['Egress'],
  egress: rules,
});
const closed = (podSelector: object = ALL): object => ({
  podSelector,
  policyTypes: ['Ingress', 'Egress'],
});
export const port = (port: number | string, protocol = 'TCP', endPort?: number): object => ({
  port,
  protocol,
  ...(endPort === undefined ? {} : { endPort }),
});

type Open = Step['open'];
const everybody: Open = () => true;
const one =
  (...keys: string[]): ((place: Place) => boolean) =>
  (place) =>
    keys.includes(place.key);
export const [xa, xb, yb, za] = [one('x/a'), one('x/b'), one('y/b'), one('z/a')];

/** Names of cases, and what is true step by step. */
const OF_KUBERNETES: readonly PolicyCase[] = [
  ['without policies everybody reaches everybody', { open: everybody }],
  [
    'a policy for ingress without rules closes a namespace to all, and lets its pods out',
    { policies: { x: { deny: ingress(ALL) } }, open: (_, to) => to.space !== 'x' },
  ],
  [
    'a policy for both directions without rules closes a namespace in and out, and open again when it is gone',
    {
      policies: { x: { deny: closed() } },
      open: (from, to) => from.space !== 'x' && to.space !== 'x',
    },
    { open: everybody },
  ],
  [
    'a selector of pods means those of its own namespace',
    {
      policies: { x: { allow: ingress(of('a'), { from: [pods('b')] }) } },
      open: (from, to) => !xa(to) || xb(from),
    },
  ],
  [
    'a pod is opened to all namespaces in a namespace that is closed',
    {
      policies: {
        x: {
          deny: ingress(ALL),
          allow: ingress(of('a'), { from: [{ namespaceSelector: ALL }] }),
        },
      },
      open: (_, to) => to.space !== 'x' || xa(to),
    },
  ],
  [
    'a selector of namespaces means all pods in those',
    {
      policies: { x: { allow: ingress(of('a'), { from: [space('y')] }) } },
      open: (from, to) => !xa(to) || from.space === 'y',
    },
  ],
  [
    'selectors are expressions, too: In, NotIn, Exists and DoesNotExist',
    {
      policies: {
        x: { allow: ingress(of('a'), { from: [pods('b', 'c')] }) },
        y: {
          allow: ingress(of('a'), {
            from: [
              {
                namespaceSelector: {
                  matchExpressions: [{ key: 'ns', operator: 'NotIn', values: ['y', 'z'] }],
                },
              },
            ],
          }),
        },
        z: {
          allow: ingress(
            { matchExpressions: [{ key: 'closed', operator: 'Exists' }] },
            {
              from: [
                {
                  podSelector: { matchExpressions: [{ key: 'closed', operator: 'DoesNotExist' }] },
                },
              ],
            },
          ),
        },
      },
      labels: { pods: { 'z/a': { closed: '' }, 'z/b': { closed: '' } } },
      open: (from, to) => {
        if (xa(to)) return from.space === 'x';
        if (to.key === 'y/a') return from.space === 'x';
        return !['z/a', 'z/b'].includes(to.key) || from.key === 'z/c';
      },
    },
  ],
  [
    'peers of one rule are alternatives: pods of its own namespace, or a namespace',
    {
      policies: { x: { allow: ingress(of('a'), { from: [pods('b'), space('y')] }) } },
      open: (from, to) => !xa(to) || xb(from) || from.space === 'y',
    },
  ],
  [
    'both selectors in one peer mean pods that both select',
    {
      policies: { x: { allow: ingress(of('a'), { from: [both('y', 'b')] }) } },
      open: (from, to) => !xa(to) || yb(from),
    },
    {
      policies: {
        x: {
          allow: ingress(of('a'), {
            from: [
              {
                namespaceSelector: {
                  matchExpressions: [{ key: 'ns', operator: 'NotIn', values: ['x'] }],
                },
                podSelector: of('b', 'c'),
              },
            ],
          }),
        },
      },
      open: (from, to) => !xa(to) || (from.space !== 'x' && from.pod !== 'a'),
    },
  ],
  [
    'several selectors of pods in one rule are alternatives',
    {
      policies: { x: { allow: ingress(of('a'), { from: [pods('b'), pods('c')] }) } },
      open: (from, to) => !xa(to) || from.space === 'x',
    },
  ],
  [
    'ports limit whom a rule lets in, and policies for the same pods add up',
    {
      policies: { x: { first: ingress(of('a'), { from: [space('y')], ports: [port(81)] }) } },
      open: (from, to, via) => !xa(to) || (from.space === 'y' && via === 'tcp 81'),
    },
    {
      policies: {
        x: {
          first: ingress(of('a'), { from: [space('y')], ports: [port(81)] }),
          second: ingress(of('a', 'b'), { from: [space('y')], ports: [port(80)] }),
        },
      },
      open: (from, to, via) =>
        to.space !== 'x' ||
        to.pod === 'c' ||
        (from.space === 'y' && (via === 'tcp 80' || (xa(to) && via === 'tcp 81'))),
    },
  ],
  [
    'an empty rule lets everybody in, whatever closes the pods',
    {
      policies: { x: { deny: ingress(ALL), allow: ingress(ALL, {}) } },
      open: everybody,
    },
    {
      policies: { x: { deny: egress(ALL), allow: egress(ALL, {}) } },
      open: everybody,
    },
    { policies: { x: { deny: egress(ALL) } }, open: (from) => from.space !== 'x' },
  ],
  [
    'a named port is the number that each pod gives it, and its protocol',
    {
      policies: { x: { allow: ingress(of('a'), { ports: [port('serve-81-tcp')] }) } },
      open: (_, to, via) => !xa(to) || via === 'tcp 81',
    },
    {
      policies: { x: { allow: ingress(ALL, { from: [space('y')], ports: [port('web')] }) } },
      open: (from, to, via) =>
        to.space !== 'x' || (from.space === 'y' && via === (to.pod === 'c' ? 'tcp 81' : 'tcp 80')),
    },
    {
      policies: { x: { allow: egress(of('a'), { ports: [port('serve-80-udp', 'UDP')] }) } },
      open: (from, _, via) => !xa(from) || via === 'udp 80',
    },
    {
      policies: { x: { allow: egress(of('a'), { to: [space('z')], ports: [port('web')] }) } },
      open: (from, to, via) =>
        !xa(from) || (to.space === 'z' && via === (to.pod === 'c' ? 'tcp 81' : 'tcp 80')),
    },
  ],
  [
    'a policy that is changed says what it says now: allow all, deny all, one namespace',
    { policies: { x: { mutable: ingress(ALL, {}) } }, open: everybody },
    { policies: { x: { mutable: ingress(ALL) } }, open: (_, to) => to.space !== 'x' },
    {
      policies: { x: { mutable: ingress(ALL, { from: [space('z')] }) } },
      open: (from, to) => to.space !== 'x' || from.space === 'z',
    },
    {
      policies: { x: { mutable: egress(ALL, { to: [space('z')] }) } },
      open: (from, to) => from.space !== 'x' || to.space === 'z',
    },
  ],
  [
    'a namespace that gets a label is let in, and no longer when it loses it',
    {
      policies: {
        x: {
          allow: ingress(of('a'), {
            from: [{ namespaceSelector: { matchLabels: { ns2: 'new' } } }],
          }),
        },
      },
      open: (_, to) => !xa(to),
    },
    {
      policies: {
        x: {
          allow: ingress(of('a'), {
            from: [{ namespaceSelector: { matchLabels: { ns2: 'new' } } }],
          }),
        },
      },
      labels: { spaces: { y: { ns2: 'new' } } },
      open: (from, to) => !xa(to) || from.space === 'y',
    },
    {
      policies: {
        x: {
          allow: ingress(of('a'), {
            from: [{ namespaceSelector: { matchLabels: { ns2: 'new' } } }],
          }),
        },
      },
      open: (_, to) => !xa(to),
    },
  ],
  [
    'a pod that gets a label is let in, and no longer when it loses it',
    {
      policies: {
        x: {
          allow: ingress(of('a'), { from: [{ podSelector: { matchLabels: { pod2: 'new' } } }] }),
        },
      },
      labels: { pods: { 'x/b': { pod2: 'new' } } },
      open: (from, to) => !xa(to) || xb(from),
    },
    {
      policies: {
        x: {
          allow: ingress(of('a'), { from: [{ podSelector: { matchLabels: { pod2: 'new' } } }] }),
        },
      },
      open: (_, to) => !xa(to),
    },
  ],
  [
    'a pod is closed when it gets the label that a policy selects, and open again when it loses it',
    {
      policies: { x: { deny: ingress({ matchLabels: { target: 'isolated' } }) } },
      open: everybody,
    },
    {
      policies: { x: { deny: ingress({ matchLabels: { target: 'isolated' } }) } },
      labels: { pods: { 'x/a': { target: 'isolated' } } },
      open: (_, to) => !xa(to),
    },
    {
      policies: { x: { deny: ingress({ matchLabels: { target: 'isolated' } }) } },
      open: everybody,
    },
  ],
  [
    'an empty selector of pods means all of the namespace and nobody of others',
    {
      policies: { x: { allow: ingress(ALL, { from: [{ podSelector: ALL }] }) } },
      open: (from, to) => to.space !== 'x' || from.space === 'x',
    },
  ],
  [
    'egress is closed for the pods that a policy selects, and for all of a namespace',
    { policies: { x: { deny: egress(of('a')) } }, open: (from) => !xa(from) },
    { policies: { x: { deny: egress(ALL) } }, open: (from) => from.space !== 'x' },
  ],
  [
    'both directions in one policy hold each for itself',
    {
      policies: {
        x: {
          both: {
            podSelector: of('a'),
            policyTypes: ['Ingress', 'Egress'],
            ingress: [{ from: [pods('b')] }],
            egress: [{ ports: [port(80)] }],
          },
        },
      },
      open: (from, to, via) => (!xa(to) || xb(from)) && (!xa(from) || via === 'tcp 80'),
    },
    {
      policies: {
        x: {
          in: ingress(of('a'), { from: [space('y')] }),
          out: egress(of('a'), { to: [space('z')] }),
        },
      },
      open: (from, to) => (!xa(to) || from.space === 'y') && (!xa(from) || to.space === 'z'),
    },
  ],
  [
    'a client that may not send does not reach a server that would let it in',
    {
      policies: {
        x: { out: egress(of('a'), { to: [both('y', 'a')] }) },
        y: {
          first: ingress(of('a'), { from: [both('x', 'a')] }),
          second: ingress(of('b'), { from: [both('x', 'a')] }),
        },
      },
      open: (from, to) => {
        if (xa(from)) return to.key === 'y/a';
        return !['y/a', 'y/b'].includes(to.key);
      },
    },
  ],
  [
    'a protocol without a port is all its ports, and another protocol is none of them',
    {
      policies: { x: { allow: ingress(of('a'), { ports: [{ protocol: 'TCP' }] }) } },
      hasSctp: true,
      open: (_, to, via) => !xa(to) || via.startsWith('tcp'),
    },
    {
      policies: { x: { allow: ingress(of('a'), { ports: [port(80, 'UDP')] }) } },
      open: (_, to, via) => !xa(to) || via === 'udp 80',
    },
    {
      policies: { x: { allow: ingress(of('a'), { ports: [port(80, 'SCTP')] }) } },
      hasSctp: true,
      open: (_, to, via) => !xa(to) || via === 'sctp 80',
    },
  ],
  [
    'a range of ports is all of them, and none below or above',
    {
      policies: { x: { allow: ingress(of('a'), { ports: [port(79, 'TCP', 80)] }) } },
      open: (_, to, via) => !xa(to) || via === 'tcp 80',
    },
    {
      policies: {
        x: { allow: egress(of('a'), { ports: [port(80, 'TCP', 81), port(81, 'UDP', 90)] }) },
      },
      open: (from, _, via) => !xa(from) || via !== 'udp 80',
    },
  ],
  [
    'a block of addresses is all of it but its exceptions, and another rule may let those through',
    {
      policies: (world) => ({
        x: { out: egress(of('a'), { to: [block(`${world.address('y/b')}/32`)] }) },
      }),
      open: (from, to) => !xa(from) || yb(to),
    },
    {
      policies: (world) => ({
        x: {
          out: egress(of('a'), { to: [block(world.subnet, `${world.address('y/b')}/32`)] }),
        },
      }),
      open: (from, to) => !xa(from) || !yb(to),
    },
    {
      policies: (world) => ({
        x: {
          out: egress(of('a'), { to: [block(world.subnet, `${world.address('y/b')}/32`)] }),
          more: egress(of('a'), { to: [block(`${world.address('y/b')}/32`)] }),
        },
      }),
      open: everybody,
    },
    {
      policies: (world) => ({
        x: {
          in: ingress(of('a'), {
            from: [block(world.subnet, `${world.address('z/a')}/32`), pods('b')],
            ports: [port(80)],
          }),
        },
      }),
      open: (from, to, via) => !xa(to) || (!za(from) && via === 'tcp 80'),
    },
  ],
];

/** For namespace x: rules about who asks, the first one about namespace y. */
const adminOf =
  (...actions: readonly [ofY: string, ofAll: string]) =>
  (world: World): Readonly<Record<string, object>> => ({
    x: {
      priority: 10,
      subject: {
        namespaces: { matchLabels: { 'kubernetes.io/metadata.name': world.name('x') } },
      },
      ingress: [ns('y'), ALL].map((namespaces, n) => ({
        action: actions[n],
        from: [{ namespaces }],
        ports: [{ portNumber: { protocol: 'TCP', port: 80 } }],
      })),
    },
  });
const OF_ADMINISTRATORS: readonly PolicyCase[] = [
  [
    'an AdminNetworkPolicy comes before NetworkPolicies, and leaves to them what it passes and what it says nothing of',
    {
      policies: { x: { closed: ingress(of('a')) } },
      admin: adminOf('Allow', 'Deny'),
      open: (from, to, via) =>
        to.space !== 'x' || (via === 'tcp 80' ? from.space === 'y' : !xa(to)),
    },
    {
      policies: { x: { closed: ingress(of('a')) } },
      admin: adminOf('Pass', 'Deny'),
      open: (from, to, via) =>
        to.space !== 'x' || (!xa(to) && (via !== 'tcp 80' || from.space === 'y')),
    },
  ],
];

/** Peers of the suite's cases: Gryffindor is namespace x, Ravenclaw y, Slytherin and Hufflepuff are pods a and b of z. */
const house = (name: string): object => ({ namespaces: ns(name) });
const podsOf = (name: string, ...names: string[]): object => ({
  pods: { namespaceSelector: ns(name), podSelector: names.length === 0 ? ALL : of(...names) },
});
const at = (number: number): object[] =>
  ['tcp', 'udp', 'sctp'].map((protocol) => ({ [protocol]: { destinationPort: { number } } }));

type Rule = readonly [action: string, peer: object, protocols?: readonly object[]];
type Direction = 'ingress' | 'egress';
const cluster = (
  network: World,
  tier: string,
  priority: number,
  rules: Partial<Record<Direction, readonly Rule[]>>,
): object => ({
  tier,
  priority,
  subject: { namespaces: { matchLabels: { 'kubernetes.io/metadata.name': network.name('x') } } },
  ...Object.fromEntries(
    Object.entries(rules).map(([direction, list]) => [
      direction,
      list.map(([action, peer, protocols]) => ({
        action,
        [direction === 'ingress' ? 'from' : 'to']: [peer],
        ...(protocols === undefined ? {} : { protocols }),
      })),
    ]),
  ),
});

const RAVENCLAW = house('y');
const SLYTHERIN = podsOf('z', 'a');
const HUFFLEPUFF = podsOf('z', 'b');
/** As in `standard-*-rules.yaml`: the first rule about Ravenclaw, and that about Slytherin, are what the steps change. */
const ordered = (first: string, slytherin: string, ...others: string[]): readonly Rule[] => [
  ...[first, ...others].map((action): Rule => [action, RAVENCLAW]),
  [slytherin, SLYTHERIN, at(80)],
  ['Accept', HUFFLEPUFF, at(81)],
  ['Deny', HUFFLEPUFF],
];
/** What those rules make of a peer of Gryffindor. */
const peerIsOpen = (peer: Place, via: string, first: string, slytherin: string): boolean => {
  if (peer.space === 'y') return first !== 'Deny';
  if (peer.key === 'z/a') return slytherin !== 'Deny' || !via.endsWith('80');
  return peer.key !== 'z/b' || via.endsWith('81');
};
const ofOrder = (tier: string, direction: Direction, first: string, slytherin: string): Step => ({
  cluster: (world) => ({
    rules: cluster(world, tier, 6, {
      [direction]: ordered(
        first,
        slytherin,
        ...['Accept', 'Deny', 'Pass'].filter((action) => action !== first),
      ),
    }),
  }),
  hasSctp: true,
  open: (from, to, via) => {
    const [subject, peer] = direction === 'egress' ? [from, to] : [to, from];
    return subject.space !== 'x' || peerIsOpen(peer, via, first, slytherin);
  },
});
const bothWays =
  (is: (peer: Place, via: string) => boolean): Open =>
  (from, to, via) =>
    (from.space !== 'x' || is(to, via)) && (to.space !== 'x' || is(from, via));

const LAST_PASSES: PolicyCase = [
  'what the last tier that there is passes goes through',
  ...['Admin', 'Baseline'].map((tier): Step => ({
    cluster: (world) => ({
      last: cluster(world, tier, 10, { ingress: [['Pass', house('y')]] }),
    }),
    open: () => true,
  })),
];

/** By the short names of cases of network-policy-api's conformance suite; all protocols at once. */
const OF_THE_CLUSTER: readonly PolicyCase[] = [
  ...(['Egress', 'Ingress'] as const).map((name): PolicyCase => {
    const direction = name === 'Egress' ? 'egress' : 'ingress';
    return [
      ['TCP', 'UDP', 'SCTP'].map((protocol) => `CNPAdminTier${name}${protocol}`).join(', '),
      ofOrder('Admin', direction, 'Accept', 'Deny'),
      ofOrder('Admin', direction, 'Deny', 'Deny'),
      ofOrder('Admin', direction, 'Pass', 'Pass'),
    ];
  }),
  [
    'CNPAdminTierGress',
    {
      cluster: (world) => {
        const rules = ordered('Accept', 'Deny', 'Deny', 'Pass');
        return { rules: cluster(world, 'Admin', 15, { ingress: rules, egress: rules }) };
      },
      open: bothWays((peer, via) => peerIsOpen(peer, via, 'Accept', 'Deny')),
    },
  ],
  [
    'CNPAdminTierEgressInlineCIDRPeers',
    {
      cluster: (world) => ({
        rules: cluster(world, 'Admin', 85, {
          egress: [
            ['Accept', { networks: [`${world.address('z/a')}/32`, `${world.address('z/b')}/32`] }],
            ['Accept', podsOf('y')],
            ['Deny', { networks: ['0.0.0.0/0', '::/0'] }],
          ],
        }),
      }),
      open: (from, to) => from.space !== 'x' || to.space === 'y' || ['z/a', 'z/b'].includes(to.key),
    },
  ],
  ...[60, 40].map((priority): [string, Step] => [
    `CNPAdminTierPriorityField: ${priority}`,
    {
      cluster: (world) => {
        const gress = (action: string): Partial<Record<Direction, readonly Rule[]>> => ({
          ingress: [[action, podsOf('y')]],
          egress: [[action, podsOf('y')]],
        });
        return {
          fifty: cluster(world, 'Admin', 50, gress('Deny')),
          other: cluster(world, 'Admin', priority, gress('Pass')),
          base: cluster(world, 'Baseline', 10, gress('Accept')),
        };
      },
      open: bothWays((peer) => peer.space !== 'y' || priority < 50),
    },
  ]),
  [
    'CNPAdminTierIntegration',
    ...(
      [
        ['Deny', true],
        ['Pass', true],
        ['Pass', false],
      ] as const
    ).map(([action, hasPolicy]): Step => {
      const gress = (rule: string): Partial<Record<Direction, readonly Rule[]>> => ({
        ingress: [[rule, house('y')]],
        egress: [[rule, house('y')]],
      });
      return {
        cluster: (world) => ({
          pass: cluster(world, 'Admin', 10, gress(action)),
          base: cluster(world, 'Baseline', 10, gress('Deny')),
        }),
        policies: hasPolicy
          ? {
              x: {
                allow: {
                  podSelector: ALL,
                  policyTypes: ['Ingress', 'Egress'],
                  ingress: [{ from: [space('y')] }],
                  egress: [{ to: [space('y')] }],
                },
              },
            }
          : {},
        open: bothWays((peer) =>
          hasPolicy ? peer.space === 'y' && action === 'Pass' : peer.space !== 'y',
        ),
      };
    }),
  ],
  [
    'CNPAdminTierIngressNamedPort, CNPAdminTierEgressNamedPort',
    {
      cluster: (world) => {
        const rules: readonly Rule[] = [
          ['Accept', house('y'), [{ destinationNamedPort: 'web' }]],
          ['Deny', house('y')],
        ];
        return { rules: cluster(world, 'Admin', 25, { ingress: rules, egress: rules }) };
      },
      open: (from, to, via) =>
        ![from, to].some(({ space: one }) => one === 'x') ||
        ![from, to].some(({ space: one }) => one === 'y') ||
        via === (to.pod === 'c' ? 'tcp 81' : 'tcp 80'),
    },
  ],
  [
    [
      'CNPBaselineTierGress',
      ...['Egress', 'Ingress'].flatMap((name) =>
        ['TCP', 'UDP', 'SCTP'].map((protocol) => `CNPBaselineTier${name}${protocol}`),
      ),
    ].join(', '),
    ...(['Accept', 'Deny'] as const).map((first): Step => ({
      cluster: (world) => {
        const rules = ordered(first, 'Deny', first === 'Accept' ? 'Deny' : 'Accept');
        return { rules: cluster(world, 'Baseline', 10, { ingress: rules, egress: rules }) };
      },
      hasSctp: true,
      open: bothWays((peer, via) => peerIsOpen(peer, via, first, 'Deny')),
    })),
  ],
  [
    'CNPBaselineTierEgressInlineCIDRPeers',
    {
      cluster: (world) => ({
        rules: cluster(world, 'Baseline', 10, {
          egress: [
            ['Accept', podsOf('y')],
            ['Deny', { networks: ['0.0.0.0/0', '::/0'] }],
          ],
        }),
      }),
      open: (from, to) => from.space !== 'x' || to.space === 'y',
    },
  ],
];

export const POLICY_CASES: PolicyCase[] = [
  ...OF_KUBERNETES,
  ...OF_ADMINISTRATORS,
  LAST_PASSES,
  ...OF_THE_CLUSTER,
];

/** Labels and policies of every kind, as somebody might write them. */
export function randomStep(random: SeededRandom): Omit<Step, 'open'> {
  const some = <T>(most: number, make: () => T): T[] => random.list(most, make);
  const one = (): string => random.pick(['a', 'b', 'c']);
  const labelled = { matchLabels: { extra: 'yes' } };
  const selected = (): object => random.pick([ALL, of(one()), of(one(), one()), labelled]);
  const spaced = (): object => random.pick([ALL, ns(random.pick(SPACES)), labelled]);
  const ports = (): object[] =>
    some(2, () =>
      random.pick([port(80), port(81), port(80, 'UDP'), port(80, 'TCP', 81), port('web')]),
    );
  const peers = (): object[] =>
    some(2, () =>
      random.pick([
        { podSelector: selected() },
        { namespaceSelector: spaced() },
        { podSelector: selected(), namespaceSelector: spaced() },
      ]),
    );
  const rules = (side: 'from' | 'to'): object[] =>
    some(2, () => ({ [side]: peers(), ports: ports() }));
  const policy = (): object =>
    random.pick([
      () => ingress(selected(), ...rules('from')),
      () => egress(selected(), ...rules('to')),
      () => closed(selected()),
    ])();
  const action = (): string => random.pick(['Accept', 'Deny', 'Pass']);
  const adminPeer = (): object =>
    random.pick([
      { namespaces: spaced() },
      { pods: { namespaceSelector: spaced(), podSelector: selected() } },
    ]);
  const adminRule = (): Rule =>
    random.is(0.5) ? [action(), adminPeer()] : [action(), adminPeer(), at(random.pick([80, 81]))];
  const guards = some(2, () => ({
    tier: random.pick(['Admin', 'Baseline']),
    priority: random.below(1000),
    ingress: some(2, adminRule),
    egress: some(2, adminRule),
  }));
  return {
    labels: {
      pods: Object.fromEntries(some(3, () => [random.pick(PLACES).key, { extra: 'yes' }])),
      spaces: Object.fromEntries(some(1, () => [random.pick(SPACES), { extra: 'yes' }])),
    },
    policies: Object.fromEntries(
      some(3, () => [
        random.pick(SPACES),
        { p: policy(), ...(random.is(0.5) ? { q: policy() } : {}) },
      ]),
    ),
    cluster: (world) =>
      Object.fromEntries(
        guards.map(({ tier, priority, ...gress }, n) => [
          `guard-${n}`,
          cluster(world, tier, priority, gress),
        ]),
      ),
  };
}
