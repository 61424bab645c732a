/**
 * Gateways of secondary networks (decisions/secondary-gateways.md). The cluster manager passes on what an object asks for, nodes build it, and
 * pods get routes: all read it here. Pure.
 */
import {
  formatPrefix,
  overlaps,
  parseInterfaceAddress,
  parsePrefix,
  prefixOf,
  type Prefix,
} from '../../allocators/addresses.ts';
import { asList, asObject, parseJson } from '../annotations/annotations.ts';
import { SECONDARY_GATEWAY } from '../annotations/network-annotations.ts';
import { errorText } from '../error-text.ts';
import type { ClusterAddressing, NetworkConfig } from './network-config.ts';
import { closedRanges } from '../validation/closed-ranges.ts';
import { own } from '../plain-object.ts';
import { fail, succeed, type Result } from '../result.ts';
import { formatValue } from '../validation/field-errors.ts';
import { formatOverlap, networkOverlap } from '../validation/overlap.ts';

/** What a gateway depends on of its network. */
export type SecondaryNetwork = Pick<
  NetworkConfig,
  | 'topology'
  | 'role'
  | 'transport'
  | 'subnets'
  | 'excludeSubnets'
  | 'joinSubnets'
  | 'transitSubnets'
  | 'hasRouter'
>;

/** What it depends on of the cluster. */
export interface GatewaySettings extends ClusterAddressing {
  /** An administrator lets secondary networks have one: policies of namespaces and administrators do not bind what leaves there. */
  readonly secondaryGateways: boolean;
}

/** What pods send out by a secondary network. */
export interface SecondaryGateway {
  /** Destinations, in canonical form. */
  readonly routes: readonly string[];
}

/** Routes that one network may give to its pods. */
const MOST_ROUTES = 64;

const FIELD = `metadata.annotations[${SECONDARY_GATEWAY}]`;
const REMEDY = 'write {"routes": ["203.0.113.0/24"]}, or {} for a gateway without routes';

const wrong = (value: unknown, why: string): Result<never> =>
  fail(`${FIELD}: ${formatValue(value)} ${why}`);

/** What an annotation asks for, or what is wrong, with field, value and remedy. */
export function readSecondaryGateway(
  text: string,
  network: SecondaryNetwork,
  settings: GatewaySettings,
): Result<SecondaryGateway> {
  const why = whyNoGateway(network, settings);
  if (why !== undefined) return wrong(text, why);
  const asked = routesOf(text);
  if (asked.kind === 'invalid') return asked;
  if (asked.value.length > MOST_ROUTES)
    return wrong(
      text,
      `has ${asked.value.length} routes, a network may have ${MOST_ROUTES}; join them`,
    );
  const routes: string[] = [];
  for (const value of asked.value) {
    const route = readRoute(value, network, settings);
    if (route.kind === 'invalid') return route;
    routes.push(route.value);
  }
  return succeed({ routes: [...new Set(routes)] });
}

/** Why a network can't have one at all. */
function whyNoGateway(network: SecondaryNetwork, settings: GatewaySettings): string | undefined {
  if (!settings.secondaryGateways)
    return 'asks for a gateway, and secondary networks of this cluster have none: an administrator sets secondary-gateways to true, or remove the annotation';
  if (network.role !== 'secondary')
    return 'asks for what a primary network has anyway; remove the annotation';
  if (network.topology === 'localnet')
    return 'asks for a gateway of a localnet, whose pods are on a physical network; remove the annotation';
  if (network.transport !== undefined)
    return `asks for a gateway of a network with transport ${network.transport}, which has none; remove the annotation`;
  if (network.subnets.length === 0)
    return 'asks for a gateway of a network without subnets, where pods have no addresses to leave with; give the network subnets, or remove the annotation';
  if (network.topology === 'layer2' && network.hasRouter !== true)
    return 'asks for a gateway of a Layer2 network that was made without it, and where pods may have its address; make the network again with the annotation, or remove the annotation';
  const families = new Set(
    prefixes({ subnets: settings.clusterSubnets }).map(({ family }) => family),
  );
  const foreign = prefixes(network).find(({ family }) => !families.has(family));
  if (foreign !== undefined)
    return `asks for a gateway of a network with subnet ${formatPrefix(foreign)}, and the cluster has no addresses of that family; leave the subnet out, or remove the annotation`;
  const overlap = networkOverlap({ ...network, role: 'primary' }, settings);
  return overlap === undefined
    ? undefined
    : `asks for a gateway, and ${formatOverlap(overlap)}; choose other subnets, or remove the annotation`;
}

