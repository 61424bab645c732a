/**
 * How the external bridge is made of an uplink, and taken apart again: steps, each with what undoes it (reference/node.md §5). What the host says to
 * others goes out all the time: addresses are on both devices while the uplink changes hands, routes follow it at once. Pure.
 */
import {
  deviceChangeText,
  movedAddress,
  movedRoute,
  withoutAddress,
  type DeviceChange,
} from './device-changes.ts';
import {
  gatewayBridgeOf,
  GATEWAY_NETWORK,
  type SwitchBridge,
  type SwitchChange,
  type UplinkAddress,
  type UplinkDevice,
  type UplinkRoute,
  type UplinkState,
} from './state.ts';

export type Step =
  | { readonly kind: 'switch'; readonly change: SwitchChange; readonly undo?: SwitchChange }
  | {
      readonly kind: 'devices';
      readonly changes: readonly DeviceChange[];
      readonly undo: readonly DeviceChange[];
    }
  /** Waits until there is such a device. */
  | { readonly kind: 'device'; readonly name: string; readonly mac: string | undefined }
  /** Writes the flows that the bridge has before its uplink. */
  | { readonly kind: 'first-flows'; readonly bridge: string }
  /** Waits until ovs-vswitchd has the uplink. */
  | { readonly kind: 'uplink'; readonly bridge: string; readonly uplink: string }
  /** Without a value: what it was before the steps. */
  | { readonly kind: 'sysctl'; readonly path: string; readonly value?: string }
  | {
      readonly kind: 'same-sysctl';
      readonly path: string;
      readonly of: string;
    };

export interface UplinkPlan {
  /** The bridge, once it is known which it is. */
  readonly bridge?: string;
  /** In order; nothing when all is as it should be. */
  readonly steps: readonly Step[];
  /** Why nothing can be done, and what to do about it. */
  readonly problem?: string;
}

/** Addresses and routes of a device that is not there any more. */
export interface Lost {
  readonly addresses: readonly UplinkAddress[];
  readonly routes: readonly UplinkRoute[];
}

const FLAG = '--gateway-interface';
/** The kernel's limit (linux/if.h, IFNAMSIZ). */
const LONGEST_NAME = 15;
/** Device of Open vSwitch's kernel module that has its ports. */
const SWITCH_DEVICE = 'ovs-system';
/** A packet may come from where another way leads to (linux, ip-sysctl, rp_filter): the uplink's are the bridge's for a moment. */
const LOOSE = '2';

const stopped = (problem: string): UplinkPlan => ({ steps: [], problem });

export interface UplinkRequest {
  /** VLAN of the gateway; 0 for none. */
  readonly vlan?: number;
  readonly lost?: Lost | undefined;
  /** Number of the bridge's device, as it was last: it may outlive a bridge that was deleted while ovs-vswitchd was away. */
  readonly ownDevice?: number | undefined;
}

/** What makes `name` the uplink of the external bridge, or the external bridge, if it is a bridge of Open vSwitch. */
export function uplinkPlan(
  name: string,
  state: UplinkState,
  { vlan = 0, lost, ownDevice }: UplinkRequest = {},
): UplinkPlan {
  const { bridges, mappings } = state.switch;
  const mapped = gatewayBridgeOf(mappings);
  if (bridges.has(name)) {
    if (mapped !== undefined && mapped !== name)
      return stopped(
        `${FLAG} is ${name}, and ovn-bridge-mappings has ${GATEWAY_NETWORK} on ${mapped}: make them the same`,
      );
    return { bridge: name, steps: mappingSteps(name, mapped) };
  }
  const bridge = mapped ?? `br${name}`;
  const uplink = state.devices.get(name);
  if (uplink === undefined) return stopped(`${FLAG}: there is no device ${name}`);
  const why = unusable(uplink, bridge, state, ownDevice);
  if (why !== undefined) return stopped(why);
  const known = bridges.get(bridge);
  const device = state.devices.get(bridge);
  const addresses = [...uplink.addresses, ...(lost?.addresses ?? [])];
  const routes = [...uplink.routes, ...(lost?.routes ?? [])];
  const isWhole =
    known?.hasUplink === true &&
    known.ports.has(name) &&
    device?.isUp === true &&
    addresses.length + routes.length === 0;
  return {
    bridge,
    steps: [
      ...(known === undefined ? [] : vlanSteps(bridge, known, vlan)),
      ...(isWhole
        ? []
        : moveToBridge(uplink, bridge, { known, device, addresses, routes, vlan }, state)),
      ...mappingSteps(bridge, mapped),
    ],
  };
}

