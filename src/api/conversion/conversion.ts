/**
 * UserDefinedNetwork and ClusterUserDefinedNetwork between the stored `k8s.ovn.org/v1` and the flat
 * `k8s.ovn.org/v1alpha1` (reference/api.md §1.9, §1.10). What one version can't say is kept in an annotation of the other, so
 * that reading back gives what was written.
 */
import { canonicalJson, sameJson } from '../canonical-json.ts';
import { parsePrefix } from '../../allocators/addresses.ts';
import type { FieldError, FieldPath } from '../validation/field-errors.ts';
import { clusterNetworkName } from '../nad/network-name.ts';
import type { PlainObject } from '../plain-object.ts';
import { fail, succeed, type Result } from '../result.ts';
import { isPlainObject, own } from '../plain-object.ts';

export const V1 = 'k8s.ovn.org/v1';
export const V1ALPHA1 = 'k8s.ovn.org/v1alpha1';

/** On a v1 object: the flat spec that it was made from, where v1 alone would give another spelling. */
const FLAT_SPEC_ANNOTATION = 'k8s.ovn.org/v1alpha1-spec';
/** On a v1alpha1 object: the v1 spec that it was made from, where the flat spec can't hold all of it. */
const V1_SPEC_ANNOTATION = 'k8s.ovn.org/v1-spec';

export type Conversion = Result<PlainObject, readonly FieldError[]>;

/** Without the keys whose value is undefined. */
const compact = (object: Record<string, unknown>): PlainObject =>
  Object.fromEntries(Object.entries(object).filter(([, value]) => value !== undefined));

const strings = (value: unknown): readonly unknown[] => (Array.isArray(value) ? value : []);

const SUBNET_HELP =
  "must be a CIDR, for Layer3 optionally followed by the prefix length of one node's subnet, " +
  'for example 10.128.0.0/16/24';

/** `10.128.0.0/16` or `10.128.0.0/16/24` as a v1 subnet. */
function layer3Subnet(text: unknown): PlainObject | undefined {
  if (typeof text !== 'string') return undefined;
  const parts = text.split('/');
  const cidr = parts.slice(0, 2).join('/');
  if (parts.length > 3 || parsePrefix(cidr) === undefined) return undefined;
  const host = parts[2];
  if (host === undefined) return { cidr };
  return /^[1-9][0-9]{0,2}$/.test(host) ? { cidr, hostSubnet: Number(host) } : undefined;
}

function flatIpam(flat: PlainObject): PlainObject | undefined {
  const ipam = own(flat, 'ipam');
  const given = isPlainObject(ipam) ? ipam : {};
  const result = compact({
    mode: own(given, 'mode'),
    lifecycle: own(given, 'lifecycle') ?? own(flat, 'ipamLifecycle'),
  });
  return Object.keys(result).length === 0 ? undefined : result;
}

function layer3FromFlat(flat: PlainObject, path: FieldPath): Conversion {
  const errors: FieldError[] = [];
  const subnets = strings(own(flat, 'subnets')).map((text, index) => {
    const subnet = layer3Subnet(text);
    if (subnet === undefined) {
      const at = [...path, 'subnets', index];
      errors.push({ type: 'Invalid', path: at, value: text, detail: SUBNET_HELP });
    }
    return subnet;
  });
  if (own(flat, 'excludeSubnets') !== undefined) {
    errors.push({
      type: 'Forbidden',
      path: [...path, 'excludeSubnets'],
      detail: 'Layer3 networks have no excluded subnets: remove the field or use topology Layer2',
    });
  }
  if (errors.length > 0) return fail(errors);
  const role = own(flat, 'role');
  const layer3 = compact({
    role,
    mtu: own(flat, 'mtu'),
    subnets,
    joinSubnets: role === 'Primary' ? own(flat, 'joinSubnets') : undefined,
  });
  return succeed({ topology: 'Layer3', layer3 });
}

function layer2FromFlat(flat: PlainObject): Conversion {
  const role = own(flat, 'role');
  const layer2 = compact({
    role,
    mtu: own(flat, 'mtu'),
    subnets: own(flat, 'subnets'),
    excludeSubnets: own(flat, 'excludeSubnets'),
    joinSubnets: role === 'Primary' ? own(flat, 'joinSubnets') : undefined,
    ipam: flatIpam(flat),
  });
  return succeed({ topology: 'Layer2', layer2 });
}

