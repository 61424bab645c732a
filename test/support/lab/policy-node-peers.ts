/** Who reaches which nodes, among the pods of truth-table.ts: what cases of ClusterNetworkPolicies about nodes as peers are told with. */
import { probe, type Endpoint, type Probe } from '../../../src/lab/connectivity.ts';
import { outputInside } from '../../../src/lab/exec.ts';
import { nodeNames } from '../../../src/lab/paths.ts';
import type { LabRecord } from '../../../src/lab/state-file.ts';
import { nodeAddress } from '../../../src/lab/status.ts';
import { cluster, type Rule } from './cluster-policy-cases.ts';
import type { Step } from './truth-table.ts';

const PORTS = [80, 81] as const;
const PROTOCOLS = ['tcp', 'udp'] as const;
/** Long enough for a packet that arrives. */
const SECONDS = 2;

/** A packet of a pod to a node. */
export interface ToNode {
  /** Of the pod. */
  readonly space: string;
  readonly node: string;
  /** `tcp 80`. */
  readonly via: string;
  /** All of it, for failures. */
  readonly text: string;
}

/** A step, and whether pods of namespace x reach a node. */
export interface NodeStep {
  readonly step: Omit<Step, 'open'>;
  readonly open: (to: Pick<ToNode, 'node' | 'via'>) => boolean;
}

/** Has every node answer on the ports by both protocols. */
export async function serveOnNodes(lab: LabRecord): Promise<void> {
  const servers = nodeNames(lab.nodes).map((node) => ({ namespace: node, name: node }));
  for (const port of PORTS)
    await outputInside(lab, ['lab-serve'], { input: JSON.stringify({ servers, port }) });
}

/** Sends packets of all these pods to all nodes, and has what arrived. */
export async function reachedNodes(
  lab: LabRecord,
  ends: readonly Endpoint[],
): Promise<{ readonly asked: readonly ToNode[]; readonly reached: ReadonlySet<string> }> {
  const all = ends.flatMap((end) =>
    nodeNames(lab.nodes).flatMap((node) =>
      PORTS.flatMap((port) =>
        PROTOCOLS.map((protocol) => {
          const via = `${protocol} ${port}`;
          const space = end.pod.replace(/^.*-(.)\/.*$/, '$1');
          const to: ToNode = { space, node, via, text: `${end.pod} to ${node} ${via}` };
          const sent: Probe = {
            from: end.namespace,
            to: nodeAddress(node),
            port,
            protocol,
            ping: false,
          };
          return { to, sent };
        }),
      ),
    ),
  );
  const results = await probe(
    lab,
    all.map(({ sent }) => sent),
    SECONDS,
  );
  const arrived = all.filter(({ to }, n) => results[n]?.answer?.server === to.node);
  return {
    asked: all.map(({ to }) => to),
    reached: new Set(arrived.map(({ to }) => to.text)),
  };
}

const NODES = {
  nodes: { matchExpressions: [{ key: 'kubernetes.io/hostname', operator: 'Exists' }] },
};
const OUTSIDE: Rule = ['Deny', { networks: ['0.0.0.0/0', '::/0'] }];
const number = (protocol: string, one: number): object => ({
  [protocol]: { destinationPort: { number: one } },
});
const step = (tier: string, ...rules: readonly Rule[]): NodeStep['step'] => ({
  cluster: (world) => ({ rules: cluster(world, tier, 10, { egress: rules }) }),
});

/** By the short names of the suite's cases. */
export const NODE_PEER_CASES: [string, ...NodeStep[]][] = [
  [
    'CNPAdminTierEgressNodePeers',
    {
      step: step(
        'Admin',
        ['Accept', NODES, [number('tcp', 80)]],
        ['Pass', NODES, [number('udp', 80)]],
        ['Deny', NODES],
        OUTSIDE,
      ),
      open: ({ via }) => via.endsWith('80'),
    },
    {
      step: step('Admin', ['Deny', { nodes: { matchLabels: { 'kubernetes.io/hostname': 'n2' } } }]),
      open: ({ node }) => node !== 'n2',
    },
  ],
  [
    'CNPBaselineTierEgressNodePeers',
    {
      step: step(
        'Baseline',
        ['Accept', NODES, [{ tcp: { destinationPort: { range: { start: 80, end: 81 } } } }]],
        ['Deny', NODES],
        OUTSIDE,
      ),
      open: ({ via }) => via.startsWith('tcp'),
    },
  ],
];
