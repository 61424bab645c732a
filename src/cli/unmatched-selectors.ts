/** Selectors of egress objects that select nothing of what is declared beside them: what they are meant for may be in the cluster. */
import { networkSpecOf, type NetworkObject } from '../api/nad/network-spec.ts';
import { labelSelectorProblem } from '../api/label-selector.ts';
import { matchesSelector, withNameLabel } from '../api/selectors.ts';
import type {
  AdminPolicyBasedExternalRoute,
  EgressFirewall,
  EgressIP,
  EgressQoS,
  EgressService,
  LabelSelector,
  Namespace,
  NetworkAttachmentDefinition,
  NetworkQoS,
  Node,
  Pod,
} from '../api/types.ts';
import type { FieldPath } from '../api/validation/field-errors.ts';
import type { ManifestDocument, ManifestError } from '../api/validation/manifest.ts';
import { nearestName } from '../api/validation/nearest-name.ts';
import { isNetworkObjectKind } from '../cluster/networks/network-objects.ts';
import { aboutField, declaredOf } from './manifest-findings.ts';

type Labels = Readonly<Record<string, string>>;

/** `; did you mean app=web?` of a label that a selector asks for and nobody has, where somebody has one like it. */
export function meantLabels({ matchLabels = {} }: LabelSelector, found: readonly Labels[]): string {
  const known = new Set(
    found.flatMap((labels) => Object.entries(labels).map(([key, value]) => `${key}=${value}`)),
  );
  for (const [key, value] of Object.entries(matchLabels)) {
    const wanted = `${key}=${value}`;
    const nearest = known.has(wanted) ? undefined : nearestName(wanted, known);
    if (nearest !== undefined) return `; did you mean ${nearest}?`;
  }
  return '';
}

/** A selector, and the labels of those of whom it is to select some. */
interface Selecting {
  readonly path: FieldPath;
  readonly selector: LabelSelector | undefined;
  /** `pod of namespace shop` */
  readonly what: string;
  readonly among: readonly Labels[];
}

interface Beside {
  readonly namespaces: readonly { readonly name: string; readonly labels: Labels }[];
  readonly pods: readonly { readonly namespace: string; readonly labels: Labels }[];
  readonly nodes: readonly Labels[];
  /** ClusterUserDefinedNetworks, and all that NADs are or will be made of, with the labels of their namespaces. */
  readonly clusterNetworks: readonly Labels[];
  readonly nads: readonly { readonly namespace: string; readonly labels: Labels }[];
}

const labelsOf = ({ metadata }: { readonly metadata: { readonly labels?: Labels } }): Labels =>
  metadata.labels ?? {};

function beside(all: readonly ManifestDocument[]): Beside {
  const networks = all.filter(({ object }) => isNetworkObjectKind(object.kind));
  const isSound = ({ object }: ManifestDocument): boolean =>
    networkSpecOf(object as NetworkObject).kind !== 'invalid';
  const isOfCluster = ({ object }: ManifestDocument): boolean =>
    object.kind === 'ClusterUserDefinedNetwork';
  return {
    namespaces: declaredOf<Namespace>(all, 'Namespace').map(({ object }) => ({
      name: object.metadata.name,
      labels: labelsOf(withNameLabel(object)),
    })),
    pods: declaredOf<Pod>(all, 'Pod').map(({ object }) => ({
      namespace: object.metadata.namespace ?? 'default',
      labels: labelsOf(object),
    })),
    nodes: declaredOf<Node>(all, 'Node').map(({ object }) => labelsOf(object)),
    clusterNetworks: networks.filter(isOfCluster).map(({ object }) => labelsOf(object)),
    nads: [
      ...networks.filter((one) => isSound(one) && !isOfCluster(one)),
      ...declaredOf<NetworkAttachmentDefinition>(all, 'NetworkAttachmentDefinition').map(
        ({ document }) => document,
      ),
    ].map(({ object }) => ({
      namespace: object.metadata.namespace ?? 'default',
      labels: labelsOf(object),
    })),
  };
}

/** Pods of namespaces that a selector selects. */
function podsOf(
  { namespaces, pods }: Beside,
  namespaceSelector: LabelSelector | undefined,
  podSelector: LabelSelector | undefined,
  path: FieldPath,
): readonly Selecting[] {
  const selected = new Set(
    namespaces
      .filter(({ labels }) => matchesSelector(namespaceSelector, labels))
      .map(({ name }) => name),
  );
  const among = pods.filter(({ namespace }) => selected.has(namespace)).map(({ labels }) => labels);
  return [{ path: [...path, 'podSelector'], selector: podSelector, what: 'pod', among }];
}

