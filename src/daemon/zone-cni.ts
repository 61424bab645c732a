/** The CNI plugin of a running node daemon, on its socket. */
import { networkAttachmentDefinitions, pods } from '../api/kinds.ts';
import { Conntrack } from '../node/drivers/conntrack.ts';
import { PodLinks } from '../node/drivers/pod-links.ts';
import { CniPlugin } from './cni-plugin.ts';
import { serveCni } from './cni-socket.ts';
import type { Logger } from './logger.ts';
import { PodPorts } from './pod-ports.ts';
import type { ZoneRuntime } from './zone-runtime.ts';

/** Serves container runtimes, if there is a socket for them. Throws ConfigurationError. */
export async function serveZoneCni(runtime: ZoneRuntime, log: Logger): Promise<AsyncDisposable> {
  const { cniSocket, node, settings } = runtime.configuration;
  if (cniSocket === undefined || runtime.host === undefined) return new AsyncDisposableStack();
  const { facts, informers } = runtime;
  const plugin = new CniPlugin({
    node,
    pods: informers.of(pods),
    nads: informers.of(networkAttachmentDefinitions),
    store: informers.store,
    ports: new PodPorts(runtime.host.openVswitch),
    links: new PodLinks(),
    conntrack: new Conntrack(),
    mtuOf: (network) =>
      (network === undefined ? undefined : facts.networks.get(network)?.mtu) ?? settings.mtu,
    problemsOf: (object) =>
      runtime
        .problems()
        .filter((problem) => problem.object === object)
        .map(({ message }) => message),
    log,
  });
  return serveCni({
    path: cniSocket,
    answer: (text, signal) => plugin.answer(text, signal),
    log,
  });
}
