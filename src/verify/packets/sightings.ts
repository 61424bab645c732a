/** Where packets with the nonce were seen, each by its number. */
import { readFrame } from './frame.ts';
import type { Place, Places } from './places.ts';

/** A frame that passed a device of the host. */
export interface PassingFrame {
  readonly device: string;
  readonly isOutgoing: boolean;
  readonly frame: Uint8Array;
}

export interface Sighting {
  /** Whether it came in from its pod: else it was not sent at all. */
  readonly isSent: boolean;
  readonly places: readonly Place[];
}

interface Watched {
  readonly from: string;
  isSent: boolean;
  /** A pod that got it sent it on: what is seen from then on is that pod's doing, and says nothing of networks. */
  isPassedOn: boolean;
  readonly places: Map<string, Place>;
}

export class Sightings {
  readonly #nonce: number;
  readonly #places: Places;
  readonly #watched = new Map<number, Watched>();

  constructor(nonce: number, places: Places) {
    this.#nonce = nonce;
    this.#places = places;
  }

  /** From now on a number is of a packet that is sent from this port. */
  watch(number: number, from: string): void {
    this.#watched.set(number, { from, isSent: false, isPassedOn: false, places: new Map() });
  }

  /** In the order in which they passed. */
  take(frames: readonly PassingFrame[]): void {
    for (const { device, isOutgoing, frame } of frames) {
      const found = readFrame(frame, this.#nonce);
      const watched = found && this.#watched.get(found.number);
      if (found === undefined || watched === undefined) continue;
      const { tunnelKey } = found;
      const key = tunnelKey === undefined ? {} : { tunnelKey };
      const passage = { device, isOutgoing, ...key };
      const sender = tunnelKey === undefined ? this.#places.senderOf(passage) : undefined;
      if (sender === watched.from) watched.isSent = true;
      else if (sender !== undefined) watched.isPassedOn = true;
      const place = this.#places.exitOf(passage);
      if (place !== undefined && !watched.isPassedOn)
        watched.places.set(JSON.stringify(place), place);
    }
  }

  /** What was seen of a number that is watched; of another one nothing. */
  of(number: number): Sighting {
    const { isSent = false, places = new Map<string, Place>() } = this.#watched.get(number) ?? {};
    return { isSent, places: [...places.values()] };
  }
}
