/** Switches and routers while their rows, ports and owners change. */
import {
  DATAPATHS,
  datapathOf,
  expectedNames,
  isBefore,
  networkOf,
  type Datapath,
  type DatapathLookup,
  type Owner,
} from '../intent/datapaths.ts';
import type { Intent } from '../intent/intent.ts';
import { requestedKey } from '../checks/ports.ts';
import { list, text, uuidOf, type Row } from '../rows.ts';
import type { Readers } from './readers.ts';

const PORTS: ReadonlySet<string> = new Set(['Logical_Switch_Port', 'Logical_Router_Port']);
const TABLES: ReadonlySet<string> = new Set(DATAPATHS);

/** A switch or router that something has changed of: undefined where it was not there, or is gone. */
export interface Renewed {
  readonly uuid: string;
  readonly before: Datapath | undefined;
  readonly now: Datapath | undefined;
  /** Its name or its owner is another one. */
  readonly isAnother: boolean;
}

/** Values that several hold under one key. */
class Held<V> {
  readonly #values = new Map<string, Set<V>>();

  of(key: string): readonly V[] {
    return [...(this.#values.get(key) ?? [])];
  }

  add(key: string, value: V): void {
    const known = this.#values.get(key);
    if (known === undefined) this.#values.set(key, new Set([value]));
    else known.add(value);
  }

  delete(key: string, value: V): void {
    const known = this.#values.get(key);
    known?.delete(value);
    if (known?.size === 0) this.#values.delete(key);
  }
}

const kindOf = ({ table, name }: Pick<Datapath, 'table' | 'name'>): string =>
  `${table === 'Logical_Switch' ? 'switch' : 'router'} ${name}`;

export class KeptDatapaths {
  readonly #readers: Readers;
  readonly #rows = new Map<string, { readonly table: Datapath['table']; readonly row: Row }>();
  readonly #ports = new Map<string, Row>();
  readonly #datapaths = new Map<string, Datapath>();
  /** Switches and routers that list a port, by its UUID, and by its name. */
  readonly #byPort = new Held<string>();
  readonly #byPortName = new Held<string>();
  readonly #byName = new Held<string>();
  readonly #byNetwork = new Held<string>();
  readonly #byKey = new Held<string>();
  #names: ReadonlyMap<string, Owner> = new Map();
  readonly #stale = new Set<string>();
  /** As checks read it. */
  readonly lookup: DatapathLookup;

  constructor(readers: Readers) {
    this.#readers = readers;
    const get = (name: string): Datapath | undefined => {
      readers.note('port', name);
      return this.#last(this.#byPortName.of(name));
    };
    this.lookup = {
      byPort: { get, has: (name) => get(name) !== undefined },
      ofNetwork: (name) => {
        readers.note('datapaths of network', name);
        return this.#found(this.#byNetwork.of(name));
      },
      holding: (port) => {
        readers.note('holding', port);
        // One that is listed and has no row is no port.
        return this.#ports.has(port) ? this.#found(this.#byPort.of(port)) : [];
      },
    };
  }

  find(uuid: string): Datapath | undefined {
    return this.#datapaths.get(uuid);
  }

  port(uuid: string): Row | undefined {
    return this.#ports.get(uuid);
  }

  asking(key: string): readonly Datapath[] {
    this.#readers.note('requested key', key);
    return this.#found(this.#byKey.of(key));
  }

  /** Takes note of a row that is another one; of tables that matter not here nothing follows. */
  set(table: string, uuid: string, row: Row | undefined): void {
    if (PORTS.has(table)) {
      if (row === undefined) this.#ports.delete(uuid);
      else this.#ports.set(uuid, row);
      for (const one of this.#byPort.of(uuid)) this.#stale.add(one);
      return;
    }
    if (!TABLES.has(table)) return;
    const before = this.#rows.get(uuid);
    for (const port of before === undefined ? [] : list(before.row, 'ports'))
      this.#byPort.delete(port, uuid);
    if (row === undefined) this.#rows.delete(uuid);
    else {
      this.#rows.set(uuid, { table: table as Datapath['table'], row });
      for (const port of list(row, 'ports')) this.#byPort.add(port, uuid);
    }
    this.#stale.add(uuid);
  }

  /** Names of switches and routers follow from networks and connections. */
  rename(of: Pick<Intent, 'networks' | 'connections' | 'node'>): void {
    const before = this.#names;
    const now = expectedNames(of);
    this.#names = now;
    const touch = (name: string): void => {
      for (const uuid of this.#byName.of(name)) this.#stale.add(uuid);
    };
    for (const name of before.keys()) if (!now.has(name)) touch(name);
    for (const [name, owner] of now) if (!isSameOwner(before.get(name), owner)) touch(name);
  }

  /** Makes those anew that something has changed of; gives them as they were and are, and the keys that are asked for by others than before. */
  renew(): { readonly renewed: readonly Renewed[]; readonly keys: ReadonlySet<string> } {
    const uuids = [...this.#stale];
    const renewed: Renewed[] = [];
    const keys = new Set<string>();
    this.#stale.clear();
    for (const uuid of uuids) {
      const before = this.#datapaths.get(uuid);
      if (before !== undefined) this.#unlink(before);
      const known = this.#rows.get(uuid);
      const now =
        known && datapathOf(known.table, known.row, this.#names, (port) => this.#ports.get(port));
      if (now === undefined) this.#datapaths.delete(uuid);
      else {
        this.#datapaths.set(uuid, now);
        this.#link(now);
      }
      const isAnother = !isAlike(before, now);
      this.#tell(before, now, isAnother);
      renewed.push({ uuid, before, now, isAnother });
      for (const one of [before, now]) {
        const key = one === undefined ? undefined : requestedKey(one);
        if (key !== undefined) keys.add(key);
      }
    }
    return { renewed, keys };
  }

  #link(datapath: Datapath): void {
    const { uuid, ports } = datapath;
    for (const port of ports) this.#byPortName.add(text(port, 'name'), uuid);
    this.#byName.add(kindOf(datapath), uuid);
    const network = networkOf(datapath);
    if (network !== undefined) this.#byNetwork.add(network.name, uuid);
    const key = requestedKey(datapath);
    if (key !== undefined) this.#byKey.add(key, uuid);
  }

  #unlink(datapath: Datapath): void {
    const { uuid, ports } = datapath;
    for (const port of ports) this.#byPortName.delete(text(port, 'name'), uuid);
    this.#byName.delete(kindOf(datapath), uuid);
    const network = networkOf(datapath);
    if (network !== undefined) this.#byNetwork.delete(network.name, uuid);
    const key = requestedKey(datapath);
    if (key !== undefined) this.#byKey.delete(key, uuid);
  }

  /** Who asked for one by a port has asked for whose it is, not for what else hangs on it. */
  #tell(before: Datapath | undefined, now: Datapath | undefined, isAnother: boolean): void {
    const [listed, lists] = [before, now].map(
      (one) => new Set(one === undefined ? [] : one.ports.map(uuidOf)),
    ) as [Set<string>, Set<string>];
    for (const uuid of isAnother ? listed.union(lists) : listed.symmetricDifference(lists))
      this.#readers.changed('holding', uuid);
    const old = new Set(before?.ports.map((port) => text(port, 'name')));
    const names = new Set(now?.ports.map((port) => text(port, 'name')));
    for (const name of new Set([...old, ...names]))
      if (isAnother || old.has(name) !== names.has(name)) this.#readers.changed('port', name);
    for (const one of [before, now]) {
      if (one === undefined) continue;
      const network = networkOf(one);
      if (network !== undefined) this.#readers.changed('datapaths of network', network.name);
      const key = requestedKey(one);
      if (key !== undefined) this.#readers.changed('requested key', key);
    }
  }

  #found(uuids: readonly string[]): readonly Datapath[] {
    return uuids.map((uuid) => this.#datapaths.get(uuid)).filter((one) => one !== undefined);
  }

  #last(uuids: readonly string[]): Datapath | undefined {
    return this.#found(uuids).reduce<Datapath | undefined>(
      (last, one) => (last === undefined || isBefore(last, one) ? one : last),
      undefined,
    );
  }
}

/** Whether a switch or router has the name and the owner that it had. */
const isAlike = (before: Datapath | undefined, now: Datapath | undefined): boolean =>
  before !== undefined &&
  now !== undefined &&
  before.name === now.name &&
  isSameOwner(before.owner, now.owner);

function isSameOwner(a: Owner | undefined, b: Owner | undefined): boolean {
  if (a === b) return true;
  if (a?.kind === 'network' && b?.kind === 'network')
    return a.network === b.network && a.part === b.part;
  return a?.kind === 'connection' && b?.kind === 'connection' && a.connection === b.connection;
}
