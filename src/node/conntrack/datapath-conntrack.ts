/** Connections that Open vSwitch's userspace datapath tracks itself: those of a service that goes are forgotten, by `ovs-ofctl`. */
import { INTEGRATION_BRIDGE } from '../names.ts';
import type { StaleConnections } from './service-connections.ts';
import { PROTOCOLS } from './conntrack.ts';
import { OfctlError, type OfctlProgram } from '../openflow/ofctl-program.ts';

/** `ct-flush` takes one at a time. */
const AT_ONCE = 4;
const FIELDS = { v4: 'ct_nw', v6: 'ct_ipv6' } as const;

export class DatapathConntrack {
  readonly #ofctl: OfctlProgram;
  readonly #isUserspace: () => boolean;

  /** `isUserspace`: whether the integration bridge is of that datapath; where it is the kernel's, so are the connections. */
  constructor(ofctl: OfctlProgram, isUserspace: () => boolean) {
    this.#ofctl = ofctl;
    this.#isUserspace = isUserspace;
  }

  /** Forgets connections that went to services, also those of the external bridge, which is of the same datapath. Throws OfctlError. */
  async forgetServices(stale: readonly StaleConnections[], signal: AbortSignal): Promise<void> {
    if (!this.#isUserspace()) return;
    for (let at = 0; at < stale.length; at += AT_ONCE)
      await Promise.all(stale.slice(at, at + AT_ONCE).map((one) => this.#forget(one, signal)));
  }

  async #forget(
    { protocol, destination, endpoint }: StaleConnections,
    signal: AbortSignal,
  ): Promise<void> {
    const { address, port, family } = destination;
    const number = `ct_nw_proto=${PROTOCOLS[protocol]}`;
    const original = `${FIELDS[family]}_dst=${address},${number},ct_tp_dst=${port}`;
    const reply =
      endpoint === undefined ? undefined : `${FIELDS[family]}_src=${endpoint},${number}`;
    try {
      await this.#ofctl.forgetConnections(
        INTEGRATION_BRIDGE,
        reply === undefined ? [original] : [original, reply],
        signal,
      );
    } catch (error) {
      if (!(error instanceof OfctlError)) throw error;
      throw new OfctlError(`ovs-ofctl ct-flush: ${error.message}`, { cause: error });
    }
  }
}
