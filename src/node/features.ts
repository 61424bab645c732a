/** Everything that Heddle keeps true on a node's host. Of two features that want one name the earlier one has it. */
import type { Feature } from '../desired/features.ts';
import type { ZoneFacts } from '../model/zone/zone.ts';
import {
  bridgeFlows,
  bridgeFlowsOfNetwork,
  bridgeFlowsOfEgressAddresses,
  bridgeFlowsOfEgressIp,
  bridgeFlowsOfGatewayEgress,
  bridgeFlowsOfEgressService,
  bridgeFlowsOfNode,
  bridgeFlowsOfHostPorts,
  bridgeFlowsOfService,
  bridgeFlowsOfConnectedService,
} from './openflow/bridge-flows.ts';
import { healthChecks } from './health-checks/health-checks.ts';
import type { HostSettings } from './networks/host-network.ts';
import {
  egressServiceNetworks,
  egressServicePodsOnHost,
  egressServiceRules,
} from './networks/egress-services.ts';
import { egressAddressesOnHost } from './networks/egress-addresses.ts';
import {
  egressCardNetworks,
  egressCardPods,
  egressCards,
  egressToNodes,
} from './networks/egress-cards.ts';
import { dnsForwarder } from './networks/dns-forwarder.ts';
import { hostMasquerade, integrationBridge, kernelRules } from './networks/masquerade.ts';
import { hostRoutesOfNetwork } from './networks/host-routes.ts';
import { hostOfNetwork } from './networks/network.ts';
import { nftFeatures } from './nftables/nft-features.ts';
import { egressConnections, nodesOfConnections } from './conntrack/egress-connections.ts';
import { hopConnections } from './conntrack/hop-connections.ts';
import { hostPortConnections, serviceConnections } from './conntrack/service-connections.ts';
import { vrfSockets } from './networks/vrf-sockets.ts';

export const hostFeatures = (settings: HostSettings): readonly Feature<ZoneFacts>[] => [
  kernelRules(settings),
  vrfSockets(settings),
  integrationBridge,
  hostMasquerade,
  hostOfNetwork(settings),
  hostRoutesOfNetwork(settings),
  bridgeFlows,
  bridgeFlowsOfNode,
  bridgeFlowsOfNetwork,
  bridgeFlowsOfService,
  bridgeFlowsOfConnectedService,
  bridgeFlowsOfHostPorts,
  bridgeFlowsOfEgressAddresses,
  bridgeFlowsOfEgressIp,
  bridgeFlowsOfGatewayEgress,
  bridgeFlowsOfEgressService,
  egressAddressesOnHost,
  egressCards(settings),
  egressCardPods(settings),
  egressCardNetworks(settings),
  egressToNodes,
  dnsForwarder,
  egressServicePodsOnHost(settings),
  egressServiceNetworks(settings),
  egressServiceRules(settings),
  ...nftFeatures,
  healthChecks,
  serviceConnections,
  hostPortConnections,
  hopConnections,
  nodesOfConnections,
  egressConnections,
];
