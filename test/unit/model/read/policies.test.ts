import { describe, expect, test } from 'vitest';
import {
  closedPolicy,
  policyObject,
  portQueries,
  readPolicy,
  refusal,
  type Policy,
} from '../../../../src/model/read/policies.ts';
import type { NetworkPolicy } from '../../../../src/api/types.ts';
import { matchesSelector } from '../../../../src/api/selectors.ts';
import { valueOf } from '../../../../src/model/read/reading.ts';
import { SeededRandom } from '../../../support/run/seeded-random.ts';
import { multiPolicy, networkPolicy } from '../../../support/zone/policed-zone.ts';
import { PolicyWorld } from '../../../support/zone/policy-world.ts';

const read = (spec: object): Policy => {
  const found = valueOf(readPolicy(networkPolicy('blue/p', { podSelector: {}, ...spec })));
  if (found === undefined) throw new Error('no policy');
  return found;
};
const peer = { podSelector: { matchLabels: { app: 'web' } } };

describe('a policy (reference/topology.md §16.1)', () => {
  test('is for ingress, and for egress where it has rules for that, unless it says for what', () => {
    expect(read({}).directions).toEqual(['Ingress']);
    expect(read({ egress: [{}] }).directions).toEqual(['Ingress', 'Egress']);
    expect(read({ egress: [{}], policyTypes: ['Egress'] }).directions).toEqual(['Egress']);
  });

  test('has no rules of a direction that it is not for', () => {
    const { rules } = read({ ingress: [{}], egress: [{}], policyTypes: ['Egress'] });
    expect(rules.map(({ direction }) => direction)).toEqual(['Egress']);
  });

  test('selects pods of its own namespace, or of namespaces by their labels', () => {
    const [rule] = read({ ingress: [{ from: [peer, { namespaceSelector: {} }] }] }).rules;
    expect(rule?.peers.map(({ namespace, isLegacy }) => [namespace, isLegacy])).toEqual([
      ['blue', false],
      [undefined, true],
    ]);
  });

  test('has its blocks in one spelling, with what is left out of them', () => {
    const block = { cidr: '10.0.0.1/8', except: ['10.1.0.0/16'] };
    expect(read({ ingress: [{ from: [{ ipBlock: block }] }] }).rules[0]?.blocks).toEqual([
      { cidr: '10.0.0.0/8', except: ['10.1.0.0/16'] },
    ]);
  });

  test('that can’t be read says why, and what holds until then', () => {
    expect(readPolicy(networkPolicy('blue/p', { podSelector: 5 }))).toMatchObject({
      kind: 'problem',
      message: expect.stringContaining('the pods of its namespace get nothing') as string,
    });
  });

  test.each<[string, object]>([
    [
      'spec.ingress[0].from[0].serviceAccounts',
      { ingress: [{ from: [{ ...peer, serviceAccounts: {} }] }] },
    ],
    ['spec.egress[0].ports[0].icmp', { egress: [{ ports: [{ icmp: {} }] }] }],
    ['spec.ingress[0].when', { ingress: [{ when: 'night' }] }],
    ['spec.deny', { deny: [] }],
  ])('with a field of a newer release (%s) is not read as if it were not there', (field, spec) => {
    expect(readPolicy(networkPolicy('blue/p', { podSelector: {}, ...spec }))).toMatchObject({
      kind: 'problem',
      message: expect.stringMatching(
        `^${RegExp.escape(field)}: Forbidden: this release does not know the field`,
      ) as string,
    });
  });

  test('for secondary networks is for those that it names, and says so when it names none', () => {
    const spec = { podSelector: {} };
    expect(valueOf(readPolicy(multiPolicy('blue/p', 'net', spec)))?.nads).toEqual(['blue/net']);
    expect(readPolicy(multiPolicy('blue/p', undefined, spec))).toMatchObject({ kind: 'problem' });
  });

  test('is called by kind, namespace and name', () => {
    expect(policyObject(read({}))).toBe('NetworkPolicy blue/p');
  });
});

describe('a port that a rule means by a name', () => {
  const ports = [{ protocol: 'TCP', port: 'http' }];
  const queries = (spec: object): (string | undefined)[] => {
    const policy = read(spec);
    return policy.rules.flatMap((rule) =>
      portQueries(policy, rule).map(({ selection }) => selection.id),
    );
  };

  test('is that of the pods that are reached: the policy’s own, or those that they send to', () => {
    expect(queries({ ingress: [{ ports, from: [peer] }] })).toEqual(['blue_LS{}']);
    expect(queries({ egress: [{ ports, to: [peer] }], policyTypes: ['Egress'] })).toEqual([
      'blue_LS{ML:{app: web,},}',
    ]);
  });

  test('where pods send to everybody, that of every pod', () => {
    expect(queries({ egress: [{ ports }], policyTypes: ['Egress'] })).toEqual(['LS{}_LS{}']);
  });

  test('asks nobody where ports are numbers', () => {
    expect(queries({ ingress: [{ ports: [{ port: 80 }] }] })).toEqual([]);
  });
});

