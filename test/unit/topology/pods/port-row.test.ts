import { describe, expect, test } from 'vitest';
import type { Sink } from '../../../../src/desired/features.ts';
import { addPodPort, checkedPort, POD_RANK } from '../../../../src/topology/pods/port-row.ts';
import { bluePod, exampleZone, factsOf, yellowPod } from '../../../support/zone/zones.ts';
import { builtTexts } from '../part-texts.ts';

class Refused extends Error {}
const refusing = {
  reject(object: string, reason: string): never {
    throw new Refused(`${object}: ${reason}`);
  },
} as unknown as Sink;

const rowOf = (more: object): string =>
  builtTexts((rows) => {
    addPodPort(rows, 'port', { ...yellowPod, topology: 'layer2', ...more }, 'C9');
  })[0] ?? '';

describe("the row of a pod's port (reference/topology.md §14)", () => {
  test('comes behind every network: no pod takes a name from infrastructure', () => {
    expect(POD_RANK).toBe(Number.MAX_SAFE_INTEGER);
  });

  test('of a name that no pod may have is refused by name', () => {
    const facts = factsOf(exampleZone);
    expect(checkedPort(facts, bluePod, refusing)).toBe('blue.blue_blue_pod1');
    expect(() => checkedPort(facts, { ...bluePod, pod: 'a"b' }, refusing)).toThrow(
      /^Pod blue\/a"b: pod "blue\/a\\"b": /,
    );
  });

  test('lets the pod send with its own addresses alone', () => {
    expect(rowOf({})).toContain(' port_security=[0a:58:69:69:00:03 105.105.0.3]');
  });

  test("of another zone's pod is of type remote", () => {
    expect(rowOf({})).not.toContain('type=');
    expect(rowOf({ isRemote: true })).toContain(' type=remote up=true');
  });

  test('of a machine that is not here yet is closed and has no addresses', () => {
    expect(rowOf({ isOpen: false })).toMatch(/ enabled=false /);
    expect(rowOf({ isOpen: false })).not.toMatch(/ addresses=/);
    expect(rowOf({ isOpen: true })).toMatch(/ addresses=.* enabled=true /);
  });

  test('says what OVN answers by DHCP, by family', () => {
    expect(rowOf({ dhcp: new Map([['v4', 'd4']]) })).toContain(' dhcpv4_options=DHCP_Options/d4');
    expect(rowOf({})).not.toContain('dhcp');
  });
});
