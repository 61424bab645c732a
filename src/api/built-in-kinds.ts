/** Narrow parsers of Kubernetes' own kinds: they check what we read and leave the rest of the object as it is. */
import { formatAddress, parseAddress } from '../allocators/addresses.ts';
import type { FieldError, FieldPath } from './validation/field-errors.ts';
import type { PlainObject } from './plain-object.ts';
import { isPlainObject, own } from './plain-object.ts';

/** Every cluster has these without anybody declaring them. */
export const SYSTEM_NAMESPACES: readonly string[] = [
  'default',
  'kube-node-lease',
  'kube-public',
  'kube-system',
];

/** Adds errors to `errors` and answers with values of known types; wrong ones are reported and left out. */
class Reader {
  readonly errors: FieldError[] = [];

  mismatch(path: FieldPath, value: unknown, type: string): undefined {
    this.errors.push({ type: 'TypeInvalid', path, value, detail: `must be a ${type}` });
    return undefined;
  }

  object(parent: PlainObject, path: FieldPath): PlainObject {
    const value = this.#child(parent, path);
    if (value === undefined) return {};
    return isPlainObject(value) ? value : (this.mismatch(path, value, 'map') ?? {});
  }

  text(parent: PlainObject, path: FieldPath): string | undefined {
    const value = this.#child(parent, path);
    if (value === undefined || typeof value === 'string') return value;
    return this.mismatch(path, value, 'string (put the value in quotes)');
  }

  flag(parent: PlainObject, path: FieldPath): boolean | undefined {
    const value = this.#child(parent, path);
    if (value === undefined || typeof value === 'boolean') return value;
    return this.mismatch(path, value, 'boolean: true or false, without quotes');
  }

  port(parent: PlainObject, path: FieldPath): number | undefined {
    const value = this.#child(parent, path);
    if (typeof value === 'number' && Number.isInteger(value) && value >= 1 && value <= 65535)
      return value;
    return this.mismatch(path, value, 'port: a number from 1 to 65535');
  }

  /** The items of a list that are maps, each with its path. */
  maps(parent: PlainObject, path: FieldPath): [PlainObject, FieldPath][] {
    return this.list(parent, path).flatMap((item, index): [PlainObject, FieldPath][] => {
      const at = [...path, index];
      if (isPlainObject(item)) return [[item, at]];
      this.mismatch(at, item, 'map');
      return [];
    });
  }

  list(parent: PlainObject, path: FieldPath): readonly unknown[] {
    const value = this.#child(parent, path);
    if (value === undefined) return [];
    return Array.isArray(value) ? value : (this.mismatch(path, value, 'list') ?? []);
  }

  /** Maps with the given text fields, all required. */
  records<K extends string>(
    parent: PlainObject,
    path: FieldPath,
    fields: readonly K[],
  ): Record<K, string>[] {
    return this.list(parent, path).flatMap((item, index) => {
      const at = [...path, index];
      if (!isPlainObject(item)) {
        this.mismatch(at, item, 'map');
        return [];
      }
      const before = this.errors.length;
      const entries = fields.map((field): [string, string] => {
        const text = this.text(item, [...at, field]);
        if (text === undefined && this.errors.length === before) {
          this.errors.push({ type: 'Required', path: [...at, field], detail: '' });
        }
        return [field, text ?? ''];
      });
      return this.errors.length > before ? [] : [Object.fromEntries(entries) as Record<K, string>];
    });
  }

  #child(parent: PlainObject, path: FieldPath): unknown {
    const value = own(parent, String(path.at(-1)));
    return value === null ? undefined : value;
  }
}

const compact = (object: Record<string, unknown>): PlainObject =>
  Object.fromEntries(Object.entries(object).filter(([, value]) => value !== undefined));

const PROTOCOLS: readonly unknown[] = ['TCP', 'UDP', 'SCTP'];

function containers(spec: PlainObject, reader: Reader): PlainObject[] {
  return reader.maps(spec, ['spec', 'containers']).map(([container, path]) => {
    const ports = reader.maps(container, [...path, 'ports']).map(([port, at]) => {
      const protocol = own(port, 'protocol') ?? 'TCP';
      if (!PROTOCOLS.includes(protocol))
        reader.mismatch([...at, 'protocol'], protocol, 'protocol: TCP, UDP or SCTP');
      const containerPort = reader.port(port, [...at, 'containerPort']);
      return compact({
        ...port,
        name: reader.text(port, [...at, 'name']),
        containerPort,
        protocol,
      });
    });
    return ports.length === 0 ? container : { ...container, ports };
  });
}

function pod(object: PlainObject, reader: Reader): PlainObject {
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

function node(object: PlainObject, reader: Reader): PlainObject {
  if (own(object, 'status') === undefined) return object;
  const status = reader.object(object, ['status']);
  reader.records(status, ['status', 'addresses'], ['type', 'address']);
  reader.records(status, ['status', 'conditions'], ['type', 'status']);
  return object;
}

function service(object: PlainObject, reader: Reader): PlainObject {
  const spec = reader.object(object, ['spec']);
  reader.text(spec, ['spec', 'type']);
  const single = reader.text(spec, ['spec', 'clusterIP']);
  const listed = reader.list(spec, ['spec', 'clusterIPs']);
  const given = listed.length > 0 ? listed : single === undefined ? [] : [single];
  const clusterIPs = given
    .filter((text) => text !== '' && text !== 'None')
    .flatMap((text, index) => {
      const address = typeof text === 'string' ? parseAddress(text) : undefined;
      if (address !== undefined) return [formatAddress(address)];
      const path = ['spec', 'clusterIPs', index];
      reader.errors.push({ type: 'Invalid', path, value: text, detail: 'must be an IP address' });
      return [];
    });
  return { ...object, spec: { ...spec, clusterIPs } };
}

function endpointSlice(object: PlainObject, reader: Reader): PlainObject {
  reader.text(object, ['addressType']);
  reader.list(object, ['ports']);
  for (const [index, endpoint] of reader.list(object, ['endpoints']).entries()) {
    const path = ['endpoints', index];
    if (!isPlainObject(endpoint)) {
      reader.mismatch(path, endpoint, 'map');
      continue;
    }
    for (const [at, address] of reader.list(endpoint, [...path, 'addresses']).entries())
      if (typeof address !== 'string')
        reader.mismatch([...path, 'addresses', at], address, 'string');
    const target = reader.object(endpoint, [...path, 'targetRef']);
    for (const field of ['kind', 'namespace', 'name'])
      reader.text(target, [...path, 'targetRef', field]);
  }
  return object;
}

const PARSERS: Readonly<Record<string, (object: PlainObject, reader: Reader) => PlainObject>> = {
  Pod: pod,
  Node: node,
  Service: service,
  EndpointSlice: endpointSlice,
};

/** The object with the fields that we read checked, and normalised where two spellings mean the same. */
export function parseBuiltIn(object: PlainObject): {
  readonly object: PlainObject;
  readonly errors: readonly FieldError[];
} {
  const reader = new Reader();
  const kind = String(own(object, 'kind'));
  const parser = Object.hasOwn(PARSERS, kind) ? PARSERS[kind] : undefined;
  return { object: parser === undefined ? object : parser(object, reader), errors: reader.errors };
}
