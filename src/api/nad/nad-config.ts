/** Reads the CNI configuration of a NAD (reference/api.md §3.3): what network it names, or what is wrong with it. */
import {
  isRoutedLayer2,
  type ClusterAddressing,
  type EvpnVrf,
  type FamilyCidrs,
  type NetworkConfig,
  type NetworkTopology,
} from './network-config.ts';
import type { Result } from '../result.ts';
import { formatValue } from '../validation/field-errors.ts';
import { findTransitSubnets, formatOverlap, networkOverlap } from '../validation/overlap.ts';
import type { PlainObject } from '../plain-object.ts';
import { isPlainObject, own } from '../plain-object.ts';
import { isSafeNetworkName } from './network-name.ts';
import {
  notContained,
  parseAddressList,
  parseCidrList,
  parseFamilyCidrs,
  parseSubnets,
} from './subnet-lists.ts';
import { errorText } from '../error-text.ts';

export const CNI_TYPE = 'ovn-k8s-cni-overlay';
/** Type in the older form of NADs of plain secondary networks (reference/api.md §2). */
const OLD_CNI_TYPE = 'ovn-kubernetes';
const TOPOLOGIES: readonly string[] = ['layer3', 'layer2', 'localnet'];

export type NadConfig =
  /** A network of ours. */
  | {
      readonly kind: 'network';
      readonly config: NetworkConfig;
      readonly warnings: readonly string[];
    }
  /** A NAD that stands for the cluster default network. */
  | { readonly kind: 'default-network' }
  /** A NAD of another CNI plugin: ignored. */
  | { readonly kind: 'foreign' }
  | { readonly kind: 'invalid'; readonly error: string };

/** No CNI configuration of ours has more; the API server's limit for a whole object is 3 MiB. */
const LONGEST_CONFIG = 1024 * 1024;

class ConfigError extends Error {}

const refuse = (message: string): never => {
  throw new ConfigError(message);
};

const unwrap = <T>(outcome: Result<T>): T =>
  outcome.kind === 'value' ? outcome.value : refuse(outcome.error);

function text(config: PlainObject, key: string): string {
  const value = own(config, key);
  if (value === undefined || value === null) return '';
  return typeof value === 'string'
    ? value
    : refuse(`${key}: must be a string, is ${formatValue(value)}`);
}

function integer(config: PlainObject, key: string, most: number): number | undefined {
  const value = own(config, key);
  if (value === undefined || value === null) return undefined;
  return typeof value === 'number' && Number.isInteger(value) && value >= 0 && value <= most
    ? value
    : refuse(`${key}: must be a whole number from 0 to ${most}, is ${formatValue(value)}`);
}

function flag(config: PlainObject, key: string): boolean {
  const value = own(config, key);
  if (value === undefined || value === null) return false;
  if (value === 'true' || value === 'false') return value === 'true';
  return typeof value === 'boolean'
    ? value
    : refuse(`${key}: must be true or false, is ${formatValue(value)}`);
}

function parseJson(source: string): unknown {
  if (source.length > LONGEST_CONFIG) {
    return refuse(`error parsing configuration: longer than ${LONGEST_CONFIG} characters`);
  }
  try {
    return JSON.parse(source) as unknown;
  } catch (error) {
    const reason = errorText(error);
    return refuse(`error parsing configuration: not valid JSON: ${reason}`);
  }
}

/** Steps 1, 3 and 4: the plugin that counts, and whether others follow it. */
function pluginOf(config: PlainObject): { plugin: PlainObject; others: readonly unknown[] } {
  if (!Object.hasOwn(config, 'plugins')) return { plugin: config, others: [] };
  const plugins = own(config, 'plugins');
  const all: readonly unknown[] = Array.isArray(plugins) ? plugins : [];
  const [first, ...others] = all;
  if (!isPlainObject(first)) {
    return refuse(`error parsing configuration list "${text(config, 'name')}": no plugins found`);
  }
  if (text(config, 'type') !== '') {
    refuse('CNI config cannot have both a plugin list and a single config');
  }
  const plugin = { ...first, name: text(config, 'name'), cniVersion: text(config, 'cniVersion') };
  return { plugin, others };
}

/** Whether a configuration is in the older form (reference/api.md §2): `subnet` (singular) and no topology. */
export const isOldForm = (plugin: PlainObject): boolean =>
  own(plugin, 'topology') === undefined &&
  (own(plugin, 'subnet') !== undefined || own(plugin, 'type') === OLD_CNI_TYPE);

