import { describe, expect, test } from 'vitest';
import {
  closedPolicy,
  policyObject,
  portQueries,
  readPolicy,
  refusal,
  type Policy,
} from '../../../../src/model/read/policies.ts';
import { valueOf } from '../../../../src/model/read/reading.ts';
import { multiPolicy, networkPolicy } from '../../../support/zone/policed-zone.ts';

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
      message: expect.stringContaining('get and send nothing') as string,
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

  test('that could never be read closes all pods of its namespace, both ways', () => {
    expect(closedPolicy(networkPolicy('blue/p', 5))).toMatchObject({
      namespace: 'blue',
      podSelector: {},
      directions: ['Ingress', 'Egress'],
      rules: [],
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

test('of several errors the first is told, and how many there are', () => {
  const error = { type: 'Invalid' as const, path: ['spec'], value: 1, detail: 'no' };
  expect(refusal([error])).not.toContain('more');
  expect(refusal([error, error, error])).toContain('(and 2 more)');
});
