/** What is known of the uplink, of the bridge that stands in for it, and of Open vSwitch, when the bridge is set up. */

/** An address as `ip address` takes and shows it. */
export interface UplinkAddress {
  /** With prefix length. */
  readonly address: string;
  /** Other end of a point-to-point link, with prefix length. */
  readonly peer?: string;
  readonly broadcast?: string;
  /** Of IPv4; begins with the name of its device. */
  readonly label?: string;
  /** Its network has no route that the kernel made. */
  readonly hasNoRoute: boolean;
  readonly metric?: number;
  /** Seconds; absent for an address that stays. */
  readonly lifetimes?: { readonly valid: number | 'forever'; readonly preferred: number };
}

export interface UplinkHop {
  readonly dev: string;
  readonly via?: string;
  readonly weight: number;
  readonly isOnLink: boolean;
}

/** A unicast route, of any table but the kernel's own. */
export interface UplinkRoute {
  /** With prefix length; that of everything has length 0. */
  readonly dst: string;
  readonly table: number;
  readonly protocol: number;
  /** Of IPv4. */
  readonly scope?: number;
  readonly src?: string;
  readonly metric?: number;
  readonly expires?: number;
  readonly preference?: string;
  /** `mtu`, `advmss` …, with their values. */
  readonly metrics: readonly (readonly [string, string])[];
  /** At least one. */
  readonly hops: readonly UplinkHop[];
}

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
