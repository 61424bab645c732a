/** Narrow parsers of Services and EndpointSlices: what load balancers are made from is checked, the rest stays as it is. */
import { familyOf } from '../allocators/addresses.ts';
import { compact, type FieldReader, withoutNulls } from './field-reader.ts';
import type { PlainObject } from './plain-object.ts';
import { own } from './plain-object.ts';
import type { FieldPath } from './validation/field-errors.ts';

/** Longest session affinity that Kubernetes has, in seconds: a day. */
const LONGEST_AFFINITY = 86_400;

const WORDS = {
  type: ['ClusterIP', 'NodePort', 'LoadBalancer', 'ExternalName'],
  externalTrafficPolicy: ['Cluster', 'Local'],
  internalTrafficPolicy: ['Cluster', 'Local'],
  sessionAffinity: ['None', 'ClientIP'],
};

export function service(object: PlainObject, reader: FieldReader): PlainObject {
  const spec = reader.object(object, ['spec']);
  for (const [field, words] of Object.entries(WORDS)) reader.word(spec, ['spec', field], words);
  reader.flag(spec, ['spec', 'publishNotReadyAddresses']);
  for (const field of ['loadBalancerClass', 'loadBalancerIP']) reader.text(spec, ['spec', field]);
  affinityTimeout(spec, reader);
  const selector = reader.object(spec, ['spec', 'selector']);
  for (const label of Object.keys(selector)) reader.text(selector, ['spec', 'selector', label]);
  const healthCheckNodePort = reader.optionalPort(spec, ['spec', 'healthCheckNodePort']);
  const ports = servicePorts(spec, reader);
  const externalIPs = reader.addresses(reader.list(spec, ['spec', 'externalIPs']), [
    'spec',
    'externalIPs',
  ]);
  const status = reader.object(object, ['status']);
  const loadBalancer = reader.object(status, ['status', 'loadBalancer']);
  const ingress = ingresses(loadBalancer, reader);
  return {
    ...object,
    spec: compact({
      ...spec,
      clusterIPs: clusterIps(spec, reader),
      ...(Object.hasOwn(spec, 'ports') ? { ports } : {}),
      ...(Object.hasOwn(spec, 'externalIPs') ? { externalIPs } : {}),
      healthCheckNodePort,
    }),
    ...(ingress.length === 0
      ? {}
      : { status: { ...status, loadBalancer: { ...loadBalancer, ingress } } }),
  };
}

function clusterIps(spec: PlainObject, reader: FieldReader): string[] {
  const single = reader.text(spec, ['spec', 'clusterIP']);
  const listed = reader.list(spec, ['spec', 'clusterIPs']);
  const given = listed.length > 0 ? listed : single === undefined ? [] : [single];
  // A headless service says `None` where others have an address.
  const addresses = given.filter((text) => text !== '' && text !== 'None');
  return reader.addresses(addresses, ['spec', 'clusterIPs']);
}

function servicePorts(spec: PlainObject, reader: FieldReader): PlainObject[] {
  const taken = new Set<string>();
  return reader.maps(spec, ['spec', 'ports']).map(([port, path]) => {
    const protocol = reader.protocol(port, [...path, 'protocol']);
    const number = reader.port(port, [...path, 'port']);
    const name = reader.text(port, [...path, 'name']);
    const nodePort = reader.optionalPort(port, [...path, 'nodePort']);
    // Otherwise it is the name of a container's port.
    if (typeof own(port, 'targetPort') === 'number')
      reader.optionalPort(port, [...path, 'targetPort']);
    for (const [one, field] of [
      [`${protocol} ${number}`, 'port'],
      [`${protocol} name ${name ?? ''}`, 'name'],
    ] as const) {
      const value = own(port, field);
      if (taken.has(one))
        reader.errors.push({
          ...(value === undefined
            ? { type: 'Required', detail: 'of several ports each has a name' }
            : { type: 'Duplicate', value, detail: '' }),
          path: [...path, field],
        });
      taken.add(one);
    }
    return compact({ ...port, name, protocol, port: number, nodePort });
  });
}

