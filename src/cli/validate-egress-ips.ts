/** What shows of EgressIPs when they are looked at together, and with the nodes, services, namespaces and classes that are declared beside them. */
import {
  containsAddress,
  familyOf,
  formatPrefix,
  withinAny,
  type Address,
} from '../allocators/addresses.ts';
import { canonicalJson } from '../api/canonical-json.ts';
import { labelSelectorProblem } from '../api/label-selector.ts';
import { matchesSelector, withNameLabel } from '../api/selectors.ts';
import type { EgressIP, EgressTrafficClass, Namespace, Node, Service } from '../api/types.ts';
import { formatValue } from '../api/validation/field-errors.ts';
import {
  describeObject,
  type ManifestDocument,
  type ManifestError,
} from '../api/validation/manifest.ts';
import {
  externalAddresses,
  insideAddresses,
  requestedAddresses,
} from '../cluster/egress/egress-ip-outcome.ts';
import { egressNodeFacts, ownersOf, type EgressNodeFacts } from '../cluster/egress/egress-nodes.ts';
import type { ClusterSettings } from '../model/model.ts';
import { NO_TRAFFIC_CLASS } from '../model/read/egress-traffic-classes.ts';
import { egressNodeSelector, isByLabel } from '../model/rules/egress-node-selectors.ts';
import { EGRESS_ASSIGNABLE_LABEL } from '../api/annotations/network-annotations.ts';
import {
  aboutField,
  declaredOf,
  objectAt,
  placeOf,
  REFUSED,
  type Declared,
} from './manifest-findings.ts';
import { meantLabels } from './unmatched-selectors.ts';

const ADDRESSES = ['spec', 'egressIPs'];

/** Those with what is no address, what they have twice, and what no node has outside. */
const invalidAddresses = (
  egressIps: readonly Declared<EgressIP>[],
  settings: ClusterSettings,
): ManifestError[] =>
  egressIps.flatMap(({ document, object }) => {
    const { addresses, invalid } = requestedAddresses(object);
    const twice = object.spec.egressIPs.length - invalid.length - addresses.size;
    return [
      ...invalid.map(
        (text) =>
          `${REFUSED}: ${formatValue(text)} is not a valid IP address; write one such as 172.18.0.100`,
      ),
      ...[...insideAddresses(object, settings)].map(
        ([address, why]) =>
          `${REFUSED}: ${formatValue(address)} ${why}; write an address of a network of the nodes`,
      ),
      ...(twice > 0 ? ['an address is there twice, and counts once; take it out'] : []),
    ].map((message) => aboutField(document, ADDRESSES, message));
  });

/** Those that ask for nothing, or for what another one of these files has: the one that is written first counts. */
function useless(egressIps: readonly Declared<EgressIP>[]): ManifestError[] {
  const taken = new Map<string, ManifestDocument>();
  return egressIps.flatMap(({ document, object }) => {
    if (object.spec.egressIPs.length === 0)
      return [
        aboutField(
          document,
          ADDRESSES,
          'asks for no address, and has no effect: write one or more',
        ),
      ];
    return [...requestedAddresses(object).addresses.keys()].flatMap((address) => {
      const first = taken.get(address);
      if (first === undefined) taken.set(address, document);
      return first === undefined
        ? []
        : [
            aboutField(
              document,
              ADDRESSES,
              `${REFUSED}: ${address} is asked for by ${describeObject(first.object)} (${placeOf(first)}); write another one`,
            ),
          ];
    });
  });
}

