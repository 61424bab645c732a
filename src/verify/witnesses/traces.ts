/** What `ovn-trace` (ovn-trace(8)) and `ofproto/trace` (ovs-vswitchd(8)) are asked, and what their answers say of where a packet went. */
import { familyOf } from '../../allocators/addresses.ts';
import { TTL, type Witness } from './choice.ts';

/** Where a packet came out, with the line that sent it there. */
export interface Output {
  /** Logical port; of Open vSwitch the bridge and the number of its port. */
  readonly port: string;
  readonly bridge?: string;
  /** Of Open vSwitch: key of the tunnel that was set before. */
  readonly tunnelKey?: number;
  readonly line: string;
}

export interface Trace {
  readonly outputs: readonly Output[];
  /** Names of the switches and routers that it came by; of `ofproto/trace` none. */
  readonly datapaths: readonly string[];
  /** The last flow that it met: what decided when nothing came out. */
  readonly last: string;
}

/** The packet as an expression of ovn-trace, one condition for each field. */
export function microflowOf(witness: Witness): string {
  const ip = familyOf(witness.toAddress) === 'v4' ? 'ip4' : 'ip6';
  return [
    `inport == "${witness.port}"`,
    `eth.src == ${witness.mac}`,
    `eth.dst == ${witness.toMac}`,
    `${ip}.src == ${witness.address}`,
    `${ip}.dst == ${witness.toAddress}`,
    `ip.ttl == ${TTL}`,
    'tcp',
    `tcp.src == ${witness.fromPort}`,
    `tcp.dst == ${witness.toPort}`,
  ].join(' && ');
}

/** The same as a flow of Open vSwitch that comes by a port of br-int. */
export function flowOf(witness: Witness, port: number): string {
  const isV4 = familyOf(witness.toAddress) === 'v4';
  const [kind, source, target] = isV4
    ? ['tcp', 'nw_src', 'nw_dst']
    : ['tcp6', 'ipv6_src', 'ipv6_dst'];
  return [
    kind,
    `in_port=${port}`,
    `dl_src=${witness.mac}`,
    `dl_dst=${witness.toMac}`,
    `${source}=${witness.address}`,
    `${target}=${witness.toAddress}`,
    `nw_ttl=${TTL}`,
    `tp_src=${witness.fromPort}`,
    `tp_dst=${witness.toPort}`,
  ].join(',');
}

const LOGICAL_FLOW = /^\s*\d+\. \w+.*, priority \d+, uuid [0-9a-f]+/;
const LOGICAL_OUTPUT = /\/\* output to "([^"]*)"/;
const DATAPATH = /^\s*(?:ingress|egress)\(dp="([^"]*)"/;

/** A full answer of `ovn-trace`. */
export function readOvnTrace(text: string): Trace {
  const outputs: Output[] = [];
  const datapaths = new Set<string>();
  let last = '';
  for (const line of text.split('\n')) {
    const datapath = DATAPATH.exec(line)?.[1];
    if (datapath !== undefined) datapaths.add(datapath);
    if (LOGICAL_FLOW.test(line)) last = line.trim();
    const port = LOGICAL_OUTPUT.exec(line)?.[1];
    if (port !== undefined) outputs.push({ port, line: last });
  }
  return { outputs, datapaths: [...datapaths], last };
}

const BRIDGE = /^(\s*)bridge\("([^"]+)"\)/;
const FLOW = /^\s*\d+\. .*priority \d+/;
const PORT_OUTPUT = /^(\s+)output:(\d+|[A-Z]+)\s*$/;
const TUNNEL_KEY =
  /(?:set_field:(0x[0-9a-f]+|\d+)(?:\/0x[0-9a-f]+)?->tun_id|load:(0x[0-9a-f]+|\d+)->NXM_NX_TUN_ID\[)/;

const FORKED = /^(\s*)-> A clone of the packet is forked to recirculate/;
const RESUMED = /^recirc\(/;

/**
 * An answer of `ofproto/trace`. A bridge that a packet goes on in by a patch port stands as deep or deeper. Of one that goes on after connection tracking the
 * bridge by which it came is named, and not the one whose flow sent it there: they go on in the order in which they were sent.
 */
export function readDatapathTrace(text: string): Trace {
  const outputs: Output[] = [];
  const forked: string[] = [];
  let resumed: string | undefined;
  let bridges: { readonly depth: number; readonly name: string }[] = [];
  let last = '';
  let tunnelKey: number | undefined;
  const bridgeAt = (depth: number): string =>
    bridges.findLast((one) => one.depth < depth)?.name ?? '';
  for (const line of text.split('\n')) {
    if (RESUMED.test(line)) resumed = forked.shift();
    const [, indent, name] = BRIDGE.exec(line) ?? [];
    if (indent !== undefined && name !== undefined) {
      const depth = indent.length;
      bridges = [...bridges.filter((one) => one.depth < depth), { depth, name: resumed ?? name }];
      resumed = undefined;
      continue;
    }
    const fork = FORKED.exec(line)?.[1];
    if (fork !== undefined) forked.push(bridgeAt(fork.length));
    if (FLOW.test(line)) last = line.trim();
    const [, loaded, set] = TUNNEL_KEY.exec(line) ?? [];
    if (loaded !== undefined || set !== undefined) tunnelKey = Number(loaded ?? set);
    const [, depth, port] = PORT_OUTPUT.exec(line) ?? [];
    if (depth === undefined || port === undefined) continue;
    const key = tunnelKey === undefined ? {} : { tunnelKey };
    outputs.push({ port, bridge: bridgeAt(depth.length), line: last, ...key });
  }
  return { outputs, datapaths: [], last };
}
