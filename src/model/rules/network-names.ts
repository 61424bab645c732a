/**
 * What a pod of a primary network is told by DNS (decisions/network-names.md): of names of its own networks what is true there, of those of other
 * tenants that there is nothing, and of all else what the cluster's DNS says. Names are in lower case, without the dot at their end. Pure.
 */
import { formatAddress, parseAddress, type Family } from '../../allocators/addresses.ts';
import type { SliceNames } from '../read/endpoint-names.ts';
import type { ServicePort } from '../read/services.ts';

/** Types of records (RFC 1035 §3.2.2, RFC 3596, RFC 2782). */
export const TYPE = { A: 1, CNAME: 5, PTR: 12, AAAA: 28, SRV: 33, ANY: 255 } as const;

export type NameRecord =
  | { readonly name: string; readonly type: 'A' | 'AAAA'; readonly address: string }
  | {
      readonly name: string;
      readonly type: 'SRV';
      readonly weight: number;
      readonly port: number;
      readonly target: string;
    }
  | { readonly name: string; readonly type: 'PTR'; readonly target: string };

/** What a name is answered with. */
export type NameAnswer =
  /** The cluster's DNS says it. */
  | { readonly kind: 'cluster' }
  /** There is no such name in the zone. */
  | { readonly kind: 'missing'; readonly zone: string }
  | {
      readonly kind: 'known';
      readonly zone: string;
      /** None: the name has nothing of that type. */
      readonly records: readonly NameRecord[];
      /** Addresses of what the records lead to. */
      readonly additional: readonly NameRecord[];
    };

/** What is known of the cluster from where the asking pod is. Services are `<namespace>/<name>`. */
export interface NameView {
  /** Of the cluster: `cluster.local`. */
  readonly domain: string;
  /** Networks of a namespace whose pods are reached from here; none of one whose services are reached alone; undefined for a namespace of others. */
  networksOf(namespace: string): readonly string[] | undefined;
  /** True for a service of the default network that is open to every network. */
  isOpen(service: string): boolean;
  /** True for a namespace with such services. */
  hasOpen(namespace: string): boolean;
  /** A service with cluster IPs: those that are reached from here. */
  clusterService(
    service: string,
  ): { readonly clusterIps: readonly string[]; readonly ports: readonly ServicePort[] } | undefined;
  slicesOf(network: string, service: string): readonly SliceNames[];
  /** Pods are behind the service, whether or not something is known of them on a network yet. */
  isOfPods(service: string): boolean;
  /** The address may be one of a pod of the namespace, or is a node's. */
  mayHave(namespace: string, address: string): boolean;
  /** Services of a cluster IP. */
  servicesAt(address: string): readonly string[];
  /** Networks from here that have the address in their ranges; undefined for one that is in none of the cluster's primary networks. */
  networksAt(address: string): readonly string[] | undefined;
  endpointsAt(network: string, address: string): readonly SliceNames[];
}

const CLUSTER: NameAnswer = { kind: 'cluster' };
const REVERSE = /^(?<labels>.*)\.(?<zone>in-addr\.arpa|ip6\.arpa)$/;

/** The labels before a domain; undefined for a name that is not below it. */
function labelsBelow(name: string, domain: string): readonly string[] | undefined {
  if (name === domain) return [];
  return name.endsWith(`.${domain}`) ? name.slice(0, -domain.length - 1).split('.') : undefined;
}

/** What is answered to a question for a type of records. */
export function answerTo(view: NameView, name: string, type: number): NameAnswer {
  const missing: NameAnswer = { kind: 'missing', zone: view.domain };
  // Nothing of the cluster is called so: as what else it could be read nobody finds out.
  if (name.includes('\\') && labelsBelow(name.replaceAll('\\046', '.'), view.domain) !== undefined)
    return missing;
  const labels = labelsBelow(name, view.domain);
  if (labels === undefined) return reverseAnswer(view, name, type);
  const [branch, namespace, ...front] = labels.toReversed();
  if ((branch !== 'svc' && branch !== 'pod') || namespace === undefined) return CLUSTER;
  const networks = view.networksOf(namespace);
  const [service] = front;
  if (networks === undefined) {
    if (branch === 'pod' || !view.hasOpen(namespace)) return missing;
    return service === undefined || view.isOpen(`${namespace}/${service}`) ? CLUSTER : missing;
  }
  if (service === undefined) return knownAs(view, []);
  if (branch === 'pod')
    return front.length > 1 ? missing : podAnswer(view, { name, type, namespace, label: service });
  return serviceAnswer(view, networks, {
    name,
    type,
    service: `${namespace}/${service}`,
    front: front.slice(1).toReversed(),
  });
}