/** Those with addresses that somebody has: a node, a next hop, a service. */
function owned(
  egressIps: readonly Declared<EgressIP>[],
  all: readonly ManifestDocument[],
  { serviceExternalRanges: ranges }: ClusterSettings,
): ManifestError[] {
  const owners = new Map<string, string>();
  // What nodes give no service is free.
  const isGiven = ranges.length === 0 ? () => true : withinAny(ranges);
  for (const { document, object } of declaredOf<Service>(all, 'Service'))
    for (const address of externalAddresses(object))
      if (isGiven(address)) owners.set(address, `an external address of ${objectAt(document)}`);
  for (const [address, owner] of ownersOf(nodesOf(all))) owners.set(address, owner);
  return egressIps.flatMap(({ document, object }) =>
    [...requestedAddresses(object).addresses.keys()].flatMap((address) => {
      const owner = owners.get(address);
      return owner === undefined
        ? []
        : aboutField(
            document,
            ADDRESSES,
            `${REFUSED}: ${address} is ${owner.replace(/,$/, '')}; write one that nobody has`,
          );
    }),
  );
}

const nodesOf = (all: readonly ManifestDocument[]): readonly EgressNodeFacts[] =>
  declaredOf<Node>(all, 'Node').map(({ object }) => egressNodeFacts(object));

/** Those with addresses that no node of these files could have. */
function homeless(
  egressIps: readonly Declared<EgressIP>[],
  all: readonly ManifestDocument[],
  settings: ClusterSettings,
): ManifestError[] {
  const nodes = nodesOf(all);
  if (nodes.length === 0) return [];
  return egressIps.flatMap(({ document, object }) => {
    const able = nodes.filter(({ labels }) => matchesSelector(egressNodeSelector(object), labels));
    if (able.length === 0) return withoutNode({ document, object });
    const inside = insideAddresses(object, settings);
    const asked = [...requestedAddresses(object).addresses].filter(([text]) => !inside.has(text));
    const far = able.every(({ networks }) => networks.length > 0)
      ? asked.filter(([, address]) => !able.some((node) => isNear(node, address)))
      : [];
    const networks = [...new Set(able.flatMap((node) => node.networks.map(formatPrefix)))];
    return [
      ...far.map(([text]) =>
        aboutField(
          document,
          ADDRESSES,
          `${text} is in no network of the nodes that may have it (${able.map(({ name }) => name).join(', ')}): write one of ${networks.join(', ')}`,
        ),
      ),
      ...(asked.length > able.length
        ? [
            aboutField(
              document,
              ADDRESSES,
              `a node has one address of an EgressIP at most: of ${asked.length} that it asks for ${able.length} have a node (${able.map(({ name }) => name).join(', ')}); label more nodes, or write fewer`,
            ),
          ]
        : []),
    ];
  });
}

/** No node of these files has the labels that are asked for. */
function withoutNode({ document, object }: Declared<EgressIP>): ManifestError[] {
  // What can't be read is told where all selectors are.
  if (labelSelectorProblem(egressNodeSelector(object)) !== undefined) return [];
  return [
    isByLabel(object)
      ? aboutField(
          document,
          ADDRESSES,
          `no node of these files may have them: give one the label ${EGRESS_ASSIGNABLE_LABEL}`,
        )
      : aboutField(
          document,
          ['spec', 'egressNodeSelector'],
          'no node of these files has such labels, and its addresses have no node; label one, or correct the selector',
        ),
  ];
}

const isNear = ({ networks }: EgressNodeFacts, address: Address): boolean =>
  networks.some((network) => containsAddress(network, address));

