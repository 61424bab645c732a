/** What shows of egress objects when they are looked at together, and with what is declared beside them. */
import {
  bitsOf,
  formatAddress,
  formatPrefix,
  parseAddress,
  parsePrefix,
  type Prefix,
} from '../allocators/addresses.ts';
import { PRIMARY_NETWORK_LABEL } from '../api/annotations/network-annotations.ts';
import { canonicalJson } from '../api/canonical-json.ts';
import type { NetworkObject } from '../api/nad/network-spec.ts';
import { networkSpecOf } from '../api/nad/network-spec.ts';
import { objectKey } from '../api/objects.ts';
import { matchesSelector, withNameLabel } from '../api/selectors.ts';
import type {
  AdminPolicyBasedExternalRoute,
  EgressFirewall,
  EgressIP,
  EgressService,
  Namespace,
  NetworkQoS,
  Service,
} from '../api/types.ts';
import { formatValue } from '../api/validation/field-errors.ts';
import type { ManifestDocument, ManifestError } from '../api/validation/manifest.ts';
import { nearestName } from '../api/validation/nearest-name.ts';
import { hostLabel, whyNoHost } from '../cluster/egress/egress-service-outcome.ts';
import { isNetworkObjectKind } from '../cluster/networks/network-objects.ts';
import type { ClusterSettings } from '../model/model.ts';
import { routingTable } from '../model/read/egress-services.ts';
import { egressServiceSlot } from '../model/rules/egress-service-mark.ts';
import { clusterFamilies } from '../model/rules/network-addresses.ts';
import { aboutField, declaredOf, objectAt, withStored } from './manifest-findings.ts';
import { unmatchedSelectors } from './unmatched-selectors.ts';
import { egressIpFindings } from './validate-egress-ips.ts';

interface Findings {
  readonly warnings: readonly ManifestError[];
  /** What may not be so in the cluster. */
  readonly notes: readonly ManifestError[];
}

/** EgressServices whose services send nothing out with the address of their load balancer. */
function servicesWithout(
  documents: readonly ManifestDocument[],
  all: readonly ManifestDocument[],
): Findings {
  const services = new Map(
    declaredOf<Service>(all, 'Service').map((one) => [objectKey(one.object.metadata), one]),
  );
  const namespaces = new Set([
    ...declaredOf<Namespace>(all, 'Namespace').map(({ object }) => object.metadata.name),
    ...[...services.values()].map(({ object }) => object.metadata.namespace ?? 'default'),
  ]);
  const labelled = new Map<string, string>();
  const warnings: ManifestError[] = [];
  const notes: ManifestError[] = [];
  for (const { document, object } of declaredOf<EgressService>(documents, 'EgressService')) {
    const key = objectKey(object.metadata);
    const label = hostLabel(key);
    const older = labelled.get(label);
    if (older === undefined) labelled.set(label, key);
    const service = services.get(key);
    const problem = whyNoHost(object, service?.object, older);
    if (problem === undefined) continue;
    const at = service === undefined ? '' : ` (${objectAt(service.document)})`;
    if (problem.reason === 'NoService') {
      if (!namespaces.has(object.metadata.namespace ?? 'default')) continue;
      const nearest = nearestName(key, services.keys());
      const remedy =
        nearest === undefined
          ? 'declare it, or give this object its name'
          : `did you mean "${nearest}"?`;
      warnings.push(aboutField(document, ['metadata', 'name'], `${problem.message}: ${remedy}`));
    } else if (problem.reason === 'NoLoadBalancer')
      warnings.push(
        aboutField(
          document,
          ['metadata', 'name'],
          `${problem.message}${at}; give it type LoadBalancer, or take this object out`,
        ),
      );
    // Who gives addresses to load balancers has not seen it yet.
    else if (problem.reason === 'NoAddress')
      notes.push(aboutField(document, ['metadata', 'name'], problem.message));
    // What can't be read is told where its own selector is.
    else if (problem.reason === 'NoLabel')
      warnings.push(aboutField(document, ['metadata', 'name'], problem.message));
  }
  return { warnings, notes };
}