/** True for a name that tells of what is not for this client: of namespaces of others. */
export const isHidden = (view: NameView, name: string): boolean => {
  const labels = labelsBelow(name, view.domain);
  if (labels === undefined) return false;
  const [branch, namespace, service] = labels.toReversed();
  if ((branch !== 'svc' && branch !== 'pod') || namespace === undefined) return false;
  if (view.networksOf(namespace) !== undefined) return false;
  return branch === 'pod' || !view.isOpen(`${namespace}/${service ?? ''}`);
};

const knownAs = (
  view: NameView,
  records: readonly NameRecord[],
  additional: readonly NameRecord[] = [],
): NameAnswer => ({ kind: 'known', zone: view.domain, records, additional });

const familyTypes: Readonly<
  Record<Family, { readonly type: 'A' | 'AAAA'; readonly code: number }>
> = { v4: { type: 'A', code: TYPE.A }, v6: { type: 'AAAA', code: TYPE.AAAA } };

/** Addresses of a name, each once; of the family that is asked for. */
function addressRecords(
  name: string,
  addresses: Iterable<string>,
  type: number = TYPE.ANY,
): readonly NameRecord[] {
  return [...new Set(addresses)].flatMap((address) => {
    const of = familyTypes[address.includes(':') ? 'v6' : 'v4'];
    return type === of.code || type === TYPE.ANY ? { name, type: of.type, address } : [];
  });
}

interface PodQuestion {
  readonly name: string;
  readonly type: number;
  readonly namespace: string;
  readonly label: string;
}

/** `10-1-2-3.<namespace>.pod.<domain>`: the address itself, where it may be a pod's. */
function podAnswer(view: NameView, { name, type, namespace, label }: PodQuestion): NameAnswer {
  const isV4 = /^\d+-\d+-\d+-\d+$/.test(label);
  const parsed = parseAddress(label.replaceAll('-', isV4 ? '.' : ':'));
  const address = parsed && formatAddress(parsed);
  if (address === undefined || !view.mayHave(namespace, address))
    return { kind: 'missing', zone: view.domain };
  return knownAs(view, addressRecords(name, [address], type));
}

interface ServiceQuestion {
  readonly name: string;
  readonly type: number;
  readonly service: string;
  /** Labels before the service's, in the order of the name. */
  readonly front: readonly string[];
}

/** A place that a name leads to: an endpoint and one of its ports. */
interface Place {
  readonly label: string;
  readonly address: string;
  readonly port: { readonly name: string; readonly protocol: string; readonly port: number };
}

function serviceAnswer(
  view: NameView,
  networks: readonly string[],
  { name, type, service, front }: ServiceQuestion,
): NameAnswer {
  const missing: NameAnswer = { kind: 'missing', zone: view.domain };
  const cluster = view.clusterService(service);
  const slices = networks.flatMap((network) => view.slicesOf(network, service));
  const isOfPods = slices.length > 0 || view.isOfPods(service);
  // An alias, endpoints that somebody wrote by hand, or nothing at all.
  if (cluster === undefined && !isOfPods) return CLUSTER;
  const [first = '', second = '', ...more] = front;
  const isPort = first.startsWith('_') && second.startsWith('_');
  if (more.length > 0 || (front.length === 2 && !isPort)) return missing;
  const isAsked = (port: { readonly name: string; readonly protocol: string }): boolean =>
    !isPort || (port.name === first.slice(1) && port.protocol.toLowerCase() === second.slice(1));
  const base = name.slice(front.reduce((length, label) => length + label.length + 1, 0));
  if (cluster !== undefined && front.length !== 1) {
    const ports = cluster.ports.filter(isAsked);
    if (isPort && ports.length === 0) return missing;
    if (type !== TYPE.SRV) return knownAs(view, addressRecords(name, cluster.clusterIps, type));
    const targets = cluster.clusterIps.length === 0 ? [] : [base];
    return knownAs(
      view,
      srvRecords(
        name,
        targets.flatMap((target) => ports.map(({ port }) => ({ target, port }))),
      ),
      addressRecords(base, cluster.clusterIps),
    );
  }
  if (!isOfPods) return CLUSTER;
  const endpoints = slices.flatMap((slice) =>
    slice.endpoints
      .filter(({ label }) => front.length !== 1 || label === first)
      .map((endpoint) => ({ ...endpoint, ports: slice.ports.filter(isAsked) }))
      .filter(({ ports }) => !isPort || ports.length > 0),
  );
  if (endpoints.length === 0) return missing;
  if (type !== TYPE.SRV)
    return knownAs(
      view,
      addressRecords(
        name,
        endpoints.map(({ address }) => address),
        type,
      ),
    );
  const places: readonly Place[] = endpoints.flatMap(({ label, address, ports }) =>
    ports.map((port) => ({ label, address, port })),
  );
  const targetOf = ({ label }: { readonly label: string }): string => `${label}.${base}`;
  return knownAs(
    view,
    srvRecords(
      name,
      places.map((place) => ({ target: targetOf(place), port: place.port.port })),
    ),
    [...new Set(endpoints.map(targetOf))].flatMap((target) =>
      addressRecords(
        target,
        endpoints.filter((one) => targetOf(one) === target).map(({ address }) => address),
      ),
    ),
  );
}

