/** What only shows when the objects of several files are looked at together, or with the settings of the cluster. */
import { ovnPrefix } from '../api/nad/network-name.ts';
import {
  formatPrefix,
  parseInterfaceAddress,
  parsePrefix,
  sizeOf,
} from '../allocators/addresses.ts';
import type { ManifestDocument, ManifestError } from '../api/validation/manifest.ts';
import { describeObject } from '../api/validation/manifest.ts';
import {
  accessLabelProblem,
  DEFAULT_ACCESS_LABEL,
  namesLabelProblem,
  NETWORK_NAMES_LABEL,
  PRIMARY_NETWORK_LABEL,
  SECONDARY_GATEWAY,
  SERVICE_POOL,
} from '../api/annotations/network-annotations.ts';
import type { ClusterAddressing } from '../api/nad/network-config.ts';
import type { NetworkObject } from '../api/nad/network-spec.ts';
import { networkSpecOf } from '../api/nad/network-spec.ts';
import { selectorProblems } from '../api/label-selector.ts';
import { parseNad, renderNad } from '../api/nad/nad.ts';
import { objectKey } from '../api/objects.ts';
import { withNameLabel } from '../api/selectors.ts';
import type { Namespace, NetworkAttachmentDefinition } from '../api/types.ts';
import { isPlainObject, own } from '../api/plain-object.ts';
import type { FieldPath } from '../api/validation/field-errors.ts';
import { V1 } from '../api/conversion/conversion.ts';
import type { ClusterSettings } from '../model/model.ts';
import { objectKindOf } from '../model/read/object-kinds.ts';
import { targetNamespaces, unsupportedNetwork } from '../cluster/networks/network-objects.ts';
import { gatewayProblem } from '../cluster/networks/network-gateways.ts';
import { poolProblem } from '../cluster/networks/network-pools.ts';
import { about, aboutField, placeOf, REFUSED } from './manifest-findings.ts';
import { egressFindings } from './validate-egress.ts';
import { previewConnects, type ConnectPreview } from './validate-connects.ts';
import { misspeltKeys } from './validate-keys.ts';
import { podProblems, unknownNamespaces } from './validate-pods.ts';
import { serviceProblems } from './validate-services.ts';
import { transportAccepted } from '../cluster/networks/network-outcome.ts';
import { primaryConflict, type PrimaryNetwork } from '../api/nad/primary-networks.ts';

export interface TogetherProblems {
  /** What connections of networks would join. */
  readonly connections: readonly ConnectPreview[];
  /** Which an API server would not take. */
  readonly errors: readonly ManifestError[];
  /** Which it would take, and which then have no effect: the cluster manager refuses them, or nothing is programmed for their kind. */
  readonly warnings: readonly ManifestError[];
  /** What may be otherwise in the cluster. */
  readonly notes: readonly ManifestError[];
}

/** Objects that an earlier document defines already. */
function definedTwice(documents: readonly ManifestDocument[]): ManifestError[] {
  const seen = new Map<string, ManifestDocument>();
  return documents.flatMap((document) => {
    const identity = `${document.kind.kind} ${objectKey(document.object.metadata)}`;
    const first = seen.get(identity);
    if (first === undefined) {
      seen.set(identity, document);
      return [];
    }
    return [about(document, `is defined already at ${placeOf(first)}: remove one of the two`)];
  });
}

const NETWORK_KINDS = ['UserDefinedNetwork', 'ClusterUserDefinedNetwork', 'OVNSecondaryNetwork'];

const asNetwork = ({ object }: ManifestDocument): NetworkObject | undefined =>
  NETWORK_KINDS.includes(object.kind) ? (object as NetworkObject) : undefined;

/** Where ranges of a network are written. */
function rangesOf({ kind, object, written }: ManifestDocument, name = 'subnets'): FieldPath {
  if (kind.kind === 'OVNSecondaryNetwork') return ['spec', 'subnet'];
  const path = kind.kind === 'ClusterUserDefinedNetwork' ? ['spec', 'network'] : ['spec'];
  // The flat shape has no section of the topology.
  if (!isPlainObject(written) || own(written, 'apiVersion') !== V1) return [...path, name];
  const { topology = '', network } =
    (object.spec as { topology?: string; network?: { topology?: string } } | undefined) ?? {};
  return [...path, (network?.topology ?? topology).toLowerCase(), name];
}

