/** Collects what a unit wants of the host, so that builders read like the commands that would make it. */
import { asHost, type Family } from '../allocators/addresses.ts';
import type { Sink } from '../desired/features.ts';
import type { Containment, DesiredValue } from '../desired/rows.ts';
import {
  addressKey,
  LINUX,
  routeKey,
  ruleKey,
  type AddressColumns,
  type LinkColumns,
  type LinuxTable,
  type NeighbourColumns,
  type RouteColumns,
  type RuleColumns,
  type SysctlColumns,
} from './linux/linux-rows.ts';

export const OPEN_VSWITCH = 'Open_vSwitch';

/** Rows of one object, as one rule wants them. */
export class HostRows {
  readonly #out: Sink;
  readonly #object: string;
  readonly #rule: string;

  constructor(out: Sink, object: string, rule = '') {
    this.#out = out;
    this.#object = object;
    this.#rule = rule;
  }

  /** What follows a rule of the feature. */
  by(rule: string): HostRows {
    return new HostRows(this.#out, this.#object, rule);
  }

  link(columns: LinkColumns): void {
    this.#linux('link', columns.name, columns);
  }

  address(columns: AddressColumns): void {
    this.#linux('address', addressKey(columns), columns);
  }

  route(columns: RouteColumns): void {
    this.#linux('route', routeKey(columns), columns);
  }

  rule(columns: RuleColumns): void {
    this.#linux('rule', ruleKey(columns), columns);
  }

  neighbour(columns: NeighbourColumns): void {
    this.#linux('neighbour', addressKey(columns), columns);
  }

  /** `path` below /proc/sys. */
  sysctl(path: string, columns: SysctlColumns): void {
    this.#linux('sysctl', path, columns);
  }

  /** A row of the local Open_vSwitch database. */
  openVswitch(
    table: string,
    key: string,
    columns: Readonly<Record<string, DesiredValue>>,
    ...containers: Containment[]
  ): void {
    this.#out.row({
      database: OPEN_VSWITCH,
      table,
      key,
      columns,
      containers,
      rule: this.#rule,
      object: this.#object,
    });
  }

  /** A row of it that another program makes. */
  awaitedOpenVswitch(table: string, key: string): void {
    this.#out.row({
      database: OPEN_VSWITCH,
      table,
      key,
      columns: {},
      containers: [],
      rule: this.#rule,
      object: this.#object,
      partial: true,
    });
  }

  #linux(table: LinuxTable, key: string, columns: object): void {
    const present = Object.entries(columns).filter(([, value]) => value !== undefined);
    this.#out.row({
      database: LINUX,
      table,
      key,
      columns: Object.fromEntries(present),
      containers: [],
      rule: this.#rule,
      object: this.#object,
    });
  }
}

/** All there is of a family, in the syntax of ip(8). */
export const DEFAULT_ROUTE = 'default';

/** Destination of one address alone. */
export const hostRoute = (address: string): string => asHost(address);

/** Path below /proc/sys of a setting of a device. */
export const deviceSysctl = (family: Family, dev: string, name: string): string =>
  `net/ip${family}/conf/${dev}/${name}`;
