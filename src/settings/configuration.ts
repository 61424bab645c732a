/** Settings from flags, environment and file, checked once; a mistake names its source, the value and what would do. */
import { LAST_FIXED_NETWORK_ID } from '../allocators/ids.ts';
import { parseDocument } from 'yaml';
import { familyOf } from '../allocators/addresses.ts';
import { isPlainObject } from '../api/plain-object.ts';
import { nearestName } from '../api/validation/nearest-name.ts';
import { clusterOverlap, formatOverlap } from '../api/validation/overlap.ts';
import type { LabelSelector } from '../api/types.ts';
import type { ConnectRange } from '../allocators/connect-subnets.ts';
import { conflictWithCluster } from '../cluster/connect/connect-selection.ts';
import {
  DEFAULT_CONNECTS_PER_NAMESPACE,
  DEFAULT_LIMITS,
  TENANT_CONNECT_TYPES,
  type ClusterManagerSettings,
  type TenantConnectSettings,
} from '../cluster/settings.ts';
import type { ClusterSettings } from '../model/model.ts';
import { reachesDnsByHost } from '../model/rules/dns-forwarding.ts';
import { DEFAULT_SETTINGS } from '../model/settings.ts';
import type { ChassisSettings } from '../node/chassis/settings.ts';
import type { HostSettings } from '../node/networks/host-network.ts';
import type { GatewaySettings } from '../node/announcer/node-facts.ts';
import { HIGHEST_ROUTING_TABLE, LOWEST_ROUTING_TABLE, ROUTING_TABLES } from '../node/numbers.ts';
import { LEASE_TIMING, type LeaseTiming } from '../store/kubernetes/kubernetes-lease.ts';
import { ConfigurationError } from '../process/configuration-error.ts';
import { defaultSocket } from '../control/control-protocol.ts';
import type { TlsFiles } from '../databases/open-database.ts';
import type { MetricsServing } from '../process/health.ts';
import type { TraceSettings } from '../traces/open-traces.ts';
import { environmentName, OPTIONS, type OptionName, type RawOptions } from './options.ts';
import {
  dnsServers,
  domainName,
  absolutePath,
  addressesOrSubnets,
  boolean,
  cidr,
  clusterSubnets,
  connectRanges,
  connectTypes,
  integer,
  labelSelector,
  list,
  namespaceName,
  namespaceNames,
  nextHops,
  oneOf,
  portRange,
  ratio,
  secondsOrNever,
  serviceList,
  traceEndpoint,
  tunnelSources,
} from './setting-values.ts';
import { smallSubnet } from './subnet-sizes.ts';
import { errorText } from '../api/error-text.ts';

/** Settings that the cluster manager alone has. */
type ManagerSettings = Pick<
  ClusterManagerSettings,
  'limits' | 'noHostSubnetNodes' | 'tenantConnects'
>;

export interface Configuration {
  readonly manifests?: string;
  readonly state?: string;
  readonly kubeconfig?: string;
  readonly context?: string;
  readonly node?: string;
  /** Nodes that the file has settings of. */
  readonly knownNodes: readonly string[];
  /** The control socket of the daemon of `node`. */
  readonly socket?: string;
  /** Where container runtimes are answered. */
  readonly cniSocket?: string;
  /** Where they find the plugin's configuration; without it somebody else puts it there. */
  readonly cniConfDir?: string;
  readonly nb?: string;
  readonly sb?: string;
  /** The node's own Open_vSwitch database; without it the host is left alone. */
  readonly ovs?: string;
  readonly host: HostSettings;
  /** Where settings of the kernel are, of the host and of pods. */
  readonly sysctlFolder: string;
  /** What ovn-controller of the node is set to, when the host is kept. */
  readonly chassis: ChassisSettings;
  /** What the node says of its gateway, when the host is kept. */
  /** Network card that becomes the uplink of the external bridge, or that bridge; absent when others set it up. */
  readonly gatewayInterface?: string;
  readonly gateway: GatewaySettings;
  readonly tls: TlsFiles;
  readonly settings: ClusterSettings;
  readonly manager: ManagerSettings;
  /** Whether networks that nothing on a node uses have rows there. */
  readonly render: 'used' | 'everywhere';
  /** Milliseconds that a network stays rendered after its last use. */
  readonly renderGracePeriod: number;
  /** Remove unmarked rows that an ovn-kubernetes left and no object asks for. */
  readonly takeOver: boolean;
  /** The databases of another node may be made the zone of this one. */
  readonly takeZone: boolean;
  /** Milliseconds; limit of every wait of a command. */
  readonly timeout: number;
  /** Milliseconds between two proofs that a node's networks are apart; 0: none are made. */
  readonly verifyInterval: number;
  /** Milliseconds between two looks at what a node drops; 0: there are none. */
  readonly dropsInterval: number;
  readonly metrics: MetricsServing;
  /** `HOST:PORT` of the conversion webhook; empty: none. */
  readonly conversionBindAddress: string;
  readonly leaseTiming: LeaseTiming;
  /** Absent where no spans are sent. */
  readonly traces?: TraceSettings;
  readonly logLevel: string;
  /** What was given, as text. */
  readonly given: GivenOptions;
}

