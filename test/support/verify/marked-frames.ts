/** Frames as they are met on a host: in a tunnel, with a VLAN. */

/** In Geneve, with 8 bytes of options, as OVN sends (ovn-architecture(7)). */
export function inGeneve(frame: Uint8Array, key: number, isV6 = false): Uint8Array {
  const ip = isV6 ? 40 : 20;
  const options = 8;
  const outer = new Uint8Array(14 + ip + 8 + 8 + options);
  const view = new DataView(outer.buffer);
  view.setUint16(12, isV6 ? 0x86dd : 0x0800);
  view.setUint8(14, isV6 ? 0x60 : 0x45);
  view.setUint8(14 + (isV6 ? 6 : 9), 17);
  const udp = 14 + ip;
  view.setUint16(udp, 40_000);
  view.setUint16(udp + 2, 6081);
  view.setUint8(udp + 8, options / 4);
  view.setUint16(udp + 10, 0x6558);
  view.setUint32(udp + 12, key << 8);
  return Uint8Array.from([...outer, ...frame]);
}

export const inVlan = (frame: Uint8Array, vlan: number): Uint8Array =>
  Uint8Array.from([
    ...frame.subarray(0, 12),
    0x81,
    0x00,
    vlan >> 8,
    vlan & 0xff,
    ...frame.subarray(12),
  ]);
