import { describe, expect, test } from 'vitest';
import type { NamespaceFacts } from '../../../../src/model/model.ts';
import { namespaceKind } from '../../../../src/model/read/namespaces.ts';
import type { ReadContext } from '../../../../src/model/read/object-kind.ts';
import { valueOf } from '../../../../src/model/read/reading.ts';
import { namespace, ownNetwork } from '../../../support/zone/policed-zone.ts';
import { ipv4Settings } from '../../../support/zone/zones.ts';

const read = (
  labels: Readonly<Record<string, string>>,
  annotations: Readonly<Record<string, string>> = {},
  multicast = true,
): NamespaceFacts | undefined => {
  const settings = { ...ipv4Settings, features: { ...ipv4Settings.features, multicast } };
  return valueOf(
    namespaceKind.read(namespace('blue', labels, annotations), {
      settings,
    } as ReadContext<NamespaceFacts>),
  );
};
const MULTICAST = { 'k8s.ovn.org/multicast-enabled': 'true' };

describe('a namespace', () => {
  test('asks for a primary network by a label, whatever its value', () => {
    expect(read({})?.isLabelled).toBe(false);
    expect(read(ownNetwork)?.isLabelled).toBe(true);
  });

  test('has its labels, which peers of policies are known by', () => {
    expect(read({ team: 'red' })?.labels).toMatchObject({ team: 'red' });
  });

  test('logs what it says; what of it can’t be read logs nothing', () => {
    const logging = (text: string) => read({}, { 'k8s.ovn.org/acl-logging': text })?.logging;
    expect(logging('{"deny":"alert"}')).toEqual({ deny: 'alert' });
    expect(logging('{')).toEqual({});
  });

  test('has multicast where it asks for it and the cluster has it', () => {
    expect(read({}, MULTICAST)?.hasMulticast).toBe(true);
    expect(read({}, MULTICAST, false)?.hasMulticast).toBe(false);
    expect(read({})?.hasMulticast).toBe(false);
  });

  test('with multicast needs to know the pods of all nodes', () => {
    expect(namespaceKind.needsOtherPods({ hasMulticast: true } as NamespaceFacts)).toBe(true);
  });
});
