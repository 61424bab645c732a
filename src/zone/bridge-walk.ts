/** Follows a packet over the bridges of this node as their flows are: whether br-int does what Southbound says, and what the bridges beside it make of it. */
import { mapIn, textIn, type LookedUpRow } from '../databases/row-lookup.ts';
import { OPEN_VSWITCH } from '../node/host-rows.ts';
import { kernelRoute, type RoutedPacket } from '../node/linux/route-lookup.ts';
import { INTEGRATION_BRIDGE } from '../node/names.ts';
import { LOCAL } from '../node/openflow/flow-rows.ts';
import { NO_COOKIE } from '../node/openflow/pipeline.ts';
import { UnixctlError, type Unixctl } from '../node/programs/unixctl.ts';
import {
  BridgeTraceError,
  readBridgeTrace,
  type BridgeEvent,
  type BridgeOutput,
  type BridgeStep,
} from '../packets/bridge-trace.ts';
import { connectionIn, markIn, sourceIn } from '../packets/bridge-actions.ts';
import { bridgeFlow, type Packet } from '../packets/microflow.ts';
import {
  legEndText,
  type Decided,
  type Hop,
  type Leg,
  type Wire,
} from '../packets/packet-report.ts';
import { isPatch, nameOf, portsOf } from './bridge-ports.ts';
import { originOfFlow } from './explained.ts';
import type { Origins, OriginSource } from './origins.ts';

export interface BridgeSource extends OriginSource {
  readonly host:
    | (NonNullable<OriginSource['host']> & {
        readonly vswitchd: Pick<Unixctl, 'run'>;
        /** Path of the network namespace that is the host's. */
        readonly namespace: string | undefined;
      })
    | undefined;
}

/** An answer of connection tracking for each time that the packet is looked up; a packet comes by a handful of them. */
const MOST_LOOKS = 32;
const ANSWER = Array.from({ length: MOST_LOOKS }, () => '--ct-next=trk,est,rpl');

/** The number of a bridge's own port (OpenFlow 1.0, OFPP_LOCAL), as ofproto/trace takes it. */
const LOCAL_PORT = 65_534;

/** Of whoever answers from outside: no flow looks at it. */
const NEXT_HOP = '02:00:00:00:00:01';

/** What a packet meets on one bridge. */
interface BridgeTrace {
  readonly steps: readonly BridgeStep[];
  readonly outputs: readonly BridgeOutput[];
}

/** Where a packet goes that the kernel has sent back to a bridge: to the patch port of a network, or to its end. */
export type PassedOn = { readonly bridge: string; readonly hops: readonly Hop[] } & (
  | { readonly to: { readonly port: string; readonly number: number }; readonly end?: undefined }
  | { readonly to?: undefined; readonly end: Leg['end'] }
);

export class BridgeWalk {
  readonly #source: BridgeSource;
  readonly #origins: Origins;
  readonly #signal: AbortSignal;
  readonly #notes = new Set<string>();
  #ports: Promise<ReadonlyMap<string, LookedUpRow>> | undefined;
  /** By which port of the bridge, and with which MAC address, something left. */
  readonly #leaving = new Map<Wire, { readonly mac: string; readonly port: number }>();

  constructor(source: BridgeSource, origins: Origins, signal: AbortSignal) {
    this.#source = source;
    this.#origins = origins;
    this.#signal = signal;
  }

