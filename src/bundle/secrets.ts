/** Takes out of what was read what others have no business to see. Pure. */
import type { KubeObject } from '../api/objects.ts';
import { isPlainObject } from '../api/plain-object.ts';

/** Stands where something was taken out. */
const TAKEN_OUT = '(taken out)';

/** Keys of a map and columns of which the value may be a secret, such as `psk` of an IPsec tunnel. */
const SECRET_KEY = /psk|pass(?:word|phrase|wd)|secret|token|credential|api[-_]?key/i;

/** Domains of the annotations that say something of networks. */
const OWN_DOMAINS = ['ovn.org', 'cncf.io', 'kubevirt.io'];
const OWN_SERVICE_ANNOTATIONS = ['service.kubernetes.io', 'endpointslice.kubernetes.io'];
/** The type of the NADs that are of this network plugin; the text of others' is theirs. */
const OWN_NAD = /"type"\s*:\s*"ovn-k8s-cni-overlay"/;

/** Tables of `ovsdb-client --format=json dump`, one to a line. Throws SyntaxError where a line is none. */
export const databaseWithoutSecrets = (text: string): string =>
  text
    .split('\n')
    .map((line) => (line.trim() === '' ? line : JSON.stringify(tableWithoutSecrets(line))))
    .join('\n');

function tableWithoutSecrets(line: string): unknown {
  const table: unknown = JSON.parse(line);
  if (!isPlainObject(table)) return table;
  const { headings, data } = table;
  if (!Array.isArray(headings) || !Array.isArray(data)) return table;
  const isSecret = headings.map((name) => SECRET_KEY.test(String(name)));
  const rows = (data as readonly unknown[]).map((row) =>
    Array.isArray(row)
      ? (row as readonly unknown[]).map((cell, column) =>
          isSecret[column] === true ? TAKEN_OUT : cellWithoutSecrets(cell),
        )
      : row,
  );
  return { ...table, data: rows };
}

/** Of a map (RFC 7047 section 5.1) the values of such keys. */
function cellWithoutSecrets(cell: unknown): unknown {
  if (!Array.isArray(cell) || cell[0] !== 'map' || !Array.isArray(cell[1])) return cell;
  const pairs = (cell[1] as readonly unknown[]).map((pair) =>
    Array.isArray(pair) && SECRET_KEY.test(String(pair[0]))
      ? [pair[0] as unknown, TAKEN_OUT]
      : pair,
  );
  return ['map', pairs];
}

/**
 * An object with what its networks are made of: without annotations of others, and without what a pod runs (environment, arguments, volumes).
 */
export function objectWithoutSecrets({ metadata, spec, ...object }: KubeObject): KubeObject {
  const { annotations, ...rest } = metadata;
  const { managedFields: _, ...named } = rest as typeof rest & { readonly managedFields?: unknown };
  const kept = Object.entries(annotations ?? {}).filter(([key]) => isOfNetworks(key));
  return {
    ...object,
    metadata: {
      ...named,
      ...(kept.length === 0 ? {} : { annotations: Object.fromEntries(kept) }),
    },
    ...(spec === undefined ? {} : { spec: specOf(object.kind, spec) }),
  };
}

function isOfNetworks(key: string): boolean {
  const slash = key.indexOf('/');
  const domain = slash < 0 ? '' : key.slice(0, slash);
  return (
    OWN_SERVICE_ANNOTATIONS.includes(domain) ||
    OWN_DOMAINS.some((own) => domain === own || domain.endsWith(`.${own}`))
  );
}

function specOf(kind: string, spec: unknown): unknown {
  if (!isPlainObject(spec)) return spec;
  if (kind === 'Pod') return podSpec(spec);
  if (kind === 'NetworkAttachmentDefinition')
    return typeof spec['config'] !== 'string' || OWN_NAD.test(spec['config'])
      ? spec
      : { ...spec, config: TAKEN_OUT };
  return spec;
}

/** What of a pod's spec decides its networks. */
const POD_FIELDS = [
  'nodeName',
  'hostNetwork',
  'hostname',
  'subdomain',
  'restartPolicy',
  'dnsPolicy',
];
const CONTAINERS = ['containers', 'initContainers', 'ephemeralContainers'];

function podSpec(spec: Readonly<Record<string, unknown>>): Readonly<Record<string, unknown>> {
  const kept: Record<string, unknown> = {};
  for (const field of POD_FIELDS) if (spec[field] !== undefined) kept[field] = spec[field];
  for (const field of CONTAINERS) {
    const containers = spec[field];
    if (!Array.isArray(containers)) continue;
    kept[field] = (containers as readonly unknown[]).filter(isPlainObject).map((container) => ({
      name: container['name'],
      ...(container['ports'] === undefined ? {} : { ports: container['ports'] }),
    }));
  }
  return kept;
}
