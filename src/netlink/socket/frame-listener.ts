/** Receives whole frames that devices of a host get and send, as far as a filter lets them through (packet(7)): what a pod, a bridge or a tunnel is given is seen there, and not disturbed. */
import { closeSync } from 'node:fs';
import { constants } from 'node:os';
import { LITTLE_ENDIAN } from '../wire/layout.ts';
import { DEVICE_LENGTH, libc, type Libc } from './libc.ts';
import { systemError } from './netlink-error.ts';

/** An instruction of a filter (sock_filter, linux/filter.h; Documentation/networking/filter.rst). */
export interface FilterInstruction {
  readonly code: number;
  /** How many instructions to skip where a comparison holds, and where it does not: 0 to 255. */
  readonly jumpTrue?: number;
  readonly jumpFalse?: number;
  readonly value?: number;
}

export interface FrameListenerOptions {
  /** What it gives back is how many bytes of a frame are kept; 0: the frame is let go by. */
  readonly filter: readonly FilterInstruction[];
  /** Stands in for the C library. */
  readonly library?: Libc;
}

export interface ReceivedFrame {
  /** Number of the device. */
  readonly device: number;
  /** The host sends it by the device; else it came in there. */
  readonly isOutgoing: boolean;
  /** From its Ethernet header on, without a VLAN tag that the kernel holds beside it. */
  readonly frame: Uint8Array;
}

const ETH_P_ALL = 3;
const SOL_SOCKET = 1;
const SO_RCVBUFFORCE = 33;
const SOL_PACKET = 263;
/** tpacket_stats: how many frames were there, and how many found no place; reading sets both to 0. */
const PACKET_STATISTICS = 6;
const STATISTICS_LENGTH = 8;
/** sockaddr_ll (linux/if_packet.h): where the number of the device and the kind of frame are. */
const DEVICE_AT = 4;
const KIND_AT = 10;
const PACKET_OUTGOING = 4;
const INSTRUCTION_LENGTH = 8;
const LONGEST_FRAME = 2048;
const RECEIVE_BUFFER = 4 * 1024 * 1024;

/** On all devices of the calling thread's network namespace, until it is disposed of or the process ends: it leaves nothing, and no device becomes promiscuous. */
export class FrameListener implements Disposable {
  readonly #library: Libc;
  readonly #fd: number;
  readonly #buffer = new Uint8Array(LONGEST_FRAME);
  readonly #address = new Uint8Array(DEVICE_LENGTH);

  /** Listens from now on. Takes CAP_NET_RAW and CAP_NET_ADMIN. Throws NetlinkError. */
  constructor({ filter, library = libc() }: FrameListenerOptions) {
    this.#library = library;
    this.#fd = library.frameSocket();
    if (this.#fd < 0) throw systemError('open a socket for frames', -this.#fd);
    try {
      // The filter is there before the first frame is.
      const steps: readonly (readonly [what: string, result: () => number])[] = [
        ['filter frames', () => library.attachFilter(this.#fd, programOf(filter))],
        [
          'receive buffer for frames',
          () => library.setOption(this.#fd, SOL_SOCKET, SO_RCVBUFFORCE, RECEIVE_BUFFER),
        ],
        ['listen for frames', () => library.bindToDevice(this.#fd, 0, ETH_P_ALL)],
      ];
      for (const [what, step] of steps) {
        const result = step();
        if (result < 0) throw systemError(what, -result);
      }
    } catch (error) {
      closeSync(this.#fd);
      throw error;
    }
  }

  /** What has come since, in the order in which the kernel gave it. Throws NetlinkError. */
  take(): readonly ReceivedFrame[] {
    const frames: ReceivedFrame[] = [];
    for (;;) {
      const length = this.#library.receiveFrame(this.#fd, this.#buffer, this.#address);
      if (length === -constants.errno.EAGAIN) return frames;
      // A device that goes down while it is listened on is an error once.
      if (length === -constants.errno.ENETDOWN) continue;
      if (length < 0) throw systemError('receive frames', -length);
      const address = new DataView(this.#address.buffer);
      frames.push({
        device: address.getInt32(DEVICE_AT, LITTLE_ENDIAN),
        isOutgoing: address.getUint8(KIND_AT) === PACKET_OUTGOING,
        frame: this.#buffer.slice(0, Math.min(length, this.#buffer.length)),
      });
    }
  }

  /** Frames that found no place since it was last asked. Throws NetlinkError. */
  lost(): number {
    const statistics = new Uint8Array(STATISTICS_LENGTH);
    const result = this.#library.getOption(this.#fd, SOL_PACKET, PACKET_STATISTICS, statistics);
    if (result < 0) throw systemError('count lost frames', -result);
    return new DataView(statistics.buffer).getUint32(Uint32Array.BYTES_PER_ELEMENT, LITTLE_ENDIAN);
  }

  [Symbol.dispose](): void {
    closeSync(this.#fd);
  }
}

function programOf(filter: readonly FilterInstruction[]): Uint8Array {
  const bytes = new Uint8Array(filter.length * INSTRUCTION_LENGTH);
  const view = new DataView(bytes.buffer);
  for (const [index, { code, jumpTrue = 0, jumpFalse = 0, value = 0 }] of filter.entries()) {
    const at = index * INSTRUCTION_LENGTH;
    view.setUint16(at, code, LITTLE_ENDIAN);
    view.setUint8(at + 2, jumpTrue);
    view.setUint8(at + 3, jumpFalse);
    view.setUint32(at + 4, value, LITTLE_ENDIAN);
  }
  return bytes;
}
