/** Everything that Heddle keeps in its nftables table. */
import type { Feature } from '../../desired/features.ts';
import type { ZoneFacts } from '../../model/zone/zone.ts';
import { baseChains } from './base-chains.ts';
import { defaultAccess, defaultAccessPods } from './default-access.ts';
import {
  egressAddressElements,
  egressCardNetworks,
  egressCardPod,
  egressChains,
  egressPodElsewhere,
} from './egress.ts';
import { hostPortElements } from './host-ports.ts';
import { hostNetworkPods, hostPodChains, networkHostPods } from './host-network-pods.ts';
import { isolatedPods, isolationChain } from './isolation.ts';
import { managementPortForward, networkForward } from './management-port-forward.ts';
import { managementPortSnat } from './management-port-snat.ts';
import { masqueradeChains } from './local-gateway-masquerade.ts';
import { networkMark } from './network-mark.ts';
import { nodePortAccess } from './node-port-access.ts';
import { ownNodeAddresses, remoteNodeAddresses } from './node-addresses.ts';
import { serviceElements } from './services.ts';
import { tunnelChains, tunnelPeers } from './tunnels.ts';

export const nftFeatures: readonly Feature<ZoneFacts>[] = [
  baseChains,
  masqueradeChains,
  managementPortSnat,
  managementPortForward,
  networkForward,
  tunnelChains,
  tunnelPeers,
  remoteNodeAddresses,
  ownNodeAddresses,
  networkMark,
  isolationChain,
  isolatedPods,
  hostPodChains,
  networkHostPods,
  hostNetworkPods,
  defaultAccess,
  defaultAccessPods,
  nodePortAccess,
  serviceElements,
  hostPortElements,
  egressChains,
  egressCardPod,
  egressPodElsewhere,
  egressCardNetworks,
  egressAddressElements,
];