/** Text of the options that a flag, the environment or the file gave. */
export type GivenOptions = Readonly<Partial<Record<OptionName, string>>>;

/** Name and text of a configuration file, already read. */
interface ConfigurationFile {
  readonly name: string;
  readonly text: string;
}

export interface ConfigurationSources {
  readonly flags: RawOptions;
  readonly environment: Readonly<Record<string, string | undefined>>;
  readonly file?: ConfigurationFile;
  /** Whose processes these are; root's when absent. */
  readonly uid?: number;
  /** Content of the kernel's `ip_local_port_range`, if it could be read. */
  readonly kernelPortRange?: string;
}

interface Given {
  readonly text: string;
  /** `--mtu`, `HEDDLE_MTU`, `heddle.yaml: mtu`. */
  readonly source: string;
}

/** What a device, and so a bridge of it, can be called; nothing that could be read as an option. */
const DEVICE_NAME = /^[\w][\w.@-]{0,14}$/;
const LOG_LEVELS = ['trace', 'debug', 'info', 'warn', 'error', 'silent'];
/** Network ids end there (reference/api.md §6.1). */
const MAX_NETWORKS = DEFAULT_LIMITS.networks;
/** RFC 8200, section 5. */
const LEAST_IPV6_MTU = 1280;
const DEFAULT_TIMEOUT_SECONDS = 30;
/** Where the kernel has them (proc(5)). */
const SYSCTLS = '/proc/sys';
const DEFAULT_METRICS_ADDRESS = '127.0.0.1:9476';

