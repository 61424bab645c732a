/** Puts together what a page shows of a zone: what others worked out, and nothing of its own. Pure. */
import { stringify } from 'yaml';
import { podNetworks } from '../api/annotations/pod-annotations.ts';
import { nadOfKey } from '../api/nad/nad-key.ts';
import { DEFAULT_NETWORK } from '../api/nad/network-name.ts';
import { objectKey, type KubeObject } from '../api/objects.ts';
import type { Pod } from '../api/types.ts';
import { objectWithoutSecrets } from '../bundle/secrets.ts';
import type { ClusterSettings } from '../model/model.ts';
import type { ZoneFacts } from '../model/zone/zone.ts';
import type { Certificate } from '../verify/certificate/certificate.ts';
import type { NetworkOverview, Overview } from '../views/overview.ts';
import type { NodeChanges } from '../views/node-changes.ts';
import { networkState, statusView } from '../views/status-view.ts';
import type {
  ObjectMessage,
  PageData,
  PageNetwork,
  PagePlan,
  PagePod,
  PageProof,
  PageStatus,
} from './page-data.ts';
import { joinsOf, waysOf } from '../reach/ways.ts';

export interface PagedZone {
  readonly heddle: string;
  readonly node: string;
  readonly time: Date;
  readonly settings: ClusterSettings;
  readonly facts: ZoneFacts;
  /** Of the objects alone. */
  readonly overview: Overview;
  readonly pods: readonly Pod[];
  /** Policies and others that say what pods may send and receive. */
  readonly policies: readonly KubeObject[];
  /** Whatever else can be looked up by its name. */
  readonly others: readonly KubeObject[];
  /** SVG by network. */
  readonly pictures: ReadonlyMap<string, string>;
  readonly problems: readonly ObjectMessage[];
  /** As a running daemon answers. */
  readonly status?: Overview | undefined;
  readonly certificate?: Certificate | undefined;
  readonly changes?: NodeChanges | undefined;
  /** How many rows change for each network. */
  readonly plan?: Readonly<Record<string, number>> | undefined;
}

/** As people sort: `net2` before `net10`. */
const NATURAL = new Intl.Collator('en', { numeric: true });

const nameOf = ({ kind, metadata }: KubeObject): string => `${kind} ${objectKey(metadata)}`;

export function pageOf(zone: PagedZone): PageData {
  const { facts, overview, pods, status, certificate, changes, plan } = zone;
  return {
    heddle: zone.heddle,
    node: zone.node,
    time: zone.time.toISOString(),
    networks: networksOf(zone),
    joins: joinsOf(facts),
    ways: waysOf(facts, pods, zone.settings),
    pods: podsOf(pods, overview.networks),
    problems: zone.problems,
    ...(status === undefined ? {} : { status: statusOf(status) }),
    ...(certificate === undefined ? {} : { proof: proofOf(certificate) }),
    ...(changes === undefined ? {} : { changes }),
    ...(plan === undefined ? {} : { plan: planOf(plan) }),
    objects: [...pods, ...zone.policies, ...zone.others]
      .map((object) => [nameOf(object), stringify(objectWithoutSecrets(object))] as const)
      .toSorted(([a], [b]) => NATURAL.compare(a, b)),
  };
}