/** The older form as what it means: a secondary layer2 network, or localnet with external connectivity. */
function fromOldForm(plugin: PlainObject, others: readonly unknown[], nadKey: string): PlainObject {
  const onlyTuning = others.every(
    (other) => isPlainObject(other) && own(other, 'type') === 'tuning',
  );
  if (!onlyTuning) refuse('CNI plugin chaining is not supported');
  const ipam = own(plugin, 'ipam');
  const {
    subnet,
    hasExternalConnectivity: _external,
    ipam: _ipam,
    ...rest
  } = plugin as Record<string, unknown>;
  const external = flag(plugin, 'hasExternalConnectivity');
  return {
    ...rest,
    ...(isPlainObject(ipam) && text(ipam, 'type') !== 'static' ? { ipam } : {}),
    type: CNI_TYPE,
    // Without a name the network is the NAD's own: namespaces hold no dots, so this is unique.
    name: text(plugin, 'name') === '' ? nadKey.replace('/', '.') : text(plugin, 'name'),
    netAttachDefName:
      text(plugin, 'netAttachDefName') === '' ? nadKey : text(plugin, 'netAttachDefName'),
    topology: external ? 'localnet' : 'layer2',
    ...(external ? { physicalNetworkName: 'physnet' } : {}),
    ...(typeof subnet === 'string' && subnet !== '' ? { subnets: subnet } : {}),
  };
}

/** Older spellings of keys under the names that count now (reference/api.md §3.3). */
function withCurrentKeys(plugin: PlainObject): PlainObject {
  const current: Record<string, unknown> = { ...plugin };
  const rename = (old: string, key: string, value: unknown): void => {
    if (Object.hasOwn(plugin, old) && !Object.hasOwn(plugin, key)) current[key] = value;
    delete current[old];
  };
  rename('joinSubnets', 'joinSubnet', own(plugin, 'joinSubnets'));
  rename('persistentIPs', 'allowPersistentIPs', own(plugin, 'persistentIPs'));
  rename('primaryNetwork', 'role', flag(plugin, 'primaryNetwork') ? 'primary' : 'secondary');
  return current;
}

function vrf(value: unknown, key: string): EvpnVrf | undefined {
  if (value === undefined || value === null) return undefined;
  if (!isPlainObject(value)) return refuse(`evpn.${key}: must be a map`);
  const vid = integer(value, 'vid', 4094);
  const routeTarget = text(value, 'routeTarget');
  return {
    vni: integer(value, 'vni', 16777215) ?? refuse(`evpn.${key}.vni: is missing`),
    ...(routeTarget === '' ? {} : { routeTarget }),
    ...(vid === undefined ? {} : { vid }),
  };
}

function evpnOf(plugin: PlainObject): Pick<NetworkConfig, 'evpn'> {
  const evpn = own(plugin, 'evpn');
  if (evpn === undefined || evpn === null) return {};
  if (!isPlainObject(evpn)) return refuse('evpn: must be a map');
  const macVrf = vrf(own(evpn, 'macVRF'), 'macVRF');
  const ipVrf = vrf(own(evpn, 'ipVRF'), 'ipVRF');
  return {
    evpn: {
      vtep: text(evpn, 'vtep'),
      ...(macVrf === undefined ? {} : { macVrf }),
      ...(ipVrf === undefined ? {} : { ipVrf }),
    },
  };
}

/** Step 13. */
function transportOf(
  plugin: PlainObject,
): Pick<NetworkConfig, 'transport' | 'outboundSnat' | 'uplink'> {
  const transport = text(plugin, 'transport');
  if (transport !== '' && transport !== 'no-overlay' && transport !== 'evpn') {
    return refuse(`invalid transport "${transport}": must be "no-overlay" or "evpn", or left out`);
  }
  const snat = text(plugin, 'outboundSNAT');
  if (snat !== '' && transport !== 'no-overlay') {
    refuse('outboundSNAT is only valid when transport is "no-overlay"');
  }
  if (snat !== '' && snat !== 'enabled' && snat !== 'disabled') {
    return refuse(`invalid outboundSNAT "${snat}": must be "enabled" or "disabled"`);
  }
  const uplink = text(plugin, 'uplink');
  return {
    ...(transport === '' ? {} : { transport }),
    ...(snat === '' ? {} : { outboundSnat: snat }),
    ...(uplink === '' ? {} : { uplink }),
  };
}

/** Characters of a refused name that are repeated. */
const LONGEST_SHOWN = 100;