/** The routes as they are written. */
function routesOf(text: string): Result<readonly unknown[]> {
  try {
    const asked = asObject(parseJson(text));
    const unknown = Object.keys(asked).find((key) => key !== 'routes');
    if (unknown !== undefined)
      return wrong(text, `has ${formatValue(unknown)}, which means nothing; ${REMEDY}`);
    return succeed(asList(own(asked, 'routes') ?? []));
  } catch (error) {
    return wrong(text, `${errorText(error)}; ${REMEDY}`);
  }
}

function readRoute(
  value: unknown,
  network: SecondaryNetwork,
  settings: GatewaySettings,
): Result<string> {
  const address = typeof value === 'string' ? parseInterfaceAddress(value) : undefined;
  if (address === undefined)
    return wrong(
      value,
      'is no range of addresses; write ranges as 203.0.113.0/24 or 2001:db8::/32',
    );
  const route = prefixOf(address);
  if (route.base !== address.value)
    return wrong(value, `has bits behind its prefix length; write ${formatPrefix(route)}`);
  if (route.length === 0)
    return wrong(
      value,
      'is the default route, which a pod asks for by default-route in its annotation k8s.v1.cni.cncf.io/networks; leave it out',
    );
  if (!prefixes(network).some(({ family }) => family === route.family))
    return wrong(value, 'is of a family of which the network has no subnet; leave it out');
  const closed = [
    ...closedRanges(settings),
    ...network.subnets.map(({ cidr }) => ({ cidr, name: 'the subnet of the network' })),
  ].find(({ cidr }) => {
    const prefix = parsePrefix(cidr);
    return prefix !== undefined && overlaps(prefix, route);
  });
  return closed === undefined
    ? succeed(formatPrefix(route))
    : wrong(
        value,
        `covers or is in ${closed.name} ${closed.cidr}, where pods have other ways; choose ranges outside of it`,
      );
}

const prefixes = ({ subnets }: Pick<SecondaryNetwork, 'subnets'>): readonly Prefix[] =>
  subnets.map(({ cidr }) => parsePrefix(cidr)).filter((prefix) => prefix !== undefined);

/** True if all NADs of a network ask for a gateway that it can have: one that is behind opens nothing. */
export const isOptedIn = (
  texts: readonly (string | undefined)[],
  network: SecondaryNetwork,
  settings: GatewaySettings,
): boolean =>
  texts.length > 0 &&
  [...new Set(texts)].every(
    (text) => text !== undefined && readSecondaryGateway(text, network, settings).kind === 'value',
  );

/** What is wrong with how a NAD asks for a gateway. `without`: another NAD of the network, which does not ask for one. */
export function nadGatewayProblem(
  text: string,
  network: SecondaryNetwork,
  settings: GatewaySettings,
  without: string | undefined,
): string | undefined {
  const read = readSecondaryGateway(text, network, settings);
  if (read.kind === 'invalid') return `${read.error}: until then the network has no gateway`;
  return without === undefined
    ? undefined
    : `annotation ${SECONDARY_GATEWAY}: NetworkAttachmentDefinition ${without} of the same network has none, and the network no gateway; give it to all of them`;
}

/** Destinations for which pods of a NAD get routes; none where the NAD can't be read. */
export function routesOfNad(
  { config, secondaryGateway }: { config: SecondaryNetwork; secondaryGateway?: string | undefined },
  settings: GatewaySettings,
): readonly string[] | undefined {
  if (secondaryGateway === undefined) return undefined;
  const read = readSecondaryGateway(secondaryGateway, config, settings);
  return read.kind === 'value' ? read.value.routes : undefined;
}
