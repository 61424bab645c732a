/**
 * What the node drops, by counters of flows: of br-int those whose logical flow drops, rejects, or decides that an ACL or the security of a port does; of the
 * external bridge ours that drop; of nftables rules that count. A logical flow leads to the row of Northbound that it was made of, and that to its object.
 */
import { setTimeout as pause } from 'node:timers/promises';
import { errorText } from '../api/error-text.ts';
import {
  mapIn,
  textIn,
  type LookedUpRow,
  type RowLookup,
  type RowPlace,
} from '../databases/row-lookup.ts';
import { keyOf } from '../facts/keys.ts';
import type { ZoneFacts } from '../model/zone/zone.ts';
import { policyObject } from '../model/read/policies.ts';
import { INTEGRATION_BRIDGE } from '../node/names.ts';
import { ruleComment } from '../node/nftables/nft-rows.ts';
import { featureOf } from '../desired/engine.ts';
import type { OfctlProgram } from '../node/openflow/ofctl-program.ts';
import { parseFlow } from '../node/openflow/flow-plan.ts';
import { flowKey } from '../node/openflow/flow-rows.ts';
import { togetherByRule, type Drop, type DropsReport } from '../views/drops.ts';
import { countedBetween, flowCounter, type FlowCounter } from '../views/flow-counters.ts';
import { rootOf, type Origin } from '../views/origin.ts';
import { stageOf } from '../views/row-words.ts';
import { Origins, SOUTHBOUND, type OriginSource } from './origins.ts';

/** What is asked: a zone at work, with its host. */
export interface DropSource extends OriginSource {
  readonly configuration: { readonly node: string };
  readonly facts: Pick<ZoneFacts, 'rendered' | 'policies' | 'own'>;
  readonly ofctl: Pick<OfctlProgram, 'counters'> | undefined;
}

/**
 * An ACL's verdict: bits 17 and 18 of OVN's register 8 (ovn-northd(8), ACL evaluation), drop and reject, as Open vSwitch names them: as one of its registers,
 * or as a part of a longer one (ovs-fields(7)).
 */
const VERDICT = String.raw`load:0x1->(OXM_OF_PKT_REG4\[(49|50)\]|NXM_NX_XXREG2\[11[34]\]|NXM_NX_REG8\[1[78]\])`;
/** What a port may not send, or get: bit 12 of register 10 (ovn-architecture(7), ovn/logical-fields.h). */
const PORT_SECURITY = String.raw`load:0x1->NXM_NX_REG10\[12\]`;
/** What is answered with a refusal: the action's number (ovn/actions.h, ACTION_OPCODE_REJECT). */
const REJECT = String.raw`controller\(userdata=00\.00\.00\.16\.`;
const DROP = 'actions=drop$';
/** Of flows of br-int. */
const DECIDING = `${DROP}|${VERDICT}|${PORT_SECURITY}|${REJECT}`;

/** Their flows carry out what another flow, which was counted, has decided. */
const CARRIES_OUT = /_(acl(_\w+)?_action|apply_port_sec)$/;
/** Of those, what nothing had decided before. */
const DECIDES_ITSELF = /^1$/;
/** Stages of ACLs. */
const ACL_STAGES = ['ls_in_acl_eval', 'ls_out_acl_eval', 'ls_in_acl_after_lb_eval'];

interface Reading {
  readonly integration: readonly FlowCounter[];
  readonly external: readonly FlowCounter[];
  readonly nft: readonly NftCounter[];
  readonly unread: readonly string[];
}

interface NftCounter {
  readonly chain: string;
  readonly handle: number;
  readonly text: string;
  readonly comment: string | undefined;
  readonly packets: number;
  readonly bytes: number;
}

/** What is dropped in so many seconds, or since flows were made: 0. */
export async function droppedIn(
  source: DropSource,
  seconds: number,
  signal: AbortSignal,
): Promise<DropsReport> {
  const before = seconds === 0 ? undefined : await read(source);
  if (before !== undefined) await pause(seconds * 1000, undefined, { signal });
  return reportOf(source, before, await read(source), seconds, signal);
}

/** Looks again and again: each tells what was dropped since the one before. */
export class DropCounts {
  readonly #source: DropSource;
  #last: Reading | undefined;
  #lastAt = 0;

