/**
 * Leases of egress addresses at other network cards than the gateway's: the kernel, which answers for them, takes each away by itself when its lifetime is over
 * (ip-address(8), valid_lft). It is for them what the fence is for those of the external bridge.
 */
import { addresses, deleteAddress, replaceAddress, type Address, type Request } from 'rtnetlink-ts';
import { newAddress } from '../linux/linux-requests.ts';
import { linkOf, openRouteSocket } from '../linux/network-socket.ts';
import { PROTOCOL } from '../numbers.ts';
import type { FenceTerm } from '../openflow/egress-fence.ts';

/** Each method throws NetlinkError, MalformedMessage when the kernel does not do as it is asked. */
export interface EgressCardLeases {
  /**
   * Those of these addresses, with prefix length, that a device besides the bridge has are there from now on for EGRESS_FENCE, or until they are taken away. What is
   * not there is left alone: it comes when it may.
   */
  renew(held: readonly string[], bridge: string, term: FenceTerm): void;
  /** Takes away what was renewed. */
  release(): void;
}

export class CardLeases implements EgressCardLeases {
  readonly #namespace: string | undefined;
  #renewed: { readonly held: readonly string[]; readonly bridge: string } | undefined;

  /** `namespace`: path of the network namespace; that of the process, if none is named. */
  constructor(namespace?: string) {
    this.#namespace = namespace;
  }

  renew(held: readonly string[], bridge: string, term: FenceTerm): void {
    this.#renewed = { held, bridge };
    this.#each(({ address, device, lifetimes }) => {
      const deprecated = lifetimes.preferred === 0;
      const columns = { dev: '', address, deprecated, isLeased: term === 'timed' };
      return replaceAddress(newAddress(columns, () => device));
    });
  }

  release(): void {
    this.#each(({ address, device }) => deleteAddress({ device, address }));
    this.#renewed = undefined;
  }

  /** All at once: to replace an address that is not there any more would be to add it. */
  #each(request: (found: Address) => Request): void {
    if (this.#renewed === undefined || this.#renewed.held.length === 0) return;
    const { held, bridge } = this.#renewed;
    using socket = openRouteSocket(this.#namespace);
    const gateway = linkOf(socket, bridge)?.index;
    for (const found of socket.dump(addresses()))
      if (found.protocol === PROTOCOL && found.device !== gateway && held.includes(found.address))
        socket.change(request(found));
  }
}
