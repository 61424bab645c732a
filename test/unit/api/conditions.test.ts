import { describe, expect, test } from 'vitest';
import { conditionOf, withCondition, withoutCondition } from '../../../src/api/conditions.ts';

const created = {
  type: 'NetworkCreated',
  status: 'True',
  reason: 'NetworkAttachmentDefinitionCreated',
  message: 'NetworkAttachmentDefinition has been created',
} as const;
const failed = { ...created, status: 'False', reason: 'SyncError', message: 'x' } as const;

describe('a condition', () => {
  const first = withCondition([], created, '2026-11-21T10:00:00Z');

  test('remembers when its status changed', () => {
    expect(first).toEqual([{ ...created, lastTransitionTime: '2026-11-21T10:00:00Z' }]);
    const reworded = withCondition(first, { ...created, message: 'y' }, '2026-11-21T11:00:00Z');
    expect(reworded).toEqual([
      { ...created, message: 'y', lastTransitionTime: '2026-11-21T10:00:00Z' },
    ]);
    const changed = withCondition(reworded, failed, '2026-11-21T12:00:00Z');
    expect(changed).toEqual([{ ...failed, lastTransitionTime: '2026-11-21T12:00:00Z' }]);
  });

  test('that stays the same is not written again', () => {
    expect(withCondition(first, created, '2026-11-21T11:00:00Z')).toBe(first);
  });

  test('leaves conditions of other types alone', () => {
    const both = withCondition(first, { ...failed, type: 'Ready' }, '2026-11-21T11:00:00Z');
    expect(both.map(({ type }) => type)).toEqual(['NetworkCreated', 'Ready']);
    expect(withoutCondition(both, 'Ready')).toEqual(first);
    expect(withoutCondition(first, 'Ready')).toBe(first);
    expect(conditionOf(both, 'Ready')?.status).toBe('False');
  });

  test('has a message that the API server takes', () => {
    const long = withCondition([], { ...failed, message: 'é'.repeat(40_000) }, 'now');
    expect(long[0]?.message).toHaveLength(32768);
  });
});
