/** Workloads of manifests as the pods that come of them: nothing else of a Deployment says who reaches whom. Pure. */
import type { KubeObject } from '../api/objects.ts';
import { isPlainObject, own, type PlainObject } from '../api/plain-object.ts';
import type { Pod } from '../api/types.ts';
import { formatFieldError } from '../api/validation/field-errors.ts';
import { validateObject } from '../api/validation/validate.ts';

/** Kinds of Kubernetes that make pods, with where their template is and the kind that stands between, which has a name of its own. */
const WORKLOADS: Readonly<
  Record<string, { readonly template: readonly string[]; readonly between?: string }>
> = {
  'apps/v1 Deployment': { template: ['spec', 'template'], between: 'ReplicaSet' },
  'apps/v1 ReplicaSet': { template: ['spec', 'template'] },
  'apps/v1 StatefulSet': { template: ['spec', 'template'] },
  'apps/v1 DaemonSet': { template: ['spec', 'template'] },
  'v1 ReplicationController': { template: ['spec', 'template'] },
  'batch/v1 Job': { template: ['spec', 'template'] },
  'batch/v1 CronJob': { template: ['spec', 'jobTemplate', 'spec', 'template'], between: 'Job' },
};

/** Labels that controllers give to pods beside those of the template. */
const OF_CONTROLLERS =
  /^(pod-template-hash|controller-revision-hash|(statefulset|apps|batch)\.kubernetes\.io\/.*|job-name|controller-uid)$/;

/** A workload, and a pod as its template makes it. */
export interface Workload {
  readonly kind: string;
  readonly between: string | undefined;
  readonly namespace: string;
  readonly name: string;
  /** It makes none with `replicas: 0`. */
  readonly hasPods: boolean;
  readonly pod: KubeObject;
}

/** What is wrong with a workload, and where. */
export interface WorkloadError {
  readonly field: string;
  readonly message: string;
}

/** The workload that an object is; undefined for one of another kind. */
export function readWorkload(written: PlainObject): Workload | WorkloadError | undefined {
  const [apiVersion, kind] = [own(written, 'apiVersion'), own(written, 'kind')].map(String);
  const found = WORKLOADS[`${apiVersion} ${kind}`];
  if (found === undefined || kind === undefined) return undefined;
  const field = found.template.join('.');
  const template = at(written, found.template);
  const metadata = at(written, ['metadata']);
  const [name, namespace] = [own(metadata, 'name'), own(metadata, 'namespace') ?? 'default'];
  if (typeof name !== 'string' || typeof namespace !== 'string')
    return { field: 'metadata.name', message: 'is required' };
  const spec = own(template, 'spec');
  if (!isPlainObject(spec))
    return { field: `${field}.spec`, message: 'is required: it says which pods come of it' };
  const { labels, annotations } = at(template, ['metadata']);
  const result = validateObject({
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: {
      namespace,
      name: `${name.slice(0, 240)}-0`,
      ...(labels === undefined ? {} : { labels }),
      ...(annotations === undefined ? {} : { annotations }),
      ownerReferences: [{ apiVersion, kind, name, uid: 'none', controller: true }],
    },
    spec,
  });
  if (result.kind !== 'valid') {
    const [error] = result.kind === 'invalid' ? result.errors : [];
    return {
      field,
      message: `no pod can be made of it: ${error === undefined ? 'it is none' : formatFieldError(error)}`,
    };
  }
  return {
    kind,
    between: found.between,
    namespace,
    name,
    hasPods: own(at(written, ['spec']), 'replicas') !== 0,
    pod: result.object,
  };
}

const NONE: PlainObject = {};

function at(value: PlainObject, path: readonly string[]): PlainObject {
  let found: unknown = value;
  for (const part of path) found = isPlainObject(found) ? own(found, part) : undefined;
  return isPlainObject(found) ? found : NONE;
}

/** Whether a pod came of it, itself or by what stands between. */
function isOf({ kind, between, namespace, name }: Workload, { metadata }: KubeObject): boolean {
  if ((metadata.namespace ?? 'default') !== namespace) return false;
  const owner = metadata.ownerReferences?.find(({ controller }) => controller === true);
  if (owner === undefined) return false;
  return (
    (owner.kind === kind && owner.name === name) ||
    (owner.kind === between &&
      owner.name.startsWith(`${name}-`) &&
      // The hash of a template, or the time of a run: no other workload's name goes on like that.
      /^[a-z0-9]+$/.test(owner.name.slice(name.length + 1)))
  );
}

/** The pods once the workload is applied: as many as there are, with what its template says; one where there are none. */
export function podsApplied(workload: Workload, now: readonly KubeObject[]): readonly KubeObject[] {
  if (!workload.hasPods) return [];
  const there = podsOf(workload, now);
  return there.length === 0 ? [workload.pod] : there.map((one) => replaced(one, workload.pod));
}

export const podsOf = (workload: Workload, now: readonly KubeObject[]): readonly KubeObject[] =>
  now.filter((one) => one.kind === 'Pod' && isOf(workload, one));

/** A pod that its controller made anew: what is known of it alone stays, its addresses too. */
function replaced(before: KubeObject, { metadata, spec }: KubeObject): KubeObject {
  const kept = Object.entries(before.metadata.labels ?? {}).filter(([key]) =>
    OF_CONTROLLERS.test(key),
  );
  const nodeName = (before as Pod).spec.nodeName;
  return {
    ...before,
    metadata: {
      ...before.metadata,
      labels: { ...metadata.labels, ...Object.fromEntries(kept) },
      annotations: { ...before.metadata.annotations, ...metadata.annotations },
    },
    spec: { ...(spec as object), ...(nodeName === undefined ? {} : { nodeName }) },
  };
}
