/** A service of a network as the host of this node sees it: ports and addresses outside, and endpoints here. Worked out once for nftables and flows. */
import { familyOf, withoutPrefix, type Family } from '../allocators/addresses.ts';
import type { ZoneFacts } from '../model/zone/zone.ts';
import type { NodeGateway } from '../model/model.ts';
import { clusterFamilies, hasGateway } from '../model/rules/network-addresses.ts';
import { DEFAULT_NETWORK } from '../model/read/networks.ts';
import type { ServiceFacts } from '../model/read/services.ts';
import { plainAddress } from './plain-address.ts';

/** Addresses are as nft, Open vSwitch and the kernel print them: nothing else gets into their commands as an address. */
export interface FamilyAddress {
  readonly family: Family;
  readonly address: string;
}

export interface Target extends FamilyAddress {
  readonly port: number;
}

export interface ExposedPort {
  /** `tcp`, `udp` or `sctp`. */
  readonly protocol: 'tcp' | 'udp' | 'sctp';
  readonly port: number;
  /** Absent where the node has none. */
  readonly nodePort: number | undefined;
  /** Endpoints on this node. */
  readonly local: readonly Target[];
  /** Those of them that have an address of the host. */
  readonly onHost: readonly Target[];
}

export interface ExposedService {
  readonly service: ServiceFacts;
  readonly gateway: NodeGateway;
  readonly network: string;
  readonly networkId: number;
  readonly isDefaultNetwork: boolean;
  readonly clusterIps: readonly FamilyAddress[];
  readonly externalIps: readonly FamilyAddress[];
  readonly ports: readonly ExposedPort[];
  /** Texts among its addresses that are none. */
  readonly malformed: readonly string[];
}

export const PROTOCOLS = { TCP: 'tcp', UDP: 'udp', SCTP: 'sctp' } as const;

/** Undefined for a service that the host does not reach by that network: it has no gateway, or another of its networks is the way (reference/api.md §8). */
export function exposedService(
  facts: ZoneFacts,
  network: string,
  key: string,
): ExposedService | undefined {
  return facts.backends.get(network, key)?.isEntry === true
    ? serviceIn(facts, network, key)
    : undefined;
}

/** Undefined for a service that is not in that network, or whose network has no gateway here. */
export function serviceIn(
  facts: ZoneFacts,
  network: string,
  key: string,
): ExposedService | undefined {
  const service = facts.services.get(key);
  const backends = facts.backends.get(network, key);
  const gateway = facts.own('gateway');
  const networkId = facts.rendered.part(network, 'id');
  if (service === undefined || backends === undefined || gateway === undefined) return undefined;
  const isDefaultNetwork = network === DEFAULT_NETWORK;
  if (networkId === undefined || !isServed(facts, network)) return undefined;
  const families = clusterFamilies(facts.settings);
  const ofHost = new Set(
    facts.own('hostAddresses').map((address) => plainAddress(withoutPrefix(address))),
  );
  const malformed: string[] = [];
  const addresses = (texts: readonly string[]): readonly FamilyAddress[] =>
    texts.flatMap((text) => {
      const address = plainAddress(text);
      if (address === undefined) {
        malformed.push(text);
        return [];
      }
      const family = familyOf(address);
      return families.includes(family) ? [{ family, address }] : [];
    });
  return {
    service,
    gateway,
    network,
    networkId,
    isDefaultNetwork,
    clusterIps: addresses(service.clusterIps),
    externalIps: addresses(service.externalIps),
    ports: service.ports.flatMap(({ protocol, port, nodePort }, index): readonly ExposedPort[] => {
      const found = backends.ports[index];
      if (found === undefined) return [];
      const local = families.flatMap((family) => targetsIn(found.ownLocal[family]));
      return [
        {
          protocol: PROTOCOLS[protocol],
          port,
          nodePort: gateway.nodePortEnable ? nodePort : undefined,
          local,
          onHost: local.filter(({ address }) => ofHost.has(address)),
        },
      ];
    }),
    malformed,
  };
}

/** True for a network that has a gateway, and so services. */
function isServed({ rendered }: ZoneFacts, network: string): boolean {
  const name = rendered.part(network, 'name');
  const role = rendered.part(network, 'role');
  const isOptedIn = rendered.part(network, 'isOptedIn') === true;
  if (name === undefined || role === undefined) return false;
  return hasGateway({ name, role, ...(isOptedIn ? { isOptedIn } : {}) });
}

/** Targets of one family as load balancers list them: `10.0.0.1:80,[fd00::1]:80`. */
export function targetsIn(text: string): readonly Target[] {
  if (text === '') return [];
  return text.split(',').flatMap((one) => {
    const colon = one.lastIndexOf(':');
    const address = plainAddress(one.slice(0, colon).replace(/^\[|\]$/g, ''));
    const port = Number(one.slice(colon + 1));
    return address === undefined ? [] : [{ family: familyOf(address), address, port }];
  });
}
