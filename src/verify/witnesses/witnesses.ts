/** Packets that programs are asked about, beside a proof: what they say has to agree with it. */
import { errorText } from '../../api/error-text.ts';
import type { WitnessSums } from '../certificate/certificate.ts';
import type { Violation } from '../findings.ts';
import type { Snapshot } from '../snapshot.ts';
import type { Proof } from '../verify.ts';
import { MOST_NUMBERS } from '../packets/frame.ts';
import { sendPackets, type PacketOptions, type TracedWitness } from '../packets/packets.ts';
import { Places } from '../packets/places.ts';
import { PacketJudge } from '../packets/report.ts';
import { chosenWitnesses, type Witness } from './choice.ts';
import { disagreement, Outputs } from './judge.ts';
import { flowOf, microflowOf, readDatapathTrace, readOvnTrace, type Trace } from './traces.ts';

/** Runs a program and answers with what it printed; rejects with why it could not. */
export interface Tracers {
  /** `ovn-trace`, of a packet on a switch. */
  readonly logical: (datapath: string, microflow: string) => Promise<string>;
  /** `ofproto/trace` on br-int; absent where Open vSwitch is not asked. */
  readonly physical?: (flow: string) => Promise<string>;
}

export interface WitnessOptions {
  readonly count: number;
  readonly seed: number;
  readonly tracers: Tracers;
  /** Called after each packet. */
  readonly onDone?: (done: number, of: number) => void;
  /** Sends those that `ofproto/trace` was asked about. */
  readonly packets?: Pick<PacketOptions, 'nonce' | 'open' | 'onDone'>;
}

export interface Testimony {
  readonly sums: WitnessSums;
  readonly violations: readonly Violation[];
  /** Traces that could not be made, and what else is not known. */
  readonly undecided: readonly string[];
  readonly notProved: readonly string[];
}

/** Programs at a time: each reads a whole database. */
const AT_A_TIME = 4;

export async function askWitnesses(
  snapshot: Snapshot,
  proof: Proof,
  { count, seed, tracers, onDone, packets }: WitnessOptions,
): Promise<Testimony> {
  const witnesses = chosenWitnesses(snapshot, proof, count, seed);
  const outputs = new Outputs(snapshot, proof);
  const sums = { logicalTraces: 0, physicalTraces: 0, apart: 0, dropped: 0, joined: 0, passed: 0 };
  const violations: Violation[] = [];
  const failures: string[] = [];
  const traced: TracedWitness[] = [];
  let done = 0;

  const ask = async (witness: Witness, number: number): Promise<void> => {
    const logical = await tracers.logical(witness.datapath, microflowOf(witness));
    sums.logicalTraces += 1;
    take(witness, readOvnTrace(logical));
    const physical = await datapathTrace(witness);
    if (physical === undefined) return;
    sums.physicalTraces += 1;
    traced.push({ witness, number, trace: physical });
    const wrong = disagreement(proof, witness, 'ofproto/trace', physical, outputs.physical);
    if (wrong !== undefined) violations.push(wrong);
  };
  const datapathTrace = async (witness: Witness): Promise<Trace | undefined> => {
    const port = outputs.numberOf(witness.port);
    if (tracers.physical === undefined || port === undefined) return undefined;
    return readDatapathTrace(await tracers.physical(flowOf(witness, port)));
  };
  const take = (witness: Witness, trace: Trace): void => {
    const { network, toNetwork } = witness;
    const wrong = disagreement(proof, witness, 'ovn-trace', trace, outputs.logical);
    if (wrong !== undefined) violations.push(wrong);
    if (network === toNetwork) return;
    if (proof.intent.joinedBy(network, toNetwork) === undefined) {
      sums.apart += 1;
      if (trace.outputs.length === 0) sums.dropped += 1;
      return;
    }
    sums.joined += 1;
    const names = new Set(
      proof.datapaths.all
        .filter(({ owner }) => owner.kind === 'network' && owner.network.name === toNetwork)
        .map(({ name }) => name),
    );
    if (trace.datapaths.some((name) => names.has(name))) sums.passed += 1;
  };

  // One queue: each worker takes the next.
  const queue = witnesses.entries();
  const work = async (): Promise<void> => {
    for (const [index, witness] of queue) {
      try {
        await ask(witness, (index % MOST_NUMBERS) + 1);
      } catch (error) {
        failures.push(`${witness.port} to ${witness.toAddress}: ${errorText(error)}`);
      }
      done += 1;
      onDone?.(done, witnesses.length);
    }
  };
  await Promise.all(Array.from({ length: AT_A_TIME }, work));
  const undecided = failures
    .slice(0, 1)
    .map(
      (first) => `${failures.length} of ${witnesses.length} witnesses could not be asked: ${first}`,
    );
  const all = { seed, packets: witnesses.length, ...sums };
  const testimony = { sums: all, violations, undecided, notProved: [] };
  if (packets === undefined) return testimony;
  const options: PacketOptions = {
    ...packets,
    places: new Places(snapshot),
    judge: new PacketJudge(proof, outputs, packets.nonce),
    retrace: async (witness) => {
      const trace = await datapathTrace(witness);
      if (trace === undefined) throw new Error(`${witness.port} has no interface any more`);
      return trace;
    },
  };
  return withPackets(testimony, traced, options);
}

/** What packets tell beside tracers. */
async function withPackets(
  { sums, violations, undecided, notProved }: Testimony,
  traced: readonly TracedWitness[],
  options: PacketOptions,
): Promise<Testimony> {
  try {
    const inOrder = traced.toSorted((a, b) => a.number - b.number);
    const sent = await sendPackets(inOrder, options);
    return {
      sums: { ...sums, real: sent.sums },
      violations: [...violations, ...sent.violations],
      undecided: [...undecided, ...sent.undecided],
      notProved: [...notProved, ...sent.notProved],
    };
  } catch (error) {
    const why = `packets could not be sent and seen: ${errorText(error)}`;
    return { sums, violations, undecided: [...undecided, why], notProved };
  }
}
