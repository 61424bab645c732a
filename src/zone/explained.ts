/** Answers `heddle explain`: finds what is asked for in the databases, on the bridges and on the host, and says where it comes from. */
import { nearestName } from '../api/validation/nearest-name.ts';
import { type RowPlace } from '../databases/row-lookup.ts';
import { featureOf } from '../desired/engine.ts';
import { routeKey, ruleKey, type LinuxRow } from '../node/linux/linux-rows.ts';
import type { WantedFlow } from '../node/openflow/flow-driver.ts';
import type { FoundFlow } from '../node/openflow/flow-plan.ts';
import { flowKey, OPENFLOW } from '../node/openflow/flow-rows.ts';
import { COOKIES, NO_COOKIE } from '../node/openflow/pipeline.ts';
import { LINUX } from '../node/linux/linux-rows.ts';
import { NFT_TABLE, NFTABLES, objectOfComment, ruleComment } from '../node/nftables/nft-rows.ts';
import type { FoundRule } from '../node/nftables/nft-state.ts';
import { INTEGRATION_BRIDGE } from '../node/names.ts';
import { PROTOCOL } from '../node/numbers.ts';
import type { Wanted } from '../node/reconcile/claims.ts';
import type { Asked } from '../views/asked-origin.ts';
import { rootOf, type ExplainReport, type Origin } from '../views/origin.ts';
import { foreignProtocol } from '../views/row-words.ts';
import { Origins, SOUTHBOUND, WHY_MARKED, type OriginSource } from './origins.ts';

/** Of more nobody chooses. */
const MOST_FOUND = 20;

/** What was found, and where it was looked for. */
type Found = Pick<ExplainReport, 'looked'> & { readonly origins: readonly Origin[] };

/** Throws what a database or a program says that can't be read. */
export async function explained(
  source: OriginSource,
  asked: Asked,
  signal: AbortSignal,
): Promise<Pick<ExplainReport, 'found' | 'isCut' | 'looked'>> {
  const origins = new Origins(source, signal);
  const { origins: all, looked } = await find(source, origins, asked);
  const found = distinct(all);
  return { found: found.slice(0, MOST_FOUND), isCut: found.length > MOST_FOUND, looked };
}

function find(source: OriginSource, origins: Origins, asked: Asked): Promise<Found> {
  switch (asked.kind) {
    case 'uuid':
      return byPrefix(origins, asked.prefix);
    case 'row':
      return byTable(origins, asked.table, asked.name);
    case 'name':
      return byName(origins, asked.name);
    case 'cookie':
      return byCookie(source, origins, asked.cookie);
    case 'flow':
      return byFlow(source, origins, asked.flow);
    case 'nft':
      return byNftRule(source, origins, asked);
    case 'rule':
      return Promise.resolve(byRule(source, origins, asked));
    case 'route':
      return Promise.resolve(byRoute(source, origins, asked));
  }
}

/** A row, and the row of Southbound that was made of it, are one answer; the same for both address families, too. */
function distinct(all: readonly Origin[]): readonly Origin[] {
  const roots = new Set(all.filter(({ madeOf }) => madeOf.length === 0).map(idOf));
  const kept = all.filter(
    (origin) => origin.madeOf.length === 0 || !roots.has(idOf(rootOf(origin))),
  );
  const byId = new Map<string, Origin>();
  for (const origin of kept) if (!byId.has(idOf(origin))) byId.set(idOf(origin), origin);
  return [...byId.values()];
}

const idOf = ({ place, table, uuid, name, owner }: Origin): string =>
  // What ip(8) prints alike for both families is one thing.
  JSON.stringify([place, table, uuid ?? (place === LINUX ? owner : name)]);

async function ofPlaces(
  origins: Origins,
  found: readonly (readonly [database: string, places: readonly RowPlace[]])[],
): Promise<readonly Origin[]> {
  const all: Origin[] = [];
  for (const [database, places] of found)
    all.push(...(await origins.ofPlaces(database, places.slice(0, MOST_FOUND + 1))));
  return all;
}

async function byPrefix(
  origins: Origins,
  prefix: string,
  lookups = origins.lookups,
): Promise<Found> {
  const found: (readonly [string, readonly RowPlace[]])[] = [];
  for (const lookup of lookups)
    found.push([lookup.name, await lookup.startingWith(new Set([prefix]))]);
  const looked = lookups.map(({ name }) => `UUIDs of all rows of ${name}`);
  return { origins: await ofPlaces(origins, found), looked };
}

