/**
 * Pods on the host's network, in namespaces that ask for a primary network, reach services of the default network and of their own networks alone,
 * and no pod on the host's network sends by the port of a network that is not its namespace's (reference/node.md §3.8). They are known by
 * their cgroups.
 */
import { ONE } from '../../facts/keys.ts';
import { feature, type Feature } from '../../desired/features.ts';
import { networkObject } from '../../model/zone/failed-facts.ts';
import type { ZoneFacts } from '../../model/zone/zone.ts';
import { isDefault } from '../../model/rules/names.ts';
import { clusterFamilies, hasGateway } from '../../model/rules/network-addresses.ts';
import { podCgroup, PODS_CGROUP } from './cgroup-names.ts';
import { MANAGEMENT_DEVICES, managementDevice } from '../names.ts';
import { ipWord, NftRows, quoted } from './nft-rows.ts';
import { ofFamily, type ChainName } from './ruleset.ts';
import { DEFAULT_NETWORK_ID, MARK_DNS, packetMark, POD_LINK_GROUP } from '../numbers.ts';
import { SETTINGS } from '../../desired/rows.ts';

const SERVICES = 'udn-host-services';
/** Pods that are kept to their networks. */
const PODS = 'udn-host-pods';
/** Cluster addresses of primary networks' services, with the chain of the network. */
export const SERVICE_ADDRESSES = 'udn-service-ips';
const DEVICES = 'udn-host-devices';
/** The host's ports on primary networks, with the chain of the network. */
const PORTS = 'udn-host-ports';
/** After the rules of pods. */
const LAST = 1_000_000;

/** Chain for what is sent to services of a network, and by the host's port on it. */
export const hostPodChain = (networkId: number): ChainName =>
  `${SERVICES}-${packetMark(networkId)}`;

const SOURCE = 'reference/node.md §3.8';

export const hostPodChains: Feature<ZoneFacts> = {
  name: 'nft/host-services',
  over: () => ONE,
  objects: () => [SETTINGS],
  rules: {
    services: {
      text: "What host processes send to services of a primary network is looked at by the network's chain.",
      source: SOURCE,
    },
    'pod-links': {
      text: "Processes of pods send nothing by the host's end of a pod's interface: any process can bind to it, and the pod has what it sends, past OVN.",
      source: 'Linux 5.7, SO_BINDTODEVICE; ip-link(8), group',
    },
    groups: {
      text: 'Nor do they send to everybody on the default network: pods of primary networks are on it, too, whom addresses alone keep apart from the host.',
      source: SOURCE,
    },
    devices: {
      text: "What processes of pods send by the host's port on a primary network is looked at by the network's chain: any process can bind to a device. What that does not let through is dropped.",
      source: `${SOURCE}; Linux 5.7, SO_BINDTODEVICE`,
    },
  },
  claims: [],
  build({ settings }, _args, out) {
    buildDevices(new NftRows(out, SETTINGS, 'devices'));
    buildPastOvn(new NftRows(out, SETTINGS, 'pod-links'), new NftRows(out, SETTINGS, 'groups'));
    const rows = new NftRows(out, SETTINGS, 'services');
    const families = clusterFamilies(settings);
    rows.chain(SERVICES);
    rows.chain(PODS);
    for (const family of families) rows.set(SERVICE_ADDRESSES, family);
    rows.rules(
      SERVICES,
      ...families.map(
        (family) => `${ipWord(family)} daddr vmap @${ofFamily(SERVICE_ADDRESSES, family)}`,
      ),
    );
  },
};

function buildDevices(rows: NftRows): void {
  rows.chain(DEVICES);
  rows.set(PORTS);
  // Answers of the forwarder of DNS; to mark what it sends a process needs a capability.
  rows.rules(
    DEVICES,
    `oifname "${MANAGEMENT_DEVICES}" meta mark ${MARK_DNS} accept`,
    `oifname vmap @${PORTS}`,
  );
  const text = `oifname "${MANAGEMENT_DEVICES}" oifname != "${managementDevice(DEFAULT_NETWORK_ID)}" socket cgroupv2 level 2 "${PODS_CGROUP}" drop`;
  rows.rule(text, { chain: DEVICES, text, order: LAST, cgroup: PODS_CGROUP });
}

function buildPastOvn(links: NftRows, groups: NftRows): void {
  const ofPods = `socket cgroupv2 level 2 "${PODS_CGROUP}" drop`;
  let order = LAST;
  const add = (rows: NftRows, what: string): void => {
    const text = `${what} ${ofPods}`;
    rows.rule(text, { chain: DEVICES, text, order: (order += 1), cgroup: PODS_CGROUP });
  };
  add(links, `meta oifgroup ${POD_LINK_GROUP}`);
  const toDefault = `oifname "${managementDevice(DEFAULT_NETWORK_ID)}"`;
  for (const type of ['multicast', 'broadcast']) add(groups, `${toDefault} fib daddr type ${type}`);
}

export const networkHostPods = feature({
  name: 'nft/network-host-pods',
  over: ({ rendered }: ZoneFacts) => rendered,
  objects: (facts, [network]) => [networkObject(facts, network)],
  subject: (_facts, [network]) => network,
  rules: {
    others: {
      text: "Pods on the host's network that are not of the network, but of another primary one, do not reach its services, nor its pods by the host's port on it.",
      source: SOURCE,
    },
  },
  claims: [],
  build(facts, [name], out) {
    const network = facts.rendered.get(name);
    if (network === undefined || isDefault(network) || !hasGateway(network)) return;
    const rows = new NftRows(out, network.object, 'others');
    const chain = hostPodChain(network.id);
    rows.chain(chain);
    const text = `jump ${PODS}`;
    rows.rule(text, { chain, text, order: LAST });
    rows.element({
      set: PORTS,
      element: quoted(managementDevice(network.id)),
      value: `jump ${chain}`,
    });
  },
});

export const hostNetworkPods = feature({
  name: 'nft/host-network-pod',
  over: (facts: ZoneFacts) => facts.hostNetworkPods,
  objects: (_facts, [namespace, pod]) => [`Pod ${namespace}/${pod}`],
  rules: {
    own: {
      text: "A pod on the host's network reaches services of its namespace's primary networks, and their pods by the host's ports on them.",
      source: SOURCE,
    },
    kept: {
      text: 'It reaches no service of other primary networks, once its cgroup is there.',
      source: SOURCE,
    },
  },
  claims: [],
  build(facts, [namespace, name], out) {
    const pod = facts.hostNetworkPods.get(namespace, name);
    if (pod === undefined || facts.namespaces.part(namespace, 'isLabelled') !== true) return;
    const object = `Pod ${namespace}/${name}`;
    const cgroup = podCgroup(pod.uid);
    if (cgroup === undefined) {
      out.problem(
        object,
        `its uid ${JSON.stringify(pod.uid)} is in no cgroup's name: on the host's network it reaches services of other networks; make it again`,
      );
      return;
    }
    const add = (rule: string, chain: string, verdict: string): void => {
      const text = `socket cgroupv2 level 2 "${cgroup}" ${verdict}`;
      new NftRows(out, object, rule).rule(text, { chain, text, order: 0, cgroup });
    };
    for (const network of facts.primariesOf(namespace)) {
      const found = facts.rendered.get(network);
      if (found !== undefined && hasGateway(found)) add('own', hostPodChain(found.id), 'accept');
    }
    add('kept', PODS, 'drop');
  },
});
