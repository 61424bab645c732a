/** NADs of our networks: made from the objects that ask for them, and read back (reference/api.md §3). */
import { canonicalJson } from '../canonical-json.ts';
import type { NadConfig } from './nad-config.ts';
import { CNI_TYPE, parseNetworkConfig } from './nad-config.ts';
import { networkAttachmentDefinitions } from '../kinds.ts';
import type { ClusterAddressing, NetworkConfig } from './network-config.ts';
import { type Result, fail, succeed } from '../result.ts';
import { familyCidrs } from './network-config.ts';
import { formatValue } from '../validation/field-errors.ts';
import { clipped } from '../visible-text.ts';
import { nameRefusal } from './network-name.ts';
import type { NetworkObject, NetworkSpec } from './network-spec.ts';
import { networkSpecOf } from './network-spec.ts';
import { objectKey } from '../objects.ts';
import { externalOverlap, findTransitSubnets } from '../validation/overlap.ts';
import { parseFamilyCidrs, parseSubnets } from './subnet-lists.ts';
import type { NetworkAttachmentDefinition, Vrf } from '../types.ts';

/** On UDNs, CUDNs and the NADs made from them. */
export const NETWORK_FINALIZER = 'k8s.ovn.org/user-defined-network-protection';
/** On NADs made from UDNs and CUDNs. */
const NETWORK_LABEL = 'k8s.ovn.org/user-defined-network';
const OUR_ANNOTATIONS = 'k8s.ovn.org';
const CNI_VERSION = '1.1.0';
/** A localnet network has no tunnel header to make room for. */
const TUNNEL_OVERHEAD = 100;

const commaList = (key: string, values: readonly string[]): Record<string, string> =>
  values.length === 0 ? {} : { [key]: values.join(',') };

const vrfKeys = ({ vni, routeTarget }: Vrf): object => ({
  vni,
  ...(routeTarget === undefined ? {} : { routeTarget }),
});

/** IPAM rules of the render step; the CRD has them too, objects stored before may break them. */
function ipamProblem(spec: NetworkSpec): string | undefined {
  if (spec.topology === 'layer3') return undefined;
  if (spec.ipamLifecycle === 'Persistent' && spec.ipamMode === 'Disabled') {
    return 'lifecycle Persistent is only supported when ipam.mode is Enabled';
  }
  if (spec.ipamMode === 'Enabled' && spec.subnets.length === 0) {
    return 'subnets is required with ipam.mode is Enabled or unset';
  }
  if (spec.ipamMode === 'Disabled' && spec.subnets.length > 0) {
    return 'subnets must be unset when ipam.mode is Disabled';
  }
  return undefined;
}

/** Features of a render that a cluster may not have. */
export interface RenderFeatures {
  readonly evpn?: boolean;
  readonly persistentIPs?: boolean;
  /** A secondary layer2 network has room for a router. */
  readonly hasRouter?: boolean;
}

function transitOf(spec: NetworkSpec, settings: ClusterAddressing): Result<readonly string[]> {
  if (spec.topology !== 'layer2' || spec.role !== 'primary') return succeed([]);
  const subnets = parseSubnets(spec.subnets.join(','), spec.topology);
  if (subnets.kind === 'invalid') return subnets;
  const join =
    spec.joinSubnets.length === 0
      ? succeed(settings.udnJoinSubnets)
      : parseFamilyCidrs(spec.joinSubnets.join(','), settings.udnJoinSubnets);
  if (join.kind === 'invalid') return join;
  const found = findTransitSubnets(
    {
      topology: spec.topology,
      role: spec.role,
      subnets: subnets.value,
      excludeSubnets: spec.excludeSubnets,
      joinSubnets: join.value,
    },
    settings,
  );
  return found.kind === 'value' ? succeed(familyCidrs(found.value)) : found;
}

