/** Ports of pods on br-int, in the node's Open_vSwitch database: made and removed as a whole, and watched until ovn-controller has them. */
import type { Bandwidth } from '../../api/annotations/bandwidth-annotations.ts';
import { CNI_CODE, CniError } from '../protocol/cni-error.ts';
import type { CniInterface } from '../protocol/result.ts';
import { INTEGRATION_BRIDGE } from '../../node/names.ts';
import {
  OutcomeError,
  type JsonValue,
  type Operation,
  type OperationResult,
  type ReplicaRow,
} from 'ovsdb-client-ts';
import type { OpenDatabase } from '../../databases/open-database.ts';
import { errorText } from '../../api/error-text.ts';

/** A port of a pod. */
export interface PodPort {
  /** Of the port and of the link on the host. */
  readonly name: string;
  readonly container: string;
  /** Name in the pod. */
  readonly device: string;
  readonly logicalPort: string;
  readonly nadKey: string | undefined;
  /** With prefix length. */
  readonly addresses: readonly string[];
  readonly isInstalled: boolean;
}

/** Milliseconds: what a daemon that was just started needs, on a busy machine. A runtime tries again by itself later. */
const PATIENCE = 20_000;

const byName = (
  name: string,
): readonly [readonly [column: string, function_: '==', value: JsonValue]] => [
  ['name', '==', name],
];

const mapOf = (entries: Readonly<Record<string, string>>): JsonValue => [
  'map',
  Object.entries(entries),
];

export class PodPorts {
  readonly #database: OpenDatabase;
  readonly #patience: number;

  /** `patience`: milliseconds to wait for a database that can't be written. */
  constructor(database: OpenDatabase, patience = PATIENCE) {
    this.#database = database;
    this.#patience = patience;
  }

  /** Why ports can't be made now, or undefined. */
  unavailable(): string | undefined {
    return this.#database.unavailable();
  }

