/** What the Grafana dashboards of deploy/monitoring/dashboards show: metrics of docs/operations.md. */

export interface Panel {
  readonly title: string;
  /** What it means when it is not as usual. */
  readonly description: string;
  readonly type: 'stat' | 'timeseries' | 'table';
  /** Of 24 columns. */
  readonly width: number;
  /** Of Grafana. */
  readonly unit?: 'short' | 's' | 'pps' | 'Bps' | 'bytes' | 'percentunit' | 'ops';
  /** A stat from which on it is red; below it is green. */
  readonly redFrom?: number;
  /** A stat below which it is red. */
  readonly redBelow?: number;
  readonly queries: readonly (readonly [expr: string, legend: string])[];
}

interface Variable {
  readonly name: string;
  /** In Grafana's words: `label_values(metric, label)`. */
  readonly query: string;
}

export interface Dashboard {
  readonly uid: string;
  readonly title: string;
  readonly variables: readonly Variable[];
  readonly rows: readonly { readonly title: string; readonly panels: readonly Panel[] }[];
}

const NODE: Variable = { name: 'node', query: 'label_values(heddle_zone_problems, node)' };
const ofNode = 'node=~"$node"';

const overview: Dashboard = {
  uid: 'heddle-overview',
  title: 'Heddle / Overview',
  variables: [],
  rows: [
    {
      title: 'Now',
      panels: [
        {
          title: 'Cluster managers that lead',
          description: 'One leads. With none new networks, pods and nodes get no ids, subnets and addresses.',
          type: 'stat',
          width: 4,
          redBelow: 1,
          queries: [['max(heddle_cluster_leading) or vector(0)', '']],
        },
        {
          title: 'Nodes without a daemon',
          description: 'Their daemons give no heartbeat: new pods there wait, what was programmed goes on.',
          type: 'stat',
          width: 4,
          redFrom: 1,
          queries: [['max(heddle_cluster_absent_daemons)', '']],
        },
        {
          title: 'Problems',
          description: 'Objects and rows with something wrong, on all nodes: heddle status lists them.',
          type: 'stat',
          width: 4,
          redFrom: 1,
          queries: [['sum(max by (node) (heddle_zone_problems))', '']],
        },
        {
          title: 'Networks that failed',
          description: 'On any node: heddle status says why.',
          type: 'stat',
          width: 4,
          redFrom: 1,
          queries: [['sum(max by (node) (heddle_zone_networks{state="Failed"}))', '']],
        },
        {
          title: 'Ways that no object wants',
          description: 'What proofs found between networks (verify-interval); take it for a leak until it is known what it is.',
          type: 'stat',
          width: 4,
          redFrom: 1,
          queries: [['sum(max by (node) (heddle_verify_violations))', '']],
        },
        {
          title: 'Databases away',
          description: 'Of nodes: nothing is written there meanwhile, packets go on.',
          type: 'stat',
          width: 4,
          redFrom: 1,
          queries: [
            ['count(min by (node, database) (heddle_zone_database_available) == 0) or vector(0)', ''],
          ],
        },
      ],
    },
    {
      title: 'Networks',
      panels: [
        {
          title: 'Networks by state, on all nodes',
          description: 'Committed: in the Northbound database, and not yet confirmed by the data plane. Unused: no pod of the node is on it.',
          type: 'timeseries',
          width: 12,
          queries: [['sum by (state) (max by (node, state) (heddle_zone_networks))', '{{state}}']],
        },
        {
          title: 'From a change to the data plane (99 of 100)',
          description: 'Of networks that change or come into use, with the host’s side. OVN has the most part in it.',
          type: 'timeseries',
          width: 12,
          unit: 's',
          queries: [
            [
              'histogram_quantile(0.99, sum by (le) (rate(heddle_zone_network_programmed_duration_seconds_bucket[$__rate_interval])))',
              'all nodes',
            ],
          ],
        },
        {
          title: 'Changes that the data plane has not confirmed',
          description: 'What stays is an ovn-northd, ovn-controller or ovs-vswitchd that does not follow.',
          type: 'timeseries',
          width: 12,
          queries: [['max by (node) (heddle_zone_dataplane_behind) > 0', '{{node}}']],
        },
        {
          title: 'Objects that wait',
          description: 'Pods above all, for an address, a subnet or an id.',
          type: 'timeseries',
          width: 12,
          queries: [['sum by (kind) (max by (node, kind) (heddle_zone_waiting_objects))', '{{kind}}']],
        },
      ],
    },
    {
      title: 'What others change, and who is heard',
      panels: [
        {
          title: 'Drift that was put right',
          description: 'Rows and objects of the host that somebody else changed; the log of the node says which, and by whom.',
          type: 'timeseries',
          width: 8,
          unit: 'ops',
          queries: [
            [
              'sum by (node, database) (rate(heddle_drift_repaired_total[$__rate_interval])) > 0',
              '{{node}} {{database}}',
            ],
          ],
        },
        {
          title: 'Age of heartbeats',
          description: 'Of the daemons of nodes.',
          type: 'timeseries',
          width: 8,
          unit: 's',
          queries: [['max by (node) (heddle_cluster_heartbeat_age_seconds)', '{{node}}']],
        },
        {
          title: 'How full annotations of Nodes are',
          description: 'They hold an entry for each network; at 100 % no further network gets subnets there.',
          type: 'timeseries',
          width: 8,
          unit: 'percentunit',
          queries: [['max by (node) (heddle_cluster_node_annotations_usage_ratio)', '{{node}}']],
        },
        {
          title: 'Egress addresses without a daemon',
          description: 'A node holds them that has not been heard for a minute: no other node has them.',
          type: 'timeseries',
          width: 8,
          queries: [['max by (node) (heddle_cluster_egress_ips_without_daemon) > 0', '{{node}}']],
        },
        {
          title: 'Next hops that BFD does not reach',
          description: 'Of external routes: pods that leave by them go by the others.',
          type: 'timeseries',
          width: 8,
          queries: [['min by (node, hop) (heddle_next_hop_up) == 0', '{{node}} {{hop}}']],
        },
        {
          title: 'Leases lost',
          description: 'Cluster managers that led and no longer could: the API server or the manager is too slow.',
          type: 'timeseries',
          width: 8,
          queries: [['sum(increase(heddle_cluster_leadership_lost_total[1h]))', 'in an hour']],
        },
      ],
    },
  ],
};