/** A flag beats the environment, which beats the file, which beats the default. Throws ConfigurationError. */
export function resolveConfiguration(sources: ConfigurationSources): Configuration {
  const file = sources.file === undefined ? undefined : readFile(sources.file);
  const given = collect(sources, file);
  const read = <T>(name: OptionName, parse: (value: string) => T, fallback: T): T => {
    const found = given.get(name);
    if (found === undefined) return fallback;
    try {
      return parse(found.text);
    } catch (error) {
      throw new ConfigurationError(found.source, errorText(error));
    }
  };
  const optional = <K extends string>(name: OptionName, key: K): { readonly [P in K]?: string } => {
    const value = given.get(name)?.text;
    return value === undefined || value === '' ? {} : ({ [key]: value } as { [P in K]?: string });
  };
  const settings = clusterSettings(read, sources.kernelPortRange);
  checkOverlap(settings);
  const hasIpv6 = settings.clusterSubnets.some((subnet) => familyOf(subnet.cidr) === 'v6');
  if (hasIpv6 && settings.mtu < LEAST_IPV6_MTU)
    throw new ConfigurationError(
      given.get('mtu')?.source ?? '--mtu',
      `${settings.mtu} is less than ${LEAST_IPV6_MTU}, which IPv6 needs: raise it, or take the IPv6 ranges out of --cluster-subnets`,
    );
  if (settings.networkNames && !reachesDnsByHost(settings))
    throw new ConfigurationError(
      given.get('network-names')?.source ?? '--network-names',
      'needs the way from primary networks to DNS: --dns-servers has to name a service, which --udn-allowed-default-services lists, and --host-vrfs has to be true',
    );
  const maxNetworks = read('max-networks', integer(0, MAX_NETWORKS), undefined);
  const small = smallSubnet(settings, maxNetworks);
  if (small !== undefined)
    throw new ConfigurationError(
      given.get(small.option)?.source ?? `--${small.option}`,
      small.problem,
    );
  return {
    ...optional('manifests', 'manifests'),
    ...optional('state', 'state'),
    ...optional('kubeconfig', 'kubeconfig'),
    ...optional('context', 'context'),
    ...optional('node', 'node'),
    knownNodes: [...(file?.nodes.keys() ?? [])],
    ...controlSocket(given, sources),
    ...cniSocket(given),
    ...optional('nb', 'nb'),
    ...optional('sb', 'sb'),
    ...optional('ovs', 'ovs'),
    host: {
      routingTables: read(
        'routing-table-id-start',
        integer(LOWEST_ROUTING_TABLE, HIGHEST_ROUTING_TABLE - MAX_NETWORKS),
        ROUTING_TABLES,
      ),
      hasVrfs: read('host-vrfs', boolean, true),
    },
    sysctlFolder: read('sysctl-folder', absolutePath, SYSCTLS),
    chassis: chassisSettings(read, given),
    ...gatewayInterface(given),
    gateway: {
      mode: read('gateway-mode', oneOf(['shared', 'local', 'disabled'] as const), 'shared'),
      nextHops: read('gateway-nexthop', nextHops, []),
      vlan: read('gateway-vlanid', integer(0, 4094), 0),
    },
    tls: {
      ...optional('private-key', 'privateKey'),
      ...optional('certificate', 'certificate'),
      ...optional('ca-cert', 'caCert'),
    },
    settings,
    manager: {
      limits: {
        networks: maxNetworks ?? DEFAULT_LIMITS.networks,
        networksPerNamespace: read(
          'max-networks-per-namespace',
          integer(0, MAX_NETWORKS),
          DEFAULT_LIMITS.networksPerNamespace,
        ),
        preallocated: read(
          'preallocated-networks',
          integer(0, LAST_FIXED_NETWORK_ID),
          DEFAULT_LIMITS.preallocated,
        ),
      },
      tenantConnects: tenantConnectSettings(read, settings),
      noHostSubnetNodes: read<LabelSelector | undefined>(
        'no-hostsubnet-nodes',
        labelSelector,
        undefined,
      ),
    },
    render: read('render', oneOf(['used', 'everywhere'] as const), 'used'),
    renderGracePeriod: read('render-grace-period', integer(0, 86_400), 60) * 1000,
    takeOver: read('take-over', boolean, false),
    takeZone: read('take-zone', boolean, false),
    timeout: read('timeout', integer(1, 86_400), DEFAULT_TIMEOUT_SECONDS) * 1000,
    verifyInterval: read('verify-interval', integer(0, 86_400), 0) * 1000,
    dropsInterval: read('drops-interval', integer(0, 86_400), 0) * 1000,
    metrics: {
      address: given.get('metrics-bind-address')?.text ?? DEFAULT_METRICS_ADDRESS,
      ...metricsCertificate(given),
    },
    conversionBindAddress: read('conversion-bind-address', (text) => text, ''),
    leaseTiming: leaseTiming(read),
    ...traceSettings(read),
    logLevel: read('log-level', oneOf(LOG_LEVELS), 'info'),
    given: Object.fromEntries([...given].map(([name, { text }]) => [name, text])),
  };
}

