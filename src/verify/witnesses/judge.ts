/** Whether what programs say of a packet agrees with the proof: it comes out nowhere but on its own network, and where an object joins that with another one. */
import type { Violation } from '../findings.ts';
import { networkOf, ownerText, type Datapath } from '../intent/datapaths.ts';
import { list, member, pairs, rowsOf, text, uuidOf } from '../rows.ts';
import type { Snapshot } from '../snapshot.ts';
import type { Proof } from '../verify.ts';
import type { Witness } from './choice.ts';
import type { Output, Trace } from './traces.ts';

const INTEGRATION_BRIDGE = 'br-int';

/** Whose an output is; undefined for what is of no network: the uplink, the host. */
export type OwnerOf = (output: Output) => Datapath | 'nobody' | undefined;

/** Where packets come out, by names and numbers of ports. */
export class Outputs {
  readonly #proof: Proof;
  readonly #snapshot: Snapshot;
  /** Logical port of each port of br-int; patch ports by the localnet port that they are for. */
  readonly #logical = new Map<number, string>();
  readonly #numbers = new Map<string, number>();
  readonly #tunnels = new Set<number>();
  /** Localnet port behind each patch port of other bridges: `BRIDGE NUMBER`. */
  readonly #patches = new Map<string, string>();
  readonly #byKey = new Map<number, Datapath>();

  constructor(snapshot: Snapshot, proof: Proof) {
    this.#snapshot = snapshot;
    this.#proof = proof;
    this.#readInterfaces();
    for (const row of rowsOf(snapshot.southbound ?? new Map(), 'Datapath_Binding')) {
      const ids = pairs(row, 'external_ids');
      const uuid = ids['logical-switch'] ?? ids['logical-router'] ?? text(row, 'nb_uuid');
      const datapath = proof.datapaths.byUuid.get(uuid);
      if (datapath !== undefined) this.#byKey.set(Number(text(row, 'tunnel_key')), datapath);
    }
  }

  /** Of the interface of a logical port; undefined where it is not on this node. */
  numberOf(logicalPort: string): number | undefined {
    return this.#numbers.get(logicalPort);
  }

  /** The pod whose logical port an output of `ofproto/trace` is. */
  podAt({ port, bridge }: Output): string | undefined {
    if (bridge !== INTEGRATION_BRIDGE) return undefined;
    const logical = this.#logical.get(Number(port)) ?? '';
    return this.#proof.intent.ports.has(logical) ? logical : undefined;
  }

  /** Whose a key of tunnels is. */
  ofKey(key: number): Datapath | 'nobody' {
    return this.#byKey.get(key) ?? 'nobody';
  }

  readonly logical: OwnerOf = ({ port }) => this.#proof.datapaths.byPort.get(port) ?? 'nobody';

  readonly physical: OwnerOf = ({ port, bridge = '', tunnelKey }) => {
    const number = Number(port);
    if (bridge !== INTEGRATION_BRIDGE) {
      const patch = this.#patches.get(`${bridge} ${number}`);
      return patch === undefined ? undefined : this.logical({ port: patch, line: '' });
    }
    if (this.#tunnels.has(number))
      return tunnelKey === undefined ? 'nobody' : this.ofKey(tunnelKey);
    const logical = this.#logical.get(number);
    return logical === undefined ? undefined : this.logical({ port: logical, line: '' });
  };

  #readInterfaces(): void {
    const tables = this.#snapshot.openVswitch ?? new Map<string, never>();
    const rows = new Map(
      ['Port', 'Interface'].flatMap((table) =>
        rowsOf(tables, table).map((row) => [uuidOf(row), row] as const),
      ),
    );
    for (const bridge of rowsOf(tables, 'Bridge'))
      for (const uuid of list(bridge, 'ports').flatMap((port) =>
        list(rows.get(port) ?? {}, 'interfaces'),
      )) {
        const row = rows.get(uuid);
        const number = row === undefined ? Number.NaN : Number(text(row, 'ofport'));
        if (row === undefined || !(number > 0)) continue;
        if (text(bridge, 'name') === INTEGRATION_BRIDGE) this.#take(number, row);
        else {
          const localnet = /^patch-(.+)-to-br-int$/.exec(text(row, 'name'))?.[1];
          if (localnet !== undefined)
            this.#patches.set(`${text(bridge, 'name')} ${number}`, localnet);
        }
      }
  }

  #take(number: number, row: Parameters<typeof text>[0]): void {
    const logical = member(row, 'external_ids', 'iface-id');
    const peer = pairs(row, 'options')['peer'] ?? '';
    const localnet = /^patch-(.+)-to-br-int$/.exec(peer)?.[1];
    if (text(row, 'type') === 'geneve') this.#tunnels.add(number);
    else if (localnet !== undefined) this.#logical.set(number, localnet);
    else if (logical !== undefined) {
      this.#logical.set(number, logical);
      this.#numbers.set(logical, number);
    }
  }
}

/** What is wrong with a trace; undefined where it agrees. `by`: the program. */
export function disagreement(
  { intent }: Proof,
  { port, network, toNetwork, toAddress }: Witness,
  by: string,
  { outputs }: Trace,
  ownerOf: OwnerOf,
): Violation | undefined {
  for (const output of outputs) {
    const owner = ownerOf(output);
    if (owner === undefined) continue;
    if (owner !== 'nobody' && isWanted(owner)) continue;
    const other = owner === 'nobody' ? undefined : networkOf(owner);
    const who = owner === 'nobody' ? 'nobody' : ownerText(owner);
    return {
      check: 'witnesses',
      where: `${by} from ${port} to ${toAddress}`,
      what: `what network ${network} sends to ${toAddress} of ${toNetwork} comes out at ${output.port} of ${who}, by ${output.line}: no object wants that`,
      object: intent.objectOf(network),
      networks: [...new Set([network, ...(other === undefined ? [] : [other.name])])],
    };
  }
  return undefined;

  /** A connection has parts on other nodes, too, for which it leaves from its own. */
  function isWanted({ owner }: Datapath): boolean {
    if (owner.kind === 'connection') return owner.connection.networks.has(network);
    if (owner.kind === 'nobody') return false;
    const to = owner.network.name;
    return to === network || intent.joinedBy(network, to) !== undefined;
  }
}