const network = 'network=~"$network"';

const networks: Dashboard = {
  uid: 'heddle-networks',
  title: 'Heddle / Networks',
  variables: [
    NODE,
    { name: 'network', query: 'label_values(heddle_dropped_packets_total, network)' },
  ],
  rows: [
    {
      title: 'Dropped (drops-interval)',
      panels: [
        {
          title: 'Packets dropped, by network',
          description: 'heddle drops on the node names object and rule.',
          type: 'timeseries',
          width: 12,
          unit: 'pps',
          queries: [
            [
              `sum by (network) (rate(heddle_dropped_packets_total{${ofNode}, ${network}}[$__rate_interval]))`,
              '{{network}}',
            ],
          ],
        },
        {
          title: 'Packets dropped, by what drops them',
          description: '“ovn” is what OVN drops by itself: some multicast and neighbour discovery always is.',
          type: 'timeseries',
          width: 12,
          unit: 'pps',
          queries: [
            [
              `sum by (reason, direction) (rate(heddle_dropped_packets_total{${ofNode}, ${network}}[$__rate_interval]))`,
              '{{reason}} {{direction}}',
            ],
          ],
        },
        {
          title: 'Bytes dropped, by network',
          description: 'The same in bytes.',
          type: 'timeseries',
          width: 12,
          unit: 'Bps',
          queries: [
            [
              `sum by (network) (rate(heddle_dropped_bytes_total{${ofNode}, ${network}}[$__rate_interval]))`,
              '{{network}}',
            ],
          ],
        },
        {
          title: 'Dropped in the time shown',
          description: 'Most first.',
          type: 'table',
          width: 12,
          queries: [
            [
              `topk(20, sum by (network, reason, direction) (increase(heddle_dropped_packets_total{${ofNode}, ${network}}[$__range])))`,
              '',
            ],
          ],
        },
      ],
    },
    {
      title: 'Made',
      panels: [
        {
          title: 'From the object of a network to its NADs (99 of 100)',
          description: 'Cluster manager, by the name of the object.',
          type: 'timeseries',
          width: 12,
          unit: 's',
          queries: [
            [
              'histogram_quantile(0.99, sum by (le, name) (rate(ovnkube_clustermanager_udn_nad_sync_duration_seconds_bucket[$__rate_interval])))',
              '{{name}}',
            ],
          ],
        },
        {
          title: 'From first use to the last row, by topology (99 of 100)',
          description: 'Of networks that came into use after the start of a daemon.',
          type: 'timeseries',
          width: 12,
          unit: 's',
          queries: [
            [
              `histogram_quantile(0.99, sum by (le, topology) (rate(ovnkube_controller_udn_nbdb_programmed_duration_seconds_bucket{${ofNode}}[$__rate_interval])))`,
              '{{topology}}',
            ],
          ],
        },
        {
          title: 'Connections of networks that are refused',
          description: 'ClusterNetworkConnects; their condition Accepted says why.',
          type: 'table',
          width: 12,
          queries: [['heddle_cluster_connect_accepted == 0', '']],
        },
        {
          title: 'Networks that a connection joins',
          description: 'Of each ClusterNetworkConnect.',
          type: 'table',
          width: 12,
          queries: [['max by (name) (heddle_cluster_connect_networks)', '']],
        },
      ],
    },
  ],
};

