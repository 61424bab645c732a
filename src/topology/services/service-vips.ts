/** Which addresses of a service lead where on this node: at its switch, at its gateway router, at both (reference/topology.md §15.2). Pure. */

import { FAMILIES, familyOf, type Family } from '../../allocators/addresses.ts';
import {
  socketAddress,
  withHostAt,
  type Backends,
  type PortBackends,
  type Targets,
} from '../../model/rules/backends.ts';
import type { PerFamily } from '../../model/model.ts';
import type { ServiceFacts, ServicePort } from '../../model/read/services.ts';
import { LASTING_AFFINITY, type Vips } from './load-balancer-rows.ts';

/** A port of a service with its endpoints. */
export interface BackedPort extends ServicePort {
  readonly backends: PortBackends;
}

export const backedPorts = (service: ServiceFacts, backends: Backends): readonly BackedPort[] =>
  service.ports.flatMap((port, index) => {
    const found = backends.ports[index];
    return found === undefined ? [] : { ...port, backends: found };
  });

/** True for a service whose node ports are the same on all nodes but for the nodes' addresses. */
export const hasPlainNodePorts = ({ isExternallyLocal, affinity }: ServiceFacts): boolean =>
  !isExternallyLocal && (affinity === undefined || affinity === LASTING_AFFINITY);

/** The addresses of cluster, and those from outside where it makes no difference on which node they are met. */
const sharedAddresses = ({
  clusterIps,
  externalIps,
  isExternallyLocal,
}: ServiceFacts): readonly string[] =>
  isExternallyLocal ? clusterIps : [...clusterIps, ...externalIps];

/** True if the port's cluster addresses lead to other targets on each node. */
const differsByNode = (service: ServiceFacts, { backends }: BackedPort): boolean =>
  backends.hasHostEndpoints || service.isInternallyLocal;

const targetsFor = (address: string, targets: Targets): string => targets[familyOf(address)];

/** Addresses that lead to the same targets everywhere in the network. */
export function clusterVips(
  service: ServiceFacts,
  ports: readonly BackedPort[],
  reached: 'all' | 'own',
): Vips {
  const vips: Record<string, string> = {};
  for (const port of ports)
    if (!differsByNode(service, port))
      for (const address of sharedAddresses(service))
        vips[socketAddress(address, port.port)] = targetsFor(address, port.backends[reached]);
  return vips;
}

/**
 * Addresses of the network's pool: whoever asks is a pod, so that neither traffic policy is about them. `reached` own: as pods of connected networks
 * may use them, which a host's processes are not connected with.
 */
export function poolVips(
  addresses: readonly string[],
  ports: readonly BackedPort[],
  reached: 'all' | 'own',
): Vips {
  const vips: Record<string, string> = {};
  for (const { port, backends } of ports)
    if (reached === 'all' || !backends.hasHostEndpoints)
      for (const address of addresses)
        vips[socketAddress(address, port)] = targetsFor(address, backends[reached]);
  return vips;
}

/** Cluster addresses that lead to endpoints of this node, as pods of connected networks may use them: those of the network itself. */
export function localClusterVips(service: ServiceFacts, ports: readonly BackedPort[]): Vips {
  const vips: Record<string, string> = {};
  if (service.isInternallyLocal)
    for (const { port, backends } of ports)
      for (const address of service.clusterIps)
        vips[socketAddress(address, port)] = targetsFor(address, backends.ownLocal);
  return vips;
}

/** This node, as its load balancers depend on it. */
export interface ServiceNode {
  /** Every address of the host. */
  readonly hostAddresses: readonly string[];
  /** Those of its gateway: what of the targets is there, a gateway router reaches at `hostMasquerade`. */
  readonly gatewayAddresses: readonly string[];
  readonly hasNodePorts: boolean;
  readonly hostMasquerade: PerFamily<string>;
  /** Where the host sends what must stay on this node. */
  readonly localMasquerade: PerFamily<string>;
}

export interface NodeVips {
  readonly onSwitch: Vips;
  readonly onRouter: Vips;
  /** At the gateway router, with the source address kept. */
  readonly onRouterLocally: Vips;
}

interface NodeVipsOptions {
  /** False where node ports are elsewhere. */
  readonly nodePorts: boolean;
  /** On a primary network processes of the host come to cluster addresses by the gateway router; on the default network by the switch, where their policy is Local. */
  readonly isPrimary: boolean;
}