/** Networks for which no NAD can be made with these settings. */
function unrenderable(
  documents: readonly ManifestDocument[],
  settings: ClusterAddressing,
): ManifestError[] {
  return documents.flatMap((document) => {
    const network = asNetwork(document);
    if (network === undefined) return [];
    const nad = renderNad(network, network.metadata.namespace ?? 'default', settings);
    if (nad.kind === 'value') return [];
    const reason = nad.error.replace(/^.*failed to render CNI network config: /, '');
    return [aboutField(document, rangesOf(document), `${REFUSED}: ${reason}`)];
  });
}

/** Networks that ask for what this release does not have. */
function unsupportedFeatures(documents: readonly ManifestDocument[]): ManifestError[] {
  return documents.flatMap((document) => {
    const network = asNetwork(document);
    if (network === undefined) return [];
    const uplinks = unsupportedNetwork(network);
    const transport = transportAccepted(network);
    return [
      ...(uplinks === undefined
        ? []
        : [about(document, `${REFUSED}: ${uplinks}`, document.positionOf(['spec', 'uplinks']))]),
      ...(transport === undefined
        ? []
        : [
            aboutField(
              document,
              ['spec', 'network', 'transport'],
              `its condition ${transport.type} would be ${transport.status}: ${transport.message}`,
            ),
          ]),
    ];
  });
}

/** Kinds that can only be read with what the cluster writes into their objects. */
const COMPLETED_BY_CLUSTER = [
  'ClusterNetworkConnect',
  'NetworkAttachmentDefinition',
  'Node',
  'Pod',
];

/** The field with which a message of a reader begins: `spec.nextHops.static[0].ip: …`. */
function fieldOf(message: string): FieldPath | undefined {
  const [, text] = /^(?:nodes would refuse it: )?(spec(?:\.\w+|\[\d+\])+): /.exec(message) ?? [];
  return text
    ?.split(/[.[\]]+/)
    .filter((part) => part !== '')
    .map((part) => (/^\d+$/.test(part) ? Number(part) : part));
}

/** Of which nodes can make nothing, or not all. */
const unreadable = (
  documents: readonly ManifestDocument[],
  settings: ClusterSettings,
): ManifestError[] =>
  documents.flatMap((document) => {
    const { object } = document;
    const declared = objectKindOf(object.kind);
    if (declared === undefined || COMPLETED_BY_CLUSTER.includes(object.kind)) return [];
    const context = { nodeName: '', settings, isOwn: false, round: 0, before: undefined };
    const reading = declared.read(object, context);
    const messages = (declared.checks ?? []).map((check) => check(object));
    if (reading?.kind === 'problem') messages.push(`nodes would refuse it: ${reading.message}`);
    if (reading?.kind === 'value') messages.push(reading.warning);
    return messages.flatMap((message) =>
      message === undefined
        ? []
        : about(document, message, document.positionOf(fieldOf(message) ?? [])),
    );
  });

/** Primary networks that can't share a namespace that is declared beside them; the one that is written first counts. */
function conflictingPrimaries(documents: readonly ManifestDocument[]): ManifestError[] {
  const namespaces = documents
    .filter(({ object }) => object.kind === 'Namespace')
    .map(({ object }) => withNameLabel(object as Namespace));
  const primaries = new Map<string, PrimaryNetwork[]>();
  return documents.flatMap((document) => {
    const network = asNetwork(document);
    if (network === undefined || network.kind === 'OVNSecondaryNetwork') return [];
    const spec = networkSpecOf(network);
    if (spec.kind === 'invalid' || spec.value.role !== 'primary') return [];
    const subnets = spec.value.subnets
      .map((subnet) => parsePrefix(subnet.split('/').slice(0, 2).join('/')))
      .filter((prefix) => prefix !== undefined);
    for (const namespace of targetNamespaces(network, namespaces)) {
      const wanted: PrimaryNetwork = {
        nad: `${namespace}/${network.metadata.name}`,
        network: spec.value.network,
        ownerKind: network.kind,
        subnets,
        ...(network.kind === 'ClusterUserDefinedNetwork'
          ? { namespaceSelector: network.spec.namespaceSelector }
          : {}),
      };
      const existing = primaries.get(namespace) ?? [];
      const conflict = primaryConflict(namespace, existing, wanted);
      if (conflict !== undefined) return [about(document, `${REFUSED}: ${conflict.message}`)];
      primaries.set(namespace, [...existing, wanted]);
    }
    return [];
  });
}

