/** What of an object is kept in memory: the fields that some part of Heddle reads, of kinds that there are many of. */
import type { KubeObject, ResourceKind } from '../api/objects.ts';
import type { Node, Pod } from '../api/types.ts';
import type { ZoneStatus } from '../api/zone-status.ts';

const keptPod = ({ spec, status, ...pod }: Pod): Pod => {
  const { nodeName, hostNetwork } = spec;
  const containers = (spec.containers ?? []).flatMap(({ ports = [] }) => {
    const kept = ports.filter(({ name, hostPort }) => name !== undefined || hostPort !== undefined);
    return kept.length === 0 ? [] : [{ ports: kept }];
  });
  const { phase, podIPs, conditions } = status ?? {};
  const ready = conditions?.find(({ type }) => type === 'Ready');
  return {
    ...pod,
    spec: {
      ...(nodeName === undefined ? {} : { nodeName }),
      ...(hostNetwork === undefined ? {} : { hostNetwork }),
      ...(containers.length === 0 ? {} : { containers }),
    },
    ...(status === undefined
      ? {}
      : {
          status: {
            ...(phase === undefined ? {} : { phase }),
            ...(podIPs === undefined ? {} : { podIPs }),
            ...(ready === undefined
              ? {}
              : { conditions: [{ type: ready.type, status: ready.status }] }),
          },
        }),
  };
};

/** Conditions carry heartbeats, and images are the largest part of a Node: of the one that is read the answer is kept. */
const keptNode = ({ spec, status, ...node }: Node): Node => {
  const { addresses, conditions } = status ?? {};
  const ready = conditions?.find(({ type }) => type === 'Ready');
  const kept = {
    ...(addresses === undefined ? {} : { addresses }),
    ...(ready === undefined ? {} : { conditions: [{ type: ready.type, status: ready.status }] }),
  };
  return {
    ...node,
    ...(spec?.unschedulable === true ? { spec: { unschedulable: true } } : {}),
    ...(Object.keys(kept).length === 0 ? {} : { status: kept }),
  };
};

/** Records that many objects hold alike, by what they hold. */
const known = new Map<string, unknown>();
/** Records that are kept for others to share; and letters of one, beyond which it is of a node alone. */
const [MOST_KNOWN, LONGEST] = [20_000, 400];

/** One record in place of all that hold the same. */
function shared<T>(record: T): T {
  const text = JSON.stringify(record);
  if (text.length > LONGEST) return record;
  const found = known.get(text);
  if (found !== undefined) return found as T;
  if (known.size >= MOST_KNOWN) known.clear();
  known.set(text, record);
  return record;
}

/** Of a network, and of an object that is in force, a thousand nodes say the same. */
const keptZone = ({ status, ...zone }: ZoneStatus): ZoneStatus => {
  if (status === undefined) return zone;
  const { networks, applied } = status as Partial<NonNullable<ZoneStatus['status']>>;
  return {
    ...zone,
    status: {
      ...status,
      ...(networks === undefined ? {} : { networks: networks.map(shared) }),
      ...(applied === undefined ? {} : { applied: applied.map(shared) }),
    },
  };
};

const withoutManagedFields = <T extends KubeObject>(object: T): T => {
  if (!Object.hasOwn(object.metadata, 'managedFields')) return object;
  const { managedFields: _fields, ...metadata } = object.metadata as T['metadata'] & {
    readonly managedFields?: unknown;
  };
  return { ...object, metadata };
};

/** What cuts objects of the kind down. */
export function keptFields<T extends KubeObject>(kind: ResourceKind<T>): (object: T) => T {
  // A kind's type is that of its objects.
  const cut = <K extends KubeObject>(keep: (object: K) => K): ((object: T) => T) => {
    const keepAny = keep as unknown as (object: T) => T;
    return (object) => keepAny(withoutManagedFields(object));
  };
  switch (`${kind.apiVersion} ${kind.kind}`) {
    case 'v1 Pod':
      return cut(keptPod);
    case 'v1 Node':
      return cut(keptNode);
    case 'k8s.ovn.org/v1alpha1 ZoneStatus':
      return cut(keptZone);
    default:
      return withoutManagedFields;
  }
}
