import { RULES_SKIPPED } from '../../../src/api/validation/validate.ts';
import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { readStored } from '../../../src/api/validation/stored-object.ts';
import { networkPolicies } from '../../../src/api/kinds.ts';
import { problemsOf, valid } from './objects.ts';

const policy = (spec: unknown): object => ({
  apiVersion: 'networking.k8s.io/v1',
  kind: 'NetworkPolicy',
  metadata: { name: 'p', namespace: 'blue' },
  spec,
});
const from = (...peers: unknown[]): object => policy({ ingress: [{ from: peers }] });
const ports = (...list: unknown[]): object => policy({ egress: [{ ports: list }] });

describe('a NetworkPolicy', () => {
  test('is stored as it is written, without nulls and unknown fields', () => {
    const spec = {
      podSelector: null,
      policyTypes: ['Ingress', 'Egress'],
      ingress: [{ from: [{ namespaceSelector: {}, podSelector: null }], ports: null }],
      egress: [{ to: [{ ipBlock: { cidr: '10.0.0.0/8', except: ['10.1.0.0/16'] } }], tos: 1 }],
    };
    expect(valid(policy(spec)).spec).toEqual({
      policyTypes: ['Ingress', 'Egress'],
      ingress: [{ from: [{ namespaceSelector: {} }] }],
      egress: [{ to: [{ ipBlock: { cidr: '10.0.0.0/8', except: ['10.1.0.0/16'] } }] }],
    });
  });

  test.each([
    [policy(undefined), 'spec: Required value'],
    [policy([]), 'spec: Invalid value: []: spec in body must be of type object: "array"'],
    [
      policy({ podSelector: { matchLabels: { a: 5 } } }),
      'spec.podSelector.matchLabels.a: Invalid value: 5: spec.podSelector.matchLabels.a in body must be of type string: "integer"',
    ],
    [
      policy({ podSelector: { matchExpressions: [{ key: 'a', operator: 'In' }] } }),
      'spec.podSelector: Invalid value: {"matchExpressions":[{"key":"a","operator":"In"}]}: operator In needs values',
    ],
    [
      policy({ policyTypes: ['Both'] }),
      'spec.policyTypes[0]: Unsupported value: "Both": supported values: "Ingress", "Egress"',
    ],
    [
      policy({ policyTypes: ['Ingress', 'Egress', 'Egress'] }),
      'spec.policyTypes: Invalid value: ["Ingress","Egress","Egress"]: may not specify more than two policyTypes',
    ],
    [from({}), 'spec.ingress[0].from[0]: Required value: must specify a peer'],
    [
      from({ podSelector: {}, ipBlock: { cidr: '10.0.0.0/8' } }),
      'spec.ingress[0].from[0]: Forbidden: may not specify both ipBlock and another peer',
    ],
    [
      from({ ipBlock: { cidr: '10.0.0.0' } }),
      'spec.ingress[0].from[0].ipBlock.cidr: Invalid value: "10.0.0.0": must be a valid CIDR value, (e.g. 10.9.8.0/24)',
    ],
    [
      from({ ipBlock: { cidr: '10.0.0.0/8', except: ['10.0.0.0/8'] } }),
      'spec.ingress[0].from[0].ipBlock.except[0]: Invalid value: "10.0.0.0/8": must be a strict subset of `cidr`',
    ],
    [
      from({ ipBlock: { cidr: '10.0.0.0/8', except: ['fd00::/16'] } }),
      'spec.ingress[0].from[0].ipBlock.except[0]: Invalid value: "fd00::/16": must be a strict subset of `cidr`',
    ],
    [
      ports({ protocol: 'ICMP' }),
      'spec.egress[0].ports[0].protocol: Unsupported value: "ICMP": supported values: "TCP", "UDP", "SCTP"',
    ],
    [
      ports({ port: 70000 }),
      'spec.egress[0].ports[0].port: Invalid value: 70000: must be between 1 and 65535, inclusive',
    ],
    [
      ports({ port: 'Web--1' }),
      'spec.egress[0].ports[0].port: Invalid value: "Web--1": must have at most 15 characters a-z, 0-9 and single "-", and a letter',
    ],
    [
      ports({ port: '$a && 1' }),
      'spec.egress[0].ports[0].port: Invalid value: "$a && 1": must have at most 15 characters a-z, 0-9 and single "-", and a letter',
    ],
    [
      ports({ port: 'web', endPort: 90 }),
      'spec.egress[0].ports[0].endPort: Invalid value: 90: may be given only beside a port that is a number',
    ],
    [
      ports({ port: 80, endPort: 79 }),
      'spec.egress[0].ports[0].endPort: Invalid value: 79: must be greater than or equal to `port`',
    ],
  ])('is refused: %j', (object, problem) => {
    expect(problemsOf(object).filter((text) => !text.includes(RULES_SKIPPED))).toEqual([problem]);
  });

  test('says where an error kept others from being seen, and only there', () => {
    const both = { podSelector: { matchExpressions: [{ key: 'a', operator: 'Within' }] } };
    expect(problemsOf(policy(both))).toEqual([expect.stringContaining('"Within" is none of')]);
    expect(problemsOf(policy({ ...both, policyTypes: ['ingress'] }))).toEqual([
      expect.stringContaining('Unsupported value: "ingress"'),
      expect.stringContaining(RULES_SKIPPED),
    ]);
  });

  test('of an API server is read whatever it says: what is wrong is the policy’s own problem', () => {
    expect(readStored(networkPolicies, from({})).kind).toBe('value');
  });

  test('that is anything at all is judged without a throw', () => {
    fc.assert(fc.property(fc.jsonValue(), (spec) => void problemsOf(policy(spec))));
  });
});
