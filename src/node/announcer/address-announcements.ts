/**
 * Tells neighbours where egress addresses are that the host got: gratuitous ARP (RFC 5227 §2.3), and neighbour advertisements that nobody asked for
 * (RFC 4861 §7.2.6). More than once, as such a frame may be lost, and a neighbour that missed it would send to the node that had the address before.
 */
import { familyOf, parseAddress } from '../../allocators/addresses.ts';
import type { Clock } from '../../store/clock.ts';
import type { Log } from '../../store/log.ts';
import type { EgressAddressOnHost } from './node-facts.ts';

/** Milliseconds after which each is sent again. */
const REPEATS = [0, 500, 1500, 3500, 7500] as const;

export interface AddressAnnouncementsOptions {
  /** Sends a frame, in hexadecimal, into the network of the external bridge, or of another device. */
  readonly send: (
    place: Pick<EgressAddressOnHost, 'device' | 'isBridge'>,
    frame: string,
  ) => Promise<void>;
  /** False while another node may have them: a daemon that starts, or goes on, finds on its host what may have been given away meanwhile. */
  readonly mayAnnounce?: () => boolean;
  /** VLAN of the gateway; 0 for none. Other devices are in theirs. */
  readonly vlan: number;
  readonly clock: Clock;
  readonly log: Pick<Log, 'warn'>;
  /** Ends what goes on. */
  readonly signal: AbortSignal;
}

export class AddressAnnouncements {
  readonly #options: AddressAnnouncementsOptions;
  /** Ends the announcements of an address at its place. */
  readonly #known = new Map<string, () => void>();

  constructor(options: AddressAnnouncementsOptions) {
    this.#options = options;
    options.signal.addEventListener('abort', () => this.update([]), { once: true });
  }

  /** Announces those that are new, or at another place; those that are gone no more. */
  update(addresses: readonly EgressAddressOnHost[]): void {
    const placeOf = ({ address, device, mac }: EgressAddressOnHost): string =>
      [address, device, mac].join(' ');
    const places = new Map(addresses.map((one) => [placeOf(one), one]));
    for (const [place, end] of this.#known) {
      if (places.has(place)) continue;
      this.#known.delete(place);
      end();
    }
    for (const [place, one] of places)
      if (one.mac !== undefined && !this.#known.has(place))
        this.#known.set(place, this.#announce(one, one.mac));
  }

  #announce({ address, device, isBridge }: EgressAddressOnHost, mac: string): () => void {
    const { send, mayAnnounce = () => true, vlan, clock, log } = this.#options;
    const frame = announcementOf(address, mac, isBridge ? vlan : 0);
    const cancels = REPEATS.map((after) =>
      clock.after(after, () => {
        if (!mayAnnounce()) return;
        send({ device, isBridge }, frame).catch((error: unknown) =>
          log.warn({ address, device, error }, 'address not announced'),
        );
      }),
    );
    return () => {
      for (const cancel of cancels) cancel();
    };
  }
}

const BROADCAST = 'ffffffffffff';
const ALL_NODES_MAC = '333300000001';
/** ff02::1. */
const ALL_NODES = `ff02${'0'.repeat(27)}1`;
const ICMPV6 = 0x3a;

const hex = (value: number | bigint, bytes: number): string =>
  value.toString(16).padStart(2 * bytes, '0');

/** A frame, in hexadecimal, that says at which MAC address an address is. */
export function announcementOf(address: string, mac: string, vlan: number): string {
  const parsed = parseAddress(address);
  if (parsed === undefined) throw new TypeError(`${JSON.stringify(address)} is no address`);
  const source = mac.replaceAll(':', '');
  const tag = vlan === 0 ? '' : `8100${hex(vlan, 2)}`;
  if (familyOf(address) === 'v4') {
    const own = hex(parsed.value, 4);
    // Ethernet, IPv4, 6 and 4 bytes, request.
    const arp = `0001080006040001${source}${own}${'0'.repeat(12)}${own}`;
    return `${BROADCAST}${source}${tag}0806${arp}`;
  }
  const own = hex(parsed.value, 16);
  // Override; with the MAC address as an option.
  const body = (checksum: number): string => `8800${hex(checksum, 2)}20000000${own}0201${source}`;
  const length = body(0).length / 2;
  const pseudo = `${own}${ALL_NODES}${hex(length, 4)}${hex(ICMPV6, 4)}`;
  const checksum = ~onesSum(pseudo + body(0)) & 0xffff;
  const ip = `60000000${hex(length, 2)}${hex(ICMPV6, 1)}ff${own}${ALL_NODES}`;
  return `${ALL_NODES_MAC}${source}${tag}86dd${ip}${body(checksum)}`;
}

/** Sum of 16-bit words, with carries added (RFC 1071). */
function onesSum(text: string): number {
  let sum = 0;
  for (let at = 0; at < text.length; at += 4) sum += parseInt(text.slice(at, at + 4), 16);
  while (sum > 0xffff) sum = (sum & 0xffff) + (sum >>> 16);
  return sum;
}
