/** The proof: what is read is checked part by part; what could not be read, or is not looked at, is named. */
import {
  checkGroupAllowances,
  checkHomeAllowances,
  checkLeg,
  checkLockedGroup,
} from './checks/access-lists.ts';
import { checkCut } from './checks/cut.ts';
import { checkExternalBridge } from './checks/external-bridge.ts';
import { checkHeaders } from './checks/headers.ts';
import { checkHostRouting } from './checks/host-routing.ts';
import { checkIntegrationBridge } from './checks/integration-bridge.ts';
import { checkLoadBalancer, hangingAt, noLoadBalancers } from './checks/load-balancers.ts';
import { checkNftables } from './checks/nftables.ts';
import { checkLockedLegs } from './checks/locked-legs.ts';
import { checkPoliced } from './checks/policed.ts';
import { checkDhcp, checkKeys } from './checks/ports.ts';
import { checkAddresses, checkQos, checkRouter } from './checks/routers.ts';
import { checkSouthbound } from './checks/southbound.ts';
import { edgesOf, Findings, type Edge, type Violation } from './findings.ts';
import { datapathsOf, networkOf, type Datapaths } from './intent/datapaths.ts';
import { intentOf, type Intent } from './intent/intent.ts';
import { servicesOf, type VerifiedServices } from './intent/services.ts';
import { nftTables } from './nft-table.ts';
import { ReadRows } from './northbound-rows.ts';
import { rulesOf } from './policies/rules.ts';
import { policedObjects } from './policies/selected-pods.ts';
import { rowsOf } from './rows.ts';
import type { Snapshot } from './snapshot.ts';

/** What no check looks at, for anybody who reads a verdict. */
const NOT_PROVED: readonly string[] = [
  'names that policies and EgressFirewalls allow or deny: who DNS says has them is not known here; of an EgressFirewall that its rows let pass or stop what they know a name by is proved',
  'other nodes: each node is proved by itself, with the objects that all share',
  'logical flows that ovn-northd makes of rows, beside changes of the datapath and what leaves by ports',
  'what is outside of the node: switches and routers of a physical network, and who sends with the address of a node',
  'flows, rules and programs of others on the host that neither name a network nor its marks, addresses and devices',
];

export interface Verdict {
  readonly node: string;
  readonly networks: readonly {
    readonly name: string;
    readonly id: number;
    readonly object: string;
  }[];
  readonly pairs: { readonly all: number; readonly apart: number; readonly connected: number };
  readonly violations: readonly Violation[];
  readonly edges: readonly Edge[];
  /** Rows and flows that were looked at. */
  readonly counts: Readonly<Record<string, number>>;
  readonly notes: readonly string[];
  readonly notProved: readonly string[];
  /** What could not be read: without it the verdict stays open. */
  readonly undecided: readonly string[];
}

/** A verdict, and what objects and rows were taken for on the way to it. */
export interface Proof {
  readonly verdict: Verdict;
  readonly intent: Intent;
  readonly datapaths: Datapaths;
  readonly services: VerifiedServices;
}

export function prove(snapshot: Snapshot): Proof {
  const findings = new Findings();
  const intent = intentOf(snapshot, findings);
  const datapaths = datapathsOf(snapshot.northbound, intent);
  const services = servicesOf(snapshot.objects, intent);
  const crossings = checkCut(intent, datapaths, findings);
  checkNorthbound(snapshot, intent, datapaths, services, findings);
  if (snapshot.policies !== undefined) {
    const rows = new ReadRows(snapshot.northbound);
    const at = {
      rows,
      datapaths,
      intent,
      services,
      objects: policedObjects(intent, snapshot.objects),
      rules: rulesOf(snapshot.policies),
      settings: snapshot.settings,
    };
    for (const network of intent.networks) Array.from(checkPoliced(network, at, findings));
    checkLockedLegs(rows, datapaths, intent, findings);
  }
  const { southbound, openVswitch, host } = snapshot;
  const bindings =
    southbound === undefined
      ? undefined
      : checkSouthbound(southbound, intent, datapaths, crossings, findings);
  if (bindings !== undefined && openVswitch !== undefined && host.integrationFlows !== undefined)
    checkIntegrationBridge(host.integrationFlows, openVswitch, bindings, intent, findings);
  const bridge = intent.here?.bridge;
  if (bridge !== undefined && openVswitch !== undefined && host.bridgeFlows !== undefined)
    checkExternalBridge(
      bridge,
      host.bridgeFlows,
      openVswitch,
      snapshot.settings,
      intent,
      services,
      findings,
    );
  checkHostRouting(host, intent, findings);
  if (host.nftables !== undefined)
    checkNftables(snapshot, nftTables(host.nftables), intent, services, findings);
  const here = new Set(
    datapaths.all.map((datapath) => networkOf(datapath)?.name).filter((name) => name !== undefined),
  );
  const verdict: Verdict = {
    node: snapshot.node,
    networks: intent.networks
      .filter(({ name }) => here.has(name))
      .map(({ name, id, object }) => ({ name, id, object })),
    pairs: pairsOf(intent, here, findings.violations),
    violations: findings.violations,
    edges: edgesOf([findings]),
    counts: countsOf(snapshot, here.size),
    notes: findings.notes,
    notProved: NOT_PROVED,
    undecided: [...snapshot.unread, ...findings.undecided],
  };
  return { verdict, intent, datapaths, services };
}

