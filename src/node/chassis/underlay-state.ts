/** What the kernel says of the devices that tunnels may go by. */
import type { Address, Link } from 'rtnetlink-ts';
import { withoutPrefix } from '../../allocators/addresses.ts';
import { readDevices } from '../linux/host-state.ts';
import type { NameOf } from '../linux/linux-found.ts';
import { openRouteSocket } from '../linux/network-socket.ts';

export interface UnderlayDevice {
  readonly name: string;
  /** Bytes. */
  readonly mtu: number;
  /** Device that it is a VLAN of, and its tag. */
  readonly vlan: { readonly of: string; readonly id: number } | undefined;
  /** Without prefix length. */
  readonly addresses: readonly string[];
}

export function underlayDevice(
  {
    name,
    mtu,
    data,
    peer,
    peerNamespace,
  }: Pick<Link, 'name' | 'mtu' | 'data' | 'peer' | 'peerNamespace'>,
  addresses: readonly Pick<Address, 'address'>[],
  nameOf: NameOf,
): UnderlayDevice {
  // In another namespace the number means another device.
  const below = peerNamespace === undefined ? nameOf(peer) : undefined;
  return {
    name,
    mtu,
    vlan: data?.kind === 'vlan' && below !== undefined ? { of: below, id: data.id } : undefined,
    addresses: addresses.map(({ address }) => withoutPrefix(address)),
  };
}

/** Of a network namespace that is named by its path. Throws NetlinkError. */
export function readUnderlayDevices(namespace: string | undefined): readonly UnderlayDevice[] {
  using socket = openRouteSocket(namespace);
  const { devices, nameOf } = readDevices(socket);
  return devices.map(({ link, addresses }) => underlayDevice(link, addresses, nameOf));
}
