/** What `heddle status`, `plan` and `diff` show, as plain data: made by the command itself, or by a daemon that it asks. */
import type { ZoneProblem } from '../api/zone-status.ts';
import type { ClusterSettings } from '../model/model.ts';
import { featureOf } from '../desired/engine.ts';
import type { Feature, Rule } from '../desired/features.ts';
import type { Plan } from '../desired/ovsdb/changes.ts';
import type { UnmarkedRow } from '../desired/ovsdb/reconciler.ts';
import { hostPlanToJson, renderHostPlan } from '../node/reconcile/host-plan-text.ts';
import { OPENFLOW } from '../node/openflow/flow-rows.ts';
import { LINUX } from '../node/linux/linux-rows.ts';
import { NFTABLES } from '../node/nftables/nft-rows.ts';
import { zoneFeatures } from '../topology/features.ts';
import { planToJson, renderPlan } from './plan-text.ts';
import { distinctProblems } from './distinct-problems.ts';
import type { HostController } from '../node/node-agent.ts';
import type { Complaint, OpenObjects } from '../settings/object-store.ts';
import type { OverviewTime } from './daemon-overview.ts';
import type { Store } from '../store/store.ts';
import { overviewOf, type Overview, type OverviewObjects } from './overview.ts';
import { readOverviewObjects } from './overview-objects.ts';

/** A problem, and where its object is written. */
interface PlacedProblem extends ZoneProblem {
  /** `FILE:LINE`. */
  readonly place?: string;
}

export interface StatusReport extends Overview {
  readonly manifests: readonly Complaint[];
  /** `FILE:LINE` by object, of those that are mentioned. */
  readonly places: Readonly<Record<string, string>>;
}

export interface PlanReport {
  readonly node: string;
  readonly databases: readonly unknown[];
  /** Rules that the changes follow, by feature and the rule's name: what a row is there for, and where that is written. */
  readonly rules: Readonly<Record<string, Readonly<Record<string, Rule>>>>;
  /** The same for people. */
  readonly texts: readonly { readonly database: string; readonly text: string }[];
  /** How many rows and objects of the host change for each network or connection; `` for what all share. */
  readonly networks: Readonly<Record<string, number>>;
  /** Rows of an ovn-kubernetes that no object asks for. */
  readonly left: readonly (UnmarkedRow & { readonly database: string })[];
  readonly hasChanges: boolean;
  /** True when a row can't be as it should. */
  readonly hasBlockedRows: boolean;
  readonly problems: readonly PlacedProblem[];
  readonly manifests: readonly Complaint[];
}

export interface PlanFormat {
  /** Columns of new rows too. */
  readonly details: boolean;
}

/** What became of networks and nodes, of what `lists`; `live` replaces what the store has of this daemon's own zone. */
export async function statusReport(
  store: OpenObjects,
  settings: ClusterSettings,
  time: Omit<OverviewTime, 'now'> = {},
  live: (objects: OverviewObjects) => OverviewObjects = (objects) => objects,
  lists: Store = store.objects,
): Promise<StatusReport> {
  const objects = live(await readOverviewObjects(lists));
  const overview = overviewOf(objects, settings, { now: Date.now(), ...time });
  const mentioned = [
    ...overview.problems.map(({ object }) => object),
    ...overview.networks.flatMap(({ object }) => object ?? []),
  ];
  const places = mentioned.flatMap((object) => {
    const place = store.placeOf(object);
    return place === undefined ? [] : [[object, place] as const];
  });
  return { ...overview, manifests: store.complaints(), places: Object.fromEntries(places) };
}

/** What has plans and problems: a zone at work. */
export interface PlannedZone {
  readonly configuration: { readonly node: string };
  readonly store: OpenObjects;
  readonly controller: {
    hostMayBeWanted(): Parameters<HostController['plans']>[0];
    plans(): readonly Plan[];
    left(): PlanReport['left'];
    subjectOf(unit: string): string | undefined;
  };
  /** Absent when the host is left alone. */
  readonly host?: { readonly controller: Pick<HostController, 'features' | 'plans'> } | undefined;
  /** What is still to be done until ovn-controller has its settings. */
  chassisSteps(): Promise<readonly string[]>;
  /** What is still to be done until the external bridge is in the place of its uplink. */
  uplinkSteps(): readonly string[];
  problems(): readonly ZoneProblem[];
}

