/** Packets that programs are asked about, beside a proof: what they say has to agree with it. */
import { errorText } from '../../api/error-text.ts';
import type { WitnessSums } from '../certificate/certificate.ts';
import type { Violation } from '../findings.ts';
import type { Snapshot } from '../snapshot.ts';
import type { Proof } from '../verify.ts';
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
}

export interface Testimony {
  readonly sums: WitnessSums;
  readonly violations: readonly Violation[];
  /** Traces that could not be made: of those nothing is known. */
  readonly failures: readonly string[];
}

/** Programs at a time: each reads a whole database. */
const AT_A_TIME = 4;

export async function askWitnesses(
  snapshot: Snapshot,
  proof: Proof,
  { count, seed, tracers, onDone }: WitnessOptions,
): Promise<Testimony> {
  const witnesses = chosenWitnesses(snapshot, proof, count, seed);
  const outputs = new Outputs(snapshot, proof);
  const sums = { logicalTraces: 0, physicalTraces: 0, apart: 0, dropped: 0, joined: 0, passed: 0 };
  const violations: Violation[] = [];
  const failures: string[] = [];
  let done = 0;

  const ask = async (witness: Witness): Promise<void> => {
    const logical = await tracers.logical(witness.datapath, microflowOf(witness));
    sums.logicalTraces += 1;
    take(witness, readOvnTrace(logical));
    const port = outputs.numberOf(witness.port);
    if (tracers.physical === undefined || port === undefined) return;
    const physical = readDatapathTrace(await tracers.physical(flowOf(witness, port)));
    sums.physicalTraces += 1;
    const wrong = disagreement(proof, witness, 'ofproto/trace', physical, outputs.physical);
    if (wrong !== undefined) violations.push(wrong);
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

  const queue = [...witnesses];
  const work = async (): Promise<void> => {
    for (let witness = queue.shift(); witness !== undefined; witness = queue.shift()) {
      try {
        await ask(witness);
      } catch (error) {
        failures.push(`${witness.port} to ${witness.toAddress}: ${errorText(error)}`);
      }
      done += 1;
      onDone?.(done, witnesses.length);
    }
  };
  await Promise.all(Array.from({ length: AT_A_TIME }, work));
  return { sums: { seed, packets: witnesses.length, ...sums }, violations, failures };
}
