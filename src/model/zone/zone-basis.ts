/** What the tables of a zone are made with. */
import type { DerivationGraph } from '../../facts/derivation-graph.ts';
import type { ReadRecorder } from '../../facts/reads.ts';
import type { ClusterSettings } from '../model.ts';

export interface ZoneBasis {
  readonly nodeName: string;
  /** The same for the life of the process: reading them is not recorded. */
  readonly settings: ClusterSettings;
  readonly recorder: ReadRecorder;
  readonly graph: DerivationGraph;
}
