/** Where node ports and external addresses of services lead on the host, and for which network they are marked (reference/node.md §3.3, §3.4). */
import { nthAddress, type Family } from '../../allocators/addresses.ts';
import { MASQUERADE_OFFSETS } from '../../allocators/node-addresses.ts';
import { feature, type Sink } from '../../desired/features.ts';
import type { ZoneFacts } from '../../model/zone/zone.ts';
import { clusterFamilies } from '../../model/rules/network-addresses.ts';
import { exposedService, type ExposedPort, type ExposedService } from '../exposed-services.ts';
import { concatenated, ipWord, NftRows } from './nft-rows.ts';
import { targetsText } from './nft-targets.ts';
import { ofFamily } from './ruleset.ts';
import { ACCESS_SERVICES } from './default-access.ts';
import { hostPodChain, SERVICE_ADDRESSES } from './host-network-pods.ts';
import { markChain } from './network-mark.ts';
import { DEFAULT_NODE_PORTS, NETWORK_NODE_PORTS } from './node-port-access.ts';

/** What the elements of a service's port depend on. */
interface Context {
  readonly on: ExposedService;
  readonly by: (rule: string) => NftRows;
  readonly families: readonly Family[];
  /** Address on this node by which packets for local endpoints go through the management port. */
  readonly locally: (family: Family) => string | undefined;
}

export const serviceElements = feature({
  name: 'nft/service',
  over: (facts: ZoneFacts) => facts.backends,
  objects: (_facts, [, key]) => [`Service ${key}`],
  // Of two networks that want one address the older one has it; what is wrong with a service is not the network's.
  rank: (facts, [network]) => facts.networks.part(network, 'id') ?? 0,
  rules: {
    external: {
      text: "A node port or external address leads to the service's cluster address.",
      source: 'reference/node.md §3.3',
    },
    'externally-local': {
      text: "With a local external traffic policy it leads to endpoints of this node, which see the client's address.",
      source: 'reference/node.md §3.3',
    },
    'internally-local': {
      text: "With a local internal traffic policy what host processes send to the cluster address of a service of the default network stays on this node; that of a primary network leads over the network's gateway router, never into the default network.",
      source: 'reference/node.md §3.3',
    },
    mark: {
      text: 'What is sent to a service of a primary network is marked for the network.',
      source: 'reference/node.md §3.4',
    },
    'node-port': {
      text: 'Pods of the default network reach node ports of primary networks at their own node, and pods of primary networks those of the default network.',
      source: 'reference/node.md §3.4',
    },
    'default-access': {
      text: 'Pods of the namespaces of default-network-access reach it, if its network lets the default network in.',
      source: 'reference/node.md §3.10',
    },
    'host-pods': {
      text: "What is sent to a cluster address of a primary network's service is looked at: pods of other networks on the host's network don't get there.",
      source: 'reference/node.md §3.8',
    },
  },
  claims: [],
  build(facts, [network, key], out) {
    const on = exposedService(facts, network, key);
    if (on === undefined) return;
    const { masqueradeSubnets } = facts.settings;
    noteMalformed(on, out);
    noteUnanswered(on, out);
    const context: Context = {
      on,
      by: (rule) => new NftRows(out, `Service ${key}`, rule),
      families: clusterFamilies(facts.settings),
      locally: (family) => {
        const subnet = masqueradeSubnets[family];
        return subnet === undefined
          ? undefined
          : nthAddress(subnet, MASQUERADE_OFFSETS.hostEtpLocal);
      },
    };
    if (!on.isDefaultNetwork)
      for (const { family, address } of on.clusterIps) {
        context.by('mark').element({
          set: ofFamily('udn-mark-cluster-ips', family),
          element: address,
          value: `jump ${markChain(on.networkId)}`,
        });
        context.by('host-pods').element({
          set: ofFamily(SERVICE_ADDRESSES, family),
          element: address,
          value: `jump ${hostPodChain(on.networkId)}`,
        });
      }
    for (const port of on.ports) buildPort(context, port);
    if (facts.accessNetworks.get(network) !== undefined) buildAccess(context);
  },
});

/** What is no address is a problem of the service. */
function noteMalformed({ service, malformed }: ExposedService, out: Sink): void {
  for (const text of malformed)
    out.problem(
      `Service ${service.key}`,
      `${JSON.stringify(text)} among its addresses is no IP address: the host sends nothing there; correct it`,
    );
}

