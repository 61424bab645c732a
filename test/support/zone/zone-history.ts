/**
 * Histories of a zone's databases: objects change, the server refuses, others write, the daemon dies. What must hold is looked at
 * after each transaction and whenever the zone has settled.
 */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { createLogger } from '../../../src/process/logger.ts';
import { ZoneController } from '../../../src/zone/zone-controller.ts';
import { MARK } from '../../../src/desired/rows.ts';
import { zoneFacts, type ZoneFacts } from '../../../src/model/zone/zone.ts';
import { ObjectIntake } from '../../../src/model/zone/intake.ts';
import type { ClusterSettings } from '../../../src/model/model.ts';
import { DEFAULT_SETTINGS } from '../../../src/model/settings.ts';
import {
  parseSchema,
  type DatabaseSchema,
  type JsonValue,
  type Operation,
  type Outcome,
  type ReplicaRow,
} from 'ovsdb-client-ts';
import type { KubeObject } from '../../../src/api/objects.ts';
import type { SeededRandom } from '../run/seeded-random.ts';
import { contents, same, textOf } from '../ovsdb/database-text.ts';
import { exposedPorts } from './exposed-ports.ts';
import { foreignRows } from '../ovsdb/foreign-rows.ts';
import { MemoryDatabase } from '../ovsdb/memory-database.ts';
import { SCHEMAS } from '../ovsdb/ovsdb-server.ts';
import { feed, SELF, ZoneObjects } from './zone-objects.ts';

const schemaOf = (file: string): DatabaseSchema =>
  parseSchema(JSON.parse(readFileSync(join(SCHEMAS, file), 'utf8')) as JsonValue);
const NORTHBOUND = schemaOf('ovn-nb.ovsschema');
const SOUTHBOUND = schemaOf('ovn-sb.ovsschema');

const signal = new AbortController().signal;
/** A second after what the server refused is sent again. */
const REST = 31_000;

const nothing = (): boolean => false;

/** The daemon of one life: facts, engine and controller over databases that outlive it. */
class Life {
  readonly facts: ZoneFacts;
  readonly intake: ObjectIntake;
  readonly controller: ZoneController;

  constructor(
    settings: ClusterSettings,
    databases: readonly [MemoryDatabase, MemoryDatabase],
    now: () => number,
    renderEverywhere: boolean,
    objects: () => Iterable<KubeObject>,
  ) {
    this.facts = zoneFacts(SELF, settings, { renderEverywhere, gracePeriod: 1000 });
    this.intake = new ObjectIntake(this.facts);
    const [northbound, southbound] = databases.map((database) => ({
      replica: database,
      transactor: database,
      unavailable: () => undefined,
    }));
    if (northbound === undefined || southbound === undefined) throw new Error('two databases');
    this.controller = new ZoneController({
      facts: this.facts,
      northbound,
      southbound,
      log: createLogger('silent'),
      now,
    });
    this.facts.otherPods.onWanted(() => {
      for (const object of objects()) if (object.kind === 'Pod') feed(this.intake, object);
      this.facts.otherPods.known();
    });
    for (const object of objects()) feed(this.intake, object);
  }
}

export class ZoneHistory {
  readonly objects: ZoneObjects;
  readonly northbound = new MemoryDatabase(NORTHBOUND);
  readonly southbound = new MemoryDatabase(SOUTHBOUND);
  readonly log: string[] = [];
  readonly #random: SeededRandom;
  readonly #settings: ClusterSettings;
  readonly #renderEverywhere: boolean;
  #life!: Life;
  /** Rows of ours as they were at first, by database. */
  #atFirst: readonly (readonly string[])[] = [];
  #now = 0;
  /** Rows of others: what each looks like, by UUID. */
  readonly #others = new Map<string, { readonly row: ReplicaRow; readonly text: string }>();
  /** Rows of others in the way of ours. */
  #obstacles: { readonly table: string; readonly uuid: string }[] = [];
  /** Ports that are reached now and should not be, by name. */
  #exposed: ReadonlySet<string> = new Set();
  #isForeignWrite = false;
  /** While annotations are torn a new life does not know what they said. */
  #isForgetful = false;
  #failure: Error | undefined;