/** Connections that would not be accepted. */
const refusedConnects = (previews: readonly ConnectPreview[]): ManifestError[] =>
  previews.flatMap(({ document, problem }) =>
    problem === undefined
      ? []
      : [
          about(
            document,
            `${REFUSED}: ${problem.message}`,
            document.positionOf(
              problem.reason.startsWith('ConnectSubnet') ? ['spec', 'connectSubnets'] : ['spec'],
            ),
          ),
        ],
  );

/** NADs whose configuration can't be used. */
function unusableNads(
  documents: readonly ManifestDocument[],
  settings: ClusterAddressing,
): ManifestError[] {
  return documents.flatMap((document) => {
    if (document.object.kind !== 'NetworkAttachmentDefinition') return [];
    const parsed = parseNad(document.object as NetworkAttachmentDefinition, settings);
    if (parsed.kind !== 'invalid') return [];
    const message = `the network would not be made: Failed to parse network config: ${parsed.error}`;
    return [aboutField(document, ['spec', 'config'], message)];
  });
}

/** Networks with a label that says nothing. */
const uselessLabels = (documents: readonly ManifestDocument[]): ManifestError[] =>
  documents.flatMap((document) => {
    const network = asNetwork(document);
    const spec = network === undefined ? undefined : networkSpecOf(network);
    if (spec === undefined || spec.kind === 'invalid') return [];
    const { role } = spec.value;
    const { labels } = document.object.metadata;
    const problems: readonly (readonly [label: string, problem: string | undefined])[] = [
      [NETWORK_NAMES_LABEL, namesLabelProblem(labels, role)],
      [DEFAULT_ACCESS_LABEL, accessLabelProblem(labels, role)],
    ];
    return problems.flatMap(([label, problem]) =>
      problem === undefined
        ? []
        : [about(document, problem, document.positionOf(['metadata', 'labels', label]))],
    );
  });

/** Networks with a pool for services, or a gateway, that can't be used. */
const uselessAnnotations = (
  documents: readonly ManifestDocument[],
  settings: ClusterSettings,
): ManifestError[] =>
  documents.flatMap((document) => {
    const network = asNetwork(document);
    if (network === undefined) return [];
    const problems: readonly (readonly [key: string, problem: string | undefined])[] = [
      [SERVICE_POOL, poolProblem(network, settings)],
      [SECONDARY_GATEWAY, gatewayProblem(network, settings)],
    ];
    return problems.flatMap(([key, problem]) =>
      problem === undefined
        ? []
        : [about(document, problem, document.positionOf(['metadata', 'annotations', key]))],
    );
  });

/** Networks whose rows in OVN would have the same names. */
function clashingNames(documents: readonly ManifestDocument[]): ManifestError[] {
  const seen = new Map<string, ManifestDocument>();
  return documents.flatMap((document) => {
    const network = asNetwork(document);
    const spec = network === undefined ? undefined : networkSpecOf(network);
    if (spec === undefined || spec.kind === 'invalid') return [];
    const prefix = ovnPrefix(spec.value.network);
    const first = seen.get(prefix);
    if (first === undefined) {
      seen.set(prefix, document);
      return [];
    }
    // The same object twice is an error of its own.
    if (
      first.object.kind === document.object.kind &&
      objectKey(first.object.metadata) === objectKey(document.object.metadata)
    )
      return [];
    const other = `${describeObject(first.object)} (${placeOf(first)})`;
    const message = `${REFUSED}: OVN names of this network and of ${other} are the same (${prefix}…); rename one`;
    return [about(document, message)];
  });
}

/** Primary networks in namespaces, declared beside them, that lack the label. */
function unlabelledNamespaces(documents: readonly ManifestDocument[]): ManifestError[] {
  const unlabelled = new Map(
    documents
      .filter(({ object }) => object.kind === 'Namespace')
      .filter(({ object }) => !Object.hasOwn(object.metadata.labels ?? {}, PRIMARY_NETWORK_LABEL))
      .map((document) => [document.object.metadata.name, document]),
  );
  return documents.flatMap((document) => {
    if (document.object.kind !== 'UserDefinedNetwork') return [];
    const spec = networkSpecOf(document.object as NetworkObject);
    const namespace = unlabelled.get(document.object.metadata.namespace ?? '');
    if (spec.kind === 'invalid' || spec.value.role !== 'primary' || namespace === undefined)
      return [];
    const message =
      `${REFUSED}: namespace "${namespace.object.metadata.name}" (${placeOf(namespace)}) ` +
      `has no label ${PRIMARY_NETWORK_LABEL}; it must be there when the namespace is created`;
    return [about(document, message)];
  });
}

