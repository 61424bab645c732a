/** Which NADs a pod asks for: the grammar of the Kubernetes network plumbing working group (reference/api.md §6.9). */
import type { Annotated, Reading } from './annotations.ts';
import {
  asAddress,
  asList,
  asMac,
  asObject,
  asText,
  parseJson,
  problem,
  readAnnotation,
} from './annotations.ts';
import { parseAddress, parseInterfaceAddress } from '../../allocators/addresses.ts';
import { repeatedNadKey } from '../nad/nad-key.ts';
import { formatValue } from '../validation/field-errors.ts';
import { isDnsLabel, isDnsSubdomain } from '../validation/metadata.ts';
import type { PlainObject } from '../plain-object.ts';
import { own } from '../plain-object.ts';

export const NETWORKS = 'k8s.v1.cni.cncf.io/networks';
/** Overrides for the primary network; names the NAD of the cluster default network. */
export const DEFAULT_NETWORK_SELECTION = 'v1.multus-cni.io/default-network';

const REMEDY = 'write "[<namespace>/]<name>[@<interface>], …" or a JSON list of {"name": …}';

export interface NetworkSelection {
  readonly namespace: string;
  readonly name: string;
  /** `<namespace>/<name>`, with `/<k>` for the k-th repetition of a NAD. */
  readonly nadKey: string;
  /** Name of the interface in the pod: as asked for, else `net1`, `net2`, … by position. */
  readonly interfaceName: string;
  /** Requested addresses, as written: with or without prefix length. */
  readonly ips: readonly string[];
  readonly mac?: string;
  /** Gateways of default routes that the pod wants on this network. */
  readonly defaultRoute: readonly string[];
  readonly ipamClaim?: string;
}

type Entry = Omit<NetworkSelection, 'nadKey' | 'interfaceName'> & { readonly interface?: string };

/** Linux interface names: 15 characters, no white space, no slash. */
const asInterface = (value: string): string =>
  /^[^\s/:]{1,15}$/.test(value) && value !== '.' && value !== '..'
    ? value
    : problem(
        `interface name ${formatValue(value)} must have 1 to 15 characters and no "/" or ":"`,
      );

const asNamespace = (value: string): string =>
  isDnsLabel(value) ? value : problem(`${formatValue(value)} is no namespace name`);

const asNadName = (value: string): string =>
  isDnsSubdomain(value) ? value : problem(`${formatValue(value)} is no object name`);

function textEntry(item: string, podNamespace: string): Entry {
  const [path = '', interfaceName, ...more] = item.split('@');
  const parts = path.split('/');
  if (more.length > 0 || parts.length > 2) problem(`can't read ${formatValue(item)}`);
  const [first = '', second] = parts;
  return {
    namespace: second === undefined ? podNamespace : asNamespace(first),
    name: asNadName(second ?? first),
    ips: [],
    defaultRoute: [],
    ...(interfaceName === undefined ? {} : { interface: asInterface(interfaceName) }),
  };
}

function asIp(value: unknown): string {
  const text = asText(value);
  return parseAddress(text) !== undefined || parseInterfaceAddress(text) !== undefined
    ? text
    : problem(`ips: ${formatValue(value)} is no IP address`);
}

function optional<T>(entry: PlainObject, key: string, read: (value: unknown) => T): T | undefined {
  const value = own(entry, key);
  return value === undefined || value === null || value === '' ? undefined : read(value);
}

function jsonEntry(value: unknown, podNamespace: string): Entry {
  const entry = asObject(value);
  const interfaceName = optional(entry, 'interface', asText);
  const mac = optional(entry, 'mac', asMac);
  const ipamClaim = optional(entry, 'ipam-claim-reference', (text) => asNadName(asText(text)));
  return {
    namespace: optional(entry, 'namespace', (text) => asNamespace(asText(text))) ?? podNamespace,
    name: asNadName(optional(entry, 'name', asText) ?? problem('an entry has no "name"')),
    ips: optional(entry, 'ips', (ips) => asList(ips).map(asIp)) ?? [],
    defaultRoute: optional(entry, 'default-route', (list) => asList(list).map(asAddress)) ?? [],
    ...(mac === undefined ? {} : { mac }),
    ...(ipamClaim === undefined ? {} : { ipamClaim }),
    ...(interfaceName === undefined ? {} : { interface: asInterface(interfaceName) }),
  };
}

/** Many more interfaces than a pod can have. */
const MOST_SELECTIONS = 100;

function entriesOf(text: string, podNamespace: string): Entry[] {
  const trimmed = text.trim();
  if (trimmed === '') return [];
  const isJson = /[[{"]/.test(trimmed);
  const items = isJson ? asList(parseJson(trimmed)) : trimmed.split(',').map((item) => item.trim());
  if (items.length > MOST_SELECTIONS) problem(`has more than ${MOST_SELECTIONS} entries`);
  return items.map((item) =>
    isJson ? jsonEntry(item, podNamespace) : textEntry(asText(item), podNamespace),
  );
}

function selectionsOf(text: string, podNamespace: string): NetworkSelection[] {
  const seen = new Map<string, number>();
  return entriesOf(text, podNamespace).map(({ interface: interfaceName, ...entry }, index) => {
    const key = `${entry.namespace}/${entry.name}`;
    const k = seen.get(key) ?? 0;
    seen.set(key, k + 1);
    return {
      ...entry,
      nadKey: repeatedNadKey(entry.namespace, entry.name, k),
      interfaceName: interfaceName ?? `net${index + 1}`,
    };
  });
}

/** The NADs that a pod is attached to besides its primary network, in the order of its interfaces. */
export const networkSelections = (pod: Annotated): Reading<readonly NetworkSelection[]> =>
  readAnnotation(pod, NETWORKS, REMEDY, (text) =>
    selectionsOf(text, pod.metadata.namespace ?? 'default'),
  );

/** What a pod asks of its primary network: at most one entry. */
export const defaultNetworkSelection = (pod: Annotated): Reading<NetworkSelection> => {
  const { value, errors } = readAnnotation(
    pod,
    DEFAULT_NETWORK_SELECTION,
    'write a JSON list with one entry, or remove the annotation',
    (text) => {
      const selections = selectionsOf(text, pod.metadata.namespace ?? 'default');
      if (selections.length > 1) problem(`has ${selections.length} entries; one is allowed`);
      return { selection: selections[0] };
    },
  );
  return { value: value?.selection, errors };
};
