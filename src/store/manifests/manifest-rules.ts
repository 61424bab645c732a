/** What the manifests store needs to know about the objects in it. */
import type { KubeObject, ResourceKind } from '../../api/objects.ts';

/** Something wrong with a manifest, a file or the state directory; everything else goes on. */
export interface Problem {
  readonly severity: 'error' | 'warning';
  /** Path as the user knows it. */
  readonly file: string;
  /** 1-based. */
  readonly line?: number;
  /** `UserDefinedNetwork tenant-a/blue`. */
  readonly object?: string;
  /** `spec.layer3.subnets[0].cidr`. */
  readonly field?: string;
  readonly value?: string;
  /** What is wrong, and what to do where that is not plain. */
  readonly message: string;
}

/** One object of a manifest file: converted to the version that is stored, defaulted, valid. */
export interface ManifestObject {
  readonly object: KubeObject;
  readonly kind: ResourceKind;
  readonly line: number;
}

/** What one file holds. */
export interface ReadManifest {
  readonly objects: readonly ManifestObject[];
  /** Objects (`Kind namespace/name`) that are there but not acceptable: what is known under that name stays as it is. */
  readonly rejected: readonly string[];
  /** The file, or a document of it, could not be read far enough to name its object: everything known from the file stays. */
  readonly incomplete: boolean;
  readonly problems: readonly Omit<Problem, 'file'>[];
  /** Kinds that this release doesn't know. */
  readonly unknownKinds: readonly {
    readonly apiVersion: string;
    readonly kind: string;
    readonly line: number;
  }[];
}

/** Kinds, parsing and validation, as package api knows them. */
export interface ObjectRules {
  read(text: string, file: string): ReadManifest;
  /** What is wrong with `object` (as a successor of `before`), worded with field, value and remedy. Empty = acceptable. */
  validate(object: KubeObject, before: KubeObject | undefined): readonly string[];
  /** The kind that an owner reference names; undefined if it is none of ours. */
  kindOf(apiVersion: string, kind: string): ResourceKind | undefined;
}

/** `two-tenants/blue.yaml:12: UserDefinedNetwork tenant-a/blue: spec.mtu: 100: must be …`. */
export function formatProblem(problem: Problem): string {
  const { file, line, object, field, value, message } = problem;
  return [
    `${file}${line === undefined ? '' : `:${line}`}`,
    ...[object, field, value].filter((part) => part !== undefined),
    message,
  ].join(': ');
}
