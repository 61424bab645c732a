/** What is to be changed of the network stack; made by a plan, applied by the driver. */
import type { PlannedChange } from '../reconcile/host-plan.ts';
import type { AddressColumns, NeighbourColumns, RouteColumns, RuleColumns } from './linux-rows.ts';
import type { Stale } from './stale.ts';

/** One thing that the kernel is asked for. Devices have their names: they are looked up when it is asked. */
export type LinuxCommand =
  | { readonly kind: 'add-vrf'; readonly name: string; readonly table: number }
  | {
      readonly kind: 'set-link';
      readonly name: string;
      readonly isUp?: boolean;
      readonly alias?: string;
      /** '' for none. */
      readonly master?: string;
    }
  | { readonly kind: 'delete-link'; readonly name: string }
  | { readonly kind: 'add-address' | 'delete-address'; readonly address: AddressColumns }
  | { readonly kind: 'add-route' | 'delete-route'; readonly route: RouteColumns }
  | { readonly kind: 'add-rule' | 'delete-rule'; readonly rule: RuleColumns }
  | {
      readonly kind: 'replace-neighbour' | 'delete-neighbour';
      readonly neighbour: NeighbourColumns;
    };

export interface LinuxChange extends PlannedChange {
  /** Changes of a lower stage come first; what fails in one ends the later ones of its unit. */
  readonly stage: number;
  readonly commands: readonly LinuxCommand[];
  /** What is read again after it: that it is there counts, not that it was asked for. */
  readonly stale: Stale;
  /** An object that is as it should be, and is made anew for what the kernel made with it and has no more: not at once again. */
  readonly isRenewal?: true;
  /** Path and value to write, of a sysctl. */
  readonly write?: { readonly path: string; readonly value: string };
}
