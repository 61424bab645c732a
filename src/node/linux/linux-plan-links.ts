/** VRFs of ours, and devices that belong into them. */
import { MARK } from '../../desired/rows.ts';
import type { LinkColumns, LinuxRow } from './linux-rows.ts';
import type { Wanted } from '../reconcile/claims.ts';
import type { LinuxCommand } from './linux-change.ts';
import { ADD, markInAlias, type LinuxDraft } from './linux-draft.ts';
import { markOf } from '../reconcile/host-plan.ts';
import type { FoundLink } from './linux-found.ts';

/** Longest alias of a device (linux/if.h, IFALIASZ, with its end). */
const LONGEST_ALIAS = 255;

/** Alias of a device of ours: for whom it is there. */
export const aliasOf = (object: string): string =>
  markOf(`${MARK} ${object}`).slice(0, LONGEST_ALIAS);
const isOurAlias = (alias: string): boolean => markInAlias(alias) !== undefined;

const vrfText = ({ table, alias, isUp }: FoundLink): string =>
  `type vrf table ${table}${alias === '' ? '' : ` alias "${alias}"`}${isUp ? ' up' : ' down'}`;

const deviceText = (master: string | undefined, isUp: boolean): string =>
  `${master === undefined ? '' : `master ${master} `}${isUp ? 'up' : 'down'}`;

type WantedLink = Wanted<LinuxRow & { readonly table: 'link' }>;

/** VRFs, and devices in them. */
export function planLinks(draft: LinuxDraft, wanted: readonly WantedLink[]): void {
  const names = new Map(wanted.map((one) => [one.row.key, one]));
  const foreign = new Map<number, FoundLink>();
  for (const link of draft.state.links.values())
    if (link.table !== undefined && !isOurAlias(link.alias) && !names.has(link.name))
      foreign.set(link.table, link);
  for (const one of wanted) {
    const columns = one.row.columns;
    if (columns.kind === 'vrf') planVrf(draft, one, columns, foreign);
    else planMaster(draft, one, columns);
  }
  for (const link of draft.state.links.values()) {
    const mark = markInAlias(link.alias);
    if (link.kind !== 'vrf' || mark === undefined || names.has(link.name)) continue;
    const stale = { kind: 'link', dev: link.name } as const;
    draft.remove('link', link.name, vrfText(link), withoutVrf(draft, link.name), stale, mark);
  }
}

/** Devices that are in the VRF go down first: none is left outside of it with its addresses. */
function withoutVrf(draft: LinuxDraft, name: string): LinuxCommand[] {
  const inside = [...draft.state.links.values()].filter(({ master }) => master === name);
  return [
    ...inside.map((link) => ({ kind: 'set-link', name: link.name, isUp: false }) as const),
    { kind: 'delete-link', name },
  ];
}

function planVrf(
  draft: LinuxDraft,
  wanted: WantedLink,
  { name, table = 0 }: LinkColumns,
  foreign: ReadonlyMap<number, FoundLink>,
): void {
  const found = draft.state.links.get(name);
  const alias = aliasOf(wanted.row.object);
  const isAdoptable = found?.alias === '' && found.table === table;
  if (found !== undefined && (found.kind !== 'vrf' || !(isOurAlias(found.alias) || isAdoptable))) {
    const what =
      found.kind === 'vrf' ? `a VRF with table ${found.table}` : (found.kind ?? 'device');
    draft.problem(
      wanted,
      'held-by-other',
      `VRF ${name}: a device of this name is there that is not ours (${what}); rename or remove it`,
    );
    return;
  }
  const other = foreign.get(table);
  if (other !== undefined) {
    draft.problem(
      wanted,
      'held-by-other',
      `VRF ${name}: routing table ${table} is that of VRF ${other.name}, which is not ours; give it another one, or Heddle another --routing-table-id-start`,
    );
    return;
  }
  const after = `type vrf table ${table} alias "${alias}" up`;
  const set = { kind: 'set-link', name, alias, isUp: true } as const;
  const create = { kind: 'add-vrf', name, table } as const;
  const common = { after, stage: ADD.link, stale: { kind: 'link', dev: name } } as const;
  if (found === undefined)
    draft.change(wanted, {
      ...common,
      action: 'add',
      before: undefined,
      commands: [create, set],
    });
  else if (found.table !== table)
    draft.change(wanted, {
      ...common,
      action: 'change',
      before: vrfText(found),
      commands: [...withoutVrf(draft, name), create, set],
    });
  else if (found.alias !== alias || !found.isUp)
    draft.change(wanted, { ...common, action: 'change', before: vrfText(found), commands: [set] });
}

function planMaster(
  draft: LinuxDraft,
  wanted: WantedLink,
  { name, master, mac }: LinkColumns,
): void {
  const found = draft.state.links.get(name);
  if (found === undefined || (mac !== undefined && found.mac !== mac)) {
    draft.awaited.add(name);
    const why =
      found === undefined
        ? `is not there yet: Open vSwitch makes it; where somebody deleted it (ovs-vsctl list Interface ${name} has it, and ip link not) 'ovs-vsctl del-port ${name}' has it made anew`
        : `has the MAC address ${found.mac}, not ${mac}`;
    draft.problem(wanted, 'awaited', `device ${name} ${why}`);
    return;
  }
  const isRight = found.master === master;
  if (isRight && found.isUp) return;
  draft.change(wanted, {
    action: 'change',
    before: deviceText(found.master, found.isUp),
    after: deviceText(master, true),
    stage: ADD.master,
    stale: { kind: 'link', dev: name },
    commands: [
      { kind: 'set-link', name, isUp: true, ...(isRight ? {} : { master: master ?? '' }) },
    ],
  });
}
