/** Witnesses that are really sent: what comes of a packet on its way through kernel and switch. */
import { errorText } from '../../api/error-text.ts';
import type { Witness } from '../witnesses/choice.ts';
import type { Trace } from '../witnesses/traces.ts';
import { frameOf } from './frame.ts';
import type { Places } from './places.ts';
import type { Answer, PacketJudge, PacketReport } from './report.ts';
import { Sightings, type PassingFrame } from './sightings.ts';

/** Sends frames from pods, and sees what passes the devices of the host. */
export interface Wire extends Disposable {
  /** From the pod's end of a device of the host; throws with why it can't be sent. */
  readonly send: (device: string, frame: Uint8Array) => void;
  /** What has passed since, as far as it has the nonce. Throws when nothing can be seen any more. */
  readonly take: () => readonly PassingFrame[];
  /** Frames that found no place to be kept until they are taken. */
  readonly lost: () => number;
  readonly wait: (milliseconds: number) => Promise<void>;
}

/** A packet, and what `ofproto/trace` says of it. */
export interface TracedWitness {
  /** By which it is known in frames, 1 to `MOST_NUMBERS`; of packets that are sent within seconds no two have the same one. */
  readonly number: number;
  readonly witness: Witness;
  readonly trace: Trace;
}

export interface PacketOptions {
  readonly nonce: number;
  /** Listens from then on. */
  readonly open: (nonce: number) => Wire;
  /** `ofproto/trace` of a packet, once more. */
  readonly retrace: (witness: Witness) => Promise<Trace>;
  readonly places: Places;
  readonly judge: PacketJudge;
  /** Called after each packet. */
  readonly onDone?: (done: number, of: number) => void;
}

/** Milliseconds between two packets. */
const APART_MS = 50;
/** After the last one: a controller that asks for a neighbour sends what it kept later. */
const LAST_MS = 1000;

/** Rejects where nothing can be seen. */
export async function sendPackets(
  traced: readonly TracedWitness[],
  options: PacketOptions,
): Promise<PacketReport> {
  const { nonce, judge, retrace } = options;
  using wire = options.open(nonce);
  const first = await sendAll(traced, wire, options);
  // A row or a neighbour may have changed between the trace and the packet.
  const again: TracedWitness[] = [];
  for (const answer of first) {
    const { witness, number, sighting, error } = answer;
    const isOpen = !sighting.isSent || judge.differenceOf(answer) !== undefined;
    if (error === undefined && isOpen)
      again.push({ witness, number, trace: await retrace(witness) });
  }
  const second = await sendAll(again, wire, options);
  const latest = new Map(second.map((answer) => [answer.witness, answer]));
  const answers = first.map((answer) => latest.get(answer.witness) ?? answer);
  return judge.report(answers, first, wire.lost());
}

async function sendAll(
  all: readonly TracedWitness[],
  wire: Wire,
  { nonce, places, onDone }: PacketOptions,
): Promise<readonly Answer[]> {
  if (all.length === 0) return [];
  const sightings = new Sightings(nonce, places);
  const sent: { readonly one: TracedWitness; readonly error?: string }[] = [];
  const look = async (): Promise<void> => {
    await wire.wait(APART_MS);
    sightings.take(wire.take());
  };
  for (const one of all) {
    sightings.watch(one.number, one.witness.port);
    try {
      const device = places.deviceOf(one.witness.port);
      if (device === undefined) throw new Error('it has no interface on br-int');
      wire.send(device, frameOf(one.witness, { nonce, number: one.number }));
      sent.push({ one });
    } catch (error) {
      sent.push({ one, error: errorText(error) });
    }
    await look();
    onDone?.(sent.length, all.length);
  }
  for (let waited = 0; waited < LAST_MS; waited += APART_MS) await look();
  return sent.map(({ one, error }): Answer => ({
    ...one,
    sighting: sightings.of(one.number),
    ...(error === undefined ? {} : { error }),
  }));
}
