/** Address sets: one per family, named by the hash of their id. */

import type { Family } from '../../allocators/addresses.ts';
import type { SetVersion } from '../../facts/counted-set.ts';
import { DEFAULT_CONTROLLER } from '../../model/rules/names.ts';
import { claimOfGroups } from './found.ts';
import { hashedName, OBJECT_ID, objectIds, type ExternalIds } from './object-ids.ts';
import type { Rows } from './unit-rows.ts';

export const ADDRESS_SET_CLAIM = claimOfGroups('Address_Set');

export interface AddressSet {
  readonly name: string;
  readonly ids: ExternalIds;
}

function addressSet(ids: ExternalIds & { readonly [OBJECT_ID]: string }): AddressSet {
  return { name: hashedName(ids[OBJECT_ID]), ids };
}

/** Every address of every node. */
export const nodeIps = (family: Family): AddressSet =>
  addressSet(
    objectIds(DEFAULT_CONTROLLER, 'ClusterNodeIPs', { name: 'node-ips', 'ip-family': family }),
  );

/** Pods behind egress services of the default network. */
export const egressServicePods = (family: Family): AddressSet =>
  addressSet(
    objectIds(DEFAULT_CONTROLLER, 'EgressService', {
      name: 'egresssvc-served-pods',
      'ip-family': family,
    }),
  );

/** What DNS knows a name by that rules of EgressFirewalls have: one for all of them. */
export const egressFirewallName = (name: string, family: Family): AddressSet =>
  addressSet(objectIds(DEFAULT_CONTROLLER, 'EgressFirewallDNS', { name, 'ip-family': family }));

/** Addresses of the service of DNS, which pods of primary networks ask by rules with names. */
export const dnsServiceSet = (family: Family): AddressSet =>
  addressSet(objectIds(DEFAULT_CONTROLLER, 'DnsService', { name: 'dns', 'ip-family': family }));

/** Blocks of rules of an EgressFirewall that are one row, by the place of the first. */
export const egressFirewallBlocks = (
  controller: string,
  namespace: string,
  index: number,
  family: Family,
): AddressSet =>
  addressSet(
    objectIds(controller, 'EgressFirewall', {
      name: namespace,
      'rule-index': String(index),
      'ip-family': family,
    }),
  );

/** Pods of a network that leave with an egress IP. */
export const egressIpPods = (family: Family, network: string): AddressSet =>
  addressSet(
    objectIds(DEFAULT_CONTROLLER, 'EgressIP', {
      name: 'egressip-served-pods',
      'ip-family': family,
      network,
    }),
  );

/** Where to an EgressIP for classes of destinations gives its addresses. */
export const egressDestinations = (egressIp: string, family: Family): AddressSet =>
  addressSet(
    objectIds(DEFAULT_CONTROLLER, 'EgressIP', {
      name: `egressip-dest-nets-${egressIp}`,
      'ip-family': family,
    }),
  );

/** Pods of a node that leave by next hops of external routes. */
export const routedPods = (controller: string, node: string, family: Family): AddressSet =>
  addressSet(objectIds(controller, 'HybridNodeRoute', { name: node, 'ip-family': family }));

/** Cluster IPs of the services that every primary network may use. */
export const enabledServiceIps = (family: Family): AddressSet =>
  addressSet(
    objectIds('udn-enabled-svc', 'UDNEnabledService', {
      name: 'udn-enabled-svc-cluster-ips',
      'ip-family': family,
    }),
  );

/** Pods of the default network that reach services of primary networks. */
export const defaultAccessPods = (family: Family): AddressSet =>
  addressSet(
    objectIds(DEFAULT_CONTROLLER, 'DefaultNetworkAccess', { name: 'pods', 'ip-family': family }),
  );

/** Pods of a selection on one network. */
export const selectedPods = (controller: string, selection: string, family: Family): AddressSet =>
  addressSet(objectIds(controller, 'PodSelector', { name: selection, 'ip-family': family }));

/** Those of a selection that call a port by a name and a number; ovn-kubernetes has none. */
export const podsWithPort = (
  controller: string,
  selection: string,
  {
    protocol,
    name,
    port,
  }: { readonly protocol: string; readonly name: string; readonly port: number },
  family: Family,
): AddressSet => selectedPods(controller, `${selection}_PORT{${protocol}/${name}/${port}}`, family);

/** What exceptions leave of the blocks of a rule of a policy; ovn-kubernetes negates the exceptions instead. */
export const blocksOfRule = (
  controller: string,
  policy: { readonly namespace: string; readonly name: string },
  rule: { readonly direction: string; readonly index: number },
  family: Family,
): AddressSet =>
  addressSet(
    objectIds(controller, 'NetworkPolicy', {
      name: `${policy.namespace}:${policy.name}`,
      direction: rule.direction,
      'gress-index': String(rule.index),
      'ip-family': family,
    }),
  );

/** Peers of a rule of a policy of administrators. */
export const adminPeers = (
  controller: string,
  kind: string,
  policy: string,
  rule: { readonly direction: string; readonly index: number },
  family: Family,
): AddressSet =>
  addressSet(
    objectIds(controller, kind, {
      name: policy,
      direction: rule.direction,
      'gress-index': String(rule.index),
      'ip-family': family,
    }),
  );

/** Pods of a rule of an EgressQoS. */
export const egressQosPods = (
  controller: string,
  namespace: string,
  priority: number,
  family: Family,
): AddressSet =>
  addressSet(
    objectIds(controller, 'EgressQoS', {
      name: namespace,
      priority: String(priority),
      'ip-family': family,
    }),
  );

/** Pods of a NetworkQoS (`src`, `0`), or of a destination of one of its rules, by their places. */
export const networkQosPods = (
  controller: string,
  { namespace, name }: { readonly namespace: string; readonly name: string },
  rule: string,
  destination: number,
  family: Family,
): AddressSet =>
  addressSet(
    objectIds(controller, 'NetworkQoS', {
      name: `${namespace}:${name}`,
      'rule-index': rule,
      'ip-block-index': String(destination),
      'ip-family': family,
    }),
  );

export function addAddressSet(
  rows: Rows,
  set: AddressSet,
  addresses: readonly string[] | SetVersion,
): void {
  rows.named('Address_Set', set.name, { addresses, external_ids: set.ids });
}

/** A set that has to exist; its members may be another controller's. */
export function addOpenAddressSet(rows: Rows, set: AddressSet): void {
  rows.namedWithout(['addresses'], 'Address_Set', set.name, { external_ids: set.ids });
}
