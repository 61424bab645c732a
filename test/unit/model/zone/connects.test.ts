import { expect, test } from 'vitest';
import type { ConnectTables } from '../../../../src/model/zone/connects.ts';
import { blue, colored, connectedZone, factsOf, green } from '../../../support/zone/zones.ts';

test('a connection has the networks that are known of those that it names', () => {
  const facts = factsOf(connectedZone);
  const connects: ConnectTables = facts;
  const members = (): readonly string[] => connects.membersOf(colored.name).map(({ name }) => name);
  expect(members()).toEqual([blue.name, green.name]);
  facts.registrations.delete(green.name);
  facts.refresh(0);
  expect(members()).toEqual([blue.name]);
  expect(connects.isMember(colored.name, green.name)).toBe(false);
  expect(connects.membersOf('unknown')).toEqual([]);
});

test('a connection of pods shares no services', () => {
  const facts = factsOf(connectedZone);
  expect(facts.connectsSharingServices(blue.id)).toEqual([]);
  facts.connects.put(colored.name, { ...colored, hasServices: true });
  expect(facts.connectsSharingServices(blue.id)).toEqual([colored.name]);
  expect(facts.connectsSharingServices(99)).toEqual([]);
});

test('what one network has of a connection does not change with the others', () => {
  const facts = factsOf(connectedZone);
  const before = facts.connectMembers.peek(colored.name, '1');
  expect(before).toBeDefined();
  facts.connects.put(colored.name, { ...colored, members: colored.members.slice(0, 1) });
  facts.refresh(0);
  expect(facts.connectMembers.peek(colored.name, '1')).toBe(before);
  expect(facts.connectMembers.peek(colored.name, '3')).toBeUndefined();
});