function unusable(
  { name, master, mac }: UplinkDevice,
  bridge: string,
  { switch: { bridges }, devices }: UplinkState,
  ownDevice: number | undefined,
): string | undefined {
  if (bridge.length > LONGEST_NAME)
    return `${FLAG}: the bridge of ${name} would be ${bridge}, which is longer than ${LONGEST_NAME} characters: name a bridge in external_ids:ovn-bridge-mappings of the local Open_vSwitch database, as "${GATEWAY_NETWORK}:br-ex"`;
  const other = [...bridges].find(([known, { ports }]) => known !== bridge && ports.has(name));
  if (other !== undefined)
    return `${FLAG}: ${name} is a port of bridge ${other[0]}; take it off there, or name that bridge`;
  if (master !== undefined && master !== SWITCH_DEVICE)
    return `${FLAG}: ${name} is part of ${master}; name ${master}, or take it off there`;
  if (mac === undefined) return `${FLAG}: ${name} has no MAC address`;
  const device = devices.get(bridge);
  if (!bridges.has(bridge) && device !== undefined && device.index !== ownDevice)
    return `${FLAG}: the bridge of ${name} is ${bridge}, and there is a device of that name that is not Open vSwitch's; remove it, or name another bridge in external_ids:ovn-bridge-mappings`;
  const named = bridges.get(bridge)?.uplink;
  return named === undefined || named === name
    ? undefined
    : `${FLAG} is ${name}, and external_ids:bridge-uplink of bridge ${bridge} is ${named}: make them the same`;
}

/** The host is in the VLAN of the gateway on bridges that Heddle made; that of another VLAN is taken off only if Heddle put it there. */
function vlanSteps(
  bridge: string,
  { isOurs, hostVlan = 0, hostVlanByUs = 0 }: SwitchBridge,
  vlan: number,
): readonly Step[] {
  if (!isOurs || hostVlan === vlan || (vlan === 0 && hostVlan !== hostVlanByUs)) return [];
  const change = { kind: 'host-vlan', bridge } as const;
  return [{ kind: 'switch', change: { ...change, vlan }, undo: { ...change, vlan: hostVlan } }];
}

const mappingSteps = (bridge: string, mapped: string | undefined): readonly Step[] =>
  mapped === bridge
    ? []
    : [
        {
          kind: 'switch',
          change: { kind: 'map', bridge },
          undo: { kind: 'unmap', bridge },
        },
      ];

interface Movement {
  readonly known: SwitchBridge | undefined;
  readonly device: UplinkDevice | undefined;
  readonly addresses: readonly UplinkAddress[];
  readonly routes: readonly UplinkRoute[];
  readonly vlan: number;
}

function moveToBridge(
  uplink: UplinkDevice,
  bridge: string,
  { known, device, addresses, routes, vlan }: Movement,
  { switch: { datapathType } }: UplinkState,
): readonly Step[] {
  const { name, mac = '' } = uplink;
  const strictness = sysctl('ipv4', bridge, 'rp_filter');
  const own = new Set(device?.addresses.map(({ address }) => address));
  const onBridge = addresses.map((address) => movedAddress(address, name, bridge));
  const moveAddresses = [
    ...inOrder(routes).map((route) => movedRoute(route, name, bridge)),
    // The first address of a network takes the later ones with it.
    ...uplink.addresses.toReversed().map((address) => withoutAddress(address, name)),
  ];
  const before = [
    ...uplink.addresses.map((address) => movedAddress(address, name, name)),
    ...inOrder(uplink.routes).map((route) => movedRoute(route, name, name)),
  ];
  const steps: Step[] = [];
  if (known === undefined)
    steps.push({
      kind: 'switch',
      change: { kind: 'add-bridge', bridge, uplink: name, mac, vlan, datapathType },
      undo: { kind: 'remove-bridge', bridge },
    });
  if (device === undefined)
    steps.push(
      { kind: 'device', name: bridge, mac: known === undefined ? mac : undefined },
      // Announcements of routers reach the bridge from now on.
      {
        kind: 'same-sysctl',
        path: sysctl('ipv6', bridge, 'accept_ra'),
        of: sysctl('ipv6', name, 'accept_ra'),
      },
    );
  steps.push({ kind: 'sysctl', path: strictness, value: LOOSE });
  if (device?.isUp !== true)
    steps.push({ kind: 'devices', changes: [{ kind: 'up', dev: bridge }], undo: [] });
  steps.push({
    kind: 'devices',
    changes: onBridge,
    undo: addresses
      .filter(({ address }) => !own.has(address))
      .toReversed()
      .map((address) => withoutAddress(address, bridge)),
  });
  if (known?.ports.has(name) !== true)
    steps.push(
      { kind: 'first-flows', bridge },
      {
        kind: 'switch',
        change: { kind: 'add-uplink', bridge, uplink: name },
        undo: { kind: 'remove-uplink', bridge, uplink: name },
      },
    );
  steps.push(
    { kind: 'uplink', bridge, uplink: name },
    { kind: 'devices', changes: moveAddresses, undo: before },
    { kind: 'sysctl', path: strictness },
  );
  return steps;
}

