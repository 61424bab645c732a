/** A zone of test/support/zone/zones.ts into which namespaces, pods and policies are fed as objects, as a daemon feeds them. */
import type { KubeObject } from '../../../src/api/objects.ts';
import { objectKey } from '../../../src/api/objects.ts';
import type {
  AdminNetworkPolicy,
  MultiNetworkPolicy,
  Namespace,
  NetworkPolicy,
  Pod,
} from '../../../src/api/types.ts';
import type { DesiredRow } from '../../../src/desired/rows.ts';
import { ObjectIntake } from '../../../src/model/zone/intake.ts';
import type { ZoneFacts } from '../../../src/model/zone/zone.ts';
import { builtUnits, type BuiltUnit } from './built-rows.ts';
import { pod as podWith } from './pods.ts';
import { factsOf, type Zone } from './zones.ts';

export interface PolicedPod {
  readonly node?: string;
  readonly labels?: Readonly<Record<string, string>>;
  /** NAD key, and address with prefix length. */
  readonly on?: string;
  readonly address: string;
  readonly ports?: readonly { name: string; containerPort: number; protocol?: string }[];
}

/** A pod whose primary network it is that it is on. */
export function policedPod(key: string, { node, labels, on, address, ports }: PolicedPod): Pod {
  const nadKey = on ?? 'default';
  const pod = podWith(key, node ?? 'ovn-worker', [{ nadKey, address, role: 'primary' }]) as Pod;
  return {
    ...pod,
    metadata: { ...pod.metadata, labels: labels ?? {} },
    spec: {
      ...pod.spec,
      containers: [
        {
          ports: (ports ?? []).map(({ protocol = 'TCP', ...port }) => ({
            ...port,
            protocol: protocol as 'TCP',
          })),
        },
      ],
    },
  };
}

export const namespace = (
  name: string,
  labels: Readonly<Record<string, string>> = {},
  annotations: Readonly<Record<string, string>> = {},
): Namespace => ({
  apiVersion: 'v1',
  kind: 'Namespace',
  metadata: { name, labels: { ...labels, 'kubernetes.io/metadata.name': name }, annotations },
});

/** A namespace whose pods have a primary network of their own. */
export const ownNetwork = { 'k8s.ovn.org/primary-user-defined-network': '' };

/** A MultiNetworkPolicy; without NADs it has no annotation. */
export function multiPolicy(
  key: string,
  policyFor: string | undefined,
  spec: unknown,
): MultiNetworkPolicy {
  const annotations = policyFor === undefined ? {} : { 'k8s.v1.cni.cncf.io/policy-for': policyFor };
  const { metadata } = networkPolicy(key, spec);
  return {
    apiVersion: 'k8s.cni.cncf.io/v1beta1',
    kind: 'MultiNetworkPolicy',
    metadata: { ...metadata, annotations },
    spec,
  } as MultiNetworkPolicy;
}

/** With a tier a ClusterNetworkPolicy, with a priority an AdminNetworkPolicy, without both the baseline. */
export function adminPolicy(
  name: string,
  spec: object,
  annotations: object = {},
): AdminNetworkPolicy {
  return {
    apiVersion: `policy.networking.k8s.io/${'tier' in spec ? 'v1alpha2' : 'v1alpha1'}`,
    kind:
      'tier' in spec
        ? 'ClusterNetworkPolicy'
        : 'priority' in spec
          ? 'AdminNetworkPolicy'
          : 'BaselineAdminNetworkPolicy',
    metadata: { name, annotations },
    spec,
  } as AdminNetworkPolicy;
}

/** The spec may be anything: what is no policy is to be refused. */
export function networkPolicy(key: string, spec: unknown): NetworkPolicy {
  const [space = '', name = ''] = key.split('/');
  return {
    apiVersion: 'networking.k8s.io/v1',
    kind: 'NetworkPolicy',
    metadata: { namespace: space, name },
    spec,
  } as NetworkPolicy;
}

export class PolicedZone {
  readonly facts: ZoneFacts;
  readonly #intake: ObjectIntake;

  private constructor(zone: Zone) {
    this.facts = factsOf(zone);
    this.#intake = new ObjectIntake(this.facts);
    this.facts.otherPods.want('test', true);
  }

  static of(zone: Zone, ...objects: readonly KubeObject[]): PolicedZone {
    const made = PolicedZone.withoutOtherPods(zone, ...objects);
    made.facts.otherPods.known();
    return made;
  }

  /** At a moment at which the pods of other nodes have been asked for, and it is not known whether these are all. */
  static withoutOtherPods(zone: Zone, ...objects: readonly KubeObject[]): PolicedZone {
    const made = new PolicedZone(zone);
    made.put(...objects);
    return made;
  }

  put(...objects: readonly KubeObject[]): void {
    for (const object of objects) this.#take(object, object);
  }

  remove(...objects: readonly KubeObject[]): void {
    for (const object of objects) this.#take(object, undefined);
  }

  #take(object: KubeObject, after: KubeObject | undefined): void {
    this.#intake.take(object.kind, { key: objectKey(object.metadata), after });
  }

  /** What the units come to whose feature and arguments match. */
  units(which: RegExp): BuiltUnit[] {
    this.facts.refresh(0);
    return builtUnits(this.facts).filter(({ unit }) => which.test(unit));
  }

  rows(which: RegExp = /./): DesiredRow[] {
    return this.units(which).flatMap(({ rows }) => rows);
  }
}