const ofNamespaces = (
  { namespaces }: Beside,
  selector: LabelSelector | undefined,
  path: FieldPath,
): Selecting => ({
  path: [...path, 'namespaceSelector'],
  selector,
  what: 'namespace',
  among: namespaces.map(({ labels }) => labels),
});

const SELECTING: Readonly<
  Record<string, (document: ManifestDocument, beside: Beside) => readonly Selecting[]>
> = {
  EgressIP: ({ object }, known) => {
    const { namespaceSelector, podSelector } = (object as EgressIP).spec;
    return [
      ofNamespaces(known, namespaceSelector, ['spec']),
      ...podsOf(known, namespaceSelector, podSelector, ['spec']),
    ];
  },
  AdminPolicyBasedExternalRoute: ({ object }, known) => {
    const { from, nextHops } = (object as AdminPolicyBasedExternalRoute).spec;
    return [
      ofNamespaces(known, from.namespaceSelector, ['spec', 'from']),
      ...(nextHops.dynamic ?? []).flatMap(({ namespaceSelector, podSelector }, index) => {
        const path = ['spec', 'nextHops', 'dynamic', index];
        return [
          ofNamespaces(known, namespaceSelector, path),
          ...podsOf(known, namespaceSelector, podSelector, path),
        ];
      }),
    ];
  },
  EgressFirewall: ({ object }, { nodes }) =>
    (object as EgressFirewall).spec.egress.map(({ to }, index) => ({
      path: ['spec', 'egress', index, 'to', 'nodeSelector'],
      selector: to.nodeSelector,
      what: 'node',
      among: nodes,
    })),
  EgressService: ({ object }, { nodes }) => [
    {
      path: ['spec', 'nodeSelector'],
      selector: (object as EgressService).spec?.nodeSelector,
      what: 'node',
      among: nodes,
    },
  ],
  EgressQoS: ({ object }, known) =>
    ((object as EgressQoS).spec?.egress ?? []).map(({ podSelector }, index) => ({
      path: ['spec', 'egress', index, 'podSelector'],
      selector: podSelector,
      what: 'pod',
      among: ofNamespace(known.pods, object.metadata.namespace),
    })),
  NetworkQoS: ({ object }, known) => {
    const { podSelector, networkSelectors = [] } = (object as NetworkQoS).spec ?? {};
    return [
      {
        path: ['spec', 'podSelector'],
        selector: podSelector,
        what: 'pod',
        among: ofNamespace(known.pods, object.metadata.namespace),
      },
      ...networkSelectors.flatMap((one, index): readonly Selecting[] => {
        const path = ['spec', 'networkSelectors', index];
        const { clusterUserDefinedNetworkSelector: cluster } = one;
        const { networkAttachmentDefinitionSelector: nads } = one;
        return [
          {
            path: [...path, 'clusterUserDefinedNetworkSelector', 'networkSelector'],
            selector: cluster?.networkSelector,
            what: 'ClusterUserDefinedNetwork',
            among: known.clusterNetworks,
          },
          {
            path: [...path, 'networkAttachmentDefinitionSelector', 'networkSelector'],
            selector: nads?.networkSelector,
            what: 'network',
            among: nadsOf(known, nads?.namespaceSelector),
          },
        ];
      }),
    ];
  },
};

const ofNamespace = (pods: Beside['pods'], namespace: string | undefined): readonly Labels[] =>
  pods.filter((pod) => pod.namespace === (namespace ?? 'default')).map(({ labels }) => labels);

/** NADs of namespaces that a selector selects. */
function nadsOf({ namespaces, nads }: Beside, selector: LabelSelector | undefined): Labels[] {
  const labelsOfNamespace = new Map(namespaces.map(({ name, labels }) => [name, labels]));
  return nads
    .filter(({ namespace }) => matchesSelector(selector, labelsOfNamespace.get(namespace) ?? {}))
    .map(({ labels }) => labels);
}

/** Selectors of `documents` that select none of what `all` declares of what they are for; where that is nothing, nobody knows. */
export function unmatchedSelectors(
  documents: readonly ManifestDocument[],
  all: readonly ManifestDocument[],
): readonly ManifestError[] {
  const known = beside(all);
  return documents.flatMap((document) =>
    (SELECTING[document.object.kind]?.(document, known) ?? []).flatMap(
      ({ path, selector, what, among }) => {
        const isJudged =
          selector !== undefined &&
          labelSelectorProblem(selector) === undefined &&
          among.length > 0 &&
          !among.some((labels) => matchesSelector(selector, labels));
        return isJudged
          ? aboutField(
              document,
              path,
              `no ${what} of these files has such labels${meantLabels(selector, among)}`,
            )
          : [];
      },
    ),
  );
}
