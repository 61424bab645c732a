/** What `heddle explain POD DEST` is asked about: a packet, from whom to whom, by which protocol to which port. Pure. */
import { contains, formatAddress, parseAddress } from '../allocators/addresses.ts';
import { ConfigurationError } from '../process/configuration-error.ts';

const PROTOCOLS = ['tcp', 'udp', 'sctp', 'icmp'] as const;
export type Protocol = (typeof PROTOCOLS)[number];

export interface ObjectName {
  readonly namespace: string;
  readonly name: string;
}

type AskedDestination =
  /** `either`: a pod of that name, else a service. */
  | ({ readonly kind: 'pod' | 'service' | 'either' } & ObjectName)
  | { readonly kind: 'node'; readonly name: string }
  | { readonly kind: 'address'; readonly address: string };

export interface AskedPacket {
  readonly pod: ObjectName;
  readonly destination: AskedDestination;
  /** A number, or of a service the name of its port; absent for ICMP, and for a service that has one port. */
  readonly port?: number | string;
  /** Absent: that of the service's port. */
  readonly protocol?: Protocol;
  /** The network by which the pod sends, by its OVN name or that of its object. */
  readonly network?: string;
}

/** What a command line, or a request, holds. */
export interface PacketQuestion {
  readonly pod: string;
  readonly destination: string;
  readonly namespace?: string | undefined;
  readonly network?: string | undefined;
}

/** Characters; the longest names of objects with their namespace, a port and a protocol have fewer. */
const LONGEST = 400;
/** RFC 1123 with dots, as the API server takes names of pods and nodes. */
const NAME = /^[a-z0-9](?:[-a-z0-9.]{0,251}[a-z0-9])?$/;
/** Of a service's port (RFC 6335 §5.1). */
const PORT_NAME = /^(?=.*[a-z])[a-z0-9](?:[-a-z0-9]{0,13}[a-z0-9])?$/;
const HIGHEST_PORT = 65_535;

const KINDS: ReadonlyMap<string, 'pod' | 'service' | 'node'> = new Map([
  ['pod', 'pod'],
  ['po', 'pod'],
  ['pods', 'pod'],
  ['svc', 'service'],
  ['service', 'service'],
  ['services', 'service'],
  ['node', 'node'],
  ['no', 'node'],
  ['nodes', 'node'],
]);

const DESTINATION = 'DEST';
const HOW =
  'write NAMESPACE/POD, svc/NAMESPACE/NAME, node/NAME or an address, with :PORT and /PROTOCOL where it has one';

/** Throws ConfigurationError for what can't be asked for. */
export function askedPacket({ pod, destination, namespace, network }: PacketQuestion): AskedPacket {
  for (const [argument, text] of [
    ['POD', pod],
    [DESTINATION, destination],
    ['--namespace', namespace ?? ''],
    ['--network', network ?? ''],
  ] as const)
    if (text.length > LONGEST)
      throw new ConfigurationError(
        argument,
        `has ${text.length} characters; write at most ${LONGEST}`,
      );
  const from = podName(pod, namespace);
  const { place, port, protocol } = partsOf(destination.trim());
  const asked = destinationOf(place, namespace ?? from.namespace);
  if (protocol === 'icmp' && port !== undefined)
    throw new ConfigurationError(DESTINATION, `"${destination}": ICMP has no ports`);
  if (typeof port === 'string' && asked.kind !== 'service' && asked.kind !== 'either')
    throw new ConfigurationError(
      DESTINATION,
      `"${destination}": ports of services alone have names; write a number from 1 to ${HIGHEST_PORT}`,
    );
  if (port === undefined && protocol !== undefined && protocol !== 'icmp' && !mayBeService(asked))
    throw new ConfigurationError(DESTINATION, `"${destination}": ${protocol} needs a port`);
  return {
    pod: from,
    destination: asked,
    ...(port === undefined ? {} : { port }),
    ...(protocol === undefined ? {} : { protocol }),
    ...(network === undefined || network === '' ? {} : { network }),
  };
}

/** `NAMESPACE/POD`, or a name in a namespace that is given. Throws ConfigurationError. */
export function podName(text: string, namespace: string | undefined): ObjectName {
  if (namespace !== undefined) checkName('--namespace', namespace);
  return objectName('POD', text.replace(/^(?:pod|po|pods)\/(?=.)/, ''), namespace);
}

const mayBeService = ({ kind }: AskedDestination): boolean =>
  kind === 'service' || kind === 'either';

interface Parts {
  /** Who is meant. */
  readonly place: string;
  readonly port?: number | string;
  readonly protocol?: Protocol;
}

/** `blue/db:5432/tcp` in its three parts. */
function partsOf(text: string): Parts {
  if (text === '') throw new ConfigurationError(DESTINATION, `is empty: ${HOW}`);
  const [, before = '', last = ''] = /^(.+)\/([a-z]+)$/is.exec(text) ?? [];
  const protocol = PROTOCOLS.find((one) => one === last.toLowerCase());
  // A pod may be called as a protocol is.
  if (protocol === undefined || !isWhole(before)) return withPort(text);
  return { ...withPort(before), protocol };
}

