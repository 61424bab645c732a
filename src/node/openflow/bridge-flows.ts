/** Flows of the external bridge: what is there once for all networks, and what each network has (reference/node.md §4). */
import { ONE } from '../../facts/keys.ts';
import { feature, type Feature, type Rule } from '../../desired/features.ts';
import { networkObject } from '../../model/zone/failed-facts.ts';
import { egressServiceObject } from '../../model/zone/egress-services.ts';
import type { ZoneFacts } from '../../model/zone/zone.ts';
import { hasEgressFence } from '../../model/rules/egress-health.ts';
import { isDefault } from '../../model/rules/names.ts';
import { hasGateway } from '../../model/rules/network-addresses.ts';
import {
  EGRESS_ADDRESS_RULES,
  EGRESS_RULES,
  egressFlows,
  egressMoveFlows,
  egressNeighbourFlow,
  FENCE_RULES,
  fencedAddressFlows,
  fenceFlows,
  gatewayEgressFlow,
} from './bridge-flows-egress.ts';
import { connectedFlows, connectedServiceFlows } from './bridge-flows-connected.ts';
import { dropFlows } from './bridge-flows-drops.ts';
import { hostFlows } from './bridge-flows-host.ts';
import { neighbourFlows } from './bridge-flows-neighbours.ts';
import { hostPortFlows, serviceFlows, serviceWays } from './bridge-flows-services.ts';
import { uplinkFlows } from './bridge-flows-uplink.ts';
import { bridgeNetwork, externalBridge, patchPortOf, type BridgePart } from './bridge-network.ts';
import { exposedHostPorts } from '../exposed-host-ports.ts';
import { exposedService, PROTOCOLS, serviceIn } from '../exposed-services.ts';
import { FlowRows } from './flow-rows.ts';
import { SETTINGS } from '../../desired/rows.ts';

const PARTS: readonly BridgePart[] = [
  uplinkFlows,
  hostFlows,
  connectedFlows,
  serviceWays,
  neighbourFlows,
  dropFlows,
];
const RULES = Object.assign({}, ...PARTS.map((part) => part.rules)) as Record<string, Rule>;

export const bridgeFlows: Feature<ZoneFacts> = {
  name: 'host/bridge-flows',
  over: () => ONE,
  objects: () => [SETTINGS],
  rules: { ...RULES, ...FENCE_RULES },
  claims: [],
  build(facts, _args, out) {
    const on = externalBridge(facts);
    if (on === undefined) return;
    const rows = new FlowRows(out, on.name, SETTINGS);
    for (const part of PARTS) part.common?.(rows, on);
    if (hasEgressFence(facts.settings)) fenceFlows(rows);
  },
};

export const bridgeFlowsOfNetwork = feature({
  name: 'host/bridge-flows-of-network',
  over: ({ rendered }: ZoneFacts) => rendered,
  objects: (facts, [network]) => [networkObject(facts, network)],
  rules: RULES,
  claims: [],
  subject: (_facts, [network]) => network,
  build(facts, [name], out) {
    const network = facts.rendered.get(name);
    if (network === undefined || !hasGateway(network) || network.topology === 'localnet') return;
    const on = externalBridge(facts);
    if (on === undefined) return;
    const rows = new FlowRows(out, on.name, network.object);
    const to = bridgeNetwork(facts, on, network);
    for (const part of PARTS) part.network?.(rows, to);
  },
});

export const bridgeFlowsOfNode = feature({
  name: 'host/bridge-flows-of-node',
  over: ({ remoteNodes }: ZoneFacts) => remoteNodes,
  objects: (_facts, [name]) => [`Node ${name}`],
  rules: RULES,
  claims: [],
  build(facts, [name], out) {
    const on = externalBridge(facts);
    if (on === undefined) return;
    const rows = new FlowRows(out, on.name, `Node ${name}`);
    const ends = facts.remoteNodes.part(name, 'encapIps') ?? [];
    for (const part of PARTS) part.node?.(rows, on, ends);
  },
});

export const bridgeFlowsOfService = feature({
  name: 'host/bridge-flows-of-service',
  over: (facts: ZoneFacts) => facts.backends,
  objects: (_facts, [, key]) => [`Service ${key}`],
  // Of two networks that want one address the older one has it; what is wrong with a service is not the network's.
  rank: (facts, [network]) => facts.networks.part(network, 'id') ?? 0,
  rules: RULES,
  claims: [],
  build(facts, [network, key], out) {
    const on = externalBridge(facts);
    if (on === undefined || facts.services.get(key)?.isExposed !== true) return;
    const exposed = exposedService(facts, network, key);
    if (exposed === undefined) return;
    const port = patchPortOf(facts, on.name, exposed.network);
    serviceFlows(new FlowRows(out, on.name, `Service ${key}`), on, exposed, port);
  },
});

export const bridgeFlowsOfConnectedService = feature({
  name: 'host/bridge-flows-of-connected-service',
  over: (facts: ZoneFacts) => facts.bridgedServices.distinct('way'),
  objects: (_facts, [connect, , , key]) => [`ClusterNetworkConnect ${connect}`, `Service ${key}`],
  rules: connectedFlows.rules,
  claims: [],
  build(facts, [connect, name, network, key], out) {
    const on = externalBridge(facts);
    const client = facts.rendered.get(name);
    const server = facts.rendered.get(network);
    const service = serviceIn(facts, network, key);
    const ports = facts.bridgedServices.get(network, key)?.ports ?? [];
    if (on === undefined || client === undefined || server === undefined) return;
    if (service === undefined || !hasGateway(client) || !hasGateway(server)) return;
    const rows = new FlowRows(out, on.name, `ClusterNetworkConnect ${connect}`);
    connectedServiceFlows(
      rows,
      on,
      { client: bridgeNetwork(facts, on, client), server: bridgeNetwork(facts, on, server) },
      {
        clusterIps: service.clusterIps,
        ports: ports.map(({ protocol, port }) => ({ protocol: PROTOCOLS[protocol], port })),
      },
    );
  },
});