function affinityTimeout(spec: PlainObject, reader: FieldReader): void {
  const path: FieldPath = ['spec', 'sessionAffinityConfig', 'clientIP', 'timeoutSeconds'];
  const config = reader.object(spec, path.slice(0, 2));
  const seconds = own(reader.object(config, path.slice(0, 3)), 'timeoutSeconds');
  if (seconds === undefined || seconds === null) return;
  if (!Number.isInteger(seconds) || Number(seconds) < 1 || Number(seconds) > LONGEST_AFFINITY)
    reader.mismatch(path, seconds, `number of seconds from 1 to ${LONGEST_AFFINITY}`);
}

function ingresses(loadBalancer: PlainObject, reader: FieldReader): PlainObject[] {
  return reader.maps(loadBalancer, ['status', 'loadBalancer', 'ingress']).map(([ingress, path]) => {
    reader.text(ingress, [...path, 'ipMode']);
    const text = reader.text(ingress, [...path, 'ip']) ?? '';
    const ip = text === '' ? undefined : reader.address(text, [...path, 'ip']);
    return compact({ ...ingress, ip });
  });
}

/** Kinds of addresses of a slice, and the family of each. */
const FAMILY_OF_TYPE: ReadonlyMap<string | undefined, string> = new Map([
  ['IPv4', 'v4'],
  ['IPv6', 'v6'],
]);

export function endpointSlice(object: PlainObject, reader: FieldReader): PlainObject {
  const addressType = reader.word(object, ['addressType'], ['IPv4', 'IPv6', 'FQDN']);
  const family = FAMILY_OF_TYPE.get(addressType);
  const ports = reader.maps(object, ['ports']).map(([port, path]) =>
    compact({
      ...port,
      name: reader.text(port, [...path, 'name']),
      protocol: reader.protocol(port, [...path, 'protocol']),
      port: reader.optionalPort(port, [...path, 'port']),
    }),
  );
  const endpoints = reader
    .maps(object, ['endpoints'])
    .map(([endpoint, path]) => endpointOf(endpoint, path, family, reader));
  return {
    ...object,
    ...(Array.isArray(own(object, 'ports')) ? { ports } : {}),
    ...(Array.isArray(own(object, 'endpoints')) ? { endpoints } : {}),
  };
}

function endpointOf(
  endpoint: PlainObject,
  path: FieldPath,
  family: string | undefined,
  reader: FieldReader,
): PlainObject {
  const texts = reader.list(endpoint, [...path, 'addresses']);
  const at = [...path, 'addresses'];
  const addresses = family === undefined ? names(texts, at, reader) : reader.addresses(texts, at);
  if (family !== undefined && addresses.some((address) => familyOf(address) !== family))
    reader.mismatch(at, texts, "list of addresses of the slice's addressType");
  const conditions = reader.object(endpoint, [...path, 'conditions']);
  for (const field of ['ready', 'serving', 'terminating'])
    reader.flag(conditions, [...path, 'conditions', field]);
  for (const field of ['nodeName', 'hostname']) reader.text(endpoint, [...path, field]);
  const hints = reader.object(endpoint, [...path, 'hints']);
  for (const field of ['forNodes', 'forZones'])
    for (const [hint, at] of reader.maps(hints, [...path, 'hints', field]))
      reader.text(hint, [...at, 'name']);
  const target = reader.object(endpoint, [...path, 'targetRef']);
  for (const field of ['kind', 'namespace', 'name'])
    reader.text(target, [...path, 'targetRef', field]);
  return withoutNulls(Object.hasOwn(endpoint, 'addresses') ? { ...endpoint, addresses } : endpoint);
}

/** Addresses of a slice of host names. */
function names(texts: readonly unknown[], path: FieldPath, reader: FieldReader): string[] {
  return texts.flatMap((text, at) =>
    typeof text === 'string' ? [text] : (reader.mismatch([...path, at], text, 'string') ?? []),
  );
}