function tenantConnectSettings(
  read: Read,
  settings: ClusterSettings,
): TenantConnectSettings | undefined {
  const parsePool = (text: string): readonly ConnectRange[] => {
    const ranges = connectRanges(text);
    const conflict = conflictWithCluster(ranges, settings);
    if (conflict !== undefined) throw new Error(`${conflict.message}: write another range`);
    return ranges;
  };
  const pool = read('tenant-connect-subnets', parsePool, []);
  const rest = {
    namespaces: read<LabelSelector | undefined>(
      'tenant-connect-namespaces',
      labelSelector,
      undefined,
    ),
    types: read('tenant-connect-types', connectTypes, TENANT_CONNECT_TYPES),
    perNamespace: read(
      'max-connects-per-namespace',
      integer(0, MAX_NETWORKS),
      DEFAULT_CONNECTS_PER_NAMESPACE,
    ),
  };
  return pool.length === 0 ? undefined : { pool, ...rest };
}

/** Milliseconds, as ovn-controller takes them. */
const LONGEST_WAIT = 3_600_000;
/** As many logical flows, or KiB, as it can count. */
const LARGEST_LIMIT = 4_294_967_295;

function chassisSettings(read: Read, given: ReadonlyMap<OptionName, Given>): ChassisSettings {
  return {
    encapIps: read('encap-ip', addressesOrSubnets, []),
    southbound: given.get('sb')?.text || undefined,
    monitorAll: read('monitor-all', boolean, true),
    inactivityProbe: read('inactivity-probe', integer(0, LONGEST_WAIT), 100_000),
    waitBeforeClear: read('ofctrl-wait-before-clear', integer(0, LONGEST_WAIT), 8000),
    lflowCache: {
      isEnabled: read('enable-lflow-cache', boolean, true),
      limit: read('lflow-cache-limit', integer(0, LARGEST_LIMIT), 0),
      limitKb: read('lflow-cache-limit-kb', integer(0, LARGEST_LIMIT), 0),
    },
    given: new Set(given.keys()),
  };
}

/** Daemons of root listen in /run, those of a user in the user's runtime folder. Without a node there is no default. */
function controlSocket(
  given: ReadonlyMap<OptionName, Given>,
  { uid = 0, environment }: ConfigurationSources,
): Pick<Configuration, 'socket'> {
  const named = given.get('socket')?.text ?? '';
  if (named === 'none') return {};
  if (named !== '') return { socket: named };
  const node = given.get('node')?.text ?? '';
  const folder = uid === 0 ? '/run' : environment['XDG_RUNTIME_DIR'];
  return node === '' || !folder ? {} : { socket: defaultSocket(folder, node) };
}

/** Spans are sent where there is an endpoint for them. */
function traceSettings(read: Read): Pick<Configuration, 'traces'> {
  const endpoint = read('traces-endpoint', traceEndpoint, undefined);
  const part = read('traces-ratio', ratio, 1);
  return endpoint === undefined ? {} : { traces: { endpoint, ratio: part } };
}

/** Throws ConfigurationError. */
function metricsCertificate(
  given: ReadonlyMap<OptionName, Given>,
): Pick<MetricsServing, 'certificate' | 'privateKey'> {
  const [certificate, privateKey] = (['metrics-certificate', 'metrics-private-key'] as const).map(
    (name) => ({ name, text: given.get(name)?.text ?? '' }),
  );
  if (certificate?.text === '' && privateKey?.text === '') return {};
  for (const { name, text } of [certificate, privateKey].filter((one) => one !== undefined))
    if (text === '')
      throw new ConfigurationError(
        `--${name}`,
        'is required: a certificate and its key go together',
      );
  return { certificate: certificate?.text ?? '', privateKey: privateKey?.text ?? '' };
}

/** Throws ConfigurationError. */
function cniSocket(
  given: ReadonlyMap<OptionName, Given>,
): Pick<Configuration, 'cniSocket' | 'cniConfDir'> {
  const found = given.get('cni-socket');
  const folder = given.get('cni-conf-dir');
  const confDir = folder?.text ?? '';
  if (found === undefined || found.text === '') {
    if (folder !== undefined && confDir !== '')
      throw new ConfigurationError(
        folder.source,
        'needs --cni-socket: nobody would answer the plugin',
      );
    return {};
  }
  if ((given.get('ovs')?.text ?? '') === '')
    throw new ConfigurationError(
      found.source,
      "needs --ovs: a pod's interfaces are ports of the node's own Open vSwitch",
    );
  return { cniSocket: found.text, ...(confDir === '' ? {} : { cniConfDir: confDir }) };
}

