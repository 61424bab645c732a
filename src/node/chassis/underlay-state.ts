/** What the kernel says of the devices that tunnels may go by. */
import { isPlainObject, type PlainObject } from '../../api/plain-object.ts';
import type { IpProgram } from '../programs/ip-program.ts';

export interface UnderlayDevice {
  readonly name: string;
  /** Bytes. */
  readonly mtu: number;
  /** Device that it is a VLAN of, and its tag. */
  readonly vlan: { readonly of: string; readonly id: number } | undefined;
  /** Without prefix length. */
  readonly addresses: readonly string[];
}

const objects = (value: unknown): readonly PlainObject[] =>
  Array.isArray(value) ? value.filter(isPlainObject) : [];

/** A device as `ip -json -details address` shows it. */
export function underlayDevice(json: PlainObject): UnderlayDevice | undefined {
  const { ifname: name, mtu, link, linkinfo, addr_info: addresses } = json;
  if (typeof name !== 'string' || typeof mtu !== 'number') return undefined;
  const info = isPlainObject(linkinfo) && linkinfo['info_kind'] === 'vlan' && linkinfo['info_data'];
  const id = isPlainObject(info) ? info['id'] : undefined;
  return {
    name,
    mtu,
    vlan: typeof link === 'string' && typeof id === 'number' ? { of: link, id } : undefined,
    addresses: objects(addresses).flatMap(({ local }) =>
      typeof local === 'string' ? [local] : [],
    ),
  };
}

export async function readUnderlayDevices(ip: IpProgram): Promise<readonly UnderlayDevice[]> {
  const [devices] = await ip.read('any', [['address', 'show']]);
  return objects(devices).flatMap((json) => underlayDevice(json) ?? []);
}