  constructor(random: SeededRandom) {
    this.#random = random;
    this.objects = new ZoneObjects(random);
    this.#renderEverywhere = random.is(0.3);
    this.#settings = {
      ...DEFAULT_SETTINGS,
      clusterSubnets: [{ cidr: '10.244.0.0/16', hostLength: 24 }],
      serviceSubnets: ['10.96.0.0/16'],
      secondaryGateways: random.is(0.7),
      features: {
        egressIp: random.is(0.7),
        egressService: random.is(0.7),
        egressFirewall: random.is(0.5),
        externalRoutes: random.is(0.5),
        multicast: random.is(0.5),
      },
      policies: {
        passesIcmp: random.is(0.5),
        allowsStateless: random.is(0.5),
        mostFlows: random.is(0.5) ? 10 : 10_000,
        mostFirewallFlows: random.is(0.5) ? 10 : 200_000,
        mostQosFlows: 100_000,
      },
    };
    for (const database of this.#databases)
      database.subscribe(() => {
        if (!this.#isForeignWrite) this.#look(database);
      });
    this.#foreign('rows of other programs', () => {
      for (const operations of foreignRows) this.#own(this.northbound, operations);
    });
  }

  get #databases(): readonly [MemoryDatabase, MemoryDatabase] {
    return [this.northbound, this.southbound];
  }

  #live(
    databases: readonly [MemoryDatabase, MemoryDatabase],
    objects: () => Iterable<KubeObject>,
  ): Life {
    const now = (): number => this.#now;
    return new Life(this.#settings, databases, now, this.#renderEverywhere, objects);
  }

  /** What the databases hold before there is more than this node. */
  async begin(): Promise<void> {
    const [self, ...others] = this.objects.begin();
    if (self === undefined) throw new Error('a node');
    let known: () => Iterable<KubeObject> = () => [self];
    this.#life = this.#live(this.#databases, () => known());
    await this.#flush();
    known = () => this.objects.seen.values();
    this.#atFirst = this.#ours();
    for (const object of [self, ...others]) {
      if (object !== self) this.#feed(object);
      this.log.push(`begins with ${named(object)}`);
    }
  }

  #ours(): readonly (readonly string[])[] {
    const others = new Set(this.#others.keys());
    return this.#databases.map((database) => contents(database, others));
  }

  /** One thing that happens, then what the daemon makes of it. */
  async step(): Promise<void> {
    const kind = this.#random.below(12);
    if (kind < 6) {
      for (let i = 0; i <= this.#random.below(3); i++) this.#changeObjects();
      await (this.#random.is(0.3) ? this.#besideRefusals() : this.#flush());
    } else if (kind < 8) this.#edit(this.#isForgetful);
    else if (kind < 9) this.#obstruct();
    else if (kind < 10) this.#clear();
    else if (kind < 11) await this.#die();
    else this.#now += 1500;
    await this.#settle();
  }

  /** Everything that is not as it should be goes, and so does the daemon: a new one has nothing to do. */
  async end(): Promise<void> {
    this.#clear();
    for (const object of this.objects.mend()) this.#feed(object);
    this.#isForgetful = false;
    await this.#settle();
    const before = contents(this.northbound, new Set());
    this.log.push('restart at the end');
    this.#life.controller.close();
    this.#life = this.#live(this.#databases, () => this.objects.seen.values());
    this.#now += 2000;
    const committed = await this.#flush();
    // What nobody has used for a while goes with a restart, and nothing else.
    if (this.#renderEverywhere && committed !== 0)
      throw new Error(`a new daemon changed ${committed} rows of a right database`);
    await this.#settle();
    if (this.#renderEverywhere)
      same('after a restart', contents(this.northbound, new Set()), before);
    await this.#endWithNothing();
  }

  /** When everything is gone, so are its rows. */
  async #endWithNothing(): Promise<void> {
    for (const { object, isGone } of this.objects.removeAll()) {
      this.#feed(object, isGone);
      if (this.#random.is(0.1)) await this.#flush();
    }
    await this.#settle();
    const now = this.#ours();
    for (const [i, { schema }] of this.#databases.entries())
      same(`${schema.name} after everything`, now[i] ?? [], this.#atFirst[i] ?? []);
  }

  #feed(object: KubeObject, isGone = false): void {
    this.log.push(`${isGone ? 'gone' : 'put'} ${named(object)}`);
    feed(this.#life.intake, object, isGone);
  }

  #changeObjects(): void {
    for (const { object, isGone } of this.objects.change()) this.#feed(object, isGone);
  }

  async #flush(): Promise<number> {
    const { controller } = this.#life;
    let committed = 0;
    for (let pass = 0; pass < 3; pass++) {
      const why = controller.update();
      // It cannot know itself while its own annotations cannot be read.
      if (why !== undefined && this.#isForgetful) return 0;
      if (why !== undefined) throw new Error(why);
      const result = await controller.flush(signal);
      this.#check();
      if (result.kind === 'again') continue;
      committed += result.committed;
    }
    return committed;
  }

  #check(): void {
    if (this.#failure !== undefined) throw this.#failure;
  }

  /** Passes beside a server that refuses or loses every other transaction. */
  async #besideRefusals(): Promise<void> {
    const answers: readonly Outcome[] = [
      { kind: 'error', error: 'constraint violation', details: 'by chance' },
      { kind: 'error', error: 'constraint violation', details: 'by chance' },
      { kind: 'try-again', reason: 'by chance' },
      { kind: 'unknown', reason: 'by chance' },
    ];
    this.log.push('refusals');
    this.#intercept(() => (this.#random.is(0.5) ? this.#random.pick(answers) : undefined));
    for (let round = 0; round < 3; round++) {
      await this.#flush();
      if (this.#random.is(0.5)) this.#changeObjects();
      if (this.#random.is(0.5)) this.#edit(true);
      if (this.#random.is(0.5)) this.#now += REST;
    }
    this.#intercept(undefined);
    this.#now += REST;
  }

  #intercept(answer: (() => Outcome | undefined) | undefined): void {
    for (const database of this.#databases)
      database.intercept =
        answer === undefined
          ? undefined
          : (operations) => (operations.some(({ op }) => op === 'select') ? undefined : answer());
  }

  /** The daemon dies within a pass; another one begins. */
  async #die(): Promise<void> {
    let left = this.#random.below(4);
    this.log.push(`dies after ${left} transactions`);
    this.#changeObjects();
    this.#intercept(() => {
      left -= 1;
      if (left >= 0)
        return this.#random.is(0.3)
          ? { kind: 'error', error: 'constraint violation', details: 'x' }
          : undefined;
      return { kind: 'unknown', reason: 'it is dead' };
    });
    await this.#flush();
    this.#life.controller.close();
    this.#intercept(undefined);
    this.#now += REST;
    if (this.objects.isTorn) this.#isForgetful = true;
    this.#life = this.#live(this.#databases, () => this.objects.seen.values());
  }

  /** What the zone comes to, and whether that is right. */
  async #settle(): Promise<void> {
    await this.#flush();
    this.#now += REST;
    await this.#flush();
    this.#checkOthers();
    if (this.#isForgetful && this.objects.isTorn) return;
    this.#isForgetful = false;
    if (this.#obstacles.length > 0) return;
    const exposed = [...this.#exposedPorts()];
    if (exposed.length > 0) throw new Error(`reached although isolated: ${exposed.join(', ')}`);
    await this.#checkContents();
  }

  async #checkContents(): Promise<void> {
    const fresh = [new MemoryDatabase(NORTHBOUND), new MemoryDatabase(SOUTHBOUND)] as const;
    const shuffled = [...this.objects.effective.values()].toSorted(
      () => this.#random.number() - 0.5,
    );
    const life = this.#live(fresh, () => shuffled);
    // In use until a moment ago, as far as the old daemon knows.
    for (const [network, use] of this.#life.facts.usage.table.entries())
      if (use.unusedSince !== undefined) life.facts.usage.use(network, 'the past');
    life.controller.update();
    await life.controller.flush(signal);
    life.controller.update();
    await life.controller.flush(signal);
    life.controller.close();
    const others = new Set(this.#others.keys());
    const heldBack = this.#heldBack(others);
    for (const [i, database] of this.#databases.entries()) {
      const wanted = contents(fresh[i] as MemoryDatabase, new Set());
      const found = contents(database, others).filter(
        (text) => wanted.includes(text) || !heldBack.has(text),
      );
      same(database.schema.name, found, wanted);
    }
  }

  /**
   * Rows of which nobody can tell since a start whether they are wanted, while some NAD can't be read (docs/engine.md), and of which that is said:
   * bindings whose port somebody took away, policies of administrators on networks that the NAD may be of, and what its namespace has there.
   */
  #heldBack(others: ReadonlySet<string>): ReadonlySet<string> {
    const { controller, facts } = this.#life;
    const isSaid = controller
      .problems()
      .some(({ message }) => message.includes('that nobody wants stay'));
    if (!isSaid || facts.unreadable.size === 0) return new Set();
    const spaces = [...facts.unreadable.keys()].flatMap(
      (object) => /^NetworkAttachmentDefinition (.+)\/.+$/.exec(object)?.[1] ?? [],
    );
    const ofNamespace = new RegExp(`heddle=\\w+ (${spaces.join('|')})[/ ]`);
    const ports = new Set(
      this.northbound.rows('Logical_Router_Port').map((row) => row.column('name')),
    );
    const text = (row: ReplicaRow): string =>
      textOf(this.northbound, row, (uuid) => others.has(uuid));
    return new Set([
      ...this.northbound
        .rows('Static_MAC_Binding')
        .filter((row) => !ports.has(row.column('logical_port')))
        .map(text),
      ...['Port_Group', 'Address_Set', 'ACL']
        .flatMap((table) => this.northbound.rows(table).map(text))
        .filter(
          (one) =>
            /(Admin|Cluster)NetworkPolicy /.test(one) ||
            (spaces.length > 0 && ofNamespace.test(one)),
        ),
    ]);
  }

  /** Writes of others. */
  #foreign(what: string, write: () => void): void {
    this.log.push(what);
    this.#isForeignWrite = true;
    try {
      write();
    } finally {
      this.#isForeignWrite = false;
    }
    this.#exposed = this.#exposedPorts();
  }

  /** Inserts rows that are others'. */
  #own(database: MemoryDatabase, operations: readonly Operation[]): readonly string[] {
    const uuids = database.write(...operations);
    const tables = operations.flatMap((one) => (one.op === 'insert' ? [one.table] : []));
    for (const [i, uuid] of uuids.entries()) {
      const row = database.row(tables[i] ?? '', uuid);
      if (row !== undefined) this.#others.set(uuid, { row, text: textOf(database, row, nothing) });
    }
    return uuids;
  }

  #checkOthers(): void {
    for (const [uuid, { row, text }] of this.#others) {
      const database = this.#databases.find((one) => one.row(row.table, uuid) !== undefined);
      if (database === undefined) {
        // A port of theirs on a switch of ours goes with the switch.
        if (row.table !== 'Logical_Switch_Port' && row.table !== 'Logical_Router_Static_Route')
          throw new Error(`gone: ${text}`);
        this.#others.delete(uuid);
        continue;
      }
      const now = textOf(database, row, nothing);
      if (now !== text) throw new Error(`changed:\n  ${text}\n  ${now}`);
    }
  }

  /**
   * Somebody changes a row of ours. Its mark and its name only while a daemon puts that right before it is wanted no more: whose a
   * row is nobody knows otherwise.
   */
  #edit(keepsMarks: boolean): void {
    const random = this.#random;
    const database = random.is(0.8) ? this.northbound : this.southbound;
    const ours = [...database.schema.tables.keys()]
      .flatMap((table) => database.rows(table))
      .filter((row) => !this.#others.has(row.uuid) && row.table !== 'NB_Global');
    if (ours.length === 0) return;
    // What isolates is edited more often than its share of the rows.
    const isolating = ours.filter((one) => one.table === 'ACL' && one.column('action') === 'drop');
    const row = random.pick(isolating.length > 0 && random.is(0.3) ? isolating : ours);
    const where = [['_uuid', '==', ['uuid', row.uuid]]] as const;
    const { table } = row;
    const holders = database.referrers(table, row.uuid);
    const kind = keepsMarks ? random.pick([0, 4, 5, 6]) : random.below(7);
    const edits: Operation[] = [];
    if (kind === 0) {
      edits.push({ op: 'delete', table, where });
      for (const holder of holders)
        edits.unshift({
          op: 'mutate',
          table: holder.table,
          where: [['_uuid', '==', ['uuid', holder.uuid]]],
          mutations: [[holder.column, 'delete', ['uuid', row.uuid]]],
        });
    } else if (kind === 1 && database.hasColumn(table, 'external_ids'))
      edits.push({
        op: 'mutate',
        table,
        where,
        mutations: [['external_ids', 'delete', ['set', [MARK]]]],
      });
    else if (kind === 2 && database.hasColumn(table, 'external_ids'))
      edits.push({
        op: 'update',
        table,
        where,
        row: { external_ids: ['map', [[MARK, 'Pod a/b']]] },
      });
    else if (kind === 3 && database.hasColumn(table, 'name') && table !== 'Chassis')
      edits.push({ op: 'update', table, where, row: { name: `x${random.below(1000)}` } });
    else if (kind === 4) {
      const holder = holders.length === 0 ? undefined : random.pick(holders);
      if (holder !== undefined)
        edits.push({
          op: 'mutate',
          table: holder.table,
          where: [['_uuid', '==', ['uuid', holder.uuid]]],
          mutations: [[holder.column, 'delete', ['uuid', row.uuid]]],
        });
    } else if (kind === 5) {
      // To another holder of the same table.
      const [holder] = holders;
      const other =
        holder &&
        database
          .rows(holder.table)
          .find(({ uuid }) => uuid !== holder.uuid && !this.#others.has(uuid));
      if (holder !== undefined && other !== undefined)
        edits.push(
          {
            op: 'mutate',
            table: holder.table,
            where: [['_uuid', '==', ['uuid', holder.uuid]]],
            mutations: [[holder.column, 'delete', ['uuid', row.uuid]]],
          },
          {
            op: 'mutate',
            table: holder.table,
            where: [['_uuid', '==', ['uuid', other.uuid]]],
            mutations: [[holder.column, 'insert', ['uuid', row.uuid]]],
          },
        );
    } else {
      const column = random.pick([
        'addresses',
        'priority',
        'match',
        'nexthop',
        'options',
        'ports',
        'acls',
        'networks',
        'hostname',
      ]);
      const wrong: Readonly<Record<string, JsonValue>> = {
        addresses: ['set', []],
        priority: 7,
        match: '1',
        nexthop: '9.9.9.9',
        options: ['map', [['a', 'b']]],
        ports: ['set', []],
        acls: ['set', []],
        networks: '9.9.9.9/24',
        hostname: 'x',
      };
      if (database.hasColumn(table, column))
        edits.push({ op: 'update', table, where, row: { [column]: wrong[column] as JsonValue } });
    }
    if (edits.length === 0) return;
    this.#foreign(`edit ${kind} of ${textOf(database, row, nothing).slice(0, 120)}`, () => {
      try {
        database.write(...edits);
      } catch {
        // The server refused it.
        this.log.push('  refused');
      }
    });
  }

  /** Rows of others, on ours, and in their way. */
  #obstruct(): void {
    const random = this.#random;
    const database = this.northbound;
    const kind = random.below(4);
    const ours = (table: string): ReplicaRow[] =>
      database.rows(table).filter(({ uuid }) => !this.#others.has(uuid));
    if (kind < 2) {
      const table = kind === 0 ? 'Logical_Switch' : 'Logical_Router';
      const holders = ours(table);
      if (holders.length === 0) return;
      const holder = random.pick(holders);
      const uuid = crypto.randomUUID();
      this.#foreign(`a row on ${textOf(database, holder, nothing).slice(0, 60)}`, () => {
        this.#own(database, [
          kind === 0
            ? { op: 'insert', table: 'Logical_Switch_Port', uuid, row: { name: uuid } }
            : {
                op: 'insert',
                table: 'Logical_Router_Static_Route',
                uuid,
                row: { ip_prefix: `1.2.3.${random.below(9)}/32`, nexthop: '1.1.1.1' },
              },
          {
            op: 'mutate',
            table,
            where: [['_uuid', '==', ['uuid', holder.uuid]]],
            mutations: [[kind === 0 ? 'ports' : 'static_routes', 'insert', ['uuid', uuid]]],
          },
        ]);
      });
      return;
    }
    const table = random.pick(['Logical_Switch', 'Port_Group', 'Address_Set', 'Logical_Router']);
    const rows = ours(table);
    if (rows.length === 0) return;
    const row = random.pick(rows);
    const name = row.column('name') as string;
    this.#foreign(`${table} ${name} becomes somebody else's`, () => {
      try {
        database.write({ op: 'delete', table, where: [['_uuid', '==', ['uuid', row.uuid]]] });
        const [uuid = ''] = this.#own(database, [
          { op: 'insert', table, row: { name, external_ids: ['map', [['owner', 'me']]] } },
        ]);
        this.#obstacles.push({ table, uuid });
      } catch {
        this.log.push('  refused');
      }
    });
  }

  #clear(): void {
    this.#foreign('nothing is in the way any more', () => {
      for (const { table, uuid } of this.#obstacles) {
        this.#others.delete(uuid);
        this.northbound.write({ op: 'delete', table, where: [['_uuid', '==', ['uuid', uuid]]] });
      }
    });
    this.#obstacles = [];
  }

  /** A transaction of ours: it must not open what was closed. */
  #look(database: MemoryDatabase): void {
    if (database !== this.northbound || this.#failure !== undefined) return;
    const now = this.#exposedPorts();
    const opened = [...now].filter((name) => !this.#exposed.has(name));
    if (opened.length > 0) {
      const sent = JSON.stringify(database.transactions.at(-1)).slice(0, 3000);
      this.#failure = new Error(`a transaction opened ${opened.join(', ')}: ${sent}`);
    }
    this.#exposed = now;
  }

  #exposedPorts(): ReadonlySet<string> {
    return exposedPorts(this.northbound, this.#settings.features.multicast);
  }
}

const named = ({ kind, metadata }: KubeObject): string =>
  `${kind} ${metadata.namespace === undefined ? '' : `${metadata.namespace}/`}${metadata.name} ${JSON.stringify(metadata.annotations ?? {})}`;
