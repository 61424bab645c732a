/** What every Kubernetes object has in common, whatever source it comes from. */

export interface OwnerReference {
  readonly apiVersion: string;
  readonly kind: string;
  readonly name: string;
  readonly uid: string;
  readonly controller?: boolean;
  readonly blockOwnerDeletion?: boolean;
}

export interface ObjectMeta {
  readonly name: string;
  /** Absent for cluster-scoped kinds. */
  readonly namespace?: string;
  readonly generateName?: string;
  readonly uid?: string;
  readonly resourceVersion?: string;
  readonly generation?: number;
  /** RFC 3339. */
  readonly creationTimestamp?: string;
  /** RFC 3339; set while the object waits for its finalizers. */
  readonly deletionTimestamp?: string;
  readonly labels?: Readonly<Record<string, string>>;
  readonly annotations?: Readonly<Record<string, string>>;
  readonly finalizers?: readonly string[];
  readonly ownerReferences?: readonly OwnerReference[];
}

export interface KubeObject {
  readonly apiVersion: string;
  readonly kind: string;
  readonly metadata: ObjectMeta;
  readonly spec?: unknown;
  readonly status?: unknown;
}

/** A kind as the store addresses it. `T` is the object type that its parser returns. */
export interface ResourceKind<T extends KubeObject = KubeObject> {
  readonly apiVersion: string;
  readonly kind: string;
  readonly plural: string;
  readonly namespaced: boolean;
  /** False where the API has no status subresource: the status is written like the spec. */
  readonly hasStatus?: boolean;
  /** Only for inference; never set. */
  readonly type?: T;
}

/** `namespace/name`, or `name` for cluster-scoped objects. */
export type ObjectKey = string;

export const objectKey = (meta: { name: string; namespace?: string | undefined }): ObjectKey =>
  meta.namespace === undefined || meta.namespace === ''
    ? meta.name
    : `${meta.namespace}/${meta.name}`;

/** metav1.Condition (reference/api.md §1.2). */
export interface Condition {
  readonly type: string;
  readonly status: 'True' | 'False' | 'Unknown';
  readonly reason: string;
  readonly message: string;
  readonly lastTransitionTime: string;
  readonly observedGeneration?: number;
}
