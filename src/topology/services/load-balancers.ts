/** Load balancers of services, on the networks that the services are on (reference/topology.md §15). */

import { ovnPrefix } from '../../api/nad/network-name.ts';
import { feature, type Sink } from '../../desired/features.ts';
import { isSame } from '../../facts/same.ts';
import type { Containment } from '../../desired/rows.ts';
import { nameProblem } from '../../model/rules/admission.ts';
import { endpointLimit } from '../../model/rules/backends.ts';
import type { ZoneFacts } from '../../model/zone/zone.ts';
import type { Network, NetworkName } from '../../model/model.ts';
import {
  gatewayRouter,
  isDefault,
  loadBalancerGroups,
  podSwitch,
} from '../../model/rules/names.ts';
import { clusterFamilies } from '../../model/rules/network-addresses.ts';
import type { ServiceFacts } from '../../model/read/services.ts';
import { dnsWays } from './dns-ways.ts';
import { connectServices } from '../connect/connect-rows.ts';
import { networkOf, networkRank } from '../networks/network-feature.ts';
import { holds, Rows } from '../rows/unit-rows.ts';
import {
  addLoadBalancer,
  LOAD_BALANCER_CLAIM,
  type LoadBalancer,
  type LoadBalancerContext,
} from './load-balancer-rows.ts';
import { hairpinAddresses, hasGatewayRouter, serviceNode } from './service-node.ts';
import {
  backedPorts,
  clusterVips,
  hasPlainNodePorts,
  IP_FAMILY,
  localClusterVips,
  nodeVips,
  poolVips,
  templateVips,
  type BackedPort,
} from './service-vips.ts';

/** Those for which it is so, and the others. */
const partition = <T>(
  items: readonly T[],
  is: (item: T) => boolean,
): readonly [yes: readonly T[], no: readonly T[]] => [
  items.filter(is),
  items.filter((item) => !is(item)),
];

const inGroup = (group: string): Containment =>
  holds('Load_Balancer_Group', group, 'load_balancer');

const PROTOCOLS = ['TCP', 'UDP', 'SCTP'] as const;

export const loadBalancers = feature({
  name: 'services/load-balancers',
  over: (facts: ZoneFacts) => facts.backends,
  rank: networkRank,
  subject: networkOf,
  objects: (_facts, [, key]) => [`Service ${key}`],
  rules: {
    cluster: {
      text: 'A service is balanced on the switch and the gateway router of the primary networks of its namespace alone, one load balancer per protocol.',
      source: 'reference/topology.md §15.2',
    },
    pool: {
      text: "Addresses of a network's pool are balanced on the switches of its pods, and of those that its services are connected with; a gateway router does not know them.",
      source: 'reference/topology.md §15.4',
    },
    template: {
      text: "Node ports of the default network are the same rows on every node: the chassis fills in the node's addresses.",
      source: 'reference/topology.md §15.2',
    },
    node: {
      text: 'Addresses whose targets differ by node are balanced by rows of the node, at the switch and at the gateway router each with its own.',
      source: 'reference/topology.md §15.2',
    },
  },
  claims: [LOAD_BALANCER_CLAIM],
  build(facts, [name, key], out) {
    const service = facts.services.get(key);
    const backends = facts.backends.get(name, key);
    const topology = facts.rendered.part(name, 'topology');
    const role = facts.rendered.part(name, 'role');
    if (service === undefined || backends === undefined) return;
    if (topology === undefined || role === undefined) return;
    const object = `Service ${key}`;
    const problem = nameProblem(service.namespace, service.name);
    if (problem !== undefined) out.reject(object, `service ${JSON.stringify(key)}: ${problem}`);
    const network = { name: name as NetworkName, topology, role };
    const balanced = new BalancedService(facts, network, service, out);
    const ports = backedPorts(service, backends);
    const surplus = Math.max(0, ...ports.map((port) => port.backends.surplus));
    if (surplus > 0) {
      const limit = endpointLimit(service, facts.settings.serviceLimits);
      out.problem(
        object,
        `it has ${limit + surplus} endpoints, and one of its addresses and ports may have ${limit} (--max-service-targets ${facts.settings.serviceLimits.targets} for all of them, and a quarter for one): those with the first ${limit} addresses get its connections; spread the pods over several services`,
      );
    }
    const [address] = backends.foreign;
    if (address !== undefined)
      out.problem(
        object,
        `its EndpointSlices have ${backends.foreign.length} address${backends.foreign.length === 1 ? '' : 'es'} of networks that ${name} is connected with, ${address} first: no connection is sent there; call that network's own service`,
      );
    if (backends.slicesLeft > 0)
      out.problem(
        object,
        `${backends.slicesLeft} of its EndpointSlices on network ${name} are left out, as there are more than ${facts.settings.serviceLimits.slices} (--max-service-slices), or more endpoints in them than twice --max-service-targets: the oldest ones count; take back what is not needed, or spread the pods over several services`,
      );
    for (const { connect, message } of facts.bridgedServices.get(name, key)?.refusals ?? [])
      out.problem(object, `ClusterNetworkConnect ${connect} does not share it: ${message}`);
    for (const protocol of PROTOCOLS) {
      const ofProtocol = ports.filter((port) => port.protocol === protocol);
      if (ofProtocol.length > 0) balanced.build(protocol, ofProtocol);
    }
  },
});