/** Addresses that lead to targets of this node's own. */
export function nodeVips(
  service: ServiceFacts,
  ports: readonly BackedPort[],
  node: ServiceNode,
  { nodePorts, isPrimary }: NodeVipsOptions,
): NodeVips {
  const onSwitch: Record<string, string> = {};
  const onRouter: Record<string, string> = {};
  const onRouterLocally: Record<string, string> = {};
  const { clusterIps, externalIps, isExternallyLocal, isInternallyLocal } = service;
  const atRouter = (address: string, targets: Targets): string => {
    const family = familyOf(address);
    return withHostAt(targets[family], node.gatewayAddresses, node.hostMasquerade[family]);
  };
  /** An address from outside: at the gateway router it leads to this node's endpoints, if the service wants that and there are any. */
  const fromOutside = (address: string, port: number, backends: PortBackends): void => {
    const vip = socketAddress(address, port);
    onSwitch[vip] = targetsFor(address, backends.all);
    const targets = atRouter(address, isExternallyLocal ? backends.ownLocal : backends.own);
    if (isExternallyLocal && targets !== '') onRouterLocally[vip] = targets;
    else onRouter[vip] = targets;
  };
  // Node ports and external addresses come to the gateway router as the cluster address, and mean all endpoints.
  const isOnlyInside =
    externalIps.length === 0 && ports.every((port) => port.nodePort === undefined);
  for (const port of ports) {
    const { backends } = port;
    if (nodePorts && node.hasNodePorts && port.nodePort !== undefined)
      for (const address of node.hostAddresses) {
        const family = familyOf(address);
        const masquerade = node.localMasquerade[family];
        if (isExternallyLocal && masquerade !== undefined)
          onSwitch[socketAddress(masquerade, port.nodePort)] = backends.ownLocal[family];
        fromOutside(address, port.nodePort, backends);
      }
    if (isExternallyLocal)
      for (const address of externalIps) fromOutside(address, port.port, backends);
    if (differsByNode(service, port))
      for (const address of sharedAddresses(service)) {
        const isLocal = isInternallyLocal && clusterIps.includes(address);
        const vip = socketAddress(address, port.port);
        onSwitch[vip] = targetsFor(address, isLocal ? backends.local : backends.all);
        const isLocalAtRouter = isLocal && isOnlyInside && isPrimary;
        onRouter[vip] = atRouter(address, isLocalAtRouter ? backends.ownLocal : backends.own);
      }
  }
  return { onSwitch, onRouter, onRouterLocally };
}

/** Node ports that have the chassis fill in its addresses, of one family. */
export interface TemplateVips {
  readonly family: Family;
  readonly onSwitch: Vips;
  readonly onRouter: Vips;
}

export const IP_FAMILY: Readonly<Record<Family, string>> = { v4: 'IPv4', v6: 'IPv6' };

/** A variable is referred to with this in front of its name. */
const REFERENCE = '^';

/** Variable with the `index`-th address of the chassis' host in the family. */
const nodeAddressVariable = (family: Family, index: number): string =>
  `NODEIP_${IP_FAMILY[family]}_${index}`;

/** Variable with the targets that a node port has at the gateway router: other characters than these OVN doesn't take. */
const targetsVariable = (
  service: string,
  { protocol, nodePort }: Pick<BackedPort, 'protocol' | 'nodePort'>,
  family: Family,
): string =>
  `Service_${service}_${protocol}_${nodePort}_node_router_template_${IP_FAMILY[family]}`
    .replaceAll('_', '__')
    .replaceAll(/[/\-$@]/g, '_');

/** Targets of a node port at this node's gateway router; undefined where they are the same on every node. */
function ownTargets(
  { backends }: BackedPort,
  node: ServiceNode,
  family: Family,
): string | undefined {
  if (!backends.hasHostEndpoints) return undefined;
  const all = backends.all[family];
  const own = withHostAt(all, node.gatewayAddresses, node.hostMasquerade[family]);
  return own === all ? undefined : own;
}

const ofFamily = (addresses: readonly string[], family: Family): readonly string[] =>
  addresses.filter((address) => familyOf(address) === family);

export function templateVips(
  service: ServiceFacts,
  ports: readonly BackedPort[],
  node: ServiceNode,
  families: readonly Family[],
): readonly TemplateVips[] {
  return families.map((family) => {
    const onSwitch: Record<string, string> = {};
    const onRouter: Record<string, string> = {};
    for (const [index] of ofFamily(node.hostAddresses, family).entries())
      for (const port of ports) {
        if (port.nodePort === undefined) continue;
        const vip = `${REFERENCE}${nodeAddressVariable(family, index)}:${port.nodePort}`;
        const all = port.backends.all[family];
        onSwitch[vip] = all;
        onRouter[vip] =
          ownTargets(port, node, family) === undefined
            ? all
            : `${REFERENCE}${targetsVariable(service.key, port, family)}`;
      }
    return { family, onSwitch, onRouter };
  });
}

/** What this chassis fills in for node ports of a service whose targets differ by node. */
export const targetVariables = (
  service: ServiceFacts,
  ports: readonly BackedPort[],
  node: ServiceNode,
): Readonly<Record<string, string>> =>
  Object.fromEntries(
    ports.flatMap((port) =>
      FAMILIES.flatMap((family) => {
        const own = port.nodePort === undefined ? undefined : ownTargets(port, node, family);
        return own === undefined ? [] : [[targetsVariable(service.key, port, family), own]];
      }),
    ),
  );

/** Addresses of this host, by the variables that stand for them. */
export const addressVariables = (
  hostAddresses: readonly string[],
  families: readonly Family[],
): Readonly<Record<string, string>> =>
  Object.fromEntries(
    families.flatMap((family) =>
      ofFamily(hostAddresses, family).map((address, index) => [
        nodeAddressVariable(family, index),
        address,
      ]),
    ),
  );
