/** Every setting of a process: one table gives the flags, the environment variables, the keys of the file and the help. */

type OptionGroup = 'where' | 'tls' | 'control' | 'cluster' | 'behaviour';

/** One setting: `--name` on the command line, `HEDDLE_NAME` in the environment, `name:` in the configuration file. */
export interface OptionSpec {
  readonly name: string;
  readonly group: OptionGroup;
  /** What stands behind the flag in the help, e.g. `DIR`. */
  readonly value: string;
  readonly description: string;
  /** As the user would write it. */
  readonly default?: string;
  /** True for a flag that needs no value: `--name` says true. */
  readonly isSwitch?: true;
}

const option = <const N extends string>(
  name: N,
  group: OptionGroup,
  value: string,
  description: string,
  fallback?: string,
): OptionSpec & { readonly name: N } => ({
  name,
  group,
  value,
  description,
  ...(fallback === undefined ? {} : { default: fallback }),
});

export const OPTIONS = [
  option('manifests', 'where', 'DIR', 'directory of Kubernetes YAML to read objects from'),
  option('state', 'where', 'DIR', 'directory for statuses and allocations'),
  option(
    'kubeconfig',
    'where',
    'FILE',
    'read objects from the Kubernetes API server of this file; in a pod: its service account',
  ),
  option('context', 'where', 'NAME', "context of the kubeconfig; default: the file's current one"),
  option('node', 'where', 'NAME', 'node whose OVN zone this is'),
  option(
    'nb',
    'where',
    'REMOTE',
    'OVN Northbound: unix:PATH, tcp:HOST:PORT or ssl:HOST:PORT; several by commas',
  ),
  option('sb', 'where', 'REMOTE', 'OVN Southbound, for the chassis of remote nodes'),
  option(
    'ovs',
    'where',
    'REMOTE',
    "the node's own Open_vSwitch database: the host is kept, too (ports, VRFs, routes, rules, nftables)",
  ),
  option(
    'socket',
    'control',
    'PATH',
    "unix socket on which the daemon of --node answers status, plan and diff; 'none': nowhere; default: NODE.sock in /run/heddle, or in heddle of a user's XDG_RUNTIME_DIR",
  ),
  option(
    'cni-socket',
    'control',
    'PATH',
    'unix socket on which the CNI plugin of heddle cni install is answered, /run/heddle/cni.sock by default; needs --ovs; empty: nowhere',
    '',
  ),
  option(
    'cni-conf-dir',
    'control',
    'DIR',
    'folder of the container runtime into which heddle node writes the configuration of the CNI plugin, as soon as it answers; needs --cni-socket; empty: heddle cni install writes it',
    '',
  ),
  option('private-key', 'tls', 'FILE', 'private key for ssl: remotes'),
  option('certificate', 'tls', 'FILE', 'certificate for ssl: remotes'),
  option('ca-cert', 'tls', 'FILE', 'certificates that the databases are verified with'),
  option(
    'cluster-subnets',
    'cluster',
    'LIST',
    'pod subnets of the cluster default network',
    '10.128.0.0/14/23',
  ),
  option('k8s-service-cidrs', 'cluster', 'LIST', 'service subnets', '172.16.1.0/24'),
  option(
    'gateway-v4-join-subnet',
    'cluster',
    'CIDR',
    'IPv4 join subnet of the default network',
    '100.64.0.0/16',
  ),
  option(
    'gateway-v6-join-subnet',
    'cluster',
    'CIDR',
    'IPv6 join subnet of the default network',
    'fd98::/64',
  ),
  option(
    'gateway-v4-masquerade-subnet',
    'cluster',
    'CIDR',
    'IPv4 addresses that tell networks apart on a host',
    '169.254.0.0/17',
  ),
  option(
    'gateway-v6-masquerade-subnet',
    'cluster',
    'CIDR',
    'IPv6 addresses of the same kind',
    'fd69::/112',
  ),
  option(
    'cluster-manager-v4-transit-subnet',
    'cluster',
    'CIDR',
    'IPv4 subnet of the transit switches',
    '100.88.0.0/16',
  ),
  option(
    'cluster-manager-v6-transit-subnet',
    'cluster',
    'CIDR',
    'IPv6 subnet of the transit switches',
    'fd97::/64',
  ),
  option('mtu', 'cluster', 'BYTES', 'MTU of networks that set none', '1400'),
  option(
    'udn-allowed-default-services',
    'cluster',
    'LIST',
    'default services that every primary network reaches',
    'default/kubernetes,kube-system/kube-dns',
  ),
  option(
    'dns-servers',
    'cluster',
    'LIST',
    'who is asked for names in EgressFirewalls: a service (namespace/name; without it the servers of the host), or addresses',
    'kube-system/kube-dns',
  ),
  option(
    'dns-forwarder',
    'cluster',
    'true|false',
    'where EgressFirewalls have names, nodes forward what pods ask of the service of dns-servers, and allow what is answered',
    'true',
  ),
  option(
    'service-external-ranges',
    'cluster',
    'LIST',
    "where external addresses of services have to be; empty: anywhere but where they take what is the cluster's, a node's or an older service's",
    '',
  ),
  option(
    'tunnel-sources',
    'cluster',
    'LIST',
    "addresses and subnets that may send to the port of tunnels besides those of nodes' tunnels (ovn-encap-ip); any: everybody",
    '',
  ),
  option(
    'max-service-entries',
    'cluster',
    'COUNT',
    'addresses times ports that one service may have',
    '1024',
  ),
  option(
    'max-service-targets',
    'cluster',
    'COUNT',
    'endpoints that one service may be balanced over, counted once for each address and port that leads to them',
    '20000',
  ),
  option(
    'max-service-slices',
    'cluster',
    'COUNT',
    'EndpointSlices of one service that count, the oldest first',
    '1000',
  ),
  option(
    'ovn-config-namespace',
    'cluster',
    'NAMESPACE',
    'where the NAD "default" of the cluster default network is',
    'ovn-kubernetes',
  ),
  option('enable-egress-ip', 'cluster', 'BOOL', 'prepare networks for EgressIP', 'true'),
  option(
    'egressip-reachability-total-timeout',
    'cluster',
    'SECONDS',
    'a node that does not answer for this long loses its egress addresses to others; 0: nodes are not asked',
    '1',
  ),
  option(
    'egressip-node-healthcheck-port',
    'cluster',
    'PORT',
    'where nodes answer at their management addresses; 0: it is enough that the node is there',
    '9107',
  ),
  option(
    'enable-egress-firewall',
    'cluster',
    'BOOL',
    'prepare networks for EgressFirewall',
    'true',
  ),
  option('enable-egress-service', 'cluster', 'BOOL', 'pods leave as EgressServices say', 'true'),
  option(
    'enable-multi-external-gateway',
    'cluster',
    'BOOL',
    'pods leave by the next hops of AdminPolicyBasedExternalRoutes',
    'true',
  ),
  option(
    'enable-multicast',
    'cluster',
    'BOOL',
    'multicast is denied but between pods of a namespace that is annotated k8s.ovn.org/multicast-enabled=true',
    'false',
  ),
  option(
    'allow-icmp-network-policy',
    'cluster',
    'BOOL',
    'ICMP passes whatever NetworkPolicies say',
    'false',
  ),
  option(
    'enable-stateless-netpol',
    'cluster',
    'BOOL',
    'policies annotated k8s.ovn.org/acl-stateless=true allow without connection tracking',
    'false',
  ),
  option(
    'max-flows-per-policy',
    'cluster',
    'COUNT',
    'OpenFlow flows that one policy may cost a node; one that would cost more lets nothing through',
    '10000',
  ),
  option(
    'max-flows-per-firewall',
    'cluster',
    'COUNT',
    'OpenFlow flows that the rules of one EgressFirewall may cost a node on a network; where they would cost more everything outside is denied',
    '200000',
  ),
  option(
    'max-flows-per-qos',
    'cluster',
    'COUNT',
    'OpenFlow flows that the rules of one EgressQoS or NetworkQoS may cost a node on a network; where they would cost more nothing is marked or limited',
    '100000',
  ),
  option(
    'max-pod-connections',
    'cluster',
    'COUNT',
    'connections that one interface of a pod may have at a time; 0: no limit',
    '0',
  ),
  option(
    'ephemeral-port-range',
    'cluster',
    'FROM-TO',
    "ports for SNAT, 'none' leaves them to OVN; default: the kernel's range",
  ),
  option('acl-logging-rate-limit', 'cluster', 'PACKETS', 'logged packets per second', '20'),
  option(
    'ha-election-lease-duration',
    'behaviour',
    'SECONDS',
    'a leading cluster manager that is gone is replaced after this time',
    '15',
  ),
  option(
    'ha-election-renew-deadline',
    'behaviour',
    'SECONDS',
    'a leader that could not renew its lease for this long stops; less than the duration',
    '10',
  ),
  option(
    'ha-election-retry-period',
    'behaviour',
    'SECONDS',
    'how often a leader renews; less than the deadline',
    '2',
  ),
  option('max-networks', 'cluster', 'COUNT', 'user-defined networks in all', '4095'),
  option(
    'max-networks-per-namespace',
    'cluster',
    'COUNT',
    'networks that one namespace may declare, by objects and by NADs of its own',
    '50',
  ),
  option(
    'no-hostsubnet-nodes',
    'cluster',
    'LABELS',
    'nodes that get no subnets, as another network provider serves them: kubernetes.io/os=windows',
  ),
  option(
    'render',
    'behaviour',
    'WHERE',
    'used: a network has rows on a node while something there uses it; everywhere: always',
    'used',
  ),
  option(
    'render-grace-period',
    'behaviour',
    'SECONDS',
    'how long a network stays on a node after its last use there',
    '60',
  ),
  {
    ...option(
      'take-over',
      'behaviour',
      'BOOL',
      'remove what an ovn-kubernetes left in the databases and no object asks for (heddle diff lists it)',
      'false',
    ),
    isSwitch: true,
  },
  {
    ...option(
      'take-zone',
      'behaviour',
      'BOOL',
      'write the databases although they are those of another node, by name or chassis: for a node that was renamed or made anew',
      'false',
    ),
    isSwitch: true,
  },
  option(
    'routing-table-id-start',
    'behaviour',
    'NUMBER',
    "the routing table of a network's VRF is this number and the network's id",
    '10000',
  ),
  option(
    'host-vrfs',
    'behaviour',
    'BOOL',
    'each primary network has a VRF and a port on the host of --ovs; false: it has neither, and reaches only what is outside',
    'true',
  ),
  option(
    'sysctl-folder',
    'behaviour',
    'DIR',
    "where settings of the host's kernel are read and written: /proc/sys, or where a container that may not write there has it",
    '/proc/sys',
  ),
  option(
    'gateway-mode',
    'behaviour',
    'MODE',
    'how the default network leaves the node of --ovs: shared, local or disabled',
    'shared',
  ),
  option(
    'gateway-interface',
    'behaviour',
    'NAME',
    'network card that becomes the uplink of the external bridge, with its addresses and routes; or that bridge. Default: it is there',
  ),
  option(
    'gateway-nexthop',
    'behaviour',
    'LIST',
    "next hops of the gateway, one per family; default: those of the host's default routes",
  ),
  option(
    'encap-ip',
    'behaviour',
    'LIST',
    'where tunnels to the node of --ovs end: addresses of it, or subnets in which it has one; default: its address that the Node object names first',
  ),
  option(
    'monitor-all',
    'behaviour',
    'BOOL',
    'ovn-controller follows all of the Southbound database, which is that of its node alone',
    'true',
  ),
  option(
    'inactivity-probe',
    'behaviour',
    'MILLISECONDS',
    'ovn-controller asks a Southbound server that has been silent for this long; 0: never',
    '100000',
  ),
  option(
    'ofctrl-wait-before-clear',
    'behaviour',
    'MILLISECONDS',
    'ovn-controller that starts again leaves the flows of before in place for this long, while it computes new ones',
    '8000',
  ),
  option(
    'enable-lflow-cache',
    'behaviour',
    'BOOL',
    'ovn-controller keeps what it made of logical flows',
    'true',
  ),
  option(
    'lflow-cache-limit',
    'behaviour',
    'COUNT',
    'logical flows that it keeps at most; 0: no limit',
    '0',
  ),
  option(
    'lflow-cache-limit-kb',
    'behaviour',
    'KIB',
    'memory that it keeps them in at most; 0: no limit',
    '0',
  ),
  option('gateway-vlanid', 'behaviour', 'NUMBER', 'VLAN of the gateway; 0: untagged', '0'),
  option('timeout', 'behaviour', 'SECONDS', 'limit of every wait of a command', '30'),
  option(
    'metrics-bind-address',
    'behaviour',
    'HOST:PORT',
    'where the daemon serves /metrics, /healthz and /readyz; :PORT for all addresses. Beyond loopback over TLS, and metrics for bearer tokens that may get /metrics',
    '127.0.0.1:9476',
  ),
  option(
    'metrics-certificate',
    'behaviour',
    'FILE',
    'certificate of that address, read again when it is replaced; default: one made at each start',
  ),
  option('metrics-private-key', 'behaviour', 'FILE', 'its private key'),
  option(
    'conversion-bind-address',
    'behaviour',
    'HOST:PORT',
    'where the cluster manager converts versions for the API server; empty: nowhere',
    '',
  ),
  option('log-level', 'behaviour', 'LEVEL', 'trace, debug, info, warn, error or silent', 'info'),
] as const;

export type OptionName = (typeof OPTIONS)[number]['name'];

/** Raw text of the settings that one source gave. */
export type RawOptions = Readonly<Partial<Record<OptionName, string>>>;

/** Name of the environment variable of a setting: `HEDDLE_CLUSTER_SUBNETS`. */
export const environmentName = (name: string): string =>
  `HEDDLE_${name.toUpperCase().replaceAll('-', '_')}`;
