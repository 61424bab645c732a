/**
 * A proof of Northbound that is kept while rows and objects change: what a change cannot have touched is not judged again. Each switch and router, load
 * balancer, tunnel key, row of QoS and what pods of a network get and send is a unit, and is known to have read certain rows and objects; when one of those is another one, the unit is judged again.
 * It finds what a proof from nothing finds (verify.ts), by the same checks.
 */
import {
  checkGroupAllowances,
  checkHomeAllowances,
  checkLeg,
  checkLockedGroup,
} from '../checks/access-lists.ts';
import { checkClaim, cutAtPort } from '../checks/cut.ts';
import { checkHeaders } from '../checks/headers.ts';
import { checkPoliced } from '../checks/policed.ts';
import type { Policed } from '../checks/policed-network.ts';
import { checkLoadBalancer, hangingAt, noLoadBalancers } from '../checks/load-balancers.ts';
import { checkDhcp, checkKey } from '../checks/ports.ts';
import { checkAddresses, checkQos, checkRouter } from '../checks/routers.ts';
import { edgesOf, Findings, type Edge, type Violation } from '../findings.ts';
import { hostPortNumbers } from '../intent/services.ts';
import { uuidOf, type Row } from '../rows.ts';
import type { Objects, Settings } from '../snapshot.ts';
import { KeptDatapaths, type Renewed } from './kept-datapaths.ts';
import { KeptIntent } from './kept-intent.ts';
import { KeptRows, type ChangedRows } from './kept-rows.ts';
import { KeptRules, type ChangedPolicies } from './kept-rules.ts';
import { KeptServices } from './kept-services.ts';
import { Readers, type Unit } from './readers.ts';

type Kind = keyof Objects;

type ObjectOf<K extends Kind> = NonNullable<Objects[K]>[number];

/** Objects by kind and `<namespace>/<name>`; undefined where one is gone. */
export type ChangedObjects = {
  readonly [K in Kind]?: ReadonlyMap<string, ObjectOf<K> | undefined>;
};

export interface Changes {
  readonly rows?: ChangedRows;
  readonly objects?: ChangedObjects;
  readonly policies?: ChangedPolicies;
}

type Check = (findings: Findings) => Iterable<undefined>;

const NO_STEPS: readonly undefined[] = [];

const KINDS = {
  attachmentDefinitions: 'few',
  clusterNetworks: 'few',
  networks: 'few',
  connects: 'few',
  namespaces: 'few',
  nodes: 'few',
  egressIps: 'few',
  pods: 'pods',
  services: 'services',
  slices: 'services',
} as const satisfies Record<Kind, string>;

