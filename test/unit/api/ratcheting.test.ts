import { describe, expect, test } from 'vitest';
import { formatPath } from '../../../src/api/validation/field-errors.ts';
import { validateObject } from '../../../src/api/validation/validate.ts';
import { problemsOf } from './objects.ts';
import { INCOMPLETE, ratchetCases } from './ratchet-cases.ts';

describe('an update is refused for what it changes, not for what it leaves', () => {
  test.each(ratchetCases.filter(({ errors }) => errors.length > 0))(
    'refused: $title',
    ({ old, next, errors }) => {
      expect(problemsOf(old)).not.toEqual([]);
      const found = problemsOf(next, old).filter((text) => !text.includes(INCOMPLETE));
      expect(
        found.map((text) => errors.find((part) => text.includes(part)) ?? text).sort(),
      ).toEqual(errors.toSorted());
    },
  );

  test.each(ratchetCases.filter(({ errors }) => errors.length === 0))(
    'accepted: $title',
    ({ old, next, tolerated }) => {
      expect(problemsOf(old)).not.toEqual([]);
      const result = validateObject(next, old);
      if (result.kind !== 'valid') throw new Error(JSON.stringify(result));
      expect(result.tolerated.map(({ path }) => formatPath(path))).toEqual(tolerated);
    },
  );
});

test('a flat object is judged in its own shape', () => {
  const flat = (mtu: number, labels: object): object => ({
    apiVersion: 'k8s.ovn.org/v1alpha1',
    kind: 'UserDefinedNetwork',
    metadata: { name: 'net', namespace: 'blue', labels },
    spec: { topology: 'Layer2', role: 'Primary', mtu, subnets: ['10.0.0.0/24'] },
  });
  expect(problemsOf(flat(100, { team: 'a' }), flat(100, {}))).toEqual([]);
  expect(problemsOf(flat(200, {}), flat(100, {})).join('\n')).toMatch(/Spec is immutable/);
});

const ofNetwork = (rest: object): object => ({
  apiVersion: 'k8s.ovn.org/v1',
  kind: 'UserDefinedNetwork',
  metadata: { name: 'net', namespace: 'blue' },
  ...rest,
});

test.each([
  null,
  1,
  'x',
  [],
  {},
  ofNetwork({ metadata: null }),
  ofNetwork({ spec: null }),
  ofNetwork({ spec: [] }),
  ofNetwork({ spec: { layer3: 1 } }),
])('a stored object that is %j is read without a crash', (old) => {
  const next = ofNetwork({
    spec: { topology: 'Layer3', layer3: { role: 'Primary', subnets: [{ cidr: '10.0.0.0/16' }] } },
  });
  expect(['valid', 'invalid']).toContain(validateObject(next, old).kind);
});