describe('a policy that could never be read closes', () => {
  const db = { matchLabels: { app: 'db' } };
  const torn = { from: [{}] };
  const both = ['Ingress', 'Egress'];

  test.each<[string, unknown, object, readonly string[], string]>([
    [
      'the pods that its podSelector selects, in the direction that it is for',
      { podSelector: db, ingress: [torn] },
      db,
      ['Ingress'],
      'that its podSelector selects (app=db) get nothing',
    ],
    [
      'what they send alone where its policyTypes say so',
      { podSelector: db, policyTypes: ['Egress'], egress: [{ to: [{ newer: {} }] }] },
      db,
      ['Egress'],
      'that its podSelector selects (app=db) send nothing',
    ],
    [
      'what they send, too, by rules that are no list',
      { podSelector: db, egress: { to: [] } },
      db,
      both,
      'that its podSelector selects (app=db) get and send nothing',
    ],
    [
      'both directions where its policyTypes can not be read',
      { podSelector: db, policyTypes: ['Ingress', 'Forward'] },
      db,
      both,
      'that its podSelector selects (app=db) get and send nothing',
    ],
    [
      'all pods of its namespace where its podSelector has an operator that is none',
      { podSelector: { matchExpressions: [{ key: 'app', operator: 'Like' }] } },
      {},
      ['Ingress'],
      'the pods of its namespace get nothing',
    ],
    [
      'all pods of its namespace where its podSelector has a field of a newer release',
      { podSelector: { ...db, names: ['a'] } },
      {},
      ['Ingress'],
      'the pods of its namespace get nothing',
    ],
    [
      'all pods, both ways, where a field beside the podSelector is not known: it may be about more pods',
      { podSelector: db, policyTypes: ['Ingress'], podNames: ['a'] },
      {},
      both,
      'the pods of its namespace get and send nothing',
    ],
    [
      'all pods, both ways, where it has no spec',
      5,
      {},
      both,
      'the pods of its namespace get and send nothing',
    ],
  ])('%s', (_, spec, podSelector, directions, told) => {
    const policy = networkPolicy('blue/p', spec);
    expect(closedPolicy(policy)).toEqual({
      kind: 'NetworkPolicy',
      namespace: 'blue',
      name: 'p',
      podSelector,
      directions,
      rules: [],
      isStateless: false,
    });
    expect(readPolicy(policy)).toMatchObject({
      kind: 'problem',
      message: expect.stringMatching(`${RegExp.escape(told)}$`) as string,
    });
  });

  test('every secondary network where it can’t be read which it is for', () => {
    const spec = { podSelector: db, ingress: [torn] };
    expect(closedPolicy(multiPolicy('blue/p', 'net', spec)).nads).toEqual(['blue/net']);
    expect(closedPolicy(multiPolicy('blue/p', 'a/b/c', spec)).nads).toBe('all');
    expect(closedPolicy(multiPolicy('blue/p', undefined, spec)).nads).toEqual([]);
  });

  test('with a selector that is long, says the beginning of it', () => {
    const values = Array.from({ length: 100 }, (_, index) => `value-${index}`);
    const podSelector = { matchExpressions: [{ key: 'app', operator: 'In', values }] };
    const reading = readPolicy(networkPolicy('blue/p', { podSelector, ingress: [torn] }));
    expect(reading).toMatchObject({ kind: 'problem' });
    expect(JSON.stringify(reading).length).toBeLessThan(600);
  });

  test('whatever was closed by it before something in it was spoilt', () => {
    const random = new SeededRandom();
    let spoilt = 0;
    for (let run = 0; run < 40; run += 1) {
      const world = new PolicyWorld(random);
      const policies = world
        .objects()
        .filter((object): object is NetworkPolicy => object.kind === 'NetworkPolicy');
      for (const policy of policies) {
        const meant = valueOf(readPolicy(policy));
        if (meant === undefined) throw new Error(`seed ${random.seed}, run ${run}: no policy`);
        for (const spec of spoiltCopies(policy.spec)) {
          const { namespace = '', name } = policy.metadata;
          const torn = networkPolicy(`${namespace}/${name}`, spec);
          if (readPolicy(torn).kind === 'value') continue;
          spoilt += 1;
          const closed = closedPolicy(torn);
          const what = `seed ${random.seed}: ${JSON.stringify(spec)}`;
          expect(closed.rules, what).toEqual([]);
          expect(closed.directions, what).toEqual(expect.arrayContaining([...meant.directions]));
          for (const { labels } of world.pods.values())
            if (matchesSelector(meant.podSelector, labels))
              expect(matchesSelector(closed.podSelector, labels), what).toBe(true);
        }
      }
    }
    expect(spoilt).toBeGreaterThan(500);
  });
});

/** Copies of a value in each of which one part is what nobody can read: another type, or with a field that nobody knows. */
function spoiltCopies(value: unknown): unknown[] {
  if (typeof value !== 'object' || value === null) return [{ newer: 1 }];
  const inside = Object.entries(value).flatMap(([key, child]) =>
    spoiltCopies(child).map((copy) =>
      Array.isArray(value)
        ? value.map((item: unknown, index) => (index === Number(key) ? copy : item))
        : { ...value, [key]: copy },
    ),
  );
  return [
    7,
    ...inside,
    ...(Array.isArray(value) ? [[...(value as unknown[]), 7]] : [{ ...value, newer: 1 }]),
  ];
}

test('of several errors the first is told, and how many there are', () => {
  const error = { type: 'Invalid' as const, path: ['spec'], value: 1, detail: 'no' };
  expect(refusal([error])).not.toContain('more');
  expect(refusal([error, error, error])).toContain('(and 2 more)');
});
