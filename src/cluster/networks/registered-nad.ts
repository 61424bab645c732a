import type { NetworkConfig } from '../../api/nad/network-config.ts';
import { compareAge } from '../order.ts';

/** A NAD of ours that could be read. */
export interface RegisteredNad {
  /** `<namespace>/<name>`. */
  readonly key: string;
  readonly namespace: string;
  readonly name: string;
  readonly uid: string;
  readonly creationTimestamp: string;
  readonly ownerKind: string | undefined;
  readonly ownerUid: string | undefined;
  readonly config: NetworkConfig;
  /** What the NAD carries already. */
  readonly networkId: number | undefined;
  readonly tunnelKeys: readonly number[] | undefined;
}

/** NADs that carry an id come first: they were served before, whatever their timestamps say. */
export const compareNads = (a: RegisteredNad, b: RegisteredNad): number => {
  const [servedA, servedB] = [a.networkId !== undefined, b.networkId !== undefined];
  return servedA === servedB ? compareAge(a, b) : servedA ? -1 : 1;
};