/** Those for classes of destinations that these files don't have: of each what is wrong, and whether classes are declared at all. */
function classless(
  egressIps: readonly Declared<EgressIP>[],
  all: readonly ManifestDocument[],
): readonly (Declared<EgressIP> & { readonly message: string; readonly isJudged: boolean })[] {
  const classes = declaredOf<EgressTrafficClass>(all, 'EgressTrafficClass');
  return egressIps.flatMap(({ document, object }) => {
    const { trafficSelector } = object.spec;
    // What can't be read is told where all selectors are.
    if (trafficSelector === undefined || labelSelectorProblem(trafficSelector) !== undefined)
      return [];
    const selected = classes.filter((one) =>
      matchesSelector(trafficSelector, one.object.metadata.labels),
    );
    const found = { document, object, isJudged: classes.length > 0 };
    if (selected.length === 0) {
      const labels = classes.map((one) => one.object.metadata.labels ?? {});
      return [{ ...found, message: `${NO_TRAFFIC_CLASS}${meantLabels(trafficSelector, labels)}` }];
    }
    const to = selected.flatMap((one) => one.object.spec.destinations.map(({ cidr }) => cidr));
    const families = new Set([...requestedAddresses(object).addresses.keys()].map(familyOf));
    const isServed = families.size === 0 || to.some((cidr) => families.has(familyOf(cidr)));
    const [family] = families;
    const wanted = family === 'v4' ? 'IPv4' : 'IPv6';
    return isServed
      ? []
      : [
          {
            ...found,
            message: `its addresses are ${wanted}, and ${selected.map((one) => describeObject(one.object)).join(', ')} has no ${wanted} network: nothing leaves with them; name one there, or write addresses of the other family`,
          },
        ];
  });
}

const keyOf = (selector: object | undefined): string => {
  const text = canonicalJson(selector ?? {});
  return ['{"matchLabels":{}}', '{"matchExpressions":[]}'].includes(text) ? '{}' : text;
};

/** Those for pods that an earlier one serves already, as far as that shows in selectors. */
function contested(
  egressIps: readonly Declared<EgressIP>[],
  all: readonly ManifestDocument[],
): ManifestError[] {
  const namespaces = declaredOf<Namespace>(all, 'Namespace').map(({ object }) =>
    withNameLabel(object),
  );
  /** By namespace: who selects all of its pods, who any, and who some, by their selector. */
  const served = new Map<string, Map<string, ManifestDocument>>();
  return egressIps.flatMap(({ document, object: { spec } }) => {
    // What is for some destinations alone stands beside others.
    if (spec.trafficSelector !== undefined) return [];
    const key = keyOf(spec.podSelector);
    let first: { readonly other: ManifestDocument; readonly namespace: string } | undefined;
    for (const { metadata } of namespaces) {
      if (!matchesSelector(spec.namespaceSelector, metadata.labels)) continue;
      const { name: namespace } = metadata;
      const before = served.get(namespace) ?? new Map<string, ManifestDocument>();
      const other = before.get('{}') ?? before.get(key === '{}' ? 'any' : key);
      if (other !== undefined) first ??= { other, namespace };
      served.set(namespace, before);
      for (const one of [key, 'any']) if (!before.has(one)) before.set(one, document);
    }
    return first === undefined
      ? []
      : [
          aboutField(
            document,
            ['spec', 'namespaceSelector'],
            `${objectAt(first.other)} is for pods of namespace ${formatValue(first.namespace)}, too: of two the older one serves a pod; select each by one of them`,
          ),
        ];
  });
}

/** EgressIPs of `documents`; what counts beside them is in `all`. */
export function egressIpFindings(
  documents: readonly ManifestDocument[],
  all: readonly ManifestDocument[],
  settings: ClusterSettings,
): { readonly warnings: readonly ManifestError[]; readonly notes: readonly ManifestError[] } {
  const egressIps = declaredOf<EgressIP>(documents, 'EgressIP');
  const byClass = classless(egressIps, all).map(({ document, message, isJudged }) => ({
    error: aboutField(document, ['spec', 'trafficSelector'], message),
    isJudged,
  }));
  const ofClasses = (isJudged: boolean): ManifestError[] =>
    byClass.flatMap((one) => (one.isJudged === isJudged ? one.error : []));
  return {
    warnings: [
      ...invalidAddresses(egressIps, settings),
      ...useless(egressIps),
      ...owned(egressIps, all, settings),
      ...homeless(egressIps, all, settings),
      ...ofClasses(true),
      ...contested(egressIps, all),
    ],
    notes: ofClasses(false),
  };
}
