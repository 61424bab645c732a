/**
 * What the host forwards from its ports on networks. A pod with raw sockets sends frames to the port past the router of its network: with any
 * destination, and with its own address, which nothing has translated.
 */
import { familyOf, formatAddress, parsePrefix, type Family } from '../../allocators/addresses.ts';
import {
  EGRESS_SERVICE_SLOTS,
  egressMasquerade,
  egressServiceMasquerade,
} from '../../allocators/node-addresses.ts';
import { FIRST_EGRESS_MARK, LAST_EGRESS_MARK } from '../../api/annotations/network-annotations.ts';
import { ONE } from '../../facts/keys.ts';
import { feature, type Feature } from '../../desired/features.ts';
import { networkObject } from '../../model/zone/failed-facts.ts';
import { DEFAULT_NETWORK } from '../../model/read/networks.ts';
import type { ClusterSettings } from '../../model/model.ts';
import type { ZoneFacts } from '../../model/zone/zone.ts';
import { isDefault } from '../../model/rules/names.ts';
import { clusterFamilies, hasGateway } from '../../model/rules/network-addresses.ts';
import { MANAGEMENT_DEVICES, managementDevice } from '../names.ts';
import { forwardedDns } from '../networks/dns-forwarder.ts';
import { accessConnections, networkConnections } from './default-access.ts';
import { nodePortConnections } from './node-port-access.ts';
import { concatenated, ipWord, NftRows, quoted } from './nft-rows.ts';
import { OTHER_ADDRESSES } from './node-addresses.ts';
import { ofFamily } from './ruleset.ts';
import {
  DEFAULT_NETWORK_ID,
  MARK_EGRESS_SERVICE,
  MARK_SECONDARY_EGRESS,
  MARK_TO_NODE_ADDRESS,
  POD_LINK_GROUP,
} from '../numbers.ts';
import { SETTINGS } from '../../desired/rows.ts';

const CHAIN = 'mgmtport-forward';
/** Pods of EgressServices that leave by this host. */
export const SERVICE_PODS = 'egress-service-pods';
/** Pods of this node that leave by their EgressIP or EgressService, and not as the node. */
export const ELSEWHERE = 'egress-elsewhere';
/** Addresses that networks have on the host, by its ports on them. */
const OWN = 'udn-forwarded';
/** Pods that the host forwards from, each with the network card. */
export const FORWARDED = 'egress-ip-forwarded';
const own = (family: Family): string => ofFamily(OWN, family);

/** `at` places from the first up to `last`; undefined where the masquerade subnet has not all of them. */
function linksOf(
  subnet: string | undefined,
  at: typeof egressMasquerade,
  last: number,
): string | undefined {
  const prefix = parsePrefix(subnet ?? '');
  const ends = [0, last].flatMap((place) => {
    const found = prefix && at(prefix, place);
    return found === undefined ? [] : [formatAddress(found)];
  });
  return ends.length === 2 ? ends.join('-') : undefined;
}

/** Addresses by which the host knows what networks of users send out by network cards, each of one EgressIP: a range as nft writes it. */
export const egressIpLinks = (
  { masqueradeSubnets }: ClusterSettings,
  family: Family,
): string | undefined =>
  linksOf(masqueradeSubnets[family], egressMasquerade, LAST_EGRESS_MARK - FIRST_EGRESS_MARK);

/** The same of what they send out by routing tables, each of one EgressService. */
export const egressServiceLinks = (
  { masqueradeSubnets }: ClusterSettings,
  family: Family,
): string | undefined =>
  linksOf(masqueradeSubnets[family], egressServiceMasquerade, EGRESS_SERVICE_SLOTS - 1);

/** What matches packets from the host's port on the default network. */
const FROM_DEFAULT = `iifname "${managementDevice(DEFAULT_NETWORK_ID)}"`;
const TO_DEFAULT = `oifname "${managementDevice(DEFAULT_NETWORK_ID)}"`;
/** Behind a VRF a packet comes in by the VRF; the port is the VRF's slave. */
const FROM_NETWORKS = `meta sdifname "${MANAGEMENT_DEVICES}"`;
/** What matches packets from any of them. */
export const FROM_PODS = [`iifname "${MANAGEMENT_DEVICES}"`, FROM_NETWORKS] as const;

/**
 * Replies to, and errors about, what the host has translated: what it led to a pod, and what has its own address in the network (containers of its own,
 * whoever else it gives its address to). Of what it has not, somebody outside sent to a pod's own address, and the pod would answer with that.
 */