/** Names of the parts of a plan that are about them. */
const CHASSIS = 'Chassis';
const EXTERNAL_BRIDGE = 'External bridge';

function rulesOf(
  changes: readonly { readonly unit: string; readonly rule: string | undefined }[],
  features: readonly Pick<Feature<never>, 'name' | 'rules'>[],
): PlanReport['rules'] {
  const named = new Map<string, Set<string>>();
  for (const { unit, rule } of changes) {
    if (rule === undefined) continue;
    const feature = featureOf(unit);
    const rules = named.get(feature);
    if (rules === undefined) named.set(feature, new Set([rule]));
    else rules.add(rule);
  }
  return Object.fromEntries(
    features
      .filter(({ name }) => named.has(name))
      .map(({ name, rules }) => [
        name,
        Object.fromEntries(
          Object.entries(rules).filter(([rule]) => named.get(name)?.has(rule) === true),
        ),
      ]),
  );
}

const changesByNetwork = (
  changes: readonly { readonly unit: string; readonly object?: string | undefined }[],
  subjectOf: (unit: string) => string | undefined,
): PlanReport['networks'] =>
  Object.fromEntries(
    [...Map.groupBy(changes, ({ unit, object }) => subjectOf(unit) ?? object ?? '')]
      .map(([network, group]) => [network, group.length] as const)
      .toSorted(([a], [b]) => (a < b ? -1 : 1)),
  );

/** Runs planning when nothing else plans or writes the same. */
type Turn = <T>(plan: () => Promise<T>) => Promise<T>;

const AT_ONCE: Readonly<Record<'databases' | 'host', Turn>> = {
  databases: (plan) => plan(),
  host: (plan) => plan(),
};

/** What would change. Databases and host are planned each in its turn: the host may take long to look at. */
export async function planReport(
  zone: PlannedZone,
  format: PlanFormat,
  turns = AT_ONCE,
): Promise<PlanReport> {
  const { store, controller, host } = zone;
  const ofZone = await turns.databases(() => Promise.resolve(controller.plans()));
  const ofHost =
    host && (await turns.host(() => host.controller.plans(controller.hostMayBeWanted())));
  const steps = [
    { database: CHASSIS, steps: await zone.chassisSteps() },
    { database: EXTERNAL_BRIDGE, steps: zone.uplinkSteps() },
  ].filter((part) => part.steps.length > 0);
  const plans = ofHost === undefined ? ofZone : [...ofZone, ofHost.openVswitch];
  const stacks =
    ofHost === undefined
      ? []
      : [
          { database: LINUX, plan: ofHost.linux },
          { database: NFTABLES, plan: ofHost.nft },
        ];
  const flows = ofHost === undefined ? [] : [ofHost.flows];
  const all = [...plans, ...stacks.map(({ plan }) => plan), ...flows];
  const problems = distinctProblems([...zone.problems()]);
  return {
    node: zone.configuration.node,
    databases: [
      ...plans.map(planToJson),
      ...stacks.map(({ database, plan }) => hostPlanToJson(database, plan)),
      ...flows.map((plan) => hostPlanToJson(OPENFLOW, plan)),
      ...steps,
    ],
    rules: rulesOf(
      all.flatMap(({ changes }) => [...changes]),
      [...zoneFeatures, ...(host?.controller.features ?? [])],
    ),
    texts: [
      ...plans.map((plan) => ({ database: plan.database, text: renderPlan(plan, format) })),
      ...stacks.map(({ database, plan }) => ({ database, text: renderHostPlan(plan) })),
      ...flows.map((plan) => ({ database: OPENFLOW, text: renderHostPlan(plan) })),
      ...steps.map((part) => ({ database: part.database, text: part.steps.join('\n') })),
    ],
    networks: changesByNetwork(
      all.flatMap(({ changes }) => [...changes]),
      (unit) => controller.subjectOf(unit),
    ),
    left: controller.left(),
    hasChanges: all.some(({ isEmpty }) => !isEmpty) || steps.length > 0,
    hasBlockedRows: all.some(({ problems: found }) => found.some(({ kind }) => kind !== 'awaited')),
    problems: problems.map((problem) => {
      const place = store.placeOf(problem.object);
      return place === undefined ? problem : { ...problem, place };
    }),
    manifests: store.complaints(),
  };
}
