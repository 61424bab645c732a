/** Routes of a network: those of its VRF, and of the default network's management port (reference/node.md §2.1, §2.3). */
import { familyOf, nthAddress } from '../../allocators/addresses.ts';
import { MASQUERADE_OFFSETS } from '../../allocators/node-addresses.ts';
import type { PodRange } from '../../model/rules/network-addresses.ts';
import type { HostNetwork, HostPart } from './host-network.ts';
import { DEFAULT_ROUTE, hostRoute, type HostRows } from '../host-rows.ts';
import { INTERNALLY_LOCAL_TABLE, UNREACHABLE_METRIC } from '../numbers.ts';

export const routes: HostPart = {
  rules: {
    'table-end': {
      text: "What a network's table has no route for goes nowhere: never by the host's own routes.",
      source: 'reference/node.md §2.3, 6',
    },
    'service-route': {
      text: 'Service addresses are reached over the external bridge, from the host’s masquerade address.',
      source: 'reference/node.md §2.3, 1',
    },
    uplink: {
      text: "A network leaves the node by the node's own next hops.",
      source: 'reference/node.md §2.3, 2',
    },
    'own-masquerade': {
      text: "The network's masquerade address is reached on its management port: OVN answers for it.",
      source: 'reference/node.md §2.3, 3',
    },
    'local-endpoints': {
      text: 'Traffic for endpoints of this node alone goes into the network.',
      source: 'reference/node.md §2.3, 4; §2.1',
    },
    'internally-local': {
      text: 'What host processes send to services that stay on the node enters the default network by its management port.',
      source: 'reference/node.md §2.1, ITP routing',
    },
    'network-subnets': {
      text: "The network's subnets on other nodes are reached through its router.",
      source: 'reference/node.md §2.3, 5; §2.1',
    },
  },
  build(rows, on) {
    for (const range of on.ranges) addRoutes(rows, on, range);
  },
};

function addRoutes(rows: HostRows, on: HostNetwork, range: PodRange): void {
  const { device, table, network, settings, gateway } = on;
  const { family } = range;
  const isFamily = (address: string): boolean => familyOf(address) === family;
  const masquerade = settings.masqueradeSubnets[family];
  const common = { family, table };
  if (!on.isDefault) {
    rows
      .by('table-end')
      .route({ ...common, type: 'unreachable', dst: DEFAULT_ROUTE, metric: UNREACHABLE_METRIC });
    const dev = gateway?.bridge;
    const { mtu } = network;
    if (dev !== undefined && masquerade !== undefined)
      for (const dst of settings.serviceSubnets.filter(isFamily))
        rows.by('service-route').route({
          ...common,
          dst,
          via: nthAddress(masquerade, MASQUERADE_OFFSETS.dummyNextHop),
          dev,
          src: nthAddress(masquerade, MASQUERADE_OFFSETS.host),
          mtu,
        });
    const via = gateway?.nextHops.find(isFamily);
    if (dev !== undefined && via !== undefined)
      rows.by('uplink').route({ ...common, dst: DEFAULT_ROUTE, via, dev, mtu });
    const own = network.masquerade[family]?.managementPort;
    if (own !== undefined)
      rows.by('own-masquerade').route({ ...common, dst: hostRoute(own), dev: device, mtu });
  }
  if (on.isDefault)
    for (const dst of settings.serviceSubnets.filter(isFamily))
      rows
        .by('internally-local')
        .route({ family, table: INTERNALLY_LOCAL_TABLE, dst, via: range.gateway, dev: device });
  if (masquerade !== undefined)
    rows.by('local-endpoints').route({
      ...common,
      dst: hostRoute(nthAddress(masquerade, MASQUERADE_OFFSETS.hostEtpLocal)),
      via: range.gateway,
      dev: device,
    });
  if (network.topology === 'layer3')
    for (const { cidr } of network.subnets.filter((subnet) => isFamily(subnet.cidr)))
      rows.by('network-subnets').route({ ...common, dst: cidr, via: range.gateway, dev: device });
}