const ANSWERS = ['ct direction reply', 'ct state related'].flatMap((answer) =>
  ['snat', 'dnat'].map((status) => `${answer} ct status ${status}`),
);

export const managementPortForward: Feature<ZoneFacts> = {
  name: 'nft/management-port-forward',
  over: () => ONE,
  objects: () => [SETTINGS],
  rules: {
    'from-links': {
      text: "What comes in by the host's end of a pod's interface is for Open vSwitch alone. Its userspace datapath leaves the host's stack a copy, in which a pod may say of itself what it likes.",
      source: 'reference/node.md §3.9',
    },
    'between-ports': {
      text: 'The host forwards nothing from one of its ports on networks to another, or back: pods reach each other in OVN, where policies are.',
      source: 'reference/node.md §3.9',
    },
    dns: {
      text: 'But what a pod asked DNS while its forwarder does not listen: an endpoint, behind policies that let the pod to it.',
      source: 'reference/egress.md §2.4',
    },
    'no-connection': {
      text: "What belongs to no connection nothing translates: the host forwards none of it, or it would leave with a pod's own address.",
      source: 'reference/node.md §3.9',
    },
    'own-address': {
      text: "From a primary network the host forwards what has the network's masquerade address, and replies to what it translated: nothing leaves with a pod's own address, whoever began.",
      source: 'reference/node.md §3.9, §1.1',
    },
    'default-access': {
      text: 'From the default network, and back, the host forwards what pods of the namespaces of default-network-access have with services of primary networks that let it in.',
      source: 'reference/node.md §3.10',
    },
    'node-ports': {
      text: 'From the default network, and back, the host forwards what pods have with services of primary networks by node ports of their own node.',
      source: 'reference/node.md §3.4',
    },
    'networks-addresses': {
      text: "Nothing else between the default network and others has a primary network's address: a connection ends with the setting, the label, the pod, the service or the node port that it was let in by.",
      source: 'reference/node.md §3.10',
    },
    'egress-services': {
      text: 'What pods of an EgressService send to leave passes as soon as the host knows with which address; in local gateway mode nothing else that pods of other nodes send.',
      source: 'reference/egress.md §4.3',
    },
    'egress-service-tables': {
      text: 'What primary networks send out by the routing table of an EgressService passes as soon as the host knows with which address.',
      source: 'reference/egress.md §4.3',
    },
    'default-network': {
      text: 'In shared gateway mode the host forwards from the default network what is for a service by a node port or external address, replies to what it translated, and what egress sends to nodes: pods leave by their gateway router.',
      source: 'reference/node.md §3.9',
    },
    'egress-elsewhere': {
      text: 'In local gateway mode pods with an EgressIP or EgressService reach nodes by this host, and else what that brings here: they never leave as the node, whatever OVN has yet to learn, and also where their marks are lost on the way to the host.',
      source: 'reference/egress.md §1.13, §4.3',
    },
    'egress-cards': {
      text: 'What a pod with an egress address on a network card sends is forwarded by that card alone.',
      source: 'reference/egress.md §1.11, §1.13, G3',
    },
  },
  claims: [],
  build(facts, _args, out) {
    const families = clusterFamilies(facts.settings);
    const between = new NftRows(out, SETTINGS, 'between-ports');
    const unknown = new NftRows(out, SETTINGS, 'no-connection');
    const networks = new NftRows(out, SETTINGS, 'own-address');
    const pods = new NftRows(out, SETTINGS, 'default-network');
    between.chain(CHAIN);
    for (const family of families) networks.set(OWN, family);
    let order = 0;
    const add = (rows: NftRows, text: string): void => {
      rows.rule(text, { chain: CHAIN, text, order: (order += 1) });
    };
    add(new NftRows(out, SETTINGS, 'from-links'), `meta iifgroup ${POD_LINK_GROUP} drop`);
    const forwarding = facts.forwardedDns();
    if (forwarding !== undefined)
      for (const passes of forwardedDns(forwarding)) add(new NftRows(out, SETTINGS, 'dns'), passes);
    for (const from of FROM_PODS) add(between, `${from} oifname "${MANAGEMENT_DEVICES}" drop`);
    for (const from of FROM_PODS) add(unknown, `${from} ct state invalid drop`);
    for (const passes of ANSWERS) add(networks, `${FROM_NETWORKS} ${passes} accept`);
    for (const family of families)
      add(networks, `meta sdifname . ${ipWord(family)} saddr @${own(family)} accept`);
    add(networks, `${FROM_NETWORKS} drop`);
    const access = new NftRows(out, SETTINGS, 'default-access');
    const ports = new NftRows(out, SETTINGS, 'node-ports');
    const ends = new NftRows(out, SETTINGS, 'networks-addresses');
    for (const way of [FROM_DEFAULT, TO_DEFAULT]) {
      for (const allowed of accessConnections(facts.settings))
        add(access, `${way} ${allowed} accept`);
      for (const allowed of nodePortConnections(facts.settings))
        add(ports, `${way} ${allowed} accept`);
      for (const translated of networkConnections(facts.settings))
        add(ends, `${way} ${translated} drop`);
    }
    if (facts.settings.features.egressIp) {
      const cards = new NftRows(out, SETTINGS, 'egress-cards');
      for (const family of families) {
        cards.set(FORWARDED, family);
        add(
          cards,
          `${FROM_DEFAULT} ct direction original ${ipWord(family)} saddr . oifname @${ofFamily(FORWARDED, family)} accept`,
        );
      }
      add(cards, `${FROM_DEFAULT} meta mark ${MARK_SECONDARY_EGRESS} drop`);
      for (const family of families) {
        const links = egressIpLinks(facts.settings, family);
        const ip = ipWord(family);
        if (links !== undefined)
          add(
            cards,
            `${ip} saddr ${links} ${ip} saddr . oifname != @${ofFamily(FORWARDED, family)} drop`,
          );
      }
    }
    const leaving = families.map(
      (family) => `${ipWord(family)} saddr @${ofFamily(SERVICE_PODS, family)}`,
    );
    const services = new NftRows(out, SETTINGS, 'egress-services');
    for (const pods of leaving) add(services, `${FROM_DEFAULT} ${pods} accept`);
    const byTables = new NftRows(out, SETTINGS, 'egress-service-tables');
    for (const family of families) {
      const links = egressServiceLinks(facts.settings, family);
      const ip = ipWord(family);
      if (links !== undefined)
        add(
          byTables,
          `${ip} saddr ${links} ${ip} saddr != @${ofFamily(SERVICE_PODS, family)} drop`,
        );
    }
    add(services, `${FROM_DEFAULT} meta mark ${MARK_EGRESS_SERVICE} drop`);
    const { mode } = facts.own('gateway') ?? {};
    if (mode === 'local') {
      const elsewhere = new NftRows(out, SETTINGS, 'egress-elsewhere');
      for (const family of families) {
        const ip = ipWord(family);
        elsewhere.set(ELSEWHERE, family);
        add(
          elsewhere,
          `${FROM_DEFAULT} ct direction original ${ip} saddr @${ofFamily(ELSEWHERE, family)} ${ip} daddr != @${ofFamily(OTHER_ADDRESSES, family)} drop`,
        );
      }
      const own = facts.subnetsOn(DEFAULT_NETWORK, facts.nodeName);
      for (const cidr of own)
        add(services, `${FROM_DEFAULT} ${ipWord(familyOf(cidr))} saddr ${cidr} accept`);
      for (const { cidr } of facts.networks.part(DEFAULT_NETWORK, 'subnets') ?? [])
        add(services, `${FROM_DEFAULT} ${ipWord(familyOf(cidr))} saddr ${cidr} drop`);
    }
    if (mode !== 'shared') return;
    for (const passes of [
      'ct status dnat',
      ...ANSWERS,
      `meta mark ${Number(MARK_TO_NODE_ADDRESS)}`,
    ])
      add(pods, `${FROM_DEFAULT} ${passes} accept`);
    add(pods, `${FROM_DEFAULT} drop`);
  },
};

export const networkForward = feature({
  name: 'nft/network-forward',
  over: ({ rendered }: ZoneFacts) => rendered,
  objects: (facts, [network]) => [networkObject(facts, network)],
  subject: (_facts, [network]) => network,
  rules: {
    'own-address': {
      text: "A network's masquerade address is known by the host's port on it.",
      source: 'reference/node.md §3.9, §1.1',
    },
  },
  claims: [],
  build(facts, [name], out) {
    const network = facts.rendered.get(name);
    if (network === undefined || isDefault(network) || !hasGateway(network)) return;
    const rows = new NftRows(out, network.object, 'own-address');
    for (const family of clusterFamilies(facts.settings)) {
      const address = network.masquerade[family]?.managementPort;
      if (address !== undefined)
        rows.element({
          set: own(family),
          element: concatenated(quoted(managementDevice(network.id)), address),
        });
    }
  },
});
