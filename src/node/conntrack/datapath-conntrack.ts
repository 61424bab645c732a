/** Connections that Open vSwitch's userspace datapath tracks itself: those of a service or a next hop that goes are forgotten, by its control socket. */
import { familyOf } from '../../allocators/addresses.ts';
import { USERSPACE_DATAPATH } from '../names.ts';
import type { Unixctl } from '../programs/unixctl.ts';
import { PROTOCOLS } from './conntrack.ts';
import { hopLabels, type HopConnections } from './hop-connections.ts';
import type { StaleConnections } from './service-connections.ts';

const FIELDS = { v4: 'ct_nw', v6: 'ct_ipv6' } as const;

export class DatapathConntrack {
  readonly #vswitchd: Pick<Unixctl, 'run'>;
  readonly #isUserspace: () => boolean;

  /** `isUserspace`: whether the integration bridge is of that datapath; where it is the kernel's, so are the connections. */
  constructor(vswitchd: Pick<Unixctl, 'run'>, isUserspace: () => boolean) {
    this.#vswitchd = vswitchd;
    this.#isUserspace = isUserspace;
  }

  /**
   * Forgets connections of all zones that went to services, also those of the external bridge, which is of the same datapath. One after the other: ovs-vswitchd looks
   * through all of its table for each, and does its other work in between. Throws UnixctlError. Needs Open vSwitch 3.1.
   */
  async forgetServices(stale: readonly StaleConnections[], signal: AbortSignal): Promise<void> {
    if (!this.#isUserspace()) return;
    for (const one of stale)
      await this.#vswitchd.run(
        'dpctl/flush-conntrack',
        [USERSPACE_DATAPATH, ...tuplesOf(one)],
        signal,
      );
  }

  /** Forgets connections of pods that are answered by way of a next hop. Throws UnixctlError. Needs Open vSwitch 3.2. */
  async forgetHops(stale: readonly HopConnections[], signal: AbortSignal): Promise<void> {
    if (!this.#isUserspace()) return;
    for (const { source, mac } of stale)
      await this.#vswitchd.run(
        'dpctl/flush-conntrack',
        // By who answers: the original destination may be a service.
        [
          USERSPACE_DATAPATH,
          `labels=${hopLabels(mac)}`,
          '',
          `${FIELDS[familyOf(source)]}_src=${source}`,
        ],
        signal,
      );
  }
}

/**
 * Resolves when no packet goes by flows of before: the datapath keeps what ovs-vswitchd made of them until that has looked at it again. A look that is under
 * way may have begun before: the one after it counts. Throws UnixctlError.
 */
export async function revalidated(
  vswitchd: Pick<Unixctl, 'run'>,
  signal: AbortSignal,
): Promise<void> {
  for (let look = 0; look < 2; look += 1) await vswitchd.run('revalidator/wait', [], signal);
}

/** What connections have in common, as ovs-dpctl(8) takes it: as who began them sends, and as who answers. */
function tuplesOf({ protocol, destination, endpoint }: StaleConnections): readonly string[] {
  const { address, port, family } = destination;
  const [fields, number] = [FIELDS[family], `ct_nw_proto=${PROTOCOLS[protocol]}`];
  const original = `${fields}_dst=${address},${number},ct_tp_dst=${port}`;
  return endpoint === undefined ? [original] : [original, `${fields}_src=${endpoint},${number}`];
}
