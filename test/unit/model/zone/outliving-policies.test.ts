import { describe, expect, test } from 'vitest';
import type { KubeObject } from '../../../../src/api/objects.ts';
import { podPort } from '../../../../src/model/rules/names.ts';
import { AclPipeline } from '../../../support/zone/acl-packets.ts';
import type { outlivingPolicies } from '../../../../src/model/zone/outliving-policies.ts';
import {
  namespace,
  networkPolicy,
  PolicedZone,
  policedPod,
} from '../../../support/zone/policed-zone.ts';
import { exampleZone } from '../../../support/zone/zones.ts';

const ADDRESSES = { a: '10.244.0.5', b: '10.244.0.6' } as const;
type Name = keyof typeof ADDRESSES;
const pod = (name: Name): KubeObject =>
  policedPod(`default/${name}`, { address: `${ADDRESSES[name]}/24`, labels: { name } });
const space = namespace('default');
const policy = networkPolicy('default/closed', { podSelector: { matchLabels: { name: 'a' } } });
const ending = (object: KubeObject): KubeObject => ({
  ...object,
  metadata: { ...object.metadata, deletionTimestamp: '2026-01-01T00:00:00Z' },
});

const zoneWith = (...objects: KubeObject[]): PolicedZone =>
  PolicedZone.of(exampleZone, space, pod('a'), pod('b'), policy, ...objects);

/** Whether pod b reaches pod a. */
const isOpen = (zone: PolicedZone): boolean =>
  new AclPipeline(zone.rows(/^(policy|pods\/port)/)).passes({
    inport: podPort('default', 'default', 'b'),
    outport: podPort('default', 'default', 'a'),
    src: ADDRESSES.b,
    dst: ADDRESSES.a,
    protocol: 'tcp',
    port: 80,
  });
const policyRows = (zone: PolicedZone) => zone.rows(/^policy\/(group|rules|default-deny) /);

describe('a policy that is deleted', () => {
  test('in a namespace that stays, with pods that stay, is gone at once', () => {
    const zone = zoneWith();
    expect(isOpen(zone)).toBe(false);
    zone.remove(policy);
    expect(isOpen(zone)).toBe(true);
    expect(policyRows(zone)).toEqual([]);
  });

  test('in a namespace that is being deleted holds until its last pod is gone', () => {
    const zone = zoneWith();
    zone.put(ending(space));
    zone.remove(policy);
    expect(isOpen(zone)).toBe(false);
    // The namespace may be ended by force.
    zone.remove(space);
    zone.remove(pod('b'));
    expect(policyRows(zone)).not.toEqual([]);
    zone.remove(pod('a'));
    expect(policyRows(zone)).toEqual([]);
  });

  test('before its namespace is known to be deleted holds again once it is', () => {
    const zone = zoneWith();
    zone.remove(policy);
    expect(isOpen(zone)).toBe(true);
    zone.put(ending(space));
    expect(isOpen(zone)).toBe(false);
  });

  test('is forgotten after a minute', () => {
    const zone = zoneWith();
    zone.remove(policy);
    const facts: ReturnType<typeof outlivingPolicies> = zone.facts;
    facts.settlePolicies(0);
    facts.settlePolicies(60_000);
    zone.put(ending(space));
    expect(isOpen(zone)).toBe(true);
  });

  test('together with the pods that it selects holds until these are gone, and for no others', () => {
    const zone = zoneWith(ending(pod('a')));
    zone.remove(policy);
    expect(isOpen(zone)).toBe(false);
    zone.put(pod('a'));
    expect(isOpen(zone)).toBe(true);
    // It is not back for the next pod that ends.
    zone.put(ending(pod('a')));
    expect(isOpen(zone)).toBe(true);
  });

  test('and made anew says what it says then', () => {
    const zone = zoneWith();
    zone.put(ending(space));
    zone.remove(policy);
    zone.put(networkPolicy('default/closed', { podSelector: {}, ingress: [{}] }));
    expect(isOpen(zone)).toBe(true);
  });
});

test('of a namespace that was being deleted at the start nobody knows which policies there were', () => {
  const late = policedPod('late/a', { address: '10.244.0.9/24' });
  const zone = PolicedZone.of(exampleZone, space, pod('a'), ending(namespace('late')), late);
  const failed = (): readonly string[] => {
    zone.facts.refresh(0);
    return [...zone.facts.graph.failures()].map(({ object }) => object);
  };
  expect(failed()).toEqual(['Pod late/a']);
  zone.remove(late);
  expect(failed()).toEqual([]);
});