function configKeys(
  spec: NetworkSpec,
  nadKey: string,
  transit: readonly string[],
  settings: ClusterAddressing,
): object {
  const join =
    spec.joinSubnets.length > 0 ? spec.joinSubnets : familyCidrs(settings.udnJoinSubnets);
  const mtu =
    spec.mtu ?? (spec.topology === 'localnet' ? settings.mtu + TUNNEL_OVERHEAD : undefined);
  return {
    cniVersion: CNI_VERSION,
    type: CNI_TYPE,
    name: spec.network,
    netAttachDefName: nadKey,
    topology: spec.topology,
    role: spec.role,
    ...(mtu === undefined ? {} : { mtu }),
    ...commaList('subnets', spec.subnets),
    ...commaList('joinSubnet', spec.role === 'primary' ? join : []),
    ...commaList('transitSubnet', transit),
    ...commaList('excludeSubnets', spec.excludeSubnets),
    ...commaList('reservedSubnets', spec.reservedSubnets),
    ...commaList('infrastructureSubnets', spec.infrastructureSubnets),
    ...commaList('defaultGatewayIPs', spec.defaultGatewayIPs),
    ...(spec.ipamLifecycle === 'Persistent' ? { allowPersistentIPs: true } : {}),
    ...(spec.physicalNetworkName === undefined
      ? {}
      : { physicalNetworkName: spec.physicalNetworkName }),
    ...(spec.vlan === undefined ? {} : { vlanID: spec.vlan }),
    ...(spec.transport === undefined ? {} : { transport: spec.transport }),
    ...(spec.outboundSnat === undefined ? {} : { outboundSNAT: spec.outboundSnat }),
    ...(spec.evpn === undefined
      ? {}
      : {
          evpn: {
            vtep: spec.evpn.vtep,
            ...(spec.evpn.macVrf === undefined ? {} : { macVRF: vrfKeys(spec.evpn.macVrf) }),
            ...(spec.evpn.ipVrf === undefined ? {} : { ipVRF: vrfKeys(spec.evpn.ipVrf) }),
          },
        }),
    ...(spec.uplink === undefined ? {} : { uplink: spec.uplink }),
  };
}

function renderConfig(
  object: NetworkObject,
  namespace: string,
  settings: ClusterAddressing,
  features: RenderFeatures,
): Result<{ readonly text: string; readonly config: NetworkConfig }> {
  if (namespace === '') return fail('namespace should not be empty');
  const outcome = networkSpecOf(object);
  if (outcome.kind === 'invalid') return outcome;
  const spec = outcome.value;
  const ipam = ipamProblem(spec);
  if (ipam !== undefined) return fail(ipam);
  const transit = transitOf(spec, settings);
  if (transit.kind === 'invalid') return transit;
  if (spec.transport === 'evpn' && features.evpn !== true) {
    return fail('EVPN transport requested but EVPN feature is not enabled');
  }
  if (spec.ipamLifecycle === 'Persistent' && features.persistentIPs === false) {
    return fail('allowPersistentIPs is set but persistentIPs is Disabled');
  }
  const nadKey = objectKey({ namespace, name: object.metadata.name });
  const isRouted =
    features.hasRouter === true &&
    spec.topology === 'layer2' &&
    spec.role === 'secondary' &&
    spec.subnets.length > 0;
  const config = canonicalJson({
    ...configKeys(spec, nadKey, transit.value, settings),
    ...(isRouted ? { hasRouter: true } : {}),
  });
  const parsed = parseNetworkConfig(config, nadKey, settings);
  if (parsed.kind === 'invalid') return fail(parsed.error);
  if (parsed.kind !== 'network') return fail('it would be taken for one of another plugin');
  const isExternal = object.kind === 'OVNSecondaryNetwork' && spec.topology === 'localnet';
  const clash = isExternal ? externalOverlap(parsed.config.subnets, settings) : undefined;
  return clash === undefined ? succeed({ text: config, config: parsed.config }) : fail(clash);
}

/**
 * By these kubectl, Helm, Argo CD, Flux, kapp and others know what they applied. A NAD was applied by none of them: one that carried them
 * would be taken for something that is theirs to remove.
 */
const TRACKING =
  /^(kubectl\.kubernetes\.io|applyset\.kubernetes\.io|meta\.helm\.sh|argocd\.argoproj\.io|([a-z]+\.)?toolkit\.fluxcd\.io|kapp\.k14s\.io|objectset\.rio\.cattle\.io)\/|^app\.kubernetes\.io\/(instance|managed-by)$|^config\.k8s\.io\/owning-inventory$/;

const withoutTracking = (texts: Readonly<Record<string, string>> = {}): [string, string][] =>
  Object.entries(texts).filter(([key]) => !TRACKING.test(key));

/** Labels of a NAD: those of its owner win over ours. */
const nadLabels = (object: NetworkObject): Record<string, string> => ({
  [NETWORK_LABEL]: '',
  ...Object.fromEntries(withoutTracking(object.metadata.labels)),
});

/** Annotations that a NAD takes over from its owner: all but those of our own prefix and of tools. */
const inheritedAnnotations = (
  object: NetworkObject,
): Readonly<Record<string, string>> | undefined => {
  const kept = withoutTracking(object.metadata.annotations).filter(
    ([key]) => !key.startsWith(OUR_ANNOTATIONS),
  );
  return kept.length === 0 ? undefined : Object.fromEntries(kept);
};

