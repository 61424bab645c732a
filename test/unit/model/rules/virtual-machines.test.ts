import { describe, expect, test } from 'vitest';
import type { Pod } from '../../../../src/api/types.ts';
import {
  isOpenWhileMoving,
  isSameMachine,
  machineOf,
  type PodOfMachine,
} from '../../../../src/model/rules/virtual-machines.ts';

const pod = (labels: Record<string, string>, annotations: Record<string, string> = {}): Pod =>
  ({ metadata: { name: 'p', namespace: 'blue', labels, annotations }, spec: {} }) as Pod;
const NAME = 'vm.kubevirt.io/name';
const ARRIVED = 'kubevirt.io/migration-target-ready-timestamp';

describe('a pod of a virtual machine (reference/topology.md §14)', () => {
  test('names it by a label, and says by an annotation that it has arrived', () => {
    expect(machineOf(pod({ [NAME]: 'vm' }))).toEqual({ name: 'vm', hasArrived: false });
    expect(machineOf(pod({ [NAME]: 'vm' }, { [ARRIVED]: 'now' }))?.hasArrived).toBe(true);
    expect(machineOf(pod({}))).toBeUndefined();
    expect(machineOf(pod({ [NAME]: '' }))).toBeUndefined();
  });
});

const from: PodOfMachine = {
  namespace: 'blue',
  pod: 'a',
  nadKey: 'blue/net',
  created: '2026-01-01T00:00:00Z',
  machine: { name: 'vm', hasArrived: false },
};
const to: PodOfMachine = { ...from, pod: 'b', created: '2026-01-02T00:00:00Z' };
const arrived: PodOfMachine = { ...to, machine: { name: 'vm', hasArrived: true } };

describe('a machine that moves', () => {
  test('is one machine in one namespace on one network', () => {
    expect(isSameMachine(from, to)).toBe(true);
    expect(isSameMachine(from, { ...to, namespace: 'red' })).toBe(false);
    expect(isSameMachine(from, { ...to, nadKey: 'blue/other' })).toBe(false);
    const { machine: _none, ...plain } = to;
    expect(isSameMachine(plain, plain)).toBe(false);
  });

  test('has the open port where it leaves, until it has arrived, and then where it is', () => {
    expect([isOpenWhileMoving(from, [to]), isOpenWhileMoving(to, [from])]).toEqual([
      undefined,
      false,
    ]);
    expect([isOpenWhileMoving(from, [arrived]), isOpenWhileMoving(arrived, [from])]).toEqual([
      false,
      true,
    ]);
  });

  test('in one pod, or in more than two, does not move', () => {
    expect(isOpenWhileMoving(from, [])).toBeUndefined();
    expect(isOpenWhileMoving(to, [from, { ...to, pod: 'c' }])).toBeUndefined();
  });
});