/** Each target and port once, with equal shares of a hundred. */
function srvRecords(
  name: string,
  found: readonly { readonly target: string; readonly port: number }[],
): readonly NameRecord[] {
  const each = new Map(found.map((one) => [`${one.target} ${one.port}`, one]));
  const weight = Math.max(1, Math.floor(100 / Math.max(1, each.size)));
  return [...each.values()].map((one) => ({ name, type: 'SRV', weight, ...one }));
}

const MAPPED = '0000:0000:0000:0000:0000:ffff:';

/** The address of a name below `in-addr.arpa` or `ip6.arpa` (RFC 1035 §3.5, RFC 3596 §2.5); undefined for a part of one. */
export function reverseAddress(name: string): { address: string; zone: string } | undefined {
  const { labels: text = '', zone = '' } = REVERSE.exec(name)?.groups ?? {};
  const labels = text.split('.').reverse();
  const isV4 = zone === 'in-addr.arpa';
  if (zone === '' || labels.length !== (isV4 ? 4 : 32)) return undefined;
  if (!labels.every((label) => (isV4 ? /^(0|[1-9]\d{0,2})$/ : /^[\da-f]$/).test(label)))
    return undefined;
  const words = Array.from({ length: 8 }, (_, at) => labels.slice(at * 4, at * 4 + 4).join(''));
  const written = isV4 ? labels.join('.') : words.join(':');
  // The cluster's DNS takes an IPv4 address in IPv6's form for that IPv4 address.
  const parsed = parseAddress(
    !isV4 && written.startsWith(MAPPED)
      ? [24, 26, 28, 30]
          .map((at) => Number.parseInt(labels.slice(at, at + 2).join(''), 16))
          .join('.')
      : written,
  );
  return parsed && { address: formatAddress(parsed), zone };
}

function reverseAnswer(view: NameView, name: string, type: number): NameAnswer {
  const found = reverseAddress(name);
  if (found === undefined) return CLUSTER;
  const { address, zone } = found;
  const missing: NameAnswer = { kind: 'missing', zone };
  const own = (targets: readonly string[]): NameAnswer => ({
    kind: 'known',
    zone,
    records:
      type === TYPE.PTR || type === TYPE.ANY
        ? [...new Set(targets)].map((target) => ({ name, type: 'PTR', target }))
        : [],
    additional: [],
  });
  const nameOf = (service: string): string => {
    const [namespace = '', of = ''] = service.split('/');
    return `${of}.${namespace}.svc.${view.domain}`;
  };
  const services = view.servicesAt(address);
  if (services.length > 0) {
    const reached = services.filter(
      (service) => view.clusterService(service)?.clusterIps.includes(address) === true,
    );
    if (reached.length > 0) return own(reached.map(nameOf));
    return services.some((service) => view.isOpen(service)) ? CLUSTER : missing;
  }
  const networks = view.networksAt(address);
  if (networks === undefined) return CLUSTER;
  const targets = networks
    .flatMap((network) => view.endpointsAt(network, address))
    .flatMap(({ service, endpoints }) =>
      endpoints
        .filter((one) => one.address === address)
        .map(({ label }) => `${label}.${nameOf(service)}`),
    );
  return targets.length === 0 ? missing : own(targets);
}
