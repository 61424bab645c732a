/** Ports of this node that lead to a pod, as the host sees them: one for each address. Worked out once for nftables, flows and connections. */
import { familyOf, nthAddress, type Family } from '../allocators/addresses.ts';
import { MASQUERADE_OFFSETS } from '../allocators/node-addresses.ts';
import { DEFAULT_NETWORK } from '../model/read/networks.ts';
import { clusterFamilies } from '../model/rules/network-addresses.ts';
import { hostPortAddress } from '../model/rules/host-ports.ts';
import type { ZoneFacts } from '../model/zone/zone.ts';
import { PROTOCOLS, type ExposedPort, type Target } from './exposed-services.ts';
import { plainAddress } from './plain-address.ts';

export interface ExposedHostPort {
  readonly protocol: ExposedPort['protocol'];
  /** Address and port of the node. */
  readonly at: Target;
  /** Of the pod. */
  readonly target: Target;
  /** Where the host sends who comes from outside; absent where it is no way. */
  readonly fromOutside: Target | undefined;
  /** Where it sends everybody else, its own processes too; absent where no number of a port is free there. */
  readonly fromHost: Target | undefined;
}

export interface ExposedHostPorts {
  readonly network: string;
  readonly networkId: number;
  readonly isDefaultNetwork: boolean;
  readonly ports: readonly ExposedHostPort[];
}

/** Undefined for a pod without such ports, or whose network has no gateway here. */
export function exposedHostPorts(
  facts: ZoneFacts,
  namespace: string,
  pod: string,
): ExposedHostPorts | undefined {
  const found = facts.hostPorts.get(namespace, pod);
  const gateway = facts.own('gateway');
  if (found === undefined || gateway === undefined) return undefined;
  const { network, addresses } = found;
  const networkId = facts.rendered.part(network, 'id');
  if (networkId === undefined) return undefined;
  const isDefaultNetwork = network === DEFAULT_NETWORK;
  const families = clusterFamilies(facts.settings);
  const atService = (family: Family, port: number): Target | undefined => {
    const address = hostPortAddress(facts.settings, family);
    return address === undefined ? undefined : { family, address, port };
  };
  const locally = (family: Family, port: number): Target | undefined => {
    const subnet = facts.settings.masqueradeSubnets[family];
    return subnet === undefined
      ? undefined
      : { family, address: nthAddress(subnet, MASQUERADE_OFFSETS.hostEtpLocal), port };
  };
  const ports = found.ports.flatMap((one) => {
    const { port, containerPort, alias } = one;
    return [...one.addresses, ...one.loopback].flatMap((text): ExposedHostPort[] => {
      const address = plainAddress(text);
      if (address === undefined) return [];
      const family = familyOf(address);
      const ofPod = plainAddress(addresses[family] ?? '');
      if (ofPod === undefined || !families.includes(family)) return [];
      const target: Target = { family, address: ofPod, port: containerPort };
      const atGateway = alias === undefined ? undefined : atService(family, alias);
      const isLoopback = one.loopback.includes(text);
      // Answers leave by way of the host in local gateway mode alone.
      const isWay = gateway.mode === 'local' && !isLoopback && !isDefaultNetwork;
      return [
        {
          protocol: PROTOCOLS[one.protocol],
          at: { family, address, port },
          target,
          fromOutside: isWay && alias !== undefined ? locally(family, alias) : undefined,
          fromHost: isDefaultNetwork ? target : atGateway,
        },
      ];
    });
  });
  return { network, networkId, isDefaultNetwork, ports };
}