/** What rows of Northbound do beside the cut. */
function checkNorthbound(
  { northbound, settings }: Snapshot,
  intent: Intent,
  datapaths: Datapaths,
  services: VerifiedServices,
  findings: Findings,
): void {
  const rows = new ReadRows(northbound);
  checkKeys(intent, datapaths, findings);
  for (const datapath of datapaths.all) {
    for (const port of datapath.ports) {
      checkAddresses(port, datapath, settings, intent, findings);
      checkDhcp(port, datapath, rows, intent, findings);
      checkLeg(port, datapath, rows, intent, findings);
    }
    checkRouter(datapath, rows, settings, intent, datapaths, findings);
    noLoadBalancers(datapath, rows, findings);
    checkHomeAllowances(datapath, rows, intent, findings);
  }
  for (const row of rows.all('QoS')) checkQos(row, intent, findings);
  for (const network of intent.networks)
    for (const [uuid, at] of hangingAt(network.name, rows, datapaths))
      checkLoadBalancer(uuid, at, network, rows, settings, intent, services, findings);
  checkLockedGroup(rows, intent, findings);
  for (const group of rows.all('Port_Group'))
    checkGroupAllowances(group, rows, intent, datapaths, findings);
  for (const network of intent.networks)
    checkHeaders(network, rows, datapaths, intent, services, findings);
}

/** The proof with what others found: pairs follow. */
export function withFindings(
  proof: Proof,
  { violations, undecided, notProved }: Pick<Verdict, 'violations' | 'undecided' | 'notProved'>,
): Proof {
  const { verdict, intent } = proof;
  const all = [...verdict.violations, ...violations];
  const here = new Set(verdict.networks.map(({ name }) => name));
  return {
    ...proof,
    verdict: {
      ...verdict,
      violations: all,
      pairs: pairsOf(intent, here, all),
      undecided: [...verdict.undecided, ...undecided],
      notProved: [...verdict.notProved, ...notProved],
    },
  };
}

/** Pairs of networks that have rows here; those that an object joins, and those that a violation names, are not apart. */
function pairsOf(
  intent: Intent,
  here: ReadonlySet<string>,
  violations: readonly Violation[],
): Verdict['pairs'] {
  const all = (here.size * (here.size - 1)) / 2;
  let joined = 0;
  for (const name of here)
    for (const other of intent.neighbours(name).keys())
      if (here.has(other) && name < other) joined += 1;
  const violated = new Set<string>();
  for (const { networks } of violations)
    for (const [index, a] of networks.entries())
      for (const b of networks.slice(index + 1))
        if (intent.joinedBy(a, b) === undefined && here.has(a) && here.has(b))
          violated.add([a, b].toSorted().join(' '));
  return { all, connected: joined, apart: all - joined - violated.size };
}

function countsOf(
  { northbound, southbound, openVswitch, host, objects, policies }: Snapshot,
  networks: number,
): Verdict['counts'] {
  const total = (tables: Snapshot['southbound']): number =>
    [...(tables?.keys() ?? [])].reduce(
      (sum, table) => sum + rowsOf(tables ?? new Map(), table).length,
      0,
    );
  return {
    networks,
    pods: objects.pods.length,
    policies: (policies?.namespaced.length ?? 0) + (policies?.admins.length ?? 0),
    firewalls: policies?.firewalls.length ?? 0,
    northbound: total(northbound),
    southbound: total(southbound),
    openVswitch: total(openVswitch),
    integrationFlows: host.integrationFlows?.length ?? 0,
    bridgeFlows: host.bridgeFlows?.length ?? 0,
    routes: host.routes?.length ?? 0,
    rules: host.rules?.length ?? 0,
    nftables: host.nftables?.length ?? 0,
  };
}