/** What puts everything back onto the uplink of a bridge that Heddle made. */
export function withoutBridge(bridge: string, state: UplinkState): UplinkPlan {
  const known = state.switch.bridges.get(bridge);
  const device = state.devices.get(bridge);
  const unmap: readonly Step[] =
    known?.isMappedByUs === true
      ? [
          {
            kind: 'switch',
            change: { kind: 'unmap', bridge },
            undo: { kind: 'map', bridge },
          },
        ]
      : [];
  if (known?.isOurs !== true || known.uplink === undefined) return { bridge, steps: unmap };
  const { uplink } = known;
  if (!state.devices.has(uplink))
    return stopped(
      `${bridge} can't be taken apart: there is no device ${uplink}, which had its addresses`,
    );
  const addresses = device?.addresses ?? [];
  const routes = device?.routes ?? [];
  return {
    bridge,
    steps: [
      ...unmap,
      ...(device === undefined
        ? []
        : ([
            { kind: 'sysctl', path: sysctl('ipv4', bridge, 'rp_filter'), value: LOOSE },
          ] satisfies Step[])),
      {
        kind: 'devices',
        changes: [
          { kind: 'up', dev: uplink },
          ...addresses.map((address) => movedAddress(address, bridge, uplink)),
          ...inOrder(routes).map((route) => movedRoute(route, bridge, uplink)),
        ],
        undo: [
          ...inOrder(routes).map((route) => movedRoute(route, bridge, bridge)),
          ...addresses.toReversed().map((address) => withoutAddress(address, uplink)),
        ],
      },
      {
        kind: 'switch',
        change: { kind: 'remove-uplink', bridge, uplink },
        undo: { kind: 'add-uplink', bridge, uplink },
      },
      { kind: 'switch', change: { kind: 'remove-bridge', bridge } },
    ],
  };
}

/** Routes to networks that are reached at once come before those by way of them; that to everywhere is last. */
const inOrder = (routes: readonly UplinkRoute[]): readonly UplinkRoute[] => {
  const rank = ({ destination, hops }: UplinkRoute): number =>
    destination.endsWith('/0') ? 2 : hops.some(({ via }) => via !== undefined) ? 1 : 0;
  return routes.toSorted((a, b) => rank(a) - rank(b));
};

const sysctl = (family: 'ipv4' | 'ipv6', dev: string, name: string): string =>
  `net/${family}/conf/${dev}/${name}`;

/** The steps as people read them. */
export function stepText(step: Step): string {
  switch (step.kind) {
    case 'switch':
      return switchText(step.change);
    case 'devices':
      return step.changes.map(deviceChangeText).join('\n');
    case 'device':
      return `wait for device ${step.name}`;
    case 'first-flows':
      return `add flows to ${step.bridge} that let the host alone send with its MAC address`;
    case 'uplink':
      return `wait until Open vSwitch has ${step.uplink} on ${step.bridge}`;
    case 'sysctl':
      return `set ${step.path} to ${step.value ?? 'what it was'}`;
    case 'same-sysctl':
      return `set ${step.path} to what ${step.of} is`;
  }
}

function switchText(change: SwitchChange): string {
  switch (change.kind) {
    case 'add-bridge':
      return `add bridge ${change.bridge} with MAC address ${change.mac}${change.vlan === 0 ? '' : `, the host in VLAN ${change.vlan}`}`;
    case 'remove-bridge':
      return `remove bridge ${change.bridge}`;
    case 'add-uplink':
      return `add port ${change.uplink} to ${change.bridge}`;
    case 'remove-uplink':
      return `remove port ${change.uplink} from ${change.bridge}`;
    case 'host-vlan':
      return change.vlan === 0
        ? `take the host's port of ${change.bridge} out of its VLAN`
        : `put the host's port of ${change.bridge} into VLAN ${change.vlan}`;
    case 'map':
      return `add ${GATEWAY_NETWORK}:${change.bridge} to ovn-bridge-mappings`;
    case 'unmap':
      return `remove ${GATEWAY_NETWORK}:${change.bridge} from ovn-bridge-mappings`;
  }
}