/** The default network first. */
function networksOf({
  facts,
  overview,
  policies,
  pictures,
  status,
}: PagedZone): readonly PageNetwork[] {
  const byNetwork = namespacesByNetwork(facts);
  const states = new Map(status?.networks.map((network) => [network.name, networkState(network)]));
  const ofNamespace = Map.groupBy(policies, ({ metadata }) => metadata.namespace ?? '');
  const services = new Map<string, string[]>();
  for (const [key, { networks }] of facts.serviceNetworks.entries())
    for (const network of networks)
      services.set(network, [...(services.get(network) ?? []), `Service ${key}`]);
  return overview.networks
    .toSorted(
      (a, b) =>
        Number(b.name === DEFAULT_NETWORK) - Number(a.name === DEFAULT_NETWORK) ||
        NATURAL.compare(a.name, b.name),
    )
    .map(({ name, object, id, topology, role, subnets, nads }): PageNetwork => {
      const primary = byNetwork.get(name) ?? [];
      const state = states.get(name);
      const picture = pictures.get(name);
      return {
        name,
        ...(object === undefined ? {} : { object }),
        ...(id === undefined ? {} : { id }),
        ...(topology === undefined ? {} : { topology }),
        ...(role === undefined ? {} : { role }),
        subnets,
        namespaces: [...new Set([...primary, ...nads.map(namespaceOf)])].toSorted(NATURAL.compare),
        ...(state === undefined ? {} : { state }),
        services: (services.get(name) ?? []).toSorted(NATURAL.compare),
        policies: [
          ...primary.flatMap((one) => ofNamespace.get(one) ?? []),
          ...(ofNamespace.get('') ?? []),
        ]
          .map(nameOf)
          .toSorted(NATURAL.compare),
        ...(picture === undefined ? {} : { picture }),
      };
    });
}

const namespaceOf = (key: string): string => key.slice(0, key.indexOf('/'));

/** Namespaces whose pods have a network as their primary one. */
function namespacesByNetwork(facts: ZoneFacts): ReadonlyMap<string, readonly string[]> {
  const found = new Map<string, string[]>();
  for (const [namespace, { isLabelled }] of facts.namespaces.entries())
    for (const network of isLabelled ? facts.primariesOf(namespace) : [DEFAULT_NETWORK]) {
      const known = found.get(network);
      if (known === undefined) found.set(network, [namespace]);
      else known.push(namespace);
    }
  return found;
}

function podsOf(pods: readonly Pod[], networks: readonly NetworkOverview[]): readonly PagePod[] {
  const byNad = new Map(networks.flatMap(({ name, nads }) => nads.map((nad) => [nad, name])));
  return pods
    .map((pod): PagePod => {
      const { nodeName } = pod.spec;
      return {
        key: objectKey(pod.metadata),
        ...(nodeName === undefined ? {} : { node: nodeName }),
        interfaces: [...(podNetworks(pod).value ?? [])].map(([nadKey, { role, addresses }]) => ({
          network: byNad.get(nadOfKey(nadKey)) ?? nadKey,
          ...(role === undefined ? {} : { role }),
          addresses,
        })),
      };
    })
    .toSorted((a, b) => NATURAL.compare(a.key, b.key));
}

function statusOf(overview: Overview): PageStatus {
  const { verdict, isWell, problems, waiting } = statusView(overview);
  return {
    verdict,
    isWell,
    problems: problems.map(messageOf),
    waiting: waiting.map(messageOf),
    nodes: overview.nodes.map(({ name, daemon, message, observedAt }) => {
      const why = daemon.message ?? message;
      return {
        name,
        daemon: daemon.state,
        ...(why === undefined ? {} : { message: why }),
        ...(observedAt === undefined ? {} : { observedAt }),
      };
    }),
  };
}

function planOf(plan: Readonly<Record<string, number>>): PagePlan {
  const networks = Object.entries(plan).toSorted(([a], [b]) => NATURAL.compare(a, b));
  return { rows: networks.reduce((sum, [, rows]) => sum + rows, 0), networks };
}

const messageOf = ({ object, message }: ObjectMessage): ObjectMessage => ({ object, message });

const proofOf = (certificate: Certificate): PageProof => ({
  node: certificate.node,
  time: certificate.time,
  verdict: certificate.verdict,
  digest: certificate.digest,
  networks: certificate.networks.map(({ name }) => name),
  joins: certificate.joins.map(({ object, networks }) => ({ object, networks })),
  violations: certificate.violations.map(({ where, what, object, networks }) => ({
    where,
    what,
    object,
    networks,
  })),
  edges: certificate.edges.map(({ kind: _notShown, ...edge }) => edge),
  undecided: certificate.undecided,
  notProved: certificate.notProved,
});