function localnetFromFlat(flat: PlainObject, object: PlainObject, path: FieldPath): Conversion {
  if (own(object, 'kind') !== 'ClusterUserDefinedNetwork') {
    const error: FieldError = {
      type: 'Invalid',
      path: [...path, 'topology'],
      value: 'Localnet',
      detail:
        'topology Localnet gives access to a physical network, which is for administrators to grant: ' +
        'use a ClusterUserDefinedNetwork',
    };
    return fail([error]);
  }
  const metadata = own(object, 'metadata');
  const name = isPlainObject(metadata) ? own(metadata, 'name') : undefined;
  const localnet = compact({
    role: own(flat, 'role'),
    // The flat shape has no such field; a localnet network without one is mapped by its own name.
    physicalNetworkName: clusterNetworkName(typeof name === 'string' ? name : ''),
    mtu: own(flat, 'mtu'),
    subnets: own(flat, 'subnets'),
    excludeSubnets: own(flat, 'excludeSubnets'),
    ipam: flatIpam(flat),
  });
  return succeed({ topology: 'Localnet', localnet });
}

function networkFromFlat(flat: PlainObject, object: PlainObject, path: FieldPath): Conversion {
  const topology = own(flat, 'topology');
  if (topology === 'Layer3') return layer3FromFlat(flat, path);
  if (topology === 'Layer2') return layer2FromFlat(flat);
  if (topology === 'Localnet') return localnetFromFlat(flat, object, path);
  const detail = 'supported values: "Layer2", "Layer3", "Localnet"';
  const error: FieldError = {
    type: 'NotSupported',
    path: [...path, 'topology'],
    value: topology,
    detail,
  };
  return fail([error]);
}

const isCluster = (object: PlainObject): boolean =>
  own(object, 'kind') === 'ClusterUserDefinedNetwork';

/** The flat fields of a v1alpha1 spec, and where they are: a CUDN's template may nest them under `spec`. */
function flatPart(object: PlainObject, spec: PlainObject): { flat: PlainObject; path: FieldPath } {
  if (!isCluster(object)) return { flat: spec, path: ['spec'] };
  const template = own(spec, 'template');
  if (!isPlainObject(template)) return { flat: {}, path: ['spec', 'template'] };
  const nested = own(template, 'spec');
  return isPlainObject(nested)
    ? { flat: nested, path: ['spec', 'template', 'spec'] }
    : { flat: template, path: ['spec', 'template'] };
}

function specFromFlat(object: PlainObject, spec: PlainObject): Conversion {
  const { flat, path } = flatPart(object, spec);
  const network = networkFromFlat(flat, object, path);
  if (network.kind === 'invalid' || !isCluster(object)) return network;
  return succeed(
    compact({ namespaceSelector: own(spec, 'namespaceSelector'), network: network.value }),
  );
}

function flatSubnets(subnets: unknown): unknown {
  if (!Array.isArray(subnets)) return undefined;
  return subnets.map((subnet: unknown) => {
    if (!isPlainObject(subnet)) return subnet;
    const [cidr, host] = [own(subnet, 'cidr'), own(subnet, 'hostSubnet')];
    if (typeof cidr !== 'string') return cidr;
    return typeof host === 'number' ? `${cidr}/${host}` : cidr;
  });
}

function specToFlat(object: PlainObject, spec: PlainObject): PlainObject {
  const network = isCluster(object) ? own(spec, 'network') : spec;
  const given = isPlainObject(network) ? network : {};
  const topology = own(given, 'topology');
  const section = typeof topology === 'string' ? own(given, topology.toLowerCase()) : undefined;
  const config = isPlainObject(section) ? section : {};
  const flat = compact({
    topology,
    role: own(config, 'role'),
    mtu: own(config, 'mtu'),
    subnets: flatSubnets(own(config, 'subnets')),
    excludeSubnets: own(config, 'excludeSubnets'),
    joinSubnets: own(config, 'joinSubnets'),
    ipam: own(config, 'ipam'),
  });
  if (!isCluster(object)) return flat;
  return compact({ namespaceSelector: own(spec, 'namespaceSelector'), template: flat });
}

/** Everything of a spec but the selector, which both versions hold alike and which may change. */
const networkPart = (spec: PlainObject): PlainObject =>
  Object.fromEntries(Object.entries(spec).filter(([key]) => key !== 'namespaceSelector'));

function annotationsOf(object: PlainObject): PlainObject {
  const metadata = own(object, 'metadata');
  const annotations = isPlainObject(metadata) ? own(metadata, 'annotations') : undefined;
  return isPlainObject(annotations) ? annotations : {};
}

/** The object in another version, with one annotation set or, with undefined, removed. */
function rewritten(
  object: PlainObject,
  apiVersion: string,
  spec: PlainObject,
  annotation: { readonly remove: string; readonly set: string; readonly value?: string },
): PlainObject {
  const { [annotation.remove]: _removed, ...kept } = annotationsOf(object) as Record<
    string,
    unknown
  >;
  const annotations =
    annotation.value === undefined ? kept : { ...kept, [annotation.set]: annotation.value };
  const metadata = own(object, 'metadata');
  const { annotations: _old, ...meta } = (isPlainObject(metadata) ? metadata : {}) as Record<
    string,
    unknown
  >;
  return {
    ...object,
    apiVersion,
    metadata: { ...meta, ...(Object.keys(annotations).length === 0 ? {} : { annotations }) },
    spec,
  };
}

