/** What of an object is kept in memory: the fields that some part of Heddle reads, of kinds that there are many of. */
import type { KubeObject, ResourceKind } from '../api/objects.ts';
import type { Node, Pod } from '../api/types.ts';

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
    default:
      return withoutManagedFields;
  }
}
