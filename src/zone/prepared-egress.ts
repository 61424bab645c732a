/** Egress addresses that are to come to this node, and for which all but answering is in place: rows in the data plane, flows and rules on the host. */
import type { ZoneFacts } from '../model/zone/zone.ts';

export interface PreparedEgressOptions {
  readonly facts: ZoneFacts;
  /** True while all that was built is on the host. */
  readonly isHostSet: () => boolean;
  /** Called when `addresses` are others. */
  readonly onChange: () => void;
}

export class PreparedEgress {
  readonly #options: PreparedEgressOptions;
  /** What went out with an `nb_cfg` that the data plane has not reached. */
  #sent: { readonly addresses: readonly string[]; readonly sequence: number } | undefined;
  #addresses: readonly string[] = [];

  constructor(options: PreparedEgressOptions) {
    this.#options = options;
  }

  get addresses(): readonly string[] {
    return this.#addresses;
  }

  /** Those for which rows are built: to be asked before they are sent. None while pods of other nodes are not known. */
  get built(): readonly string[] {
    const { facts } = this.#options;
    if (facts.otherPods.peekKnown() === false) return [];
    return [...facts.egressPlaces.entries()].flatMap(([, { exits }]) =>
      exits.flatMap(({ address, role }) => (role === 'next' ? [address] : [])),
    );
  }

  /** Rows of these are in the Northbound database, which went out with that `nb_cfg`. */
  sent(addresses: readonly string[], sequence: number): void {
    const waiting = this.#sent?.addresses ?? this.#addresses;
    if (waiting.length === addresses.length && addresses.every((one) => waiting.includes(one)))
      return;
    // What is no longer to come is not to be taken for ready.
    this.#set(this.#addresses.filter((one) => addresses.includes(one)));
    this.#sent = { addresses, sequence };
  }

  /** The data plane has reached that `nb_cfg`, or the host is as wanted. */
  reached(sequence: number): void {
    if (this.#sent === undefined || this.#sent.sequence > sequence) return;
    if (!this.#options.isHostSet()) return;
    const { addresses } = this.#sent;
    this.#sent = undefined;
    this.#set(addresses);
  }

  #set(addresses: readonly string[]): void {
    if (addresses.join() === this.#addresses.join()) return;
    this.#addresses = addresses;
    this.#options.onChange();
  }
}
