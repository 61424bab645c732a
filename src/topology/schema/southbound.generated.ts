// Written by `npm run generate`. Edit the schema or the generator instead.
// Types of the tables of OVN_Southbound 20.41.0, from ovn-sb.ovsschema.
import type { Integer } from 'ovsdb-client-ts';
import type { Reference, StringMap } from './row-types.ts';

/** Desired rows of OVN_Southbound 20.41.0: what each column may be given. */
export interface SouthboundRows {
  readonly Chassis: {
    readonly name?: string | undefined;
    readonly hostname?: string | undefined;
    /** Refers to Encap. */
    readonly encaps?: readonly Reference[] | undefined;
    readonly vtep_logical_switches?: readonly string[] | undefined;
    readonly nb_cfg?: Integer | undefined;
    readonly external_ids?: StringMap | undefined;
    readonly other_config?: StringMap | undefined;
    readonly transport_zones?: readonly string[] | undefined;
  };
  readonly Encap: {
    readonly type?: 'geneve' | 'stt' | 'vxlan' | undefined;
    readonly options?: StringMap | undefined;
    readonly ip?: string | undefined;
    readonly chassis_name?: string | undefined;
  };
}
