import { describe, expect, test } from 'vitest';
import { zoneFacts } from '../../../../src/model/zone/zone.ts';
import { exampleZone, factsOf, putZone } from '../../../support/zone/zones.ts';

describe('the facts of a zone', () => {
  test('in whatever order tables are filled, the same follows', () => {
    const facts = zoneFacts('ovn-worker', exampleZone.settings, { renderEverywhere: true });
    facts.refresh(0);
    putZone(facts, undefined, exampleZone);
    facts.refresh(0);
    const whole = factsOf(exampleZone);
    const rendered = (one: typeof facts): unknown => new Map(one.rendered.entries());
    expect(rendered(facts)).toEqual(rendered(whole));
    expect([...facts.modelProblems()]).toEqual([...whole.modelProblems()]);
  });

  test('what is read between two refreshes came at one time; pods of other nodes come with the start until they are known', () => {
    const facts = factsOf(exampleZone);
    const now = facts.roundFor(true);
    expect(facts.roundFor(true)).toBe(now);
    expect(facts.roundFor(false)).toBe(0);
    facts.otherPods.want('AdminNetworkPolicy p', true);
    facts.otherPods.known();
    facts.refresh(1);
    expect(facts.roundFor(false)).toBe(facts.roundFor(true));
    expect(facts.roundFor(true)).toBeGreaterThan(now);
  });

  test('nothing changes by itself but what a time is set for', () => {
    const facts = factsOf(exampleZone);
    expect(facts.nextExpiry).toBeUndefined();
    facts.otherPods.want('AdminNetworkPolicy p', true);
    facts.otherPods.want('AdminNetworkPolicy p', false);
    facts.refresh(1000);
    expect(facts.nextExpiry).toBe(facts.otherPods.nextExpiry);
  });
});