  /** What could not be looked at. */
  get notes(): readonly string[] {
    return [...this.#notes];
  }

  /** The way that Southbound says, as the bridges go it: of a packet that begins at a port of this node. */
  async followed(leg: Leg, packet: Packet): Promise<Leg> {
    const { host } = this.#source;
    const ovs = this.#origins.lookup(OPEN_VSWITCH);
    if (host === undefined || ovs === undefined || leg.end.kind === 'unknown') return leg;
    if (leg.end.kind === 'stopped') return leg;
    this.#ports ??= portsOf(ovs);
    const ports = await this.#ports;
    const [number] = [...ports].flatMap(([place, row]) =>
      place.startsWith(`${INTEGRATION_BRIDGE} `) &&
      mapIn(row, 'external_ids')['iface-id'] === packet.inport
        ? [Number(row.columns['ofport'])]
        : [],
    );
    if (number === undefined || number < 1) {
      const why = `no interface of ${INTEGRATION_BRIDGE} has iface-id ${packet.inport}: the pod is not plugged in, or its interface was deleted`;
      return { ...leg, end: { kind: 'unknown', why } };
    }
    try {
      const state = leg.direction === 'back' ? ANSWER : [];
      const flow = bridgeFlow(packet, number);
      const text = await host.vswitchd.run(
        'ofproto/trace',
        [INTEGRATION_BRIDGE, ...state, flow],
        this.#signal,
      );
      return await this.#asBridgesGo(leg, readBridgeTrace(text), ports);
    } catch (error) {
      this.#noteUnseen(error);
      return leg;
    }
  }

  async #asBridgesGo(
    leg: Leg,
    events: readonly BridgeEvent[],
    ports: ReadonlyMap<string, LookedUpRow>,
  ): Promise<Leg> {
    const outputs = events.filter(
      (event): event is BridgeOutput =>
        event.kind === 'output' && !isPatch(ports.get(`${event.bridge} ${event.port}`)),
    );
    const steps = events.filter((event): event is BridgeStep => event.kind === 'flow');
    const beyond = steps.filter(({ bridge }) => bridge !== INTEGRATION_BRIDGE);
    const [first] = beyond;
    const hop = first === undefined ? undefined : await this.#hop(first, beyond, outputs, ports);
    const hops = hop === undefined ? leg.hops : [...leg.hops, hop];
    const [out] =
      leg.end.kind === 'outside' && first !== undefined
        ? outputs.filter(({ bridge }) => bridge !== INTEGRATION_BRIDGE)
        : outputs;
    const last = steps.at(-1);
    const open = out === undefined && last !== undefined ? whyOpen(last) : undefined;
    if (open !== undefined) {
      this.#notes.add(open);
      return leg;
    }
    if (out === undefined) return { ...leg, hops, end: await this.#stopped(leg, beyond, steps) };
    const { from, to } = events.findLast((event) => event.kind === 'translation') ?? leg;
    const mark = markIn(steps);
    const kernel = { from, to, ...(mark === undefined ? {} : { mark }) };
    if (leg.end.kind === 'host') return { ...leg, end: this.#inKernel(leg.end, kernel) };
    if (leg.end.kind !== 'outside' || first === undefined) return leg;
    if (out.port === LOCAL) {
      const end = { kind: 'host', port: out.bridge, device: out.bridge } as const;
      return { ...leg, hops, end: this.#inKernel(end, kernel) };
    }
    const port = ports.get(`${out.bridge} ${out.port}`);
    const name = port === undefined ? {} : { port: textIn(port, 'name') };
    const connection = connectionIn(beyond);
    const tracked = connection === undefined ? {} : { connection };
    const wire = { bridge: out.bridge, ...name, from, to, ...tracked };
    const mac = /\bdl_src=([0-9a-f:]{17})/.exec(first.match)?.[1];
    if (port !== undefined && mac !== undefined)
      this.#leaving.set(wire, { mac, port: Number(out.port) });
    return { ...leg, hops, end: { ...leg.end, wire } };
  }

  /**
   * The answer to what left by a bridge that tracks it, as far as the network that it is for; undefined where that can't be followed. Its connection is not
   * there yet: the flows after the lookup of it are asked with the zone and the mark that it will have.
   */
  async answered(there: Leg, packet: Packet): Promise<Leg | undefined> {
    const { host } = this.#source;
    const wire = there.end.kind === 'outside' ? there.end.wire : undefined;
    const way = wire && this.#leaving.get(wire);
    if (host === undefined || wire?.connection === undefined || way === undefined) return undefined;
    const { bridge, from, to, connection } = wire;
    const { fromPort, toPort } = packet;
    const swapped = {
      ...(toPort === undefined ? {} : { fromPort: toPort }),
      ...(fromPort === undefined ? {} : { toPort: fromPort }),
    };
    const answer: Packet = {
      inport: '',
      fromMac: NEXT_HOP,
      toMac: way.mac,
      from: to,
      to: from,
      protocol: packet.protocol,
      isAnswer: true,
      ...swapped,
    };
    const flow = bridgeFlow(answer, way.port);
    const ask = async (command: string, ...words: readonly string[]): Promise<BridgeTrace> =>
      this.#traceOn(bridge, await host.vswitchd.run(command, [bridge, ...words], this.#signal));
    try {
      const comes = await ask('ofproto/trace', flow);
      const [table] = comes.steps.flatMap(
        ({ actions }) => /^ct\(.*\btable=(\d+)/.exec(actions[0] ?? '')?.[1] ?? [],
      );
      const known = `ct_state=trk|est|rpl,ct_zone=${connection.zone},ct_mark=${connection.mark}`;
      const goes =
        table === undefined
          ? comes
          : await ask('ofproto/trace-packet-out', `${flow},${known}`, `resubmit(,${table})`);
      return await this.#answerLeg(wire, goes);
    } catch (error) {
      this.#noteUnseen(error);
      return undefined;
    }
  }

  async #answerLeg(wire: Wire, { steps, outputs }: BridgeTrace): Promise<Leg | undefined> {
    const ports = (await this.#ports) ?? new Map<string, LookedUpRow>();
    const [out] = outputs;
    const last = steps.at(-1);
    if (last === undefined) return undefined;
    const leg = { direction: 'back', from: wire.to, to: wire.from } as const;
    const from = wire.port === undefined ? {} : { in: wire.port };
    if (out === undefined) {
      const by = await this.#decided('drops', last);
      const hop = { datapath: wire.bridge, ...from, decisions: [] };
      return { ...leg, hops: [hop], end: { kind: 'stopped', isRefused: false, by } };
    }
    const port = nameOf(out, ports);
    const passes = await this.#decided('passes', out.by, `out of ${port}`);
    const hop = { datapath: wire.bridge, ...from, out: port, decisions: [passes] };
    const end: Leg['end'] = isPatch(ports.get(`${out.bridge} ${out.port}`))
      ? { kind: 'returned', port }
      : { kind: 'host', port: wire.bridge, device: wire.bridge };
    return { ...leg, hops: [hop], end };
  }

  /**
   * What the kernel sends back to the bridge that it has a packet from, as the bridge then goes on: to a network, or not. Undefined where the kernel does
   * something else. `packet` as it is there, with the MAC address of the bridge as its source.
   */
  async passedOn(end: Leg['end'], packet: Packet): Promise<PassedOn | undefined> {
    const { host } = this.#source;
    if (host === undefined || end.kind !== 'host' || end.device === undefined) return undefined;
    if (end.route?.kind !== 'sent' || end.route.device !== end.device) return undefined;
    const bridge = end.device;
    const ports = (await this.#ports) ?? new Map<string, LookedUpRow>();
    try {
      const flow = bridgeFlow(packet, LOCAL_PORT);
      const text = await host.vswitchd.run('ofproto/trace', [bridge, flow], this.#signal);
      const { steps, outputs } = this.#traceOn(bridge, text);
      const [out] = outputs;
      const last = steps.at(-1);
      if (last === undefined) return undefined;
      const hop = { datapath: bridge, in: LOCAL, decisions: [] };
      if (out === undefined) {
        const by = await this.#decided('drops', last);
        return { bridge, hops: [hop], end: { kind: 'stopped', isRefused: false, by } };
      }
      const port = nameOf(out, ports);
      const passes = await this.#decided('passes', out.by, `out of ${port}`);
      const hops = [{ ...hop, out: port, decisions: [passes] }];
      return isPatch(ports.get(`${out.bridge} ${out.port}`))
        ? { bridge, hops, to: { port, number: Number(out.port) } }
        : { bridge, hops, end: { kind: 'outside', port } };
    } catch (error) {
      this.#noteUnseen(error);
      return undefined;
    }
  }

  /** The answer to what came to a network by way of the host: from the network's port of the bridge by the host to the network that asked. */
  async answeredByHost({ bridge, to }: PassedOn, answer: Packet): Promise<Leg | undefined> {
    const { host } = this.#source;
    if (host === undefined || to === undefined) return undefined;
    const { from, to: asker } = answer;
    const leg = { direction: 'back', from, to: asker } as const;
    try {
      const flow = bridgeFlow(answer, to.number);
      const text = await host.vswitchd.run('ofproto/trace', [bridge, flow], this.#signal);
      const { steps, outputs } = this.#traceOn(bridge, text);
      const [out] = outputs;
      const last = steps.at(-1);
      if (last === undefined) return undefined;
      const comes = { datapath: bridge, in: to.port, decisions: [] };
      if (out?.port !== LOCAL) {
        const by = await this.#decided('drops', last);
        return { ...leg, hops: [comes], end: { kind: 'stopped', isRefused: false, by } };
      }
      const passes = await this.#decided('passes', out.by, `out of ${LOCAL}`);
      const mark = markIn(steps);
      const inKernel = this.#inKernel(
        { kind: 'host', port: bridge, device: bridge },
        { from, to: asker, ...(mark === undefined ? {} : { mark }) },
      );
      const goesOn = await this.passedOn(inKernel, answer);
      const hops = [{ ...comes, out: LOCAL, decisions: [passes] }, ...(goesOn?.hops ?? [])];
      if (goesOn === undefined) return { ...leg, hops, end: inKernel };
      const end: Leg['end'] =
        goesOn.to === undefined ? goesOn.end : { kind: 'returned', port: goesOn.to.port };
      return { ...leg, hops, end };
    } catch (error) {
      this.#noteUnseen(error);
      return undefined;
    }
  }

  #traceOn(bridge: string, text: string): BridgeTrace {
    const events = readBridgeTrace(text);
    return {
      steps: events.filter(
        (event): event is BridgeStep => event.kind === 'flow' && event.bridge === bridge,
      ),
      outputs: events.filter(
        (event): event is BridgeOutput => event.kind === 'output' && event.bridge === bridge,
      ),
    };
  }

  /** Throws what is no failure of Open vSwitch. */
  #noteUnseen(error: unknown): void {
    if (!(error instanceof UnixctlError) && !(error instanceof BridgeTraceError)) throw error;
    this.#signal.throwIfAborted();
    this.#notes.add(`the flows of the bridges were not looked at: ${error.message}`);
  }

  /** What the kernel's routes make of what it gets; its nftables are not looked at. */
  #inKernel(
    end: Leg['end'] & { readonly kind: 'host' },
    packet: Omit<RoutedPacket, 'device'>,
  ): Leg['end'] {
    const { host } = this.#source;
    if (host === undefined || end.device === undefined) return end;
    const route = kernelRoute(host.namespace, { ...packet, device: end.device });
    switch (route.kind) {
      case 'here':
      case 'sent':
        return { ...end, route };
      case 'nowhere': {
        const { why: text } = route;
        const by: Decided = { kind: 'drops', stage: 'routing', text, match: '', place: 'kernel' };
        return { kind: 'stopped', isRefused: false, by };
      }
      case 'unread':
        this.#notes.add(`the routes of the kernel were not looked at: ${route.why}`);
        return end;
    }
  }

  /** Where nothing comes out: the last flow of the bridges beside br-int, or of br-int, which should have sent it on. */
  async #stopped(
    leg: Leg,
    beyond: readonly BridgeStep[],
    steps: readonly BridgeStep[],
  ): Promise<Leg['end']> {
    const step = beyond.at(-1) ?? steps.at(-1);
    if (step === undefined)
      return { kind: 'unknown', why: `no flow of ${INTEGRATION_BRIDGE} is for it` };
    const by = await this.#decided('drops', step);
    if (step.bridge !== INTEGRATION_BRIDGE) return { kind: 'stopped', isRefused: false, by };
    const text = `though by Southbound it ${legEndText(leg.end)}: ovn-controller is behind, nothing of this node is that port, or somebody changed its flows`;
    return { kind: 'stopped', isRefused: false, by: { ...by, text } };
  }

  async #hop(
    first: BridgeStep,
    beyond: readonly BridgeStep[],
    outputs: readonly BridgeOutput[],
    ports: ReadonlyMap<string, LookedUpRow>,
  ): Promise<Hop> {
    const { bridge } = first;
    const inport = /\bin_port=(\d+)/.exec(first.match)?.[1];
    const decisions: Decided[] = [];
    for (const step of beyond) {
      const source = sourceIn(step);
      if (source !== undefined)
        decisions.push(await this.#decided('translates', step, `from ${source}`));
      const out = outputs.find(({ by }) => by === step);
      if (out !== undefined)
        decisions.push(await this.#decided('passes', step, `out of ${nameOf(out, ports)}`));
    }
    const last = outputs.find((one) => one.bridge === bridge);
    return {
      datapath: bridge,
      ...(inport === undefined ? {} : { in: nameOf({ bridge, port: inport }, ports) }),
      ...(last === undefined ? {} : { out: nameOf(last, ports) }),
      decisions,
    };
  }

  async #decided(kind: Decided['kind'], step: BridgeStep, text?: string): Promise<Decided> {
    const { bridge, table, match, priority, cookie, actions } = step;
    const flow = { table, priority, cookie, match, actions: actions[0] ?? '', isSpecial: false };
    // Of br-int a flow without a cookie stands for several logical flows, or for none.
    const isNobodys = bridge === INTEGRATION_BRIDGE && cookie === NO_COOKIE;
    const origin = isNobodys ? undefined : await originOfFlow(this.#source, this.#origins, flow);
    return {
      kind,
      stage: `table ${table}, priority ${priority}`,
      ...(text === undefined ? {} : { text }),
      match,
      place: `bridge ${bridge}`,
      ...(origin === undefined ? {} : { origin }),
    };
  }
}

/** Why the trace ends before the packet does: what ofproto/trace can't follow. */
function whyOpen({ bridge, actions }: BridgeStep): string | undefined {
  if (bridge !== INTEGRATION_BRIDGE) return undefined;
  if (actions.some((action) => action.startsWith('controller(')))
    return `${INTEGRATION_BRIDGE} hands it to ovn-controller, which asks the network first who has the next address: what other bridges make of it can be told once that has answered`;
  if (actions.some((action) => action.startsWith('group:')))
    return `${INTEGRATION_BRIDGE} chooses the endpoint by a hash, which can't be followed: what its flows and other bridges make of it afterwards was not looked at`;
  return undefined;
}