  constructor(source: DropSource) {
    this.#source = source;
  }

  /** Nothing at the first look, which counts since nobody knows when. What could not be read is in the next look. */
  async look(signal: AbortSignal): Promise<DropsReport> {
    const before = this.#last;
    const found = await read(this.#source);
    const now = performance.now();
    const seconds = (now - this.#lastAt) / 1000;
    const isWhole = found.unread.length === 0;
    if (isWhole) [this.#last, this.#lastAt] = [found, now];
    return reportOf(this.#source, isWhole ? (before ?? found) : found, found, seconds, signal);
  }
}

async function reportOf(
  source: DropSource,
  before: Reading | undefined,
  after: Reading,
  seconds: number,
  signal: AbortSignal,
): Promise<DropsReport> {
  const named = new NamedDrops(source, signal);
  const drops = [
    ...(await named.ofIntegration(countedBetween(before?.integration ?? [], after.integration))),
    ...named.ofExternal(countedBetween(before?.external ?? [], after.external)),
    ...named.ofNft(before?.nft ?? [], after.nft),
  ];
  return {
    node: source.configuration.node,
    seconds,
    drops: togetherByRule(drops),
    networks: source.facts.rendered.all().map(({ name, object }) => ({ name, object })),
    unread: after.unread,
  };
}

async function read(source: DropSource): Promise<Reading> {
  const unread: string[] = [];
  const of = async <T>(
    what: string,
    reading: () => Promise<readonly T[]>,
  ): Promise<readonly T[]> => {
    try {
      return await reading();
    } catch (error) {
      unread.push(`${what}: ${errorText(error)}`);
      return [];
    }
  };
  const flows = (bridge: string, pattern: string): Promise<readonly FlowCounter[]> =>
    of(`flows of ${bridge}`, async () =>
      ((await source.ofctl?.counters(bridge, pattern)) ?? []).flatMap(
        (line) => flowCounter(line) ?? [],
      ),
    );
  const bridge = source.facts.own('gateway')?.bridge;
  const [integration, external, nft] = await Promise.all([
    flows(INTEGRATION_BRIDGE, DECIDING),
    bridge === undefined ? [] : flows(bridge, DROP),
    of('nftables', () => nftCounters(source)),
  ]);
  return { integration, external, nft, unread };
}

async function nftCounters({ host }: DropSource): Promise<readonly NftCounter[]> {
  const listed = await host?.controller.wanted.nft.listed();
  return [...(listed?.chains ?? [])].flatMap(([chain, { rules }]) =>
    rules.flatMap(({ handle, text, comment, packets, bytes = 0 }) =>
      packets === undefined || !/\b(drop|reject)\b/.test(text)
        ? []
        : [{ chain, handle, text, comment, packets, bytes }],
    ),
  );
}

type Whose = Pick<Drop, 'network' | 'networkObject' | 'object' | 'reason' | 'rule'>;

class NamedDrops {
  readonly #source: DropSource;
  readonly #origins: Origins;
  readonly #networks = new Map<string, Pick<Drop, 'network' | 'networkObject'>>();

  constructor(source: DropSource, signal: AbortSignal) {
    this.#source = source;
    this.#origins = new Origins(source, signal);
  }

  /** Drops of br-int, each with the row that its cookie stands for. */
  async ofIntegration(flows: readonly FlowCounter[]): Promise<readonly Drop[]> {
    const south = this.#origins.lookup(SOUTHBOUND);
    if (flows.length === 0 || south === undefined) return flows.map((flow) => unknown(flow));
    const prefixes = new Set(flows.map(({ cookie }) => prefixOf(cookie)));
    const rows = new Map(
      (await south.rows(await placesOf(south, prefixes))).map((row) => [row.uuid.slice(0, 8), row]),
    );
    const datapaths = await this.#datapaths(south);
    const drops: Drop[] = [];
    for (const flow of flows) {
      const row = rows.get(prefixOf(flow.cookie));
      if (row === undefined) {
        drops.push(unknown(flow));
        continue;
      }
      if (isCarriedOut(row)) continue;
      const datapath = datapaths.get(/\bmetadata=(0x[0-9a-f]+)/.exec(flow.match)?.[1] ?? '');
      drops.push(await this.#ofRow(flow, row, datapath));
    }
    return drops;
  }

  /** Drops of the external bridge. */
  ofExternal(flows: readonly FlowCounter[]): readonly Drop[] {
    if (flows.length === 0) return [];
    const wanted = new Map(
      [...(this.#source.host?.controller.wanted.flows.wantedFlows() ?? [])].map((one) => [
        `${one.flow.cookie} ${one.key}`,
        one,
      ]),
    );
    return flows.map((flow) => {
      const { cookie, table, match, packets, bytes } = flow;
      const parsed = parseFlow(`cookie=${cookie}, table=${table}, ${match} actions=drop`);
      const one = parsed && wanted.get(`${cookie} ${flowKey(parsed)}`);
      const common = { stage: `table ${table}`, match, key: cookie, packets, bytes };
      if (one === undefined) return { reason: 'other', ...common };
      const { bridge, owner, row } = one;
      return { ...this.#whose(owner.id, row), ...common, stage: `${bridge} table ${table}` };
    });
  }

  /** Of rules of nftables those that count. */
  ofNft(before: readonly NftCounter[], after: readonly NftCounter[]): readonly Drop[] {
    const known = new Map(before.map((rule) => [rule.handle, rule]));
    const claims = this.#source.host?.controller.wanted.nft.claims;
    return after.flatMap(({ chain, handle, text, comment, packets, bytes }) => {
      const counted = packets - (known.get(handle)?.packets ?? 0);
      if (counted <= 0) return [];
      const wanted = [...(claims?.winners() ?? [])].find(
        ({ row, owner }) =>
          row.table === 'rule' &&
          row.columns.chain === chain &&
          (row.columns.text === text ||
            ruleComment(row.object, featureOf(owner.id), row.rule) === comment),
      );
      const whose = wanted && this.#whose(wanted.owner.id, wanted.row);
      return [
        {
          ...(whose ?? { reason: 'other' }),
          stage: `nftables ${chain}`,
          match: text,
          key: `handle ${handle}`,
          packets: counted,
          bytes: bytes - (known.get(handle)?.bytes ?? 0),
        },
      ];
    });
  }

  async #ofRow(
    { table, match, packets, bytes }: FlowCounter,
    row: LookedUpRow,
    datapath: LookedUpRow | undefined,
  ): Promise<Drop> {
    const origin = await this.#origins.ofRow(SOUTHBOUND, row, datapath?.uuid);
    const root = rootOf(origin);
    const isFlow = row.table === 'Logical_Flow';
    const stage = isFlow ? stageOf(row) : `${INTEGRATION_BRIDGE} table ${table}`;
    const where = datapath === undefined ? {} : await this.#networkOf(datapath);
    const common = {
      stage,
      match: isFlow ? textIn(row, 'match') : match,
      packets,
      bytes,
      ...directionOf(stage),
    };
    const isAsked = isFlow && mapIn(row, 'external_ids')['stage-hint'] !== undefined;
    const security = isFlow ? undefined : securityOf(table);
    // Ports stand for their pods; what else ovn-controller drops at a port is its own doing.
    const isOvns = isFlow ? !isAsked || isHousekeeping(root) : security === undefined;
    if (root.owner.kind !== 'wanted' || isOvns)
      return { reason: 'ovn', ...where, ...common, key: row.uuid };
    const whose = { ...this.#whose(root.owner.unit, ruleRow(root)), ...where, ...common };
    return isFlow
      ? {
          ...whose,
          // On their way out packets go to a port of a switch, as those to pods do.
          ...(whose.reason.startsWith('egress/') ? { direction: 'Egress' as const } : {}),
          key: root.uuid ?? row.uuid,
        }
      : { ...whose, ...security, reason: 'port-security', key: row.uuid };
  }

  /** Who wants it dropped. */
  #whose(unit: string, row: { readonly rule: string; readonly object: string } | undefined): Whose {
    const { feature, rule, object, network } = this.#origins.wanting(unit, row);
    const networkObject =
      network === undefined ? undefined : this.#source.facts.rendered.peek(network)?.object;
    const policies = feature === 'policy/default-deny' ? this.#policiesOf(unit) : undefined;
    return {
      reason: feature,
      ...(network === undefined ? {} : { network }),
      ...(networkObject === undefined ? {} : { networkObject }),
      ...(rule === undefined ? {} : { rule }),
      ...(object === undefined ? {} : { object: policies ?? object }),
    };
  }

  /** Pods are closed by all policies that select them together. */
  #policiesOf(unit: string): string | undefined {
    const [, , namespace] = keyOf<[string, ...string[]]>(unit);
    const all = this.#source.facts.policies.all().filter((one) => one.namespace === namespace);
    const names = all.map(policyObject).toSorted();
    return names.length === 0 ? undefined : names.join(', ');
  }

  async #datapaths(south: RowLookup): Promise<ReadonlyMap<string, LookedUpRow>> {
    const rows = await south.select('Datapath_Binding', [], ['tunnel_key', 'external_ids']);
    return new Map(rows.map((row) => [`0x${Number(row.columns['tunnel_key']).toString(16)}`, row]));
  }

  async #networkOf(datapath: LookedUpRow): Promise<Pick<Drop, 'network' | 'networkObject'>> {
    const known = this.#networks.get(datapath.uuid);
    if (known !== undefined) return known;
    const { owner } = rootOf(await this.#origins.ofRow(SOUTHBOUND, datapath));
    const network = owner.kind === 'wanted' ? owner.network : undefined;
    const object =
      network === undefined ? undefined : this.#source.facts.rendered.peek(network)?.object;
    const found = {
      ...(network === undefined ? {} : { network }),
      ...(object === undefined ? {} : { networkObject: object }),
    };
    this.#networks.set(datapath.uuid, found);
    return found;
  }
}

/** Cookies of br-int are the first 32 bits of UUIDs (ovn-controller(8)). */
const prefixOf = (cookie: string): string => cookie.slice(2).padStart(8, '0');

/** Rows of Southbound whose UUIDs begin so: where they mostly are first. */
async function placesOf(
  south: RowLookup,
  prefixes: ReadonlySet<string>,
): Promise<readonly RowPlace[]> {
  const flows = ['Logical_Flow'];
  const searches: readonly (() => Promise<readonly RowPlace[]>)[] = [
    () => south.startingWith(prefixes, flows, [['actions', '==', 'drop;']]),
    ...ACL_STAGES.map(
      (stage) => () =>
        south.startingWith(prefixes, flows, [
          ['external_ids', 'includes', ['map', [['stage-name', stage]]]],
        ]),
    ),
    () => south.startingWith(prefixes, ['Port_Binding']),
    () => south.startingWith(prefixes, ['Logical_Flow', 'Multicast_Group']),
  ];
  const found = new Map<string, RowPlace>();
  for (const search of searches) {
    for (const place of await search()) found.set(place.uuid.slice(0, 8), place);
    if (found.size >= prefixes.size) break;
  }
  return [...found.values()];
}

const isCarriedOut = (row: LookedUpRow): boolean =>
  CARRIES_OUT.test(stageOf(row)) && !DECIDES_ITSELF.test(textIn(row, 'match'));

/** Direction of what ovn-controller checks in a table of port security (ovn/controller/lflow.h, OFTABLE_CHK_*); undefined for other tables. */
const securityOf = (table: number): Pick<Drop, 'direction'> | undefined =>
  table === 73 || table === 74
    ? { direction: 'Egress' }
    : table === 75
      ? { direction: 'Ingress' }
      : undefined;

/** A router drops by itself what concerns it: its port asks for no more than being one. */
const isHousekeeping = ({ table }: Origin): boolean =>
  ['Logical_Router_Port', 'Logical_Switch', 'Logical_Router'].includes(table);

const ruleRow = ({
  owner,
}: Origin): { readonly rule: string; readonly object: string } | undefined =>
  owner.kind === 'wanted' && owner.rule !== undefined && owner.object !== undefined
    ? { rule: owner.rule.name, object: owner.object }
    : undefined;

const directionOf = (stage: string): Pick<Drop, 'direction'> =>
  stage.startsWith('ls_in_')
    ? { direction: 'Egress' }
    : stage.startsWith('ls_out_')
      ? { direction: 'Ingress' }
      : {};

const unknown = ({ cookie, table, match, packets, bytes }: FlowCounter): Drop => ({
  reason: 'ovn',
  stage: `${INTEGRATION_BRIDGE} table ${table}`,
  match,
  key: cookie,
  packets,
  bytes,
});
