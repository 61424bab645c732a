/** Whose the flows are that decide something for a packet, and through which switches and routers it goes. */
import { textIn, type RowLookup } from '../databases/row-lookup.ts';
import type { Decided, Hop } from '../packets/packet-report.ts';
import type { Decision } from '../packets/trace-end.ts';
import type { TraceEvent, TraceStep } from '../packets/trace-text.ts';
import { rootOf, type Origin } from '../views/origin.ts';
import { SOUTHBOUND, type Origins } from './origins.ts';
import type { PacketPorts } from './packet-ports.ts';
import type { FoundTemplate } from './packet-templates.ts';

/** What a load balancer makes of a packet: at which switch or router, among whom, and what it decides. */
export interface Balancing {
  readonly datapath: string;
  /** `10.0.0.5:80`; none where it refuses. */
  readonly backends: readonly string[];
  readonly by: readonly [Decided, ...Decided[]];
}

const tableOf = ({ origin }: Decided): string | undefined => origin && rootOf(origin).table;

export class PacketDeciders {
  readonly #origins: Origins;
  readonly #south: RowLookup;
  readonly #ports: PacketPorts;
  readonly #known = new Map<string, Promise<Origin | undefined>>();

  constructor(origins: Origins, south: RowLookup, ports: PacketPorts) {
    this.#origins = origins;
    this.#south = south;
    this.#ports = ports;
  }

  /** Switches and routers in the order in which it comes to them, each with what decides something there; `balancing` of which the events know nothing, and what else is decided by it. */
  async hops(
    events: readonly TraceEvent[],
    decisions: readonly Decision[],
    balancing?: Balancing,
  ): Promise<readonly Hop[]> {
    let isBalanced = balancing === undefined;
    const byStep = new Map(decisions.map((decision) => [decision.step, decision]));
    const hops: { datapath: string; in?: string; out?: string; decisions: Decided[] }[] = [];
    for (const event of events) {
      if (event.aside !== undefined) continue;
      const { datapath, pipeline, inport, outport } = event.place;
      const last = hops.at(-1);
      const isSame = last?.datapath === datapath && (pipeline === 'egress' || last.in === inport);
      const hop =
        isSame && last !== undefined
          ? last
          : { datapath, ...(inport === undefined ? {} : { in: inport }), decisions: [] };
      if (!isSame) hops.push(hop);
      if (!isBalanced && balancing?.datapath === datapath) {
        hop.decisions.push(...balancing.by);
        if (balancing.backends.length === 0) return hops;
        isBalanced = true;
      }
      if (outport !== undefined) hop.out = outport;
      const decision = event.kind === 'step' ? byStep.get(event) : undefined;
      if (decision === undefined) continue;
      const decided = await this.decided(decision);
      // What OVN lets through by itself, such as answers, decides nothing.
      if (decision.kind !== 'allows' || tableOf(decided) === 'ACL') hop.decisions.push(decided);
    }
    return hops;
  }

  async byTemplate({ stage, row, vip, backends }: FoundTemplate): Promise<Decided> {
    return {
      kind: backends.length === 0 ? 'refuses' : 'balances',
      stage,
      ...(backends.length === 0 ? {} : { text: `to ${backends.join(' or ')}` }),
      match: vip,
      origin: await this.#origins.ofRow(SOUTHBOUND, row),
    };
  }

  async decided({ kind, step, text }: Decision): Promise<Decided> {
    const origin = await this.#originOf(step);
    return {
      kind,
      stage: step.stage,
      ...(text === undefined ? {} : { text }),
      match: step.match,
      ...(origin === undefined ? {} : { origin }),
    };
  }

  #originOf(step: TraceStep): Promise<Origin | undefined> {
    const { uuid, place } = step;
    if (uuid === undefined) return Promise.resolve(undefined);
    const key = `${uuid} ${place.datapath}`;
    const known = this.#known.get(key);
    if (known !== undefined) return known;
    const found = this.#find(uuid, step);
    this.#known.set(key, found);
    return found;
  }

  async #find(uuid: string, { stage, priority, place }: TraceStep): Promise<Origin | undefined> {
    // Few flows of a stage have one priority; of all there may be a million.
    const places = await this.#south.startingWith(
      new Set([uuid]),
      ['Logical_Flow'],
      [
        ['priority', '==', priority],
        ...(stage === ''
          ? []
          : [['external_ids', 'includes', ['map', [['stage-name', stage]]]] as const]),
      ],
    );
    const [row] = await this.#south.rows(places);
    if (row === undefined) return undefined;
    const port = place.inport ?? place.outport;
    const binding = port === undefined ? undefined : await this.#ports.named(port);
    return this.#origins.ofRow(
      SOUTHBOUND,
      row,
      binding === undefined ? undefined : textIn(binding, 'datapath'),
    );
  }
}
