/** What a node drops, by network, object and rule: plain data, its order, and what is chosen of it. Pure. */
import type { Rule } from '../desired/features.ts';

export interface Drop {
  /** Where it is dropped; absent where no network can be told. */
  readonly network?: string;
  /** `UserDefinedNetwork blue/blue`, of the network. */
  readonly networkObject?: string;
  /** What is told to drop it: `EgressFirewall blue/default`; absent for what OVN drops by itself. */
  readonly object?: string;
  /** Name of the feature, such as `policy/default-deny`; `port-security`, or `ovn` for what OVN drops by itself. */
  readonly reason: string;
  /** Seen from pods: `Ingress` is to them. Absent where it is neither. */
  readonly direction?: 'Ingress' | 'Egress';
  readonly rule?: Rule & { readonly name: string };
  /** Stage of OVN, table of a bridge, or chain. */
  readonly stage: string;
  /** What is dropped there, in the words of its place. */
  readonly match: string;
  /** For `heddle explain`: a UUID, a cookie or a handle. */
  readonly key: string;
  readonly packets: number;
  readonly bytes: number;
}

export interface DropsReport {
  readonly node: string;
  /** Between the two readings; 0: since each flow was made. */
  readonly seconds: number;
  readonly drops: readonly Drop[];
  /** Networks of the node, with their objects. */
  readonly networks: readonly { readonly name: string; readonly object: string }[];
  /** Parts that could not be read, and why. */
  readonly unread: readonly string[];
}

/** Those that the same row or flow tells to drop in one network and direction, together; what drops most first, and what OVN does by itself last. */
export function togetherByRule(drops: readonly Drop[]): readonly Drop[] {
  const groups = Map.groupBy(drops, ({ key, network, direction, stage }) =>
    JSON.stringify([key, network, direction, stage]),
  );
  const sum = (group: readonly Drop[], of: 'packets' | 'bytes'): number =>
    group.reduce((total, drop) => total + drop[of], 0);
  const all = [...groups.values()].flatMap((group) => {
    const [first] = group;
    return first === undefined
      ? []
      : [{ ...first, packets: sum(group, 'packets'), bytes: sum(group, 'bytes') }];
  });
  return all.toSorted(
    (a, b) =>
      Number(a.object === undefined) - Number(b.object === undefined) || b.packets - a.packets,
  );
}

const NAMESPACED = /^\w+ ([^/]+)\//;
const NAMESPACE = /^Namespace (.+)$/;

const isOfNamespace = (object: string | undefined, namespace: string): boolean =>
  object !== undefined &&
  (NAMESPACED.exec(object)?.[1] ?? NAMESPACE.exec(object)?.[1]) === namespace;

/** True for the network's name, and for that of its object: `blue_net`, `blue/net`, `net` of a ClusterUserDefinedNetwork. */
export const isNetworkNamed = (
  { name, object }: { readonly name: string; readonly object: string },
  written: string,
): boolean => name === written || object.slice(object.indexOf(' ') + 1) === written;

/** Those of a network, and of a namespace: of its objects, and of its networks. */
export const chosen = (
  drops: readonly Drop[],
  { network, namespace }: { readonly network?: string; readonly namespace?: string },
): readonly Drop[] =>
  drops.filter(
    (drop) =>
      (network === undefined ||
        (drop.network !== undefined &&
          isNetworkNamed({ name: drop.network, object: drop.networkObject ?? '' }, network))) &&
      (namespace === undefined ||
        isOfNamespace(drop.object, namespace) ||
        isOfNamespace(drop.networkObject, namespace)),
  );
