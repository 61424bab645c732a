/**
 * What differs between wanted and found flows of a bridge, and the smallest change that ends it. Pure. What has a cookie of ours and nobody
 * wants goes; a flow of somebody else is never changed: an equal one will do, another one with the same match is a problem.
 */
import {
  flowKey,
  LOCAL,
  matchText,
  portsIn,
  UPLINK_PORT,
  vlanOfHost,
  withNumbers,
  type FlowColumns,
  type OpenFlowRow,
} from './flow-rows.ts';
import { COOKIE, COOKIE_PATH_MTU, isMarkedCookie, NO_COOKIE } from './pipeline.ts';
import type { Wanted } from '../reconcile/claims.ts';
import {
  problemOf,
  wantedBy,
  wantedByNobody,
  type Difference,
  type HostProblem,
  type PlannedChange,
} from '../reconcile/host-plan.ts';
import { numberedFlow } from './numbered-flow.ts';

export interface FoundFlow extends Omit<FlowColumns, 'bridge'> {
  /** It has timeouts or flags, which no flow of ours has. */
  readonly isSpecial: boolean;
}

/** A bridge as it was found. */
export interface FoundBridge {
  /** By key. */
  readonly flows: ReadonlyMap<string, FoundFlow>;
  /** Numbers of ports that are not flooded. */
  readonly noFlood: ReadonlySet<string>;
  /** Number of a port by its name, as it stands in flows. */
  readonly numberOf: (name: string) => string | undefined;
  /** What of others is taken over: it is ours to change and to remove. */
  readonly isTakenOver?: (flow: FoundFlow) => boolean;
}

export interface FlowChange extends PlannedChange {
  readonly bridge: string;
  readonly priority: number;
  /** It is there to drop packets. */
  readonly isDrop: boolean;
  /** Line of a bundle, or the number of the port that is not to be flooded. */
  readonly command: string;
}

/** Cookies by which a flow is ours, and their masks. */
export const OUR_COOKIES: readonly string[] = [`${COOKIE}/0xffffffff`, `${COOKIE_PATH_MTU}/-1`];
const hasCookieOfOurs = ({ cookie }: Pick<FlowColumns, 'cookie'>): boolean =>
  cookie === COOKIE || cookie === COOKIE_PATH_MTU || isMarkedCookie(cookie);

const DEFAULT_PRIORITY = 32_768;
const ATTRIBUTE = /^(cookie|table|priority)=(.*)$/;

/** A line of `ovs-ofctl --no-stats dump-flows`; undefined for one that is none. */
export function parseFlow(line: string): FoundFlow | undefined {
  const at = line.indexOf('actions=');
  if (at < 0) return undefined;
  const found = { cookie: NO_COOKIE, table: '0', priority: String(DEFAULT_PRIORITY) };
  const fields: string[] = [];
  let isSpecial = false;
  for (const word of line
    .slice(0, at)
    .trim()
    .split(/,\s*|\s+/)) {
    const [, name, value = ''] = ATTRIBUTE.exec(word) ?? [];
    if (name === 'cookie' || name === 'table' || name === 'priority') found[name] = value;
    else if (
      /^(idle_timeout|hard_timeout|importance)=|^(send_flow_rem|check_overlap|reset_counts|no_packet_counts|no_byte_counts)$/.test(
        word,
      )
    )
      isSpecial = true;
    else if (word !== '') fields.push(word);
  }
  return {
    cookie: found.cookie,
    table: Number(found.table),
    priority: Number(found.priority),
    match: matchText(fields),
    actions: line.slice(at + 'actions='.length).trim(),
    isSpecial,
  };
}

const PORT = /^ (\d+|LOCAL)\(.*\): addr:/;

/** Numbers of the ports that `ovs-ofctl dump-ports-desc` says nothing is flooded to. */
export function unfloodedPorts(text: string): ReadonlySet<string> {
  const found = new Set<string>();
  let port: string | undefined;
  for (const line of text.split('\n')) {
    port = PORT.exec(line)?.[1] ?? port;
    if (port !== undefined && /^\s+config:.*\bNO_FLOOD\b/.test(line)) found.add(port);
  }
  return found;
}

const flowText = ({ table, priority, match, actions }: Omit<FlowColumns, 'bridge'>): string =>
  `${flowKey({ table, priority, match, actions, cookie: '' })} actions=${actions}`;

/** Line of a bundle that writes a flow, whatever was in its place. */
export const addLine = (flow: Omit<FlowColumns, 'bridge'>): string => {
  const { table, priority, cookie, match, actions } = flow;
  return `add ${[`table=${table}`, `priority=${priority}`, `cookie=${cookie}`, match].filter((word) => word !== '').join(',')},actions=${actions}`;
};

