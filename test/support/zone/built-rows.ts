/** Rows that features build from facts, every unit once. */

import type { Feature, Sink } from '../../../src/desired/features.ts';
import type { DesiredRow } from '../../../src/desired/rows.ts';
import type { ZoneFacts } from '../../../src/model/zone/zone.ts';
import { zoneFeatures } from '../../../src/topology/features.ts';

/** What one unit came to. */
export interface BuiltUnit {
  /** `layer3/network blue_blue`. */
  readonly unit: string;
  readonly rank: number;
  readonly rows: readonly DesiredRow[];
  readonly waitsFor: readonly string[];
  /** `Node n2: …`: problems, and why it was rejected. */
  readonly problems: readonly string[];
  readonly failure: string | undefined;
}

class Rejected extends Error {}

function buildUnit(
  facts: ZoneFacts,
  feature: Feature<ZoneFacts>,
  args: readonly string[],
): BuiltUnit {
  let rows: DesiredRow[] = [];
  const waitsFor: string[] = [];
  const problems: string[] = [];
  let failure: string | undefined;
  const out: Sink = {
    row: (row) => rows.push(row),
    waitFor: (what) => waitsFor.push(what),
    problem: (object, message) => problems.push(`${object}: ${message}`),
    reject(object, reason) {
      problems.push(`${object}: ${reason}`);
      throw new Rejected();
    },
  };
  try {
    feature.build(facts, args, out);
  } catch (error) {
    rows = [];
    if (!(error instanceof Rejected))
      failure = error instanceof Error ? error.message : String(error);
  }
  const rank = feature.rank?.(facts, args) ?? 0;
  return {
    unit: [feature.name, ...args].join(' '),
    rank,
    rows,
    waitsFor,
    problems,
    failure,
  };
}

/** Every unit of the features. */
export const builtUnits = (
  facts: ZoneFacts,
  features: readonly Feature<ZoneFacts>[] = zoneFeatures,
): BuiltUnit[] =>
  features.flatMap((feature) =>
    [...feature.over(facts).keys()].map((args) => buildUnit(facts, feature, args)),
  );
