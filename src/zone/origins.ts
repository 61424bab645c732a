/**
 * Where a row, a flow or a rule of this node comes from: which unit wants it, by which rule, for which object; of Southbound and the integration bridge by
 * the row of Northbound that it was made of. The one place that answers it, for whoever asks.
 */
import {
  mapIn,
  RowLookup,
  textIn,
  type LookedUpRow,
  type RowPlace,
} from '../databases/row-lookup.ts';
import type { Reconciler } from '../desired/ovsdb/reconciler.ts';
import { SETTINGS, type DesiredRow } from '../desired/rows.ts';
import { keyOf } from '../facts/keys.ts';
import type { ZoneFacts } from '../model/zone/zone.ts';
import type { HostController } from '../node/node-agent.ts';
import { OPEN_VSWITCH } from '../node/host-rows.ts';
import { zoneFeatures } from '../topology/features.ts';
import type { Origin, Ownership, Wanting } from '../views/origin.ts';
import { foreignWriter, rowName, rowText } from '../views/row-words.ts';
import type { ZoneDatabase } from '../databases/zone-database.ts';

const NORTHBOUND = 'OVN_Northbound';
export const SOUTHBOUND = 'OVN_Southbound';

/** What is asked: a zone at work. */
export interface OriginSource {
  readonly facts: Pick<ZoneFacts, 'rendered'>;
  readonly controller: {
    readonly reconcilers: readonly Reconciler[];
    subjectOf(unit: string): string | undefined;
  };
  readonly northbound: ZoneDatabase;
  readonly southbound: ZoneDatabase | undefined;
  readonly host:
    | {
        readonly controller: Pick<HostController, 'features' | 'wanted'>;
        readonly openVswitch: ZoneDatabase;
      }
    | undefined;
}

/** Who knows the rows of a database. */
type Knower = Pick<Reconciler, 'wantedBy' | 'markOf' | 'rowsWithKey'>;

export const WHY_MARKED =
  "no unit wants it now; it goes with the next pass, unless it may be there for something that can't be read (heddle diff)";

export class Origins {
  readonly #source: OriginSource;
  readonly lookups: readonly RowLookup[];

  constructor(source: OriginSource, signal?: AbortSignal) {
    this.#source = source;
    this.lookups = [source.northbound, source.southbound, source.host?.openVswitch]
      .filter((database) => database !== undefined)
      .filter((database) => database.isLoaded?.() !== false)
      .map((database) => new RowLookup(database, signal));
  }

  lookup(name: string): RowLookup | undefined {
    return this.lookups.find((one) => one.name === name);
  }

  /** Who knows the rows of a database; undefined where nobody does. */
  knower(name: string): Knower | undefined {
    const { controller, host } = this.#source;
    return name === OPEN_VSWITCH
      ? host?.controller.wanted.ports
      : controller.reconcilers.find(({ database }) => database === name);
  }

  /** Who wants something: the unit, the rule with its sentence, the object, and the network that it counts for. */
  wanting(unit: string, row: Pick<DesiredRow, 'rule' | 'object'> | undefined): Wanting {
    const { facts, controller, host } = this.#source;
    const [feature, ...args] = keyOf<[string, ...string[]]>(unit);
    const named = [...zoneFeatures, ...(host?.controller.features ?? [])].find(
      ({ name }) => name === feature,
    );
    const rule = row && named?.rules[row.rule];
    const network = [controller.subjectOf(unit), args[0]].find(
      (name) => name !== undefined && facts.rendered.peek(name) !== undefined,
    );
    return {
      unit,
      feature,
      ...(row && rule ? { rule: { name: row.rule, ...rule } } : {}),
      ...(row === undefined ? {} : { object: row.object }),
      ...(network === undefined ? {} : { network }),
    };
  }

  /** Who wants what a unit's row is. */
  wanted(unit: string, row: Pick<DesiredRow, 'rule' | 'object'>): Ownership {
    return { kind: 'wanted', ...this.wanting(unit, row) };
  }

  /** Origins of rows, each with what it was made of; of rows that are gone none. */
  async ofPlaces(database: string, places: readonly RowPlace[]): Promise<readonly Origin[]> {
    const lookup = this.lookup(database);
    if (lookup === undefined) return [];
    const rows = await lookup.rows(places);
    const origins: Origin[] = [];
    for (const row of rows) origins.push(await this.ofRow(database, row));
    return origins;
  }

