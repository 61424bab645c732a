import { describe, expect, test } from 'vitest';
import type { Pod } from '../../../../src/api/types.ts';
import type { Attachment } from '../../../../src/model/model.ts';
import { machineOf } from '../../../../src/model/rules/virtual-machines.ts';
import { plain } from '../../../support/zone/row-text.ts';
import { builtUnits } from '../../../support/zone/built-rows.ts';
import { policedPod } from '../../../support/zone/policed-zone.ts';
import {
  exampleZone,
  factsOf,
  farYellowPod,
  yellow,
  yellowPod,
  type Zone,
} from '../../../support/zone/zones.ts';

const zone: Zone = {
  ...exampleZone,
  namespaces: [...exampleZone.namespaces, 'yellow'],
  networks: [...exampleZone.networks, yellow],
};
const machine = { name: 'vm', hasArrived: false };
const HAS_ARRIVED = { name: 'vm', hasArrived: true };

/** The pod that the machine leaves, on this node. */
const source: Attachment = { ...yellowPod, pod: 'from', machine };
/** The one that it moves to, on the other node: with the same addresses and a port of its own. */
const target: Attachment = {
  ...source,
  pod: 'to',
  node: 'ovn-worker2',
  podUid: 'b7a2d6c0-0000-4000-8000-000000000002',
  created: '2026-01-02T00:00:00Z',
  tunnelId: 11,
};

const moving = (attachments: readonly Attachment[]): Zone => ({
  ...zone,
  attachments: attachments.filter(({ node }) => node === 'ovn-worker'),
  remoteAttachments: attachments.filter(({ node }) => node !== 'ovn-worker'),
});

/** `enabled` and addresses of the ports of pods, by pod; what is wrong with pods. */
function portsOf(...attachments: readonly Attachment[]) {
  const facts = factsOf(moving(attachments));
  const ports = builtUnits(facts)
    .filter(({ unit }) => /^(pods\/port|layer2\/remote-port) /.test(unit))
    .flatMap(({ rows }) => rows)
    .filter(({ table }) => table === 'Logical_Switch_Port')
    .map(({ key, columns }) => [
      key.replace('yellow.yellow.net_yellow_', ''),
      `${(columns as { enabled?: boolean })['enabled'] ?? '-'} ${((plain(columns['addresses']) ?? []) as string[]).join()}`,
    ]);
  return {
    ports: Object.fromEntries(ports) as Record<string, string>,
    problems: [...facts.modelProblems()].map(({ object, message }) => `${object}: ${message}`),
  };
}

const OPEN = '0a:58:69:69:00:03 105.105.0.3';

describe('a virtual machine that moves', () => {
  test('has two ports, of which only the one that it leaves is open, until it has arrived', () => {
    expect(portsOf(source, target)).toEqual({
      ports: { from: `- ${OPEN}`, to: 'false ' },
      problems: [],
    });
    expect(portsOf(source, { ...target, machine: HAS_ARRIVED })).toEqual({
      ports: { from: 'false ', to: `true ${OPEN}` },
      problems: [],
    });
  });

  test('is open where it is, in the pod that remains', () => {
    for (const remaining of [source, { ...target, machine: HAS_ARRIVED }])
      expect(Object.values(portsOf(remaining).ports)).toEqual([`- ${OPEN}`]);
  });

  test('is the same seen from the node that it comes to', () => {
    const here = { ...target, node: 'ovn-worker', machine: HAS_ARRIVED };
    const there = { ...source, node: 'ovn-worker2' };
    expect(portsOf(here, there).ports).toEqual({ from: 'false ', to: `true ${OPEN}` });
  });

  test('has at most two pods, with a port tunnel id each', () => {
    const third = { ...target, pod: 'third', created: '2026-01-03T00:00:00Z', tunnelId: 12 };
    // Pods of other nodes are reported by those.
    expect(
      portsOf(source, { ...target, node: 'ovn-worker' }, { ...third, node: 'ovn-worker' }),
    ).toEqual({
      ports: { from: `- ${OPEN}`, to: 'false ' },
      problems: [
        expect.stringMatching(
          /^Pod yellow\/third: .* 0a:58:69:69:00:03 of network "cluster_udn_yellow-net" is that of pod "yellow\/from" .* delete the pod/,
        ),
      ],
    });
    expect(portsOf(source, { ...target, node: 'ovn-worker', tunnelId: 10 }).problems).toEqual([
      expect.stringContaining('port tunnel id 10 of network'),
    ]);
  });

  test.each([
    ['another machine', { machine: { name: 'other', hasArrived: true } }],
    ['a machine of another namespace', { namespace: 'blue' }],
  ])('shares its addresses with no pod of %s', (_what, other) => {
    const { ports } = portsOf(source, { ...target, ...other });
    expect(ports['from']).toBe(`- ${OPEN}`);
    expect(ports['to']).toBeUndefined();
  });

  test('is no concern of pods without machine, whatever addresses they have', () => {
    expect(portsOf(source, farYellowPod).ports).toEqual({
      from: `- ${OPEN}`,
      far: '- 0a:58:69:69:00:04 105.105.0.4',
    });
  });
});

test("pods say which machine they run, and whether it has arrived, as KubeVirt's do", () => {
  const pod = (labels: Record<string, string>, annotations: Record<string, string> = {}): Pod => {
    const made = policedPod('a/b', { address: '10.244.0.9/24', labels });
    return { ...made, metadata: { ...made.metadata, annotations } };
  };
  const launcher = { 'kubevirt.io': 'virt-launcher' };
  const domain = { 'kubevirt.io/domain': 'vm' };
  const arrived = { 'kubevirt.io/migration-target-ready-timestamp': '2026-01-01T00:00:00Z' };
  expect(machineOf(pod(launcher, domain))).toEqual(machine);
  expect(machineOf(pod(launcher, { ...domain, ...arrived }))).toEqual(HAS_ARRIVED);
  expect(machineOf(pod({ app: 'web' }, { ...domain, ...arrived }))).toBeUndefined();
});
