/** What a test plants together. */
import type { FaultNumbers, PlantedFault } from './fault.ts';
import { externalBridge } from './external-bridge.ts';
import { host } from './host.ts';
import { integrationBridge } from './integration-bridge.ts';
import { northbound } from './northbound.ts';
import { southbound } from './southbound.ts';

/** Faults that do not disturb each other, planted together; taken away in the opposite order. */
export interface FaultGroup {
  readonly name: string;
  readonly faultsOf: (numbers: FaultNumbers) => readonly PlantedFault[];
  /** What must not write meanwhile: ovn-northd makes Southbound of Northbound anew. */
  readonly halts?: 'northd';
}

export const FAULT_GROUPS: readonly FaultGroup[] = [
  { name: 'Northbound', faultsOf: northbound },
  { name: 'Southbound', faultsOf: southbound, halts: 'northd' },
  { name: 'flows and interfaces of br-int', faultsOf: integrationBridge },
  { name: 'flows of the external bridge', faultsOf: externalBridge },
  { name: 'the host', faultsOf: host },
];