/** Whether a text names somebody already, so that what follows is a protocol. */
function isWhole(text: string): boolean {
  const { place, port } = withPort(text);
  if (port !== undefined || parseAddress(place) !== undefined) return true;
  const parts = place.split('/');
  const kind = KINDS.get(parts[0] ?? '');
  return parts.length === (kind === 'pod' || kind === 'service' ? 3 : 2) || isServiceName(place);
}

function withPort(text: string): Omit<Parts, 'protocol'> {
  const bracketed = /^\[([^\]]*)\](?::(.*))?$/s.exec(text);
  if (bracketed !== null) {
    const [, place = '', port] = bracketed;
    return { place, ...(port === undefined ? {} : { port: portOf(port, text) }) };
  }
  // An IPv6 address without brackets has no port.
  if (parseAddress(text) !== undefined) return { place: text };
  const [, place, port] = /^([^:]*):([^:]*)$/s.exec(text) ?? [];
  return place === undefined || port === undefined
    ? { place: text }
    : { place, port: portOf(port, text) };
}

function portOf(text: string, whole: string): number | string {
  const number = Number(text);
  if (/^\d{1,5}$/.test(text) && number >= 1 && number <= HIGHEST_PORT) return number;
  if (PORT_NAME.test(text)) return text;
  throw new ConfigurationError(
    DESTINATION,
    `"${whole}": "${text}" is no port; write a number from 1 to ${HIGHEST_PORT}, or the name of a service's port`,
  );
}

/** `db.blue.svc`, and with the domain of the cluster. */
const SERVICE_NAME = /^([^.]+)\.([^.]+)\.svc(?:\..+)?\.?$/;
const isServiceName = (place: string): boolean => SERVICE_NAME.test(place);

/** Multicast (RFC 5771, RFC 4291 §2.7), and broadcast. */
const isGroup = (address: string): boolean =>
  ['224.0.0.0/4', 'ff00::/8', '255.255.255.255/32'].some((group) => contains(group, address));

function destinationOf(place: string, namespace: string): AskedDestination {
  const address = parseAddress(place);
  if (address !== undefined) {
    if (isGroup(place))
      throw new ConfigurationError(
        DESTINATION,
        `"${place}" is an address of a group, which many may have: write that of one`,
      );
    return { kind: 'address', address: formatAddress(address) };
  }
  const [, service, itsNamespace] = SERVICE_NAME.exec(place) ?? [];
  if (service !== undefined && itsNamespace !== undefined && !place.includes('/')) {
    checkName(DESTINATION, service);
    checkName(DESTINATION, itsNamespace);
    return { kind: 'service', namespace: itsNamespace, name: service };
  }
  const [first = '', ...rest] = place.split('/');
  const kind = KINDS.get(first);
  if (kind === 'node' && rest.length === 1) {
    const [name = ''] = rest;
    checkName(DESTINATION, name);
    return { kind, name };
  }
  if (kind !== undefined && kind !== 'node' && (rest.length === 1 || rest.length === 2))
    return { kind, ...objectName(DESTINATION, rest.join('/'), namespace) };
  if (rest.length === 0 && place.includes('.'))
    throw new ConfigurationError(
      DESTINATION,
      `"${place}" is a name of DNS, which may be another address for each client: write the address that the pod gets for it; of a service svc/NAMESPACE/NAME or NAME.NAMESPACE.svc`,
    );
  return { kind: 'either', ...objectName(DESTINATION, place, namespace) };
}

function objectName(argument: string, text: string, namespace: string | undefined): ObjectName {
  const parts = text.split('/');
  const [first = '', second] = parts;
  if (parts.length > 2) throw new ConfigurationError(argument, `"${text}": ${HOW}`);
  const found =
    second === undefined
      ? { namespace: namespace ?? '', name: first }
      : { namespace: first, name: second };
  if (found.namespace === '')
    throw new ConfigurationError(argument, `"${text}": write NAMESPACE/NAME, or -n NAMESPACE`);
  checkName(argument, found.namespace);
  checkName(argument, found.name);
  return found;
}

function checkName(argument: string, name: string): void {
  if (!NAME.test(name))
    throw new ConfigurationError(
      argument,
      `"${name}" can't be a name: names have small letters, digits, "-" and "."; ${HOW}`,
    );
}

/** The question in a line: `Pod blue/web → Service blue/db:5432/tcp`. */
export function packetText({ pod, destination, port, protocol }: AskedPacket): string {
  const to = destinationText(destination);
  const at = port === undefined ? '' : `:${port}`;
  return `Pod ${pod.namespace}/${pod.name} → ${to.includes(':') && at !== '' ? `[${to}]` : to}${at}${protocol === undefined ? '' : `/${protocol}`}`;
}

function destinationText(destination: AskedDestination): string {
  switch (destination.kind) {
    case 'pod':
      return `Pod ${destination.namespace}/${destination.name}`;
    case 'service':
      return `Service ${destination.namespace}/${destination.name}`;
    case 'either':
      return `${destination.namespace}/${destination.name}`;
    case 'node':
      return `Node ${destination.name}`;
    case 'address':
      return destination.address;
  }
}
