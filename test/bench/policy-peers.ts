/** What a pod costs that a policy selects as a peer, beside 50 others and beside 5,000 others in as many namespaces. */
import { namespaces, networkPolicies, pods } from '../../src/api/kinds.ts';
import type { KubeObject } from '../../src/api/objects.ts';
import { namespace, networkPolicy, policedPod } from '../support/zone/policed-zone.ts';
import { median, type Benchmark, type Figure } from './benchmark.ts';
import { northboundServer } from './fill.ts';
import { Zone } from './zone-change.ts';
import { addNode, addressOf, DEFAULT_OCTET } from './zone-objects.ts';

const NAMESPACES = 50;
const NODES = 20;
const FEW = 50;
const MANY = 5000;
const RUNS = 25;
const WARM_UP = 10;
const by = { fieldManager: 'bench' };

/** Of another node. */
function peer(index: number, labels: Readonly<Record<string, string>>): KubeObject {
  const node = 1 + (index % (NODES - 1));
  return policedPod(`peers-${index % NAMESPACES}/pod-${index}`, {
    node: `node-${node}`,
    labels,
    address: `${addressOf(DEFAULT_OCTET, node, Math.floor(index / (NODES - 1)))}/18`,
  });
}

const PEER = { app: 'peer' };

async function costs(
  count: number,
  progress: (text: string) => void,
): Promise<readonly [number, number]> {
  await using server = await northboundServer();
  await using zone = new Zone(server);
  const { store } = zone;
  for (let index = 0; index < NODES; index += 1) await addNode(store, index, []);
  for (let index = 0; index < NAMESPACES; index += 1)
    await store.create(namespaces, namespace(`peers-${index}`, { team: 'peers' }), by);
  for (let index = 0; index < count; index += 1) await store.create(pods, peer(index, PEER), by);
  await store.create(
    networkPolicies,
    networkPolicy('peers-0/allow', {
      ingress: [
        {
          from: [
            {
              namespaceSelector: { matchLabels: { team: 'peers' } },
              podSelector: { matchLabels: PEER },
            },
          ],
        },
      ],
    }),
    by,
  );
  await zone.synced();
  await zone.pass();
  const measured = async (change: (i: number) => Promise<unknown>): Promise<number> => {
    const times: number[] = [];
    for (let i = 0; i < WARM_UP + RUNS; i += 1) {
      const [time, rows] = await zone.measure(() => change(i));
      if (rows !== 1) throw new Error(`${rows} rows were written for one peer`);
      if (i >= WARM_UP) times.push(time);
    }
    return median(times);
  };
  progress(`${count} peers: one more`);
  const more = await measured((i) => store.create(pods, peer(count + i, PEER), by));
  progress(`${count} peers: one whose label changes`);
  const label = await measured((i) =>
    store.patch(
      pods,
      `peers-0/pod-0`,
      { metadata: { labels: { app: i % 2 === 0 ? 'other' : 'peer' } } },
      by,
    ),
  );
  return [more, label];
}

async function run(progress: (text: string) => void): Promise<readonly Figure[]> {
  const few = await costs(FEW, progress);
  const many = await costs(MANY, progress);
  return ['one peer more', 'a peer whose label changes'].flatMap((name, at): Figure[] => [
    { name: `${name}: processor time`, value: many[at] ?? 0, unit: 'ms', floor: few[at] ?? 0 },
    {
      name: `${name}: of ${MANY} / of ${FEW}`,
      value: (many[at] ?? 0) / (few[at] ?? 1),
      unit: 'ratio',
      goal: 1.5,
    },
  ]);
}

export const benchmarks: readonly Benchmark[] = [
  {
    name: 'policy-peers',
    title:
      'one pod more among the 5,000 of 50 namespaces that a policy selects, beside one among 50',
    run,
  },
];