const nodes: Dashboard = {
  uid: 'heddle-nodes',
  title: 'Heddle / Nodes',
  variables: [NODE],
  rows: [
    {
      title: 'Connections',
      panels: [
        {
          title: 'How full tables of connections are',
          description: 'At 100 % new connections of all pods of the node fail.',
          type: 'timeseries',
          width: 12,
          unit: 'percentunit',
          queries: [
            [
              `max by (node, table) (heddle_host_connections{${ofNode}} / heddle_host_connections_limit{${ofNode}})`,
              '{{node}} {{table}}',
            ],
          ],
        },
        {
          title: 'What pods asked of DNS',
          description: 'Of the forwarder (dns-forwarder, network-names); refused: a pod, or all of them, asked too much.',
          type: 'timeseries',
          width: 12,
          unit: 'ops',
          queries: [
            [
              `sum by (outcome) (rate(heddle_dns_questions_total{${ofNode}}[$__rate_interval]))`,
              '{{outcome}}',
            ],
          ],
        },
      ],
    },
    {
      title: 'The daemon',
      panels: [
        {
          title: 'Loops at one pass',
          description: 'For how long. More than a minute: what it waits for does not answer.',
          type: 'timeseries',
          width: 12,
          unit: 's',
          queries: [
            [`max by (node, loop) (heddle_loop_pass_under_way_seconds{${ofNode}})`, '{{node}} {{loop}}'],
          ],
        },
        {
          title: 'Rows written',
          description: 'Rest without changes is 0.',
          type: 'timeseries',
          width: 12,
          unit: 'ops',
          queries: [
            [
              `sum by (node, database) (rate(heddle_zone_rows_committed_total{${ofNode}}[$__rate_interval]))`,
              '{{node}} {{database}}',
            ],
          ],
        },
        {
          title: 'Refused',
          description: 'Rows that a database, and objects that the host, did not take: heddle status has the reason.',
          type: 'timeseries',
          width: 12,
          unit: 'ops',
          queries: [
            [
              `sum by (node, database) (rate(heddle_zone_rows_refused_total{${ofNode}}[$__rate_interval]))`,
              '{{node}} {{database}}',
            ],
            [
              `sum by (node, database) (rate(heddle_host_refused_total{${ofNode}}[$__rate_interval]))`,
              '{{node}} {{database}}',
            ],
          ],
        },
        {
          title: 'Changes of the host',
          description: 'drift: others had changed it.',
          type: 'timeseries',
          width: 12,
          unit: 'ops',
          queries: [
            [
              `sum by (node, cause) (rate(heddle_host_changes_total{${ofNode}}[$__rate_interval]))`,
              '{{node}} {{cause}}',
            ],
          ],
        },
        {
          title: 'Processor',
          description: 'Of the daemon, in cores; the programs that it runs are not in it.',
          type: 'timeseries',
          width: 12,
          queries: [
            [
              `rate(process_cpu_seconds_total{${ofNode}}[$__rate_interval]) and on (instance) heddle_zone_problems`,
              '{{node}}',
            ],
          ],
        },
        {
          title: 'Memory',
          description: 'Of the daemon.',
          type: 'timeseries',
          width: 12,
          unit: 'bytes',
          queries: [
            [`process_resident_memory_bytes{${ofNode}} and on (instance) heddle_zone_problems`, '{{node}}'],
          ],
        },
      ],
    },
  ],
};

export const DASHBOARDS: readonly Dashboard[] = [overview, networks, nodes];
