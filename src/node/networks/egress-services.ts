/** What of EgressServices leaves by this host: with which address, and by which routing table (reference/egress.md §4.3). */
import { familyOf, macOf, nthAddress } from '../../allocators/addresses.ts';
import { MASQUERADE_OFFSETS } from '../../allocators/node-addresses.ts';
import { feature, type Feature, type Rule, type Sink } from '../../desired/features.ts';
import { EVERY_HOST } from '../../model/read/egress-services.ts';
import { DEFAULT_NETWORK } from '../../model/read/networks.ts';
import { clusterFamilies } from '../../model/rules/network-addresses.ts';
import { egressServiceObject, type EgressServicePlace } from '../../model/zone/egress-services.ts';
import type { ZoneFacts } from '../../model/zone/zone.ts';
import { HostRows } from '../host-rows.ts';
import { SERVICE_NETWORKS, SERVICE_SNAT, SERVICE_SOURCES } from '../nftables/egress.ts';
import { ELSEWHERE, SERVICE_PODS } from '../nftables/management-port-forward.ts';
import { concatenated, NftRows } from '../nftables/nft-rows.ts';
import { ofFamily } from '../nftables/ruleset.ts';
import { RULE_EGRESS_SERVICE } from '../numbers.ts';
import type { HostSettings } from './host-network.ts';

/** Ids of networks have at most four digits. */
const NETWORKS = 10_000;

/** A place at this host, with the number that its routing table has here. */
interface PlaceHere extends Omit<EgressServicePlace, 'table'> {
  readonly table: number | undefined;
}

/** The place, where its pods leave by this host. */
function placeHere(
  facts: ZoneFacts,
  service: string,
  { routingTables }: HostSettings,
  out?: Sink,
): PlaceHere | undefined {
  const place = facts.placeOfService(service);
  const { nodeName } = facts;
  if (place === undefined || (place.host !== nodeName && place.host !== EVERY_HOST))
    return undefined;
  const { table: named } = place;
  const table = typeof named === 'string' ? facts.tableOfVrf(named) : named;
  const problem = (why: string): undefined => {
    out?.problem(
      egressServiceObject(service),
      `spec.network: ${why}: no pod of it leaves by node ${nodeName}; name one that an administrator keeps on the nodes`,
    );
  };
  if (named !== undefined && table === undefined)
    return problem(`node ${nodeName} has no VRF ${named} of its own`);
  if (table !== undefined && table >= routingTables && table < routingTables + NETWORKS)
    return problem(`${named} is, or may become, the routing table of a network of Heddle`);
  return { ...place, table };
}

/** Rules of what leaves, by a pod's own address or by that which stands for pods of primary networks. */
const EXIT_RULES: Readonly<Record<string, Rule>> = {
  source: {
    text: 'What is behind an EgressService leaves this host with the address of the load balancer.',
    source: 'reference/node.md §3.7, egress service',
  },
  network: {
    text: 'Where the network says the address, it leaves with that of the device that it leaves by.',
    source: 'reference/egress.md §4.3',
  },
  table: {
    text: 'What it sends is routed by the table that the EgressService names.',
    source: 'reference/node.md §2.4',
  },
};

export const egressServicePodsOnHost = (settings: HostSettings): Feature<ZoneFacts> =>
  feature({
    name: 'host/egress-service-pods',
    over: (facts: ZoneFacts) => facts.egressServicePorts,
    objects(facts, key) {
      const service = facts.egressServicePorts.peek(...key)?.service;
      return service === undefined ? undefined : [egressServiceObject(service)];
    },
    rules: {
      ...EXIT_RULES,
      elsewhere: {
        text: 'In local gateway mode one that leaves by another node, or by none, does not leave as this one.',
        source: 'reference/egress.md §4.3',
      },
    },
    claims: [],
    build(facts, key, out) {
      const port = facts.egressServicePorts.get(...key);
      if (port?.network !== DEFAULT_NETWORK) return;
      const place = placeHere(facts, port.service, settings);
      if (place?.host === EVERY_HOST && !port.isOwn) return;
      const object = egressServiceObject(port.service);
      const families = clusterFamilies(facts.settings);
      const mayLeave = port.isOwn && facts.own('gateway')?.mode === 'local';
      for (const address of port.addresses) {
        const family = familyOf(address);
        if (!families.includes(family)) continue;
        const source = place?.sources.find((one) => familyOf(one) === family);
        if (place === undefined || (source === undefined && place.host !== EVERY_HOST)) {
          if (mayLeave)
            new NftRows(out, object, 'elsewhere').element({
              set: ofFamily(ELSEWHERE, family),
              element: address,
            });
          continue;
        }
        addExit(out, object, { from: address, source, table: place.table });
      }
    },
  });