async function byTable(origins: Origins, written: string, name: string): Promise<Found> {
  const found: (readonly [string, readonly RowPlace[]])[] = [];
  const looked: string[] = [];
  for (const lookup of origins.lookups) {
    const table = lookup.tableNamed(written);
    if (table === undefined) continue;
    looked.push(`${lookup.name} ${table}`);
    const isPrefix = /^[0-9a-f-]{4,36}$/i.test(name);
    const keyed = [...(origins.knower(lookup.name)?.rowsWithKey(name) ?? [])];
    found.push([
      lookup.name,
      [
        ...keyed.filter((place) => place.table === table),
        ...(await lookup.named(name, [table])),
        ...(isPrefix ? await lookup.startingWith(new Set([name.toLowerCase()]), [table]) : []),
      ],
    ]);
  }
  if (looked.length === 0) {
    const tables = [...new Set(origins.lookups.flatMap((lookup) => lookup.tables))];
    const nearest = nearestName(written, tables);
    looked.push(
      `tables of the node's databases: none is called "${written}"${nearest === undefined ? '' : `; did you mean "${nearest}"?`}`,
    );
  }
  return { origins: await ofPlaces(origins, found), looked };
}

async function byName(origins: Origins, name: string): Promise<Found> {
  const found: (readonly [string, readonly RowPlace[]])[] = [];
  for (const lookup of origins.lookups)
    found.push([
      lookup.name,
      [...(origins.knower(lookup.name)?.rowsWithKey(name) ?? []), ...(await lookup.named(name))],
    ]);
  const looked = origins.lookups.map((lookup) => `names of rows of ${lookup.name}`);
  return { origins: await ofPlaces(origins, found), looked };
}

/** Meaning of a cookie of ours, in words; undefined for those of others, and for none. */
const ourCookie = (cookie: string): string | undefined =>
  cookie === NO_COOKIE ? undefined : COOKIES.find(({ has }) => has(cookie))?.meaning;

const flowOrigin = (origins: Origins, { bridge, flow, row, owner }: WantedFlow): Origin => ({
  place: OPENFLOW,
  table: `flow of ${bridge}`,
  name: flowKey(flow),
  text: `actions=${flow.actions}`,
  owner: origins.wanted(owner.id, row),
  madeOf: [],
});

/** All flows of a cookie are there for one object, but for a hash that two have. */
function cookieOrigin(origins: Origins, cookie: string, flows: readonly WantedFlow[]): Origin {
  const wanting = flows.map(({ owner, row }) => origins.wanting(owner.id, row));
  const [network, ...others] = new Set(wanting.map((one) => one.network));
  const rules = wanting.flatMap(({ rule }) => rule ?? []);
  const bridges = new Set(flows.map(({ bridge }) => bridge));
  return {
    place: OPENFLOW,
    table: 'cookie',
    name: cookie,
    text: `${flows.length} flows of ${[...bridges].join(', ')}`,
    owner: {
      kind: 'several',
      object: [...new Set(flows.map(({ row }) => row.object))].join(' and '),
      ...(network === undefined || others.length > 0 ? {} : { network }),
      rules: [...new Map(rules.map((rule) => [`${rule.name} ${rule.text}`, rule])).values()],
    },
    madeOf: [],
  };
}

async function byCookie(source: OriginSource, origins: Origins, cookie: string): Promise<Found> {
  const wanted = source.host?.controller.wanted.flows.wantedFlows() ?? [];
  const ours = [...wanted].filter(({ flow }) => flow.cookie === cookie);
  const looked = ['flows of the external bridge'];
  if (ours.length > 0) return { origins: [cookieOrigin(origins, cookie, ours)], looked };
  const meaning = ourCookie(cookie);
  if (meaning !== undefined)
    return {
      origins: [
        {
          place: OPENFLOW,
          table: 'cookie',
          name: cookie,
          owner: { kind: 'marked', object: meaning, why: WHY_MARKED },
          madeOf: [],
        },
      ],
      looked,
    };
  return ofIntegrationBridge(origins, cookie, looked);
}

/** Cookies there are the first 32 bits of UUIDs of Southbound (ovn-controller(8)). */
async function ofIntegrationBridge(
  origins: Origins,
  cookie: string,
  looked: readonly string[],
  flow?: FoundFlow,
): Promise<Found> {
  const prefix = cookie.slice(2).padStart(8, '0');
  const south = origins.lookup(SOUTHBOUND);
  if (south === undefined || prefix.length > 8)
    return {
      origins: [],
      looked: [
        ...looked,
        south === undefined
          ? `Southbound is not connected (--sb): flows of ${INTEGRATION_BRIDGE} lead there`
          : `no UUID begins with the ${prefix.length} digits of the cookie`,
      ],
    };
  const places = await south.startingWith(new Set([prefix]));
  const key = /\bmetadata=(0x[0-9a-f]+)/.exec(flow?.match ?? '')?.[1];
  const datapath =
    key === undefined
      ? undefined
      : (await south.select('Datapath_Binding', [['tunnel_key', '==', Number(key)]], []))[0]?.uuid;
  const found: Origin[] = [];
  for (const row of await south.rows(places.slice(0, MOST_FOUND + 1)))
    found.push(await origins.ofRow(SOUTHBOUND, row, datapath));
  return {
    origins: found,
    looked: [...looked, `${SOUTHBOUND}: rows whose UUID begins with ${prefix}`],
  };
}