export const bridgeFlowsOfHostPorts = feature({
  name: 'host/bridge-flows-of-host-ports',
  over: (facts: ZoneFacts) => facts.hostPorts,
  objects: (_facts, [namespace, pod]) => [`Pod ${namespace}/${pod}`],
  rules: RULES,
  claims: [],
  build(facts, [namespace, pod], out) {
    const on = externalBridge(facts);
    const exposed = on && exposedHostPorts(facts, namespace, pod);
    if (on === undefined || exposed === undefined) return;
    const port = patchPortOf(facts, on.name, exposed.network);
    const rows = new FlowRows(out, on.name, `Pod ${namespace}/${pod}`);
    hostPortFlows(rows, on, exposed.ports, port);
  },
});

export const bridgeFlowsOfEgressService = feature({
  name: 'host/bridge-flows-of-egress-service',
  over: (facts: ZoneFacts) => facts.egressServiceUses,
  objects: (_facts, key) => [egressServiceObject(key.join('/'))],
  rules: EGRESS_RULES,
  claims: [],
  build(facts, key, out) {
    const on = externalBridge(facts);
    const use = facts.egressServiceUses.get(...key);
    if (on === undefined || use === undefined) return;
    const networks = use.networks
      .map((name) => facts.rendered.get(name))
      .filter((network) => network !== undefined)
      .map((network) => bridgeNetwork(facts, on, network));
    const rows = new FlowRows(out, on.name, egressServiceObject(use.service));
    for (const { family } of on.families) {
      const exit = facts.egressServiceExit(use.service, family);
      if (exit === undefined || typeof exit === 'string') continue;
      const { mark, address, link } = exit;
      egressFlows(rows, on, networks, {
        mark,
        addresses: address === undefined ? [] : [address],
        links: link === undefined ? [] : [link],
      });
    }
  },
});

export const bridgeFlowsOfEgressIp = feature({
  name: 'host/bridge-flows-of-egress-ip',
  over: (facts: ZoneFacts) => facts.egressUses,
  objects: (_facts, [egressIp]) => [`EgressIP ${egressIp}`],
  rules: EGRESS_RULES,
  claims: [],
  build(facts, [egressIp], out) {
    const on = externalBridge(facts);
    if (on === undefined) return;
    const rows = new FlowRows(out, on.name, `EgressIP ${egressIp}`);
    const isFenced = hasEgressFence(facts.settings);
    for (const { address, card, peer } of facts.egressAddressesHere(egressIp)) {
      // By other cards the host passes on what it does not know, as it routes.
      const mac = peer === undefined ? undefined : facts.gatewayMacs.part(peer, 'mac');
      if (card !== undefined) continue;
      if (mac !== undefined) egressMoveFlows(rows, on, { address, peer: mac });
    }
    const mark = facts.egressMarkOf(egressIp);
    if (mark === undefined) return;
    const networks = (facts.egressUses.part(egressIp, 'networks') ?? [])
      .map((name) => facts.rendered.get(name))
      .filter((network) => network !== undefined)
      .filter((network) => !isDefault(network) || facts.isByClass(egressIp))
      .map((network) => bridgeNetwork(facts, on, network));
    egressFlows(rows, on, networks, {
      mark,
      isFenced,
      addresses: facts
        .egressAddressesHere(egressIp)
        .flatMap(({ address, card }) => (card === undefined ? [address] : [])),
      links: facts.cardExitsOfNetworks(egressIp).map(({ from }) => from),
    });
  },
});

/** Before its rows of OVN, which mark what leaves: where they come first, that is dropped for a while. */
export const bridgeFlowsOfGatewayEgress = feature({
  name: 'host/bridge-flows-of-gateway-egress',
  over: ({ egressIps }: ZoneFacts) => egressIps.bucket('here'),
  objects: (_facts, [egressIp]) => [`EgressIP ${egressIp}`],
  rules: EGRESS_RULES,
  claims: [],
  build(facts, [egressIp], out) {
    const on = externalBridge(facts);
    if (on === undefined || facts.isByClass(egressIp)) return;
    const rows = new FlowRows(out, on.name, `EgressIP ${egressIp}`);
    for (const address of facts.gatewayEgressAddresses(egressIp))
      gatewayEgressFlow(rows, on, address);
  },
});

export const bridgeFlowsOfEgressAddresses = feature({
  name: 'host/bridge-flows-of-egress-addresses',
  over: ({ requestedEgress }: ZoneFacts) => requestedEgress.distinct('address'),
  objects: (facts, [address]) =>
    facts.requestedEgress.keysBy('address', address).map((egressIp) => `EgressIP ${egressIp}`),
  rules: EGRESS_ADDRESS_RULES,
  claims: [],
  build(facts, [address], out) {
    const on = externalBridge(facts);
    if (on === undefined || !facts.settings.features.egressIp) return;
    const [first = ''] = facts.requestedEgress.keysBy('address', address);
    const rows = new FlowRows(out, on.name, `EgressIP ${first}`);
    egressNeighbourFlow(rows, on, address);
    // On every node: what a daemon before left on the host is behind it, too, until it is gone.
    if (hasEgressFence(facts.settings)) fencedAddressFlows(rows, address);
  },
});
