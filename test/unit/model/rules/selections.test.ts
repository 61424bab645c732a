import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { selectionId } from '../../../../src/model/rules/selections.ts';

describe('the text of a selection', () => {
  test('is as ovn-kubernetes writes it', () => {
    expect(
      selectionId({
        namespace: 'blue',
        podSelector: { matchLabels: { app: 'web' } },
        isLegacy: false,
      }),
    ).toBe('blue_LS{ML:{app: web,},}');
    expect(
      selectionId({
        namespaceSelector: {
          matchExpressions: [{ key: 'team', operator: 'In', values: ['b', 'a'] }],
        },
        podSelector: {},
        isLegacy: true,
      }),
    ).toBe('LS{ME:{LSR{Key:team,Operator:In,Values:[a b],}},}_LS{}_LNM');
  });

  test('is one for all that mean the same, whatever order they say it in', () => {
    const labels = fc.dictionary(fc.stringMatching(/^[a-z]{1,3}$/), fc.stringMatching(/^[a-z]?$/));
    fc.assert(
      fc.property(labels, (matchLabels) => {
        const turned = Object.fromEntries(Object.entries(matchLabels).toReversed());
        const of = (given: Record<string, string>): string =>
          selectionId({ namespace: 'n', podSelector: { matchLabels: given }, isLegacy: false });
        return of(matchLabels) === of(turned);
      }),
    );
  });

  test('of a namespace by name and of namespaces by labels are two', () => {
    const podSelector = {};
    expect(selectionId({ namespace: 'n', podSelector, isLegacy: false })).not.toBe(
      selectionId({ namespaceSelector: {}, podSelector, isLegacy: false }),
    );
  });
});