interface ServiceExit {
  /** By which the host knows it. */
  readonly from: string;
  /** Absent: that of the device. */
  readonly source: string | undefined;
  readonly table: number | undefined;
}

function addExit(out: Sink, object: string, { from, source, table }: ServiceExit): void {
  const family = familyOf(from);
  const rows = new NftRows(out, object, source === undefined ? 'network' : 'source');
  rows.element({ set: ofFamily(SERVICE_PODS, family), element: from });
  if (source === undefined)
    rows.element({ set: ofFamily(SERVICE_NETWORKS, family), element: from });
  else {
    rows.element({ set: ofFamily(SERVICE_SNAT, family), element: from, value: source });
    rows.element({ set: ofFamily(SERVICE_SOURCES, family), element: concatenated(from, source) });
  }
  if (table !== undefined)
    new HostRows(out, object, 'table').rule({
      family,
      priority: RULE_EGRESS_SERVICE,
      from,
      table,
    });
}

/** What primary networks send out by a routing table: the bridge leads it to the host, known by an address of the EgressService (reference/egress.md §4.3). */
export const egressServiceNetworks = (settings: HostSettings): Feature<ZoneFacts> =>
  feature({
    name: 'host/egress-service-networks',
    over: (facts: ZoneFacts) => facts.egressServiceUses,
    objects: (_facts, key) => [egressServiceObject(key.join('/'))],
    rules: {
      ...EXIT_RULES,
      neighbour: {
        text: 'Answers go to the external bridge, where the address of the EgressService is a neighbour.',
        source: 'reference/egress.md §4.3',
      },
    },
    claims: [],
    build(facts, key, out) {
      const dev = facts.own('gateway')?.bridge;
      const service = key.join('/');
      const table = placeHere(facts, service, settings)?.table;
      const networks = facts.egressServiceUses.get(...key)?.networks ?? [];
      if (dev === undefined || table === undefined || networks.length === 0) return;
      const object = egressServiceObject(service);
      for (const family of clusterFamilies(facts.settings)) {
        const exit = facts.egressServiceExit(service, family);
        if (exit === undefined || typeof exit === 'string' || exit.link === undefined) continue;
        const { link, address } = exit;
        addExit(out, object, { from: link, source: address, table });
        new HostRows(out, object, 'neighbour').neighbour({
          dev,
          address: link,
          mac: macOf(link),
        });
      }
    },
  });

export const egressServiceRules = (settings: HostSettings): Feature<ZoneFacts> =>
  feature({
    name: 'host/egress-service-rules',
    over: (facts: ZoneFacts) => facts.egressServices.bucket('here'),
    objects: (_facts, key) => [egressServiceObject(key.join('/'))],
    rules: {
      answers: {
        text: 'What the service answers to who asked its load balancer leaves by that table, too.',
        source: 'reference/node.md §2.4',
      },
    },
    claims: [],
    build(facts, key, out) {
      const service = key.join('/');
      const table = placeHere(facts, service, settings, out)?.table;
      const {
        clusterIps = [],
        isExternallyLocal = false,
        ports = [],
      } = facts.services.get(service) ?? {};
      if (table === undefined) return;
      const rows = new HostRows(out, egressServiceObject(service), 'answers');
      const rule = (from: string, sport?: number): void =>
        rows.rule({
          family: familyOf(from),
          priority: RULE_EGRESS_SERVICE,
          from,
          table,
          ...(sport === undefined ? {} : { sport }),
        });
      for (const address of clusterIps) rule(address);
      // What is led straight to a pod of a primary network is answered by that network's own table.
      const isPrimary = (facts.egressServiceUses.get(...key)?.networks ?? []).length > 0;
      if (!isExternallyLocal || isPrimary) return;
      for (const family of clusterFamilies(facts.settings)) {
        const subnet = facts.settings.masqueradeSubnets[family];
        if (subnet === undefined) continue;
        for (const nodePort of new Set(ports.flatMap((port) => port.nodePort ?? [])))
          rule(nthAddress(subnet, MASQUERADE_OFFSETS.hostEtpLocal), nodePort);
      }
    },
  });
