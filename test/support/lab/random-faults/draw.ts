/** Faults of all kinds, drawn at random, and planted one at a time: each is found with its name, and nothing is found without one. */
import { setTimeout as sleep } from 'node:timers/promises';
import { outputInside, runInside } from '../../../../src/lab/exec.ts';
import type { LabRecord } from '../../../../src/lab/state-file.ts';
import type { Violation } from '../../../../src/verify/findings.ts';
import { accessFaults } from './access.ts';
import { bindingFaults } from './bindings.ts';
import { datapathFaults } from './datapaths.ts';
import { flowFaults } from './flows.ts';
import { hostFaults } from './host.ts';
import type { Found, Prover } from './prover.ts';
import { routerFaults } from './routers.ts';
import { NODE, type FaultWorld, type RandomFault } from './world.ts';

const KINDS = [
  ...datapathFaults,
  ...routerFaults,
  ...accessFaults,
  ...bindingFaults,
  ...flowFaults,
  ...hostFaults,
];

/** Any fault of what the node has. */
export function drawn(world: FaultWorld): RandomFault {
  for (;;) {
    const fault = world.random.pick(KINDS)(world);
    if (fault !== undefined && fault.plant !== fault.undo) return fault;
  }
}

/** A finding that names what it should. */
const names = ({ checks, concerns, where }: RandomFault, one: Violation): boolean =>
  checks.includes(one.check) &&
  where?.test(one.where) !== false &&
  concerns.every((name) => [one.object, ...one.networks].includes(name));

/** How often a proof is asked until what was done is in all databases. */
const ASKED = 8;
const BETWEEN_MS = 500;

const textOf = ({ violations, undecided }: Found): string =>
  [
    ...violations.map(
      ({ check, where, what, object, networks }) =>
        `${check}: ${where} ${what} (${object}; ${networks.join(', ')})`,
    ),
    ...undecided.map((what) => `not decided: ${what}`),
  ].join('\n  ');

/** What the proof says once `is` holds of it, or at last. */
async function settled(
  prover: Prover,
  is: (found: Found) => boolean,
): Promise<{ readonly holds: boolean; readonly text: string }> {
  for (let turn = 1; ; turn += 1) {
    const found = await prover.prove();
    const holds = is(found);
    if (holds || turn === ASKED) return { holds, text: textOf(found) };
    await sleep(BETWEEN_MS);
  }
}

const hold = (lab: LabRecord, signal: 'STOP' | 'CONT'): Promise<string> =>
  outputInside(
    lab,
    [
      'sh',
      '-exc',
      `kill -${signal} $(cat /run/ovn/ovn-northd.pid) $(cat /run/ovn/ovn-controller.pid)`,
    ],
    { node: NODE },
  );

/** What is wrong with the proof of a node where this fault is planted, and taken away again; empty where nothing is. */
export async function misjudged(
  lab: LabRecord,
  prover: Prover,
  fault: RandomFault,
): Promise<string> {
  const wrong: string[] = [];
  if (fault.holdsOvn) await hold(lab, 'STOP');
  try {
    const plant = await runInside(lab, ['sh', '-ec', fault.plant], { node: NODE });
    if (plant.code !== 0) return `${fault.name}: can't be planted: ${fault.plant}: ${plant.stderr}`;
    const found = await settled(prover, ({ violations }) =>
      violations.some((one) => names(fault, one)),
    );
    if (!found.holds) wrong.push(`${fault.name}\n  ${fault.plant}\n  ${found.text}`);
  } finally {
    await runInside(lab, ['sh', '-c', fault.undo], { node: NODE });
    if (fault.holdsOvn) await hold(lab, 'CONT');
  }
  const after = await settled(
    prover,
    ({ violations, undecided }) => violations.length + undecided.length === 0,
  );
  if (!after.holds) wrong.push(`after ${fault.name}\n  ${fault.undo}\n  ${after.text}`);
  return wrong.join('\n');
}
