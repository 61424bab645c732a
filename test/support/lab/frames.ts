/** Packets that nobody would send by chance, and where they come. */
import { outputInside } from '../../../src/lab/exec.ts';
import type { LabRecord } from '../../../src/lab/state-file.ts';

/** What `lab-frames` sends, in rounds; the packet has its id in it, as `marker` makes it. */
export type Send = {
  readonly id: string;
  /** Network namespace: of a pod, or a node's name. */
  readonly from: string;
  /** Folder of the cgroup that sends it. */
  readonly cgroup?: string;
  /** Where it is to arrive; without it, it is one that should arrive nowhere. */
  readonly wanted?: string;
  /** It may arrive or not: what it does to others is what counts. */
  readonly isFree?: true;
} & (
  | {
      /** An Ethernet frame, with the device's own address as its source. */
      readonly frame: {
        readonly device: string;
        readonly to: string;
        readonly type: number;
        readonly packet: string;
      };
    }
  | {
      /** UDP, as a program sends it that needs no capability; bound to a device if one is named. */
      readonly datagram: {
        readonly to: string;
        readonly port: number;
        readonly payload: string;
        readonly device?: string;
        readonly sourcePort?: number;
      };
    }
);

export interface Seen {
  /** Namespaces in which a packet came in, by its id. */
  readonly seen: Readonly<Record<string, readonly string[]>>;
  /** Why one could not be sent, by its id. */
  readonly errors: Readonly<Record<string, string>>;
}

/** What a packet is known by, wherever it comes and in whatever it is. */
export const marker = (id: string): Buffer => Buffer.from(`<${id}>`);

/** Sends all, again and again, until those that are wanted somewhere arrived there, at most for so many seconds. */
export async function sendFrames(
  lab: LabRecord,
  sends: readonly Send[],
  watch: readonly string[],
  seconds: number,
): Promise<Seen> {
  const input = JSON.stringify({ sends, watch, seconds });
  return JSON.parse(await outputInside(lab, ['lab-frames'], { input })) as Seen;
}
