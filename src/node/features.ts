/** Everything that Heddle keeps true on a node's host. Of two features that want one name the earlier one has it. */
import type { Feature } from '../desired/features.ts';
import type { ZoneFacts } from '../model/facts.ts';
import {
  bridgeFlows,
  bridgeFlowsOfNetwork,
  bridgeFlowsOfNode,
  bridgeFlowsOfService,
} from './bridge-flows.ts';
import { healthChecks } from './health-checks.ts';
import type { HostSettings } from './host-network.ts';
import { hostMasquerade, integrationBridge, kernelRules } from './masquerade.ts';
import { hostOfNetwork } from './network.ts';
import { nftFeatures } from './nft/features.ts';
import { serviceConnections } from './service-connections.ts';

export const hostFeatures = (settings: HostSettings): readonly Feature<ZoneFacts>[] => [
  kernelRules,
  integrationBridge,
  hostMasquerade,
  hostOfNetwork(settings),
  bridgeFlows,
  bridgeFlowsOfNode,
  bridgeFlowsOfNetwork,
  bridgeFlowsOfService,
  ...nftFeatures,
  healthChecks,
  serviceConnections,
];