/** Throws ConfigurationError. */
function gatewayInterface(
  given: ReadonlyMap<OptionName, Given>,
): Pick<Configuration, 'gatewayInterface'> {
  const found = given.get('gateway-interface');
  if (found === undefined || found.text === '') return {};
  if (!DEVICE_NAME.test(found.text))
    throw new ConfigurationError(
      found.source,
      `${JSON.stringify(found.text)} is not the name of a device: at most 15 letters, digits, "_", ".", "@" and "-"`,
    );
  if (given.get('gateway-mode')?.text === 'disabled')
    throw new ConfigurationError(
      found.source,
      'has no use with --gateway-mode disabled; leave one of them out',
    );
  return { gatewayInterface: found.text };
}

type Read = <T>(name: OptionName, parse: (value: string) => T, fallback: T) => T;

/** Which setting gives a range of the cluster, by the name that `clusterOverlap` has for it. */
const RANGE_SETTINGS: Readonly<Record<string, string>> = {
  'cluster subnet': '--cluster-subnets',
  'service subnet': '--k8s-service-cidrs',
  'built-in join subnet': '--gateway-v4-join-subnet or --gateway-v6-join-subnet',
  'masquerade subnet': '--gateway-v4-masquerade-subnet or --gateway-v6-masquerade-subnet',
  'transit switch subnet':
    '--cluster-manager-v4-transit-subnet or --cluster-manager-v6-transit-subnet',
};

/** Ranges of the cluster that overlap would send packets astray in every network. */
function checkOverlap(settings: ClusterSettings): void {
  const overlap = clusterOverlap(settings);
  if (overlap === undefined) return;
  const [a, b] = [overlap.a, overlap.b].map(({ type }) => RANGE_SETTINGS[type] ?? type);
  const change = a === b ? 'write ranges that are apart' : `change it, or ${b}`;
  throw new ConfigurationError(a ?? '', `${formatOverlap(overlap)}: ${change}`);
}

/** Each must be shorter than the one before it: else two could lead, or a leader would stop between two renewals. */
function leaseTiming(read: Read): LeaseTiming {
  const seconds = (name: OptionName, fallback: number): number =>
    read(name, integer(1, 3600), fallback / 1000) * 1000;
  const lease = seconds('ha-election-lease-duration', LEASE_TIMING.lease);
  const renew = seconds('ha-election-renew-deadline', LEASE_TIMING.renew);
  const retry = seconds('ha-election-retry-period', LEASE_TIMING.retry);
  if (renew >= lease)
    throw new ConfigurationError(
      '--ha-election-renew-deadline',
      `${renew / 1000} s is not less than --ha-election-lease-duration, ${lease / 1000} s`,
    );
  if (retry >= renew)
    throw new ConfigurationError(
      '--ha-election-retry-period',
      `${retry / 1000} s is not less than --ha-election-renew-deadline, ${renew / 1000} s`,
    );
  return { lease, renew, retry };
}

