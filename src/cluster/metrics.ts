/** What Prometheus sees of the cluster manager; names as users of ovn-kubernetes have them on dashboards (reference/api.md §4.6). */
import { Counter, exponentialBuckets, Gauge, Histogram, type Registry } from 'prom-client';
import { FAMILIES, type Family } from '../allocators/addresses.ts';
import { connectSubnets } from '../api/annotations/network-annotations.ts';
import { conditionOf } from '../api/conditions.ts';
import type {
  ClusterNetworkConnect,
  ClusterUserDefinedNetwork,
  UserDefinedNetwork,
} from '../api/types.ts';
import type { DropLimit } from '../store/event-writer.ts';
import { roleOf, topologyOf } from './networks/network-objects.ts';

/** Room for node subnets of a network in one family. */
interface SubnetUsage {
  readonly network: string;
  readonly family: Family;
  readonly capacity: number;
  readonly used: number;
}

/** Read when metrics are collected, so that nothing has to be kept up to date. */
export interface MetricSources {
  readonly udns: () => readonly UserDefinedNetwork[];
  readonly cudns: () => readonly ClusterUserDefinedNetwork[];
  readonly connects: () => readonly ClusterNetworkConnect[];
  readonly subnets: () => readonly SubnetUsage[];
  /** Share of the room for annotations that each node has in use, from 0 to 1. */
  readonly annotations: () => ReadonlyMap<string, number>;
  /** Egress addresses that nodes have; how many moved, and how often nodes were found not to be reached, since the start. */
  readonly egressIps: () => {
    readonly assigned: number;
    readonly moved: number;
    readonly unreached: number;
  };
  /** How many egress addresses nodes keep whose daemons have not been heard for a minute. */
  readonly egressWithoutDaemon: () => ReadonlyMap<string, number>;
  /** How many nodes have no daemon any more. */
  readonly absentDaemons: () => number;
  /** Milliseconds since the daemon of each node was heard last. */
  readonly heartbeatAges: () => ReadonlyMap<string, number>;
}

const PREFIX = 'ovnkube_clustermanager_';
const STATUSES = ['True', 'False', 'Unknown'] as const;
const capital = (text: string): string => `${text.slice(0, 1).toUpperCase()}${text.slice(1)}`;

