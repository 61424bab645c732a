import { expect, test } from 'vitest';
import { NETWORK_STATUS } from '../../../src/api/annotations/network-status.ts';
import type { KubeObject } from '../../../src/api/objects.ts';
import type { Pod } from '../../../src/api/types.ts';
import type { PlannedChange } from '../../../src/desired/ovsdb/changes.ts';
import type { Change } from '../../../src/store/informer.ts';
import { PodTraces } from '../../../src/traces/pod-traces.ts';
import type { Span } from '../../../src/traces/span.ts';
import { WallClock } from '../../../src/traces/wall-clock.ts';
import { PodStages } from '../../../src/zone/pod-stages.ts';
import { pod, type PodNetwork } from '../../support/zone/pods.ts';

const DEFAULT: PodNetwork = {
  nadKey: 'default',
  address: '10.244.1.5/24',
  role: 'infrastructure-locked',
};
const PRIMARY: PodNetwork = { nadKey: 'blue/net', address: '10.20.1.5/24', role: 'primary' };
const PORTS = ['blue_web', 'blue.net_blue_web'];

/** The stages of pods of node n1, with a clock that the test moves. */
class Bed {
  now = 0;
  readonly spans: Span[] = [];
  readonly stages: PodStages;
  #changed: (change: Change<Pod>) => void = () => undefined;
  readonly #pods = new Map<string, Pod>();

  constructor(ratio = 1) {
    const traces = new PodTraces({
      ratio,
      send: (span) => this.spans.push(span),
      clock: new WallClock(
        () => 0,
        () => 0,
      ),
    });
    this.stages = new PodStages({
      node: 'n1',
      traces,
      now: () => this.now,
      pods: {
        onChange: (handler) => {
          this.#changed = handler;
          return () => undefined;
        },
      },
    });
  }

  at(now: number): this {
    this.now = now;
    return this;
  }

  show(object: KubeObject): Pod {
    const after = object as Pod;
    const key = `${after.metadata.namespace}/${after.metadata.name}`;
    const before = this.#pods.get(key);
    this.#pods.set(key, after);
    this.#changed({ key, before, after });
    return after;
  }

  write(names: readonly string[], action: PlannedChange['action'] = 'insert', key = 'blue/web') {
    const changes = names.map((name) => ({
      action,
      table: 'Logical_Switch_Port',
      key: name,
      object: `Pod ${key}`,
    }));
    this.stages.written(changes as unknown as PlannedChange[], 5);
  }

  /** Name, start and end. */
  get told(): readonly unknown[] {
    return this.spans.map(({ name, start, end }) => [name, start, end]);
  }
}

const bare = (key = 'blue/web', node = 'n1', uid?: string): KubeObject => {
  const { metadata, ...rest } = pod(key, node, [], uid);
  return { ...rest, metadata: { ...metadata, annotations: {} } };
};

test('a pod on two networks: when it was seen, had its addresses, was written, and was taken in by OVN', () => {
  const bed = new Bed();
  const seen = bed.at(10).show(bare());
  bed.at(20).show(pod('blue/web', 'n1', [DEFAULT]));
  bed.at(30).show(pod('blue/web', 'n1', [DEFAULT, PRIMARY]));
  bed.at(50).write(PORTS);
  bed.stages.announced(7);
  bed.at(60).stages.reached({ northd: 6, chassis: 6 });
  bed.at(70).stages.reached({ northd: 7, chassis: 6 });
  bed.at(90).stages.reached({ northd: 8, chassis: 7 });
  bed.at(99).stages.reached({ northd: 9, chassis: 9 });
  expect(bed.told).toEqual([
    ['receive addresses', 10, 20],
    ['receive addresses', 10, 30],
    ['build logical port', 20, 45],
    ['commit logical port', 45, 50],
    ['build logical port', 30, 45],
    ['commit logical port', 45, 50],
    ['ovn-northd', 50, 70],
    ['ovn-controller', 70, 90],
  ]);
  expect(bed.stages.seen(seen)).toBe(10);
  expect(new Set(bed.spans.map(({ parentId }) => parentId)).size).toBe(1);
});

test('a port that is written again is none of its start', () => {
  const bed = new Bed();
  bed.at(10).show(pod('blue/web', 'n1', [DEFAULT]));
  bed.at(20).write(['blue_web']);
  bed.at(30).write(['blue_web'], 'update');
  bed.at(40).write(['blue_web'], 'delete');
  expect(bed.told).toEqual([
    ['build logical port', 10, 15],
    ['commit logical port', 15, 20],
  ]);
});

test('a pod that takes the name of another one, and its port, has a way of its own', () => {
  const bed = new Bed();
  bed.at(10).show(pod('blue/web', 'n1', [DEFAULT], 'first'));
  bed.at(20).write(['blue_web']);
  bed.at(30).show(pod('blue/web', 'n1', [DEFAULT], 'second'));
  bed.at(50).write(['blue_web'], 'update');
  expect(bed.told.slice(2)).toEqual([
    ['build logical port', 30, 45],
    ['commit logical port', 45, 50],
  ]);
  expect(bed.spans[2]?.attributes).toMatchObject({ 'k8s.pod.uid': 'second' });
});

test('pods that were served before, are of another node, on the host, or not recorded have no stages', () => {
  const bed = new Bed();
  const { metadata, ...rest } = pod('blue/web', 'n1', [DEFAULT]);
  const served = {
    ...rest,
    metadata: { ...metadata, annotations: { ...metadata.annotations, [NETWORK_STATUS]: '[]' } },
  };
  bed.show(served);
  bed.show(pod('blue/there', 'n2', [DEFAULT]));
  bed.show({ ...bare('blue/host'), spec: { nodeName: 'n1', hostNetwork: true } });
  bed.at(10).write(['blue_web']);
  bed.write(['blue_there'], 'insert', 'blue/there');
  bed.write(['blue_host'], 'insert', 'blue/host');
  const none = new Bed(0);
  none.show(pod('blue/web', 'n1', [DEFAULT]));
  none.at(10).write(['blue_web']);
  expect([...bed.told, ...none.told]).toEqual([]);
  expect(bed.stages.seen(served as unknown as Pod)).toBeUndefined();
});

test('what OVN never confirms is kept of the last thousand pods alone', () => {
  const bed = new Bed();
  for (let index = 0; index < 1500; index += 1) {
    const key = `blue/p${index}`;
    bed.show(pod(key, 'n1', [DEFAULT]));
    bed.write([`blue_p${index}`], 'insert', key);
    bed.stages.announced(index + 1);
  }
  bed.spans.length = 0;
  bed.stages.reached({ northd: 5000, chassis: 5000 });
  expect(bed.spans.filter(({ name }) => name === 'ovn-northd')).toHaveLength(1000);
});