function clusterSettings(read: Read, kernelPortRange = ''): ClusterSettings {
  const defaults = DEFAULT_SETTINGS;
  const perFamily = (
    v4: OptionName,
    v6: OptionName,
    fallback: { readonly v4?: string; readonly v6?: string },
  ): { v4: string; v6: string } => ({
    v4: read(v4, cidr('v4'), fallback.v4 ?? ''),
    v6: read(v6, cidr('v6'), fallback.v6 ?? ''),
  });
  return {
    clusterSubnets: read('cluster-subnets', clusterSubnets, defaults.clusterSubnets),
    serviceSubnets: read(
      'k8s-service-cidrs',
      (text): readonly string[] => list(text).map(cidr()),
      defaults.serviceSubnets,
    ),
    joinSubnets: perFamily(
      'gateway-v4-join-subnet',
      'gateway-v6-join-subnet',
      defaults.joinSubnets,
    ),
    udnJoinSubnets: defaults.udnJoinSubnets,
    transitSubnets: perFamily(
      'cluster-manager-v4-transit-subnet',
      'cluster-manager-v6-transit-subnet',
      defaults.transitSubnets,
    ),
    masqueradeSubnets: perFamily(
      'gateway-v4-masquerade-subnet',
      'gateway-v6-masquerade-subnet',
      defaults.masqueradeSubnets,
    ),
    mtu: read('mtu', integer(576, 65_536), defaults.mtu),
    features: {
      egressIp: read('enable-egress-ip', boolean, defaults.features.egressIp),
      egressFirewall: read('enable-egress-firewall', boolean, defaults.features.egressFirewall),
      egressService: read('enable-egress-service', boolean, defaults.features.egressService),
      externalRoutes: read(
        'enable-multi-external-gateway',
        boolean,
        defaults.features.externalRoutes,
      ),
      multicast: read('enable-multicast', boolean, defaults.features.multicast),
    },
    egressHealth: {
      timeout:
        read(
          'egressip-reachability-total-timeout',
          secondsOrNever(0.5, 3600),
          defaults.egressHealth.timeout / 1000,
        ) * 1000,
      port: read('egressip-node-healthcheck-port', integer(0, 65_535), defaults.egressHealth.port),
      rebalanceDelay:
        read(
          'egressip-rebalance-delay',
          integer(0, 86_400),
          defaults.egressHealth.rebalanceDelay / 1000,
        ) * 1000,
    },
    policies: {
      passesIcmp: read('allow-icmp-network-policy', boolean, defaults.policies.passesIcmp),
      allowsStateless: read('enable-stateless-netpol', boolean, defaults.policies.allowsStateless),
      mostFlows: read('max-flows-per-policy', integer(1, 1_000_000), defaults.policies.mostFlows),
      mostFirewallFlows: read(
        'max-flows-per-firewall',
        integer(1, 10_000_000),
        defaults.policies.mostFirewallFlows,
      ),
      mostQosFlows: read(
        'max-flows-per-qos',
        integer(1, 10_000_000),
        defaults.policies.mostQosFlows,
      ),
    },
    podConnections: read('max-pod-connections', integer(0, 4_294_967_295), defaults.podConnections),
    ephemeralPortRange: read(
      'ephemeral-port-range',
      portRange,
      kernelPortRange.trim().replace(/\s+/, '-'),
    ),
    aclLoggingRateLimit: read(
      'acl-logging-rate-limit',
      integer(1, 1_000_000),
      defaults.aclLoggingRateLimit,
    ),
    allowedDefaultServices: read(
      'udn-allowed-default-services',
      serviceList,
      defaults.allowedDefaultServices,
    ),
    dnsServers: read('dns-servers', dnsServers, defaults.dnsServers),
    forwardsDns: read('dns-forwarder', boolean, defaults.forwardsDns),
    networkNames: read('network-names', boolean, defaults.networkNames),
    secondaryGateways: read('secondary-gateways', boolean, defaults.secondaryGateways),
    defaultAccess: read('default-network-access', namespaceNames, defaults.defaultAccess),
    clusterDomain: read('cluster-domain', domainName, defaults.clusterDomain),
    hasVrfs: read('host-vrfs', boolean, defaults.hasVrfs),
    serviceExternalRanges: read(
      'service-external-ranges',
      (text): readonly string[] => list(text).map(cidr()),
      defaults.serviceExternalRanges,
    ),
    tunnelSources: read('tunnel-sources', tunnelSources, defaults.tunnelSources),
    serviceLimits: {
      entries: read('max-service-entries', integer(1, 1_000_000), defaults.serviceLimits.entries),
      targets: read('max-service-targets', integer(1, 10_000_000), defaults.serviceLimits.targets),
      slices: read('max-service-slices', integer(1, 1_000_000), defaults.serviceLimits.slices),
    },
    configNamespace: read('ovn-config-namespace', namespaceName, defaults.configNamespace),
  };
}