export function registerMetrics(registry: Registry, sources: MetricSources): void {
  const registers = [registry];
  const gauge = <L extends string>(
    name: string,
    help: string,
    labelNames: readonly L[],
    collect: (gauge: Gauge<L>) => void,
  ): Gauge<L> =>
    new Gauge<L>({
      name: `${PREFIX}${name}`,
      help,
      labelNames: [...labelNames],
      registers,
      collect() {
        this.reset();
        collect(this);
      },
    });
  gauge('user_defined_networks', 'UserDefinedNetworks.', ['role', 'topology'], (metric) => {
    for (const object of sources.udns())
      metric.inc({ role: capital(roleOf(object)), topology: capital(topologyOf(object)) });
  });
  gauge(
    'cluster_user_defined_networks',
    'ClusterUserDefinedNetworks.',
    ['role', 'topology', 'transport'],
    (metric) => {
      for (const object of sources.cudns())
        metric.inc({
          role: capital(roleOf(object)),
          topology: capital(topologyOf(object)),
          transport: object.spec.network.transport ?? 'Default',
        });
    },
  );
  gauge(
    'cluster_user_defined_network_condition',
    '1 for the status that a condition of a ClusterUserDefinedNetwork has.',
    ['name', 'condition', 'status'],
    (metric) => {
      for (const { metadata, status } of sources.cudns())
        for (const condition of status?.conditions ?? [])
          for (const value of STATUSES)
            metric.set(
              { name: metadata.name, condition: condition.type, status: value },
              condition.status === value ? 1 : 0,
            );
    },
  );
  for (const family of FAMILIES) {
    const usage = (): readonly SubnetUsage[] =>
      sources.subnets().filter((one) => one.family === family);
    gauge(
      `num_${family}_host_subnets`,
      `IP${family} subnets that a network has for nodes.`,
      ['network_name'],
      (metric) => {
        for (const { network, capacity } of usage())
          metric.set({ network_name: network }, capacity);
      },
    );
    gauge(
      `allocated_${family}_host_subnets`,
      `IP${family} subnets of a network that nodes have.`,
      ['network_name'],
      (metric) => {
        for (const { network, used } of usage()) metric.set({ network_name: network }, used);
      },
    );
  }
  gauge('num_egress_ips', 'Egress addresses that nodes have.', [], (metric) => {
    metric.set(sources.egressIps().assigned);
  });
  const counter = (name: string, help: string, value: () => number): Counter =>
    new Counter({
      name: `${PREFIX}${name}`,
      help,
      registers,
      collect() {
        this.reset();
        this.inc(value());
      },
    });
  counter(
    'egress_ips_rebalance_total',
    'Egress addresses that went from a node.',
    () => sources.egressIps().moved,
  );
  counter(
    'egress_ips_node_unreachable_total',
    'Times that an egress node was found not to be reached.',
    () => sources.egressIps().unreached,
  );
  // What follows is not of ovn-kubernetes.
  registry.registerMetric(
    new Gauge({
      name: 'heddle_cluster_connect_accepted',
      help: '1 for a ClusterNetworkConnect that is accepted, 0 for one that is not, with the reason.',
      labelNames: ['name', 'reason'],
      registers: [],
      collect() {
        this.reset();
        for (const { metadata, status } of sources.connects()) {
          const accepted = conditionOf(status?.conditions, 'Accepted');
          this.set(
            { name: metadata.name, reason: accepted?.reason ?? 'NotDecided' },
            accepted?.status === 'True' ? 1 : 0,
          );
        }
      },
    }),
  );
  registry.registerMetric(
    new Gauge({
      name: 'heddle_cluster_connect_networks',
      help: 'Networks that a ClusterNetworkConnect joins.',
      labelNames: ['name'],
      registers: [],
      collect() {
        this.reset();
        for (const connect of sources.connects())
          this.set({ name: connect.metadata.name }, connectSubnets(connect).value?.size ?? 0);
      },
    }),
  );
  registry.registerMetric(
    new Gauge({
      name: 'heddle_cluster_egress_ips_without_daemon',
      help: 'Egress addresses that a node keeps whose daemon has not been heard for a minute.',
      labelNames: ['node'],
      registers: [],
      collect() {
        this.reset();
        for (const [node, count] of sources.egressWithoutDaemon()) this.set({ node }, count);
      },
    }),
  );
  registry.registerMetric(
    new Gauge({
      name: 'heddle_cluster_absent_daemons',
      help: 'Nodes whose daemon gives no heartbeat any more, or was stopped and is not back.',
      registers: [],
      collect() {
        this.set(sources.absentDaemons());
      },
    }),
  );
  registry.registerMetric(
    new Gauge({
      name: 'heddle_cluster_heartbeat_age_seconds',
      help: 'Since when the daemon of a node has given no heartbeat, as far as this process has seen.',
      labelNames: ['node'],
      registers: [],
      collect() {
        this.reset();
        for (const [node, age] of sources.heartbeatAges()) this.set({ node }, age / 1000);
      },
    }),
  );
  registry.registerMetric(
    new Gauge({
      name: 'heddle_cluster_node_annotations_usage_ratio',
      help: 'Share of the room for annotations that a node has in use.',
      labelNames: ['node'],
      registers: [],
      collect() {
        this.reset();
        for (const [node, share] of sources.annotations()) this.set({ node }, share);
      },
    }),
  );
}

/** Counts events that are not written. */
export function registerDroppedEvents(registry: Registry): (limit: DropLimit) => void {
  const counter = new Counter({
    name: 'heddle_cluster_events_dropped_total',
    help: 'Events that were not written because there were too many: of one object, of a namespace, of all, or waiting.',
    labelNames: ['limit'],
    registers: [registry],
  });
  return (limit) => counter.inc({ limit });
}

/** Records how long things took, in milliseconds, by network. */
export interface DurationRecorder {
  /** One pass over the NADs of the object that declares the network. */
  nadSync(network: string, duration: number): void;
  /** One write of a node's annotations that gave the node subnets of the network, maybe among others. */
  nodeAnnotation(network: string, duration: number): void;
  /** The network is gone, and what was measured of it. */
  forget(network: string): void;
}

export const NO_RECORDER: DurationRecorder = {
  nadSync: () => undefined,
  nodeAnnotation: () => undefined,
  forget: () => undefined,
};

/** Histograms with one series per network; a series ends with its network. */
export function registerDurations(registry: Registry): DurationRecorder {
  const histogram = (name: string, help: string, buckets: number[]): Histogram<'name'> =>
    new Histogram({
      name: `${PREFIX}${name}`,
      help,
      labelNames: ['name'],
      buckets,
      registers: [registry],
    });
  const nadSync = histogram(
    'udn_nad_sync_duration_seconds',
    'Time of one pass over the NetworkAttachmentDefinitions of a network.',
    exponentialBuckets(0.005, 2, 14),
  );
  const nodeAnnotation = histogram(
    'udn_update_node_annotation_duration_seconds',
    'Time of a write of a node’s annotations that gave the node subnets of a network; one write may serve several networks.',
    exponentialBuckets(0.01, 2, 13),
  );
  // A wall clock may be set back.
  const seconds = (duration: number): number => Math.max(0, duration) / 1000;
  return {
    nadSync: (name, duration) => nadSync.observe({ name }, seconds(duration)),
    nodeAnnotation: (name, duration) => nodeAnnotation.observe({ name }, seconds(duration)),
    forget(name) {
      nadSync.remove({ name });
      nodeAnnotation.remove({ name });
    },
  };
}
