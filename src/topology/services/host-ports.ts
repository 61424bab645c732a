/** Load balancers of ports of this node that its pods have (reference/topology.md §15.2). */
import { familyOf } from '../../allocators/addresses.ts';
import { ovnPrefix } from '../../api/nad/network-name.ts';
import { feature } from '../../desired/features.ts';
import { hostPortAddress } from '../../model/rules/host-ports.ts';
import { gatewayRouter, isDefault, podSwitch } from '../../model/rules/names.ts';
import { socketAddress } from '../../model/rules/backends.ts';
import type { ZoneFacts } from '../../model/zone/zone.ts';
import { holds, Rows } from '../rows/unit-rows.ts';
import {
  addLoadBalancer,
  LOAD_BALANCER_CLAIM,
  type LoadBalancer,
  type LoadBalancerContext,
} from './load-balancer-rows.ts';
import { hairpinAddresses, hasGatewayRouter, serviceNode } from './service-node.ts';

const PROTOCOLS = ['TCP', 'UDP', 'SCTP'] as const;

export const hostPortBalancers = feature({
  name: 'services/host-ports',
  over: (facts: ZoneFacts) => facts.hostPorts,
  subject: (facts, args) => facts.hostPorts.get(...args)?.network,
  objects: (_facts, [namespace, pod]) => [`Pod ${namespace}/${pod}`],
  rules: {
    'host-port': {
      text: "A port of the node that a pod has leads to the pod: at the switch for pods of its network on this node, at the gateway router with the client's address for who comes from outside.",
      source: 'reference/topology.md §15.2',
    },
    'from-host': {
      text: "Processes of the host get there by the gateway router of the pod's primary network.",
      source: 'reference/topology.md §15.2',
    },
  },
  claims: [LOAD_BALANCER_CLAIM],
  build(facts, [namespace, pod], out) {
    const found = facts.hostPorts.get(namespace, pod);
    if (found === undefined) return;
    const { nodeName, settings } = facts;
    const { network: name, addresses, ports } = found;
    const topology = facts.rendered.part(name, 'topology');
    const role = facts.rendered.part(name, 'role');
    if (topology === undefined || role === undefined)
      return out.waitFor(`network ${name} on node ${nodeName}`);
    if (topology === 'layer3' && facts.subnetsOn(name, nodeName).length === 0)
      return out.waitFor(`a subnet of network ${name} on node ${nodeName}`);
    const network = { name, topology, role };
    const context: LoadBalancerContext = {
      network,
      prefix: ovnPrefix(name),
      kind: 'Pod',
      service: { key: `${namespace}/${pod}` },
      hairpinAddresses: hairpinAddresses(settings),
    };
    const rows = Rows.northbound(out, `Pod ${namespace}/${pod}`);
    const router = holds(
      'Logical_Router',
      gatewayRouter(context.prefix, nodeName),
      'load_balancer',
    );
    const onSwitch = holds('Logical_Switch', podSwitch(network, nodeName), 'load_balancer');
    const hasRouter = hasGatewayRouter(facts, network);
    const add = (rule: string, balancer: LoadBalancer, ...into: (typeof router)[]): void => {
      if (Object.keys(balancer.vips).length > 0)
        addLoadBalancer(rows.by(rule), context, balancer, ...into);
    };
    const { localMasquerade } = serviceNode(facts);
    for (const protocol of PROTOCOLS) {
      const outside: Record<string, string> = {};
      const locally: Record<string, string> = {};
      const fromHost: Record<string, string> = {};
      for (const one of ports.filter((port) => port.protocol === protocol)) {
        const { port, containerPort, alias } = one;
        const isPrimary = !isDefault(network);
        for (const address of one.addresses) {
          const target = addresses[familyOf(address)];
          if (target === undefined) continue;
          outside[socketAddress(address, port)] = socketAddress(target, containerPort);
          const local = localMasquerade[familyOf(address)];
          if (isPrimary && alias !== undefined && local !== undefined)
            locally[socketAddress(local, alias)] = socketAddress(target, containerPort);
        }
        for (const family of isPrimary
          ? new Set([...one.addresses, ...one.loopback].map(familyOf))
          : []) {
          const [vip, target] = [hostPortAddress(settings, family), addresses[family]];
          if (alias !== undefined && vip !== undefined && target !== undefined)
            fromHost[socketAddress(vip, alias)] = socketAddress(target, containerPort);
        }
      }
      const onNode = { ...outside, ...locally };
      add('host-port', { protocol, scope: `node_switch_${nodeName}`, vips: onNode }, onSwitch);
      if (!hasRouter) continue;
      const local = { protocol, scope: `node_local_router_${nodeName}`, vips: outside };
      add('host-port', { ...local, keepsSource: true }, router);
      add('from-host', { protocol, scope: `node_router_${nodeName}`, vips: fromHost }, router);
    }
  },
});
