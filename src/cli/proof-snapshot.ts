/** Reads what a proof is made of: objects, the three databases and the host, each as it is now. */
import {
  adminNetworkPolicies,
  baselineAdminNetworkPolicies,
  clusterNetworkConnects,
  clusterNetworkPolicies,
  clusterUserDefinedNetworks,
  egressFirewalls,
  egressIPs,
  endpointSlices,
  isOptionalKind,
  multiNetworkPolicies,
  namespaces,
  networkAttachmentDefinitions,
  networkPolicies,
  nodes,
  pods,
  services,
  userDefinedNetworks,
} from '../api/kinds.ts';
import { errorText } from '../api/error-text.ts';
import { gatewayConfig } from '../api/annotations/node-annotations.ts';
import type { KubeObject, ResourceKind } from '../api/objects.ts';
import { openDatabase } from '../databases/open-database.ts';
import { createLogger } from '../process/logger.ts';
import type { Configuration } from '../settings/configuration.ts';
import { objectSource, openStore } from '../settings/object-store.ts';
import { StoreError, type Store } from '../store/store.ts';
import { readTables, type DatabaseName, type ServerSchema } from '../verify/read/databases.ts';
import { readHost } from '../verify/read/host.ts';
import type { Tables } from '../verify/rows.ts';
import type { DatabaseState, Objects, Policies, Snapshot } from '../verify/snapshot.ts';

/** With the node and the Northbound database that a proof can't do without. */
export type Placed = Configuration & { readonly node: string; readonly nb: string };

interface ReadDatabase {
  readonly tables: Tables;
  readonly state: DatabaseState;
}

/** Rejects where Northbound or the store can't be read; what else can't is named in `unread`. */
export async function snapshotOf(configuration: Placed, signal: AbortSignal): Promise<Snapshot> {
  const { node, settings, host } = configuration;
  const unread: string[] = [];
  const { objects, policies } = await readObjects(configuration, unread, signal);
  const [northbound, southbound, openVswitch] = await Promise.all([
    readDatabase('OVN_Northbound', '--nb', configuration.nb, configuration, signal),
    ifGiven('OVN_Southbound', '--sb', configuration.sb, configuration, unread, signal),
    ifGiven('Open_vSwitch', '--ovs', configuration.ovs, configuration, unread, signal),
  ]);
  const here = objects.nodes.find(({ metadata }) => metadata.name === node);
  const gateway = here === undefined ? undefined : gatewayConfig(here).value;
  if (here === undefined) unread.push(`Node ${node}: there is no such object`);
  const bridge = gateway === undefined || gateway.mode === 'disabled' ? undefined : gateway.bridge;
  const found =
    configuration.ovs === undefined
      ? { host: {}, unread: ['the host: it needs --ovs'] }
      : await readHost(bridge, signal);
  return {
    node,
    settings: {
      ...settings,
      routingTables: host.routingTables,
    },
    objects,
    policies,
    northbound: northbound.tables,
    ...(southbound === undefined ? {} : { southbound: southbound.tables }),
    ...(openVswitch === undefined ? {} : { openVswitch: openVswitch.tables }),
    databases: {
      OVN_Northbound: northbound.state,
      ...(southbound === undefined ? {} : { OVN_Southbound: southbound.state }),
      ...(openVswitch === undefined ? {} : { Open_vSwitch: openVswitch.state }),
    },
    host: found.host,
    unread: [...unread, ...found.unread],
  };
}

async function readObjects(
  configuration: Configuration,
  unread: string[],
  signal: AbortSignal,
): Promise<{ readonly objects: Objects; readonly policies: Policies }> {
  await using opened = await openStore(objectSource(configuration, process.env), { dryRun: true });
  const { objects: store } = opened;
  const all = <T extends KubeObject>(kind: ResourceKind<T>): Promise<readonly T[]> =>
    listed(store, kind, unread, signal);
  const [
    attachmentDefinitions,
    clusterNetworks,
    networks,
    connects,
    allNamespaces,
    allNodes,
    allPods,
    allServices,
    slices,
    egressIps,
    networkOnes,
    multiNetworkOnes,
    firewalls,
    ...admins
  ] = await Promise.all([
    all(networkAttachmentDefinitions),
    all(clusterUserDefinedNetworks),
    all(userDefinedNetworks),
    all(clusterNetworkConnects),
    all(namespaces),
    all(nodes),
    all(pods),
    all(services),
    all(endpointSlices),
    all(egressIPs),
    all(networkPolicies),
    all(multiNetworkPolicies),
    all(egressFirewalls),
    all(adminNetworkPolicies),
    all(baselineAdminNetworkPolicies),
    all(clusterNetworkPolicies),
  ]);
  const objects = {
    attachmentDefinitions,
    clusterNetworks,
    networks,
    connects,
    namespaces: allNamespaces,
    nodes: allNodes,
    pods: allPods,
    services: allServices,
    slices,
    egressIps,
  };
  return {
    objects,
    policies: {
      namespaced: [...networkOnes, ...multiNetworkOnes],
      admins: admins.flat(),
      firewalls,
    },
  };
}

/** Objects of a kind; none of one that the API server does not serve. */
async function listed<T extends KubeObject>(
  store: Store,
  kind: ResourceKind<T>,
  unread: string[],
  signal: AbortSignal,
): Promise<readonly T[]> {
  try {
    return await store.list(kind, signal);
  } catch (error) {
    const isMissing = error instanceof StoreError && error.code === 'not-installed';
    if (!isMissing || !isOptionalKind(kind)) unread.push(`${kind.kind}: ${errorText(error)}`);
    return [];
  }
}

async function ifGiven(
  name: DatabaseName,
  flag: string,
  remotes: string | undefined,
  configuration: Configuration,
  unread: string[],
  signal: AbortSignal,
): Promise<ReadDatabase | undefined> {
  if (remotes === undefined) {
    unread.push(`${name}: it needs ${flag}`);
    return undefined;
  }
  try {
    return await readDatabase(name, flag, remotes, configuration, signal);
  } catch (error) {
    unread.push(`${name}: ${errorText(error)}`);
    return undefined;
  }
}

async function readDatabase(
  name: DatabaseName,
  flag: string,
  remotes: string,
  { tls, logLevel }: Configuration,
  signal: AbortSignal,
): Promise<ReadDatabase> {
  let schema: (ServerSchema & { readonly version: string }) | undefined;
  await using database = openDatabase({
    name,
    flag,
    remotes,
    tls,
    log: createLogger(logLevel === 'info' ? 'error' : logLevel),
    tables(found) {
      schema = found;
      return {};
    },
  });
  await database.ready(signal, { isImpatient: true });
  const has = (of: string, column?: string): boolean => {
    const columns = schema?.tables.get(of)?.columns;
    return columns !== undefined && (column === undefined || columns.has(column));
  };
  const tables = await readTables(name, database.transactor, has, signal);
  const status = database.status();
  return {
    tables,
    state: {
      schema: schema?.version ?? '',
      ...(status === undefined ? {} : { generation: status.generation }),
      ...(status?.cluster === undefined ? {} : { cluster: status.cluster }),
      ...(status?.index === undefined ? {} : { index: Number(status.index) }),
    },
  };
}
