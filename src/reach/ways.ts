/** Who may reach whom, and which object says so, from what is known of the cluster. Pure. */
import { openDefaultPorts, podNetworks } from '../api/annotations/pod-annotations.ts';
import { DEFAULT_NETWORK } from '../api/nad/network-name.ts';
import { objectKey } from '../api/objects.ts';
import type { Pod } from '../api/types.ts';
import type { ClusterSettings, Network } from '../model/model.ts';
import { hasGateway } from '../model/rules/network-addresses.ts';
import type { ZoneFacts } from '../model/zone/zone.ts';
import { OUTSIDE, type Join, type Way } from './way.ts';

type Facts = Pick<
  ZoneFacts,
  | 'accessNetworks'
  | 'connects'
  | 'enabledServices'
  | 'hostPorts'
  | 'idsOf'
  | 'membersOf'
  | 'namespaces'
  | 'networks'
  | 'primariesOf'
  | 'serviceNetworks'
  | 'services'
  | 'siblingsOf'
>;

/** Networks that an object joins: connections, and namespaces with several primary networks. */
export function joinsOf(facts: Facts): readonly Join[] {
  const connections = [...facts.connects.entries()].flatMap(
    ([name, { hasPods, hasServices }]): Join[] => {
      const join = {
        kind: 'connection',
        object: `ClusterNetworkConnect ${name}`,
        networks: facts.membersOf(name).map((network): string => network.name),
        what: [hasPods ? 'pods' : [], hasServices ? 'services' : []].flat().join(' and '),
      } as const;
      const over = facts.idsOf(name).slice(join.networks.length);
      const beyond = over.length > 0 ? [over, ...join.networks.map((one) => [...over, one])] : [];
      return [
        join,
        ...(join.networks.length === 0 ? beyond : beyond.slice(1)).map((networks) => ({
          ...join,
          networks,
          what: 'services, over the external bridge: subnets overlap',
        })),
      ];
    },
  );
  const namespaces = [...facts.namespaces.keys()].flatMap(([namespace]) => {
    const names = facts.primariesOf(namespace);
    return names.flatMap((network, index) =>
      names
        .slice(index + 1)
        .filter((other) => facts.siblingsOf(network).includes(other))
        .map((other): Join => ({
          kind: 'namespace',
          object: `Namespace ${namespace}`,
          networks: [network, other],
          what: 'pods: both are primary networks of the namespace',
        })),
    );
  });
  return [...connections, ...namespaces, ...wiresOf(facts)].filter(
    ({ networks }) => networks.length > 1,
  );
}

/** Localnet networks that are one VLAN of one physical network. */
function wiresOf(facts: Facts): readonly Join[] {
  const onWires = [...facts.networks.entries()]
    .map(([, network]) => network)
    .filter(({ topology }) => topology === 'localnet');
  return [...Map.groupBy(onWires, wireOf)].map(([wire, networks]): Join => ({
    kind: 'physical',
    object: networks[0]?.object ?? '',
    networks: networks.map(({ name }): string => name),
    what: `${wire}, which all of them are`,
  }));
}

const wireOf = ({ name, physicalNetworkName = name, vlan = 0 }: Network): string =>
  `physical network ${physicalNetworkName}${vlan === 0 ? ' without VLAN' : ` VLAN ${vlan}`}`;

/** What else leads into a network or out of it. */
export const waysOf = (
  facts: Facts,
  pods: readonly Pod[],
  settings: Pick<ClusterSettings, 'defaultAccess'>,
): readonly Way[] => [
  ...[...facts.networks.entries()].flatMap(([, network]) => ofNetwork(network, facts, settings)),
  ...exposed(facts),
  ...hostPorts(facts),
  ...pods.flatMap((pod) => openPorts(pod, facts)),
];

function ofNetwork(
  network: Network,
  facts: Facts,
  { defaultAccess }: Pick<ClusterSettings, 'defaultAccess'>,
): readonly Way[] {
  const { name, role, object } = network;
  if (network.topology === 'localnet') {
    const way = { kind: 'leaves' as const, object, what: wireOf(network) };
    return [
      { ...way, from: name, to: OUTSIDE },
      { ...way, from: OUTSIDE, to: name },
    ];
  }
  if (!hasGateway(network)) return [];
  const leaves: Way = {
    kind: 'leaves',
    object,
    from: name,
    to: OUTSIDE,
    what: 'what its pods send out of the cluster, as far as EgressFirewalls and policies let it',
  };
  if (name === DEFAULT_NETWORK || role === 'secondary') return [leaves];
  const allowed = [...facts.enabledServices.keys()].map(([service]): Way => ({
    kind: 'allowed service',
    object: `Service ${service}`,
    from: name,
    to: DEFAULT_NETWORK,
    what: 'the service: the setting allowed-default-services names it',
  }));
  const access: Way = {
    kind: 'access',
    object,
    from: DEFAULT_NETWORK,
    to: name,
    what: `services, from pods of ${defaultAccess.join(', ')} (default-network-access)`,
  };
  return [leaves, ...allowed, ...(facts.accessNetworks.peek(name) === undefined ? [] : [access])];
}

/** Node ports and external addresses. */
const exposed = (facts: Facts): readonly Way[] =>
  [...facts.serviceNetworks.entries()].flatMap(([key, { networks, isExposed }]) => {
    const service = facts.services.peek(key);
    if (!isExposed || service === undefined) return [];
    const nodePorts = service.ports.flatMap(({ protocol, nodePort }) =>
      nodePort === undefined ? [] : `${protocol} ${nodePort}`,
    );
    const what = [
      ...(nodePorts.length === 0 ? [] : [`node port ${nodePorts.join(', ')}`]),
      ...(service.externalIps.length === 0
        ? []
        : [`external address ${service.externalIps.join(', ')}`]),
    ].join('; ');
    if (what === '') return [];
    const object = `Service ${key}`;
    return networks.map((to): Way => ({ kind: 'exposed', object, from: OUTSIDE, to, what }));
  });

const hostPorts = (facts: Facts): readonly Way[] =>
  [...facts.hostPorts.entries()].map(([, { namespace, pod, network, ports }]): Way => ({
    kind: 'exposed',
    object: `Pod ${namespace}/${pod}`,
    from: OUTSIDE,
    to: network,
    what: `port of its node ${ports.map(({ protocol, port }) => `${protocol} ${port}`).join(', ')}`,
  }));

/** Ports that a pod of a primary network opens at its address on the default one. */
function openPorts(pod: Pod, facts: Facts): readonly Way[] {
  const ports = openDefaultPorts(pod).value ?? [];
  const interfaces = podNetworks(pod).value;
  if (ports.length === 0 || interfaces?.get(DEFAULT_NETWORK)?.role !== 'infrastructure-locked')
    return [];
  const what = ports
    .map(({ protocol, port }) => (port === undefined ? protocol : `${protocol} ${port}`))
    .join(', ');
  const object = `Pod ${objectKey(pod.metadata)}`;
  return facts
    .primariesOf(pod.metadata.namespace ?? '')
    .map((to): Way => ({ kind: 'open port', object, from: DEFAULT_NETWORK, to, what }));
}
