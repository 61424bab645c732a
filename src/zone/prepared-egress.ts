/**
 * Egress addresses that are to come to this node, and for which all but answering is in place, and heeded by packets: rows in the data plane, flows and
 * rules on the host.
 */
import type { ZoneFacts } from '../model/zone/zone.ts';
import { HeededChanges } from '../node/heeded-changes.ts';

export interface PreparedEgressOptions {
  readonly facts: ZoneFacts;
  /** True while all that was built is on the host. */
  readonly isHostSet: () => boolean;
  /** Called when `addresses` are others. */
  readonly onChange: () => void;
  /** See `HeededChanges`. */
  readonly revalidated?: () => Promise<void>;
}

export class PreparedEgress {
  readonly #options: PreparedEgressOptions;
  readonly #changes: HeededChanges<readonly string[]>;
  /** What went out last. */
  #sent: readonly string[] = [];
  #addresses: readonly string[] = [];

  constructor(options: PreparedEgressOptions) {
    this.#options = options;
    this.#changes = new HeededChanges({
      revalidated: options.revalidated,
      onHeeded: (changes) => {
        const newest = changes.at(-1);
        if (newest === this.#sent) this.#set(newest);
      },
    });
  }

  get addresses(): readonly string[] {
    return this.#addresses;
  }

  /**
   * Those for which rows are built: to be asked before they are sent. None while pods of other nodes are not known; no new ones while networks
   * wait to come, which they may be for.
   */
  get built(): readonly string[] {
    const { facts } = this.#options;
    if (facts.otherPods.peekKnown() === false) return [];
    const coming = [...facts.egressPlaces.entries()].flatMap(([, { exits }]) =>
      exits.flatMap(({ address, role }) => (role === 'next' ? [address] : [])),
    );
    if (facts.usage.entering.size === 0) return coming;
    return coming.filter((address) => this.#sent.includes(address));
  }

  /** Rows of these are in the Northbound database, which went out with that `nb_cfg`. */
  sent(addresses: readonly string[], sequence: number): void {
    const before = this.#sent;
    if (before.length === addresses.length && addresses.every((one) => before.includes(one)))
      return;
    // What is no longer to come is not to be taken for ready.
    this.#set(this.#addresses.filter((one) => addresses.includes(one)));
    this.#sent = addresses;
    this.#changes.sent(addresses, sequence);
  }

  /** The data plane has reached that `nb_cfg`, or the host is as wanted. */
  reached(sequence: number): void {
    if (this.#options.isHostSet()) this.#changes.reached(sequence);
  }

  #set(addresses: readonly string[]): void {
    if (addresses.join() === this.#addresses.join()) return;
    this.#addresses = addresses;
    this.#options.onChange();
  }
}