type Values = ReadonlyMap<string, string>;

interface FileContent {
  readonly values: Values;
  /** What holds for one node, by its name: `nodes: {n1: {nb: unix:/n1.sock}}`. */
  readonly nodes: ReadonlyMap<string, Values>;
}

function collect(
  { flags, environment, file }: ConfigurationSources,
  content: FileContent | undefined,
): Map<OptionName, Given> {
  const given = new Map<OptionName, Given>();
  const node =
    flags.node ??
    (environment[environmentName('node')] || undefined) ??
    content?.values.get('node');
  const ofNode = node === undefined ? undefined : content?.nodes.get(node);
  for (const { name } of OPTIONS) {
    const variable = environmentName(name);
    const candidates: [string | undefined, string][] = [
      [flags[name], `--${name}`],
      [environment[variable] || undefined, variable],
      [ofNode?.get(name), `${file?.name ?? ''}: nodes.${node ?? ''}.${name}`],
      [content?.values.get(name), `${file?.name ?? ''}: ${name}`],
    ];
    const found = candidates.find(([text]) => text !== undefined);
    if (found?.[0] !== undefined) given.set(name, { text: found[0], source: found[1] });
  }
  return given;
}

/** Key of the file under which each node has settings of its own. */
const NODES = 'nodes';

/** What a node may have otherwise than the others. */
const OF_NODES: ReadonlySet<string> = new Set(
  OPTIONS.filter(({ name, group }) => name !== 'node' && group !== 'cluster').map(
    ({ name }) => name,
  ),
);

function readFile(file: ConfigurationFile): FileContent {
  const document = parseDocument(file.text);
  const [error] = document.errors;
  // Further lines repeat the file.
  const [why = ''] = error?.message.split('\n', 1) ?? [];
  if (error !== undefined)
    throw new ConfigurationError(file.name, `not valid YAML: ${why.replace(/:$/, '')}`);
  const content: unknown = document.toJS({ maxAliasCount: 0 });
  if (content === null || content === undefined) return { values: new Map(), nodes: new Map() };
  if (!isPlainObject(content))
    throw new ConfigurationError(file.name, 'must be a YAML mapping of setting to value');
  const { [NODES]: nodes = {}, ...rest } = content;
  const where = `${file.name}: ${NODES}`;
  if (!isPlainObject(nodes))
    throw new ConfigurationError(where, 'must be a mapping of node to its settings');
  const values = valuesOf(
    rest,
    file.name,
    OPTIONS.map(({ name }) => name),
  );
  return {
    values,
    nodes: new Map(
      Object.entries(nodes).map(([node, settings]) => {
        if (!isPlainObject(settings))
          throw new ConfigurationError(`${where}.${node}`, 'must be a mapping of setting to value');
        return [node, valuesOf(settings, `${where}.${node}`, OF_NODES)];
      }),
    ),
  };
}

function valuesOf(
  content: Readonly<Record<string, unknown>>,
  place: string,
  known: Iterable<string>,
): Values {
  const names = [...known];
  const values = new Map<string, string>();
  for (const [key, value] of Object.entries(content)) {
    const source = `${place}${place.includes(': ') ? '.' : ': '}${key}`;
    if (!names.includes(key)) throw new ConfigurationError(source, unknownSetting(key, names));
    if (Array.isArray(value)) values.set(key, value.map(String).join(','));
    else if (['string', 'number', 'boolean'].includes(typeof value)) values.set(key, String(value));
    else throw new ConfigurationError(source, 'must be a text, a number, true, false or a list');
  }
  return values;
}

function unknownSetting(key: string, names: readonly string[]): string {
  if (OPTIONS.some(({ name }) => name === key))
    return 'is the same on every node: write it beside "nodes"';
  const nearest = nearestName(key, names);
  return nearest === undefined
    ? `no such setting; known are ${names.join(', ')}`
    : `no such setting; did you mean "${nearest}"?`;
}
