/**
 * What is known of the cluster, for one node's zone: tables that objects are read into, and tables that follow from them.
 * Who builds rows or host state reads nothing else.
 */
import { DerivationGraph } from '../../facts/derivation-graph.ts';
import { ReadRecorder } from '../../facts/reads.ts';
import type { ClusterSettings } from '../model.ts';
import { adminTables } from './admin-policies.ts';
import { attachmentTables } from './attachments.ts';
import { backendTables } from './backends.ts';
import { bridgedServiceTables } from './bridged-services.ts';
import { connectTables } from './connects.ts';
import { defaultAccessTables } from './default-access.ts';
import { dnsForwardingTables } from './dns-forwarding.ts';
import { hostPortTables } from './host-ports.ts';
import { hostRouteTables } from './host-routes.ts';
import { multicastTables } from './multicast.ts';
import { nameTables } from './network-names.ts';
import { namedPortTables } from './named-ports.ts';
import { firewallTables } from './egress-firewalls.ts';
import { egressLeaseTables } from './egress-lease.ts';
import { egressIpTables } from './egress-ips.ts';
import { egressClassTables } from './egress-classes.ts';
import { egressServiceTables } from './egress-services.ts';
import { externalRouteTables } from './external-routes.ts';
import { groupTables } from './namespace-groups.ts';
import { namespaceTables } from './namespaces.ts';
import { networkTables } from './networks.ts';
import { nodeTables } from './nodes.ts';
import { selectionTables } from './pod-selections.ts';
import { qosCostTables } from './qos-costs.ts';
import { qosTables } from './qos.ts';
import { qosTieTables } from './qos-ties.ts';
import { podTables } from './pods.ts';
import { policedPortTables } from './policed-ports.ts';
import { outlivingPolicies } from './outliving-policies.ts';
import { policyTables } from './policies.ts';
import { ProblemList, type ModelProblem } from './problems.ts';
import { reachTables } from './reach.ts';
import { renderedTables, type RenderingOptions } from './rendered-networks.ts';
import { poolTables } from './service-pools.ts';
import { serviceTables } from './services.ts';

/** Tables by subject, each after those that its keys and functions come from. */
function tablesOf(nodeName: string, settings: ClusterSettings, options: RenderingOptions) {
  const recorder = new ReadRecorder();
  const basis = { nodeName, settings, recorder, graph: new DerivationGraph(recorder) };
  const objects = {
    ...basis,
    ...nodeTables(basis),
    ...hostRouteTables(basis),
    ...egressLeaseTables(basis),
    ...namespaceTables(basis),
    ...podTables(basis),
  };
  const networks = { ...objects, ...networkTables(objects) };
  const connects = { ...networks, ...connectTables(networks) };
  const reach = { ...connects, ...reachTables(connects), ...attachmentTables(networks) };
  const pools = { ...reach, ...poolTables(reach) };
  const services = { ...pools, ...serviceTables(pools), ...egressIpTables(reach) };
  const egress = { ...services, ...egressServiceTables(services), ...defaultAccessTables(reach) };
  const classes = { ...egress, ...egressClassTables(egress) };
  const routed = { ...classes, ...externalRouteTables(classes) };
  const placed = { ...routed, ...hostPortTables(routed) };
  const rendered = { ...placed, ...renderedTables(placed, options) };
  const backed = { ...rendered, ...groupTables(rendered), ...backendTables(rendered) };
  const groups = { ...backed, ...bridgedServiceTables(backed) };
  const ofPolicies = { ...groups, ...policyTables(groups), ...multicastTables(groups) };
  const policies = { ...ofPolicies, ...outlivingPolicies(ofPolicies) };
  const firewalls = { ...policies, ...firewallTables(policies), ...qosTables(policies) };
  const admins = { ...firewalls, ...adminTables(firewalls) };
  const names = { ...admins, ...nameTables(admins) };
  const forwarding = { ...names, ...dnsForwardingTables(names) };
  const selections = {
    ...forwarding,
    ...selectionTables(forwarding),
    ...policedPortTables(forwarding),
  };
  return {
    ...selections,
    ...namedPortTables(selections),
    ...qosCostTables(selections),
    ...qosTieTables(selections),
  };
}

export interface ZoneFacts extends ReturnType<typeof zoneFacts> {}

export function zoneFacts(
  nodeName: string,
  settings: ClusterSettings,
  options: RenderingOptions = {},
) {
  const tables = tablesOf(nodeName, settings, options);
  const { usage, otherPods, graph } = tables;
  const problems = new ProblemList();
  /**
   * Objects, `Kind namespace/name`, of which nothing is known as they could not be read since the start, each with others whose rows may be there
   * for it.
   */
  const unreadable = new Map<string, readonly string[]>();
  let round = 0;
  return {
    ...tables,
    problems,
    unreadable,

    /**
     * Brings everything that follows from objects up to date, `now` in milliseconds of any clock that runs forward. Before
     * this node is known no network has rows. Networks that come into use wait unless `mayEnter`.
     */
    refresh(now: number, mayEnter = true): void {
      round += 1;
      otherPods.expire(now);
      usage.begin(now, mayEnter);
      tables.settlePolicies(now);
      graph.refresh();
    },

    /**
     * Grows with each refresh: what is read in one round came at the same time. Pods of other nodes that were there when they were
     * asked for came with those of the start.
     */
    roundFor: (isOwn: boolean): number => (isOwn || otherPods.peekKnown() === true ? round : 0),

    /** When facts change by themselves, on the clock of `refresh`. */
    get nextExpiry(): number | undefined {
      const ends = [usage.nextExpiry, otherPods.nextExpiry].filter((end) => end !== undefined);
      return ends.length === 0 ? undefined : Math.min(...ends);
    },

    /** Objects that are wrong, and why; what reads as a value is elsewhere. */
    *modelProblems(): Iterable<ModelProblem> {
      yield* problems.problems();
      yield* tables.nodeProblems();
      yield* tables.networkProblems();
      yield* tables.nameProblems();
      yield* tables.accessProblems();
      yield* tables.poolProblems();
      yield* tables.serviceProblems();
      yield* tables.attachmentProblems();
      yield* tables.hostPortProblems();
      yield* tables.externalRouteProblems();
      yield* tables.egressProblems();
      yield* tables.egressClassProblems();
      yield* tables.egressServiceProblems();
      yield* tables.qosProblems();
    },

    /** Objects that wait for an allocation, and which. */
    modelPending: (): Iterable<ModelProblem> => problems.pending(),
  };
}