/** Ranges that are written as the address of somebody in them. */
function hostBits(documents: readonly ManifestDocument[]): ManifestError[] {
  return documents.flatMap((document) => {
    const network = asNetwork(document);
    const spec = network === undefined ? undefined : networkSpecOf(network);
    if (spec === undefined || spec.kind === 'invalid') return [];
    const { subnets, excludeSubnets, joinSubnets } = spec.value;
    const ranges = Object.entries({ subnets, excludeSubnets, joinSubnets }).flatMap(
      ([name, texts]) => texts.map((text) => ({ name, text })),
    );
    return ranges.flatMap(({ name, text }) => {
      const cidr = text.split('/').slice(0, 2).join('/');
      const [address, prefix] = [parseInterfaceAddress(cidr), parsePrefix(cidr)];
      if (address === undefined || prefix === undefined || address.value === prefix.base) return [];
      const read = formatPrefix(prefix);
      return [
        aboutField(
          document,
          rangesOf(document, name),
          `${cidr} has host bits: it is read as ${read}, write that`,
        ),
      ];
    });
  });
}

/** Addresses that a Layer2 network needs besides those of pods: network and broadcast (IPv4), and of a primary one gateway and management port. */
const NOT_FOR_PODS = { v4: { primary: 4n, secondary: 2n }, v6: { primary: 3n, secondary: 1n } };

/** Layer2 networks that have no address for a single pod. */
function withoutRoom(documents: readonly ManifestDocument[]): ManifestError[] {
  return documents.flatMap((document) => {
    const network = asNetwork(document);
    const spec = network === undefined ? undefined : networkSpecOf(network);
    if (spec === undefined || spec.kind === 'invalid' || spec.value.topology !== 'layer2')
      return [];
    const { subnets, role } = spec.value;
    return subnets.flatMap((subnet) => {
      const prefix = parsePrefix(subnet);
      if (prefix === undefined) return [];
      const needed = NOT_FOR_PODS[prefix.family][role];
      return sizeOf(prefix) > needed
        ? []
        : [
            aboutField(
              document,
              rangesOf(document),
              `${subnet} has no address for a pod: ${needed} are not for pods, take a wider range`,
            ),
          ];
    });
  });
}

/** Selectors that select nothing. */
function senselessSelectors(documents: readonly ManifestDocument[]): ManifestError[] {
  return documents
    .filter(({ kind }) => kind.apiVersion.startsWith('k8s.ovn.org/'))
    .flatMap((document) =>
      selectorProblems(document.object.spec).map(({ path, message }) =>
        about(document, `it would select nothing: ${message}`, document.positionOf(path)),
      ),
    );
}

/** Problems among valid objects, in the order of the documents. */
export function checkTogether(
  documents: readonly ManifestDocument[],
  settings: ClusterSettings,
  stored: readonly ManifestDocument[] = [],
): TogetherProblems {
  const previews = previewConnects(documents, stored, settings);
  const egress = egressFindings(documents, stored, settings);
  return {
    connections: previews,
    errors: definedTwice(documents),
    notes: egress.notes,
    warnings: [
      ...unrenderable(documents, settings),
      ...unsupportedFeatures(documents),
      ...unusableNads(documents, settings),
      ...conflictingPrimaries(documents),
      ...refusedConnects(previews),
      ...misspeltKeys(documents),
      ...uselessLabels(documents),
      ...uselessAnnotations(documents, settings),
      ...clashingNames(documents),
      ...unlabelledNamespaces(documents),
      ...senselessSelectors(documents),
      ...unreadable(documents, settings),
      ...egress.warnings,
      ...hostBits(documents),
      ...withoutRoom(documents),
      ...unknownNamespaces(documents).map(({ document, message }) =>
        about(document, message, document.positionOf(['metadata', 'namespace'])),
      ),
      ...podProblems(documents, settings).map(({ document, message }) => about(document, message)),
      ...serviceProblems(documents, [...stored, ...documents], settings),
    ],
  };
}