export class KeptProof {
  readonly #settings: Settings;
  readonly #readers = new Readers();
  readonly #rows = new KeptRows(this.#readers);
  readonly #datapaths = new KeptDatapaths(this.#readers);
  readonly #services = new KeptServices(this.#readers);
  readonly #rules = new KeptRules(this.#readers);
  readonly #intent: KeptIntent;
  readonly #objects: { readonly [K in Kind]: Map<string, ObjectOf<K>> } = {
    attachmentDefinitions: new Map(),
    clusterNetworks: new Map(),
    networks: new Map(),
    connects: new Map(),
    namespaces: new Map(),
    nodes: new Map(),
    egressIps: new Map(),
    pods: new Map(),
    services: new Map(),
    slices: new Map(),
  };
  readonly #units = new Map<string, Unit>();
  readonly #found = new Map<string, Findings>();
  /** Load balancers of each network, with where they hang. */
  readonly #hanging = new Map<string, ReadonlyMap<string, string>>();
  #hasBegun = false;
  /** Whether cluster-wide networks are told, if there are any. */
  #hasClusterNetworks = false;
  /** Whether policies and firewalls are told, if there are any: rows are compared with them then. */
  #hasPolicies = false;

  constructor(node: string, settings: Settings) {
    this.#settings = settings;
    this.#intent = new KeptIntent(node, this.#readers);
    this.#judge('default network', (findings) => {
      checkLockedGroup(this.#rows, this.#intent.intent, findings);
    });
  }

  /** Takes what has changed; what it touches waits until it is judged. */
  apply({ rows, objects, policies }: Changes): void {
    this.#applyObjects(objects ?? {});
    if (policies !== undefined) this.#applyPolicies(policies);
    for (const [table, changed] of rows ?? [])
      for (const [uuid, row] of changed) {
        this.#rows.set(table, uuid, row);
        this.#datapaths.set(table, uuid, row);
        this.#row(table, uuid, row !== undefined);
      }
    const { renewed, keys } = this.#datapaths.renew();
    for (const one of renewed) {
      this.#datapath(one);
      this.#ports(one);
    }
    for (const key of keys) this.#key(key);
  }

  /** How much waits to be judged. */
  get waiting(): number {
    return this.#readers.waiting;
  }

  /** Judges what waits, for about so many milliseconds (one step at least), so that others may have their turn before the rest. */
  judge(milliseconds = Number.POSITIVE_INFINITY): void {
    const end = performance.now() + milliseconds;
    while (this.#readers.step() && performance.now() < end);
  }

  get violations(): readonly Violation[] {
    return this.#all().flatMap(({ violations }) => violations);
  }

  /** What could not be told from rows and objects. */
  get undecided(): readonly string[] {
    return [...new Set(this.#all().flatMap(({ undecided }) => undecided))];
  }

  get edges(): readonly Edge[] {
    return edgesOf(this.#all());
  }

  #all(): readonly Findings[] {
    return [this.#intent.findings, ...this.#found.values()];
  }

  #applyPolicies(changes: ChangedPolicies): void {
    this.#rules.apply(changes);
    if (this.#hasPolicies) return;
    this.#hasPolicies = true;
    for (const name of this.#hanging.keys()) this.#judgePolicies(name);
  }

  #applyObjects(changes: ChangedObjects): void {
    const touched = new Set<string>();
    for (const [key, pod] of changes.pods ?? []) {
      const before = this.#objects.pods.get(key);
      if ([before, pod].some((one) => one !== undefined && hostPortNumbers(one).length > 0))
        touched.add('services');
    }
    const take = <K extends Kind>(kind: K): void => {
      for (const [key, object] of changes[kind] ?? []) {
        const known = this.#objects[kind];
        if (object === undefined) known.delete(key);
        else known.set(key, object);
        touched.add(KINDS[kind]);
      }
    };
    for (const kind of Object.keys(KINDS) as Kind[]) take(kind);
    const { policed } = this.#intent;
    for (const [name, namespace] of changes.namespaces ?? []) policed.setNamespace(name, namespace);
    for (const [name, node] of changes.nodes ?? []) policed.setNode(name, node);
    this.#hasClusterNetworks ||= changes.clusterNetworks !== undefined;
    const objects = this.#lists(this.#hasClusterNetworks);
    const isOther =
      (touched.has('few') || !this.#hasBegun) && this.#intent.readFew(objects, this.#settings);
    if (isOther) {
      const { networks, connections } = this.#intent;
      this.#datapaths.rename({ networks, connections, node: this.#intent.intent.node });
      this.#networks();
    }
    for (const [key, pod] of changes.pods ?? []) this.#intent.setPod(key, pod);
    if (isOther || touched.has('services')) this.#services.read(objects, this.#intent.intent);
    this.#hasBegun = true;
  }

  /** Lists that are made when somebody reads them: most changes are of pods, and need none. */
  #lists(hasClusterNetworks: boolean): Objects {
    const known = this.#objects;
    return {
      get attachmentDefinitions() {
        return [...known.attachmentDefinitions.values()];
      },
      get clusterNetworks() {
        return hasClusterNetworks ? [...known.clusterNetworks.values()] : undefined;
      },
      get networks() {
        return [...known.networks.values()];
      },
      get connects() {
        return [...known.connects.values()];
      },
      get namespaces() {
        return [...known.namespaces.values()];
      },
      get nodes() {
        return [...known.nodes.values()];
      },
      get pods() {
        return [...known.pods.values()];
      },
      get services() {
        return [...known.services.values()];
      },
      get slices() {
        return [...known.slices.values()];
      },
      get egressIps() {
        return [...known.egressIps.values()];
      },
    };
  }

  #judge(name: string, check: (findings: Findings) => void): void {
    this.#unit(name, false, (findings) => {
      check(findings);
      return NO_STEPS;
    });
  }

  /** Of what takes long: others may have their turn where it yields. */
  #judgeByStep(name: string, check: Check): void {
    this.#unit(name, true, check);
  }

  #unit(name: string, isLong: boolean, check: Check): void {
    if (this.#units.has(name)) return;
    const unit: Unit = { name, isLong, reads: new Set(), judge: () => this.#steps(name, check) };
    this.#units.set(name, unit);
    this.#readers.add(unit);
  }

  *#steps(name: string, check: Check): Generator<undefined, void> {
    const findings = new Findings();
    yield* check(findings);
    if (findings.isEmpty) this.#found.delete(name);
    else this.#found.set(name, findings);
  }

  #forget(name: string): void {
    const unit = this.#units.get(name);
    if (unit === undefined) return;
    this.#readers.remove(unit);
    this.#units.delete(name);
    this.#found.delete(name);
  }

  /** It is judged again whatever it has read: it is another one. */
  #again(name: string): void {
    const unit = this.#units.get(name);
    if (unit !== undefined) this.#readers.add(unit);
  }

  #datapath({ uuid, now }: Renewed): void {
    const name = `datapath ${uuid}`;
    if (now === undefined) {
      this.#forget(name);
      return;
    }
    const { lookup } = this.#datapaths;
    const { intent } = this.#intent;
    this.#judge(name, (findings) => {
      const datapath = this.#datapaths.find(uuid);
      if (datapath === undefined) return;
      checkClaim(datapath, intent, findings);
      checkRouter(datapath, this.#rows, this.#settings, intent, lookup, findings);
      noLoadBalancers(datapath, this.#rows, findings);
      checkHomeAllowances(datapath, this.#rows, intent, findings);
    });
    this.#again(name);
  }

  /** Ports of a switch or router that are others than before; all of them where its owner is. */
  #ports({ uuid, before, now, isAnother }: Renewed): void {
    const rows = new Map(now?.ports.map((port) => [uuidOf(port), port]));
    const known = new Map(before?.ports.map((port) => [uuidOf(port), port]));
    for (const port of known.keys()) if (!rows.has(port)) this.#forget(`port ${port} of ${uuid}`);
    for (const [port, row] of rows) {
      if (!isAnother && known.get(port) === row) continue;
      const name = `port ${port} of ${uuid}`;
      this.#judge(name, (findings) => {
        this.#port(port, uuid, findings);
      });
      this.#again(name);
    }
  }

  #port(uuid: string, of: string, findings: Findings): void {
    const datapath = this.#datapaths.find(of);
    const port = this.#datapaths.port(uuid);
    if (datapath === undefined || port === undefined) return;
    const { intent } = this.#intent;
    cutAtPort(port, datapath, intent, this.#datapaths.lookup, findings, new Set());
    checkAddresses(port, datapath, this.#settings, intent, findings);
    checkDhcp(port, datapath, this.#rows, intent, findings);
    checkLeg(port, datapath, this.#rows, intent, findings);
  }

  #key(key: string): void {
    if (this.#datapaths.asking(key).length === 0) {
      this.#forget(`key ${key}`);
      return;
    }
    this.#judge(`key ${key}`, (findings) => {
      checkKey(key, this.#datapaths.asking(key), this.#intent.intent, findings);
    });
  }

  /** Rows that are judged by themselves. */
  #row(table: string, uuid: string, isThere: boolean): void {
    const check = this.#rowChecks[table];
    if (check === undefined) return;
    const name = `${table} ${uuid}`;
    if (!isThere) {
      this.#forget(name);
      return;
    }
    this.#judge(name, (findings) => {
      const row = this.#rows.find(table, uuid);
      if (row !== undefined) check(row, findings);
    });
  }

  readonly #rowChecks: Readonly<Record<string, (row: Row, findings: Findings) => void>> = {
    QoS: (row, findings) => {
      checkQos(row, this.#intent.intent, findings);
    },
    Port_Group: (row, findings) => {
      const { lookup } = this.#datapaths;
      checkGroupAllowances(row, this.#rows, this.#intent.intent, lookup, findings);
    },
  };

  /** Of each network which load balancers it has, each of which is a unit of its own. */
  #networks(): void {
    const names = new Set(this.#intent.networks.map(({ name }) => name));
    for (const name of this.#hanging.keys())
      if (!names.has(name)) {
        this.#forget(`network ${name}`);
        this.#forget(`headers of ${name}`);
        this.#forget(`policies of ${name}`);
        this.#hang(name, new Map());
        this.#hanging.delete(name);
      }
    for (const name of names) {
      if (this.#hanging.has(name)) continue;
      this.#hanging.set(name, new Map());
      this.#judge(`network ${name}`, () => {
        this.#hang(name, hangingAt(name, this.#rows, this.#datapaths.lookup));
      });
      this.#judge(`headers of ${name}`, (findings) => {
        this.#headers(name, findings);
      });
      if (this.#hasPolicies) this.#judgePolicies(name);
    }
  }

  #judgePolicies(name: string): void {
    this.#judgeByStep(`policies of ${name}`, (findings) => this.#policies(name, findings));
  }

  *#policies(name: string, findings: Findings): Generator<undefined, void> {
    const { intent, policed } = this.#intent;
    const network = intent.byName.get(name);
    if (network === undefined) return;
    const at: Policed = {
      rows: this.#rows,
      datapaths: this.#datapaths.lookup,
      intent,
      services: this.#services.services,
      objects: policed.objects,
      rules: this.#rules.rules,
      settings: this.#settings,
    };
    yield* checkPoliced(network, at, findings);
  }

  #headers(name: string, findings: Findings): void {
    const { intent } = this.#intent;
    const network = intent.byName.get(name);
    if (network === undefined) return;
    const { services } = this.#services;
    checkHeaders(network, this.#rows, this.#datapaths.lookup, intent, services, findings);
  }

  #hang(network: string, now: ReadonlyMap<string, string>): void {
    const before = this.#hanging.get(network);
    this.#hanging.set(network, now);
    for (const uuid of before?.keys() ?? [])
      if (!now.has(uuid)) this.#forget(`load balancer ${uuid} ${network}`);
    for (const [uuid, at] of now) {
      const name = `load balancer ${uuid} ${network}`;
      this.#judge(name, (findings) => {
        this.#loadBalancer(uuid, network, findings);
      });
      if (before?.get(uuid) !== at) this.#again(name);
    }
  }

  #loadBalancer(uuid: string, name: string, findings: Findings): void {
    const at = this.#hanging.get(name)?.get(uuid);
    const { intent } = this.#intent;
    const network = intent.byName.get(name);
    if (at === undefined || network === undefined) return;
    const { services } = this.#services;
    checkLoadBalancer(uuid, at, network, this.#rows, this.#settings, intent, services, findings);
  }
}
