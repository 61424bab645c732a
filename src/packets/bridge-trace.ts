/**
 * What `ofproto/trace` (ovs-vswitchd(8)) prints, as values: the flows that a packet meets on the bridges of a node, and the ports by which it leaves them. Pure;
 * numbers of ports are those of OpenFlow.
 */

/** A flow that the packet meets, or a table that has none for it. */
export interface BridgeStep {
  readonly kind: 'flow' | 'miss';
  readonly bridge: string;
  readonly table: number;
  /** Fields, in the words of `ovs-ofctl dump-flows`; '' for all packets. */
  readonly match: string;
  readonly priority: number;
  /** `0x0` for none. */
  readonly cookie: string;
  readonly actions: readonly string[];
}

/** `port`: a number, `LOCAL`, or `NORMAL` where the bridge forwards as a switch does. */
export interface BridgeOutput {
  readonly kind: 'output';
  readonly bridge: string;
  readonly port: string;
  readonly by: BridgeStep;
}

/** Addresses that connection tracking gave it. */
interface BridgeTranslation {
  readonly kind: 'translation';
  readonly from: string;
  readonly to: string;
}

export type BridgeEvent = BridgeStep | BridgeOutput | BridgeTranslation;

/** Open vSwitch printed something that is no trace. */
export class BridgeTraceError extends Error {
  readonly code = 'BRIDGE_TRACE_UNREADABLE';
}

const TABLE_WIDTH = 2;
const BRIDGE = /^(\s*)bridge\("([^"]+)"\)/;
const FLOW = /^\s*(\d+)\. (?:(.*), )?priority (\d+)(?:, cookie (0x[0-9a-f]+))?$/;
const MISS = /^\s*(\d+)\. No match\.$/;
const OUTPUT = /^(\s+)(?:output:)?(\d+|LOCAL|NORMAL|FLOOD|IN_PORT)$/;
const FORKED = /^(\s*)-> A clone of the packet is forked to recirculate/;
const RESUMED = /^recirc\(/;
/** Of IPv6 in brackets, unlike in flows. */
const TRANSLATED =
  /^ Modified flow: (?:nw|ipv6)_src=\[?([^\],]+)\]?,.*?(?:nw|ipv6)_dst=\[?([^\],]+)\]?(?:,|$)/;

/**
 * Events in the order in which they are printed. Of a packet that goes on after connection tracking Open vSwitch names the bridge by which it came, and not the
 * one whose flow sent it there: they go on in the order in which they were sent. Throws BridgeTraceError.
 */
export function readBridgeTrace(text: string): readonly BridgeEvent[] {
  const events: BridgeEvent[] = [];
  const forked: string[] = [];
  let resumed: string | undefined;
  let bridges: { readonly depth: number; readonly name: string }[] = [];
  /** Flows that others look up in the midst of their actions stand deeper. */
  let steps: { readonly depth: number; readonly step: BridgeStep; readonly actions: string[] }[] =
    [];
  const bridgeAt = (depth: number): string =>
    bridges.findLast((one) => one.depth < depth)?.name ?? '';
  for (const line of text.split('\n')) {
    if (RESUMED.test(line)) resumed = forked.shift();
    const [, indent, name] = BRIDGE.exec(line) ?? [];
    if (indent !== undefined && name !== undefined) {
      const depth = indent.length;
      bridges = [...bridges.filter((one) => one.depth < depth), { depth, name: resumed ?? name }];
      if (depth === 0) steps = [];
      resumed = undefined;
      continue;
    }
    const depth = line.length - line.trimStart().length;
    const [, from, to] = TRANSLATED.exec(line) ?? [];
    if (from !== undefined && to !== undefined) events.push({ kind: 'translation', from, to });
    const found = bridges.length === 0 ? undefined : stepOf(line, bridgeAt(depth + 1));
    if (found !== undefined) {
      // Numbers of tables are right-aligned.
      const at = line.indexOf('.') - TABLE_WIDTH;
      const actions: string[] = [];
      const step = { ...found, actions };
      steps = [...steps.filter((one) => one.depth < at), { depth: at, step, actions }];
      events.push(step);
      continue;
    }
    if (FORKED.test(line)) forked.push(bridgeAt(depth));
    const by = steps.findLast((one) => one.depth < depth);
    if (by === undefined || depth === 0) continue;
    if (!line.trimStart().startsWith('->')) by.actions.push(line.trim());
    const port = OUTPUT.exec(line)?.[2];
    if (port !== undefined)
      events.push({ kind: 'output', bridge: bridgeAt(depth), port, by: by.step });
  }
  if (events.length === 0)
    throw new BridgeTraceError(`ofproto/trace printed no trace: ${text.trim().slice(0, 200)}`);
  return events;
}

function stepOf(line: string, bridge: string): BridgeStep | undefined {
  const [, table, match = '', priority, cookie = '0x0'] = FLOW.exec(line) ?? [];
  const common = { bridge, actions: [] };
  if (table !== undefined)
    return {
      ...common,
      kind: 'flow',
      table: Number(table),
      match,
      priority: Number(priority),
      cookie,
    };
  const missed = MISS.exec(line)?.[1];
  return missed === undefined
    ? undefined
    : { ...common, kind: 'miss', table: Number(missed), match: '', priority: 0, cookie: '0x0' };
}