/** A NAD to be, and the network that it stands for. */
export interface RenderedNad {
  readonly nad: NetworkAttachmentDefinition;
  readonly config: NetworkConfig;
}

/**
 * The NAD that an object wants in a namespace, or why there can't be one. The text of the configuration is the same
 * for the same input, so that a string comparison shows whether a NAD is up to date.
 */
export function renderNad(
  object: NetworkObject,
  namespace: string,
  settings: ClusterAddressing,
  features: RenderFeatures = {},
): Result<RenderedNad> {
  const config = renderConfig(object, namespace, settings, features);
  if (config.kind === 'invalid') {
    return fail(
      `failed to generate NetworkAttachmentDefinition: failed to render CNI network config: ${config.error}`,
    );
  }
  const { name, uid = '' } = object.metadata;
  const annotations = inheritedAnnotations(object);
  const nad: NetworkAttachmentDefinition = {
    apiVersion: networkAttachmentDefinitions.apiVersion,
    kind: 'NetworkAttachmentDefinition',
    metadata: {
      name,
      namespace,
      labels: nadLabels(object),
      ...(annotations === undefined ? {} : { annotations }),
      finalizers: [NETWORK_FINALIZER],
      ownerReferences: [
        {
          apiVersion: object.apiVersion,
          kind: object.kind,
          name,
          uid,
          controller: true,
          blockOwnerDeletion: true,
        },
      ],
    },
    spec: { config: config.value.text },
  };
  return succeed({ nad, config: config.value.config });
}

/** What network a NAD stands for. */
export function parseNad(nad: NetworkAttachmentDefinition, settings: ClusterAddressing): NadConfig {
  const read = readNadConfig(nad, settings);
  // It names what was written.
  return read.kind === 'invalid' ? { ...read, error: clipped(read.error, LONGEST_ERROR) } : read;
}

const LONGEST_ERROR = 1024;

function readNadConfig(nad: NetworkAttachmentDefinition, settings: ClusterAddressing): NadConfig {
  const config: unknown = nad.spec?.config ?? '';
  if (typeof config !== 'string')
    return {
      kind: 'invalid',
      error: `spec.config: must be a string that holds JSON, is ${formatValue(config)}`,
    };
  // A NAD without a configuration is one of a plugin that keeps its own on disk.
  if (config.trim() === '') return { kind: 'foreign' };
  const parsed = parseNetworkConfig(config, objectKey(nad.metadata), settings);
  if (parsed.kind !== 'network') return parsed;
  const refusal = nameRefusal(parsed.config.name, nad.metadata);
  return refusal === undefined ? parsed : { kind: 'invalid', error: refusal };
}

const sorted = (values: readonly string[]): string => [...values].sort().join(',');

/** What two NADs of one network must agree on, in the order in which a difference is named (reference/api.md §3.4). */
const IDENTITY: readonly (readonly [string, (config: NetworkConfig) => unknown])[] = [
  ['name', ({ name }) => name],
  ['topology', ({ topology }) => topology],
  ['mtu', ({ mtu }) => mtu],
  ['vlanID', ({ vlan }) => vlan ?? 0],
  ['allowPersistentIPs', ({ allowPersistentIPs }) => allowPersistentIPs],
  ['role', ({ role }) => role],
  ['physicalNetworkName', ({ physicalNetworkName }) => physicalNetworkName ?? ''],
  ['hasRouter', ({ hasRouter }) => hasRouter ?? false],
  ['transport', ({ transport }) => transport ?? ''],
  ['uplink', ({ uplink }) => uplink ?? ''],
  ['evpn', ({ evpn }) => canonicalJson(evpn ?? {})],
  ['outboundSNAT', ({ outboundSnat }) => outboundSnat ?? ''],
  ['excludeSubnets', ({ excludeSubnets }) => sorted(excludeSubnets)],
  ['reservedSubnets', ({ reservedSubnets }) => sorted(reservedSubnets)],
  ['infrastructureSubnets', ({ infrastructureSubnets }) => sorted(infrastructureSubnets)],
  ['joinSubnet', ({ joinSubnets }) => sorted(familyCidrs(joinSubnets))],
  ['transitSubnet', ({ transitSubnets }) => sorted(familyCidrs(transitSubnets))],
  [
    'subnets',
    // Layer3 subnets may grow: a difference is reconciled, not refused.
    ({ topology, subnets }) =>
      topology === 'layer3' ? '' : sorted(subnets.map(({ cidr }) => cidr)),
  ],
];

/** The key in which two NADs of one network disagree; undefined when they can stand for the same network. */
export function incompatibility(a: NetworkConfig, b: NetworkConfig): string | undefined {
  return IDENTITY.find(([, of]) => of(a) !== of(b))?.[0];
}
