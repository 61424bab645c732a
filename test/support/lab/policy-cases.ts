/**
 * What Kubernetes' own end-to-end cases ask of network policies: policies step by step, and who reaches whom by them among the pods of truth-table.ts.
 * All cases, with those of cluster-policy-cases.ts.
 */
import type { SeededRandom } from '../run/seeded-random.ts';
import { at, cluster, CLUSTER_POLICY_CASES, type Rule } from './cluster-policy-cases.ts';
import { ALL, ns, of } from './policy-selectors.ts';
import {
  PLACES,
  SPACES,
  type Place,
  type PolicyCase,
  type Step,
  type World,
} from './truth-table.ts';

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

export const POLICY_CASES: PolicyCase[] = [
  ...OF_KUBERNETES,
  ...OF_ADMINISTRATORS,
  ...CLUSTER_POLICY_CASES,
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
