/** What a node computes of many policies beside many pods, of which few are its own, and of one pod more. */
import type { KubeObject } from '../../src/api/objects.ts';
import { objectKey } from '../../src/api/objects.ts';
import { ObjectIntake } from '../../src/model/zone/intake.ts';
import { namespace, networkPolicy, policedPod } from '../support/zone/policed-zone.ts';
import { engineOver } from '../support/zone/zone-engine.ts';
import { exampleZone, factsOf } from '../support/zone/zones.ts';
import { heapInUse, processorTime, type Benchmark, type Figure } from './benchmark.ts';

const NAMESPACES = 1500;
const NODES = 500;
/** Of what a node is to be able to compute: a run of all of it takes minutes. */
const SHARE = 0.1;
const POLICIES = 75_000 * SHARE;
const PODS = 100_000 * SHARE;
/** Processor time; a machine that does nothing else takes as long. */
const GOAL_SECONDS = 5 * SHARE;
const GOAL_MEGABYTES = 1000 * SHARE;
const MEGABYTE = 1_000_000;

const GROUPS = 50;
/** Others of a namespace are in others, so that policies have peers. */
const groupOf = (index: number): number => Math.floor(index / NAMESPACES) % GROUPS;

const podOf = (index: number): KubeObject => {
  const node = index % NODES;
  const address = `10.${128 + (index >> 16)}.${(index >> 8) & 255}.${index & 255}`;
  return policedPod(`space-${index % NAMESPACES}/pod-${index}`, {
    node: node === 0 ? 'ovn-worker' : `node-${node}`,
    labels: { group: `g${groupOf(index)}` },
    address: `${address}/24`,
  });
};

/** Of each the pods of one group of a namespace, which those of another one reach. */
const policyOf = (index: number): KubeObject =>
  networkPolicy(`space-${index % NAMESPACES}/policy-${index}`, {
    podSelector: { matchLabels: { group: `g${groupOf(index)}` } },
    ingress: [
      {
        from: [{ podSelector: { matchLabels: { group: `g${(groupOf(index) + 1) % GROUPS}` } } }],
        ports: [{ protocol: 'TCP', port: 80 }],
      },
    ],
  });

function figures(progress: (text: string) => void): readonly Figure[] {
  const before = heapInUse();
  const facts = factsOf(exampleZone);
  const intake = new ObjectIntake(facts);
  const take = (object: KubeObject): void => {
    intake.take(object.kind, { key: objectKey(object.metadata), after: object });
  };
  facts.otherPods.want('bench', true);
  for (let i = 0; i < NAMESPACES; i += 1) take(namespace(`space-${i}`));
  const start = processorTime();
  for (let i = 0; i < POLICIES; i += 1) take(policyOf(i));
  for (let i = 0; i < PODS; i += 1) take(podOf(i));
  facts.otherPods.known();
  progress(`${POLICIES} policies and ${PODS} pods are read`);
  const engine = engineOver(facts);
  engine.build();
  const whole = processorTime() - start;
  const used = heapInUse() - before;
  progress('one pod more');
  const atOne = processorTime();
  take(podOf(PODS));
  engine.build();
  const one = processorTime() - atOne;
  const size = `${POLICIES} policies, ${PODS} pods`;
  return [
    { name: `${size}: computed`, value: whole / 1000, unit: 's', goal: GOAL_SECONDS },
    { name: `${size}: memory`, value: used / MEGABYTE, unit: 'MB', goal: GOAL_MEGABYTES },
    { name: `${size}: one pod more`, value: one, unit: 'ms' },
  ];
}

export const benchmarks: readonly Benchmark[] = [
  {
    name: 'many-policies',
    title: 'what a node computes of 7,500 policies and 10,000 pods of 500 nodes',
    run: (progress) => Promise.resolve(figures(progress)),
  },
];
