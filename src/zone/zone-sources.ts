/** What a node finds out by itself, besides objects and rows: what names stand for, BFD sessions, routes of the host, its egress addresses and ways out. */
import type { ReplicaView } from 'ovsdb-client-ts';
import { nodes } from '../api/kinds.ts';
import type { ZoneProblem } from '../api/zone-status.ts';
import { daemonIdentity } from '../cluster-daemon/cluster-daemon.ts';
import type { OpenDatabase } from '../databases/open-database.ts';
import type { ZoneFacts } from '../model/zone/zone.ts';
import type { AnnouncedFence, AnnouncedNetworksDown } from '../node/announcer/node-announcer.ts';
import { DnsForwarder, type DnsEvents } from '../node/dns/dns-forwarder.ts';
import { askServers, hostServers } from '../node/dns/dns-query.ts';
import { NameSource } from '../node/dns/name-source.ts';
import { WaysOutSource } from '../node/egress-lease/ways-out-source.ts';
import type { FactSource } from '../node/fact-source.ts';
import { HostRouteSource } from '../node/linux/host-route-source.ts';
import { NextHopSource } from '../node/linux/next-hop-source.ts';
import type { Logger } from '../process/logger.ts';
import type { Configuration } from '../settings/configuration.ts';
import { systemClock } from '../store/clock.ts';
import type { Informers } from '../store/informers.ts';
import { egressFirewallName } from '../topology/rows/address-sets.ts';
import { BfdSessions } from './bfd-sessions.ts';
import type { OpenHost } from './host.ts';
import { areNodesAsked, NodeEgressLease } from './node-egress-lease.ts';

export interface ZoneSourcesOptions {
  readonly node: string;
  readonly configuration: Pick<Configuration, 'settings' | 'host'>;
  readonly informers: Informers;
  readonly facts: ZoneFacts;
  readonly northbound: OpenDatabase;
  /** Undefined where the host is left alone. */
  readonly host: OpenHost | undefined;
  /** Whether the host and the databases are to be changed. */
  readonly mayWrite: boolean;
  /** See `HeededChanges`. */
  readonly revalidated?: () => Promise<void>;
  readonly dnsEvents?: DnsEvents | undefined;
  readonly log: Logger;
  /** Called when facts or problems are others. */
  readonly onChange: () => void;
  /** Called when what the node announces of its egress addresses is another. */
  readonly onEgressChange: () => void;
}

/** What the database has of a name in rules. */
function addressesIn(
  replica: ReplicaView,
  name: string,
  family: Parameters<typeof egressFirewallName>[1],
): readonly string[] {
  const [row] = replica.find('Address_Set', ['name'], [egressFirewallName(name, family).name]);
  return row === undefined ? [] : (row.column('addresses') as readonly string[]);
}

const loaded = (database: OpenDatabase): ReplicaView | undefined =>
  database.isLoaded?.() === false ? undefined : database.replica;

export class ZoneSources {
  readonly names: NameSource;
  readonly bfdSessions: BfdSessions;
  /** Present where nodes are asked for their health. */
  readonly #egressLease: NodeEgressLease | undefined;
  /** Present where egress addresses are kept on the host. */
  readonly #waysOut: WaysOutSource | undefined;
  readonly #all: readonly FactSource[];
  readonly #facts: ZoneFacts;

  constructor(options: ZoneSourcesOptions) {
    const { node, facts, northbound, host, mayWrite, revalidated, log, onChange } = options;
    this.#facts = facts;
    this.names = new NameSource({
      ask: askServers,
      hostServers,
      log,
      onChange,
      heldBefore: (name, family) => {
        const replica = loaded(northbound);
        return replica && addressesIn(replica, name, family);
      },
      ...(revalidated === undefined ? {} : { revalidated }),
    });
    this.bfdSessions = new BfdSessions({ node, northbound: () => loaded(northbound), onChange });
    const kept = mayWrite ? host : undefined;
    this.#waysOut = kept && waysOutOf(kept, options);
    this.#egressLease = kept && egressLeaseOf(kept, options);
    this.#all = [
      this.names,
      this.bfdSessions,
      ...(kept === undefined ? [] : [forwarderOf(this.names, options)]),
      ...routesOf(options),
      ...(this.#egressLease?.sources ?? []),
      ...(this.#waysOut === undefined ? [] : [this.#waysOut]),
    ];
  }

  /** One promise for each, which ends when `signal` aborts. */
  start(signal: AbortSignal): readonly Promise<void>[] {
    return this.#all.map((source) => source.start(this.#facts, systemClock, signal));
  }

  problems(): readonly ZoneProblem[] {
    return this.#all.flatMap((source) => source.problems());
  }

  /** Whether the fence of egress addresses may be opened; `isNew`: it was not there. */
  mayOpenFence(isNew: boolean): boolean {
    return this.#egressLease?.mayOpenFence(isNew) === true;
  }

  get announcedFence(): AnnouncedFence | undefined {
    return this.#egressLease?.announcedFence;
  }

  /** False while the node must not say that it has egress addresses. */
  get mayAnnounceEgress(): boolean {
    return this.#egressLease?.mayAnnounce !== false;
  }

  /** Networks by which nothing leaves the node. */
  get networksDown(): AnnouncedNetworksDown {
    if (this.#waysOut === undefined) return undefined;
    const networks = this.#waysOut.down;
    if (networks === undefined) return 'as before';
    return networks.size === 0 ? undefined : { daemon: daemonIdentity(), networks };
  }

  /** To be called when the database of Open vSwitch has other bridges or settings. */
  openVswitchChanged(): void {
    this.#waysOut?.openVswitchChanged();
  }
}

function waysOutOf(
  host: OpenHost,
  { node, configuration, informers, log, onChange, onEgressChange }: ZoneSourcesOptions,
): WaysOutSource | undefined {
  const { settings } = configuration;
  if (!settings.features.egressIp) return undefined;
  return new WaysOutSource({
    node,
    nodes: informers.of(nodes),
    settings,
    openVswitch: () =>
      host.openVswitch.unavailable() === undefined ? host.openVswitch.replica : undefined,
    namespace: host.namespace,
    monitor: host.monitor,
    log,
    onChange: () => {
      onEgressChange();
      onChange();
    },
  });
}

function egressLeaseOf(
  host: OpenHost,
  { node, configuration, informers, facts, log, onChange, onEgressChange }: ZoneSourcesOptions,
): NodeEgressLease | undefined {
  const { settings } = configuration;
  return areNodesAsked(settings)
    ? new NodeEgressLease({
        node,
        settings,
        informers,
        facts,
        host,
        log,
        onFence: onEgressChange,
        onChange,
      })
    : undefined;
}

const forwarderOf = (
  names: NameSource,
  { node, dnsEvents: events, log, onChange }: ZoneSourcesOptions,
): FactSource =>
  new DnsForwarder({ node, names, log, onChange, ...(events === undefined ? {} : { events }) });

function routesOf({
  node,
  configuration,
  host,
  mayWrite,
  log,
  onChange,
}: ZoneSourcesOptions): readonly FactSource[] {
  if (host === undefined) return [];
  const { namespace, monitor } = host;
  const options = { node, namespace, monitor, log, onChange };
  const isAsked = configuration.host.hasVrfs || configuration.settings.features.egressIp;
  return [
    new NextHopSource({ ...options, mayAsk: mayWrite }),
    ...(isAsked ? [new HostRouteSource(options)] : []),
  ];
}