/** A port stands in a pasted line by its number or by its name. */
const withPortNumbers = (match: string, numberOf: (name: string) => string | undefined): string =>
  match.replace(/\bin_port=("?)([^",]+)\1/, (text, _quote, name: string) => {
    const number = /^(\d+|LOCAL)$/.test(name) ? name : numberOf(name);
    return number === undefined ? text : `in_port=${number}`;
  });

async function byFlow(source: OriginSource, origins: Origins, flow: FoundFlow): Promise<Found> {
  const flows = source.host?.controller.wanted.flows;
  const looked = ['flows of the external bridge'];
  const keyOn = (bridge: string): string => {
    const match = withPortNumbers(flow.match, (name) => flows?.portNumber(bridge, name));
    // Names sort otherwise than numbers.
    return flowKey({ ...flow, match: match.split(',').toSorted().join(',') });
  };
  const keys = new Map<string, string>();
  const alike = [...(flows?.wantedFlows() ?? [])].filter(({ bridge, key, flow: wanted }) => {
    if (!keys.has(bridge)) keys.set(bridge, keyOn(bridge));
    return key === keys.get(bridge) && wanted.cookie === flow.cookie;
  });
  if (alike.length > 0) return { origins: alike.map((one) => flowOrigin(origins, one)), looked };
  const name = flowKey(flow);
  if (flow.cookie === NO_COOKIE)
    return {
      origins: [
        {
          place: OPENFLOW,
          table: 'flow',
          name,
          owner: {
            kind: 'foreign',
            by: `it has no cookie: on ${INTEGRATION_BRIDGE} several logical flows of ovn-controller share it, or none asks for it; on another bridge another program, or somebody by hand, made it`,
          },
          madeOf: [],
        },
      ],
      looked,
    };
  const meaning = ourCookie(flow.cookie);
  if (meaning !== undefined)
    return {
      origins: [
        {
          place: OPENFLOW,
          table: 'flow',
          name,
          owner: { kind: 'marked', object: meaning, why: WHY_MARKED },
          madeOf: [],
        },
      ],
      looked,
    };
  return ofIntegrationBridge(origins, flow.cookie, looked, flow);
}

/** Whose a flow is that was met on a bridge; undefined where that is not known. */
export async function originOfFlow(
  source: OriginSource,
  origins: Origins,
  flow: FoundFlow,
): Promise<Origin | undefined> {
  const { origins: found } = await byFlow(source, origins, flow);
  return found[0];
}

interface ListedRule extends FoundRule {
  readonly chain: string;
}

/** Without what counts, and without a handle. */
const plainRule = (text: string): string =>
  text
    .replace(/\s*#\s*handle \d+\s*$/, '')
    .replaceAll(/counter packets \d+ bytes \d+/g, 'counter')
    .replace(/\s+comment ".*"\s*$/, '')
    .trim();

const commentIn = (text: string): string | undefined => /comment "([^"]*)"/.exec(text)?.[1];

async function byNftRule(
  source: OriginSource,
  origins: Origins,
  { handle, text }: Asked & { readonly kind: 'nft' },
): Promise<Found> {
  const nft = source.host?.controller.wanted.nft;
  const { family, name } = NFT_TABLE;
  const table = `nftables table ${family} ${name}, the only one of Heddle's`;
  if (nft === undefined) return { origins: [], looked: ['no host is kept (--ovs)'] };
  const listed = await nft.listed();
  const rules: readonly ListedRule[] = [...(listed?.chains ?? [])].flatMap(([chain, found]) =>
    found.rules.map((rule) => ({ ...rule, chain })),
  );
  const comment = commentIn(text);
  const written = plainRule(text);
  const meant = rules.filter((rule) => {
    if (handle !== undefined && rule.handle !== handle) return false;
    // Of a line with a handle the rest may be as another program prints it, but not another rule's.
    if (comment !== undefined && rule.comment !== comment) return false;
    return handle !== undefined || written === '' || isWritten(rule.text, written, comment);
  });
  const exact = meant.filter((rule) => rule.text === written);
  const found = (exact.length > 0 ? exact : meant).map((rule) => nftOrigin(origins, nft, rule));
  return { origins: found, looked: [table] };
}