/** Steps 5 and 8–16, except for addresses. */
function checkIdentity(
  plugin: PlainObject,
  nadKey: string,
): { name: string; role: NetworkConfig['role'] } {
  const name = text(plugin, 'name');
  const nadName = text(plugin, 'netAttachDefName');
  const topology = text(plugin, 'topology');
  const role = text(plugin, 'role');
  if (nadName === '') refuse(`missing NADName in secondary network netconf ${name}`);
  if (['', 'default', 'ovn-kubernetes'].includes(name)) {
    refuse(`invalid name in in secondary network netconf (${name})`);
  }
  if (!isSafeNetworkName(name)) {
    const shown = name.length > LONGEST_SHOWN ? `${name.slice(0, LONGEST_SHOWN)}…` : name;
    refuse(
      `invalid name in in secondary network netconf (${shown}): it must begin with a letter or digit and hold only those and ".", "_" and "-", 253 at most`,
    );
  }
  if (nadName !== nadKey) {
    refuse(`net-attach-def name (${nadKey}) is inconsistent with config (${nadName})`);
  }
  if (flag(plugin, 'allowPersistentIPs') && topology === 'layer3') {
    refuse('layer3 topology does not allow persistent IPs');
  }
  if (topology === 'localnet' && role !== '' && role !== 'secondary') {
    refuse(
      `unexpected network field "role" ${role} for "localnet" topology, localnet topology does not allow network ` +
        'roles to be set since its always a secondary network',
    );
  }
  if (role !== '' && role !== 'primary' && role !== 'secondary') {
    refuse(`invalid network role value ${role}`);
  }
  const ipam = own(plugin, 'ipam');
  if (isPlainObject(ipam) && text(ipam, 'type') !== '') {
    refuse(
      `error parsing Network Attachment Definition ${nadKey}: IPAM key is not supported. ` +
        'Use OVN-K provided IPAM via the `subnets` attribute',
    );
  }
  return { name, role: role === 'primary' ? 'primary' : 'secondary' };
}

const isTopology = (topology: string): topology is NetworkTopology => TOPOLOGIES.includes(topology);

/** Steps 14–16 and 19. */
function checkTopology(plugin: PlainObject, role: NetworkConfig['role']): NetworkTopology {
  const topology = text(plugin, 'topology');
  if (topology === 'localnet' && text(plugin, 'joinSubnet') !== '') {
    refuse('localnet topology does not allow specifying join-subnet as services are not supported');
  }
  if (topology === 'layer2' && role === 'primary' && text(plugin, 'subnets') === '') {
    refuse('the subnet attribute must be defined for layer2 primary user defined networks');
  }
  for (const key of ['infrastructureSubnets', 'reservedSubnets', 'defaultGatewayIPs']) {
    if (topology !== 'layer2' && text(plugin, key) !== '') {
      refuse(`${key} is only supported for layer2 topology`);
    }
  }
  return isTopology(topology) ? topology : refuse(`topology ${topology} not supported`);
}

const list = (plugin: PlainObject, key: string): string[] => {
  const value = text(plugin, key);
  return value === '' ? [] : unwrap(parseCidrList(value));
};

const CONTAINED = [
  ['excludeSubnets', 'excluded'],
  ['reservedSubnets', 'reserved'],
  ['infrastructureSubnets', 'infrastructure'],
] as const;

function joinOf(plugin: PlainObject, settings: ClusterAddressing): FamilyCidrs {
  const join = text(plugin, 'joinSubnet');
  return join === ''
    ? settings.udnJoinSubnets
    : unwrap(parseFamilyCidrs(join, settings.udnJoinSubnets));
}

function addressing(
  plugin: PlainObject,
  topology: NetworkTopology,
  role: NetworkConfig['role'],
  settings: ClusterAddressing,
): Pick<
  NetworkConfig,
  | 'subnets'
  | 'excludeSubnets'
  | 'reservedSubnets'
  | 'infrastructureSubnets'
  | 'defaultGatewayIPs'
  | 'joinSubnets'
  | 'transitSubnets'
  | 'hasRouter'
