/** What is known of the uplink, of the bridge that stands in for it, and of Open vSwitch, when the bridge is set up. */
import type { NewAddress, NewHop, NewRoute } from 'rtnetlink-ts';

/** An address, but for its device. */
export type UplinkAddress = Omit<NewAddress, 'device' | 'protocol'>;

export type UplinkHop = Omit<NewHop, 'device'> & { readonly dev: string };

/** A unicast route, of any table but the kernel's own, with at least one next hop. */
export type UplinkRoute = Omit<NewRoute, 'hops' | 'type'> & { readonly hops: readonly UplinkHop[] };

export interface UplinkDevice {
  readonly name: string;
  readonly index: number;
  readonly mac: string | undefined;
  readonly isUp: boolean;
  /** What it is part of. */
  readonly master: string | undefined;
  /** Those that others may use, without ours: what moves between uplink and bridge. */
  readonly addresses: readonly UplinkAddress[];
  readonly routes: readonly UplinkRoute[];
}

export interface SwitchBridge {
  readonly ports: ReadonlySet<string>;
  /** Its uplink, as the bridge says. */
  readonly uplink: string | undefined;
  /** True if Heddle made it of its uplink. */
  readonly isOurs: boolean;
  /** True if Heddle told OVN of it. */
  readonly isMappedByUs: boolean;
  /** True when ovs-vswitchd has the uplink. */
  readonly hasUplink: boolean;
  /** VLAN of what the host sends and gets without a tag; undefined for none. */
  readonly hostVlan: number | undefined;
  /** The same, where Heddle put the host there. */
  readonly hostVlanByUs: number | undefined;
}

export interface SwitchState {
  readonly bridges: ReadonlyMap<string, SwitchBridge>;
  /** `ovn-bridge-mappings`. */
  readonly mappings: string;
  /** `ovn-bridge-datapath-type`, of br-int and so of every bridge that it is patched to. */
  readonly datapathType: string | undefined;
}

export interface UplinkState {
  readonly switch: SwitchState;
  /** Of the uplink and of the bridge, where they are there. */
  readonly devices: ReadonlyMap<string, UplinkDevice>;
}

/** A change of the local Open_vSwitch database, one transaction each. */
export type SwitchChange =
  | {
      readonly kind: 'add-bridge';
      readonly bridge: string;
      readonly uplink: string;
      readonly mac: string;
      /** Of the host; 0 for none. */
      readonly vlan: number;
      readonly datapathType: string | undefined;
    }
  | { readonly kind: 'remove-bridge'; readonly bridge: string }
  | { readonly kind: 'map' | 'unmap'; readonly bridge: string }
  | { readonly kind: 'host-vlan'; readonly bridge: string; readonly vlan: number }
  | {
      readonly kind: 'add-uplink' | 'remove-uplink';
      readonly bridge: string;
      readonly uplink: string;
    };

/** Physical network of the default network's gateway (reference/node.md §5). */
export const GATEWAY_NETWORK = 'physnet';

/** Pairs of `ovn-bridge-mappings`. */
export const mappingsOf = (text: string): readonly (readonly [network: string, bridge: string])[] =>
  text
    .split(',')
    .map((entry) => entry.trim())
    .filter((entry) => entry !== '')
    .map((entry): readonly [string, string] => {
      const colon = entry.indexOf(':');
      return colon < 0 ? [entry, ''] : [entry.slice(0, colon), entry.slice(colon + 1)];
    });

/** The bridge that OVN has the default network's gateway on. */
export const gatewayBridgeOf = (mappings: string): string | undefined =>
  mappingsOf(mappings).find(([network]) => network === GATEWAY_NETWORK)?.[1];
