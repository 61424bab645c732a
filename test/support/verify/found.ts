import { expect } from 'vitest';
import { KeptProof } from '../../../src/verify/kept/kept-proof.ts';
import type { Snapshot } from '../../../src/verify/snapshot.ts';
import { prove } from '../../../src/verify/verify.ts';
import { changesBetween } from './changes.ts';

/** What is found with a fault that is not found without it. */
export function found(faulty: Snapshot, right: Snapshot): readonly string[] {
  const textOf = ({ check, where, what }: ReturnType<typeof violationsOf>[number]): string =>
    `${check}: ${where} ${what}`;
  const before = new Set(violationsOf(right).map(textOf));
  const inRows = ({ node, settings, objects, policies, northbound: rows }: Snapshot): Snapshot => ({
    node,
    settings,
    objects,
    northbound: rows,
    ...(policies === undefined ? {} : { policies }),
    host: {},
    unread: [],
  });
  const proof = new KeptProof(right.node, right.settings);
  proof.apply(changesBetween(undefined, right));
  proof.judge();
  proof.apply(changesBetween(right, faulty));
  proof.judge();
  // Who keeps a proof finds of the same rows what one from nothing finds.
  expect(proof.violations.map(textOf).toSorted()).toEqual(
    violationsOf(inRows(faulty)).map(textOf).toSorted(),
  );
  return violationsOf(faulty)
    .map(textOf)
    .filter((one) => !before.has(one));
}

const violationsOf = (read: Snapshot) => prove(read).verdict.violations;
