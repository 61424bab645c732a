/** Everything that Heddle keeps true in a zone's databases. Of two features that want one name the earlier one has it. */

import type { Feature } from '../desired/features.ts';
import type { ZoneFacts } from '../model/zone/zone.ts';
import { connectedNetworks, connectedWays } from './connect/connected-network.ts';
import { bridgedServices } from './connect/bridged-services.ts';
import { siblingNetworks } from './connect/sibling-networks.ts';
import { connectedRemoteNodes } from './connect/remote-node.ts';
import { connectRouters } from './connect/router.ts';
import { chassisGroup } from './database/chassis-group.ts';
import { zoneName } from './database/global.ts';
import { controlPlaneProtection } from './database/protection.ts';
import { egressGatewayNeighbours } from './egress/gateway-neighbours.ts';
import { egressClasses, egressDestinations } from './egress/egress-class.ts';
import { egressPods, servedPods } from './egress/egress-ip.ts';
import { dnsForwarderRoutes, dnsServiceAddresses } from './egress/dns-forwarder.ts';
import { egressServicePodRows } from './egress/egress-service.ts';
import { egressFirewall } from './egress/firewall.ts';
import { egressFirewallNames } from './egress/firewall-names.ts';
import { externalRoutePolicies, externalRoutes, hopWatches } from './egress/external-routes.ts';
import { egressAddresses } from './egress/node-addresses.ts';
import { qosAddresses, qosRules } from './egress/qos.ts';
import { ownChassis, remoteChassis } from './interconnect/chassis.ts';
import { remoteNode } from './interconnect/remote-node.ts';
import { secondaryPods } from './isolation/secondary-pods.ts';
import { layer2Network } from './networks/layer2.ts';
import { remoteGateway } from './interconnect/remote-gateway.ts';
import { remotePodPorts } from './pods/remote-port.ts';
import { layer3Network } from './networks/layer3.ts';
import { localnetNetwork } from './networks/localnet.ts';
import { namespaceMulticast } from './multicast/namespaces.ts';
import { adminAddresses, adminPolicy } from './policy/admin-policy.ts';
import { defaultDeny } from './policy/default-deny.ts';
import { policyGroup, policyRules } from './policy/network-policy.ts';
import { podAddresses, portAddresses } from './policy/peer-addresses.ts';
import { defaultNamespaceGroups, namespaceGroups } from './pods/namespace-groups.ts';
import { podPorts } from './pods/port.ts';
import { defaultAccessWays } from './services/default-access.ts';
import { enabledServiceAddresses } from './services/enabled-service-addresses.ts';
import { hostPortBalancers } from './services/host-ports.ts';
import { loadBalancers } from './services/load-balancers.ts';
import { templateVariables } from './services/template-variables.ts';

export const zoneFeatures: readonly Feature<ZoneFacts>[] = [
  zoneName,
  chassisGroup,
  controlPlaneProtection,
  secondaryPods,
  enabledServiceAddresses,
  defaultAccessWays,
  egressAddresses,
  ownChassis,
  remoteChassis,
  layer3Network,
  remoteNode,
  layer2Network,
  remoteGateway,
  localnetNetwork,
  connectRouters,
  connectedNetworks,
  connectedWays,
  connectedRemoteNodes,
  bridgedServices,
  siblingNetworks,
  defaultNamespaceGroups,
  namespaceGroups,
  podAddresses,
  portAddresses,
  namespaceMulticast,
  dnsForwarderRoutes,
  dnsServiceAddresses,
  egressFirewallNames,
  egressFirewall,
  hopWatches,
  externalRoutes,
  externalRoutePolicies,
  qosAddresses,
  qosRules,
  servedPods,
  egressPods,
  egressDestinations,
  egressClasses,
  egressGatewayNeighbours,
  egressServicePodRows,
  adminAddresses,
  adminPolicy,
  defaultDeny,
  policyGroup,
  policyRules,
  podPorts,
  remotePodPorts,
  loadBalancers,
  hostPortBalancers,
  templateVariables,
];