  /**
   * Waits while the database can't be written, as after a start: what it holds would be guessed. Throws CniError when that takes longer, or
   * `signal` aborts.
   */
  async available(signal: AbortSignal): Promise<void> {
    if (this.unavailable() === undefined) return;
    const limit = AbortSignal.any([signal, AbortSignal.timeout(this.#patience)]);
    try {
      await this.#database.ready(limit);
    } catch (error) {
      const why = this.unavailable() ?? errorText(error);
      throw new CniError(why, CNI_CODE.tryAgainLater);
    }
  }

  /** Whether packets of br-int are forwarded by ovs-vswitchd itself, not by the kernel. */
  get isUserspace(): boolean {
    const [bridge] = this.#database.replica.find('Bridge', ['name'], [INTEGRATION_BRIDGE]);
    return bridge?.column('datapath_type') === 'netdev';
  }

  get hasBridge(): boolean {
    return this.#database.replica.find('Bridge', ['name'], [INTEGRATION_BRIDGE]).length > 0;
  }

  /** Of one container, or of all. */
  list(container?: string): readonly PodPort[] {
    const { replica } = this.#database;
    const rows =
      container === undefined
        ? [...replica.rows('Interface')]
        : replica.find('Interface', [{ column: 'external_ids', key: 'sandbox' }], [container]);
    return rows.flatMap(podPort);
  }

  get(name: string): PodPort | undefined {
    return this.#named(name).flatMap(podPort)[0];
  }

  /** Adds all ports in one transaction; other ports of the same logical ports go with it (reference/node.md §6.3). */
  async add(interfaces: readonly CniInterface[]): Promise<void> {
    for (const { hostDevice } of interfaces)
      if (this.#named(hostDevice).length > 0)
        throw new CniError(`${INTEGRATION_BRIDGE} has a port ${hostDevice} already`);
    const stale = interfaces.flatMap(({ externalIds }) =>
      this.#database.replica.find(
        'Interface',
        [{ column: 'external_ids', key: 'iface-id' }],
        [externalIds['iface-id'] ?? ''],
      ),
    );
    const rows = interfaces.flatMap(
      ({ hostDevice, externalIds, bandwidth }, index): Operation[] => [
        {
          op: 'insert',
          table: 'Interface',
          'uuid-name': `interface${index}`,
          row: { name: hostDevice, external_ids: mapOf(externalIds), ...policing(bandwidth) },
        },
        ...shaping(externalIds, bandwidth, `qos${index}`),
        {
          op: 'insert',
          table: 'Port',
          'uuid-name': `port${index}`,
          row: {
            name: hostDevice,
            interfaces: ['named-uuid', `interface${index}`],
            ...(bandwidth?.ingress === undefined ? {} : { qos: ['named-uuid', `qos${index}`] }),
            // ovs-vsctl removes it when the machine was started anew.
            other_config: mapOf({ transient: 'true' }),
          },
        },
      ],
    );
    const added: JsonValue = [
      'set',
      interfaces.map((_, index): JsonValue => ['named-uuid', `port${index}`]),
    ];
    const stalePorts = stale.flatMap((row) => this.#portUuids(row));
    const results = await this.#transact([
      ...rows,
      {
        op: 'mutate',
        table: 'Bridge',
        where: byName(INTEGRATION_BRIDGE),
        mutations: [
          ...(stalePorts.length === 0 ? [] : [['ports', 'delete', uuids(stalePorts)] as const]),
          ['ports', 'insert', added],
        ],
      },
      ...stalePorts.map(letGoOfLimits),
      ...stale.flatMap(podPort).map(({ container, device }) => withoutLimits(container, device)),
    ]);
    if (results.at(rows.length)?.count !== 1)
      throw new CniError(
        `there is no bridge ${INTEGRATION_BRIDGE}: is ovn-controller running?`,
        CNI_CODE.tryAgainLater,
      );
  }

  /** Removes ports with their limits; with `container`, all limits that were set for it. What is gone already is no error. */
  async remove(ports: readonly PodPort[], container?: string): Promise<void> {
    const limits =
      container === undefined
        ? ports.map((port) => withoutLimits(port.container, port.device))
        : [withoutLimits(container)];
    const found = ports.flatMap(({ name }) =>
      this.#named(name).flatMap((row) => this.#portUuids(row)),
    );
    if (found.length === 0 && limits.length === 0) return;
    const mutations = [['ports', 'delete', uuids(found)] as const];
    await this.#transact([
      ...found.map(letGoOfLimits),
      { op: 'mutate', table: 'Bridge', where: byName(INTEGRATION_BRIDGE), mutations },
      ...limits,
    ]);
  }

  /** What ovs-vswitchd says is wrong with ports, by name. */
  async errors(names: readonly string[]): Promise<readonly string[]> {
    const results = await this.#transact(
      names.map((name) => ({
        op: 'select',
        table: 'Interface',
        where: byName(name),
        columns: ['name', 'error'],
      })),
    );
    return results
      .flatMap(({ rows = [] }) => rows)
      .flatMap(({ name, error }) =>
        typeof name === 'string' && typeof error === 'string' ? [`${name}: ${error}`] : [],
      );
  }

  /** Calls `listener` when ports may have changed. */
  onChange(listener: () => void): () => void {
    return this.#database.replica.subscribe(listener, { tables: ['Interface'] });
  }

  /** Calls `listener` with the containers of ports that are gone, whoever removed them; with none, when a bridge is there again. */
  onLost(listener: (containers: readonly string[]) => void): () => void {
    return this.#database.replica.subscribe(
      ({ tables }) => {
        const lost = (tables.get('Interface')?.rows ?? []).flatMap(({ kind, old }) =>
          kind === 'deleted' ? containerOf(old.get('external_ids')) : [],
        );
        const isBack = tables.get('Bridge')?.rows.some(({ kind }) => kind === 'inserted');
        if (lost.length > 0 || isBack === true) listener(isBack === true ? [] : lost);
      },
      { tables: ['Interface', 'Bridge'] },
    );
  }

  #named(name: string): readonly ReplicaRow[] {
    return this.#database.replica.find('Interface', ['name'], [name]);
  }

  #portUuids({ uuid }: ReplicaRow): readonly string[] {
    return this.#database.replica
      .referrers('Interface', uuid)
      .flatMap((referrer) => (referrer.table === 'Port' ? [referrer.uuid] : []));
  }

  async #transact(operations: readonly Operation[]): Promise<readonly OperationResult[]> {
    const outcome = await this.#database.transactor.transact([
      ...operations,
      { op: 'comment', comment: 'heddle cni' },
    ]);
    if (outcome.kind === 'success') return outcome.results;
    if (outcome.kind === 'unchanged') return [];
    const { message } = new OutcomeError(outcome);
    throw new CniError(
      `Open_vSwitch: ${message}`,
      outcome.kind === 'error' ? CNI_CODE.failed : CNI_CODE.tryAgainLater,
    );
  }
}

