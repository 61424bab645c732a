/** Sends whole frames by a device (packet(7)): what no protocol of the kernel sends for us. */
import { closeSync } from 'node:fs';
import { libc, type Libc } from './libc.ts';
import { systemError } from './netlink-error.ts';
import { inNetworkNamespace } from './network-namespace.ts';

export interface FrameOptions {
  /** Descriptor of the network namespace that the device is in; the calling thread's own, if none is named. */
  readonly namespace?: number;
  /** Stands in for the C library. */
  readonly library?: Libc;
}

/** `device`: its number; `frame`: from its Ethernet header on. Takes CAP_NET_RAW. Throws NetlinkError. */
export function sendFrame(
  device: number,
  frame: Uint8Array,
  { namespace, library = libc() }: FrameOptions = {},
): void {
  const make = (): number => library.frameSocket();
  const fd = namespace === undefined ? make() : inNetworkNamespace(namespace, make, library);
  if (fd < 0) throw systemError('open a socket for frames', -fd);
  try {
    const what = `send a frame by device ${device}`;
    const bound = library.bindToDevice(fd, device);
    if (bound < 0) throw systemError(what, -bound);
    const sent = library.send(fd, frame);
    if (sent < 0) throw systemError(what, -sent);
  } finally {
    closeSync(fd);
  }
}