/** What load balancers depend on of their network. */
type BalancedNetwork = Pick<Network, 'name' | 'topology' | 'role'>;

/** Builds the load balancers of one service on one network. */
class BalancedService {
  readonly #facts: ZoneFacts;
  readonly #network: BalancedNetwork;
  readonly #service: ServiceFacts;
  readonly #out: Sink;
  readonly #rows: Rows;
  readonly #context: LoadBalancerContext;
  /** Node ports are left to the chassis. */
  readonly #usesTemplates: boolean;

  constructor(facts: ZoneFacts, network: BalancedNetwork, service: ServiceFacts, out: Sink) {
    this.#facts = facts;
    this.#network = network;
    this.#service = service;
    this.#out = out;
    this.#rows = Rows.northbound(out, `Service ${service.key}`);
    this.#context = {
      network,
      prefix: ovnPrefix(network.name),
      service,
      hairpinAddresses: hairpinAddresses(facts.settings),
    };
    this.#usesTemplates = isDefault(network) && hasPlainNodePorts(service);
  }

  build(protocol: string, ports: readonly BackedPort[]): void {
    this.#onCluster(protocol, ports);
    this.#ofPool(protocol, ports);
    const hasNodePorts = ports.some(({ nodePort }) => nodePort !== undefined);
    if (hasNodePorts && this.#usesTemplates) this.#byTemplate(protocol, ports);
    const isOnNode =
      (hasNodePorts && !this.#usesTemplates) ||
      this.#service.isExternallyLocal ||
      this.#service.isInternallyLocal ||
      ports.some(({ backends }) => backends.hasHostEndpoints);
    if (isOnNode) this.#onNode(protocol, ports);
  }

  #onCluster(protocol: string, ports: readonly BackedPort[]): void {
    const facts = this.#facts;
    const { name } = this.#network;
    const { all, switches, routers } = loadBalancerGroups(this.#context.prefix);
    const vips = this.#onSwitch(protocol, clusterVips(this.#service, ports, 'all'));
    const own = clusterVips(this.#service, ports, 'own');
    const balancer: LoadBalancer = { protocol, scope: 'cluster', vips };
    const id = facts.networks.part(name, 'id') ?? 0;
    const connects = facts.connectsSharingServices(id).filter((connect) => this.#isShared(connect));
    if (isSame(vips, own)) {
      this.#add('cluster', balancer, ...[all, ...connects.map(connectServices)].map(inGroup));
      return;
    }
    const { whole, partial } = this.#bySiblings(connects);
    this.#add('cluster', balancer, ...[switches, ...whole.map(connectServices)].map(inGroup));
    this.#add(
      'cluster',
      { protocol, scope: 'cluster_router', vips: own },
      inGroup(routers),
      ...this.#switchesOf(partial),
    );
  }

  /** Connections that all networks of the namespace are part of, and others: pods of another network of the namespace answer pods, not a gateway router, and no network that is not connected with theirs. */
  #bySiblings(connects: readonly string[]): {
    readonly whole: readonly string[];
    readonly partial: readonly string[];
  } {
    const siblings = this.#facts.siblingsOf(this.#network.name);
    const [whole, partial] = partition(connects, (connect) =>
      siblings.every((sibling) => this.#facts.isMember(connect, sibling)),
    );
    return { whole, partial };
  }

  /** Switches of networks of these connections that are no network of the namespace. */
  #switchesOf(connects: readonly string[]): readonly Containment[] {
    const { name } = this.#network;
    const siblings = this.#facts.siblingsOf(name);
    const others = connects
      .flatMap((connect) => this.#facts.membersHere(connect))
      .filter((other) => other.name !== name && !siblings.includes(other.name));
    return [...new Map(others.map((other) => [other.name, other])).values()].map((other) =>
      holds('Logical_Switch', podSwitch(other, this.#facts.nodeName), 'load_balancer'),
    );
  }

  #ofPool(protocol: string, ports: readonly BackedPort[]): void {
    const facts = this.#facts;
    const { name } = this.#network;
    const addresses = facts.poolIpsOn(name, this.#service.key);
    if (addresses.length === 0) return;
    const { switches } = loadBalancerGroups(this.#context.prefix);
    const id = facts.networks.part(name, 'id') ?? 0;
    const connects = facts
      .connectsSharingServices(id)
      .filter((connect) => this.#isPoolShared(connect, addresses));
    const vips = poolVips(addresses, ports, 'all');
    const own = poolVips(addresses, ports, 'own');
    const balancer: LoadBalancer = { protocol, scope: 'pool', vips };
    const { whole, partial } = isSame(vips, own)
      ? { whole: connects, partial: [] }
      : this.#bySiblings(connects);
    this.#add('pool', balancer, ...[switches, ...whole.map(connectServices)].map(inGroup));
    const elsewhere = this.#switchesOf(partial);
    if (elsewhere.length > 0)
      this.#add('pool', { protocol, scope: 'pool_connected', vips: own }, ...elsewhere);
  }

  /** False, with a reason, where a connection has another network with one of the addresses: what is sent there is not for this service. */
  #isPoolShared(connect: string, addresses: readonly string[]): boolean {
    const { name } = this.#network;
    const taken = addresses.find(
      (address) => !this.#facts.isPoolAddressShared(connect, name, address),
    );
    if (taken === undefined) return true;
    this.#out.problem(
      `Service ${this.#service.key}`,
      `ClusterNetworkConnect ${connect} does not share its address ${taken} of the network's pool: another network of the connection has it in a subnet or a pool; give one of the two networks another pool`,
    );
    return false;
  }

  /** False, with a reason, where a connection has another service at the same address: pods would reach either. */
  #isShared(connect: string): boolean {
    const { key, clusterIps } = this.#service;
    const other = this.#facts.sharedBefore(connect, key);
    if (other === undefined) return true;
    this.#out.problem(
      `Service ${key}`,
      `ClusterNetworkConnect ${connect} does not share it: service ${other} of another network of the connection has its cluster IP and port too (${clusterIps.join(', ')}); give one of the two another cluster IP`,
    );
    return false;
  }

  #byTemplate(protocol: string, ports: readonly BackedPort[]): void {
    const { settings } = this.#facts;
    const node = serviceNode(this.#facts);
    if (!node.hasNodePorts) return;
    const { switches, routers } = loadBalancerGroups(this.#context.prefix);
    const found = templateVips(this.#service, ports, node, clusterFamilies(settings));
    for (const { family, onSwitch, onRouter } of found) {
      const at = (place: string, vips: LoadBalancer['vips'], suffix = ''): LoadBalancer => ({
        protocol,
        scope: `node_${place}_template_${IP_FAMILY[family]}${suffix}`,
        vips,
        template: family,
      });
      if (isSame(onSwitch, onRouter)) {
        const merged = at('switch', onSwitch, '_merged');
        this.#add('template', merged, inGroup(switches), inGroup(routers));
      } else {
        this.#add('template', at('switch', onSwitch), inGroup(switches));
        this.#add('template', at('router', onRouter), inGroup(routers));
      }
    }
  }

  #onNode(protocol: string, ports: readonly BackedPort[]): void {
    const { nodeName } = this.#facts;
    const network = this.#network;
    const { prefix } = this.#context;
    // Without a subnet a Layer3 network has no switch here, and no gateway router.
    if (network.topology === 'layer3' && this.#facts.subnetsOn(network.name, nodeName).length === 0)
      return this.#out.waitFor(`a subnet of network ${network.name} on node ${nodeName}`);
    const node = serviceNode(this.#facts);
    const vips = nodeVips(this.#service, ports, node, {
      nodePorts: !this.#usesTemplates,
      isPrimary: !isDefault(network),
    });
    const { onRouter, onRouterLocally } = vips;
    const onSwitch = this.#onSwitch(protocol, vips.onSwitch);
    const switchOfPods = holds('Logical_Switch', podSwitch(network, nodeName), 'load_balancer');
    this.#onConnected(protocol, ports);
    const router = holds('Logical_Router', gatewayRouter(prefix, nodeName), 'load_balancer');
    const at = (place: string, vips: LoadBalancer['vips']): LoadBalancer => ({
      protocol,
      scope: `node_${place}_${nodeName}`,
      vips,
    });
    const hasRouter = hasGatewayRouter(this.#facts, network);
    if (hasRouter && isSame(onSwitch, onRouter)) {
      this.#add('node', at('router+switch', onSwitch), router, switchOfPods);
      return;
    }
    this.#add('node', at('switch', onSwitch), switchOfPods);
    if (!hasRouter) return;
    this.#add('node', at('router', onRouter), router);
    this.#add('node', { ...at('local_router', onRouterLocally), keepsSource: true }, router);
  }

  /** Of a service whose endpoints are those of the client's node, on switches of connected networks: nothing else of the node's rows is theirs. */
  #onConnected(protocol: string, ports: readonly BackedPort[]): void {
    const { nodeName } = this.#facts;
    const id = this.#facts.networks.part(this.#network.name, 'id') ?? 0;
    const elsewhere = this.#switchesOf(
      this.#facts.connectsSharingServices(id).filter((connect) => this.#isShared(connect)),
    );
    if (elsewhere.length === 0) return;
    this.#add(
      'node',
      {
        protocol,
        scope: `node_connected_${nodeName}`,
        vips: localClusterVips(this.#service, ports),
      },
      ...elsewhere,
    );
  }

  /** As pods of this node meet them: what they ask DNS goes to the forwarder while it listens. */
  #onSwitch(protocol: string, vips: LoadBalancer['vips']): LoadBalancer['vips'] {
    const ways = dnsWays(this.#facts, this.#network.name, this.#service.key, protocol);
    return Object.fromEntries(
      Object.entries(vips).map(([vip, targets]) => [vip, ways.get(vip) ?? targets]),
    );
  }

  /** A load balancer without addresses is none. */
  #add(rule: string, balancer: LoadBalancer, ...containers: readonly Containment[]): void {
    if (Object.keys(balancer.vips).length > 0)
      addLoadBalancer(this.#rows.by(rule), this.#context, balancer, ...containers);
  }
}