/** EgressServices with routing tables of which hosts would know what two send of primary networks by one address. */
function sharedSlots(
  documents: readonly ManifestDocument[],
  all: readonly ManifestDocument[],
): ManifestError[] {
  const labelled = new Set(
    declaredOf<Namespace>(all, 'Namespace')
      .filter(({ object: { metadata } }) =>
        Object.hasOwn(metadata.labels ?? {}, PRIMARY_NETWORK_LABEL),
      )
      .map(({ object }) => object.metadata.name),
  );
  const slots = new Map<number, ManifestDocument>();
  return declaredOf<EgressService>(documents, 'EgressService').flatMap(({ document, object }) => {
    const { metadata, spec: { network = '' } = {} } = object;
    if (!labelled.has(metadata.namespace ?? 'default')) return [];
    if (network === '' || routingTable(network).table === undefined) return [];
    const slot = egressServiceSlot(
      objectKey({ ...metadata, namespace: metadata.namespace ?? 'default' }),
    );
    const other = slots.get(slot);
    if (other === undefined) slots.set(slot, document);
    return other === undefined
      ? []
      : aboutField(
          document,
          ['spec', 'network'],
          `nodes would know its pods of primary networks by the address that those of ${objectAt(other)} have there: pods of the younger of both send nothing out; give the Service, and this object, another name`,
        );
  });
}

/** Prefixes, each with the first rule that is about all of it. */
class DecidedPrefixes {
  readonly #rules = new Map<string, number>();
  readonly #lengths = new Set<number>();

