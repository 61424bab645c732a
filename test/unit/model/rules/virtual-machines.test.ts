import { describe, expect, test } from 'vitest';
import type { Pod } from '../../../../src/api/types.ts';
import {
  earlyArrival,
  isAnsweredHere,
  isOpenWhileMoving,
  isSameMachine,
  machineOf,
  strayMachine,
  unnamedMachine,
  type PodOfMachine,
} from '../../../../src/model/rules/virtual-machines.ts';

const pod = (labels: Record<string, string>, annotations: Record<string, string> = {}): Pod =>
  ({ metadata: { name: 'p', namespace: 'blue', labels, annotations }, spec: {} }) as Pod;
const LAUNCHER = { 'kubevirt.io': 'virt-launcher' };
const MACHINE = 'kubevirt.io/domain';
const ARRIVED = 'kubevirt.io/migration-target-ready-timestamp';

describe('a pod of a virtual machine (reference/topology.md §14)', () => {
  test("is one of KubeVirt's, names the machine by an annotation, and says by another one that it has arrived", () => {
    expect(machineOf(pod(LAUNCHER, { [MACHINE]: 'vm' }))).toEqual({
      name: 'vm',
      hasArrived: false,
    });
    expect(machineOf(pod(LAUNCHER, { [MACHINE]: 'vm', [ARRIVED]: 'now' }))?.hasArrived).toBe(true);
    expect(unnamedMachine(pod(LAUNCHER, { [MACHINE]: 'vm' }))).toBeUndefined();
  });

  test('is none by the label with the host name, which a tenant may write on any two pods and two machines may have', () => {
    const label = { 'vm.kubevirt.io/name': 'vm' };
    expect(machineOf(pod(label))).toBeUndefined();
    expect(machineOf(pod(label, { [MACHINE]: 'vm' }))).toBeUndefined();
    const [one, other] = ['one', 'other'].map((name) =>
      machineOf(pod({ ...LAUNCHER, ...label }, { [MACHINE]: name })),
    );
    expect(one?.name).not.toBe(other?.name);
  });

  test.each([
    ['without the annotation', undefined, 'is missing'],
    ['with an empty one', '', '"" is no name'],
    ['with one that is no name', 'a"; drop', '"a\\"; drop" is no name'],
  ])('%s is told so', (_what, name, message) => {
    const launcher = pod(LAUNCHER, name === undefined ? {} : { [MACHINE]: name });
    expect(machineOf(launcher)).toBeUndefined();
    expect(unnamedMachine(launcher)).toContain(`annotation ${MACHINE} ${message}`);
    expect(unnamedMachine(pod({}, name === undefined ? {} : { [MACHINE]: name }))).toBeUndefined();
  });

  test.each([MACHINE, ARRIVED])('is none by annotation %s alone, and told so', (key) => {
    const stray = pod({ app: 'web' }, { [key]: 'vm' });
    expect(machineOf(stray)).toBeUndefined();
    expect(strayMachine(stray)).toContain(
      `annotation ${key} counts only beside label kubevirt.io=virt-launcher`,
    );
    for (const fine of [
      pod({ app: 'web' }),
      pod(LAUNCHER, { [MACHINE]: 'vm', [ARRIVED]: 'now' }),
      pod({ 'kubevirt.io': 'hotplug-disk' }, { [MACHINE]: 'vm' }),
    ])
      expect(strayMachine(fine)).toBeUndefined();
  });

  test('says in vain that the machine has arrived while nothing runs in it, and is told so', () => {
    const launcher = pod(LAUNCHER, { [MACHINE]: 'vm', [ARRIVED]: 'now' });
    const inPhase = (phase: 'Pending' | 'Running'): Pod => ({ ...launcher, status: { phase } });
    expect(machineOf(inPhase('Pending'))).toEqual({ name: 'vm', hasArrived: false });
    expect(earlyArrival(inPhase('Pending'))).toMatch(
      /^annotation kubevirt\.io\/migration-target-ready-timestamp .* status\.phase is Pending.* delete it/,
    );
    expect(machineOf(inPhase('Running'))).toEqual({ name: 'vm', hasArrived: true });
    for (const fine of [inPhase('Running'), launcher]) expect(earlyArrival(fine)).toBeUndefined();
    expect(
      earlyArrival({ ...pod(LAUNCHER, { [MACHINE]: 'vm' }), status: { phase: 'Pending' } }),
    ).toBeUndefined();
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

  test('is answered by DHCP in one pod: the open one, and of more than two in the oldest', () => {
    expect([isAnsweredHere(from, []), isAnsweredHere(from, [to])]).toEqual([true, true]);
    expect([isAnsweredHere(to, [from]), isAnsweredHere(arrived, [from])]).toEqual([false, true]);
    expect(isAnsweredHere(from, [arrived])).toBe(false);
    const third = { ...arrived, pod: 'c' };
    expect(
      [from, arrived, third].map((self) =>
        isAnsweredHere(
          self,
          [from, arrived, third].filter((one) => one !== self),
        ),
      ),
    ).toEqual([true, false, false]);
  });
});
