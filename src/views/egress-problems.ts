/** Why EgressIPs have no node for an address, and EgressServices none at all, in the words of the cluster manager's events: worked out from objects. Pure. */
import { parseAddress, withinAny, type Address } from '../allocators/addresses.ts';
import {
  assignEgressAddresses,
  type EgressAssignment,
  type EgressNode,
  type EgressRequest,
} from '../allocators/egress-addresses.ts';
import { objectKey } from '../api/objects.ts';
import { oldestFirst } from '../api/order.ts';
import { matchesSelector } from '../api/selectors.ts';
import type { EgressIP, EgressService, Node, Service } from '../api/types.ts';
import type { ZoneProblem } from '../api/zone-status.ts';
import { heartbeatOf, nodeOfLease, type Lease } from '../api/node-lease.ts';
import {
  egressProblems,
  externalAddresses,
  networkDownProblems,
  requestedAddresses,
} from '../cluster/egress/egress-ip-outcome.ts';
import {
  egressNodeFacts,
  ownersOf,
  whyDown,
  type EgressNodeFacts,
} from '../cluster/egress/egress-nodes.ts';
import { hostLabel, noSuitableNode, whyNoHost } from '../cluster/egress/egress-service-outcome.ts';
import type { ClusterSettings } from '../model/model.ts';
import { egressServiceObject } from '../model/zone/egress-services.ts';
import { egressNodeSelector } from '../model/rules/egress-node-selectors.ts';

export interface EgressPlacement {
  readonly egressIps: readonly EgressIP[];
  readonly egressServices: readonly EgressService[];
  readonly services: readonly Service[];
  readonly nodes: readonly Node[];
  /** Heartbeats of nodes' daemons. */
  readonly leases: readonly Lease[];
}

/** Milliseconds that a cluster manager has for an object before that it has no node is told. */
const GRACE = 5_000;

/** `now` in milliseconds since 1970. */
export function egressPlacementProblems(
  objects: EgressPlacement,
  settings: ClusterSettings,
  now: number,
): readonly ZoneProblem[] {
  const isNew = ({ metadata }: EgressIP | EgressService): boolean =>
    now - Date.parse(metadata.creationTimestamp ?? '') < GRACE;
  const { egressIp, egressService } = settings.features;
  return [
    ...(egressIp ? ofEgressIps(objects, settings, isNew) : []),
    ...(egressService ? ofEgressServices(objects, isNew) : []),
  ];
}

function ofEgressIps(
  { egressIps, nodes: all, services, leases }: EgressPlacement,
  settings: ClusterSettings,
  isNew: (egressIp: EgressIP) => boolean,
): readonly ZoneProblem[] {
  const nodes = all.map(egressNodeFacts);
  const daemons = new Map(leases.map((lease) => [nodeOfLease(lease), heartbeatOf(lease).holder]));
  const whyDownAt = (facts: EgressNodeFacts, address: Address): string | undefined =>
    whyDown(facts, address, daemons.get(facts.name));
  const objects = oldestFirst(egressIps);
  const requests = objects.map((egressIp): EgressRequest => {
    const able = nodes.filter(
      ({ labels, isReady }) => isReady && matchesSelector(egressNodeSelector(egressIp), labels),
    );
    return {
      name: egressIp.metadata.name,
      addresses: requestedAddresses(egressIp).addresses,
      nodes: new Set(able.map(({ name }) => name)),
      held: (egressIp.status?.items ?? []).map(({ node, egressIP: address }) => ({
        node,
        address,
      })),
    };
  });
  const held = new Set(requests.flatMap((one) => one.held.map(({ address }) => address)));
  const owners = ownersOf(nodes);
  const ofServices = serviceAddresses(services, settings);
  const assigned = assignEgressAddresses(
    requests,
    nodes.map((facts): EgressNode => ({
      name: facts.name,
      networks: facts.networks,
      takesMore: facts.isReady,
      isDraining: facts.isDraining,
      isDownFor: (address) => whyDownAt(facts, address) !== undefined,
    })),
    {
      ownerOf: (address) =>
        owners.get(address) ?? (held.has(address) ? undefined : ofServices.get(address)),
      answeredBy: (address) =>
        nodes.filter(({ answersFor }) => answersFor.includes(address)).map(({ name }) => name),
      movesTo: () => undefined,
    },
  );
  return objects
    .filter((egressIp) => !isNew(egressIp))
    .flatMap((egressIp) => {
      const { name } = egressIp.metadata;
      const assignment = assigned.get(name);
      if (assignment === undefined) return [];
      const ofNetworks = networkDownProblems(egressIp, assignment.items, (node, address) => {
        const facts = nodes.find((one) => one.name === node);
        const parsed = parseAddress(address);
        return facts && parsed && whyDownAt(facts, parsed);
      });
      return egressProblems(egressIp, assignment, settings, () =>
        nodes.filter(({ labels }) => matchesSelector(egressNodeSelector(egressIp), labels)),
      )
        .concat(ofNetworks)
        .map(({ message }) => message)
        .concat(unheeded(assignment, held))
        .map((message) => ({ object: `EgressIP ${name}`, message }));
    });
}

/** Addresses that a node may have, and that no cluster manager has given to one. */
const unheeded = ({ items }: EgressAssignment, held: ReadonlySet<string>): readonly string[] =>
  items
    .filter(({ address }) => !held.has(address))
    .map(
      ({ address, node }) =>
        `${address} has no node yet, which ${node} could be: see whether the cluster manager runs, and in its log whether the node answers it`,
    );

/** Addresses that services have from outside, by whose they are in words. */
function serviceAddresses(
  services: readonly Service[],
  { serviceExternalRanges: ranges }: ClusterSettings,
): ReadonlyMap<string, string> {
  // What nodes give no service is free.
  const isGiven = ranges.length === 0 ? () => true : withinAny(ranges);
  return new Map(
    services.flatMap((service) =>
      externalAddresses(service)
        .filter((address) => isGiven(address))
        .map((address) => [
          address,
          `an external address of Service ${objectKey(service.metadata)}`,
        ]),
    ),
  );
}

function ofEgressServices(
  { egressServices, services }: EgressPlacement,
  isNew: (egressService: EgressService) => boolean,
): readonly ZoneProblem[] {
  const byKey = new Map(services.map((service) => [objectKey(service.metadata), service]));
  const labelled = new Map<string, string>();
  return oldestFirst(egressServices).flatMap((egressService) => {
    const key = objectKey(egressService.metadata);
    const service = byKey.get(key);
    const older = labelled.get(hostLabel(key));
    if (older === undefined) labelled.set(hostLabel(key), key);
    if (isNew(egressService)) return [];
    const isLocal = service?.spec.externalTrafficPolicy === 'Local';
    const host = egressService.status?.host ?? '';
    const problem =
      whyNoHost(egressService, service, older) ??
      (host === '' ? noSuitableNode(egressService, isLocal) : undefined);
    return problem === undefined
      ? []
      : [{ object: egressServiceObject(key), message: problem.message }];
  });
}
