/**
 * What the conformance suite of ClusterNetworkPolicies asks (network-policy-api), by its cases' short names: policies step by step, and who reaches
 * whom by them among the pods of truth-table.ts.
 */
import { ALL, ns, of } from './policy-selectors.ts';
import type { Place, PolicyCase, Space, Step, World } from './truth-table.ts';

type Open = Step['open'];

/** Peers of the suite's cases: Gryffindor is namespace x, Ravenclaw y, Slytherin and Hufflepuff are pods a and b of z. */
const house = (name: string): object => ({ namespaces: ns(name) });
const podsOf = (name: string, ...names: string[]): object => ({
  pods: { namespaceSelector: ns(name), podSelector: names.length === 0 ? ALL : of(...names) },
});
export const at = (number: number): object[] =>
  ['tcp', 'udp', 'sctp'].map((protocol) => ({ [protocol]: { destinationPort: { number } } }));

export type Rule = readonly [action: string, peer: object, protocols?: readonly object[]];
type Direction = 'ingress' | 'egress';
type Rules = Partial<Record<Direction, readonly Rule[]>>;
const rulesOf = (rules: Rules): object =>
  Object.fromEntries(
    Object.entries(rules).map(([direction, list]) => [
      direction,
      list.map(([action, peer, protocols]) => ({
        action,
        [direction === 'ingress' ? 'from' : 'to']: [peer],
        ...(protocols === undefined ? {} : { protocols }),
      })),
    ]),
  );
/** Spec of one about a namespace. */
export const cluster = (
  network: World,
  tier: string,
  priority: number,
  rules: Rules,
  of: Space = 'x',
): object => ({
  tier,
  priority,
  subject: { namespaces: { matchLabels: { 'kubernetes.io/metadata.name': network.name(of) } } },
  ...rulesOf(rules),
});
/** Likewise of one about pods, of whichever network they are. */
const podRules =
  (tier: string, priority: number, pods: object) =>
  (rules: Rules): object => ({ tier, priority, subject: { pods }, ...rulesOf(rules) });

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

const between = (protocol: string, start: number, end: number): object => ({
  [protocol]: { destinationPort: { range: { start, end } } },
});

const LAST_PASSES: PolicyCase = [
  'what the last tier that there is passes goes through',
  ...['Admin', 'Baseline'].map((tier): Step => ({
    cluster: (world) => ({
      last: cluster(world, tier, 10, { ingress: [['Pass', house('y')]] }),
    }),
    open: () => true,
  })),
];

/** Cases that are the same in both tiers. */
const ofTier = (tier: 'Admin' | 'Baseline', priority: number): readonly PolicyCase[] => [
  [
    `CNP${tier}TierIngressNamedPort, CNP${tier}TierEgressNamedPort`,
    {
      cluster: (world) => {
        const rules: readonly Rule[] = [
          ['Accept', house('y'), [{ destinationNamedPort: 'web' }]],
          ['Deny', house('y')],
        ];
        return { rules: cluster(world, tier, priority, { ingress: rules, egress: rules }) };
      },
      open: (from, to, via) =>
        ![from, to].some(({ space: one }) => one === 'x') ||
        ![from, to].some(({ space: one }) => one === 'y') ||
        via === (to.pod === 'c' ? 'tcp 81' : 'tcp 80'),
    },
  ],
  [
    `CNP${tier}TierIngressRulesEgressUnaffected`,
    {
      cluster: (world) => ({
        rules: cluster(world, tier, priority, { ingress: [['Deny', RAVENCLAW]] }),
      }),
      open: (from, to) => to.space !== 'x' || from.space !== 'y',
    },
  ],
  [
    `CNP${tier}TierEgressRulesIngressUnaffected`,
    {
      cluster: (world) => ({
        rules: cluster(world, tier, priority, { egress: [['Deny', RAVENCLAW]] }),
      }),
      open: (from, to) => from.space !== 'x' || to.space !== 'y',
    },
  ],
  [
    `CNP${tier}TierPortRange`,
    {
      cluster: (world) => {
        const rules: readonly Rule[] = [
          ['Accept', RAVENCLAW, [between('tcp', 80, 81)]],
          ['Accept', HUFFLEPUFF, [between('udp', 81, 90)]],
          ['Accept', SLYTHERIN, [between('sctp', 70, 80)]],
          ['Deny', { namespaces: ALL }],
        ];
        return { rules: cluster(world, tier, priority, { ingress: rules, egress: rules }) };
      },
      hasSctp: true,
      open: bothWays((peer, via) => {
        if (peer.space === 'y') return via.startsWith('tcp');
        return (
          (peer.key === 'z/b' && via === 'udp 81') || (peer.key === 'z/a' && via === 'sctp 80')
        );
      }),
    },
  ],
  [
    `CNP${tier}TierPodSelector`,
    {
      cluster: () => {
        const rules: readonly Rule[] = [
          ['Deny', { pods: { podSelector: of('b') } }],
          ['Deny', podsOf('y', 'c')],
        ];
        const ofPods = podRules(tier, priority, { podSelector: of('a') });
        const ofOne = podRules(tier, priority + 1, {
          namespaceSelector: ns('y'),
          podSelector: of('b'),
        });
        return {
          pods: ofPods({ ingress: rules, egress: rules }),
          pod: ofOne({ egress: [['Deny', house('z')]] }),
        };
      },
      open: (from, to) => {
        const isDenied = ({ pod, key }: Place): boolean => pod === 'b' || key === 'y/c';
        return (
          !(from.pod === 'a' && isDenied(to)) &&
          !(to.pod === 'a' && isDenied(from)) &&
          !(from.key === 'y/b' && to.space === 'z')
        );
      },
    },
  ],
  [
    `CNP${tier}TierSamePriority`,
    {
      cluster: (world) => {
        const denies = (of: Space, peer: string, number: number): object => {
          const rules: readonly Rule[] = [
            ['Deny', house(peer), [{ tcp: { destinationPort: { number } } }]],
          ];
          return cluster(world, tier, priority, { ingress: rules, egress: rules }, of);
        };
        return { xy: denies('x', 'y', 80), xz: denies('x', 'z', 80), yz: denies('y', 'z', 81) };
      },
      open: (from, to, via) => {
        const denied: Readonly<Record<string, string>> = {
          xy: 'tcp 80',
          xz: 'tcp 80',
          yz: 'tcp 81',
        };
        return via !== denied[[from.space, to.space].toSorted().join('')];
      },
    },
  ],
];

/** By the short names of cases of network-policy-api's conformance suite; all protocols at once. */
const OF_SUITE: readonly PolicyCase[] = [
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
                  ingress: [{ from: [{ namespaceSelector: ns('y') }] }],
                  egress: [{ to: [{ namespaceSelector: ns('y') }] }],
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

export const CLUSTER_POLICY_CASES: readonly PolicyCase[] = [
  LAST_PASSES,
  ...OF_SUITE,
  ...ofTier('Admin', 25),
  ...ofTier('Baseline', 10),
];
