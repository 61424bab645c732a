/** How much memory `heddle cluster` and `heddle node` have, as processes on a real API server. */
import { readFileSync } from 'node:fs';
import { setTimeout as pause } from 'node:timers/promises';
import { networkAttachmentDefinitions, pods as podKind } from '../../src/api/kinds.ts';
import { networkId } from '../../src/api/annotations/network-annotations.ts';
import { podNetworks } from '../../src/api/annotations/pod-annotations.ts';
import { KubernetesStore } from '../../src/store/kubernetes/kubernetes-store.ts';
import { apply, namespace, pod } from '../support/cluster/cluster.ts';
import { command } from '../support/run/heddle.ts';
import { startKubeApi } from '../support/cluster/kube-api.ts';
import { servedDefinitions } from '../support/cluster/served-definitions.ts';
import { until } from '../support/run/until.ts';
import { readyNodes, tenant } from './converge.ts';
import type { Benchmark, Figure } from './benchmark.ts';
import { northboundServer } from './fill.ts';

interface Growth {
  readonly networks: number;
  readonly pods: number;
}

const NODES = 3;
const LIMIT = 300_000;
/** Milliseconds in which a process that has nothing to do gives back what it needed for a moment. */
const REST = 10_000;

/** Resident memory of a process in megabytes. */
const residentMemory = (pid: number): number =>
  Number(/^VmRSS:\s+(\d+) kB/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]) / 1024;

async function measure(
  growths: readonly Growth[],
  progress: (text: string) => void,
): Promise<readonly Figure[]> {
  const api = await startKubeApi();
  if (typeof api === 'string') {
    progress(`not measured: ${api}`);
    return [];
  }
  await using cleanup = new AsyncDisposableStack();
  cleanup.use(api);
  await api.install(servedDefinitions);
  const user = new KubernetesStore({ connection: api.connection });
  cleanup.defer(() => user.close());
  await apply(user, ...readyNodes(NODES), namespace('plain', {}));
  const server = cleanup.use(await northboundServer());
  const common = [
    `--kubeconfig=${api.kubeconfig}`,
    '--metrics-bind-address=127.0.0.1:0',
    '--log-level=warn',
    // Room for all pods on one node.
    '--cluster-subnets=10.128.0.0/14/21',
  ];
  const processes = {
    manager: cleanup.use(command('cluster', ...common)),
    daemon: cleanup.use(
      command('node', ...common, '--node=n1', '--socket=none', `--nb=${server.remote}`),
    ),
  };
  const figures: Figure[] = [];
  const look = async (
    what: string,
    goals: { manager?: number; daemon?: number },
  ): Promise<void> => {
    await pause(REST);
    for (const [name, { pid }] of Object.entries(processes)) {
      const value = residentMemory(pid);
      const goal = goals[name as keyof typeof goals];
      figures.push({
        name: `${name}, ${what}`,
        value,
        unit: 'MB',
        ...(goal === undefined ? {} : { goal }),
      });
      progress(`${name}, ${what}: ${value.toFixed(0)} MB`);
    }
  };
  await look('nothing declared', {});
  const total = { networks: 0, pods: 0 };
  for (const { networks, pods } of growths) {
    for (let k = total.networks; k < total.networks + networks; k += 1)
      await apply(user, ...tenant(k), pod(`t${k}/web`, 'n1'));
    for (let k = total.pods; k < total.pods + pods; k += 1)
      await apply(user, pod(`plain/p${k}`, `n${1 + (k % NODES)}`));
    total.networks += networks;
    total.pods += pods;
    await until(
      'networks and addresses',
      async () => {
        const nads = await user.list(networkAttachmentDefinitions);
        const list = await user.list(podKind);
        return (
          nads.filter((nad) => networkId(nad).value !== undefined).length === total.networks &&
          list
            .filter((one) => one.spec.nodeName === 'n1')
            .every((one) => podNetworks(one).value !== undefined)
        );
      },
      { limit: LIMIT, pause: 500 },
    );
    const isFirst = total.networks === networks && total.pods === pods;
    await look(
      `${total.networks} networks × ${NODES} nodes, each with a pod on one of them, ${total.pods} pods more`,
      isFirst && networks === 50 ? { manager: 120, daemon: 140 } : {},
    );
  }
  return figures;
}

export const benchmarks: readonly Benchmark[] = [
  {
    name: 'memory',
    title:
      'resident memory of the manager and of a node daemon: empty, 50 networks, 1,000 pods, 500 networks',
    run: (progress) =>
      measure(
        [
          { networks: 50, pods: 0 },
          { networks: 0, pods: 1000 },
          { networks: 450, pods: 0 },
        ],
        progress,
      ),
  },
];