  /** The origin of a row that was read. `datapath`: UUID of the one that is meant, of a logical flow that many share. */
  async ofRow(database: string, row: LookedUpRow, datapath?: string): Promise<Origin> {
    const { table, uuid } = row;
    const knower = this.knower(database);
    const wantedBy = knower?.wantedBy(table, uuid);
    const mark = knower?.markOf(table, uuid);
    const name = wantedBy?.key ?? rowName(row);
    const common = { place: database, table, name, uuid, text: rowText(row) };
    if (wantedBy !== undefined)
      return {
        ...common,
        owner: { kind: 'wanted', ...this.wanting(wantedBy.owner.id, wantedBy.row) },
        madeOf: [],
      };
    if (mark !== undefined)
      return {
        ...common,
        owner: { kind: 'marked', object: mark === '' ? SETTINGS : mark, why: WHY_MARKED },
        madeOf: [],
      };
    if (database !== SOUTHBOUND)
      return { ...common, owner: { kind: 'foreign', by: foreignWriter(row) }, madeOf: [] };
    const { by, places } = await this.#sourceOf(row, datapath);
    return {
      ...common,
      owner: { kind: 'made', by },
      madeOf: await this.ofPlaces(NORTHBOUND, places),
    };
  }

  /** Rows of Northbound that a row of Southbound was made of, and by whom. */
  async #sourceOf(
    row: LookedUpRow,
    datapath: string | undefined,
  ): Promise<{ readonly by: string; readonly places: readonly RowPlace[] }> {
    const north = this.lookup(NORTHBOUND);
    if (north === undefined) return { by: 'OVN', places: [] };
    const ids = mapIn(row, 'external_ids');
    const { table } = row;
    const northd = 'ovn-northd';
    if (table === 'Logical_Flow') {
      const hint = ids['stage-hint'];
      const found =
        hint === undefined ? [] : await north.startingWith(new Set([hint.padStart(8, '0')]));
      if (found.length > 0) return { by: northd, places: found };
      const place = await this.#datapathPlace(datapath ?? textIn(row, 'logical_datapath'));
      const whose =
        hint === undefined
          ? 'ovn-northd, for itself: no row of Northbound asks for it'
          : `ovn-northd, of a row of Northbound that is gone (${hint})`;
      return { by: place.length > 0 ? northd : `${whose}; many datapaths share it`, places: place };
    }
    if (table === 'Datapath_Binding') return { by: northd, places: this.#ofDatapath(row) };
    const uuid = ids['lb_id'] ?? ids['dns_id'];
    if (uuid !== undefined)
      return { by: northd, places: await north.startingWith(new Set([uuid])) };
    const port = textIn(row, 'logical_port').replace(/^cr-/, '');
    if (port !== '') {
      const places = await north.named(port, ['Logical_Switch_Port', 'Logical_Router_Port']);
      if (places.length > 0) return { by: northd, places };
    }
    const name = textIn(row, 'name');
    const sameTable = north.tableNamed(table);
    if (name !== '' && sameTable !== undefined) {
      const places = await north.named(name.replace(/^\d+_/, ''), [sameTable]);
      if (places.length > 0) return { by: northd, places };
    }
    const places = await this.#datapathPlace(textIn(row, 'datapath'));
    const isController = [
      'MAC_Binding',
      'FDB',
      'IGMP_Group',
      'Chassis_Private',
      'Chassis',
      'Encap',
    ];
    return {
      by: isController.includes(table) ? 'an ovn-controller' : northd,
      places,
    };
  }

  /** Switch or router of a datapath, by its UUID in Southbound. */
  async #datapathPlace(uuid: string): Promise<readonly RowPlace[]> {
    const south = this.lookup(SOUTHBOUND);
    if (uuid === '' || south === undefined) return [];
    const [row] = await south.rows([{ table: 'Datapath_Binding', uuid }]);
    return row === undefined ? [] : this.#ofDatapath(row);
  }

  #ofDatapath(row: LookedUpRow): readonly RowPlace[] {
    const ids = mapIn(row, 'external_ids');
    const places: readonly (readonly [string, string | undefined])[] = [
      ['Logical_Switch', ids['logical-switch']],
      ['Logical_Router', ids['logical-router']],
      // From OVN 26.03 on a column says it.
      [
        textIn(row, 'type') === 'logical-router' ? 'Logical_Router' : 'Logical_Switch',
        textIn(row, 'nb_uuid') || undefined,
      ],
    ];
    const found = places.find(([, uuid]) => uuid !== undefined);
    return found?.[1] === undefined ? [] : [{ table: found[0], uuid: found[1] }];
  }
}