/** ovs-vswitchd keeps 32 bits. */
const MOST_KBITS = 2 ** 32 - 1;

/** What a pod sends is dropped beyond its limit: kbit/s, and a tenth of that in one burst (reference/node.md §6.3). */
const policing = ({ egress }: Bandwidth = {}): Readonly<Record<string, JsonValue>> => {
  if (egress === undefined) return {};
  const rate = Math.min(Math.floor(egress / 1000), MOST_KBITS);
  return {
    ingress_policing_rate: rate,
    ingress_policing_burst: Math.max(1, Math.floor(rate / 10)),
  };
};

/** What is sent to it is queued. The row outlives its port, so it says whose it is. */
const shaping = (
  { sandbox = '', 'pod-if-name': device = '' }: Readonly<Record<string, string>>,
  { ingress }: Bandwidth = {},
  name: string,
): Operation[] =>
  ingress === undefined
    ? []
    : [
        {
          op: 'insert',
          table: 'QoS',
          'uuid-name': name,
          row: {
            type: 'linux-htb',
            other_config: mapOf({ 'max-rate': String(ingress) }),
            external_ids: mapOf({ sandbox, 'pod-if-name': device }),
          },
        },
      ];

/** A row that something refers to can't be deleted, also when that goes in the same transaction. */
const letGoOfLimits = (port: string): Operation => ({
  op: 'update',
  table: 'Port',
  where: [['_uuid', '==', ['uuid', port]]],
  row: { qos: ['set', []] },
});

const withoutLimits = (container: string, device?: string): Operation => ({
  op: 'delete',
  table: 'QoS',
  where: [
    [
      'external_ids',
      'includes',
      mapOf({ sandbox: container, ...(device === undefined ? {} : { 'pod-if-name': device }) }),
    ],
  ],
});

/** Of the pod's port that has these `external_ids`; none of another one. */
const containerOf = (externalIds: unknown): readonly string[] => {
  const container: unknown = externalIds instanceof Map ? externalIds.get('sandbox') : undefined;
  return typeof container === 'string' ? [container] : [];
};

const uuids = (list: readonly string[]): JsonValue => [
  'set',
  list.map((uuid): JsonValue => ['uuid', uuid]),
];

/** Nothing for an interface that is no pod's. */
function podPort(row: ReplicaRow): PodPort[] {
  const name = row.column('name');
  const ids = row.column('external_ids');
  if (typeof name !== 'string' || !(ids instanceof Map)) return [];
  const text = (key: string): string | undefined => {
    const value: unknown = ids.get(key);
    return typeof value === 'string' ? value : undefined;
  };
  const [container, device, logicalPort] = [text('sandbox'), text('pod-if-name'), text('iface-id')];
  if (container === undefined || device === undefined || logicalPort === undefined) return [];
  const nadKey = text('k8s.ovn.org/nad');
  const addresses = text('ip_addresses')?.split(',') ?? [];
  const isInstalled = text('ovn-installed') === 'true';
  return [{ name, container, device, logicalPort, nadKey, addresses, isInstalled }];
}