/** The part of a spec that an annotation keeps; undefined when it is absent or no JSON object. */
function keptPart(object: PlainObject, annotation: string): PlainObject | undefined {
  const text = own(annotationsOf(object), annotation);
  if (typeof text !== 'string') return undefined;
  try {
    const value: unknown = JSON.parse(text);
    return isPlainObject(value) ? value : undefined;
  } catch {
    return undefined; // Written by hand: the spec alone counts.
  }
}

function toV1(object: PlainObject, spec: PlainObject): Conversion {
  const mapped = specFromFlat(object, spec);
  if (mapped.kind === 'invalid') return mapped;
  const selector = own(spec, 'namespaceSelector');
  const withSelector = (part: PlainObject): PlainObject =>
    isCluster(object) ? compact({ namespaceSelector: selector, ...part }) : part;

  const kept = keptPart(object, V1_SPEC_ANNOTATION);
  if (kept !== undefined && sameJson(specToFlat(object, withSelector(kept)), spec)) {
    const change = { remove: V1_SPEC_ANNOTATION, set: FLAT_SPEC_ANNOTATION };
    return succeed(rewritten(object, V1, withSelector(kept), change));
  }
  const exact = sameJson(specToFlat(object, mapped.value), spec);
  return succeed(
    rewritten(object, V1, mapped.value, {
      remove: V1_SPEC_ANNOTATION,
      set: FLAT_SPEC_ANNOTATION,
      ...(exact ? {} : { value: canonicalJson(networkPart(spec)) }),
    }),
  );
}

function toV1Alpha1(object: PlainObject, spec: PlainObject): Conversion {
  const selector = own(spec, 'namespaceSelector');
  const withSelector = (part: PlainObject): PlainObject =>
    isCluster(object) ? compact({ namespaceSelector: selector, ...part }) : part;
  const madeFrom = (flat: PlainObject): boolean => {
    const mapped = specFromFlat(object, flat);
    return mapped.kind === 'value' && sameJson(mapped.value, spec);
  };
  const kept = keptPart(object, FLAT_SPEC_ANNOTATION);
  if (kept !== undefined && madeFrom(withSelector(kept))) {
    const change = { remove: FLAT_SPEC_ANNOTATION, set: V1_SPEC_ANNOTATION };
    return succeed(rewritten(object, V1ALPHA1, withSelector(kept), change));
  }
  const flat = specToFlat(object, spec);
  return succeed(
    rewritten(object, V1ALPHA1, flat, {
      remove: FLAT_SPEC_ANNOTATION,
      set: V1_SPEC_ANNOTATION,
      ...(madeFrom(flat) ? {} : { value: canonicalJson(networkPart(spec)) }),
    }),
  );
}

/**
 * A UserDefinedNetwork or ClusterUserDefinedNetwork in another version. v1 → v1alpha1 always succeeds; the other
 * direction fails where a flat field has no meaning in v1, with the field and what to do. The result is not validated.
 */
export function convertObject(object: PlainObject, apiVersion: string): Conversion {
  const from = own(object, 'apiVersion');
  const kind = own(object, 'kind');
  const failed = (field: string, value: unknown, detail: string): Conversion =>
    fail([{ type: 'Invalid', path: [field], value, detail }]);
  if (kind !== 'UserDefinedNetwork' && kind !== 'ClusterUserDefinedNetwork') {
    return failed(
      'kind',
      kind,
      'only UserDefinedNetwork and ClusterUserDefinedNetwork have versions',
    );
  }
  if (from === apiVersion) return succeed(object);
  const spec = own(object, 'spec');
  if (!isPlainObject(spec)) return failed('spec', spec, 'must be a map');
  if (from === V1ALPHA1 && apiVersion === V1) return toV1(object, spec);
  if (from === V1 && apiVersion === V1ALPHA1) return toV1Alpha1(object, spec);
  return failed(
    'apiVersion',
    from,
    `can't be converted to ${apiVersion}: use ${V1} or ${V1ALPHA1}`,
  );
}

/** Where a field of a v1 object is in the v1alpha1 object that it was converted from. */
export function flatPath(object: PlainObject, path: FieldPath): FieldPath {
  if (path[0] !== 'spec') return path;
  const spec = own(object, 'spec');
  const base = isPlainObject(spec) ? flatPart(object, spec).path : ['spec'];
  if (isCluster(object) && path[1] !== 'network') return path;
  const rest = path
    .slice(isCluster(object) ? 2 : 1)
    .filter((part) => !['layer3', 'layer2', 'localnet'].includes(String(part)));
  const subnet = rest[0] === 'subnets' ? rest.slice(0, 2) : rest;
  return [...base, ...subnet];
}
