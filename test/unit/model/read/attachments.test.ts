import { describe, expect, test } from 'vitest';
import type { Pod } from '../../../../src/api/types.ts';
import type { PodInterface } from '../../../../src/model/model.ts';
import { podKind } from '../../../../src/model/read/attachments.ts';
import type { ReadContext } from '../../../../src/model/read/object-kind.ts';
import { pod } from '../../../support/zone/pods.ts';

const made = (more: Readonly<Record<string, unknown>> = {}, annotations: object = {}): Pod => {
  const object = pod('blue/a', 'n1', [
    { nadKey: 'default', address: '10.244.0.5/24', role: 'infrastructure-locked' },
    { nadKey: 'blue/net', address: '10.0.0.3/16', role: 'primary', tunnelId: 11 },
  ]) as unknown as Pod;
  return {
    ...object,
    metadata: {
      ...object.metadata,
      labels: { app: 'web' },
      annotations: { ...object.metadata.annotations, ...annotations },
    },
    spec: { ...object.spec, ...more },
  };
};
const context = { round: 3, isOwn: true } as ReadContext<never>;
const interfaces = (of: Pod): readonly PodInterface[] => {
  const found = podKind.read(of, context);
  if (found.kind !== 'value') throw new Error(JSON.stringify(found));
  return found.value;
};
const [, labels, , hostNetwork] = podKind.also;

describe("a pod's interfaces", () => {
  test('are those of its annotation, each with its addresses, and when they were first read', () => {
    expect(
      interfaces(made()).map(({ nadKey, addresses, tunnelId, since }) => [
        nadKey,
        addresses,
        tunnelId,
        since,
      ]),
    ).toEqual([
      ['default', ['10.244.0.5/24'], undefined, 3],
      ['blue/net', ['10.0.0.3/16'], 11, 3],
    ]);
  });

  test('are none on the network of the host, and none before it has any', () => {
    expect(interfaces(made({ hostNetwork: true }))).toEqual([]);
    expect(interfaces(made({}, { 'k8s.ovn.org/pod-networks': undefined }))).toEqual([]);
  });

  test('can’t be read where the annotation is torn', () => {
    expect(podKind.read(made({}, { 'k8s.ovn.org/pod-networks': '{' }), context).kind).toBe(
      'problem',
    );
  });

  test('open ports on the default network alone; a list that can’t be read opens nothing', () => {
    const open = (text: string) =>
      interfaces(made({}, { 'k8s.ovn.org/open-default-ports': text })).map(
        ({ openDefaultPorts }) => openDefaultPorts.length,
      );
    expect(open('- protocol: tcp\n  port: 80')).toEqual([1, 0]);
    expect(open('- protocol: nothing')).toEqual([0, 0]);
  });

  test('of a virtual machine may come from another node, so that its pods there are read', () => {
    const [own, other] = interfaces(made());
    const machine = { name: 'vm', hasArrived: false };
    if (own === undefined || other === undefined) throw new Error('no interfaces');
    expect(podKind.needsOtherPods([{ ...own, machine }])).toBe(false);
    expect(podKind.needsOtherPods([{ ...other, machine }])).toBe(true);
  });
});

describe('what selectors see of a pod', () => {
  test('is its labels, its node and the ports that have names', () => {
    const ports = [{ name: 'http', protocol: 'TCP', containerPort: 80 }, { containerPort: 81 }];
    expect(labels.read(made({ containers: [{ ports }] }))).toEqual({
      namespace: 'blue',
      name: 'a',
      node: 'n1',
      labels: { app: 'web' },
      namedPorts: [{ name: 'http', protocol: 'TCP', port: 80 }],
    });
  });

  test('is nothing of one without ports', () => {
    expect(labels.read(made({ hostNetwork: true }))).toBeUndefined();
  });
});

test('a pod on the network of the host is known on its own node, until its work is done', () => {
  const read = (of: Pod, isOwn = true) =>
    hostNetwork.read(of, { isOwn } as ReadContext<never>)?.uid;
  const onHost = made({ hostNetwork: true });
  expect(read(onHost)).toBe('uid-of-blue/a');
  expect(read(onHost, false)).toBeUndefined();
  expect(read(made())).toBeUndefined();
  expect(read({ ...onHost, status: { phase: 'Succeeded' } })).toBeUndefined();
});