> {
  const written = text(plugin, 'subnets');
  const subnets = written === '' ? [] : unwrap(parseSubnets(written, topology));
  const lists = {
    // Exclusions have no meaning where every node has a subnet of its own.
    excludeSubnets: topology === 'layer3' ? [] : list(plugin, 'excludeSubnets'),
    reservedSubnets: list(plugin, 'reservedSubnets'),
    infrastructureSubnets: list(plugin, 'infrastructureSubnets'),
  };
  for (const [key, name] of CONTAINED) {
    const outside = notContained(lists[key], subnets);
    if (outside !== undefined) {
      refuse(`the provided network subnets do not contain ${name} subnets ${outside}`);
    }
  }
  const gateways = text(plugin, 'defaultGatewayIPs');
  const transit = text(plugin, 'transitSubnet');
  const isRouted = hasRouter(plugin, topology, role) && subnets.length > 0;
  const hasTransit = topology === 'layer2' && (role === 'primary' || isRouted);
  return {
    subnets,
    ...lists,
    defaultGatewayIPs: gateways === '' ? [] : unwrap(parseAddressList(gateways)),
    joinSubnets: topology === 'localnet' ? {} : joinOf(plugin, settings),
    transitSubnets: hasTransit && transit !== '' ? unwrap(parseFamilyCidrs(transit)) : {},
    ...(isRouted ? { hasRouter: true } : {}),
  };
}

/** Of a secondary layer2 network; elsewhere it means nothing. */
const hasRouter = (
  plugin: PlainObject,
  topology: NetworkTopology,
  role: NetworkConfig['role'],
): boolean => topology === 'layer2' && role === 'secondary' && flag(plugin, 'hasRouter');

/** Step 20. */
function checkFamilies(config: NetworkConfig, settings: ClusterAddressing): void {
  if (config.role !== 'primary') return;
  const isV6 = ({ cidr }: { readonly cidr: string }): boolean => cidr.includes(':');
  for (const [version, v6] of [
    ['ipv4', false],
    ['ipv6', true],
  ] as const) {
    const used = config.subnets.some((subnet) => isV6(subnet) === v6);
    if (used && !settings.clusterSubnets.some((subnet) => isV6(subnet) === v6)) {
      refuse(
        `network ${config.name} is attempting to use ${version} subnets but the cluster does not support ${version}`,
      );
    }
  }
}

function read(plugin: PlainObject, nadKey: string, settings: ClusterAddressing): NadConfig {
  const { name, role } = checkIdentity(plugin, nadKey);
  const transport = transportOf(plugin);
  const topology = checkTopology(plugin, role);
  const mtu = integer(plugin, 'mtu', 65536);
  const vlan = integer(plugin, 'vlanID', 4094);
  const physicalNetworkName = text(plugin, 'physicalNetworkName');
  const ranges = addressing(plugin, topology, role, settings);
  const config: NetworkConfig = {
    name,
    topology,
    role,
    mtu: mtu === undefined || mtu === 0 ? settings.mtu : mtu,
    ...ranges,
    allowPersistentIPs: flag(plugin, 'allowPersistentIPs'),
    ...(topology === 'localnet' && physicalNetworkName !== '' ? { physicalNetworkName } : {}),
    ...(topology === 'localnet' && vlan !== undefined && vlan > 0 ? { vlan } : {}),
    ...transport,
    ...evpnOf(plugin),
  };
  const overlap = networkOverlap(config, settings);
  if (overlap !== undefined) {
    refuse(
      'invalid subnet configuration: pod or join subnet overlaps with already configured internal subnets: ' +
        formatOverlap(overlap),
    );
  }
  checkFamilies(config, settings);
  if (!isRoutedLayer2(config) || text(plugin, 'transitSubnet') !== '')
    return { kind: 'network', config, warnings: [] };
  return {
    kind: 'network',
    config: { ...config, transitSubnets: unwrap(findTransitSubnets(config, settings)) },
    warnings: role === 'primary' ? ['transitSubnet is not set; it is computed'] : [],
  };
}

/**
 * The network that a NAD's `spec.config` describes. `nadKey` is `<namespace>/<name>` of the NAD. Never throws; an
 * `error` is the text of the Warning event `InvalidConfig` after `Failed to parse network config: `.
 */
export function parseNetworkConfig(
  source: string,
  nadKey: string,
  settings: ClusterAddressing,
): NadConfig {
  try {
    const json = parseJson(source);
    if (!isPlainObject(json)) return refuse('error parsing configuration: must be a JSON object');
    const { plugin, others } = pluginOf(json);
    const type = text(plugin, 'type');
    const old = isOldForm(plugin);
    if (type !== CNI_TYPE && !(old && type === OLD_CNI_TYPE)) return { kind: 'foreign' };
    if (old) return read(fromOldForm(plugin, others, nadKey), nadKey, settings);
    if (others.length > 0) refuse('CNI plugin chaining is not supported');
    if (text(plugin, 'topology') === '') return { kind: 'default-network' };
    return read(withCurrentKeys(plugin), nadKey, settings);
  } catch (error) {
    if (error instanceof ConfigError) return { kind: 'invalid', error: error.message };
    throw error;
  }
}
