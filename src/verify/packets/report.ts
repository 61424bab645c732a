/** Whether packets that were sent agree with the proof, and with what `ofproto/trace` says of them. */
import type { PacketSums } from '../certificate/certificate.ts';
import type { Violation } from '../findings.ts';
import type { Proof } from '../verify.ts';
import type { Witness } from '../witnesses/choice.ts';
import { disagreement, type Outputs, type OwnerOf } from '../witnesses/judge.ts';
import type { Output, Trace } from '../witnesses/traces.ts';
import type { Place } from './places.ts';
import type { Sighting } from './sightings.ts';

/** A packet, what `ofproto/trace` says of it, and what became of it. */
export interface Answer {
  readonly number: number;
  readonly witness: Witness;
  readonly trace: Trace;
  readonly sighting: Sighting;
  /** Why it could not be sent. */
  readonly error?: string;
}

export interface PacketReport {
  readonly sums: PacketSums;
  readonly violations: readonly Violation[];
  readonly undecided: readonly string[];
  readonly notProved: readonly string[];
}

const nonceText = (nonce: number): string => `0x${nonce.toString(16).padStart(8, '0')}`;

export class PacketJudge {
  readonly #proof: Proof;
  readonly #outputs: Outputs;
  readonly #nonce: string;

  constructor(proof: Proof, outputs: Outputs, nonce: number) {
    this.#proof = proof;
    this.#outputs = outputs;
    this.#nonce = nonceText(nonce);
  }

  /** How a tracer and the packet differ, by pods of this node: addresses that are translated, and what the host does, tracers don't follow. */
  differenceOf({ trace, sighting }: Answer): string | undefined {
    const text = (ports: readonly (string | undefined)[]): string => {
      const pods = [...new Set(ports.filter((port) => port !== undefined))].toSorted();
      return pods.length === 0 ? 'no pod of this node' : pods.join(', ');
    };
    const told = text(trace.outputs.map((output) => this.#outputs.podAt(output)));
    const pods = sighting.places.filter(({ kind }) => kind === 'pods');
    const seen = text(pods.map(({ port }) => port));
    return told === seen ? undefined : `ofproto/trace leads to ${told}, the packet to ${seen}`;
  }

  /** The first place where a packet came out, and that no object wants. */
  violationOf({ witness, number, sighting }: Answer): Violation | undefined {
    const owners = new Map(
      sighting.places.map((place): [Output, ReturnType<OwnerOf>] => [
        {
          port: place.port ?? place.device,
          line: `${this.#placeText(place)}, where ${this.#packetText(witness, number)} was seen`,
        },
        this.#ownerOf(place),
      ]),
    );
    const seen: Trace = { outputs: [...owners.keys()], datapaths: [], last: '' };
    return disagreement(this.#proof, witness, 'packet', seen, (output) => owners.get(output));
  }

  /** Of the last answer for each packet; one that came out where it may not is a violation though it did not do it again (`before`). `lost`: frames that were not seen. */
  report(answers: readonly Answer[], before: readonly Answer[], lost: number): PacketReport {
    const sent = answers.filter(({ sighting }) => sighting.isSent);
    const unsent = answers.filter(({ sighting }) => !sighting.isSent);
    const [first] = unsent;
    const why =
      first &&
      `${first.witness.port}: ${first.error ?? 'the host did not see it come from the pod'}`;
    const differences = sent.flatMap((answer) => {
      const difference = this.differenceOf(answer);
      const packet = this.#packetText(answer.witness, answer.number);
      return difference === undefined
        ? []
        : [`tracer and packet disagree: ${difference}: ${packet}`];
    });
    const found = [...before, ...answers]
      .map((answer) => this.violationOf(answer))
      .filter((violation) => violation !== undefined);
    return {
      sums: this.#sumsOf(sent, differences.length),
      violations: [...new Map(found.map((violation) => [violation.where, violation])).values()],
      undecided: [
        ...differences,
        ...(lost > 0 ? [`${lost} frames of packets found no place to be seen: try again`] : []),
        ...(why === undefined || sent.length > 0 ? [] : [`no packet could be sent: ${why}`]),
      ],
      notProved: [
        `where packets come out on other nodes and outside: those of this run have the TCP sequence number ${this.#nonce}`,
        ...(why === undefined || sent.length === 0
          ? []
          : [`what becomes of ${unsent.length} packets that could not be sent, as of ${why}`]),
      ],
    };
  }

  #sumsOf(sent: readonly Answer[], differing: number): PacketSums {
    const comesOut = (kind: Place['kind']): number =>
      sent.filter(({ sighting }) => sighting.places.some((place) => place.kind === kind)).length;
    return {
      nonce: this.#nonce,
      sent: sent.length,
      nowhere: sent.filter(({ sighting }) => sighting.places.length === 0).length,
      toPods: comesOut('pods'),
      toHost: comesOut('host'),
      toTunnels: comesOut('tunnels'),
      outside: comesOut('outside'),
      differing,
    };
  }

  #placeText({ device, port, tunnelKey }: Place): string {
    const pod = port === undefined ? undefined : this.#proof.intent.ports.get(port)?.pod;
    const of = pod === undefined ? '' : ` of Pod ${pod}`;
    return `device ${device}${of}${tunnelKey === undefined ? '' : ` with tunnel key ${tunnelKey}`}`;
  }

  #packetText(witness: Witness, number: number): string {
    const { port, mac, toMac, address, fromPort, toAddress, toPort } = witness;
    return `packet ${number} from ${port} (${mac} to ${toMac}, TCP ${address} port ${fromPort} to ${toAddress} port ${toPort}, sequence number ${this.#nonce})`;
  }

  #ownerOf({ port, tunnelKey }: Place): ReturnType<OwnerOf> {
    if (tunnelKey !== undefined) return this.#outputs.ofKey(tunnelKey);
    return port === undefined ? undefined : this.#outputs.logical({ port, line: '' });
  }
}
