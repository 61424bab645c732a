/** Narrow parsers of Kubernetes' own kinds: they check what we read and leave the rest of the object as it is. */
import { compact, FieldReader, withoutNulls } from './field-reader.ts';
import type { PlainObject } from './plain-object.ts';
import { own } from './plain-object.ts';
import { endpointSlice, service } from './service-kinds.ts';
import type { FieldError, FieldWarning } from './validation/field-errors.ts';

/** Every cluster has these without anybody declaring them. */
export const SYSTEM_NAMESPACES: readonly string[] = [
  'default',
  'kube-node-lease',
  'kube-public',
  'kube-system',
];

function containers(spec: PlainObject, reader: FieldReader): PlainObject[] {
  return reader.maps(spec, ['spec', 'containers']).map(([container, path]) => {
    const ports = reader.maps(container, [...path, 'ports']).map(([port, at]) => {
      const protocol = reader.protocol(port, [...at, 'protocol']);
      const containerPort = reader.port(port, [...at, 'containerPort']);
      const hostIp = reader.text(port, [...at, 'hostIP']) ?? '';
      return compact({
        ...port,
        name: reader.text(port, [...at, 'name']),
        containerPort,
        protocol,
        hostPort: reader.optionalPort(port, [...at, 'hostPort']),
        hostIP: hostIp === '' ? undefined : reader.address(hostIp, [...at, 'hostIP']),
      });
    });
    return withoutNulls(ports.length === 0 ? container : { ...container, ports });
  });
}

function pod(object: PlainObject, reader: FieldReader): PlainObject {
  const spec = reader.object(object, ['spec']);
  const nodeName = reader.text(spec, ['spec', 'nodeName']);
  const hostNetwork = reader.flag(spec, ['spec', 'hostNetwork']);
  const status = reader.object(object, ['status']);
  const phase = reader.text(status, ['status', 'phase']);
  const podIPs = reader.records(status, ['status', 'podIPs'], ['ip']);
  return {
    ...object,
    spec: compact({
      ...spec,
      nodeName: nodeName === '' ? undefined : nodeName,
      hostNetwork,
      ...(Object.hasOwn(spec, 'containers') ? { containers: containers(spec, reader) } : {}),
    }),
    ...(Object.hasOwn(object, 'status') ? { status: compact({ ...status, phase, podIPs }) } : {}),
  };
}

function node(object: PlainObject, reader: FieldReader): PlainObject {
  if (own(object, 'status') === undefined) return object;
  const status = reader.object(object, ['status']);
  reader.records(status, ['status', 'addresses'], ['type', 'address']);
  reader.records(status, ['status', 'conditions'], ['type', 'status']);
  return object;
}

const PARSERS: Readonly<Record<string, (object: PlainObject, reader: FieldReader) => PlainObject>> =
  {
    Pod: pod,
    Node: node,
    Service: service,
    EndpointSlice: endpointSlice,
  };

/** The object with the fields that we read checked, and normalised where two spellings mean the same. */
export function parseBuiltIn(object: PlainObject): {
  readonly object: PlainObject;
  readonly errors: readonly FieldError[];
  /** What a manifest is refused for besides: words that this release of Kubernetes does not have. */
  readonly unlisted: readonly FieldError[];
  /** Fields that look like misspelt ones. */
  typos(): readonly FieldWarning[];
} {
  const reader = new FieldReader();
  const kind = String(own(object, 'kind'));
  const parser = Object.hasOwn(PARSERS, kind) ? PARSERS[kind] : undefined;
  return {
    object: parser === undefined ? object : parser(object, reader),
    errors: reader.errors,
    unlisted: reader.unlisted,
    typos: () => reader.typos(),
  };
}
