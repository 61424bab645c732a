/**
 * Load balancers whose addresses are template variables (ovn-nb(5), `options:template`): ovn-controller puts the chassis' values in their place, ovn-trace(8)
 * knows none, and lets on what they balance.
 */
import { mapIn, textIn, type LookedUpRow, type RowLookup } from '../databases/row-lookup.ts';
import type { Packet } from '../packets/microflow.ts';
import { backendsOf, isStoppedBeforeLb } from '../packets/trace-end.ts';
import type { TraceEvent } from '../packets/trace-text.ts';
import { isSameAddress, type PacketPorts } from './packet-ports.ts';

/** A template for a packet's destination, at the first switch or router on its way that has one. */
export interface FoundTemplate {
  /** Name of the switch or router. */
  readonly datapath: string;
  readonly stage: 'ls_in_lb' | 'lr_in_dnat';
  readonly row: LookedUpRow;
  /** As the row has it: `^NODEIP_IPv4_0:30080`. */
  readonly vip: string;
  /** `10.0.0.5:80`; none where it refuses. */
  readonly backends: readonly string[];
}

const COLUMNS = [
  'name',
  'protocol',
  'vips',
  'options',
  'external_ids',
  'datapath_group',
  'ls_datapath_group',
  'lr_datapath_group',
];
const VIP = /^(?:\[\^(\w+)\]|\^(\w+)):(\d+)$/;

interface Template extends Pick<FoundTemplate, 'row' | 'vip' | 'backends'> {
  readonly protocol: string;
  readonly variable: string;
  readonly port: number;
}

function templatesOf(row: LookedUpRow): readonly Template[] {
  const protocol = textIn(row, 'protocol') || 'tcp';
  return Object.entries(mapIn(row, 'vips')).flatMap(([vip, targets]) => {
    const [, bracketed, plain, port] = VIP.exec(vip) ?? [];
    const variable = bracketed ?? plain;
    const backends = targets.split(',').filter(Boolean);
    return variable === undefined
      ? []
      : [{ row, vip, backends, protocol, variable, port: Number(port) }];
  });
}

export class PacketTemplates {
  readonly #south: RowLookup;
  readonly #ports: PacketPorts;
  readonly #chassis: string | undefined;
  readonly #groups = new Map<string, Promise<ReadonlySet<string>>>();
  #templates: Promise<readonly Template[]> | undefined;
  #variables: Promise<Readonly<Record<string, string>>> | undefined;

  constructor(south: RowLookup, ports: PacketPorts, chassis: string | undefined) {
    this.#south = south;
    this.#ports = ports;
    this.#chassis = chassis;
  }

  /** That which balances a packet whose way is, without it, what ovn-trace says. */
  async on(
    events: readonly TraceEvent[],
    { to, protocol, toPort }: Packet,
  ): Promise<FoundTemplate | undefined> {
    const variables = await (this.#variables ??= this.#readVariables());
    const templates = (await (this.#templates ??= this.#readTemplates())).filter(
      (one) =>
        one.protocol === protocol &&
        one.port === toPort &&
        isSameAddress(variables[one.variable] ?? '', to),
    );
    if (templates.length === 0) return undefined;
    for (const event of events) {
      if (event.aside !== undefined || event.kind !== 'step') continue;
      // Balanced by another one it goes to another address.
      if (backendsOf(event).length > 0) return undefined;
      const { datapath, pipeline, inport = '' } = event.place;
      if (pipeline !== 'ingress') continue;
      for (const { row, vip, backends } of templates) {
        const stage = await this.#stageOn(row, datapath, inport);
        if (stage === undefined) continue;
        return isStoppedBeforeLb(events, datapath)
          ? undefined
          : { datapath, stage, row, vip, backends };
      }
    }
    return undefined;
  }

  /** Switches balance what comes from their own ports, not from routers and localnets (ovn-northd(8), Ingress Table Pre-LB). */
  async #stageOn(
    { columns }: LookedUpRow,
    datapath: string,
    inport: string,
  ): Promise<FoundTemplate['stage'] | undefined> {
    const isIn = async (column: string): Promise<boolean> =>
      (await this.#group(columns[column])).has(datapath);
    if (await isIn('lr_datapath_group')) return 'lr_in_dnat';
    // Which of the two has the switches depends on what northd found there (ovn-sb(5)).
    if (!(await isIn('ls_datapath_group')) && !(await isIn('datapath_group'))) return undefined;
    const port = await this.#ports.named(inport);
    return port !== undefined && textIn(port, 'type') === '' ? 'ls_in_lb' : undefined;
  }

  /** Names of a group's switches or routers. */
  #group(uuid: unknown): Promise<ReadonlySet<string>> {
    if (typeof uuid !== 'string') return Promise.resolve(new Set());
    const known = this.#groups.get(uuid);
    if (known !== undefined) return known;
    const read = async (): Promise<ReadonlySet<string>> => {
      const [group] = await this.#south.rows([{ table: 'Logical_DP_Group', uuid }]);
      const places = listIn(group, 'datapaths').map((one) => ({
        table: 'Datapath_Binding',
        uuid: one,
      }));
      const rows = await this.#south.rows(places);
      return new Set(rows.map((row) => mapIn(row, 'external_ids')['name'] ?? ''));
    };
    const found = read();
    this.#groups.set(uuid, found);
    return found;
  }

  async #readTemplates(): Promise<readonly Template[]> {
    const rows = await this.#south.select(
      'Load_Balancer',
      [['options', 'includes', ['map', [['template', 'true']]]]],
      COLUMNS,
    );
    return rows.flatMap(templatesOf);
  }

  async #readVariables(): Promise<Readonly<Record<string, string>>> {
    const rows = await this.#south.select('Chassis_Template_Var', [], ['chassis', 'variables']);
    const row = rows.find((one) => textIn(one, 'chassis') === this.#chassis);
    return row === undefined ? {} : mapIn(row, 'variables');
  }
}

const listIn = (row: LookedUpRow | undefined, column: string): readonly string[] => {
  const value = row?.columns[column];
  return (Array.isArray(value) ? value : [value]).filter((one) => typeof one === 'string');
};
