import { describe, expect, test } from 'vitest';
import type { Node } from '../../../../src/api/types.ts';
import { otherLayout, unheeded } from '../../../../src/model/read/unheeded.ts';

const annotated = (annotations: Readonly<Record<string, string>>) =>
  ({ apiVersion: 'v1', kind: 'Node', metadata: { name: 'n1', annotations }, spec: {} }) as Node;

describe('what an object asks for and this release does not do', () => {
  const check = unheeded({ 'k8s.ovn.org/a': 'has no a', 'k8s.ovn.org/b': 'has no b' });

  test('is told annotation by annotation, with what to do', () => {
    expect(check(annotated({}))).toBeUndefined();
    expect(check(annotated({ 'k8s.ovn.org/b': '' }))).toBe(
      'annotation k8s.ovn.org/b: this release has no b; remove the annotation',
    );
    expect(
      check(annotated({ 'k8s.ovn.org/a': '', 'k8s.ovn.org/b': '' }))?.split('. '),
    ).toHaveLength(2);
  });
});

test('a node with another layout of Layer2 networks is told so; one that says nothing has ours', () => {
  const layout = (version?: string): string | undefined =>
    otherLayout(
      annotated(version === undefined ? {} : { 'k8s.ovn.org/layer2-topology-version': version }),
    );
  expect(layout()).toBeUndefined();
  expect(layout('2.0')).toBeUndefined();
  expect(layout('1.0')).toContain('"1.0"');
});
