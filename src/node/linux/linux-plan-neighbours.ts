/** Permanent neighbours. */
import type { LinuxRow, NeighbourColumns } from './linux-rows.ts';
import { PROTOCOL } from '../numbers.ts';
import type { Wanted } from '../reconcile/claims.ts';
import { ADD, type LinuxDraft } from './linux-draft.ts';

const neighbourText = ({ address, mac, dev }: NeighbourColumns): string =>
  `${address} lladdr ${mac} dev ${dev}`;

const staleAt = ({ dev, address }: NeighbourColumns) =>
  ({ kind: 'neighbour', dev, address }) as const;

export function planNeighbours(
  draft: LinuxDraft,
  wanted: readonly Wanted<LinuxRow & { readonly table: 'neighbour' }>[],
): void {
  const found = draft.state.neighbours;
  const keys = new Set(wanted.map(({ row }) => row.key));
  for (const one of wanted) {
    const columns = one.row.columns;
    if (!draft.isUsable(columns.dev)) continue;
    const before = found.get(one.row.key);
    if (before?.columns.mac === columns.mac) continue;
    if (before !== undefined && before.protocol !== PROTOCOL) {
      draft.problem(
        one,
        'held-by-other',
        `neighbour ${columns.address} of ${columns.dev} is ${before.columns.mac} by somebody else's permanent entry; remove it`,
      );
      continue;
    }
    draft.change(one, {
      action: before === undefined ? 'add' : 'change',
      before: before && neighbourText(before.columns),
      after: neighbourText(columns),
      stage: ADD.neighbour,
      commands: [{ kind: 'replace-neighbour', neighbour: columns }],
      stale: staleAt(columns),
    });
  }
  for (const [key, { columns, protocol }] of found)
    if (protocol === PROTOCOL && !keys.has(key))
      draft.remove(
        'neighbour',
        key,
        neighbourText(columns),
        [{ kind: 'delete-neighbour', neighbour: columns }],
        staleAt(columns),
        draft.markOfDevice(columns.dev),
      );
}