/**
 * All of a cookie but its highest bit. Where all of it counts Open vSwitch looks for the flow among all of that cookie, one by one: of 16,000 flows a
 * thousand took 6 s to delete, and 0.3 s so.
 */
const COOKIE_MASK = '0x7fffffffffffffff';

/** Deletes a flow of this cookie alone. */
const deleteLine = (flow: FoundFlow): string =>
  `delete_strict cookie=${flow.cookie}/${COOKIE_MASK},${flowKey(flow)}`;

const isDrop = ({ actions }: Pick<FlowColumns, 'actions'>): boolean => actions === 'drop';

/** What is to be done on one bridge. */
export function planFlows(
  bridge: string,
  found: FoundBridge,
  wanted: Iterable<Wanted<OpenFlowRow>>,
): Difference<FlowChange> {
  const changes: FlowChange[] = [];
  const problems: HostProblem[] = [];
  const kept = new Set<string>();
  const missing = new Map<string, Wanted>();
  const isOurs = (flow: FoundFlow): boolean =>
    hasCookieOfOurs(flow) || found.isTakenOver?.(flow) === true;
  for (const one of wanted) {
    const { row } = one;
    const common = { ...wantedBy(one), bridge };
    if (row.table === 'port') {
      const { port } = row.columns;
      const number = withNumbers(port, found.numberOf);
      if (number === undefined) noteMissing(missing, port, one);
      else if (!found.noFlood.has(number))
        changes.push({
          ...common,
          action: 'change',
          before: 'flooded',
          after: 'not flooded',
          priority: 0,
          isDrop: false,
          command: number,
        });
      continue;
    }
    const { columns } = row;
    const numbered = numberedFlow(columns, found.numberOf);
    if (numbered === undefined) {
      noteMissing(missing, columns.match + columns.actions, one, found.numberOf);
      continue;
    }
    const { key, flow } = numbered;
    const there = found.flows.get(key);
    kept.add(key);
    if (there !== undefined && isSame(there, flow, isOurs(there))) continue;
    if (there !== undefined && !isOurs(there)) {
      const text = `bridge ${bridge} has a flow of somebody else (cookie ${there.cookie}): ${flowText(there)}; wanted is actions=${flow.actions}; delete it (ovs-ofctl --strict del-flows)`;
      problems.push(problemOf('held-by-other', common, text));
      continue;
    }
    changes.push({
      ...common,
      action: there === undefined ? 'add' : 'change',
      before: there && flowText(there),
      after: flowText(flow),
      priority: flow.priority,
      isDrop: isDrop(flow),
      command: addLine(flow),
    });
  }
  for (const [key, flow] of found.flows) {
    if (kept.has(key) || !isOurs(flow)) continue;
    changes.push({
      ...wantedByNobody(),
      bridge,
      table: 'flow',
      key: `${bridge} ${key}`,
      before: flowText(flow),
      priority: flow.priority,
      isDrop: isDrop(flow),
      ...(isMarkedCookie(flow.cookie) ? { marks: [flow.cookie] } : {}),
      command: deleteLine(flow),
    });
  }
  for (const [name, one] of missing) {
    const port = { ...wantedBy(one), table: 'port', key: `${bridge} ${name}` };
    problems.push(problemOf('awaited', port, missingText(bridge, name)));
  }
  return { changes, problems };
}

function missingText(bridge: string, name: string): string {
  const vlan = vlanOfHost(name);
  if (vlan !== undefined)
    return `the gateway has VLAN ${vlan}, and the port ${bridge} of bridge ${bridge}, which is the host's, is not in it, so that the host does not hear who asks for it: ovs-vsctl set Port ${bridge} tag=${vlan} vlan_mode=native-untagged`;
  return name === UPLINK_PORT
    ? `bridge ${bridge} has no uplink yet: add a port of the network card to it, or name one in external_ids:bridge-uplink`
    : `port ${name} of bridge ${bridge} is not there yet: ovn-controller makes it when ovn-bridge-mappings of the node has physnet:${bridge}`;
}

/** An unmanaged flow (cookie 0) may have any cookie; one of ours has its own. */
const isSame = (there: FoundFlow, wanted: Omit<FlowColumns, 'bridge'>, isOurs: boolean): boolean =>
  there.actions === wanted.actions &&
  !there.isSpecial &&
  (there.cookie === wanted.cookie || !isOurs || !hasCookieOfOurs(wanted));

function noteMissing(
  missing: Map<string, Wanted>,
  text: string,
  one: Wanted,
  numberOf: (name: string) => string | undefined = () => undefined,
): void {
  for (const name of portsIn(text))
    if (name !== LOCAL && numberOf(name) === undefined && !missing.has(name))
      missing.set(name, one);
}