  add(prefix: Prefix, rule: number): void {
    this.#lengths.add(prefix.length);
    const key = formatPrefix(prefix);
    if (!this.#rules.has(key)) this.#rules.set(key, rule);
  }

  /** The rule that is about all of it; Infinity for none. */
  ruleAbout({ family, base, length }: Prefix): number {
    const rules = [...this.#lengths].map((shorter) => {
      const host = BigInt(bitsOf(family) - shorter);
      const outer = { family, base: (base >> host) << host, length: shorter };
      return shorter > length ? Infinity : (this.#rules.get(formatPrefix(outer)) ?? Infinity);
    });
    return Math.min(...rules);
  }
}

/** Rules of firewalls that never decide, since one before them does for all of their packets. */
function idleRules(
  documents: readonly ManifestDocument[],
  settings: ClusterSettings,
): ManifestError[] {
  const everywhere = clusterFamilies(settings).map((family) => ({ family, base: 0n, length: 0 }));
  return declaredOf<EgressFirewall>(documents, 'EgressFirewall').flatMap(({ document, object }) => {
    const decided = new DecidedPrefixes();
    return object.spec.egress.flatMap(({ to, ports = [] }, index) => {
      const prefix = to.cidrSelector === undefined ? undefined : parsePrefix(to.cidrSelector);
      // Where names and nodes are is not known here.
      const about = prefix === undefined ? everywhere : [prefix];
      const before = Math.max(...about.map((one) => decided.ruleAbout(one)));
      if (before === Infinity) {
        if (prefix !== undefined && ports.length === 0) decided.add(prefix, index);
        return [];
      }
      return aboutField(
        document,
        ['spec', 'egress', index],
        `never decides: the first rule that is about a packet does, and spec.egress[${before}] is about all that this one is; put it before that one, or take it out`,
      );
    });
  });
}

/** External routes that lead nowhere, or whose namespaces others have. */
function routes(
  documents: readonly ManifestDocument[],
  all: readonly ManifestDocument[],
): ManifestError[] {
  const namespaces = declaredOf<Namespace>(all, 'Namespace').map(({ object }) =>
    withNameLabel(object),
  );
  const egressIps = declaredOf<EgressIP>(all, 'EgressIP').filter(
    ({ object: { spec } }) =>
      spec.trafficSelector === undefined && canonicalJson(spec.podSelector ?? {}) === '{}',
  );
  const routed = new Map<string, ManifestDocument>();
  return declaredOf<AdminPolicyBasedExternalRoute>(
    documents,
    'AdminPolicyBasedExternalRoute',
  ).flatMap(({ document, object: { spec } }) => {
    const found: ManifestError[] = [];
    const { static: hops = [], dynamic = [] } = spec.nextHops;
    if (hops.length === 0 && dynamic.length === 0)
      found.push(
        aboutField(
          document,
          ['spec', 'nextHops'],
          'names no next hop: pods leave as without it; write static ones, or select pods',
        ),
      );
    const seen = new Set<string>();
    for (const [index, { ip }] of hops.entries()) {
      const address = parseAddress(ip);
      const text = address === undefined ? ip : formatAddress(address);
      if (seen.has(text))
        found.push(
          aboutField(
            document,
            ['spec', 'nextHops', 'static', index, 'ip'],
            `${text} is there twice, and counts once; take it out`,
          ),
        );
      seen.add(text);
    }
    const selector = spec.from.namespaceSelector;
    const field = ['spec', 'from', 'namespaceSelector'];
    let [isTold, isOutranked] = [false, false];
    for (const { metadata } of namespaces) {
      if (!matchesSelector(selector, metadata.labels)) continue;
      const name = formatValue(metadata.name);
      const other = routed.get(metadata.name);
      if (other === undefined) routed.set(metadata.name, document);
      else if (!isTold) {
        isTold = true;
        found.push(
          aboutField(
            document,
            field,
            `namespace ${name} is selected by ${objectAt(other)}, too: of two the older one counts; select each namespace by one policy`,
          ),
        );
      }
      const egressIp = isOutranked
        ? undefined
        : egressIps.find(({ object }) =>
            matchesSelector(object.spec.namespaceSelector, metadata.labels),
          );
      if (egressIp === undefined) continue;
      isOutranked = true;
      found.push(
        aboutField(
          document,
          field,
          `pods of namespace ${name} have ${objectAt(egressIp.document)}, which comes first: they leave by no next hop; select them by one of both`,
        ),
      );
    }
    return found;
  });
}

/** NetworkQoSes of which nothing says which decides, and those for networks on which pods have no addresses. */
function networkQos(
  documents: readonly ManifestDocument[],
  all: readonly ManifestDocument[],
): ManifestError[] {
  const flat = all.filter(({ object }) => {
    if (!isNetworkObjectKind(object.kind)) return false;
    const spec = networkSpecOf(object as NetworkObject);
    return spec.kind !== 'invalid' && spec.value.subnets.length === 0;
  });
  const seen = new Map<string, { readonly document: ManifestDocument; readonly pods: string }[]>();
  return declaredOf<NetworkQoS>(documents, 'NetworkQoS').flatMap(({ document, object }) => {
    const { namespace = 'default' } = object.metadata;
    const { priority = 0, podSelector = {}, networkSelectors } = object.spec ?? {};
    const pods = canonicalJson(podSelector);
    const key = canonicalJson([namespace, priority, networkSelectors ?? null]);
    const before = seen.get(key) ?? [];
    const other = before.find((one) => one.pods === pods || [one.pods, pods].includes('{}'));
    seen.set(key, [...before, { document, pods }]);
    return [
      ...(other === undefined
        ? []
        : [
            aboutField(
              document,
              ['spec', 'priority'],
              `${objectAt(other.document)} has priority ${priority}, too, and is for the same pods: of a packet that both mean the older one decides; give each its own`,
            ),
          ]),
      ...(networkSelectors ?? []).flatMap((one, index) => {
        const { clusterUserDefinedNetworkSelector: cluster } = one;
        const { networkAttachmentDefinitionSelector: nads } = one;
        const network = flat.find(({ object: { kind, metadata } }) =>
          kind === 'ClusterUserDefinedNetwork'
            ? matchesSelector(cluster?.networkSelector, metadata.labels)
            : matchesSelector(nads?.networkSelector, metadata.labels),
        );
        return network === undefined
          ? []
          : aboutField(
              document,
              ['spec', 'networkSelectors', index],
              `it selects ${objectAt(network)}, which has no subnets: pods have no addresses there, and nothing of them is marked or limited; select networks with subnets`,
            );
      }),
    ];
  });
}

/** Findings about egress objects of `documents`; what is `stored` counts where `documents` don't have it. */
export function egressFindings(
  documents: readonly ManifestDocument[],
  stored: readonly ManifestDocument[],
  settings: ClusterSettings,
): Findings {
  const all = withStored(documents, stored);
  const ofIps = egressIpFindings(documents, all, settings);
  const ofServices = servicesWithout(documents, all);
  return {
    warnings: [
      ...ofIps.warnings,
      ...ofServices.warnings,
      ...sharedSlots(documents, all),
      ...idleRules(documents, settings),
      ...routes(documents, all),
      ...networkQos(documents, all),
    ],
    notes: [...ofIps.notes, ...ofServices.notes, ...unmatchedSelectors(documents, all)],
  };
}
