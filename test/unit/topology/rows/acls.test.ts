import { describe, expect, test } from 'vitest';
import { addAcl, anyOf, ofGroup, type Acl } from '../../../../src/topology/rows/acls.ts';
import { objectIds } from '../../../../src/topology/rows/object-ids.ts';
import { builtTexts } from '../part-texts.ts';

const acl: Acl = {
  ids: objectIds('c', 'T', { name: 'n' }),
  direction: 'Ingress',
  priority: 1,
  tier: 2,
  action: 'drop',
  match: 'ip4',
};
const textOf = (more: Partial<Acl>): string =>
  (
    builtTexts((rows) => {
      addAcl(rows, { ...acl, ...more });
    })[0] ?? ''
  ).replace(/ external_ids=\{[^}]*\}/, '');

describe('an ACL (reference/topology.md §3.4)', () => {
  test('to a pod looks at what leaves the switch, from a pod at what enters it', () => {
    expect(textOf({})).toBe('ACL c:T:n action=drop direction=to-lport match=ip4 priority=1 tier=2');
    expect(textOf({ direction: 'Egress' })).toBe(
      'ACL c:T:n action=drop direction=from-lport match=ip4 priority=1 tier=2',
    );
  });

  test('from a pod may be looked at after load balancing; to a pod there is no such choice', () => {
    expect(textOf({ direction: 'Egress', afterLoadBalancing: true })).toContain(
      'options={apply-after-lb=true}',
    );
    expect(textOf({ afterLoadBalancing: true })).not.toContain('options');
  });

  test('that does not log names no meter, and one that does is limited by it', () => {
    expect(textOf({})).not.toContain('meter');
    expect(textOf({ severity: 'alert' })).toContain('log=true');
    expect(textOf({ severity: 'alert' })).toContain('meter=acl-logging');
  });

  test('has a name of at most 63 characters, which is what the column takes', () => {
    expect(textOf({ name: 'x'.repeat(80) })).toContain(` name=${'x'.repeat(63)} `);
  });
});

test('a group is where packets of its ports come in, or go out', () => {
  expect(ofGroup('Egress', 'g')).toBe('inport == @g');
  expect(ofGroup('Ingress', 'g')).toBe('outport == @g');
});

test('several terms are in parentheses, so that what follows is about all of them', () => {
  expect(anyOf(['a'])).toBe('a');
  expect(anyOf(['a', 'b'])).toBe('(a || b)');
});
