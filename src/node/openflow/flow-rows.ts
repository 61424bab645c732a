/**
 * OpenFlow state of a bridge as rows, so that the one engine keeps flows too. Ports stand in flows by their names, as `{name}`: a number is
 * looked up when a flow is written, and no name ever becomes part of a match.
 */
import type { Sink } from '../../desired/features.ts';
import type { RowOf } from '../reconcile/claims.ts';
import { cookieOf, type FlowPlace } from './pipeline.ts';

/** Name of the "database" whose tables are the bridges'. */
export const OPENFLOW = 'OpenFlow';

export interface FlowColumns {
  readonly bridge: string;
  readonly table: number;
  readonly priority: number;
  /** Lower-case hexadecimal with `0x`; `0x0` for an unmanaged flow: put there when it is missing, and never removed. */
  readonly cookie: string;
  /** Fields in the order of their names, in the words of `ovs-ofctl dump-flows`. */
  readonly match: string;
  readonly actions: string;
}

/** A port to which nothing is flooded. */
export interface PortColumns {
  readonly bridge: string;
  readonly port: string;
}

/** `flow`: a flow. `port`: what a port is not to do. */
export type OpenFlowRow = RowOf<{ readonly flow: FlowColumns; readonly port: PortColumns }>;

/** The port of the host itself. */
export const LOCAL = 'LOCAL';
/** The port by which the bridge reaches the network outside, whatever its name is. */
export const UPLINK_PORT = ':uplink';
const HOST_IN_VLAN = ':host-in-vlan-';
/** The port of the host itself, where the bridge takes frames without a tag for frames of this VLAN. */
export const hostInVlan = (vlan: number): string => `${HOST_IN_VLAN}${vlan}`;
/** VLAN in such a name. */
export const vlanOfHost = (port: string): string | undefined =>
  port.startsWith(HOST_IN_VLAN) ? port.slice(HOST_IN_VLAN.length) : undefined;
/** In the place of a port's name: the mark with which the host's packets go into OVN, which follows from the bridge's datapath. */
export const MARK_OF_HOST = ':mark-of-host';
/** How a port of one of these names stands in a flow. */
export const portInFlow = (name: string): string => `{${name}}`;
export const UPLINK = portInFlow(UPLINK_PORT);

/** Names of ports that can stand in a flow: those of ovn-controller and of network cards. */
const PORT_NAME = /^[\w.@-]+$/;

/** How a port stands in a flow. Throws for a name that could be read as anything else. */
export function portNamed(name: string): string {
  if (!PORT_NAME.test(name)) throw new Error(`${JSON.stringify(name)} can't be the name of a port`);
  return portInFlow(name);
}

const PORTS = /\{([^{}]*)\}/g;

/** The flow's text with numbers for names; undefined where a port is not known. */
export function withNumbers(
  text: string,
  numberOf: (name: string) => string | undefined,
): string | undefined {
  let isKnown = true;
  const numbered = text.replaceAll(PORTS, (_, name: string) => {
    const number = numberOf(name);
    isKnown &&= number !== undefined;
    return number ?? '';
  });
  return isKnown ? numbered : undefined;
}

/** Names of the ports that a text names. */
export const portsIn = (text: string): readonly string[] =>
  [...text.matchAll(PORTS)].map(([, name = '']) => name);

/** Fields of a match in one order: Open vSwitch prints them in one of its own. */
export const matchText = (fields: readonly string[]): string => fields.toSorted().join(',');

/** What tells a flow from all others of a bridge (OpenFlow 1.3 §5.2). */
export const flowKey = ({ table, priority, match }: Omit<FlowColumns, 'bridge'>): string =>
  [`table=${table}`, `priority=${priority}`, ...(match === '' ? [] : [match])].join(',');

/** Flows of one bridge for one object, as one rule wants them. */
export class FlowRows {
  readonly #out: Sink;
  readonly #bridge: string;
  readonly #object: string;
  readonly #rule: string;

  constructor(out: Sink, bridge: string, object: string, rule = '') {
    this.#out = out;
    this.#bridge = bridge;
    this.#object = object;
    this.#rule = rule;
  }

  /** What follows a rule of the feature. */
  by(rule: string): FlowRows {
    return new FlowRows(this.#out, this.#bridge, this.#object, rule);
  }

  flow(
    { table, priority }: FlowPlace,
    fields: readonly string[],
    actions: readonly string[],
    cookie: string = cookieOf(this.#object),
  ): void {
    const columns: FlowColumns = {
      bridge: this.#bridge,
      table,
      priority,
      cookie,
      match: matchText(fields),
      actions: actions.join(','),
    };
    this.#row('flow', flowKey(columns), columns);
  }

  /** Nothing is flooded to the port, which stands as in flows. */
  noFlood(port: string): void {
    const columns: PortColumns = { bridge: this.#bridge, port };
    this.#row('port', port, columns);
  }

  #row(table: OpenFlowRow['table'], key: string, columns: FlowColumns | PortColumns): void {
    this.#out.row({
      database: OPENFLOW,
      table,
      key: `${this.#bridge} ${key}`,
      columns: { ...columns },
      containers: [],
      rule: this.#rule,
      object: this.#object,
    });
  }
}
