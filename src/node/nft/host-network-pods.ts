/**
 * Pods on the host's network, in namespaces that ask for a primary network, reach services of the default network and of their own networks alone
 * (seed 000, Host Networked Pods). They are known by their cgroups.
 */
import { ONE } from '../../desired/keys.ts';
import type { Feature } from '../../desired/features.ts';
import type { ZoneFacts } from '../../model/facts.ts';
import { isDefault } from '../../model/names.ts';
import { clusterFamilies, hasGateway } from '../../model/network-addresses.ts';
import { podCgroup } from '../cgroup-names.ts';
import { CLUSTER, addressType, ipWord, NftRows, ofFamily } from '../nft-rows.ts';
import { packetMark, PRIORITY_FILTER } from '../numbers.ts';

const SERVICES = 'udn-host-services';
/** Pods that are kept to their networks. */
const PODS = 'udn-host-pods';
/** Cluster addresses of primary networks' services, with the chain of the network. */
export const SERVICE_ADDRESSES = 'udn-service-ips';
/** After the rules of pods. */
const LAST = 1_000_000;

/** Chain for what is sent to services of a network. */
export const hostPodChain = (networkId: number): string => `${SERVICES}-${packetMark(networkId)}`;

const SOURCE = 'seed 000, Host Networked Pods, Service Access';

export const hostPodChains: Feature<ZoneFacts> = {
  name: 'nft/host-services',
  over: () => ONE,
  rules: {
    services: {
      text: "What host processes send to services of a primary network is looked at by the network's chain.",
      source: SOURCE,
    },
  },
  claims: [],
  build({ settings }, _args, out) {
    const rows = new NftRows(out, CLUSTER, 'services');
    const families = clusterFamilies(settings);
    rows.chain({ name: SERVICES, type: 'filter', hook: 'output', priority: PRIORITY_FILTER });
    rows.chain({ name: PODS });
    for (const family of families)
      rows.set({
        name: ofFamily(SERVICE_ADDRESSES, family),
        type: addressType(family),
        value: 'verdict',
      });
    rows.rules(
      SERVICES,
      ...families.map(
        (family) => `${ipWord(family)} daddr vmap @${ofFamily(SERVICE_ADDRESSES, family)}`,
      ),
    );
  },
};

export const networkHostPods: Feature<ZoneFacts> = {
  name: 'nft/network-host-pods',
  over: ({ rendered }) => rendered,
  subject: (_facts, [network]) => network,
  rules: {
    others: {
      text: "Pods on the host's network that are not of the network, but of another primary one, do not reach its services.",
      source: SOURCE,
    },
  },
  claims: [],
  build(facts, [name = ''], out) {
    const network = facts.rendered.get(name);
    if (network === undefined || isDefault(network) || !hasGateway(network)) return;
    const rows = new NftRows(out, network.object, 'others');
    const chain = hostPodChain(network.id);
    rows.chain({ name: chain });
    const text = `jump ${PODS}`;
    rows.rule(text, { chain, text, order: LAST });
  },
};

export const hostNetworkPods: Feature<ZoneFacts> = {
  name: 'nft/host-network-pod',
  over: (facts) => facts.hostNetworkPods,
  rules: {
    own: {
      text: "A pod on the host's network reaches services of its namespace's primary networks.",
      source: SOURCE,
    },
    kept: {
      text: 'It reaches no service of other primary networks, once its cgroup is there.',
      source: SOURCE,
    },
  },
  claims: [],
  build(facts, [namespace = '', name = ''], out) {
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
    for (const network of facts.reach.primariesOf(namespace)) {
      const found = facts.rendered.get(network);
      if (found !== undefined && hasGateway(found)) add('own', hostPodChain(found.id), 'accept');
    }
    add('kept', PODS, 'drop');
  },
};