/** The network's router sees nothing of what the host leads straight to a pod, and translates the answer. */
function noteUnanswered(on: ExposedService, out: Sink): void {
  const { service, isDefaultNetwork, gateway, externalIps, ports } = on;
  if (isDefaultNetwork || gateway.mode !== 'local' || !service.isExternallyLocal) return;
  const isLost = ports.some(
    ({ nodePort, onHost }) => nodePort === undefined && onHost.length === 0,
  );
  if (isLost && externalIps.length > 0)
    out.problem(
      `Service ${service.key}`,
      'externalTrafficPolicy: Local without node ports: from outside its external addresses are not answered on a primary network in local gateway mode; leave allocateLoadBalancerNodePorts on',
    );
}

function buildAccess({ on, by }: Context): void {
  for (const { family, address } of on.clusterIps)
    for (const { protocol, port } of on.ports)
      by('default-access').element({
        set: ofFamily(ACCESS_SERVICES, family),
        element: concatenated(address, protocol, port),
      });
}

function buildPort(context: Context, port: ExposedPort): void {
  const { on, by } = context;
  const { service, clusterIps, externalIps, isDefaultNetwork, networkId } = on;
  const { protocol, nodePort, onHost } = port;
  const mark = isDefaultNetwork ? undefined : markChain(networkId);
  if (nodePort !== undefined) {
    const element = concatenated(protocol, nodePort);
    for (const { family, address } of clusterIps)
      by('external').element({
        set: ofFamily('nodeports', family),
        element,
        value: concatenated(address, port.port),
      });
    if (mark !== undefined)
      by('mark').element({ set: 'udn-mark-nodeports', element, value: `jump ${mark}` });
    by('node-port').element({
      set: isDefaultNetwork ? DEFAULT_NODE_PORTS : NETWORK_NODE_PORTS,
      element,
    });
  }
  for (const { family, address: external } of externalIps) {
    const clusterIp = clusterIps.findLast((one) => one.family === family)?.address;
    if (clusterIp === undefined) continue;
    const element = concatenated(external, protocol, port.port);
    by('external').element({
      set: ofFamily('external-ips', family),
      element,
      value: concatenated(clusterIp, port.port),
    });
    if (mark !== undefined)
      by('mark').element({
        set: ofFamily('udn-mark-external-ips', family),
        element,
        value: `jump ${mark}`,
      });
  }
  if (service.isExternallyLocal && onHost.length === 0) {
    if (nodePort === undefined) buildWithoutNodePort(context, port);
    else buildExternallyLocal(context, port, nodePort);
  }
  if (!service.isInternallyLocal) return;
  for (const { family, address } of clusterIps) {
    const element = concatenated(address, protocol, port.port);
    const host = onHost.find((target) => target.family === family);
    if (host === undefined) {
      // The mark leads over the default network's management port.
      if (isDefaultNetwork)
        by('internally-local').element({ set: ofFamily('itp-services-to-mark', family), element });
    } else
      by('internally-local').element({
        set: ofFamily('itp-services-to-redirect', family),
        element,
        value: String(host.port),
      });
  }
}

function buildExternallyLocal(
  { on, by, families, locally }: Context,
  { protocol, port }: ExposedPort,
  nodePort: number,
): void {
  const rows = by('externally-local');
  const element = concatenated(protocol, nodePort);
  rows.element({ set: 'mgmtport-no-snat-nodeports', element });
  for (const family of on.gateway.mode === 'local' ? families : []) {
    const address = locally(family);
    const hasFamily = on.clusterIps.some((one) => one.family === family);
    if (address !== undefined && hasFamily)
      rows.element({
        set: ofFamily('nodeports-etp-local', family),
        element,
        value: concatenated(address, nodePort),
      });
  }
  for (const { family, address: external } of on.externalIps) {
    const address = locally(family);
    if (address !== undefined)
      rows.element({
        set: ofFamily('external-ips-etp-local', family),
        element: concatenated(external, protocol, port),
        value: concatenated(address, nodePort),
      });
  }
}

/** A load balancer without node ports: packets are spread over the local endpoints here. */
function buildWithoutNodePort({ on, by }: Context, { protocol, port, local }: ExposedPort): void {
  const rows = by('externally-local');
  for (const { family, address: external } of on.externalIps) {
    const targets = local.filter((target) => target.family === family);
    if (targets.length === 0) continue;
    rows.rule(concatenated(external, protocol, port), {
      chain: 'services-etp-no-nodeport',
      text: `${ipWord(family)} daddr ${external} ${protocol} dport ${port} ${targetsText(family, targets)}`,
      order: 0,
    });
    for (const target of targets)
      rows.element({
        set: ofFamily('mgmtport-no-snat-services', family),
        element: concatenated(target.address, protocol, target.port),
      });
  }
}
