/** The CNI plugin of a running node daemon, on its socket. */
import { dirname, join } from 'node:path';
import { networkAttachmentDefinitions, pods } from '../api/kinds.ts';
import { PodLinks } from '../cni/links/pod-links.ts';
import { ShownConflist } from '../cni/install/shown-conflist.ts';
import { CniPlugin } from '../cni/server/cni-plugin.ts';
import { ContainerTurns } from '../cni/server/container-turns.ts';
import { serveCni } from '../cni/server/cni-socket.ts';
import type { LinkFacts } from '../cni/links/pod-interfaces.ts';
import type { Logger } from '../process/logger.ts';
import { Resources } from '../process/resources.ts';
import { NetworkStatusWriter } from '../cni/server/network-status-writer.ts';
import { keepPodPorts } from '../cni/server/pod-port-keeper.ts';
import { FORGETTING, PodConnections } from '../cni/server/pod-connections.ts';
import { PodPorts } from '../cni/server/pod-ports.ts';
import type { PodTraces } from '../traces/pod-traces.ts';
import type { ZoneRuntime } from './zone-runtime.ts';

export interface ZoneCni extends AsyncDisposable {
  /** The configuration by which runtimes find the plugin; absent where the daemon does not write it. */
  readonly conflist?: ShownConflist;
}

/** Serves container runtimes, if there is a socket for them. Throws ConfigurationError. */
export async function serveZoneCni(
  runtime: ZoneRuntime,
  log: Logger,
  traces?: PodTraces,
): Promise<ZoneCni> {
  const { cniSocket, cniConfDir, node, settings } = runtime.configuration;
  if (cniSocket === undefined || runtime.host === undefined) return new Resources();
  const shown =
    cniConfDir === undefined ? {} : { conflist: new ShownConflist(cniConfDir, cniSocket) };
  const { facts, informers } = runtime;
  const shared = {
    node,
    pods: informers.of(pods),
    nads: informers.of(networkAttachmentDefinitions),
    ports: new PodPorts(runtime.host.openVswitch),
    links: new PodLinks({ sysctlFolder: runtime.configuration.sysctlFolder }),
    turns: new ContainerTurns(),
    linkFactsOf: (name: string | undefined): LinkFacts => {
      const network = name === undefined ? undefined : facts.networks.get(name);
      return {
        mtu: network?.mtu ?? settings.mtu,
        isOnUnderlay: network?.topology === 'localnet',
      };
    },
    log,
  };
  const connections = new PodConnections({
    conntrack: runtime.host.conntrack,
    file: join(dirname(cniSocket), FORGETTING),
    log,
  });
  void connections.resume();
  const resources = new Resources();
  const statuses = resources.use(new NetworkStatusWriter({ ...shared, store: informers.store }));
  const plugin = new CniPlugin({
    ...shared,
    statuses,
    connections,
    switchDown: () => runtime.switchDown,
    silent: () => runtime.controller.progress.silent(),
    ...(traces === undefined ? {} : { traces }),
    seen: (pod) => runtime.podStages?.seen(pod),
    problemsOf: (object) =>
      runtime
        .problems()
        .filter((problem) => problem.object === object)
        .map(({ message }) => message),
  });
  try {
    shared.links.group();
  } catch (error) {
    log.warn(
      { component: 'cni', error },
      "pods on the host's network are not kept from interfaces of pods that an older release made",
    );
  }
  resources.use(keepPodPorts(shared, runtime.host.openVswitch));
  resources.use(
    await serveCni({
      path: cniSocket,
      answer: (text, signal) => plugin.answer(text, signal),
      log,
    }),
  );
  return { ...shown, [Symbol.asyncDispose]: () => resources[Symbol.asyncDispose]() };
}