/** nft(8) prints sets and marks in its own way: with a comment of ours that is enough, as it names object and rule. */
const isWritten = (text: string, written: string, comment: string | undefined): boolean =>
  text === written || (comment !== undefined && written === '') || comment !== undefined;

function nftOrigin(
  origins: Origins,
  nft: NonNullable<OriginSource['host']>['controller']['wanted']['nft'],
  { chain, text, handle, comment }: ListedRule,
): Origin {
  const common = {
    place: NFTABLES,
    table: `rule of chain ${chain}`,
    name: `handle ${handle}`,
    text,
    madeOf: [],
  };
  const inChain = [...nft.claims.winners()].filter(
    ({ row }) => row.table === 'rule' && row.columns.chain === chain,
  );
  const wanted =
    inChain.find(({ row }) => row.table === 'rule' && row.columns.text === text) ??
    // A cgroup stands in it by its path.
    inChain.find(
      ({ row, owner }) =>
        comment !== undefined &&
        ruleComment(row.object, featureOf(owner.id), row.rule) === comment &&
        row.table === 'rule' &&
        row.columns.cgroup !== undefined,
    );
  if (wanted !== undefined)
    return { ...common, owner: origins.wanted(wanted.owner.id, wanted.row) };
  return {
    ...common,
    owner:
      comment === undefined
        ? { kind: 'foreign', by: 'somebody put it into our table, which is put right' }
        : { kind: 'marked', object: objectOfComment(comment), why: WHY_MARKED },
  };
}

const ofProtocol = (protocol: string): Origin['owner'] =>
  protocol === String(PROTOCOL)
    ? { kind: 'marked', object: `protocol ${PROTOCOL}`, why: WHY_MARKED }
    : { kind: 'foreign', by: foreignProtocol(protocol) };

const linuxOrigin = (origins: Origins, { row, owner }: Wanted<LinuxRow>): Origin => ({
  place: LINUX,
  table: row.table,
  name: row.key,
  owner: origins.wanted(owner.id, row),
  madeOf: [],
});

function byRule(
  source: OriginSource,
  origins: Origins,
  { rules, protocol }: Asked & { readonly kind: 'rule' },
): Found {
  const claims = source.host?.controller.wanted.linux.claims;
  const wanted = rules.flatMap((rule) => claims?.winner('rule', ruleKey(rule)) ?? []);
  const looked = ['rules of the host that are wanted'];
  if (wanted.length > 0) return { origins: wanted.map((one) => linuxOrigin(origins, one)), looked };
  const [first] = rules;
  const name = first === undefined ? '' : ruleKey(first);
  return {
    origins: [{ place: LINUX, table: 'rule', name, owner: ofProtocol(protocol), madeOf: [] }],
    looked,
  };
}

function byRoute(
  source: OriginSource,
  origins: Origins,
  { routes, protocol }: Asked & { readonly kind: 'route' },
): Found {
  const claims = source.host?.controller.wanted.linux.claims;
  const all = [...(claims?.winners() ?? [])];
  const tableOf = new Map(
    all.flatMap(({ row }) =>
      row.table === 'link' && row.columns.table !== undefined
        ? [[row.columns.name, row.columns.table] as const]
        : [],
    ),
  );
  const wanted = routes.flatMap(({ table, ...asked }) =>
    all.filter(({ row }) => {
      if (row.table !== 'route') return false;
      const { columns } = row;
      const number = table === undefined ? undefined : (tableOf.get(table) ?? Number(table));
      return (
        (number === undefined || columns.table === number) &&
        routeKey(columns) === routeKey({ metric: 0, ...asked, table: columns.table }) &&
        columns.via === asked.via &&
        (asked.dev === undefined || columns.type === 'unreachable' || columns.dev === asked.dev)
      );
    }),
  );
  const looked = ['routes of the host that are wanted'];
  if (wanted.length > 0) return { origins: wanted.map((one) => linuxOrigin(origins, one)), looked };
  const [first] = routes;
  const name = first === undefined ? '' : `${first.dst} ${textOfHop(first)}`.trim();
  return {
    origins: [{ place: LINUX, table: 'route', name, owner: ofProtocol(protocol), madeOf: [] }],
    looked,
  };
}

const textOfHop = ({ via, dev }: { readonly via?: string; readonly dev?: string }): string =>
  [via === undefined ? '' : `via ${via}`, dev === undefined ? '' : `dev ${dev}`].join(' ').trim();
